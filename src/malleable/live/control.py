"""Orders to a run from another terminal: JSON files in a folder beside its journal that only its owner can use.
A run listens while it holds its journal, and looks for an order after each pass, without waiting."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from malleable.live.journal import Journal
from malleable.live.own_files import own_folder

_PATIENCE = 10.0  # seconds within which an order must be answered
_LOOK = 0.02  # seconds between two looks for the answer


def orders_folder(journal: Path) -> Path:
    return journal.absolute().with_name(journal.name + ".orders")


def _put(path: Path, value: Any) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(value))
    fresh.replace(path)


class Control:
    """The folder of the run that writes ``journal``.

    ``obey(order) -> str`` carries out an order (a mapping), and returns the answer or raises a ValueError.
    ValueError or OSError if the folder cannot be made.
    """

    def __init__(self, journal: Path, obey: Callable[[Mapping[str, Any]], str]) -> None:
        self._folder, self._obey = orders_folder(journal), obey
        own_folder(self._folder)
        for left in self._folder.iterdir():  # orders of a run that was killed
            left.unlink()

    def serve(self) -> None:
        # Carry out the orders that are there, in the order of their times.
        with suppress(FileNotFoundError):  # it was removed from outside
            for name in sorted(os.listdir(self._folder)):  # noqa: PTH208 - after each pass
                if name.endswith(".order"):
                    path = self._folder / name
                    said = path.read_bytes()
                    path.unlink()
                    _put(path.with_suffix(".answer"), self._answer(said))

    def _answer(self, said: bytes) -> dict[str, str]:
        try:
            order = json.loads(said)
            if not isinstance(order, dict):
                raise ValueError("no order")
            return {"done": self._obey(order)}
        except ValueError as error:
            return {"error": str(error)}

    def close(self) -> None:
        with suppress(OSError):  # the folder exists
            self._folder.rmdir()


def order(journal: Path, what: Mapping[str, Any]) -> str:
    """Send an order to the run that writes this journal, and return its answer. ValueError: no run listens
    there, it belongs to another user, or the run refuses, and why."""
    folder = orders_folder(journal)
    no_run = f"{journal}: no run of this journal is going on, so no order can be sent"
    if not os.path.lexists(folder):
        raise ValueError(no_run)
    own_folder(folder)
    path = folder / f"{time.time_ns()}-{os.getpid()}.order"
    answer = path.with_suffix(".answer")
    until = time.monotonic() + _PATIENCE
    try:
        _put(path, what)
        while not answer.exists():
            with Journal(journal, write=False) as known:
                if not known.written() and not answer.exists():
                    raise ValueError(no_run)
            if time.monotonic() > until:
                raise ValueError(f"{journal}: its run does not answer")
            time.sleep(_LOOK)
        found = json.loads(answer.read_text())
    except FileNotFoundError:  # the run has just ended
        raise ValueError(no_run) from None
    finally:
        for each in (path, answer):
            each.unlink(missing_ok=True)
    if "error" in found:
        raise ValueError(found["error"])
    return str(found["done"])
