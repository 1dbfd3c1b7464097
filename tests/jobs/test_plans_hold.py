"""Plans of loops pass the checker: every policy and objective with periods, and with ends that are told."""

import numpy as np
import pytest

import malleable as mb
from tests.full import FULL
from tests.strategies import MIN_MODES, OBJECTIVES

POLICIES = ("flex", "fair", "fifo", "wdeq", "hesrpt")
STEADY = ("sum:response", "sum:completion", "sum:stretch", "sum:lateness")
PLANS, CHUNK = (20_000 if FULL else 1_000), 500


def columns(rng, slots, now):
    """Work and limits from easy to hopeless: minima above the slots, no work, no end to the maximum."""
    count = int(rng.integers(1, 9))
    work = rng.lognormal(rng.uniform(0, 4), rng.uniform(0.2, 2), count)
    if rng.random() < 0.3:
        work = np.ceil(work)
    if rng.random() < 0.2:
        work[rng.random(count) < 0.3] = 0.0
    most = rng.integers(1, slots + 4, count)
    most[rng.random(count) < 0.05] = 1 << 50
    least = rng.integers(0, int(rng.integers(1, slots + 2)) + 1, count)
    due = now + rng.lognormal(3, 1.5, count)
    table = {
        "arrival": now - rng.uniform(0, 9, count),
        "min_slots": np.minimum(least, most) * int(rng.random() < 0.6),
        "max_slots": most,
        "weight": rng.integers(0, 4, count),
        "deadline": due,
        "sla": [[(at, 1.0), (at + 9.0, 3.0)] for at in due.tolist()],
    }
    if rng.random() < 0.15:
        table["speedup"] = rng.uniform(0.3, 1.0, count).tolist()
    return work, table


def decided(rng, epoch, slots, now, period):
    """A decision after some calls, some of them at one moment."""
    work, table = columns(rng, slots, now)
    ids = epoch.add(work, **table)
    decision = epoch.decide(now)
    for _ in range(int(rng.integers(0, 4))):
        call = rng.integers(4)
        if call == 0:
            now += float(rng.choice([period, 2 * period, rng.uniform(0, period)]))
        elif call == 1:
            some = ids[rng.random(len(ids)) < 0.5]
            left = rng.uniform(0, 40, len(some)) * (rng.random(len(some)) < 0.7)
            epoch.update(some, work=np.maximum(left, 1e-12 * (left > 0)))
        elif call == 2 and len(ids) > 1:
            epoch.finish(ids[:1])
            ids = ids[1:]
        elif call == 3:
            work, table = columns(rng, slots, now)
            ids = np.concatenate([ids, epoch.add(work, **table)])
        other = int(rng.integers(0, slots + 3)) if rng.random() < 0.25 else None
        decision = epoch.decide(now, slots=other)
    return decision


def plan_of(seed):
    rng = np.random.default_rng(seed)
    now = float(rng.choice([0.0, 3.0, -7.25, 1e6 * rng.random(), 1e9]))
    slots = int(rng.integers(1, 20))
    objective, policy = str(rng.choice(OBJECTIVES)), str(rng.choice(POLICIES))
    mode = str(rng.choice(MIN_MODES, p=[0.65, 0.35]))
    period = float(np.exp(rng.uniform(np.log(0.3), np.log(1e3))))
    way = rng.integers(3)
    if way == 0:
        work, table = columns(rng, slots, now)
        jobs = mb.Jobs(work, **table)
        return mb.plan(jobs, slots, objective, policy, period=period, min_mode=mode, now=now)
    if way == 1:
        moves = {"hysteresis": 0.5} if policy == "flex" and rng.random() < 0.3 else {}
        epoch = mb.Epoch(slots, objective, policy, min_mode=mode, period=period, **moves)
    else:
        error = float(rng.choice([0.01, 0.3, 1.0, 4.0]))
        epoch = mb.Epoch(slots, str(rng.choice(STEADY)), min_mode=mode, predictable=error)
    return decided(rng, epoch, slots, now, period).plan()


@pytest.mark.parametrize("first", range(0, PLANS, CHUNK))
def test_random_plans(first):
    for seed in range(first, first + CHUNK):
        try:
            plan_of(seed).validate()
        except ValueError as error:
            raise AssertionError(f"seed {seed}: {error}") from None


def test_near_the_resolution_of_the_clock():
    """Times are as near to one another as a float tells them apart; a period below that is refused."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        now = float(rng.choice([1e3, 1e6, 1e9, 1e12, -1e12]) * rng.uniform(0.1, 1))
        tick = float(np.spacing(abs(now)))
        period = max(1e-12, tick * float(np.exp(rng.uniform(0, 12))))
        slots = int(rng.integers(1, 20))
        work, table = columns(rng, slots, now)
        scale = max(1e-12, period * float(np.exp(rng.uniform(-1, 4))) / (work.mean() + 1e-9))
        work = np.where(work > 0, np.maximum(work * scale, 1e-12), 0.0)
        policy = str(rng.choice(POLICIES))
        jobs = mb.Jobs(work, **{**table, "arrival": now})
        try:
            mb.plan(jobs, slots, "sum:response", policy, period=period, now=now).validate()
        except ValueError as error:
            raise AssertionError(f"seed {seed}: {error}") from None
        if tick < 1e-11:
            continue
        with pytest.raises(ValueError, match="period = .*too short: the clock does not move"):
            mb.plan(jobs, slots, period=tick / 4, now=now)
        epoch = mb.Epoch(slots, period=tick / 4)
        with pytest.raises(ValueError, match="period = .*too short: the clock does not move"):
            epoch.decide(now)


@pytest.mark.parametrize("period", [1e-6, 1e12])
@pytest.mark.parametrize("work", [1e3, 1e15])
def test_what_is_accepted_is_planned(period, work):
    """However long the loop is: a job that takes all slots, one that waits, and one on one slot."""
    jobs = mb.Jobs([work, work / 3, 5.0], max_slots=[9, 8, 1])
    epoch = mb.Epoch(9, "max:completion", period=period)
    epoch.add(jobs)
    decision = epoch.decide(0.0)
    decision.plan().validate()
    assert decision.lower_bound <= decision.value < np.inf
    plan = mb.plan(jobs, 9, period=period)
    plan.validate()
    assert plan.lower_bound <= plan.value < np.inf


@pytest.mark.parametrize("objective", ["sum:response", "max:stretch"])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_long_loop_is_looked_at_less_closely(policy, objective):
    """Its value is near that of the loop that is simulated period by period."""
    rng = np.random.default_rng(5)
    jobs = mb.Jobs(rng.lognormal(4, 1, 2000), max_slots=rng.integers(1, 33, 2000))
    epoch = mb.Epoch(200, objective, policy, period=5.0)
    epoch.add(jobs)
    decision = epoch.decide(0.0)
    whole = mb.simulate(jobs, policy, slots=200, period=5.0, objective=objective)
    value = whole.summary[policy]["value"]
    assert decision.value == pytest.approx(value, rel=0.05)
    assert decision.lower_bound <= min(value, decision.value)


def test_more_than_a_million_jobs_have_no_value_with_a_period():
    epoch = mb.Epoch(1000, period=5.0)
    epoch.add(np.ones(1_000_001))
    decision = epoch.decide(0.0)
    assert decision.value is decision.lower_bound is decision.gap is None
    assert decision.slots.sum() == 1000
