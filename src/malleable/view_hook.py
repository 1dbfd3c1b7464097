"""The one way from a result up to `malleable.view`, which stands further right in the house.

Results (plans, simulations) offer ``plot`` and the like. What draws them is imported when somebody looks.
"""

from __future__ import annotations

from typing import Any


def view() -> Any:
    """The module `malleable.view`."""
    import malleable.view

    return malleable.view


def as_html(self: object) -> str:
    """What notebooks show; a class says ``_repr_html_ = view_hook.as_html``."""
    return str(view().html(self))
