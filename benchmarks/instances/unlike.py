"""Clusters of unlike nodes: kinds of nodes that suit classes of jobs differently, and users with minima.

unlike_world(number, seed, jobs=120): jobs, their cluster, and what is said of their tasks, of one of fifteen
    worlds (`UNLIKE_WORLDS`). Two to four kinds of ten nodes each. A class of jobs has a program, mean seconds
    lognormal(mean 20, 0.6), and on each kind of nodes a rate of its own for maps and for reduces,
    lognormal(1, ``spread``). Maps are geometric(1 / 20), at most 150, a fifth as many reduces (at least one),
    tasks of sigma 0.3. Four users with minima of a quarter of the slots for two of them, priorities 1 to 3.
    ``load`` is that of the linear program of `malleable.match_classes` (the busier phase). What else a world
    has is in the table: ``burst`` jobs that come at once, ``error`` of what is said, ``drift`` (rates of a
    class are drawn anew for the second half of the jobs), ``lost`` kinds whose nodes leave half way, ``plain``
    (only nodes' speeds differ), ``generic`` slots, ``single`` (one map a job, no reduces).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import malleable as mb

__all__ = ["UNLIKE_WORLDS", "unlike_world"]

_USUAL = {
    "kinds": 2, "classes": 6, "load": 0.7, "spread": 0.7, "burst": 1, "error": 0.0, "drift": False,
    "lost": 0, "plain": False, "generic": False, "single": False,
}  # fmt: skip
UNLIKE_WORLDS: dict[str, dict[str, Any]] = {
    "two kinds, load 0.5": {"load": 0.5},
    "two kinds, load 0.8": {"load": 0.8},
    "two kinds, load 0.95": {"load": 0.95},
    "three kinds": {"kinds": 3},
    "four kinds, far apart": {"kinds": 4, "spread": 1.2},
    "bursts": {"kinds": 3, "burst": 15},
    "estimates off by 40 %": {"error": 0.4, "kinds": 3},
    "classes that drift": {"drift": True},
    "60 classes": {"classes": 60, "kinds": 4},
    # Held back while rules were chosen.
    "speeds alone": {"plain": True, "kinds": 3},
    "generic slots": {"generic": True, "kinds": 3, "load": 0.8},
    "bursts at load 0.9": {"burst": 15, "load": 0.9, "kinds": 4},
    "a kind is lost": {"lost": 1, "kinds": 3, "load": 0.5},
    "one task a job": {"single": True, "kinds": 3},
    "far apart, off by 40 %": {"spread": 1.2, "error": 0.4, "load": 0.9},
}


def _growth(work: Any, rates: Any, slots: int) -> float:
    """How many times this work [slot-seconds by class] ten nodes of each kind do in a second."""
    some = work > 0.0
    speed = rates[some] * slots / work[some, None]
    shares = np.repeat(speed, 10, axis=1)
    return mb.match_classes(np.ones(int(some.sum())), shares).growth


def unlike_world(name: str, seed: int, jobs: int = 120) -> tuple[mb.ClusterJobs, mb.Cluster, Any]:
    """Jobs, their cluster, and what is said of tasks, shape (J, 2); None: the truth."""
    world = {**_USUAL, **UNLIKE_WORLDS[name]}
    rng = np.random.default_rng([seed, list(UNLIKE_WORLDS).index(name)])
    kinds, classes = world["kinds"], world["classes"]
    of = np.concatenate([rng.permutation(classes), rng.integers(0, classes, jobs)])[:jobs]
    rng.shuffle(of)

    def drawn() -> Any:
        if world["plain"]:
            return np.broadcast_to(4.0 ** np.arange(kinds), (classes, 2, kinds)).copy()
        return rng.lognormal(0.0, world["spread"], (classes, 2, kinds))

    rate = drawn()[of]
    if world["drift"]:
        rate[jobs // 2 :] = drawn()[of[jobs // 2 :]]
    seconds = rng.lognormal(np.log(20.0), 0.6, (classes, 2))[of]
    maps = np.minimum(rng.geometric(1 / 20, jobs), 150)
    reduces = np.maximum(maps // 5, 1)
    if world["single"]:
        maps, reduces = np.ones(jobs, dtype=int), np.zeros(jobs, dtype=int)
    times = [
        [list(s[p] * rng.lognormal(-0.045, 0.3, n)) for s, n in zip(seconds, count, strict=True)]
        for p, count in enumerate((maps, reduces))
    ]
    slots = (4, 0) if world["generic"] else (3, 1)
    work = np.array([[sum(own) for own in phase] for phase in times]).T
    both = [work.sum(axis=1)] if world["generic"] else [work[:, 0], work[:, 1]]
    least = min(_growth(own, rate[:, p], slots[p]) for p, own in enumerate(both) if own.any())
    bursts = int(np.ceil(jobs / world["burst"]))
    span = 1.0 / least / world["load"]
    arrival = np.repeat(np.sort(rng.uniform(0.0, span, bursts)), world["burst"])[:jobs]
    error = rng.lognormal(0.0, world["error"], (jobs, 2)) if world["error"] else None
    names = [f"kind {k}" for k in range(kinds)]
    users = [
        {
            "name": f"user {u}",
            "minimum": float(10 * kinds * 4 // 4 * (u < 2)),
            "priority": 1.0 + u % 3,
        }
        for u in range(4)
    ]
    nodes = [
        {"count": 10, "name": own}
        | ({"slots": 4} if world["generic"] else {"map_slots": 3, "reduce_slots": 1})
        | ({"rate": float(4.0**k)} if world["plain"] else {})
        for k, own in enumerate(names)
    ]
    changes = [{"time": span / 2, "node": node, "up": False} for node in range(10 * world["lost"])]
    table = mb.ClusterJobs(
        maps, times[0], reduces, times[1], arrival=arrival, program=[f"class {c}" for c in of],
        user=[f"user {u}" for u in rng.integers(0, 4, jobs)],
        rate=None if world["plain"] else {own: rate[:, :, k] for k, own in enumerate(names)},
    )  # fmt: skip
    said = None
    if error is not None:
        said = work / np.maximum(np.stack([maps, reduces], axis=1), 1) * error
    return table, mb.Cluster(nodes, users=users, changes=changes), said
