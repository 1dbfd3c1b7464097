"""Jobs of a pool: order, limits, dependencies; and the journal that a pool goes on from."""

import math
import os
import pickle
from concurrent import futures

import pytest

import malleable as mb
from malleable.live.journal import Journal, JournalError
from malleable.live.status import run_status
from tests.live import calls_to_make as calls
from tests.live.waiting import PATIENCE, until


@pytest.fixture
def pool():
    with mb.Executor(3, threads=True) as made:
        yield made


def most_at_once(spans):
    """Largest number of (began, ended) that overlap."""
    events = sorted([(b, 1) for b, _ in spans] + [(e, -1) for _, e in spans])
    held = most = 0
    for _, step in events:
        held += step
        most = max(most, held)
    return most


def results(made):
    return [future.result(PATIENCE) for future in made]


def test_a_job_gives_futures_in_order(pool):
    job = pool.job("squares", weight=2.0, deadline=60.0, user="ann")
    made = job.map(pow, range(100), [2] * 100)
    assert results(made) == [k * k for k in range(100)]
    assert job.submit(calls.same, 1, more=2).result() == (1, {"more": 2})
    now = job.progress()
    assert now == pool.progress()["squares"]
    assert (now.done, now.failed, now.left, now.running) == (101, 0, 0, 0)
    assert now.end == 0.0
    assert "101 of 101" in repr(job)


def test_maxima_and_minima_hold():
    with mb.Executor(4, threads=True) as pool:
        narrow = pool.job("narrow", max_slots=1).map(calls.times, [0.02] * 12)
        wide = pool.job("wide").map(calls.times, [0.02] * 400)
        assured = pool.job("assured", min_slots=1).map(calls.times, [0.02] * 12)
        assert most_at_once(results(narrow)) == 1
        spans = results(wide)
        assert most_at_once(results(assured) + spans) <= 4
        assert max(end for _, end in results(assured)) < max(end for _, end in spans)


def test_short_calls_share_no_more_slots_than_their_job_may_hold():
    with mb.Executor(4, threads=True) as pool:
        job = pool.job("narrow", max_slots=1)
        results(job.map(calls.same, range(300)))
        spans = results(job.map(calls.times, [0.0] * 400))
        assert most_at_once([(b, e) for b, e in spans if e > b]) == 1


def test_a_short_job_does_not_wait_behind_a_long_one(pool):
    long = pool.job("long", seconds=0.03).map(calls.times, [0.03] * 300)
    long[0].result(PATIENCE)
    short = pool.job("short", seconds=0.03).map(calls.times, [0.03] * 6)
    ended = max(end for _, end in results(short))
    assert ended < max(end for _, end in results(long))
    assert sum(not future.done() or future.result()[1] > ended for future in long) > 100


def test_jobs_wait_for_others(pool):
    first = pool.job("first")
    before = first.map(calls.times, [0.05] * 4)
    second = pool.job("second", after=first)
    after = second.map(calls.times, [0.0] * 3)
    third = pool.job("third", after=[first, second]).submit(calls.times, 0.0)
    with pytest.raises(RuntimeError, match="'second' waits for it"):
        first.submit(calls.same, 1)
    second.close()
    latest = max(end for _, end in results(before))
    assert all(began >= latest for began, _ in results(after))
    assert third.result(PATIENCE)[0] >= max(end for _, end in results(after))


def test_jobs_do_not_run_after_one_that_failed(pool, tmp_path):
    first = pool.job("first")
    bad = first.map(calls.divide, [1, 1], [1, 0])
    second = pool.job("second", after=[first])
    after = second.map(calls.note, [str(tmp_path)] * 3, range(3))
    third = pool.job("third", after=[second]).submit(calls.note, str(tmp_path), 9)
    assert isinstance(bad[1].exception(PATIENCE), ZeroDivisionError)
    futures.wait([*after, third], PATIENCE)
    assert all(future.cancelled() for future in [*after, third])
    assert list(tmp_path.iterdir()) == []
    assert pool.submit(pow, 2, 2).result() == 4


