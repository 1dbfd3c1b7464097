"""The loop and what decides in it, on an engine with faults and a simulated clock."""

import math
from collections import Counter

import numpy as np
import pytest

from malleable.live.decider import SchedulerDecider
from malleable.live.engine import Task
from malleable.live.journal import Journal
from malleable.live.loop import Loop, Work
from tests.live.fake_engine import FakeEngine

STEPS = 100_000


def work(name, tasks, **more):
    return Work(name, tasks, lambda number, attempt: Task("", ["x"]), **more)


def made(works, slots=4, seed=1, seconds=2.0, status=None, journal=None, policy="flex", **faults):
    engine = FakeEngine(
        slots, np.random.default_rng(seed), lambda key: seconds, status or (lambda key: 0), **faults
    )
    settled = Counter()
    loop = Loop(
        engine,
        SchedulerDecider(slots, policy),
        journal,
        1,
        clock=engine.clock,
        settled=lambda row, number, event: settled.update([(row, number)]),
    )
    for each in works:
        loop.add(each)
    return loop, engine, settled


def go(loop, each=lambda: None):
    for _ in range(STEPS):
        if loop.finished:
            return
        loop.step()
        each()
    raise AssertionError("the loop does not end")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("policy", ["flex", "fair", "fifo", "srpt", "adaptive"])
def test_each_task_counts_once_whatever_is_reported(seed, policy):
    works = [work("a", 30, weight=2.0), work("b", 11, min_slots=1), work("c", 1), work("d", 0)]
    loop, engine, settled = made(works, seed=seed, policy=policy, late=0.3, twice=0.3, never=0.1)
    go(loop)
    assert [job.done + job.failed for job in loop.jobs] == [30, 11, 1, 0]
    assert settled == Counter(
        {(row, number): 1 for row, job in enumerate(works) for number in range(job.tasks)}
    )
    assert all(job.running == 0 for job in loop.jobs)
    assert len(set(engine.starts)) == len(engine.starts)


def test_no_slot_is_free_while_a_task_waits():
    loop, engine, _ = made([work("a", 9), work("b", 13, max_slots=1), work("c", 5)], slots=3)

    poll, looks = engine.poll, []

    def look(seconds):
        able = [job for job in loop.jobs if job.here]
        could = sum(min(job.waiting, (job.max_slots or 99) - job.running) for job in able)
        looks.append(could)
        assert len(engine.running) == 3 or could == 0
        return poll(seconds)

    engine.poll = look
    go(loop)
    assert max(looks) > 0
    assert engine.most == 3


@pytest.mark.parametrize("policy", ["flex", "fair", "fifo", "srpt"])
def test_maxima_hold_and_others_get_the_rest(policy):
    most = Counter()
    loop, _, _ = made(
        [work("a", 20, max_slots=2), work("b", 20), work("c", 20, max_slots=1)],
        slots=6,
        policy=policy,
    )

    def look():
        for job in loop.jobs:
            most[job.name] = max(most[job.name], job.running)

    go(loop, look)
    assert most["a"] == 2
    assert most["c"] == 1
    assert most["b"] >= 3
    # c's tasks one after the other, once the others' work on all slots left something over.
    assert loop.now <= 20 * 2.0 + 40 * 2.0 / 6 + 2.0


def test_minima_hold():
    loop, _, _ = made([work("a", 40), work("b", 400, min_slots=2)], slots=5)
    for _ in range(5):
        loop.step()
    assert loop.jobs[1].running >= 2
    assert loop.jobs[0].running + loop.jobs[1].running == 5


def test_what_failed_is_tried_again_so_often():
    tries = Counter()

    def status(key):
        row, number, _ = key.split(".")
        tries[row, number] += 1
        return 0 if tries[row, number] > 2 or number == "0" else 3

    loop, _, _ = made([work("a", 4, retries=2), work("b", 4, retries=1)], status=status)
    go(loop)
    assert [(job.done, job.failed) for job in loop.jobs] == [(4, 0), (1, 3)]
    assert tries["0", "1"] == 3
    assert tries["1", "1"] == 2
    assert tries["0", "0"] == tries["1", "0"] == 1


def test_a_task_that_is_always_lost_is_given_up():
    loop, engine, _ = made([work("a", 2)], never=1.0)
    go(loop)
    assert loop.jobs[0].failed == 2
    assert len(engine.starts) == 8


def test_jobs_wait_for_others():
    works = [work("a", 4), work("b", 3, after=[0]), work("c", 2, after=[0, 1])]
    loop, _, _ = made(works)
    go(loop)
    assert works[1].began >= works[0].ended
    assert works[2].began >= works[1].ended
    assert [job.done for job in works] == [4, 3, 2]


def test_jobs_do_not_run_after_one_that_failed():
    works = [work("a", 2), work("b", 3, after=[0]), work("c", 2, after=[1]), work("d", 2)]
    loop, engine, _ = made(works, status=lambda key: int(key == "0.1.0"))
    go(loop)
    assert [(job.done, job.failed) for job in works] == [(1, 1), (0, 3), (0, 2), (2, 0)]
    assert not any(key.startswith(("1.", "2.")) for key in engine.starts)


def test_a_job_is_cancelled():
    works = [work("a", 50), work("b", 5)]
    loop, engine, _ = made(works, slots=8)
    for _ in range(3):
        loop.step()
    running = works[0].running
    dropped = loop.cancel(0)
    started = len(engine.starts)
    assert loop.cancel(0) == []
    go(loop)
    assert works[0].done + works[0].failed == 50
    assert works[0].failed >= len(dropped)
    assert running > 0
    assert not any(key.startswith("0.") for key in engine.starts[started:])
    assert works[1].done == 5


def test_a_job_that_grows():
    works = [work("a", 1, open=True)]
    loop, _, _ = made(works)
    for _ in range(20):
        loop.step()
    assert works[0].done == 1
    assert not loop.finished
    loop.grow(0, 6)
    works[0].open = False
    go(loop)
    assert works[0].done == 7


@pytest.mark.parametrize("seed", range(3))
def test_decisions_and_attempts_are_in_the_journal(tmp_path, seed):
    with Journal(tmp_path / "j") as journal:
        journal.begin(4, "sum:response", "flex", "/", [])
        works = [work("a", 20, max_slots=2), work("b", 20)]
        loop, engine, _ = made(works, journal=journal, seed=seed, twice=0.5, never=0.1)
        go(loop)
        loop.step()
        attempts = list(journal.attempts(1))
        assert sorted(f"{a.job}.{a.task}.{a.attempt}" for a in attempts) == sorted(engine.starts)
        good = [(a.job, a.task) for a in attempts if a.status == 0]
        assert len(good) == len(set(good)) == sum(job.done for job in works)
        decided = list(journal.decisions(1))
        assert all(d.slots <= 2 for d in decided if d.job == 0)
        assert all(d.why for d in decided)
        assert {d.job for d in decided} == {0, 1}


def test_short_jobs_come_first_once_their_tasks_are_known():
    works = [work("long", 40, seconds=20.0), work("short", 10, seconds=1.0)]
    loop, _, _ = made(works, slots=5, seconds=1.0)
    go(loop)
    assert works[1].ended < works[0].ended / 2
    assert math.isclose(works[0].ended, 10.0, abs_tol=0.5)
