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
        scheduler.ended([ids[k]], seconds=own, now=now)
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


def test_each_running_task_has_its_own_age():
    """The task that began last ends last, also when others have ended."""
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), "flex")
    for _ in range(30):  # tasks of 10 s are known by now
        (job,) = scheduler.add(mb.ClusterJobs([4], 0.0, program=["sort"]))
        begin = scheduler.now
        scheduler.started([job], count=4)
        scheduler.ended([job], count=4, seconds=10.0, now=begin + 10.0)
        scheduler.finish([job])
    begin = scheduler.now
    (job,) = scheduler.add(mb.ClusterJobs([4], 0.0, program=["sort"]))
    for wait in (0.0, 2.0, 4.0, 6.0):
        scheduler.started([job], now=begin + wait)
    ends = scheduler.expected_ends(draws=200)
    assert ends["at"][0] == pytest.approx(begin + 16.0, abs=1.0)
    scheduler.ended([job], seconds=10.0, now=begin + 10.0)
    ends = scheduler.expected_ends(draws=200)
    assert ends["at"][0] == pytest.approx(begin + 16.0, abs=1.0)
    scheduler.ended([job], seconds=10.0, now=begin + 12.0)
    scheduler.ended([job], seconds=10.0, now=begin + 14.0)
    ends = scheduler.expected_ends(draws=200)
    assert ends["at"][0] == pytest.approx(begin + 16.0, abs=1.0)


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
    scheduler.set_slots([0], 0, now=0.0)
    assert scheduler.expected_ends()["at"].tolist() == [np.inf]
    assert job in scheduler.expected_ends()["ids"]


@pytest.mark.parametrize("told", ["events", "counts and ages", "counts"])
def test_counts_tell_as_much_as_events(told):
    """Waves of tasks of 2 s: those that run are as old as their wave, not as their job."""
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 24}]), processors="own")
    ids = scheduler.add(mb.ClusterJobs([4000], 0.0), now=0.0)
    if told == "events":
        scheduler.started(ids, count=24, now=0.0)
    for k in range(1 if told == "events" else 0, 41):
        now = 2.0 * k
        if told == "events":
            scheduler.ended(np.full(24, ids[0]), seconds=np.full(24, 2.0), now=now)
            scheduler.started(ids, count=24, now=now)
        else:
            counts = {"pending": 3976 - 24 * k, "running": 24, "done": 24 * k}
            ages = {"elapsed": 0.0} if told == "counts and ages" else {}
            scheduler.observe(ids, now=now, **counts, **ages)
        scheduler.decide(now)
    ends = scheduler.expected_ends(draws=400)
    assert ends["at"][0] == pytest.approx(80.0 + 3016 * 2.0 / 24, rel=0.04)


def test_tasks_that_run_are_as_old_as_is_said():
    """Four were found running; they have run for 9 s each, or have just begun."""
    estimates = []
    for elapsed in (36.0, 0.0):
        scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), processors="own")
        ids = scheduler.add(mb.ClusterJobs([40], 1.0), now=10.0)
        scheduler.observe(ids, pending=36, running=4, elapsed=elapsed, now=10.0)
        estimates.append(scheduler.counts(ids)["estimate"][0, 0])
    assert estimates[0] > 4.0 * estimates[1]


def test_long_tasks_are_not_missing_from_a_mean_of_slot_seconds():
    """Tasks of 8 s that do not begin together: those that run do not make their mean longer."""
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 24}]), processors="own")
    ids = scheduler.add(mb.ClusterJobs([400], 0.0), now=0.0)
    begin = np.arange(24) / 3.0
    for now in np.arange(8.0, 60.0, 5.0):
        age = (now - begin) % 8.0
        done = int(((now - begin) // 8.0).sum())
        counts = {"pending": 376 - done, "running": 24, "done": done}
        scheduler.observe(ids, elapsed=age.sum(), now=now, **counts)
        scheduler.decide(now)
    counts = scheduler.counts(ids)
    assert (counts["estimate"] * counts["slowed"])[0, 0] == pytest.approx(8.0, rel=0.05)


def _known(policy, objective="sum:response", **columns):
    """Ends of two jobs, 60 and 20 tasks of 2 s on 4 slots, of which ten each have ended."""
    cluster = mb.Cluster([{"slots": 4}])
    scheduler = mb.Scheduler(cluster, policy, objective, processors="own")
    ids = scheduler.add(mb.ClusterJobs([70, 30], 0.0, **columns), now=0.0)
    for k in range(5):
        scheduler.started(ids, count=2, now=2.0 * k)
        scheduler.ended(np.repeat(ids, 2), seconds=[2.0, 2.01, 1.99, 2.0], now=2.0 * k + 2.0)
        scheduler.decide(2.0 * k + 2.0)
    return scheduler.expected_ends(draws=200)["at"] - 10.0


@pytest.mark.parametrize(
    ("policy", "objective", "columns", "ends"),
    [
        ("flex", "sum:response", {}, [40.0, 10.0]),
        ("flex", "sum:tardiness", {"deadline": [50.0, 90.0]}, [30.0, 40.0]),
        ("flex", "max:lateness", {"deadline": [90.0, 50.0]}, [40.0, 10.0]),
        ("fifo", "sum:response", {}, [30.0, 40.0]),
        ("fair", "sum:response", {}, [40.0, 20.0]),
        ("auto", "sum:response", {}, [40.0, 10.0]),
    ],
)
def test_ends_follow_the_order_of_the_policy(policy, objective, columns, ends):
    assert _known(policy, objective, **columns) == pytest.approx(ends, rel=0.2)


def test_a_phase_that_was_done_and_grows_begins_again():
    """Counts say that all has ended, and then that there is more, three times as long."""
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), processors="own")
    ids = scheduler.add(mb.ClusterJobs([4], 0.0, program=["p"]), now=0.0)
    for seconds in (2.0, 6.0):
        for _ in range(6):
            scheduler.observe(ids, pending=0, running=4, now=0.0)
            scheduler.ended(np.repeat(ids, 4), seconds=[seconds] * 4, now=0.0)
    scheduler.observe(ids, pending=8, now=0.0)
    runs = scheduler.history["programs"][0]["map"][0]
    assert runs > 6  # each time that all had ended taught
    assert 2.5 < scheduler.counts(ids)["estimate"][0, 0] < 9.0
