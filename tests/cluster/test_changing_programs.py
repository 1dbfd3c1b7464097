"""Programs whose tasks come to take five times as long, or a fifth of the time, as a user sees it."""

import heapq
import json

import numpy as np
import pytest

import malleable as mb

CLUSTER = mb.Cluster([{"slots": 10}])


def scheduler(history=None):
    return mb.Scheduler(CLUSTER, policy="auto", history=history)


def begin(own, tasks):
    (job,) = own.add(mb.ClusterJobs([tasks], 0.0, program=["sort"]))
    return job


def run(own, job, times):
    """Tasks of the job, one after the other."""
    for seconds in times:
        own.started([job], count=1, now=own.now)
        own.ended([job], seconds=seconds, now=own.now + seconds)


def run_jobs(own, times, tasks):
    for first in range(0, len(times), tasks):
        job = begin(own, tasks)
        run(own, job, times[first : first + tasks])
        own.finish([job])


def saved(own):
    return scheduler(json.loads(json.dumps(own.history)))


def estimate(own, job=None):
    """Of the job, or of a new one."""
    own.decide(own.now)
    job = begin(own, 5) if job is None else job
    return float(own.counts([job])["estimate"][0, 0])


def jobs_of(tasks):
    def case(before, after):
        own = scheduler()
        run_jobs(own, before, 10 if tasks > 1 else 1)
        run_jobs(own, after, tasks)
        return [estimate(own)]

    return case


def history(when):
    def case(before, after):
        own = scheduler()
        run_jobs(own, before, 1)
        for task, seconds in enumerate(after):
            own = saved(own) if when in (task, "always") else own
            run_jobs(own, [seconds], 1)
        return [estimate(own)]

    return case


def job_goes_on(before, after):
    own = scheduler()
    run_jobs(own, before, 10)
    job = begin(own, 50)
    run(own, job, after)
    return [estimate(own, job), estimate(own)]


def within_a_phase(before, after):
    own = scheduler()
    job = begin(own, 200)
    run(own, job, np.concatenate([before, after]))
    return [estimate(own, job), estimate(own)]


def phase_has_ended(before, after):
    own = scheduler()
    run_jobs(own, np.concatenate([before, after]), len(before) + len(after))
    return [estimate(own)]


def side_by_side(rng, slots, tasks, sigma, change=None, factor=1.0):
    """A program of one job, so many tasks at a time: its estimate after each task, over the right one."""
    own, running, found = scheduler(), [], []
    job = begin(own, tasks)
    for task in range(tasks + slots):
        if task >= slots:
            ended, seconds, right = heapq.heappop(running)
            own.ended([job], seconds=seconds, now=ended)
            found.append(float(own.counts([job])["estimate"][0, 0]) / right)
        if task < tasks:
            right = 10.0 * (factor if change is not None and task >= change else 1.0)
            seconds = even(rng, right, sigma, 1)[0]
            own.started([job], count=1, now=own.now)
            heapq.heappush(running, (own.now + seconds, seconds, right))
    return np.array(found)


CASES = {
    "jobs of one task": jobs_of(1),
    "jobs of ten tasks": jobs_of(10),
    "one job": jobs_of(30),
    "saved before": history(0),
    "saved amidst": history(15),
    "saved each time": history("always"),
    "a job goes on": job_goes_on,
    "within a phase": within_a_phase,
    "a phase has ended": phase_has_ended,
}


@pytest.mark.parametrize("factor", [5.0, 0.2])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_program_that_changes_is_right_again_after_30_tasks(case, factor):
    for found in case(np.full(100, 10.0), np.full(30, 10.0 * factor)):
        assert found == pytest.approx(10.0 * factor, rel=0.2)


def even(rng, mean, sigma, count):
    return mean * rng.lognormal(-0.5 * sigma * sigma, sigma, count)


@pytest.mark.parametrize("factor", [5.0, 0.2])
@pytest.mark.parametrize("case", ["jobs of one task", "within a phase"])
@pytest.mark.parametrize(("sigma", "off"), [(0.5, 0.1), (1.0, 0.2)])
def test_tasks_that_differ_hide_no_change(case, factor, sigma, off):
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        before, after = even(rng, 10.0, sigma, 100), even(rng, 10.0 * factor, sigma, 30)
        found.append(CASES[case](before, after)[0] / (10.0 * factor))
    assert np.median(found) == pytest.approx(1.0, rel=off)


@pytest.mark.parametrize("slots", [2, 10, 50])
def test_tasks_that_run_side_by_side_are_no_change(slots):
    """They end in the order of their times, the shortest first. Estimates are of tasks that run alone."""
    runs = [side_by_side(np.random.default_rng(seed), slots, 200, 0.5) for seed in range(8)]
    # The estimate jumps to the level of the latest tasks in few places, if anywhere.
    assert (np.abs(np.diff(np.log(runs))[:, 20 + slots :]) > 0.25).mean() < 0.01


@pytest.mark.parametrize("factor", [5.0, 0.2])
def test_a_change_shows_though_tasks_run_side_by_side(factor):
    runs = [
        side_by_side(np.random.default_rng(seed), 10, 200, 0.3, 100, factor) for seed in range(8)
    ]
    # 30 tasks after the last one that began before.
    assert np.median(np.array(runs)[:, 140]) == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_heavy_tails_are_no_change(sigma):
    found = []
    for seed in range(12):
        own = scheduler()
        run_jobs(own, even(np.random.default_rng(seed), 10.0, sigma, 100), 1)
        found.append(estimate(own) / 10.0)
    # What the mean of 100 is off by.
    expected = np.sqrt(np.expm1(sigma**2) / 100)
    assert np.sqrt(np.mean(np.square(np.log(found)))) < 1.5 * expected
