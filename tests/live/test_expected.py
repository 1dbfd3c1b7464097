"""Expected ends of a run's jobs, and how far a run is by its journal."""

import math

import numpy as np
import pytest

from malleable.live.decider import SchedulerDecider
from malleable.live.journal import Attempt, Decided, ExpectedEnd, Journal, RunningTasks
from malleable.live.ledger import JobState, last_end
from malleable.live.loop import Loop
from malleable.live.protocol import Abilities, Event, Task
from malleable.live.status import run_status
from malleable.view.live import task_text
from tests.live.fake_engine import FakeEngine
from tests.live.outputs import rows_of


def work(tasks, **more):
    return JobState("j", tasks, make=None, **more)


def begun(works, slots=4, **options):
    """A decider of these jobs: ten tasks of each have run, two at a time, for 2 s but for a few per cent."""
    decider = SchedulerDecider(slots, processors="own", **options)
    decider.came(range(len(works)), works, 0.0)
    rng = np.random.default_rng(1)
    for row, own in enumerate(works):
        for k in range(5):
            now = 2.0 * (5 * row + k)
            own.running, own.since, own.next = 2, 2 * now, own.next + 2
            decider.changed(row)
            decider.decide(now)
            for seconds in 2.0 * np.exp(rng.normal(0.0, 0.03, 2)):
                decider.ended(row, float(seconds))
            own.running, own.since, own.done = 0, 0.0, own.done + 2
            decider.changed(row)
            decider.decide(now + 2.0)
    return decider


def test_ends_are_those_of_what_is_left():
    found = begun([work(18), work(26)]).expected({}, 20.0)
    assert list(found) == [0, 1]
    assert found[0].at == pytest.approx(24.0, abs=0.6)
    assert found[1].at == pytest.approx(32.0, abs=1.2)
    for end in found.values():
        assert 20.0 < end.early <= end.at <= end.late < 100.0
        assert end.seconds == pytest.approx(2.0, rel=0.05) and 0.0 < end.spread < 0.2


def test_of_what_nothing_is_known_nothing_is_said():
    decider = SchedulerDecider(4)
    decider.came([0, 1], [work(9), work(9, program="p")], 0.0)
    found = decider.expected({}, 0.0)
    assert all(math.isnan(end.at) and end.seconds == 0.0 for end in found.values())
    decider.ended(0, 2.0)  # speaks for the other one, too
    decider.decide(2.0)
    found = decider.expected({}, 2.0)
    assert all(end.early < end.at < end.late < math.inf for end in found.values())
    assert last_end(found.values(), 2.0).at == max(end.at for end in found.values())
    # A program that ran before is known at once.
    later = SchedulerDecider(4, history=decider.history(2.0))
    later.came([0], [work(9, program="p")], 0.0)
    assert math.isfinite(later.expected({}, 0.0)[0].at)


def test_jobs_that_come_later_end_after_those_that_they_wait_for():
    first = work(18)
    decider = begun([first])
    coming = {1: (work(4), [0]), 2: (work(4), [1]), 3: (work(1), [])}
    found = decider.expected(coming, 10.0)
    assert found[0].at < found[1].at < found[2].at
    assert found[3].at < found[1].at
    assert len(decider._scheduler) == 1  # they were not added


@pytest.mark.parametrize(("slots", "second"), [(1, 3.0), (2, 1.0)])
def test_the_time_between_tasks_counts_where_a_task_waited_for_its_slot(slots, second):
    """A slot that no task wanted is free for as long as it likes."""
    told, decider = [], SchedulerDecider(slots)
    decider.ended = lambda row, seconds, cpu: told.append(seconds)
    loop = Loop(Told(slots), decider)
    for after in ([], [0]):
        loop.add(JobState("j", 1, lambda number, attempt: Task(""), after=after))
    loop.go()
    assert told == pytest.approx([1.0, second])


class Told:
    """An engine of which each task takes a second by its own words, in a slot that was free for two."""

    abilities = Abilities()

    def __init__(self, slots):
        self.slots, self._tasks = slots, []

    def start(self, tasks):
        self._tasks += tasks

    def poll(self, seconds):
        events = [Event("ended", task.key, seconds=1.0, waited=2.0) for task in self._tasks]
        self._tasks = []
        return events


