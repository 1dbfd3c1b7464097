"""matplotlib, imported when a picture is wanted; figures without windows or global state."""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from malleable.files.advice import library
from malleable.files.writing import write_file
from malleable.view.clock import Clock

_DPI = 150
_SCREEN = 96  # dots per inch that browsers assume


def check_drawing(path: str | os.PathLike[str] | None = None) -> None:
    """ImportError without matplotlib, ValueError if it knows no image format of that suffix."""
    agg = library("matplotlib.backends.backend_agg", "plotting", "'malleable[plot]'")
    if path is None:
        return
    known = agg.FigureCanvasAgg.get_supported_filetypes()
    if _suffix(path) not in known:
        raise ValueError(
            f"{os.fspath(path)}: unknown image format, expected one of .{', .'.join(sorted(known))}"
        )


def _suffix(path: str | os.PathLike[str]) -> str:
    return Path(path).suffix.lower().lstrip(".") or "png"


def new_figure(width: float, height: float) -> Any:
    check_drawing()
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = functools.partial(_shown, figure)
    return figure


def _shown(figure: Any) -> tuple[bytes, dict[str, int]]:
    width, height = figure.get_size_inches()
    return image_bytes(figure, "figure.png"), {
        "width": round(_SCREEN * width),
        "height": round(_SCREEN * height),
    }


def label_times(axes: Any, clock: Clock) -> None:
    """Name the axis of time, at its left end; numbers in full, without an offset beside the axis."""
    axes.set_xlabel(clock.axis(), loc="left")
    axes.ticklabel_format(axis="x", style="plain", useOffset=False)


def image_bytes(figure: Any, path: str | os.PathLike[str]) -> bytes:
    out = io.BytesIO()
    kind = _suffix(path)
    # No time stamps or random ids: same figure, same bytes.
    stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "malleable"}):
        figure.savefig(out, format=kind, dpi=_DPI, metadata=stamp)
    return out.getvalue()


def save_figure(figure: Any, path: str | os.PathLike[str], force: bool = True) -> None:
    check_drawing(path)
    write_file(path, image_bytes(figure, path), force)


def picture(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function that draws a figure write it, too: ``made(shown, path=None, force=True, **options)``.
    The suffix of ``path`` is the format (PNG, SVG, PDF ...): ValueError for an unknown one, before anything
    is drawn; ``force=False`` refuses an existing file (FileExistsError). ImportError without matplotlib."""

    @functools.wraps(draw)
    def made(
        shown: Any, path: str | os.PathLike[str] | None = None, force: bool = True, **options: Any
    ) -> Any:
        check_drawing(path)
        figure = draw(shown, **options)
        if path is not None:
            save_figure(figure, path, force)
        return figure

    return made
