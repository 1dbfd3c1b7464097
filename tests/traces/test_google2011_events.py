"""Google's raw task events of 2011."""

from __future__ import annotations

import io

import numpy as np
import pytest

import malleable as mb
from tests.trace_files import trace_file

AFTER = 2**63 - 1


def event(time: int, job: int, task: int, kind: int) -> str:
    return f"{time},,{job},{task},5,{kind},u{job},2,0,0.1,0.2,0.3,0\n"


# Job 7: task 0 runs from 2 s to 4.5 s; task 4 is evicted, then runs from 6 s to 7.5 s; task 2 is killed.
# Job 8 ran before the window, when nobody saw; job 9 never ran; job 3 ends after the window.
EVENTS = "".join(
    event(*row)
    for row in [
        (0, 8, 0, 1),
        (1_000_000, 7, 0, 0), (1_000_000, 7, 4, 0), (1_000_000, 7, 2, 0),
        (2_000_000, 7, 0, 1), (2_500_000, 7, 4, 1), (2_500_000, 9, 0, 0),
        (3_000_000, 7, 4, 2), (3_000_000, 7, 4, 0), (4_500_000, 7, 0, 4), (5_000_000, 8, 0, 4),
        (6_000_000, 7, 4, 1), (6_200_000, 7, 4, 8), (7_000_000, 7, 2, 5), (7_500_000, 7, 4, 4),
        (8_000_000, 3, 0, 0), (8_000_000, 3, 1, 0), (8_000_000, 3, 0, 1), (8_000_000, 3, 1, 1),
        (9_000_000, 3, 0, 4), (AFTER, 3, 1, 4),
    ]
)  # fmt: skip


def read(text: str = EVENTS, **options: bool) -> mb.Trace:
    return mb.read(io.StringIO(text), **options)


def test_runs_are_from_schedule_to_finish() -> None:
    trace = read()
    assert trace.format == "Google 2011 task events" and trace.timed
    assert trace.name == ["8", "7", "9", "3"] and trace.known.tolist() == [False, True, False, True]
    np.testing.assert_array_equal(trace.finish, [5e6, 7.5e6, np.nan, np.nan])
    jobs = trace.jobs()
    assert jobs.name == ("7", "3") and jobs.user == ("u7", "u3") and jobs.arrival.tolist() == [0, 7]
    assert jobs.work.tolist() == [2.5 + 1.5 + 2.0, 2.0] and jobs.max_slots.tolist() == [3, 2]
    tasks = trace.tasks()
    assert tasks.map_seconds.tolist() == [2.5, 2, 1.5, 1, 1] and tasks.maps.tolist() == [3, 2]
    assert trace.flows().work.tolist() == [6, 2] and trace.map_reduce().map.tolist() == [3, 2]
    then = trace.jobs(at=3.0)  # 4 s on the trace's clock; nothing is known of the killed task's run
    assert then.work.tolist() == [0.5 + 1.5 + 2.0] and then.max_slots.tolist() == [3]
    assert trace.jobs(at=6.5).name == ()


def test_the_order_of_rows_does_not_matter() -> None:
    lines = EVENTS.splitlines(keepends=True)
    parts = "".join(lines[9:] + lines[:9])
    assert read(parts).tasks() == read().tasks()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("2000000,,7,0", "x,,7,0", r"line 5: time = 'x': must be a whole number from 0 to "),
        ("2000000,,7,0", f"{2**63},,7,0", r"line 5: time = '9223372036854775808': must be"),
        ("2000000,,7,0", "2000000,,7.5,0", r"line 5: job ID = '7.5': must be a whole number"),
        ("2000000,,7,0", "2000000,,7,-1", r"line 5: task index = '-1': must be a whole number"),
        ("2000000,,7,0,5,1", "2000000,,7,0,5,9", r"line 5: event type = '9': must be a whole"),
        ("2000000,,7,0,5,1", "2000000,,7,0,5,1,1", r"line 5: 14 cells, expected 13"),
    ],
)
def test_malformed_lines(old: str, new: str, problem: str) -> None:
    text = EVENTS.replace(old, new, 1)
    assert text != EVENTS
    with pytest.raises(ValueError, match=f"1 of 21 events malformed: {problem}"):
        read(text)
    with pytest.warns(UserWarning, match=problem):
        left = read(text, skip_bad=True)
    assert left.jobs().work.tolist() == [1.5 * 3, 2.0]  # task 0 has lost its start


def test_real_part() -> None:
    """By pandas: finishes joined to the last schedule before them, by job and task; means by job."""
    trace = mb.read(trace_file("google2011", "task_events_part-00011-of-00500.csv.gz"))
    assert len(trace) == 1596 and int(trace.known.sum()) == 794
    jobs = trace.jobs()
    assert int(jobs.max_slots.sum()) == 26575
    assert jobs.work.sum() == pytest.approx(10880264.686750922)
