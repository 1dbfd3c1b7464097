"""matplotlib, imported when a picture is wanted; figures without windows or global state."""

from __future__ import annotations

import functools
import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from malleable.files.advice import library
from malleable.files.writing import write_file
from malleable.view.clock import Clock

_DPI = 150
# Colours that colour-blind readers can tell apart; the operator's page has the same.
_BLUE, _GREEN, _RED, _VIOLET = "#0a58ad", "#00735c", "#b34700", "#7d2f8f"
_SKY, _OCHRE, _ROSE, _BLACK = "#3f9fd8", "#c98a00", "#c0619c", "#17202c"
# A policy has one colour and one kind of stroke in every picture. Policies of this package have full strokes.
_POLICIES = {
    "auto": (_BLUE, "-"), "flex": (_GREEN, "-"), "flowflex": (_SKY, "-"), "unlock": (_GREEN, "-"),
    "two-srpt": (_GREEN, "-"), "fair": (_RED, "--"), "fifo": (_VIOLET, ":"), "fcfs": (_VIOLET, ":"),
    "wdeq": (_OCHRE, "--"), "ps": (_RED, "--"), "hesrpt": (_SKY, "-."), "srpt": (_BLACK, "-."),
    "max-srpt": (_BLUE, "-."), "split-srpt": (_SKY, "--"), "k-lps": (_OCHRE, "--"), "asrpt": (_OCHRE, "-."),
    "dsrpt": (_SKY, "--"), "lrpt": (_ROSE, ":"), "gittins": (_ROSE, "-."), "easy": (_RED, "-."),
    "conservative": (_OCHRE, ":"), "adaptive": (_ROSE, "-"), "recorded": (_BLACK, "-"),
    "flowflex-fast": (_SKY, ":"), "flowflex-literal": (_OCHRE, "--"), "flex-orders": (_SKY, "-"),
    "adaptive-literal": (_OCHRE, "--"), "adaptive-finish": (_BLUE, "-"),
    "easy-sjf": (_GREEN, "-."), "easy-auto": (_BLUE, "-"),
}  # fmt: skip
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


def policy_look(policy: str) -> dict[str, Any]:
    """Colour, stroke and width of a policy's curve, for matplotlib; nothing for an unknown policy. A variant,
    ``fair(slow_start=0.8)`` or ``flex, not told``, has the colour of its policy and dots."""
    base = re.split(r"[(, ]", policy.lower(), maxsplit=1)[0]
    if base not in _POLICIES:
        return {}
    color, stroke = _POLICIES[base]
    return {
        "color": color,
        "linestyle": stroke if base == policy.lower() else ":",
        "linewidth": 2.2 if stroke == "-" else 1.6,
        "zorder": 2.1 if stroke == "-" else 2.2,  # dashes show where curves coincide
    }


def plain_numbers(axis: Any) -> None:
    """Numbers of a logarithmic axis in full, not as powers of ten."""
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("{x:g}")


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