def test_tasks_that_the_engine_holds_beyond_its_slots_do_not_run():
    """Forty of 2 s on four slots, however many were handed over."""
    ends = []
    for held in (4, 24):
        own = work(50)
        decider = begun([own])
        own.running, own.since, own.next = held, 10.0 * held, own.next + held
        decider.changed(0)
        ends.append(decider.expected({}, 10.0)[0].at)
        assert (
            len(decider._scheduler) == 1 and decider._scheduler.counts([0])["running"][0, 0] == held
        )
    assert ends == pytest.approx([30.0, 30.0], abs=2.0)


def test_tasks_that_waited_in_the_engine_do_not_look_old():
    """What each of them waited there would else add up, from task to task."""

    def took(key):
        return 0.01 + 0.002 * (int(key.split(".")[1]) % 3)

    engine = FakeEngine(4, np.random.default_rng(2), took, lambda key: 0)
    engine.abilities = Abilities(ahead=0.05, short=0.05)
    decider = SchedulerDecider(4, processors="own")
    loop = Loop(engine, decider, clock=engine.clock)
    loop.add(JobState("a", 4000, lambda number, attempt: Task("")))
    expected = []
    for part in (1000, 2000, 3000, 3800):
        while loop.jobs[0].done < part:
            loop.step()
        expected.append((loop.now, decider.expected({}, loop.now)[0].at))
    loop.go()
    assert engine.most_held > 4
    for now, at in expected:
        assert at - now == pytest.approx(loop.now - now, rel=0.05, abs=0.01)


def test_a_paused_job_ends_nobody_knows_when():
    works = [work(18), work(18)]
    decider = begun(works)
    works[0].paused = True
    decider.update_terms(0, 20.0)
    found = decider.expected({3: (work(3, paused=True), [])}, 20.0)
    assert math.isnan(found[0].at) and math.isnan(found[3].at)
    assert found[1].at == pytest.approx(24.0, abs=0.6)
    assert math.isnan(last_end(found.values(), 20.0).at)
    works[0].paused = False
    decider.update_terms(0, 20.0)
    assert decider.expected({}, 20.0)[0].at == pytest.approx(26.0, abs=2.5)


def test_memory_that_others_have_now_is_free_some_day():
    works = [work(18, needs={"memory": 2.0}), work(18, needs={"memory": 5.0})]
    decider = begun(works, capacity={"memory": 8.0})
    works[0].running, works[0].since = 4, 80.0  # and no room for any of the other job
    works[0].next += 4
    decider.changed(0)
    assert [row for row, _ in decider.assign(20.0, 4)] == []
    found = decider.expected({}, 20.0)
    assert 24.0 < found[1].at < 50.0


def test_memory_bounds_how_many_run_at_once():
    """Four fit, and run; forty of 2 s last twenty seconds more on eight slots."""
    own = work(50, needs={"memory": 2.0})
    decider = begun([own], slots=8, capacity={"memory": 8.0})
    own.running, own.since, own.next = 4, 40.0, own.next + 4
    decider.changed(0)
    assert decider.expected({}, 10.0)[0].at == pytest.approx(31.0, abs=2.5)


def test_tasks_that_ended_before_their_job_comes_count():
    decider = SchedulerDecider(4, processors="own")
    for seconds in (2.0, 2.1, 1.9, 2.0):
        decider.ended(5, seconds)
    assert decider.expected({}, 0.0) == {}
    decider.came([5], [work(9)], 0.0)
    assert decider.seconds([5], 0.0)[0] == pytest.approx(2.0, rel=0.05)


