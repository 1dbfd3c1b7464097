"""A guard around views and predictions, so that they cannot end a run: their errors are shown once, and the
run goes on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

Answer = TypeVar("Answer")


class Guard:
    """Calls a view (a function that shows or predicts something) and returns its answer, or None if it failed.
    ``report`` is called with a sentence, once for each view that failed; its own errors are ignored."""

    def __init__(self, report: Callable[[str], object] = lambda text: None) -> None:
        self._report = report
        self._told: set[str] = set()  # subjects of failures that were reported

    def __call__(self, about: str, view: Callable[[], Answer]) -> Answer | None:
        try:
            return view()
        except (Exception, SystemExit) as error:
            if about not in self._told:
                self._told.add(about)
                with suppress(Exception):  # the reader may be gone
                    self._report(
                        f"{about} failed, the run goes on: {str(error) or type(error).__name__}"
                    )
        return None