def test_a_job_is_cancelled(pool):
    job = pool.job("vain")
    made = job.map(calls.slow, range(200), [0.05] * 200)
    other = pool.job("other").map(calls.same, range(5))
    made[0].result(PATIENCE)
    job.cancel()
    job.cancel()
    futures.wait(made, PATIENCE)
    assert sum(future.cancelled() for future in made) > 150
    assert all(future.cancelled() or future.result() == k for k, future in enumerate(made))
    assert results(other) == list(range(5))
    with pytest.raises(RuntimeError, match="cancelled"):
        job.submit(calls.same, 1)


def test_cancelled_calls_of_a_job_never_start(pool, tmp_path):
    job = pool.job("picked")
    busy = pool.job("busy", min_slots=3).map(calls.wait_for, [tmp_path / "go"] * 3)
    until(lambda: all(future.running() for future in busy))
    made = job.map(calls.note, [str(tmp_path)] * 50, range(50))
    for future in made[::2]:
        assert future.cancel()
    (tmp_path / "go").touch()
    assert results(made[1::2]) == list(range(1, 50, 2))
    (tmp_path / "go").unlink()
    assert sorted(int(path.name) for path in tmp_path.iterdir()) == list(range(1, 50, 2))
    job.close()
    assert job.progress()[:3] == (25, 25, 0)


def test_calls_are_tried_again(pool, tmp_path):
    tries = []

    def fails_twice(k):
        tries.append(k)
        if tries.count(k) <= 2:
            raise OSError(k)
        return k

    assert results(pool.job("again", retries=2).map(fails_twice, range(5))) == list(range(5))
    assert sorted(tries) == sorted(3 * list(range(5)))


def test_a_job_is_a_context(pool):
    with pool.job("block") as job:
        future = job.submit(pow, 2, 5)
    with pytest.raises(RuntimeError, match="closed"):
        job.submit(pow, 1, 1)
    assert future.result(PATIENCE) == 32


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": ""}, "name = ''"),
        ({"name": "calls"}, "name = 'calls'"),
        ({"name": "there"}, "there is a job"),
        ({"weigth": 2.0}, "weigth: unknown; did you mean 'weight'"),
        ({"command": "x"}, "command: unknown"),
        ({"weight": -1.0}, "weight"),
        ({"deadline": math.nan}, "deadline"),
        ({"min_slots": 3, "max_slots": 2}, "min_slots = 3: above max_slots = 2"),
        ({"max_slots": 0}, "max_slots"),
        ({"retries": 0.5}, "retries"),
        ({"after": ["there"]}, r"after\[0\]: no job of this pool"),
    ],
)
def test_wrong_settings_change_nothing(pool, wrong, message):
    pool.job("there")
    before = list(pool.progress())
    with pytest.raises(ValueError, match=message):
        pool.job(**{"name": "wrong", **wrong})
    assert list(pool.progress()) == before


def test_expected_ends(pool):
    job = pool.job("later", seconds=2.0, max_slots=1)
    assert job.progress().end == 0.0
    made = job.map(calls.slow, range(20), [0.2] * 20)
    assert 30.0 < job.progress().end < 50.0
    results(made[:5])
    assert 0.2 < job.progress().end < 10.0
    job.cancel()


# The journal.


def run(path, numbers, folder, resume=True, threads=False, seconds=0.0):
    with mb.Executor(2, threads=threads, journal=path, resume=resume) as pool:
        made = pool.job("notes").map(
            calls.note, [str(folder)] * len(numbers), numbers, [seconds] * len(numbers)
        )
        return results(made)


def ran(folder):
    """How often each call was made."""
    return {int(path.name): path.read_text().count("\n") for path in folder.iterdir()}


