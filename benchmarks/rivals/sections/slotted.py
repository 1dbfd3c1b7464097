"""Jobs with map tasks and reduce tasks in equal steps of time.

Asrpt is the policy of Zheng et al. 2013, unlock is of this project. Rivals: least work left (srpt), equal
shares, first come.
"""

from __future__ import annotations

from collections.abc import Iterator

import malleable as mb
from benchmarks.instances import slotted_stream
from benchmarks.rivals.table import Row, section

_OURS = ("unlock", "asrpt")
_RIVALS = ("srpt", "fair", "fifo")


def _mean(kind: str, load: float, steps: int, rule: str, seed: int) -> float:
    """Mean steps from arrival to end."""
    jobs, machines = slotted_stream(kind, seed, load, steps)
    found = mb.simulate(jobs, policy=rule, machines=machines)
    return float(found.summary[rule]["mean_response"])


@section(
    "slotted",
    "Jobs with map tasks and reduce tasks come to machines that work in equal steps of time "
    "(`slotted_stream`). Tasks can be interrupted. The figures are mean responses, in steps. Ours "
    "is `unlock`",
)
def slotted_rows(quick: bool) -> Iterator[Row]:
    for kind in ("exp-large", "exp-small", "balanced", "Pareto", "bursts"):
        for load in (0.9,) if quick else (0.7, 0.9):
            yield Row(
                f"{kind}, load {load:g}",
                lambda rule, seed, kind=kind, load=load: _mean(
                    kind, load, 100 if quick else 400, rule, seed
                ),
                ours=_OURS,
                rivals=_RIVALS,
                seeds=range(1 if quick else 12),
            )
