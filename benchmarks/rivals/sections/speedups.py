"""Jobs with measured speed-ups, training jobs as PCS published them: asked whenever a job comes or ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import malleable as mb
from benchmarks.instances import (
    GPU_WORKLOADS,
    SPEEDUP_STREAMS,
    GpuJobs,
    due_powers,
    gpu_jobs,
    gpu_rounds,
    gpu_table,
    speedup_stream,
    stated_powers,
    traces,
)
from benchmarks.rivals import rounds
from benchmarks.rivals import rules as rivals
from benchmarks.rivals.loops import GpuEpoch, share_gpus
from benchmarks.rivals.table import Row, SkippedError, section

_PLAIN = {
    "AFS": rivals.elastic_shares,
    "SRSF": rivals.smallest_service,
    "FIFO": rivals.first_come,
    "FAIR": rivals.equal_shares,
    "price": rivals.shares_by_price,
    "like Themis": rivals.furthest_behind,
}
_SEEDS = (1, 2, 3)
_FAST = ("SRSF", "FIFO", "FAIR")
"""Rules that have time for thousands of jobs."""
_TARGETS = (0.02, 0.05, 0.1)
"""`predictable`: the error that is accepted."""


def _mean(rule: str, instance: tuple[GpuJobs, int]) -> float:
    jobs, slots = instance
    asked: Any = _PLAIN.get(rule) or GpuEpoch(
        slots, told=rule == "FLEX, told tables", programs=rule == "FLEX, learnt"
    )
    return float(share_gpus(*jobs, slots, asked).mean())


@section(
    "speed-ups",
    "Training jobs with measured speed-ups come to 64 GPUs (`gpu_jobs`). The figures are mean "
    "responses [s]. The rows are two workloads that the authors of the scheduler PCS "
    "published, under the names that the authors gave them. Ours is FLEX that is told the "
    'speed-up of each job, and "FLEX, linear" is FLEX that takes every speed-up for linear. AFS, '
    "SRSF and FIFO are the rules with which the authors of PCS compare PCS",
)
def workloads(quick: bool) -> Iterator[Row]:
    if traces() is None:
        raise SkippedError("no folder of traces: MALLEABLE_TRACES names none")
    for name in GPU_WORKLOADS[:1] if quick else GPU_WORKLOADS:
        yield Row(
            name,
            lambda rule, _, name=name: _mean(rule, gpu_jobs(name, 100 if quick else None)),
            ours=("FLEX, told tables", "FLEX, learnt", "FLEX, linear"),
            rivals=_FAST if name == "6c71a0" else tuple(_PLAIN),
        )


def _error(name: str, target: float, jobs: int | None) -> float:
    table, slots = gpu_table(name, jobs)
    found = mb.simulate(table, policy="flex", slots=slots, predictable=target, records=False)
    return 100.0 * found.summary["flex"]["end_error"]


@section(
    "promised-ends",
    "By how much the ends that jobs are told when they come are wrong on average [%] "
    "(`gpu_jobs`). The rival is the error that `predictable` accepts. docs/internals/speedups.md says what "
    "each error costs",
)
def promised_ends(quick: bool) -> Iterator[Row]:
    if traces() is None:
        raise SkippedError("no folder of traces: MALLEABLE_TRACES names none")
    for name in GPU_WORKLOADS[:1] if quick else GPU_WORKLOADS:
        for target in _TARGETS:
            yield Row(
                f"{name}, {target:g}",
                lambda rule, _, name=name, target=target: (
                    _error(name, target, 100 if quick else None)
                    if rule == "FLEX"
                    else 100.0 * target
                ),
                ours=("FLEX",),
                rivals=("accepted",),
            )


_ROUNDS: dict[str, Callable[[int], Any]] = {
    "FLEX": lambda slots: rounds.EpochOfRounds(slots, restart=rounds.RESTART),
    "FLEX, free": rounds.EpochOfRounds,
    "Optimus": lambda _: rounds.optimus,
    "FAIR": lambda _: rounds.fair,
    "SRPT": lambda _: rounds.srpt,
    "FLEX, unknown": lambda slots: rounds.EpochOfRounds(slots, False, restart=rounds.RESTART),
    **{
        f"Tiresias {h:g} h, {worth:g}": lambda _, h=h, worth=worth: rounds.tiresias(
            3600.0 * h, worth
        )  # type: ignore[misc]
        for h in (1, 4, 16, 64)
        for worth in (0.5, 0.8)
    },
}
_KNOWN = ("Optimus", "SRPT", "FAIR")
_UNKNOWN = (*(rule for rule in _ROUNDS if rule.startswith("Tiresias")), "FAIR")


@section(
    "rounds",
    "A loop decides about training jobs on 64 GPUs once a minute. If the number of GPUs of a job changes, "
    "the job does nothing for half a minute (`gpu_rounds`). "
    "The figures are mean responses [s]. The rows are parts of the workloads "
    'of PCS; in rows "wide" each job may have as many GPUs as its model was measured with. Ours is FLEX that '
    'is told the costs; "FLEX, free" is not told. In rows "unknown" nobody knows sizes: Tiresias has two '
    "queues, by the GPU hours that a job had",
)
def in_rounds(quick: bool) -> Iterator[Row]:
    if traces() is None:
        raise SkippedError("no folder of traces: MALLEABLE_TRACES names none")
    for name in GPU_WORKLOADS[:1] if quick else GPU_WORKLOADS:
        for wide in (False, True):

            def run(rule: str, seed: int, name: str = name, wide: bool = wide) -> float:
                jobs, slots = gpu_rounds(name, wide, 0)
                found = rounds.share_rounds(jobs, slots, _ROUNDS[rule](slots))
                return float(found.response.mean())

            where = name + ", wide" * wide
            yield Row(where, run, ours=("FLEX", "FLEX, free"), rivals=_KNOWN)
            yield Row(f"{where}, unknown", run, ours=("FLEX, unknown",), rivals=_UNKNOWN)


@section(
    "speed-up-streams",
    "Jobs with speed-ups of other shapes than those of the GPUs come to 64 slots "
    "(`speedup_stream`). The figures are mean responses [s]. Ours is FLEX that is told the "
    'speed-up of each job, and "FLEX, linear" is FLEX that takes every speed-up for linear. The '
    'row names the shape. With "power", s slots are s^p times as fast as one slot, for a p from '
    '0.3 to 1. With "amdahl", a part of the work runs on one slot only. With "steps", only numbers '
    'of slots that are powers of two make a job faster. With "convex", the first few slots help '
    'little, and more slots help much. With "mixed", the jobs have different shapes',
)
def streams(quick: bool) -> Iterator[Row]:
    for kind in SPEEDUP_STREAMS:
        yield Row(
            kind,
            lambda rule, seed, kind=kind: _mean(
                rule, speedup_stream(kind, seed, 100 if quick else 1000)
            ),
            ours=("FLEX, told tables", "FLEX, learnt", "FLEX, linear"),
            rivals=tuple(_PLAIN),
            seeds=_SEEDS[:1] if quick else _SEEDS,
        )


class _Powers(NamedTuple):
    p: float | None = None  # of all jobs; None: of each its own
    off: float = 0.0  # deviation of the p stated
    work_off: float = 0.0  # deviation of the logarithm of estimated work
    period: float = 0.0


_POWERS = {
    "right": _Powers(),
    "off by 0.1": _Powers(off=0.1),
    "off by 0.2": _Powers(off=0.2),
    "off by 0.3": _Powers(off=0.3),
    "0.6 for all, off by 0.2": _Powers(0.6, 0.2),
    "0.8 for all, off by 0.2": _Powers(0.8, 0.2),
    "off by 0.2, work by 0.7": _Powers(off=0.2, work_off=0.7),
    "off by 0.2, period 2": _Powers(off=0.2, period=2.0),
}


def _stated(rule: str, given: _Powers, seed: int) -> float:
    jobs, stated = stated_powers(given.p, given.off, seed)
    plain: Any = _PLAIN.get(rule)
    if rule.startswith("FLEX"):
        told = rule == "FLEX, told tables"
        plain = GpuEpoch(64, powers=None if told else stated, told=told, period=given.period)
    elif plain is None:
        x = float(rule.removeprefix("heSRPT "))

        def plain(state: Any, now: float) -> Any:
            return rivals.power_shares(state["work"], state["max_slots"], 64, x)

    rng = np.random.default_rng((seed, 1))
    wrong = np.exp(rng.normal(0.0, given.work_off, len(stated)))

    def asked(state: Any, now: float) -> Any:
        by = wrong[state["ids"]]
        return plain(state | {"work": state["work"] * by, "size": state["size"] * by}, now)

    return float(share_gpus(*jobs, 64, asked, given.period).mean())


@section(
    "stated-powers",
    "Jobs of which s slots do s^p come to 64 slots (`stated_powers`). The figures are mean responses. The row "
    "says by how much the p that jobs state is wrong (the standard deviation), and the logarithm of estimated "
    "work. Ours is FLEX that is told "
    'the stated p, and "FLEX, told tables" knows how fast jobs are. heSRPT takes one p for all jobs',
)
def powers(quick: bool) -> Iterator[Row]:
    for name, given in _POWERS.items():
        yield Row(
            name,
            lambda rule, seed, given=given: _stated(rule, given, seed),
            ours=("FLEX", "FLEX, told tables"),
            rivals=("heSRPT 0.3", "heSRPT 0.5", "FAIR"),
            seeds=range(6100, 6102 if quick else 6106),
        )


def _late(rule: str, objective: str, p: float | None, seed: int) -> float:
    jobs, powers, deadline = due_powers(p, seed)

    def asked(state: Any, now: float) -> Any:
        left, most, rows = state["work"], state["max_slots"], state["ids"]
        if rule.startswith("heSRPT"):
            return rivals.power_shares(left, most, 64, float(rule.removeprefix("heSRPT ")))
        start = deadline[rows] - left / most ** powers[rows]
        if rule != "as needed":
            return rivals.in_order(deadline[rows] if rule == "EDF" else start, most, 64)
        rate = left / np.maximum(deadline[rows] - now, 1e-9)
        need = np.minimum(np.ceil(np.minimum(rate, most) ** (1.0 / powers[rows])), most)
        given = rivals.in_order(start, need.astype(np.int64), 64)
        return given + rivals.level(most - given, 64 - given.sum())

    if rule == "FLEX":
        asked = GpuEpoch(64, powers=powers, told=False, objective=objective, deadline=deadline)
    done = share_gpus(*jobs, 64, _PLAIN.get(rule, asked)) + jobs.arrival
    late = np.maximum(done - deadline, 0.0)
    if objective == "sum:tardy":
        return float((late > 1e-9 * deadline).mean())
    return float(late.max() if objective == "max:tardiness" else late.mean())


@section(
    "due-powers",
    "Jobs with deadlines, of which s slots do s^p, come to 64 slots (`due_powers`). The figures are the mean "
    "tardiness [s], the share of late jobs, or the largest tardiness [s]. Ours is FLEX. "
    '"As needed" gives jobs by latest start as many slots as they need to be on time, and the rest in equal '
    "shares",
)
def late(quick: bool) -> Iterator[Row]:
    for objective in ("sum:tardiness", "sum:tardy", "max:tardiness"):
        for p in (None, 0.5, 0.8):
            yield Row(
                f"{objective}, {'any p' if p is None else f'p = {p}'}",
                lambda rule, seed, objective=objective, p=p: _late(rule, objective, p, seed),
                ours=("FLEX",),
                rivals=("FAIR", "EDF", "latest start", "heSRPT 0.3", "heSRPT 0.5", "as needed"),
                seeds=range(6300, 6302 if quick else 6312),
            )
