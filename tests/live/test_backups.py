"""Backup tasks of live runs: when they begin and end, what counts, and what the journal knows of them."""

import json
import math
import pickle
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import malleable as mb
from malleable.live.backups import _LEAST
from malleable.live.decider import SchedulerDecider
from malleable.live.jobs_file import parse_jobs
from malleable.live.journal import Attempt, JobRow, Journal, JournalError
from malleable.live.ledger import JobState
from malleable.live.loop import Loop
from malleable.live.packs import PACK
from malleable.live.protocol import Abilities, Task
from malleable.live.status import run_status
from malleable.live.task_outcome import Counted, outcome_of
from tests.live import calls_to_make as calls
from tests.live.fake_engine import FakeEngine
from tests.live.outputs import output_of
from tests.live.waiting import PATIENCE, gone, pids_in, until

COMMAND = [sys.executable, "-m", "malleable"]


def work(name, tasks, **more):
    return JobState(name, tasks, lambda number, attempt: Task("", ["x"]), backups=True, **more)


def made(works, slots, seconds, status=lambda key: 0, kill=True, memory=math.inf, **more):
    """A loop on a simulated engine; ``seconds`` by the key of an attempt, 1 for all others.

    A backup task is worth its slot after two seconds.
    """
    faults = {key: more.pop(key) for key in ("late", "twice", "never") if key in more}
    took = seconds if callable(seconds) else lambda key: seconds.get(key, 1.0)
    rng = np.random.default_rng(1)
    engine = FakeEngine(slots, rng, took, status, **faults)
    engine.abilities, engine.grace = Abilities(kill=kill), 0.2
    settled, left = [], []
    decider = SchedulerDecider(slots, "fair", capacity={"memory": memory})
    gains = decider.gains
    decider.gains = lambda running, now: [
        _LEAST * age / 2.0 if gain > 0.0 else 0.0
        for (_, age), gain in zip(running, gains(running, now), strict=True)
    ]
    loop = Loop(
        engine,
        decider,
        clock=engine.clock,
        settled=lambda row, number, event: settled.append((row, number, event.key, event.kind)),
        left=lambda row, number, event: left.append(event.key),
        **more,
    )
    loop.settled, loop.left_over = settled, left
    for each in works:
        loop.add(each)
    return loop, engine


def go(loop, each=lambda: None, until=math.inf):
    for _ in range(100_000):
        if loop.finished or loop.now >= until:
            return
        loop.step()
        each()
    raise AssertionError("the loop does not end")


def test_the_first_attempt_to_end_counts():
    loop, engine = made([work("a", 6)], 6, {"0.3.0": 60.0})
    go(loop)
    job = loop.jobs[0]
    assert engine.starts[6:] == ["0.3.1"]
    assert engine.killed == ["0.3.0"]
    assert (0, 3, "0.3.1", "ended") in loop.settled
    assert sorted(number for _, number, *_ in loop.settled) == list(range(6))
    assert loop.left_over == ["0.3.0"]
    assert job.ended < 5.0
    assert (job.done, job.failed, job.sums.retried, job.running, job.beside) == (6, 0, 0, 0, 0)
    assert (job.sums.backup_tasks, job.sums.backups_won) == (1, 1)
    assert job.sums.wasted_slot_seconds > 0.0
    assert job.sums.seconds == pytest.approx(6.0)  # of attempts that counted


def first_run(tasks, seconds):
    """A job of a run that knows nothing, on 8 slots of a simulated engine, by what each attempt takes."""
    engine = FakeEngine(8, np.random.default_rng(1), seconds, lambda key: 0)
    engine.abilities, engine.grace = Abilities(kill=True), 0.2
    loop = Loop(engine, SchedulerDecider(8, "auto"), clock=engine.clock)
    loop.add(work("a", tasks))
    return loop


