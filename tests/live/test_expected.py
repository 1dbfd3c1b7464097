"""Expected ends, and how far a run is by its journal."""

import math

import pytest

from malleable.live.expected import Left, expected_ends
from malleable.live.journal import Attempt, Decided, Journal
from malleable.live.status import run_status


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
    assert found == pytest.approx(expected, nan_ok=True)


def test_ends_are_from_now_on():
    assert expected_ends([Left(4, 2.0)], 4, "sum:response", "adaptive", 100.0) == [102.0]


def test_status(tmp_path):
    rows = [
        {"name": "a", "command": "x", "over": {"range": 6}, "retries": 1, "deadline": 10},
        {"name": "b", "command": "x", "after": ["a"], "user": "u"},
        {"name": "c", "command": "x", "over": {"range": 2}},
    ]
    with Journal(tmp_path / "j") as journal:
        run = journal.begin(1, "sum:response", "flex", str(tmp_path), rows)
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
        assert (a.slots, a.why, a.end, a.at_risk) == (1, "its share", 29.0, True)
        assert (b.user, b.done, b.failed, b.left) == ("u", 0, 0, 1)
        assert (c.failed, c.left) == (1, 1)
        assert math.isnan(c.end)
        journal.record(run, 10.0, [Attempt(0, 1, 2, 2, 1.0, 4.0)])
        assert [job.failed for job in run_status(journal).jobs] == [1, 1, 1]
        journal.record(run, 11.0, status="done")
        assert [job.left for job in run_status(journal).jobs] == [0, 0, 0]
