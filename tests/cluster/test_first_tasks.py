"""`auto` asks unknown jobs for a first task early: what that task shows decides the order of the others."""

import pickle

import numpy as np
import pytest

import malleable as mb
from benchmarks.instances import small_run
from benchmarks.rivals import rules as rivals


def running(scheduler, ids, now, slots):
    """Tasks that run of each job, after the slots that are free were given away."""
    scheduler.decide(now)
    scheduler.assign(now, [[slots - int(scheduler.counts(ids)["running"].sum()), 0]])
    return scheduler.counts(ids)["running"][:, 0].tolist()


def learning(slots, tasks, **columns):
    scheduler = mb.Scheduler(mb.Cluster([{"slots": slots}]), "auto", learn=True)
    return scheduler, scheduler.add(
        mb.ClusterJobs(tasks, columns.pop("seconds", 0.0), **columns), 0.0
    )


def test_every_unknown_job_has_a_first_task_until_one_has_ended():
    scheduler, ids = learning(8, [20, 300, 400])
    assert running(scheduler, ids, 0.0, 8) == [6, 1, 1]
    scheduler = pickle.loads(pickle.dumps(scheduler))
    scheduler.ended(np.repeat(ids, [6, 1, 1]), seconds=np.ones(8), now=1.0)
    assert running(scheduler, ids, 1.0, 8) == [8, 0, 0]


@pytest.mark.parametrize(
    ("tasks", "program", "runs"),
    [
        ([20, 300, 400], ["a", "a", "a"], [8, 0, 0]),
        ([20, 300, 400], ["b", "a", "a"], [7, 1, 0]),
        ([300, 20], ["a", "a"], [0, 8]),
        ([300, 20], ["a", "b"], [1, 7]),
    ],
)
def test_the_first_job_of_a_program_asks_for_all(tasks, program, runs):
    scheduler, ids = learning(8, tasks, program=program)
    assert running(scheduler, ids, 0.0, 8) == runs


def test_more_jobs_than_slots_go_in_order():
    scheduler, ids = learning(4, [20, 30, 40, 50, 60])
    assert running(scheduler, ids, 0.0, 4)[2:] == [0, 0, 0]


def test_what_users_state_is_believed():
    scheduler, ids = learning(8, [20, 30, 40], seconds=5.0)
    assert running(scheduler, ids, 0.0, 8) == [8, 0, 0]


def test_what_other_jobs_have_shown_is_believed():
    scheduler, ids = learning(8, [30, 40], program=["a", "b"])
    for _ in range(30):
        shown = scheduler.add(mb.ClusterJobs([2], 0.0, program=["b"]), 0.0)
        scheduler.decide(0.0)
        scheduler.ended(np.repeat(shown, 2), seconds=[3.0, 3.0], now=0.0)
        scheduler.finish(shown, 0.0)
    assert running(scheduler, ids, 0.0, 8) == [8, 0]


@pytest.mark.parametrize(
    ("kind", "most"), [("even", 1.0), ("heavy", 1.02), ("drift", 1.02), ("wrong", 1.045)]
)
def test_small_runs_lose_nothing(kind, most):
    ratios = []
    for seed in range(20):
        jobs, cluster, said = small_run(seed, kind)
        means = [
            mb.simulate(jobs, policy, cluster=cluster, estimates=how, records=False, rng=1).summary
            for policy, how in (
                ("auto", said if kind == "wrong" else "learn"),
                (rivals.ended_mean, "learn"),
            )
        ]
        own, other = (float(next(iter(each.values()))["mean_response"]) for each in means)
        ratios.append(own / other)
    assert np.mean(ratios) <= most


@pytest.mark.parametrize(("epoch", "early"), [(0.5, True), (5.0, False)])
def test_a_decision_that_holds_for_longer_than_a_task_asks_for_none(epoch, early):
    """Tasks take a second: with an epoch of 5 s the slot would be the job's for five of them."""
    jobs = mb.ClusterJobs([20, 30, 40], 1.0)
    cluster = mb.Cluster([{"slots": 8}])
    found = mb.simulate(jobs, "auto", cluster=cluster, estimates="learn", epoch=epoch, rng=1)
    assert (found.records["starting_time"][2] == 0.0) == early


@pytest.mark.parametrize("seed", range(12))
def test_a_copy_asks_for_first_tasks_as_the_original_does(seed):
    """Jobs come and go, now more than there are slots, now fewer: then all are asked anew."""
    rng, slots, left, running = np.random.default_rng(seed), 4, {}, {}
    scheduler = mb.Scheduler(mb.Cluster([{"slots": slots}]), "auto")
    for turn in range(60):
        now = float(turn)
        if rng.random() < 0.5:
            tasks = rng.integers(2, 8, int(rng.integers(1, 3))).tolist()
            ids = scheduler.add(mb.ClusterJobs(tasks, 0.0), now).tolist()
            left |= dict(zip(ids, tasks, strict=True))
        busy = [job for job in left if running.get(job, 0) > 0]
        if busy and rng.random() < 0.6:
            job = busy[int(rng.integers(len(busy)))]
            scheduler.ended([job], seconds=float(rng.lognormal(1.0, 1.2)), now=now)
            running[job] -= 1
            left[job] -= 1
            if left[job] == 0:
                scheduler.finish([job], now)
                del left[job]
        copied = pickle.loads(pickle.dumps(scheduler))
        free = slots - sum(running.get(job, 0) for job in left)
        starts = []
        for one in (scheduler, copied):
            one.decide(now)
            starts.append(one.assign(now, free).ids.tolist())
        assert starts[0] == starts[1]
        assert copied == scheduler
        for job in starts[0]:
            running[job] = running.get(job, 0) + 1
