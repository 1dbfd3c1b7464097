"""Words and numbers of live runs for people."""

import math
from types import SimpleNamespace

import pytest

from malleable.view.live import bar, end_text, task_text, ways_text


@pytest.mark.parametrize(
    ("end", "early", "late", "text"),
    [
        (math.nan, 0.0, 0.0, "?"),
        (12.0, 12.0, 12.0, "12"),
        (0.034, math.nan, math.nan, "0.034"),
        (100.0, 90.0, 110.0, "100 (90 to 110)"),
        (5.0, 4.99999, 5.00001, "5"),
    ],
)
def test_ends_have_as_many_digits_as_are_known(end, early, late, text):
    assert end_text(end, early, late) == text


def test_times_of_tasks():
    assert [task_text(0.0, 0.0), task_text(12.34, 0.0), task_text(12.34, 1.6)] == [
        "?", "12", "12.3 ± 1.6",
    ]  # fmt: skip


def test_ways_are_counted_over_jobs():
    jobs = [
        SimpleNamespace(failed=3, ways={"lost": 1}),
        SimpleNamespace(failed=1, ways={"timed out": 1}),
    ]
    assert ways_text(jobs) == "2 failed, 1 timed out, 1 lost"
    assert ways_text([]) == ""


def test_a_bar_is_as_wide_as_asked():
    assert bar(0.5, 4, plain=True) == "##.." and len(bar(0.3, 10, plain=False)) == 10
