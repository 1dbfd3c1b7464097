"""Processes that compute side by side, on this machine or on others."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from malleable.cli.terminal import warnings_as_notes

if TYPE_CHECKING:
    from malleable.live.protocol import CallEngine

ENGINE = (
    "run simulations on other machines: dask://HOST:PORT, hyperqueue (starts a server on this machine) or "
    "hyperqueue:FOLDER (default: on this machine)"
)
"""What ``--engine`` takes."""


def engine_of(text: str, slots: int | None) -> CallEngine:
    """What ``--engine`` names.

    Raises
    ------
    ValueError
        It names nothing, or needs a number of slots.
    """
    from malleable.live import engines

    kind, colon, rest = text.partition(":")
    if kind == "dask" and rest.startswith("//") and rest[2:]:
        return engines.Dask(f"tcp:{rest}", slots=slots)
    if kind == "hyperqueue" and bool(colon) == bool(rest):
        if slots is None:
            raise ValueError(f"--engine {text}: how many tasks at once?")
        with warnings_as_notes():
            return engines.HyperQueue(slots, rest or None)
    raise ValueError(f"--engine {text}: expected dask://HOST:PORT, hyperqueue or hyperqueue:FOLDER")


@contextmanager
def workers(count: int | None, engine: str | None = None) -> Iterator[Executor | None]:
    """A pool of so many processes, of another engine by its name; one: none besides this one.

    None: one, or as many as the engine has slots.
    """
    if count is not None and count < 1:
        raise ValueError(f"processes = {count}: must be at least 1")
    if engine is not None:
        from malleable.live.executor import Executor as Calls

        with Calls(engine=engine_of(engine, count)) as calls:
            yield calls
    elif count is None or count == 1:
        yield None
    else:
        from concurrent.futures import ProcessPoolExecutor  # slow to import

        with ProcessPoolExecutor(count) as pool:
            yield pool