def test_a_view_that_fails_takes_no_news_away(monkeypatch):
    decider = SchedulerDecider(4)
    own = work(9)
    decider.came([0], [own], 0.0)
    decider.decide(0.0)
    own.next, own.running = 3, 3
    decider.changed(0)
    decider.ended(0, 2.0)

    def fails(*_, **__):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(decider._scheduler, "observe", fails)
        with pytest.raises(MemoryError):
            decider.expected({}, 1.0)
    decider.decide(1.0)
    counts = decider._scheduler.counts([0])
    assert (counts["waiting"][0, 0], counts["running"][0, 0]) == (6, 3)
    assert decider.seconds([0], 1.0)[0] == pytest.approx(2.0, rel=0.5)


def test_status(tmp_path):
    rows = [
        {"name": "a", "command": "x", "over": {"range": 6}, "retries": 1, "deadline": 10},
        {"name": "b", "command": "x", "after": ["a"], "user": "u"},
        {"name": "c", "command": "x", "over": {"range": 2}},
    ]
    with Journal(tmp_path / "j") as journal:
        run = journal.begin(1, "sum:response", "flex", rows_of(rows, tmp_path))
        journal.record(
            run,
            9.0,
            [
                Attempt(0, 0, 0, 1, 0.0, 1.0),
                Attempt(0, 0, 1, 0, 1.0, 4.0),
                Attempt(0, 1, 0, 1, 1.0, 4.0, how="lost"),
                Attempt(0, 1, 1, 1, 1.0, 4.0),
                Attempt(2, 0, 0, 1, 0.0, 1.0),
            ],
            [Decided(0.0, 0, 3, "x"), Decided(1.0, 0, 1, "its share")],
        )
        journal.note_running(
            run,
            9.0,
            [],
            [ExpectedEnd(0, 33.0, 30.0, 40.0, 4.0, 1.0), ExpectedEnd(2, 13.0, 11.0, 15.0)],
        )
        status = run_status(journal)
        a, b, c = status.jobs
        assert (a.done, a.failed, a.left, a.seconds) == (1, 0, 5, 4.0)
        assert (a.slots, a.why, a.risk) == (1, "its share", "late")
        assert (a.end, a.early, a.late) == (33.0, 30.0, 40.0)
        assert (b.user, b.done, b.failed, b.left) == ("u", 0, 0, 1)
        assert (c.failed, c.left, c.end) == (1, 1, 13.0)
        assert math.isnan(b.end) and math.isnan(status.end.at)  # nothing is said of b
        more = ExpectedEnd(1, 35.0, 31.0, 44.0)
        journal.note_running(
            run, 9.5, [RunningTasks(0, 1, 8.5)], [ExpectedEnd(0, 34.0, 32.0, 41.0), more]
        )
        status = run_status(journal)
        assert (status.jobs[0].running, status.jobs[0].end) == (1, 34.0)
        assert math.isnan(status.end.at)  # c's is not said any more
        journal.record(run, 10.0, [Attempt(0, 1, 2, 2, 1.0, 4.0)])
        assert [job.failed for job in run_status(journal).jobs] == [1, 1, 1]
        journal.record(run, 11.0, status="done")
        assert [job.left for job in run_status(journal).jobs] == [0, 0, 0]


def test_seconds_of_tasks_as_text():
    assert task_text(0.0, 0.0) == "?"
    assert task_text(123.456, 4.56) == "123.5 ± 4.6"
    assert task_text(12.3456, 0.1234) == "12.35 ± 0.12"


@pytest.mark.parametrize(("cpu", "least", "most"), [(0.05, 0.9, 1.0), (0.9, 0.0, 0.9)])
def test_tasks_that_leave_processors_idle_hardly_slow_each_other_down(cpu, least, most):
    """Eight at a time on two processors, all alike: times alone say nothing of p."""
    decider = SchedulerDecider(8, processors="beyond", machine=2)
    own = work(40)
    decider.came([0], [own], 0.0)
    for k in range(4):
        own.running, own.since, own.next = 8, 16.0 * k, own.next + 8
        decider.changed(0)
        decider.decide(2.0 * k)
        for _ in range(8):
            decider.ended(0, 2.0, 2.0 * cpu * 2 / 8)
        own.running, own.since, own.done = 0, 0.0, own.done + 8
        decider.changed(0)
    decider.decide(8.0)
    assert least < decider._scheduler.learned["speedup"] < most
