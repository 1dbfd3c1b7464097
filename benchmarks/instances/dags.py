"""DAGs whose tasks slow each other down; they need the traces' folder (MALLEABLE_TRACES).

executor_dags(seed, flows, load=None): queries of ``tpch-cloudlab`` at random, on 50 or 100 GB, as flows for
    EXECUTORS executors; a job is a stage, with as many slots as tasks. A task of a stage on which s executors
    work takes (s / 50)^(1 - p) times as long as it did on 50 cores; p is what mean times on 50 and on 100
    cores say, from 0.5 to 0.8. Work is that on one executor. Without a load all flows are there at the start;
    else they come Poisson, and 50 executors would be busy for that part of the time if each stage always had
    eight.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.instances.research import tpch_flows
from benchmarks.instances.workflows import traces
from malleable import Flows

__all__ = ["EXECUTORS", "executor_dags"]

EXECUTORS = 50
_WIDTH = 8  # executors of a stage by which loads are counted


@lru_cache(maxsize=1)
def _queries() -> list[list[dict[str, Any]]]:
    """The stages of every query and size."""
    root = traces()
    assert root is not None, "no folder of traces"
    found = []
    for size in (50, 100):
        few, many = (tpch_flows(root / "tpch-cloudlab", size, cores) for cores in (50, 100))
        slow = dict(zip(many.job_name, many.work / many.max_slots, strict=True))
        for k in range(len(few)):
            first, stages = few.job_offset[k], []
            for row in range(first, few.job_offset[k + 1]):
                tasks, name = int(few.max_slots[row]), few.job_name[row]
                seconds = float(few.work[row]) / tasks
                p = float(np.clip(1 - np.log2(slow.get(name, seconds) / seconds), 0.5, 0.8))
                work = tasks * seconds * EXECUTORS ** (p - 1)
                after = [str(parent - first) for parent in few.after(row)]
                stages.append(
                    {"name": str(row - first), "work": work, "max_slots": tasks, "after": after}
                    | {"speedup": p}
                )
            found.append(stages)
    return found


def executor_dags(seed: int, flows: int, load: float | None = None) -> Flows:
    """See the module."""
    rng, pool = np.random.default_rng(seed), _queries()
    chosen = [pool[k] for k in rng.integers(len(pool), size=flows).tolist()]
    stages = [stage for flow in chosen for stage in flow]
    p = np.array([stage["speedup"] for stage in stages])
    work = np.array([stage["work"] for stage in stages])
    arrival = np.zeros(flows)
    if load is not None:
        mean = float((work * _WIDTH ** (1 - p)).sum()) / (EXECUTORS * load * flows)
        arrival = np.cumsum(rng.exponential(size=flows)) * mean
    return Flows(chosen, arrival=arrival)
