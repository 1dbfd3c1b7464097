"""All loops hold their decisions for a period: none is slower than the plain rules of the same loop.

Streams of jobs whose load, with work rounded up to whole slot-periods, is 0.8, at periods from a hundredth of
the mean service time to a hundred of them.
"""

import functools
import math

import numpy as np
import pytest

import malleable as mb
from benchmarks.rivals.loops import FlowEpochRule, JobEpoch, hold_flows, hold_jobs
from benchmarks.rivals.rules import level
from tests.periodic_loops import hold_phases, hold_slots

SEEDS = range(20)
LOAD = 0.8
PERIODS = (0.01, 0.1, 1.0, 10.0, 100.0)  # in mean service times


def arrivals(rng, cost, slots):
    """Poisson, so that jobs of these slot-periods [slot-seconds] load the slots as `LOAD` says."""
    gap = cost.mean() / (slots * LOAD)
    return np.cumsum(rng.exponential(gap, len(cost)))


def in_periods(work, period):
    return np.ceil(work / period) * period


def periodic_jobs(rule, objective, seed, factor):
    rng = np.random.default_rng(seed)
    slots, count = 12, 7 if factor < 0.05 else 40
    work, most = rng.lognormal(1.0, 1.2, count), rng.integers(1, 13, count)
    period = factor * float((work / most).mean())
    jobs = mb.Jobs(work, max_slots=most, arrival=arrivals(rng, in_periods(work, period), slots))
    policy, said = rule
    ask = JobEpoch(slots, objective if policy == "flex" else "sum:response", policy, said * period)
    response = hold_jobs(jobs, slots, ask, period) - jobs.arrival
    return (response / (work if objective == "sum:stretch" else 1.0)).mean()


def periodic_flows(rule, objective, seed, factor):
    rng = np.random.default_rng(seed)
    slots, rows, depth = 12, [], []
    for _ in range(4 if factor < 0.05 else 20):
        count = int(rng.integers(1, 6))
        after = [[a for a in range(b) if rng.random() < 0.4] for b in range(count)]
        work, most = rng.lognormal(1.0, 1.0, count), rng.integers(1, 9, count)
        depth.append((work / most).sum())
        rows.append(
            [
                {
                    "name": str(b),
                    "work": work[b],
                    "max_slots": int(most[b]),
                    "after": list(map(str, after[b])),
                }
                for b in range(count)
            ]
        )
    period = factor * float(np.mean(depth))
    cost = np.array([sum(in_periods(job["work"], period) for job in row) for row in rows])
    flows = mb.Flows(rows, arrival=arrivals(rng, cost, slots))
    policy, said = rule
    if policy == "equal":  # as is, or with caps

        def ask(state, now):
            most = np.where(state["ready"], state["max_slots"], 0)
            if not said:
                return level(most, slots)
            return level(
                np.minimum(most, np.ceil(state["work"] / period - 1e-9)).astype(np.int64), slots
            )
    else:
        ask = FlowEpochRule(flows, slots, objective, said * period, policy=policy)
    response = hold_flows(flows, slots, ask, period) - flows.arrival
    size = np.add.reduceat(flows.work, flows.job_offset[:-1])
    return (response / (size if objective == "sum:stretch" else 1.0)).mean()


def periodic_phases(rule, objective, seed, factor):
    rng = np.random.default_rng(seed)
    slots, count = (12, 8), 5 if factor < 0.05 else 25
    works = rng.lognormal(-0.5, 1.0, (2, count))
    period = factor * float(works.sum(axis=0).mean())
    cost = np.max(
        [in_periods(work * s, period) / s for work, s in zip(works, slots, strict=True)], axis=0
    )
    arrival = arrivals(rng, cost, 1)
    jobs = list(zip(arrival.tolist(), *works.tolist(), strict=True))
    policy, said = rule
    if policy == "equal":

        def ask(here, now):
            comes = [min(j.shuffle, j.ready + (j.ratio * period if j.map else 0.0)) for j in here]
            asked = ([j.map for j in here], comes)
            return list(
                zip(
                    *(
                        level(
                            np.array(
                                [
                                    (math.ceil(w * s / period - 1e-9) if said else s)
                                    if w > 0.0
                                    else 0
                                    for w in work
                                ]
                            ),
                            s,
                        ).tolist()
                        for work, s in zip(asked, slots, strict=True)
                    ),
                    strict=True,
                )
            )

        return hold_phases(jobs, slots, ask, period)
    epoch, ids = mb.TandemEpoch(slots, policy, period=said * period), {}

    def ask_epoch(here, now):
        for job in [job for job in ids if job not in here]:
            epoch.finish([ids.pop(job)])
        for job in here:
            if job not in ids:
                ids[job] = int(epoch.add([job.map], [job.shuffle], arrival=job.arrival)[0])
            else:
                epoch.update([ids[job]], map=[job.map], shuffle=[job.shuffle], ready=[job.ready])
        decision = epoch.decide(now)
        given = dict(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True))
        return [given.get(ids[job], [0, 0]) for job in here]

    return hold_phases(jobs, slots, ask_epoch, period)


def periodic_steps(rule, objective, seed, factor):
    rng = np.random.default_rng(seed)
    held = max(1, round(factor))  # whole slots
    rows = [
        (int(rng.geometric(0.12)), (1 + rng.geometric(0.3, int(rng.integers(0, 4)))).tolist())
        for _ in range(20)
    ]
    cost = np.array(
        [
            held * (math.ceil(maps / held) + sum(math.ceil(r / held) for r in reduces))
            for maps, reduces in rows
        ]
    )
    arrival = np.floor(arrivals(rng, cost.astype(float), 10))
    jobs = [(int(t), *row) for t, row in zip(arrival, rows, strict=True)]
    policy, said = rule
    return hold_slots(jobs, 10, mb.SlottedEpoch(10, policy), held, float(said * held))


AS_IS, KNOWN = 0, 1
FLEX = ("sum:response", "sum:stretch")  # completions are decided as responses are
LOOPS = [
    # loop, objective, ours, rivals
    *((periodic_jobs, kind, ("flex", KNOWN), [("fair", AS_IS), ("fair", KNOWN)]) for kind in FLEX),
    *(
        (
            periodic_flows,
            kind,
            ("flowflex", KNOWN),
            [("equal", AS_IS), ("equal", KNOWN), ("fair", KNOWN)],
        )
        for kind in FLEX
    ),
    *(
        (
            periodic_phases,
            "sum:response",
            (name, KNOWN),
            [(name, AS_IS), ("equal", AS_IS), ("equal", KNOWN)],
        )
        for name in ("max-srpt", "two-srpt")
    ),
    # Equal shares of machines are near SRPT where tasks are not interrupted: a loop that knows its
    # period is to be no slower than one that does not.
    *(
        (periodic_steps, "", (name, KNOWN), [(name, AS_IS)])
        for name in ("asrpt", "unlock", "srpt", "fair")
    ),
]


@functools.cache
def mean(loop, objective, rule, factor):
    return np.mean([loop(rule, objective, seed, factor) for seed in SEEDS])


@pytest.mark.parametrize("factor", PERIODS)
@pytest.mark.parametrize(
    ("loop", "objective", "ours", "rivals"),
    [pytest.param(*case, id=f"{case[0].__name__} {case[1]} {case[2][0]}") for case in LOOPS],
)
def test_no_sum_is_worse_than_the_plain_rules(loop, objective, ours, rivals, factor):
    found = mean(loop, objective, ours, factor)
    best = min(mean(loop, objective, rule, factor) for rule in rivals)
    assert found <= 1.02 * best, f"{found:.4g} against {best:.4g}"
