"""Where results find what presents them.

Results (plans, simulations) offer ``plot`` and the like, but drawing stands further right in the house
than they do. Presenters register here when the package is imported; results look them up by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["present", "register"]

_PRESENTERS: dict[str, Callable[..., Any]] = {}


def register(name: str, presenter: Callable[..., Any]) -> None:
    """Make ``presenter(result, ...)`` answer to ``name``."""
    _PRESENTERS[name] = presenter


def present(name: str, result: object, *args: Any, **options: Any) -> Any:
    """Call the presenter of that name."""
    return _PRESENTERS[name](result, *args, **options)
