"""An engine that starts tasks at decisions only: slots idle until the next one, and work left says so."""

import math

import numpy as np
import pytest

import malleable as mb

NODES = mb.Cluster([{"slots": 8}])
SHORT_AND_LONG = mb.ClusterJobs(maps=[30, 8], map_seconds=[1.0, 8.0])


def slots_of(policy, period, jobs=SHORT_AND_LONG, **options):
    scheduler = mb.Scheduler(NODES, policy, period=period, **options)
    ids = scheduler.add(jobs, now=0.0).tolist()
    decision = scheduler.decide(now=0.0)
    given = dict(zip(decision.ids.tolist(), np.asarray(decision.slots).tolist(), strict=True))
    return [given.get(own, 0) for own in ids]


@pytest.mark.parametrize("policy", ["flex", "srpt"])
def test_short_tasks_take_whole_periods(policy):
    """30 tasks of 1 s and 8 of 8 s: 30 against 64 slot-seconds, 300 against 145 if they are held for 10 s."""
    assert slots_of(policy, 0.0) == [8, 0]
    assert slots_of(policy, 10.0) == [0, 8]


def test_equal_shares_do_not_look_at_work():
    assert slots_of("fair", 0.0) == slots_of("fair", 10.0)


@pytest.mark.parametrize("seconds", [0.5, 3.0, 40.0])
def test_what_a_task_holds(seconds):
    """A job of tasks of `seconds` goes before one of long tasks if, and only if, it holds less."""
    period, long = 10.0, 1000.0
    held = period / (1.0 - math.exp(-period / seconds))
    other = period / (1.0 - math.exp(-period / long))
    for share, first in ((0.99, True), (1.01, False)):
        tasks = round(share * 800 * other / held)
        jobs = mb.ClusterJobs(maps=[tasks, 800], map_seconds=[seconds, long])
        assert slots_of("flex", period, jobs, learn=False) == ([8, 0] if first else [0, 8])


def test_it_is_checked_recorded_and_replayed(tmp_path):
    with pytest.raises(ValueError, match="period"):
        mb.Scheduler(NODES, "flex", period=-1.0)
    path = tmp_path / "events"
    scheduler = mb.Scheduler(NODES, "flex", period=10.0, record=path)
    scheduler.add(SHORT_AND_LONG, now=0.0)
    now, slots = 0.0, []
    for _ in range(6):
        slots.append(np.asarray(scheduler.decide(now=now).slots).tolist())
        starts = scheduler.assign(now=now, free=8)
        now += 10.0
        scheduler.ended(starts.ids, starts.phase, seconds=np.full(len(starts.ids), 5.0), now=now)
    scheduler.close()
    again = mb.replay(path)
    assert again.same


def stream(rng):
    """Jobs of tasks of very different times, which come as the slots can take them in whole periods."""
    count = 150
    seconds = np.exp(rng.uniform(np.log(0.5), np.log(60.0), count))
    tasks = np.maximum(1, rng.geometric(1 / (1 + 60 / seconds)))
    held = 10.0 / -np.expm1(-10.0 / seconds)
    arrival = np.cumsum(rng.exponential((tasks * held).mean() / (8 * 0.7), count))
    return mb.ClusterJobs(maps=tasks, map_seconds=seconds, arrival=arrival)


def test_the_period_pays_where_nodes_are_asked_every_period():
    """The simulation offers slots every ten seconds: FLEX that knows it against FLEX that does not."""
    told = untold = 0.0
    for seed in range(6):
        jobs = stream(np.random.default_rng(seed))
        how = {"cluster": NODES, "epoch": 10.0, "heartbeat": 10.0, "rng": seed}
        for period in (10.0, 0.0):
            result = mb.simulate(jobs, "flex", period=period, **how)
            mean = result.summary["flex"]["mean_response"]
            told, untold = (told + mean, untold) if period else (told, untold + mean)
    assert told < 0.97 * untold
