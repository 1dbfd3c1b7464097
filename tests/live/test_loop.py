"""The loop and what decides in it, on an engine with faults and a simulated clock."""

import math
from collections import Counter

import numpy as np
import pytest

from malleable.live.decider import SchedulerDecider
from malleable.live.journal import Journal
from malleable.live.ledger import JobState
from malleable.live.loop import Loop
from malleable.live.protocol import Abilities, Event, Task
from tests.full import part
from tests.live.fake_engine import FakeEngine

STEPS = 100_000


def work(name, tasks, **more):
    return JobState(name, tasks, lambda number, attempt: Task("", ["x"]), **more)


def made(
    works,
    slots=4,
    seed=1,
    seconds=2.0,
    status=None,
    journal=None,
    policy="flex",
    memory=math.inf,
    **faults,
):
    engine = FakeEngine(
        slots, np.random.default_rng(seed), lambda key: seconds, status or (lambda key: 0), **faults
    )
    settled = Counter()
    loop = Loop(
        engine,
        SchedulerDecider(slots, policy, capacity={"memory": memory}),
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
        journal.begin(4, "sum:response", "flex")
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


class _Batches(FakeEngine):
    """Tasks of one slot run one after another, and are told of together."""

    abilities = Abilities(grain=1.0, together=10)

    def start(self, tasks):
        ends = Counter()
        for task in tasks:
            ends[task.bundle] += self.seconds(task.key)
        for task in tasks:
            self.starts.append(task.key)
            self._say(
                self.now + ends[task.bundle], Event("ended", task.key, 0, self.seconds(task.key))
            )


@pytest.mark.parametrize("engine_class", [FakeEngine, _Batches])
def test_recorded_attempts_never_use_more_slots_than_there_are(tmp_path, engine_class):
    """A task that waits in the engine for a slot does not run yet."""
    with Journal(tmp_path / "j") as journal:
        journal.begin(3, "sum:response", "flex")
        engine = engine_class(3, np.random.default_rng(1), lambda key: 0.01, lambda key: 0)
        if engine_class is FakeEngine:
            engine.abilities = Abilities(ahead=0.1)
        loop = Loop(engine, SchedulerDecider(3, "flex"), journal, 1, clock=engine.clock)
        loop.add(work("a", 200))
        go(loop)
        loop.step()
        attempts = list(journal.attempts(1))
    assert len(attempts) == 200
    assert engine.most_held > 0 or engine_class is _Batches
    changes = sorted(
        each
        for a in attempts
        for each in ((round(a.began, 9), 1), (round(a.began + a.seconds, 9), -1))
    )
    assert max(np.cumsum([change for _, change in changes])) == 3


def test_short_jobs_come_first_once_their_tasks_are_known():
    works = [work("long", 40, seconds=20.0), work("short", 10, seconds=1.0)]
    loop, _, _ = made(works, slots=5, seconds=1.0)
    go(loop)
    assert works[1].ended < works[0].ended / 2
    assert math.isclose(works[0].ended, 10.0, abs_tol=0.5)


@pytest.mark.parametrize("policy", ["flex", "fair", "fifo"])
def test_memory_is_a_second_cap(policy):
    works = [
        work("big", 12, needs={"memory": 6.0}),
        work("small", 30, needs={"memory": 2.5}, max_slots=3),
        work("free", 20),
        work("alone", 2, needs={"memory": 10.0}),
    ]
    loop, engine, _ = made(works, slots=8, memory=10.0, policy=policy)
    most = Counter()

    def look():
        used = sum(job.running * job.needs.get("memory", 0.0) for job in works)
        assert used <= 10.0
        most["used"] = max(most["used"], used)
        for job in works:
            most[job.name] = max(most[job.name], job.running)

    go(loop, look)
    assert [job.done for job in works] == [12, 30, 20, 2]
    assert most["used"] == 10.0
    assert (most["big"], most["small"], most["alone"]) == (1, 3, 1)
    assert most["free"] >= 5  # slots that memory leaves over
    assert engine.most == 8


def test_slots_that_memory_leaves_over_are_given_to_others_at_once():
    works = [
        work("a", 4, needs={"memory": 6.0}, weight=9.0),
        work("b", 4, needs={"memory": 6.0}, weight=8.0),
        work("c", 40),
    ]
    loop, engine, _ = made(works, slots=4, memory=10.0)
    loop.step()
    assert len(engine.starts) == 4
    assert sum(job.running for job in works[:2]) == 1


def test_many_jobs():
    count = part(10_000)
    works = [work(f"j{k}", 1 + k % 3, seconds=1.0 + k % 7, after=[k - 9] if k > 0.9 * count else ())
             for k in range(count)]  # fmt: skip
    loop, engine, settled = made(works, slots=50, seconds=2.0, twice=0.1)
    go(loop)
    assert [job.done for job in works] == [1 + k % 3 for k in range(count)]
    assert set(settled.values()) == {1}
    assert engine.most == 50


def test_a_job_of_which_nothing_is_known_is_believed_to_be_like_the_others():
    """Its 30 tasks would pass for 30 s and come before 20 of 2 s that are known."""
    works = [work("first", 40), work("longer", 30), work("shorter", 20, seconds=2.0)]
    works[1].after = [3]
    works.append(work("opens", 1, weight=100.0))
    loop, _, _ = made(works, slots=2, seconds=2.0)
    go(loop)
    assert works[2].ended < works[1].ended


def test_short_tasks_are_replaced_beforehand():
    works = [work("a", 3000), work("b", 2, max_slots=1)]
    loop, engine, _ = made(works, slots=2, seconds=0.001)
    engine.abilities = Abilities(ahead=0.02)
    go(loop)
    assert [job.done for job in works] == [3000, 2]
    assert engine.most == 2
    assert 10 < engine.most_held <= 0.02 * 2 / 0.001  # no more than end in so long
    slow, engine, _ = made([work("a", 100)], slots=2, seconds=5.0)
    engine.abilities = Abilities(ahead=0.02)
    go(slow)
    assert engine.most_held == 0
