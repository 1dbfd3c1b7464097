"""Expected ends, and how far a run is by its journal."""

import math

import pytest

from malleable.live.expected import Left, expected_ends, task_seconds
from malleable.live.journal import Attempt, Decided, Flying, Journal
from malleable.live.status import run_status
from malleable.view.live import task_text
from tests.live.outputs import rows_of


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        ([Left(10, 3.0, max_slots=2)], [15.0]),
        ([Left(1, 7.0)], [7.0]),
        ([Left(4, 2.0), Left(8, 2.0)], [2.0, 6.0]),
        ([Left(4, 2.0), Left(1, 5.0, after=[0]), Left(0, 1.0, after=[1])], [2.0, 7.0, 0.0]),
        ([Left(4, 0.0), Left(4, 2.0), Left(1, 1.0, after=[0])], [math.nan, 2.0, math.nan]),
        ([], []),
    ],
)
def test_ends(jobs, expected):
    found = expected_ends(jobs, 4, "sum:response", "flex")
    assert [end.at for end in found] == pytest.approx(expected, nan_ok=True)
    for at, early, late in found:
        assert math.isnan(at) or early <= at <= late


def test_ends_are_from_now_on():
    (end,) = expected_ends([Left(4, 2.0)], 4, "sum:response", "adaptive", 100.0)
    assert end.at == 102.0


def test_what_runs_has_less_left():
    def end(*jobs, slots=2):
        return [each.at for each in expected_ends(jobs, slots, "sum:response", "flex", draws=0)]

    alike = {"seen": 10**9, "deviation": 1e-6}
    # Two run: the job ends with the one that began last.
    assert end(Left(2, 4.0, running=2, elapsed=2.0, least=1.0, **alike)) == pytest.approx([3.0])
    # Two slots are free in 2 s in the mean; four tasks of 4 s on two slots end 8 s later, half a task apart.
    left = Left(6, 4.0, running=2, elapsed=2.0, least=2.0, **alike)
    assert end(left) == pytest.approx([2.0 + 8.0 + 2.0])
    # Tasks that differ: what runs for long has more left than what has just begun.
    mean = {"seen": 10**9, "deviation": 4.0}
    young, old = (end(Left(3, 4.0, running=2, elapsed=e, least=e, **mean))[0] for e in (0.1, 20.0))
    assert old > young
    # Of twenty tasks that differ the longest ends later than of twenty that do not.
    apart, even = (
        expected_ends([Left(20, 4.0, seen=10**9, deviation=d)], 20, "sum:response", "flex")[0].at
        for d in (4.0, 1e-6)
    )
    assert even == pytest.approx(4.0, rel=1e-3)
    assert apart > 2 * even


def test_short_tasks_end_first():
    """Ten of 1 s have ended; ten that run since 5 s take longer than those in the mean."""
    jobs = [
        Left(20, 1.0, seen=10, deviation=0.5, running=10, elapsed=e, least=e) for e in (0.01, 5.0)
    ]
    young, old = (expected_ends([job], 20, "sum:response", "flex")[0].at for job in jobs)
    assert old > young + 4.0


def spread(jobs, slots=1, draws=2000):
    return [
        (end.early, end.late)
        for end in expected_ends(jobs, slots, "sum:response", "flex", draws=draws)
    ]


def test_the_spread_is_that_of_sums():
    # 100 tasks of a well-known mean: the sum's deviation is 10 x 0.5 s, 80 of 100 times within 1.28 of it.
    ((early, late),) = spread([Left(100, 1.0, seen=10**6, deviation=0.5)])
    assert late - early == pytest.approx(2 * 1.2816 * 5.0, rel=0.1)
    assert 0.5 * (early + late) == pytest.approx(100.0, abs=1.0)
    # The mean of 25 tasks is uncertain by a fifth of their deviation.
    ((early, late),) = spread([Left(10**6, 1e-4, seen=25, deviation=0.5e-4)])
    assert late - early == pytest.approx(2 * 1.2816 * 10.0, rel=0.1)
    # The second job's end is as uncertain as both.
    first, second = spread([Left(100, 1.0, seen=10**6, deviation=0.5),
                            Left(400, 1.0, seen=10**6, deviation=0.5)])  # fmt: skip
    assert second[1] - second[0] == pytest.approx(2 * 1.2816 * math.sqrt(500) * 0.5, rel=0.1)
    assert first[1] < second[0]


def test_the_spread_needs_draws_and_is_the_same_each_time():
    jobs = [Left(100, 1.0, seen=9, deviation=0.5), Left(3, 0.0)]
    (end, unknown) = expected_ends(jobs, 2, "sum:response", "flex", draws=0)
    assert end == (50.0, 50.0, 50.0)
    assert all(map(math.isnan, unknown))
    assert spread(jobs[:1], draws=16) == spread(jobs[:1], draws=16)
    wide, narrow = (spread([Left(100, 1.0, seen=n, deviation=0.5)])[0] for n in (1, 100))
    assert wide[1] - wide[0] > 2 * (narrow[1] - narrow[0])


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
        status = run_status(journal)
        a, b, c = status.jobs
        assert (a.done, a.failed, a.left, a.seconds) == (1, 0, 5, 4.0)
        assert (a.slots, a.why, a.risk) == (1, "its share", "late")
        assert a.end == pytest.approx(33.0, rel=0.05)
        assert a.early < 33.0 < a.late
        assert (b.user, b.done, b.failed, b.left) == ("u", 0, 0, 1)
        assert (c.failed, c.left) == (1, 1)
        assert (c.seconds, c.end) == (4.0, pytest.approx(13.0, rel=0.05))  # as others' tasks take
        assert c.late - c.early > 0.5 * 4.0
        assert status.end.at == max(a.end, b.end, c.end)
        journal.fly(run, 9.5, [Flying(0, 1, 8.5, 8.5)])
        a = run_status(journal).jobs[0]
        assert (a.running, a.end) == (1, pytest.approx(9.5 + 4.0 + 3.0 + 4 * 4.0 + 2.0, rel=0.05))
        journal.record(run, 10.0, [Attempt(0, 1, 2, 2, 1.0, 4.0)])
        assert [job.failed for job in run_status(journal).jobs] == [1, 1, 1]
        journal.record(run, 11.0, status="done")
        assert [job.left for job in run_status(journal).jobs] == [0, 0, 0]


def test_how_long_a_task_takes_and_how_sure_that_is():
    assert task_seconds(Left(5, 0.0)) == (0.0, 0.0)
    assert task_seconds(Left(5, 8.0)) == pytest.approx((8.0, 4.0))  # somebody said so
    few, many = (task_seconds(Left(5, 8.0, seen=n, deviation=2.0))[1] for n in (4, 400))
    assert few > many == pytest.approx(0.1, rel=0.01)
    running = Left(5, 8.0, seen=4, deviation=2.0, running=4, elapsed=30.0, least=30.0)
    assert task_seconds(running)[0] > 16.0  # those that run have taken longer


def test_seconds_of_tasks_as_text():
    assert task_text(0.0, 0.0) == "?"
    assert task_text(123.456, 4.56) == "123.5 ± 4.6"
    assert task_text(12.3456, 0.1234) == "12.35 ± 0.12"
