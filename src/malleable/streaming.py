"""Common part of simulations of queues, which feed jobs of a table, or of a stream that is drawn meanwhile,
part by part into the core, so that memory holds one part."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from malleable.arrays import Floats, Integers
from malleable.estimate_errors import believed, error_sigma
from malleable.records import by_table_row, job_names, job_records
from malleable.validation import check_whole

PART = 1 << 16  # jobs


def seed_of(rng: np.random.Generator | int | None) -> int:
    """The given seed, or one drawn from the generator, or from the system."""
    if rng is None or isinstance(rng, np.random.Generator):
        return int(np.random.default_rng(rng).integers(2**63))
    return check_whole("rng", rng, 0, 2**64 - 1)


def kept_records(records: bool | None, stream: bool) -> bool:
    """Whether records are kept, by default of tables; ValueError if they are asked for of a stream."""
    keep = not stream if records is None else bool(records)
    if keep and stream:
        raise ValueError("records = True: a stream keeps no records")
    return keep


def warn_of_load(stop: str) -> None:
    told = f"load of 1 or more: the queue grows without bound; stopping at the {stop}"
    warnings.warn(told, RuntimeWarning, stacklevel=4)


def by_arrival(arrival: Floats | Integers) -> Integers:
    return np.argsort(arrival, kind="stable").astype(np.int64)


class Part(NamedTuple):
    """Jobs in the order of arrival, their rows, and their sizes as policies see them (None: the truth)."""

    jobs: Any
    rows: Integers
    seen: tuple[Floats, ...] | None

    def take(self, some: Integers) -> Part:
        return Part(self.jobs.take(some), self.rows[some], _taken(self.seen, some))


class Source:
    """Jobs of a table, or of a stream that is drawn while it is read, and what policies see of them.

    A stream has ``chunks(seed)``, tables in the order of arrival. ``estimates`` are as in
    `malleable.estimate_errors.believed` (of a stream a standard deviation only), ``sizes`` are the columns
    of true sizes by the names of the columns of estimates. ``errors`` draws log-normal errors by itself, so
    jobs are those of a run without errors."""

    def __init__(
        self,
        jobs: Any,
        seed: int,
        estimates: Any = None,
        sizes: Mapping[str, str] | None = None,
        errors: Any = None,
    ) -> None:
        self._jobs, self._seed, self._estimates, self._sizes = jobs, seed, estimates, sizes or {}
        self._errors = np.random.default_rng([seed, 1] if errors is None else errors)
        self.stream = hasattr(jobs, "chunks")
        if self.stream and estimates is not None and error_sigma(estimates) is None:
            raise ValueError("estimates: a stream takes a standard deviation only")
        self.seen = None if self.stream else self._believed(jobs)

    def _believed(self, jobs: Any) -> tuple[Floats, ...] | None:
        sizes = {name: getattr(jobs, own).astype(float) for name, own in self._sizes.items()}
        return believed(jobs, self._estimates, sizes, self._errors)

    def parts(self) -> Iterator[Part]:
        if self.stream:
            for jobs in self._jobs.chunks(self._seed):
                yield Part(jobs, np.arange(len(jobs)), self._believed(jobs))
            return
        order = by_arrival(self._jobs.arrival)
        for first in range(0, len(order), PART):
            rows = order[first : first + PART]
            yield Part(self._jobs.take(rows), rows, _taken(self.seen, rows))

    def feed(
        self,
        stop: float,
        total: int,
        feed: Callable[[Part], None],
        end: Callable[[], None],
        progress: Callable[[int, int], None] | None,
    ) -> tuple[bool, int]:
        """Feed the jobs that arrive by ``stop``, then go to the end. Returns whether that was done before
        Ctrl-C, and how many jobs entered."""
        entered = 0
        try:
            for part in self.parts():
                inside = int(np.searchsorted(part.jobs.arrival, stop, side="right"))
                cut = inside < len(part.rows)
                feed(part.take(np.arange(inside)) if cut else part)
                entered += inside
                if progress is not None:
                    progress(entered, total)
                if cut:
                    break
            end()
        except KeyboardInterrupt:
            return False, entered
        return True, entered


def _taken(columns: tuple[Floats, ...] | None, rows: Integers) -> tuple[Floats, ...] | None:
    return None if columns is None else tuple(column[rows] for column in columns)


def queue_records(
    model: str, policy: str, jobs: Any, taken: Sequence[Any], sizes: Floats, zero: float = 0.0
) -> dict[str, npt.NDArray[Any]]:
    """Records of a table's jobs from the core's arrays ``taken``: job, start, end of the maps, end. ``sizes``
    are the times that jobs need alone; ``zero`` is how arrivals and starts write 0."""
    # ``zero`` is the number that means time 0 in the core's arrivals and starts.
    rows, *times = by_table_row(by_arrival(jobs.arrival), *taken)
    start, map_completion, completion = (each.astype(np.float64) for each in times)
    arrival = jobs.arrival[rows].astype(np.float64) - zero
    moments = arrival, start - zero, map_completion, completion
    told = rows, job_names(jobs.name, rows), moments, sizes[rows]
    return job_records(model, policy, *told, requested_time=sizes[rows])
