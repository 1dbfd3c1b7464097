"""Clusters of unlike nodes: kinds of nodes that suit classes of jobs differently, and users with minima.

unlike_world(name, seed, jobs=120): jobs, their cluster, and what is said of their tasks, of one of the worlds
    `UNLIKE_WORLDS`. Two to four kinds of ten nodes each. A class of jobs has a program, mean seconds
    lognormal(mean 20, 0.6), and on each kind of nodes a rate of its own for maps and for reduces,
    lognormal(1, ``spread``). Maps are geometric(1 / 20), at most 150, a fifth as many reduces (at least one),
    tasks of sigma 0.3. Four users with priorities 1 to 3; ``minima`` are parts of all slots, a quarter for
    two of them. ``load`` is that of the linear program of `malleable.match_classes` (the busier phase). What
    else a world has is in the table: ``burst`` jobs that come at once, ``error`` of what is said, ``drift``
    (rates of a class are drawn anew for the second half of the jobs), ``plain`` (only nodes' speeds differ),
    ``generic`` slots, ``single`` (one map a job, no reduces), ``opposite`` (kind c + k of class c has rate
    4^-k; ``flipped``: the other way round for reduces), ``nodes`` of each kind, ``boost`` of the first kind's
    rates, ``tail`` (maps are 3 Pareto(1.3)), ``moves`` of kinds: (part of the time, kind, up), ``objective``,
    ``slack`` of deadlines (times of the seconds that the job takes alone, twice as many at most).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import malleable as mb

__all__ = ["HELD_BACK", "UNLIKE_WORLDS", "unlike_objective", "unlike_world"]

_USUAL = {
    "kinds": 2, "classes": 6, "load": 0.7, "spread": 0.7, "burst": 1, "error": 0.0, "drift": False,
    "moves": (), "plain": False, "generic": False, "single": False, "opposite": False, "flipped": False,
    "nodes": (10, 10, 10, 10), "boost": 1.0, "tail": False, "minima": (0.25, 0.25, 0.0, 0.0),
    "objective": "sum:response", "slack": 0.0,
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
    "speeds alone": {"plain": True, "kinds": 3},
    "generic slots": {"generic": True, "kinds": 3, "load": 0.8},
    "bursts at load 0.9": {"burst": 15, "load": 0.9, "kinds": 4},
    "a kind is lost": {"moves": [(0.5, 0, False)], "kinds": 3, "load": 0.5},
    "one task a job": {"single": True, "kinds": 3},
    "far apart, off by 40 %": {"spread": 1.2, "error": 0.4, "load": 0.9},
    "three kinds, opposite": {"kinds": 3, "opposite": True},
    "four kinds, opposite, load 0.95": {"kinds": 4, "opposite": True, "load": 0.95},
    "maps and reduces opposite": {"opposite": True, "flipped": True, "load": 0.8},
    "few fast nodes": {"kinds": 2, "nodes": (3, 27), "boost": 8.0},
    "bursts of 40, load 0.6": {"burst": 40, "load": 0.6, "kinds": 3},
    "three kinds that drift, load 0.9": {"drift": True, "kinds": 3, "load": 0.9},
    "60 classes, off by 60 %": {"classes": 60, "error": 0.6, "kinds": 3, "load": 0.8},
    "a kind joins": {"moves": [(0.0, 0, False), (0.5, 0, True)], "kinds": 3, "load": 0.5},
    "kinds leave and return": {
        "moves": [(0.2, 0, False), (0.4, 0, True), (0.5, 1, False), (0.8, 1, True)],
        "kinds": 3, "load": 0.5,
    },
    "all users have minima": {"minima": (0.25, 0.25, 0.25, 0.25), "kinds": 3, "load": 0.85},
    "no minima, load 0.9": {"minima": (0.0, 0.0, 0.0, 0.0), "kinds": 3, "load": 0.9},
    "heavy tails": {"tail": True, "kinds": 3},
    "generic, off by 60 %": {"generic": True, "error": 0.6, "load": 0.9},
    "two speeds, load 0.9": {"plain": True, "load": 0.9},
    "stretch": {"objective": "sum:stretch", "load": 0.8, "kinds": 3},
    "tardiness": {"objective": "sum:tardiness", "slack": 2.0, "load": 0.8, "kinds": 3},
    "late jobs": {"objective": "sum:tardy", "slack": 2.0, "load": 0.8, "kinds": 3},
}  # fmt: skip

HELD_BACK = list(UNLIKE_WORLDS)[15:]
"""Families of instances that were not looked at while rules were chosen."""


def unlike_objective(name: str) -> str:
    return str({**_USUAL, **UNLIKE_WORLDS[name]}["objective"])


def _growth(work: Any, rates: Any, slots: int, nodes: Any) -> float:
    """How many times this work [slot-seconds by class] all nodes do in a second."""
    some = work > 0.0
    speed = rates[some] * slots / work[some, None]
    return mb.match_classes(np.ones(int(some.sum())), np.repeat(speed, nodes, axis=1)).growth


def _rates(world: dict[str, Any], rng: np.random.Generator) -> Any:
    """By class, phase and kind."""
    kinds, classes = world["kinds"], world["classes"]
    if world["plain"]:
        return np.broadcast_to(4.0 ** np.arange(kinds), (classes, 2, kinds)).copy()
    found = rng.lognormal(0.0, world["spread"], (classes, 2, kinds))
    if world["opposite"]:
        away = (np.arange(kinds) - np.arange(classes)[:, None]) % kinds
        found = np.stack(
            [4.0**-away, 4.0 ** -(away[:, ::-1] if world["flipped"] else away)], axis=1
        )
    found[:, :, 0] *= world["boost"]
    return found


def _tasks(world: dict[str, Any], count: int, rng: np.random.Generator) -> Any:
    drawn = 3.0 * rng.pareto(1.3, count) + 1.0 if world["tail"] else rng.geometric(1 / 20, count)
    maps = np.minimum(drawn, 150).astype(int)
    if world["single"]:
        return np.ones(count, dtype=int), np.zeros(count, dtype=int)
    return maps, np.maximum(maps // 5, 1)


def unlike_world(name: str, seed: int, jobs: int = 120) -> tuple[mb.ClusterJobs, mb.Cluster, Any]:
    """Jobs, their cluster, and what is said of tasks, shape (J, 2); None: the truth."""
    world = {**_USUAL, **UNLIKE_WORLDS[name]}
    rng = np.random.default_rng([seed, list(UNLIKE_WORLDS).index(name)])
    kinds, classes = world["kinds"], world["classes"]
    of = np.concatenate([rng.permutation(classes), rng.integers(0, classes, jobs)])[:jobs]
    rng.shuffle(of)
    rate = _rates(world, rng)[of]
    if world["drift"]:
        rate[jobs // 2 :] = _rates(world, rng)[of[jobs // 2 :]]
    seconds = rng.lognormal(np.log(20.0), 0.6, (classes, 2))[of]
    maps, reduces = _tasks(world, jobs, rng)
    times = [
        [list(s[p] * rng.lognormal(-0.045, 0.3, n)) for s, n in zip(seconds, count, strict=True)]
        for p, count in enumerate((maps, reduces))
    ]
    slots = (4, 0) if world["generic"] else (3, 1)
    count = world["nodes"][:kinds]
    work = np.array([[sum(own) for own in phase] for phase in times]).T
    both = [work.sum(axis=1)] if world["generic"] else [work[:, 0], work[:, 1]]
    least = min(
        _growth(own, rate[:, p], slots[p], count) for p, own in enumerate(both) if own.any()
    )
    bursts = int(np.ceil(jobs / world["burst"]))
    span = 1.0 / least / world["load"]
    arrival = np.repeat(np.sort(rng.uniform(0.0, span, bursts)), world["burst"])[:jobs]
    error = rng.lognormal(0.0, world["error"], (jobs, 2)) if world["error"] else None
    names = [f"kind {k}" for k in range(kinds)]
    everything = 4 * sum(count)
    users = [
        {"name": f"user {u}", "minimum": float(int(part * everything)), "priority": 1.0 + u % 3}
        for u, part in enumerate(world["minima"])
    ]
    nodes = [
        {"count": own, "name": names[k]}
        | ({"slots": 4} if world["generic"] else {"map_slots": 3, "reduce_slots": 1})
        | ({"rate": float(4.0**k)} if world["plain"] else {})
        for k, own in enumerate(count)
    ]
    first = np.concatenate([[0], np.cumsum(count)])
    changes = [
        {"time": span * part, "node": node, "up": up}
        for part, kind, up in world["moves"]
        for node in range(first[kind], first[kind + 1])
    ]
    of_users = [f"user {u}" for u in rng.integers(0, 4, jobs)]
    deadline = np.inf
    if world["slack"]:
        alone = (seconds / rate.max(axis=2)).sum(axis=1)
        deadline = arrival + alone * world["slack"] * rng.uniform(1.0, 2.0, jobs)
    table = mb.ClusterJobs(
        maps, times[0], reduces, times[1], arrival=arrival, program=[f"class {c}" for c in of],
        user=of_users, deadline=deadline,
        rate=None if world["plain"] else {own: rate[:, :, k] for k, own in enumerate(names)},
    )  # fmt: skip
    said = None
    if error is not None:
        said = work / np.maximum(np.stack([maps, reduces], axis=1), 1) * error
    return table, mb.Cluster(nodes, users=users, changes=changes), said
