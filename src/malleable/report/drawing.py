"""matplotlib, imported when a picture is wanted; figures without windows or global state."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from malleable.workloads.output_files import write_file

__all__ = ["check_drawing", "image_bytes", "new_figure", "save_figure"]

_DPI = 150


def check_drawing(path: str | os.PathLike[str] | None = None) -> None:
    """ImportError without matplotlib, ValueError if it knows no image format of that suffix."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'malleable[plot]'") from None
    if path is None:
        return
    known = FigureCanvasAgg.get_supported_filetypes()
    if _suffix(path) not in known:
        raise ValueError(
            f"{os.fspath(path)}: unknown image format, expected one of .{', .'.join(sorted(known))}"
        )


def _suffix(path: str | os.PathLike[str]) -> str:
    return Path(path).suffix.lower().lstrip(".") or "png"


def new_figure(width: float, height: float) -> Any:
    """A figure of that size [inches] that belongs to nobody but the caller."""
    check_drawing()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def image_bytes(figure: Any, path: str | os.PathLike[str]) -> bytes:
    """The figure as an image file in the format of the path's suffix (none: PNG)."""
    out = io.BytesIO()
    kind = _suffix(path)
    # No time stamps or random ids: same figure, same bytes.
    stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "malleable"}):
        figure.savefig(out, format=kind, dpi=_DPI, metadata=stamp)
    return out.getvalue()


def save_figure(figure: Any, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write the figure; an existing file only with ``force``."""
    check_drawing(path)
    write_file(path, image_bytes(figure, path), force)
