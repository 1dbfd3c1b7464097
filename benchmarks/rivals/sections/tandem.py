"""Jobs with a map and a shuffle phase that overlap (a tandem queue of two stations) come one after the other.

Max-srpt and split-srpt are policies of Lin et al. 2013, two-srpt is of this project. Rivals: the k oldest jobs
share the map station (k-lps), all share (ps), first come, first served (fcfs).
"""

from __future__ import annotations

from collections.abc import Iterator

import malleable as mb
from benchmarks.instances import tandem_stream
from benchmarks.rivals.table import Row, section

_OURS = ("two-srpt", "max-srpt", "split-srpt")
_RIVALS = ("k-lps", "ps", "fcfs")


def _mean(kind: str, load: float, rule: str, seed: int) -> float:
    """Mean response."""
    found = mb.simulate(tandem_stream(kind, seed, load), policy=rule)
    return float(found.records["turnaround_time"].mean())


@section(
    "tandem",
    "Jobs with a map and a shuffle phase come one after the other (`tandem_stream`). The figures are "
    "mean responses [s]. Ours is `two-srpt`",
)
def tandem_rows(quick: bool) -> Iterator[Row]:
    for kind in ("opposed", "bimodal", "mixed", "independent", "alike"):
        for load in (0.9,) if quick else (0.7, 0.9):
            yield Row(
                f"{kind}, load {load:g}",
                lambda rule, seed, kind=kind, load=load: _mean(kind, load, rule, seed),
                ours=_OURS,
                rivals=_RIVALS,
                seeds=range(1 if quick else 12),
            )
