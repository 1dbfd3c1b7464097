"""What simulations of queues have in common: jobs of a table or a stream are fed chunk by chunk."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from malleable.columns import Floats, Integers


def seed_of(rng: np.random.Generator | int | None) -> int:
    """A seed: that given, or one drawn from the generator, or from the system."""
    if rng is None or isinstance(rng, np.random.Generator):
        return int(np.random.default_rng(rng).integers(2**63))
    return int(rng)


def kept_records(records: bool | None, stream: bool) -> bool:
    """Whether records are kept, by default of tables; ValueError if they are asked for of a stream."""
    keep = not stream if records is None else bool(records)
    if keep and stream:
        raise ValueError("records = True: a stream keeps none")
    return keep


def warn_of_load(stop: str) -> None:
    """RuntimeWarning where more comes than can be done."""
    told = f"load of 1 or more: the queue grows without bound; stopping at the {stop}"
    warnings.warn(told, RuntimeWarning, stacklevel=4)


def by_arrival(arrival: Floats | Integers) -> Integers:
    """Rows by arrival, ties by place in the table."""
    return np.argsort(arrival, kind="stable").astype(np.int64)


def fed(
    chunks: Iterable[tuple[Any, Floats | None]],
    stop: float,
    total: int,
    feed: Callable[[Any, Floats | None], None],
    end: Callable[[], None],
    progress: Callable[[int, int], None] | None,
) -> tuple[bool, int]:
    """Feed jobs, with their estimates if there are any, that arrive by ``stop``; then go to the end.

    Chunks have ``arrival`` in ascending order, and ``take(rows)``. Returns whether Ctrl-C left it at
    that, and how many jobs entered.
    """
    entered = 0
    try:
        for chunk, guess in chunks:
            inside = int(np.searchsorted(chunk.arrival, stop, side="right"))
            cut = inside < len(chunk.arrival)
            part = chunk.take(np.arange(inside)) if cut else chunk
            feed(part, None if guess is None else guess[:inside])
            entered += inside
            if progress is not None:
                progress(entered, total)
            if cut:
                break
        end()
    except KeyboardInterrupt:
        return False, entered
    return True, entered


def over(part: float, whole: float, otherwise: float = math.nan) -> float:
    """Their ratio, or what it is of nothing."""
    return part / whole if whole > 0.0 else otherwise


def quantiles(histogram: Integers, value: Callable[[int], float]) -> dict[str, float]:
    """``p50``, ``p90`` and ``p99`` of counts by bin; ``value`` is that of a bin."""
    counts = np.cumsum(histogram)
    total = int(counts[-1]) if len(counts) else 0
    return {
        f"p{part}": value(int(np.searchsorted(counts, math.ceil(part / 100 * total))))
        if total
        else math.nan
        for part in (50, 90, 99)
    }
