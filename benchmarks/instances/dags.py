"""DAGs whose tasks slow each other down.

executor_dags(seed, flows, load=None): queries of ``tpch-cloudlab`` at random, on 50 or 100 GB, as flows for
    EXECUTORS executors; a job is a stage, with as many slots as tasks. A task of a stage on which s executors
    work takes (s / 50)^(1 - p) times as long as it did on 50 cores; p is what mean times on 50 and on 100
    cores say, from 0.5 to 0.8. Work is that on one executor. Without a load all flows are there at the start;
    else they come Poisson, and 50 executors would be busy for that part of the time if each stage always had
    eight. They need the traces' folder (MALLEABLE_TRACES).
executor_shapes(kind, seed, flows, load=None): the same world with random flows. "chains": two to eight stages;
    "fork-joins": three to eleven wide stages between a first and a last one; "layers": two to four layers of
    one to three stages, each of which waits for the whole layer before. Stages have lognormal(m, 0.8) tasks, m
    being 3 (1 for the first stage of a fork, 2.5 between, 1.5 at the end), of lognormal(0.5, 0.7) seconds on
    average; p is uniform from 0.4 to 0.95, and from 0.3 to 0.5 in layers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.instances.research import tpch_flows
from benchmarks.instances.workflows import traces
from malleable import Flows

__all__ = ["EXECUTORS", "EXECUTOR_SHAPES", "executor_dags", "executor_shapes"]

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
    return _coming(chosen, rng, load)


EXECUTOR_SHAPES = ("chains", "fork-joins", "layers")


def executor_shapes(kind: str, seed: int, flows: int, load: float | None = None) -> Flows:
    """See the module."""
    rng = np.random.default_rng(1000 + seed)
    return _coming([_shape(kind, rng) for _ in range(flows)], rng, load)


def _shape(kind: str, rng: np.random.Generator) -> list[dict[str, Any]]:
    """A random flow."""
    stages: list[dict[str, Any]] = []

    def layer(count: int, after: list[str], mean: float = 3.0) -> list[str]:
        first = len(stages)
        for _ in range(count):
            tasks = int(np.clip(rng.lognormal(mean, 0.8), 1, 300))
            p = float(rng.uniform(*((0.3, 0.5) if kind == "layers" else (0.4, 0.95))))
            work = tasks * float(rng.lognormal(0.5, 0.7))
            stage = {"name": str(len(stages)), "work": work, "max_slots": tasks, "after": after}
            stages.append(stage | {"speedup": p})
        return [str(k) for k in range(first, len(stages))]

    if kind == "fork-joins":
        layer(1, layer(int(rng.integers(3, 12)), layer(1, [], 1.0), 2.5), 1.5)
        return stages
    last: list[str] = []
    for _ in range(int(rng.integers(2, 9 if kind == "chains" else 5))):
        last = layer(1 if kind == "chains" else int(rng.integers(1, 4)), last)
    return stages


def _coming(chosen: list[Any], rng: np.random.Generator, load: float | None) -> Flows:
    """Flows that are all there, or come at that load."""
    stages = [stage for flow in chosen for stage in flow]
    p = np.array([stage["speedup"] for stage in stages])
    work = np.array([stage["work"] for stage in stages])
    flows = len(chosen)
    arrival = np.zeros(flows)
    if load is not None:
        mean = float((work * _WIDTH ** (1 - p)).sum()) / (EXECUTORS * load * flows)
        arrival = np.cumsum(rng.exponential(size=flows)) * mean
    return Flows(chosen, arrival=arrival)
