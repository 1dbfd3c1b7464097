"""Processes that compute side by side, for commands with ``--processes``."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager


@contextmanager
def workers(count: int) -> Iterator[Executor | None]:
    # A pool of so many processes; None for one, which needs no pool.
    if count < 1:
        raise ValueError(f"processes = {count}: must be at least 1")
    if count == 1:
        yield None
    else:
        from concurrent.futures import ProcessPoolExecutor  # slow to import

        with ProcessPoolExecutor(count) as pool:
            yield pool
