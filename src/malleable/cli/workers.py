"""Processes that compute side by side."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager


@contextmanager
def workers(count: int) -> Iterator[Executor | None]:
    if count < 1:
        raise ValueError(f"processes = {count}: must be at least 1")
    if count == 1:
        yield None
    else:
        from concurrent.futures import ProcessPoolExecutor  # slow to import

        with ProcessPoolExecutor(count) as pool:
            yield pool