@pytest.mark.parametrize("scatter", [0.0, 0.2])
@pytest.mark.parametrize("usual", [0.2, 1.0])
@pytest.mark.parametrize("tasks", [8, 12, 20, 40])
def test_one_task_that_hangs_among_tasks_that_are_alike_gets_a_backup_task(tasks, usual, scatter):
    for hangs in (0, tasks // 2, tasks - 1):
        rng = np.random.default_rng([tasks, hangs])
        took = usual * np.exp(scatter * rng.standard_normal(2 * tasks))
        times = iter(took.tolist())
        loop = first_run(
            tasks, lambda key, k=hangs, times=times: 1e6 if key == f"0.{k}.0" else next(times)
        )
        began = []

        def look(loop=loop, key=f"0.{hangs}.1", began=began):
            if not began and key in loop.engine.starts:
                began.append(loop.now)

        go(loop, look)
        # The task itself begins in the wave that its number says, at the latest.
        assert began[0] < (20.0 + 2.0 * (hangs // 8)) * usual


@pytest.mark.parametrize("scatter", [0.0, 0.05, 0.1, 0.2, 0.3])
def test_few_backup_tasks_begin_in_vain_where_tasks_are_alike(scatter):
    made, vain = 0, 0
    for seed in range(6):
        for tasks in (8, 12, 20, 40):
            rng = np.random.default_rng([seed, tasks])
            times = iter(np.exp(scatter * rng.standard_normal(4 * tasks)).tolist())
            loop = first_run(tasks, lambda key, times=times: next(times))
            go(loop)
            made += tasks
            vain += loop.jobs[0].sums.backup_tasks - loop.jobs[0].sums.backups_won
    assert vain <= 0.02 * made


def test_the_scheduler_hears_how_long_a_task_took_since_its_first_attempt_began():
    loop, _ = made([work("a", 6)], 6, {"0.3.0": 60.0})
    told = []
    ended = loop.decider.ended
    loop.decider.ended = lambda *task: (told.append(task[1]), ended(*task))
    go(loop)
    assert told[:5] == [1.0] * 5
    assert told[5] == pytest.approx(loop.jobs[0].ended)
    assert told[5] > 1.5


def test_a_backup_task_that_is_slower_ends_in_vain():
    loop, engine = made([work("a", 6)], 6, {"0.3.0": 5.0, "0.3.1": 60.0})
    go(loop)
    job = loop.jobs[0]
    assert engine.killed == ["0.3.1"]
    assert job.ended == 5.0
    assert (job.sums.backup_tasks, job.sums.backups_won, job.done) == (1, 0, 6)


@pytest.mark.parametrize("off", ["job", "engine"])
def test_nothing_runs_twice_unless_the_job_says_so_and_the_engine_can_end_tasks(off):
    job = work("a", 6)
    job.backups = off != "job"
    loop, engine = made([job], 6, {"0.3.0": 60.0}, kill=off != "engine")
    go(loop)
    assert len(engine.starts) == 6
    assert job.ended == 60.0


def test_no_task_has_a_backup_task_before_one_has_ended_or_while_one_waits():
    loop, engine = made([work("a", 3)], 6, lambda key: 60.0)
    go(loop)
    assert len(engine.starts) == 3
    waits = work("b", 9, max_slots=2)
    loop, engine = made([waits], 6, {"0.1.0": 60.0})
    go(loop, lambda: None if waits.waiting == 0 else check_none(waits))
    assert waits.sums.backup_tasks == 1


def check_none(job):
    assert job.sums.backup_tasks == 0


def test_a_backup_task_is_ended_as_soon_as_a_task_wants_its_slot():
    first = work("a", 4)
    seconds = {"0.2.0": 60.0, "0.3.0": 60.0, "0.2.1": 50.0, "0.3.1": 50.0}
    loop, engine = made([first], 4, lambda key: seconds.get(key, 1.0 if key[0] == "0" else 2.0))
    go(loop, until=8.0)
    assert (first.running, first.beside) == (2, 2)
    assert loop.running == 2
    second = first_began = engine.starts[4]
    assert {first_began, engine.starts[5]} == {"0.2.1", "0.3.1"}
    loop.add(work("b", 1))
    for _ in range(3):
        loop.step()
    assert engine.killed == [engine.starts[5]]  # the one that began last
    assert engine.starts[6] == "1.0.0"
    assert len(engine.running) == 4
    assert second in engine.running
    go(loop)
    assert loop.jobs[1].ended < 12.0
    assert first.sums.backup_tasks >= 3  # one more, when the slot was free again


@pytest.mark.parametrize("first", ["0.3.0", "0.3.1"])
def test_if_one_attempt_fails_the_other_goes_on_alone(first):
    ends = {"0.3.0": 3.0 if first == "0.3.0" else 4.5, "0.3.1": 1.9, "0.3.2": 60.0}
    loop, _ = made([work("a", 6)], 6, ends, status=lambda key: 7 * (key == first))
    go(loop)
    job = loop.jobs[0]
    other = {"0.3.0": "0.3.1", "0.3.1": "0.3.0"}[first]
    assert (job.done, job.failed, job.sums.retried, job.running, job.beside) == (6, 0, 0, 0, 0)
    assert (0, 3, other, "ended") in loop.settled
    assert first in loop.left_over
    assert job.sums.backups_won == 0
    assert job.sums.wasted_slot_seconds >= ends[first]


def test_a_task_of_which_both_attempts_fail_has_failed_once():
    ends = {"0.3.0": 3.0, "0.3.1": 1.9}
    bad = [*ends]
    for retries, failed in ((0, 1), (1, 0)):
        loop, engine = made(
            [work("a", 6, retries=retries)], 6, ends, status=lambda key: 7 * (key in bad)
        )
        go(loop)
        assert (loop.jobs[0].failed, loop.jobs[0].sums.retried) == (failed, retries)
        assert engine.starts[7:] == ["0.3.2"] * retries


def test_a_task_whose_backup_task_was_ended_before_has_failed_once():
    first = work("a", 4, retries=1)
    seconds = {"0.3.0": 12.0, "0.3.1": 50.0}
    loop, engine = made(
        [first], 4, lambda key: seconds.get(key, 1.0), status=lambda key: 7 * (key == "0.3.0")
    )
    go(loop, until=8.0)
    loop.add(JobState("b", 40, lambda number, attempt: Task("", ["x"])))
    go(loop)
    assert "0.3.1" in engine.killed
    assert (first.done, first.sums.retried) == (4, 1)


def test_maxima_hold():
    job = work("a", 4, max_slots=3)
    loop, engine = made([job, work("b", 2)], 8, {"0.3.0": 60.0, "0.2.0": 60.0})
    most = []
    go(loop, lambda: most.append(sum(key[0] == "0" for key in engine.running)))
    assert max(most) == 3
    assert job.sums.backup_tasks > 0


def test_a_backup_task_leaves_the_slot_of_its_own_jobs_maximum_to_a_task_that_waits():
    job = work("a", 3, max_slots=2, open=True)
    loop, engine = made([job], 8, {"0.2.0": 60.0, "0.2.1": 50.0, "0.3.0": 9.0})
    go(loop, until=8.0)
    assert (job.running, job.beside) == (1, 1)
    loop.grow(0, 1)
    for _ in range(4):
        loop.step()
    assert engine.killed == ["0.2.1"]
    assert "0.3.0" in engine.running
    assert len(engine.running) == 2


def test_memory_holds_and_goes_to_tasks_that_wait():
    job = work("a", 4, needs={"memory": 4.0})
    loop, engine = made([job], 8, {"0.3.0": 60.0, "0.3.1": 50.0, "1.0.0": 9.0}, memory=10.0)
    most = []

    def look():
        most.append(4.0 * sum(key[0] == "0" for key in engine.running))
        most.append(most[-1] + 6.0 * sum(key[0] == "1" for key in engine.running))

    go(loop, look, until=8.0)
    assert (job.running, job.beside) == (1, 1)
    loop.add(work("b", 1, needs={"memory": 6.0}))
    for _ in range(4):
        loop.step()
        look()
    assert engine.killed == ["0.3.1"]
    assert "1.0.0" in engine.running
    go(loop, look)
    assert max(most) == 10.0


@pytest.mark.parametrize("held", ["paused", "cancelled"])
def test_a_job_that_is_held_has_no_new_backup_tasks(held):
    job = work("a", 4)
    loop, _ = made([job], 8, {"0.3.0": 60.0})
    loop.step()
    loop.step()
    setattr(job, held, True)
    go(loop)
    assert job.sums.backup_tasks == 0


def test_looks_come_as_seldom_as_attempts_are_old():
    job = work("a", 20)
    loop, _ = made([job], 40, lambda key: 1.0 if int(key.split(".")[1]) < 10 else 1e4)
    looks = []
    gains = loop.decider.gains

    def look(running, now):
        looks.append(now)
        return [0.0 for _ in gains(running, now)]

    loop.decider.gains = look
    go(loop)
    assert looks[0] < 2.0
    assert np.diff(looks).min() >= 0.5  # an epoch
    assert 50 < len(looks) < 300  # log(1e4) / log(17 / 16) is 152
    old = [(a, b) for a, b in zip(looks, looks[1:], strict=False) if a > 100.0]
    assert all(b - a >= a / 16 - 1.0 for a, b in old)


@pytest.mark.parametrize("seed", range(6))
def test_each_task_counts_once_whatever_is_reported(seed, tmp_path):
    rng = np.random.default_rng(seed)
    times = {}

    def seconds(key):
        return times.setdefault(key, float(rng.lognormal(0.0, 1.5)))

    def status(key):
        return int(rng.random() < 0.1)

    works = [work(f"j{k}", int(n), retries=1) for k, n in enumerate(rng.integers(1, 12, 25))]
    with Journal(tmp_path / "j") as journal:
        number = journal.begin(
            6, "sum:response", "fair", [JobRow({"name": w.name}, w.tasks) for w in works]
        )
        loop, engine = made(
            [], 6, seconds, status, journal=journal, run=number, late=0.2, twice=0.2, never=0.05
        )
        waiting = list(works)

        def more():
            if waiting and rng.random() < 0.2:
                loop.add(waiting.pop())
            held = sum(job.running + job.beside for job in loop.jobs)
            assert held <= 6
            assert len(engine.running) <= 6

        loop.add(waiting.pop())
        go(loop, more)
        while waiting:
            loop.add(waiting.pop())
        go(loop, more)
        loop.step()
        jobs = loop.jobs
        assert all(job.done + job.failed == job.tasks and not job.running for job in jobs)
        assert all(job.beside == 0 for job in jobs)
        assert Counter((row, task) for row, task, *_ in loop.settled).most_common(1)[0][1] == 1
        assert sum(job.sums.backup_tasks for job in jobs) > 0
        attempts = list(journal.attempts(number))
        assert len({each[:3] for each in attempts}) == len(attempts)
        kept = [Counted() for _ in jobs]
        over = {found.last[:2]: found for found in journal.tried(number)}
        for found in over.values():
            kept[found.last.job].add(found)
        for told, job in zip(kept, jobs, strict=True):
            assert (told.done, told.retried) == (job.done, job.sums.retried)
            assert (told.backup_tasks, told.backups_won) == (
                job.sums.backup_tasks,
                job.sums.backups_won,
            )
            assert told.wasted_slot_seconds == pytest.approx(job.sums.wasted_slot_seconds)
        for row, task, *_ in loop.settled:
            assert over[row, task].over(1)
        failing = [found.over(1) for found in over.values() if not found.good]
        assert failing == [True] * sum(job.failed for job in jobs)


# What became of a task.


def attempt(number, status, began, seconds=0, how="", backup_of=None):
    return Attempt(0, 0, number, status, began, seconds, how=how, backup_of=backup_of)


FIRST = attempt(0, None, 0)
BESIDE = attempt(1, None, 5, backup_of=0)


@pytest.mark.parametrize(
    ("attempts", "over", "made", "good"),
    [
        ([FIRST, BESIDE], [False, False], 2, False),
        ([BESIDE], [False, False], 2, False),
        ([attempt(0, 1, 0, 9)], [True, False], 1, False),
        ([attempt(0, 1, 0, 9, how="lost")], [False, False], 1, False),
        # The other attempt has no end: the run was killed.
        ([attempt(0, 1, 0, 9), BESIDE], [False, False], 2, False),
        ([FIRST, attempt(1, 1, 5, 2, backup_of=0)], [False, False], 2, False),
        ([attempt(1, 1, 5, 2, backup_of=0)], [False, False], 2, False),
        ([FIRST, attempt(1, -15, 5, 2, "in vain", 0)], [False, False], 2, False),
        # Both have ended.
        ([attempt(0, 1, 0, 9), attempt(1, 1, 5, 2, backup_of=0)], [True, False], 2, False),
        ([attempt(0, 1, 0, 9), attempt(1, -15, 5, 2, "in vain", 0)], [True, False], 2, False),
        (
            [attempt(0, 1, 0, 9), attempt(1, -15, 5, 2, "in vain", 0), attempt(2, 1, 10, 1)],
            [True, True],
            3,
            False,
        ),
        # The next attempt was about to begin when the run was killed.
        ([attempt(0, 1, 0, 9), attempt(1, None, 9)], [True, False], 2, False),
        # A backup task of a backup task that went on alone.
        (
            [attempt(0, 1, 0, 9), BESIDE, attempt(2, 1, 12, 1, backup_of=1)],
            [False, False],
            3,
            False,
        ),
        (
            [attempt(0, -15, 0, 9, "in vain"), attempt(1, 0, 5, 4, backup_of=0)],
            [True, True],
            2,
            True,
        ),
    ],
)
def test_a_task_has_ended_if_no_attempt_is_left(attempts, over, made, good):
    found = outcome_of(attempts)
    assert [found.over(retries) for retries in (0, 1)] == over
    assert (found.made, found.good is not None) == (made, good)
    assert not found.over(0) or (found.last.status is not None and found.last.how != "in vain")


def brought(attempts):
    """Backup tasks that began and that won, and what was wasted."""
    sums = Counted()
    sums.add(outcome_of(attempts))
    return sums.backup_tasks, sums.backups_won, sums.wasted_slot_seconds


def test_what_backup_tasks_bring_and_cost():
    won = [attempt(0, -15, 0, 9.5, "in vain"), attempt(1, 0, 5, 4, backup_of=0)]
    assert brought(won) == (1, 1, 9.5)
    assert outcome_of(won).seconds == 9.0
    lost = [attempt(0, 0, 0, 9), attempt(1, -15, 5, 4.5, "in vain", 0)]
    assert brought(lost) == (1, 0, 4.5)
    assert outcome_of(lost).seconds == 9.0
    alone = [attempt(0, 1, 0, 6), attempt(1, 0, 5, 4, backup_of=0)]
    assert brought(alone) == (1, 0, 6.0)
    assert outcome_of(alone).seconds == 4.0
    failed = [attempt(0, 1, 0, 6), attempt(1, 1, 5, 4, backup_of=0)]
    assert brought(failed) == (1, 0, 6.0)
    assert brought([FIRST, BESIDE]) == (1, 0, 0.0)


# Real processes.

STRAGGLES = """
echo $MALLEABLE_ATTEMPT ${MALLEABLE_BACKUP_OF-none}
if [ $MALLEABLE_NUMBER.$MALLEABLE_ATTEMPT = 3.0 ]; then echo $$ >pid; sleep 600; fi
"""
JOBS = """
[[job]]
name = "a"
command = ["sh", "task.sh"]
over.range = 6
backups = true
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "task.sh").write_text(STRAGGLES)
    (tmp_path / "jobs.toml").write_text(JOBS)
    return tmp_path


def run(folder, *words):
    return subprocess.run(
        [*COMMAND, *words], cwd=folder, capture_output=True, text=True, check=False
    )


def journal_of(folder):
    return Journal(folder / ".malleable" / "journal.sqlite", write=False)


def printed(folder, task, attempt):
    path = output_of(folder / ".malleable" / "journal.sqlite", 1, "a", task, attempt)
    return path.read_text() if path.exists() else None


def backups_in(journal):
    return [
        each for tried in journal.tried(1) for each in tried.attempts if each.backup_of is not None
    ]


def check_columns(job):
    assert (job["done"], job["failed"], job["retried"]) == (6, 0, 0)
    # On a busy machine another task may have been slow as well.
    assert job["backup_tasks"] >= job["backups_won"] >= 1
    assert job["wasted_slot_seconds"] > 0.0


def test_a_command_that_straggles(folder):
    done = run(folder, "run", "jobs.toml", "--slots", "6", "--json", "run.json")
    assert done.returncode == 0, done.stderr
    told = json.loads((folder / "run.json").read_text())
    check_columns(told["jobs"][0])
    assert gone(pids_in(folder / "pid")[0])
    assert printed(folder, 3, 0) == "0 none\n"
    assert printed(folder, 3, 1) == "1 0\n"
    status = run(folder, "status", "--json", "-")
    (job,) = json.loads(status.stdout)["jobs"]
    check_columns(job)
    with journal_of(folder) as journal:
        attempts = [each for each in journal.attempts(1) if each.task == 3]
        (begun,) = (each for each in backups_in(journal) if each.task == 3)
    assert [(a.attempt, a.status, a.how, a.backup_of) for a in attempts] == [
        (0, -15, "in vain", None),
        (1, 0, "", 0),
    ]
    assert (*begun[:3], begun.backup_of) == (0, 3, 1, 0)
    assert attempts[0].began < begun.began <= attempts[1].began
    assert run(folder, "logs", "a", "3").stdout == "1 0\n"
    kept = Path(job["output"]).iterdir()
    names = {path.name for path in kept}  # empty ones are removed
    assert names == {"3.0.out", "3.1.out", PACK}
    assert all(run(folder, "logs", "a", str(task)).stdout for task in range(6))
    report = run(folder, "report", ".malleable/journal.sqlite", "--json", "-")
    (job,) = json.loads(report.stdout)["run"]["jobs"]
    check_columns(job)


def test_a_run_that_is_killed_beside_a_backup_task_goes_on(folder):
    both = STRAGGLES.replace("$MALLEABLE_NUMBER.$MALLEABLE_ATTEMPT = 3.0", "$MALLEABLE_NUMBER = 3")
    (folder / "task.sh").write_text(both)
    process = subprocess.Popen([*COMMAND, "run", "jobs.toml", "--slots", "6"], cwd=folder)

    def both_run():
        with suppress(JournalError), journal_of(folder) as journal:
            begun = journal.has_runs() and any(each.task == 3 for each in backups_in(journal))
            return begun and run_status(journal).jobs[0].done == 5
        return False

    until(both_run)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with journal_of(folder) as journal:
        (job,) = run_status(journal).jobs
        assert (job.done, job.failed, job.left) == (5, 0, 1)
    (folder / "task.sh").write_text(STRAGGLES)
    done = run(folder, "run", "--resume", "--json", "-")
    assert done.returncode == 0, done.stderr
    (job,) = json.loads(done.stdout)["jobs"]
    assert (job["done"], job["failed"]) == (6, 0)
    with journal_of(folder) as journal:
        assert job["backup_tasks"] == len(backups_in(journal))  # also of the session before
        attempts = [each for each in journal.attempts(1) if each.task == 3]
    assert min(each.attempt for each in attempts) == 2
    assert [each.status for each in attempts].count(0) == 1


def test_the_settings():
    job = {"command": "true"}
    assert [own.backups for own in parse_jobs([job, {**job, "backups": True}])] == [False, True]
    with pytest.raises(ValueError, match=r"job\[0\].backups = 1: expected true or false"):
        parse_jobs([{**job, "backups": 1}])
    with mb.Executor(2, threads=True) as pool:
        with pytest.raises(ValueError, match="backups = True: Threads cannot end a call"):
            pool.job("a", backups=True)
        assert pool.job("a", backups=False).submit(pow, 2, 3).result() == 8


# Calls.


def test_a_call_that_straggles(tmp_path):
    with mb.Executor(4, journal=tmp_path / "j") as pool:
        job = pool.job("a", backups=True)
        many = job.map(calls.straggle, [tmp_path] * 4, range(4))
        found = dict(each.result(PATIENCE) for each in many)
        assert found.keys() == {0, 1, 2, 3}
        assert found[3] == 1
        pids = [*pids_in(tmp_path / "pid"), *pids_in(tmp_path / "child")]
        until(lambda: all(map(gone, pids)))
        assert pool.submit(pow, 2, 3).result(PATIENCE) == 8
        told = job.progress()
        assert (told.done, told.failed, told.left) == (4, 0, 0)
    with Journal(tmp_path / "j", write=False) as journal:
        (job, _) = run_status(journal).jobs
        assert (job.done, job.failed) == (4, 0)
        # Also of calls whose process began late: then the first attempt may be the one that won.
        assert job.backup_tasks >= 1
        assert job.wasted_slot_seconds > 0.0


def test_a_future_that_somebody_else_sets_while_its_call_may_run_twice(tmp_path):
    with mb.Executor(2) as pool:
        pool._decider.gains = lambda running, now: [1.0] * len(running)
        job = pool.job("a", backups=True)
        job.submit(calls.same, 1).result(PATIENCE)
        waits = job.submit(calls.wait_for, tmp_path / "go")
        until(waits.running)
        waits.set_result(5)
        until(lambda: not pool._run.jobs["a"].futures)  # a second attempt was looked for
        (tmp_path / "go").touch()
        assert job.submit(calls.same, 2).result(PATIENCE) == 2
        assert waits.result() == 5


def test_one_job_on_the_command_line(tmp_path):
    words = ["run", "--job", "a", "true", "--backups", "--slots", "2"]
    done = subprocess.run(
        [*COMMAND, *words],
        cwd=tmp_path,
        input="1\n2\n",
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with journal_of(tmp_path) as journal:
        assert journal.jobs(1)[0].described["backups"] is True
    assert run(tmp_path, "run", "jobs.toml", "--backups").returncode == 2


def test_a_pool_of_calls_that_are_ended_is_not_broken(tmp_path):
    """However many are ended before any other call has returned."""
    engine = mb.Executor(2)._made_engine()
    try:
        for k in range(25):
            path = tmp_path / f"{k}"
            engine.start([Task(path.name, call=pickled(calls.note, tmp_path, k, 60.0), bundle=k)])
            while not path.exists():
                assert engine.poll(0.01) == []
            engine.kill([path.name])
            (event,) = first_events(engine)
            assert (event.kind, event.key) == ("ended", path.name)
            assert event.status != 0
        assert not engine.broken
        for key in (
            "first",
            "last",
        ):  # each in a process of its own, as the first one is about to be killed
            engine.start([Task(key, call=pickled(calls.pid), bundle=98 + len(key))])
            found = first_events(engine)
            assert [(event.key, event.status) for event in found] == [(key, 0)]
            if key == "first":
                (worker,) = engine._workers.values()
                assert worker in engine._idle
                engine._idle.remove(worker)
                worker.ends.add("killed")
                engine._rest(worker)
        assert len(engine._workers) == 2
    finally:
        engine.close(0.0)


def first_events(engine):
    return until(lambda: engine.poll(0.05))


def pickled(function, *arguments):
    return pickle.dumps((function, arguments, {}))