@pytest.mark.parametrize("threads", [False, True])
def test_what_has_returned_is_not_called_again(tmp_path, threads):
    folder = tmp_path / "notes"
    folder.mkdir()
    path = tmp_path / "journal"

    def fails():
        with mb.Executor(2, threads=threads, journal=path, resume=True) as pool:
            made = pool.job("notes").map(calls.note, [str(folder)] * 30, range(30), [0.0] * 30)
            assert results(made) == list(range(30))
            assert pool.submit(calls.same, 5).result() == 5
            pool.submit(calls.divide, 1, 0).result()

    with pytest.raises(ZeroDivisionError):
        fails()
    assert ran(folder) == dict.fromkeys(range(30), 1)
    assert run(path, [*range(20), 77, *range(21, 40)], folder, threads=threads) == [
        *range(20), 77, *range(21, 40),
    ]  # fmt: skip
    assert ran(folder) == dict.fromkeys([*range(40), 77], 1)
    # This session did not make the call that had failed.
    with Journal(path, write=False) as journal:
        found = run_status(journal)
        assert {job.name: (job.done, job.failed, job.left) for job in found.jobs} == {
            "notes": (40, 0, 0), "calls": (1, 1, 0),
        }  # fmt: skip
        assert (found.number, found.status) == (1, "stopped")


def test_a_run_that_is_done_is_not_gone_on_with(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    for times in (1, 2):
        assert run(tmp_path / "journal", range(10), folder) == list(range(10))
        assert ran(folder) == dict.fromkeys(range(10), times)
    with Journal(tmp_path / "journal", write=False) as journal:
        assert (journal.run().id, journal.run().status) == (2, "done")


def test_results_that_do_not_pickle_are_not_kept(tmp_path):
    for _ in range(2):
        with mb.Executor(2, threads=True, journal=tmp_path / "j", resume=True) as pool:
            assert pool.submit(calls.unpicklable_result).result()
            pool.submit(calls.divide, 1, 0).exception()
    with Journal(tmp_path / "j", write=False) as journal:
        assert journal.run().id == 1
        assert journal._do("select * from result").fetchall() == []
        assert [(a.task, a.attempt, a.status) for a in journal.attempts(1)] == [
            (0, 0, 0), (1, 0, 1), (1, 1, 1),
        ]  # fmt: skip


def test_one_pool_at_a_time(tmp_path):
    with mb.Executor(1, journal=tmp_path / "j") as pool:
        pool.submit(pow, 1, 1).result()
        with pytest.raises(JournalError, match=f"process {os.getpid()}"):
            mb.Executor(1, journal=tmp_path / "j")
    with mb.Executor(1, journal=tmp_path / "j"):
        pass


def test_the_first_deadline_stands(tmp_path):
    ends = []
    for _ in range(2):
        with mb.Executor(1, threads=True, journal=tmp_path / "j", resume=True) as pool:
            pool.job("dated", deadline=100.0).submit(calls.divide, 1, 0).exception()
            ends.append(pool._run.jobs["dated"].work.deadline)
    assert ends[0] == ends[1]


def test_nothing_runs_where_the_journal_cannot_be_written(tmp_path, monkeypatch):
    with mb.Executor(2, threads=True, journal=tmp_path / "j") as pool:
        assert pool.submit(pow, 2, 2).result() == 4

        def full(*_):
            raise JournalError("disk is full")

        monkeypatch.setattr(pool._journal, "record", full)
        error = pool.submit(pow, 2, 2).exception(PATIENCE)
        assert isinstance(error, futures.BrokenExecutor)
        assert "disk is full" in str(error)
        with pytest.raises(futures.BrokenExecutor):
            pool.submit(pow, 2, 2)


def test_kept_values_are_pickled_as_they_were_returned(tmp_path):
    value = {"a": [1.5, None], "b": (b"x", "y")}
    for _ in range(2):
        with mb.Executor(1, journal=tmp_path / "j", resume=True) as pool:
            assert pool.submit(calls.same, value).result() == value
            pool.submit(calls.divide, 1, 0).exception()
    with Journal(tmp_path / "j", write=False) as journal:
        ((task, kept),) = journal._do("select task, value from result").fetchall()
        assert (task, pickle.loads(kept)) == (0, value)
        assert len(list(journal.attempts(1))) == 3
