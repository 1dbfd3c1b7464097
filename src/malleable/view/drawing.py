"""Figures of matplotlib, which is imported when a picture is wanted; without windows or global state. Policies
have the same colours in all pictures."""

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
# Colours that colour-blind readers can tell apart. The operator's page has the same names.
COLORS = {
    "blue": "#0a58ad", "green": "#00735c", "red": "#b34700", "violet": "#7d2f8f",
    "sky": "#3f9fd8", "ochre": "#c98a00", "rose": "#c0619c", "ink": "#17202c",
}  # fmt: skip
# A policy has one colour and one kind of stroke in every picture. Policies of this package have full strokes.
_POLICIES = {
    "auto": ("blue", "-"), "flex": ("green", "-"), "flowflex": ("sky", "-"), "unlock": ("green", "-"),
    "two-srpt": ("green", "-"), "fair": ("red", "--"), "fifo": ("violet", ":"), "fcfs": ("violet", ":"),
    "wdeq": ("ochre", "--"), "ps": ("red", "--"), "hesrpt": ("sky", "-."), "srpt": ("ink", "-."),
    "max-srpt": ("blue", "-."), "split-srpt": ("sky", "--"), "k-lps": ("ochre", "--"), "asrpt": ("ochre", "-."),
    "dsrpt": ("sky", "--"), "lrpt": ("rose", ":"), "gittins": ("rose", "-."), "easy": ("red", "-."),
    "conservative": ("ochre", ":"), "adaptive": ("rose", "-"), "recorded": ("ink", "-"),
    "flowflex-fast": ("sky", ":"), "flowflex-literal": ("ochre", "--"), "flex-orders": ("sky", "-"),
    "adaptive-literal": ("ochre", "--"), "adaptive-finish": ("blue", "-"),
    "easy-sjf": ("green", "--"), "easy-auto": ("blue", "-"),
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
    # The figure for notebooks, as wide as its size in inches says.
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
        "color": COLORS[color],
        "linestyle": stroke if base == policy.lower() else ":",
        "linewidth": 2.2 if stroke == "-" else 1.6,
        "zorder": 2.1 if stroke == "-" else 2.2,  # dashes show where curves coincide
    }


def plain_numbers(axis: Any) -> None:
    """Numbers of a logarithmic axis in full, not as powers of ten. Over more than one decade only 1, 2, 5, 10
    ... have numbers, over more than three only 1, 10 ..."""
    from matplotlib.ticker import LogLocator

    low, high = axis.get_view_interval()
    if high > 10.0 * low:
        axis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("{x:g}" if high < 1000.0 * low else "")


def label_times(axes: Any, clock: Clock) -> None:
    """Name the axis of time, at its left end; numbers in full, without an offset beside the axis."""
    axes.set_xlabel(clock.axis(), loc="left")
    axes.ticklabel_format(axis="x", style="plain", useOffset=False)


def image_bytes(figure: Any, path: str | os.PathLike[str], salt: str = "malleable") -> bytes:
    """The figure in the format of the path's suffix; ``salt``: of the ids in SVG."""
    out = io.BytesIO()
    kind = _suffix(path)
    # No time stamps or random ids: same figure, same bytes.
    stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": salt}):
        figure.savefig(out, format=kind, dpi=_DPI, metadata=stamp)
    return _with_palette(out) if kind == "png" else out.getvalue()


def _with_palette(png: io.BytesIO) -> bytes:
    # The picture with 256 colours, which takes a third of the bytes.
    from PIL import Image  # a dependency of matplotlib

    out = io.BytesIO()
    Image.open(png).convert("RGB").quantize(
        256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE
    ).save(out, "PNG", optimize=True)
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
