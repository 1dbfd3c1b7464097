"""Jobs of tasks on nodes, by `malleable.simulate`: what the policy a user gets by default makes of them.

"auto" is asked for by name alone, nothing else said; where sizes are not known (``learn``) so it is for every
rule but the floors, which are told the truth. Rivals of `rivals` are custom policies, in Python; FAIR
and FIFO are the package's, which `tests/test_rivals.py` holds against the rival of ten lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

import malleable as mb
from benchmarks.instances import (
    TRACED_PHASES,
    batch,
    changing_times,
    copying_world,
    mixed_speeds,
    mixed_stream,
    program_bursts,
    short_history,
    single_tasks,
    small_run,
    stream,
    traced_phases,
    traces,
    two_phase,
)
from benchmarks.rivals import rules as rivals
from benchmarks.rivals.table import Row, SkippedError, section

# FAIR with reduce tasks that start once such a part of the maps has ended (slow start).
FAIRS = ("FAIR .05", "FAIR .8", "FAIR ended")
_STARTS = {".05": 0.05, ".8": 0.8, "ended": 1.0}


def mean_seconds(jobs: mb.ClusterJobs) -> Any:
    """True mean seconds of a map and of a reduce task of each job, shape (J, 2)."""
    work = np.stack([jobs.map_work, jobs.reduce_work], axis=1)
    return work / np.maximum(np.stack([jobs.maps, jobs.reduces], axis=1), 1)


def run(rule: str, jobs: mb.ClusterJobs, cluster: mb.Cluster, said: Any, **options: Any) -> float:
    """Mean response of jobs [s] under a rule by its name (see the module)."""
    name, _, rest = rule.partition(", ")
    told = rest == "right sizes"
    policy: Any = name.lower()
    p = options.get("speedup", 1.0) if jobs.speedup is None else np.array(jobs.speedup)
    right = rivals.RightSizes(mean_seconds(jobs), p)
    if name == "mean of ended tasks":
        policy = rivals.ended_mean
    elif name == "shares by price":
        policy = right.price
    elif name == "heSRPT":
        policy = right.hesrpt
    elif name.startswith("steep"):
        policy = lambda state, now: right.steep(state, float(name.split()[1]))  # noqa: E731
    elif name == "SRPT" and told:
        policy = right.srpt
    elif name.startswith("FAIR "):
        policy, options = "fair", options | {"slow_start": _STARTS[name.split()[1]]}
    result = mb.simulate(
        jobs,
        policy,
        cluster=cluster,
        estimates=None if told else said,
        records=False,
        rng=1,
        **options,
    )
    return float(next(iter(result.summary.values()))["mean_response"])


_SMALL = {
    "even": {},
    "heavy": {},
    "drift": {},
    "wrong": {},
    "even, p = 0.8": {"speedup": 0.8},
    "even, p = 0.5": {"speedup": 0.5},
    "heavy, p = 0.5": {"speedup": 0.5},
    "wrong, p = 0.5": {"speedup": 0.5},
}


@section(
    "small-runs",
    "Six jobs come at once (`small_run`). The figures are mean responses [s]. Ours is `auto`. In "
    'the rows "wrong", the rules are told a time for the tasks of each job. This time is ten times '
    "too long or too short. In the other rows they are not told how long tasks take. The tasks of "
    'a job take nearly the same time in the rows "even", and very different times in the rows '
    '"heavy". In the row "drift" the second half of the tasks of a job takes eight times as long '
    "as the first half. In the rows that give p, tasks slow each other down, and more so the "
    "smaller p is: s tasks that run at once do s^p times as much as one task that runs alone",
)
def small_rows(quick: bool) -> Iterator[Row]:
    for kind, options in _SMALL.items():
        if quick and kind not in ("even", "wrong", "even, p = 0.5"):
            continue

        def one(rule: str, seed: int, kind: str = kind, options: Any = options) -> float:
            jobs, cluster, said = small_run(seed, kind.partition(",")[0])
            return run(
                rule, jobs, cluster, said if kind.startswith("wrong") else "learn", **options
            )

        floors = ("SRPT, right sizes", "heSRPT, right sizes")
        yield Row(
            kind,
            one,
            ours=("auto", "flex"),
            rivals=("mean of ended tasks", "FAIR"),
            seeds=range(4 if quick else 20),
            floors=floors if options else floors[:1],
        )


_STEEP = ("SRPT, right sizes", "heSRPT, right sizes", "FAIR", "steep 0.4, right sizes",
          "steep 0.7, right sizes", "shares by price, right sizes")  # fmt: skip


@section(
    "streams-p",
    "Jobs come at once (`batch`) or one after the other (`stream`, `mixed_stream`). The figures "
    "are mean responses [s]. The smaller p is, the more tasks slow each other down: s tasks that "
    'run at once do s^p times as much as one task that runs alone. In the row "half p = 0.5" only '
    "the tasks of half of the programs slow each other down. All rules know how long tasks take. "
    "The rivals know p, too. Ours is `auto`, which has to learn p",
)
def streams_rows(quick: bool) -> Iterator[Row]:
    for p in (0.8,) if quick else (1.0, 0.8, 0.5):
        yield Row(
            f"batch of 100, p = {p:g}",
            lambda rule, seed, p=p: run(rule, *batch(seed, 30 if quick else 100), 0.0, speedup=p),
            ours=("auto", "flex"),
            rivals=_STEEP,
            seeds=range(1 if quick else 3),
        )
    for p in (0.8,) if quick else (1.0, 0.8, 0.5):
        yield Row(
            f"stream, p = {p:g}",
            lambda rule, seed, p=p: run(rule, *stream(seed, 100 if quick else 500), 0.0, speedup=p),
            ours=("auto", "flex"),
            rivals=_STEEP[:3] if quick else _STEEP,
            seeds=range(1 if quick else 2),
        )
    if not quick:
        yield Row(
            "mixed_stream, half p = 0.5",
            lambda rule, seed: run(rule, *mixed_stream(seed, 500), 0.0),
            ours=("auto", "flex"),
            rivals=_STEEP,
            seeds=range(6),
        )
        for p in (1.0, 0.8, 0.5):
            yield Row(
                f"mixed_stream, all p = {p:g}",
                lambda rule, seed, p=p: run(rule, *mixed_stream(seed, 500, (p, p)), 0.0),
                ours=("auto", "flex"),
                rivals=_STEEP,
                seeds=range(3),
            )


@section(
    "two-phase",
    "900 jobs have map and reduce tasks (`two_phase`). The figures are mean responses [s]. Ours "
    "is `auto`. The rules are not told how long tasks take. Sigma says how much the times of the "
    'tasks of a job differ. The rivals are three settings of FAIR. In "FAIR .05" and "FAIR .8", '
    'the reduce tasks of a job start when 0.05 or 0.8 of its maps have ended. In "FAIR ended" '
    "they start when all maps have ended",
)
def phases_rows(quick: bool) -> Iterator[Row]:
    for sigma in (1.0,) if quick else (0.0, 0.5, 1.0, 1.5, 2.0):
        yield Row(
            f"sigma {sigma:g}",
            lambda rule, seed, sigma=sigma: _phases(rule, *two_phase(seed, sigma)),
            ours=("auto", "auto, backups", "auto, backups 0.5", "auto, backups 1"),
            rivals=FAIRS,
            seeds=range(2 if quick else 20),
            floors=("flex, right sizes", "asrpt, right sizes", "srpt, right sizes"),
        )


def _phases(rule: str, jobs: mb.ClusterJobs, cluster: mb.Cluster) -> float:
    name, _, inherent = rule.partition(", backups")
    if name != rule:
        part = float(inherent or 0.0)
        return run(name, jobs, cluster, "learn", backups=True, inherent=part)
    # Floors start reduces once all maps have ended, as the default has become.
    late = {"slow_start": 1.0} if rule.endswith("right sizes") else {}
    return run(rule, jobs, cluster, "learn", **late)


@section(
    "reduce-starts",
    "300 jobs have reduce tasks that copy the output of maps (`copying_world`). The figures are "
    "mean responses [s]. Ours is `auto`. The rules are not told how long tasks take. Sigma is as "
    'in the table above. "copying 3 maps" means that a reduce task copies for three times as '
    'long as a map task takes on average. With "copying 0.3 of a map", it copies for 0.3 times '
    "as long as a map task takes. Three of the rivals are `auto` itself with a fixed setting: "
    "reduce tasks start when 0.05, 0.8 or all of the maps have ended (auto .05, auto .8, auto "
    'ended). "auto kept" is `auto` if no task can be ended: a reduce task that has started early '
    "then keeps its slot",
)
def starts_rows(quick: bool) -> Iterator[Row]:
    for label, copying in (("copying 0.3 of a map", 0), ("copying 3 maps", 1)):
        for sigma in (1,) if quick else (0, 1, 2, 3, 4):
            first = 9 * (2 * sigma + copying)  # nine worlds: slots and loads
            yield Row(
                f"sigma {0.5 * sigma:g}, {label}",
                _copying,
                ours=("auto", "auto kept"),
                rivals=("auto .05", "auto .8", "auto ended", *FAIRS),
                seeds=range(first, first + (2 if quick else 9)),
            )


def _fixed_start(rule: str) -> tuple[str, dict[str, Any]]:
    """A policy, and when its reduce tasks start, by the name of both."""
    name, _, start = rule.partition(" ")
    if start == "kept":  # no task can be ended
        return name, {"take_back": False}
    return name, {"slow_start": _STARTS[start]} if start else {}


def _copying(rule: str, world: int) -> float:
    name, options = _fixed_start(rule)
    return run(name, *copying_world(world), "learn", **options)


@section(
    "reduce-starts-traces",
    "The same on real traces (`traced_phases`): loads 0.5, 0.8 and 0.95, and the seconds of tasks "
    "multiplied by lognormal noise of sigma 0, 0.5 and 1 (nine cells a row)",
)
def traced_starts_rows(quick: bool) -> Iterator[Row]:
    if traces() is None:
        raise SkippedError("no folder of traces: MALLEABLE_TRACES names none")
    for name in list(TRACED_PHASES)[1:2] if quick else TRACED_PHASES:
        yield Row(
            name,
            lambda rule, cell, name=name: _traced_start(rule, name, cell),
            ours=("auto", "auto kept"),
            rivals=("auto .05", "auto .8", "auto ended"),
            seeds=range(2 if quick else 9),
        )


def _traced_start(rule: str, name: str, cell: int) -> float:
    policy, options = _fixed_start(rule)
    load, noise = (0.5, 0.8, 0.95)[cell // 3], 0.5 * (cell % 3)
    return run(policy, *traced_phases(name, load), "learn", noise=noise, **options)


@section(
    "short-histories",
    "Only 17 to 46 jobs come (`short_history`), so little can be learnt from them. The figures "
    'are mean responses [s]. Ours is `auto`. The rules are not told how long tasks take. "FAIR '
    'ended" starts reduce tasks when all maps have ended',
)
def short_rows(quick: bool) -> Iterator[Row]:
    yield Row(
        "short_history",
        lambda rule, seed: _phases(rule, *short_history(seed)),
        ours=("auto", "flex"),
        rivals=FAIRS,
        seeds=range(5 if quick else 40),
        floors=("asrpt, right sizes", "srpt, right sizes"),
    )


@section(
    "mixed-speeds",
    'In the rows "rates 1 and 4" half of the nodes are four times as fast as the others, and in '
    'the row "all alike" all nodes are equally fast. `mixed_speeds` makes the jobs. The figures '
    "are mean responses [s]. Ours is `auto`. The rules are not told how long tasks take",
)
def speeds_rows(quick: bool) -> Iterator[Row]:
    for label, fast in (("rates 1 and 4", 4.0), ("all alike", 1.0)):
        yield Row(
            label,
            lambda rule, seed, fast=fast: run(rule, *mixed_speeds(seed, fast), "learn"),
            ours=("auto", "flex"),
            rivals=("FAIR", "srpt", "fifo"),
            seeds=range(2 if quick else 20),
            floors=("srpt, right sizes",),
        )
    for load in (0.95,) if quick else (0.5, 0.8, 0.95):
        yield Row(
            f"rates 1 and 4, one task a job, load {load:g}",
            lambda rule, seed, load=load: run(
                rule, *mixed_speeds(seed, 4.0, 2_000, 1, load), "learn"
            ),
            ours=("auto", "flex"),
            rivals=("FAIR", "srpt", "fifo"),
            seeds=range(2 if quick else 6),
        )


@lru_cache(maxsize=1)
def _single(jobs: int) -> Any:
    return single_tasks(jobs)


@section(
    "single-task",
    "Each job has one task (`single_tasks`). The figures are mean responses [s]. Ours is `auto`. "
    "The rules know the program of each job, and are not told how long tasks take",
)
def single_rows(quick: bool) -> Iterator[Row]:
    for jobs in (2_000,) if quick else (40_000, 200_000):
        yield Row(
            f"{jobs:,} jobs",
            lambda rule, _, jobs=jobs: run(rule, *_single(jobs), "learn"),
            ours=("auto", "flex"),
            rivals=("FAIR", "fifo", "srpt"),
            floors=("flex, right sizes",),
        )


@section(
    "program-bursts",
    "Bursts of jobs come (`program_bursts`), all of one program that nobody has seen before. In the "
    'rows "jobs of sigma", the mean seconds of the tasks of a job differ by so much within a program. The '
    "figures are mean responses [s]. Ours is `auto`. The rules know the program of each job, and are not told "
    'how long tasks take. "program\'s ended tasks" is SRPT with the mean of the ended tasks of the program',
)
def bursts_rows(quick: bool) -> Iterator[Row]:
    def one(rule: str, seed: int, alike: float) -> float:
        jobs, cluster, program = program_bursts(seed, alike)
        if rule != "program's ended tasks":
            return run(rule, jobs, cluster, "learn")
        asked: Any = rivals.ProgramMean(program)
        found = mb.simulate(jobs, asked, cluster=cluster, estimates="learn", records=False, rng=1)
        return float(next(iter(found.summary.values()))["mean_response"])

    for alike in (3.0, 1.0, 0.3):
        yield Row(
            f"jobs of sigma {0.3 / alike:g}",
            lambda rule, seed, alike=alike: one(rule, seed, alike),
            ours=("auto", "flex"),
            rivals=("program's ended tasks", "mean of ended tasks", "FAIR"),
            seeds=range(1 if quick else 12),
            floors=("srpt, right sizes",),
        )


@section(
    "changing-times",
    "Jobs of ten programs come one after the other (`changing_times`). In the second half, the "
    "tasks of each program take five times as long as before, or a fifth of the time. The figures "
    "are mean responses [s]. Ours is `auto`. The rules are not told how long tasks take",
)
def changing_rows(quick: bool) -> Iterator[Row]:
    yield Row(
        "changing_times",
        lambda rule, seed: run(rule, *changing_times(seed), "learn"),
        ours=("auto", "flex"),
        rivals=("FAIR", "srpt", "mean of ended tasks"),
        seeds=range(1 if quick else 8),
        floors=("srpt, right sizes",),
    )
