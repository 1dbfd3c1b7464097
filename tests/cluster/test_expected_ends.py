"""When a scheduler expects its jobs to end, against when they end."""

import heapq
import pickle

import numpy as np
import pytest

import malleable as mb
from benchmarks.instances import small_run
from tests.full import part

SLOTS = 24
PARTS = (0.25, 0.5, 0.75)


def drive(jobs, said):
    """Each task in its own time; what was expected when parts of all tasks had ended, and what came."""
    scheduler = mb.Scheduler(mb.Cluster([{"slots": SLOTS}]))
    ids = scheduler.add(mb.ClusterJobs(jobs.maps, said[:, 0]), 0.0).tolist()
    row = {id: k for k, id in enumerate(ids)}
    seconds = np.split(jobs.map_seconds, np.cumsum(jobs.maps)[:-1])
    left = [own[::-1].tolist() for own in seconds]
    marks = [int(part * jobs.maps.sum()) for part in PARTS]
    open_tasks = jobs.maps.tolist()
    completion, expected = np.full(len(jobs), np.nan), []
    heap, free, now, ended = [], SLOTS, 0.0, 0
    for _ in range(int(jobs.maps.sum())):
        scheduler.decide(now)
        for id in scheduler.assign(now, [[free, 0]]).ids.tolist():
            own = left[row[id]].pop()
            heapq.heappush(heap, (now + own, row[id], own))
            free -= 1
        now, k, own = heapq.heappop(heap)
        free, ended = free + 1, ended + 1
        open_tasks[k] -= 1
        scheduler.finished([ids[k]], seconds=own, now=now)
        if open_tasks[k] == 0:
            completion[k] = now
            scheduler.finish([ids[k]], now)
        if ended in marks:
            ends = scheduler.expected_ends()
            rows = [row[id] for id in ends["ids"].tolist()]
            expected.append((rows, ends["early"], ends["late"]))
    return completion, expected


def coverage(kind, seeds):
    """How many of the true ends lie in their ranges, by what part of the tasks had ended."""
    held = [[], [], []]
    for seed in seeds:
        jobs, _, said = small_run(seed, kind)
        completion, expected = drive(jobs, said)
        for found, (rows, early, late) in zip(held, expected, strict=True):
            found.extend(((early <= completion[rows]) & (completion[rows] <= late)).tolist())
    return [float(np.mean(found)) for found in held]


@pytest.mark.parametrize(
    ("kind", "least"), [("even", 0.68), ("heavy", 0.7), ("drift", 0.5), ("wrong", 0.5)]
)
def test_ranges_hold_what_they_promise(kind, least):
    """80 of 100 if tasks are alike or have heavy tails; half if times change or statements are wrong."""
    found = coverage(kind, range(100, 100 + part(40, 20)))
    assert min(found) >= least, found
    assert max(found) <= 0.97, found


def test_both_phases_and_jobs_that_wait():
    scheduler = mb.Scheduler(mb.Cluster([{"map_slots": 4, "reduce_slots": 2}]), "flex")
    jobs = mb.ClusterJobs([8, 4], 10.0, [2, 0], 5.0, after=[[], [0]])
    ids = scheduler.add(jobs, 0.0)
    ends = scheduler.expected_ends(draws=200)
    assert ends["ids"].tolist() == ids.tolist()
    assert (ends["early"] <= ends["at"]).all() and (ends["at"] <= ends["late"]).all()
    assert 15.0 < ends["at"][0] < 45.0
    assert ends["at"][1] > ends["at"][0]
    # The same calls give the same ends, copies too.
    again = pickle.loads(pickle.dumps(scheduler)).expected_ends(draws=200)
    np.testing.assert_array_equal(again["late"], ends["late"])
    assert (scheduler.expected_ends(draws=200, seed=1)["at"] != ends["at"]).any()


def test_orders_of_policies():
    """First come first served, equally, and the least work first."""
    table = mb.ClusterJobs([40, 4], 10.0)
    at = {}
    for policy in ("fifo", "fair", "flex"):
        scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), policy)
        scheduler.add(table, 0.0)
        at[policy] = scheduler.expected_ends(draws=200)["at"]
    assert at["flex"][1] < at["fair"][1] < at["fifo"][1]
    assert at["fifo"][0] < at["flex"][0] * 1.05


def test_what_cannot_be_expected():
    plain = mb.Scheduler(mb.Cluster([{"slots": 4}]), "flex", learn=False)
    with pytest.raises(ValueError, match="needs learn = True"):
        plain.expected_ends()
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]))
    with pytest.raises(ValueError, match="draws = 1: "):
        scheduler.expected_ends(draws=1)
    assert scheduler.expected_ends()["ids"].tolist() == []
    (job,) = scheduler.add(mb.ClusterJobs([4], 1.0), 0.0)
    scheduler.set_slots([0], slots=[0], now=0.0)
    assert scheduler.expected_ends()["at"].tolist() == [np.inf]
    assert job in scheduler.expected_ends()["ids"]
