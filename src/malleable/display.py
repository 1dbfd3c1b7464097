"""How objects show themselves: in one brief line, in a notebook, and by way of `malleable.view`, which is
imported when something is shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

_FEW = 4  # entries that a brief line shows


def counted(count: int, noun: str) -> str:
    """``1 job``, ``2 jobs``, ``3 entries``."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("ry") else f"{count:,} {noun}s"


def printable(text: str) -> str:
    """The text on one line, with control characters and what UTF-8 cannot hold escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def brief(self: Any) -> str:
    """Name and fields of a named tuple or data class in one line, long fields by their length. A class has
    ``__repr__ = display.brief``."""
    names = getattr(self, "_fields", None) or [field.name for field in dataclasses.fields(self)]
    return f"{type(self).__name__}({', '.join(f'{k}={_short(getattr(self, k))}' for k in names)})"


def _short(value: Any) -> str:
    import numpy as np  # imported here, because `malleable --version` must be fast

    if isinstance(value, np.ndarray):
        if value.ndim == 1 and len(value) <= _FEW:
            each = ", ".join(
                f"{x:.6g}" if value.dtype.kind == "f" else str(x) for x in value.tolist()
            )
            return f"[{each}]"
        return f"{value.dtype}[{' x '.join(f'{n:,}' for n in value.shape)}]"
    if isinstance(value, Mapping):
        shown = ", ".join(map(str, list(value)[:_FEW]))
        return f"{{{shown}{', ...' if len(value) > _FEW else ''}}}"
    if type(value) in (list, tuple):
        if len(value) <= _FEW and all(isinstance(each, (str, int, float)) for each in value):
            return repr(value)
        return f"{type(value).__name__} of {len(value):,}"
    return repr(value)


def view() -> Any:
    """The module `malleable.view`, imported when something is shown."""
    import malleable.view

    return malleable.view


def html_of(columns: str) -> Callable[[Any], str]:
    """A ``_repr_html_`` that shows these attributes of an object: arrays with an entry per row, or per row and
    kind of slots."""
    return lambda self: str(view().html(self, columns))


def as_html(self: object) -> str:
    """HTML for notebooks; a class has ``_repr_html_ = display.as_html``."""
    return str(view().html(self))
