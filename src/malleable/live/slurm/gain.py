"""What governing arrays has gained: their ends, and those that the order of arrival would have given.

The tasks that were seen, with the seconds that they took, are simulated on the most slots that the arrays had
at a look. Starting a task takes no time there, no array waits for another one, and tasks that had ended before
the first look are left out; so the order of arrival looks better than it is. O(tasks log tasks).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from malleable.cluster.nodes import Cluster
from malleable.cluster.simulate import run
from malleable.cluster.table import ClusterJobs
from malleable.live.ledger import Work

_MOST = 300_000  # tasks that are simulated
_LEAST = 1e-3  # seconds of a task


class Gain(NamedTuple):
    """Mean responses [s] of the arrays that have ended well: as they were, and in the order of arrival."""

    response: float
    in_order: float

    @property
    def ratio(self) -> float:
        """The first over the second."""
        return self.response / self.in_order


def gain_of(works: Sequence[Work], slots: int) -> Gain | None:
    """What was gained; None: nothing can be said, as no array has ended well, or there are too many tasks."""
    works = [work for work in works if work.done + work.left]
    ended = [
        row for row, work in enumerate(works) if not work.failed and not math.isnan(work.ended)
    ]
    tasks = sum(work.tasks * work.width for work in works)
    if not ended or slots < 1 or tasks > _MOST:
        return None
    ends = _in_order(works, slots)
    return Gain(
        fmean(works[row].ended - works[row].arrival for row in ended),
        fmean(ends[row] - works[row].arrival for row in ended),
    )


def _in_order(works: Sequence[Work], slots: int) -> list[float]:
    """Ends of jobs whose tasks start in the order of arrival."""
    usual = fmean(work.taken / work.done for work in works if work.done)
    means = [work.taken / work.done if work.done else work.seconds or usual for work in works]
    jobs = ClusterJobs(
        [(work.done + work.left) * work.width for work in works],
        [max(_LEAST, seconds) for seconds in means],
        arrival=[work.arrival for work in works],
    )
    records = run(jobs, "fifo", cluster=Cluster([{"slots": slots}]), records=True).records
    assert records is not None
    ends: list[float] = records["completion"].tolist()
    return ends
