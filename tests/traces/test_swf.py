"""Logs in the Standard Workload Format."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest

import malleable as mb
from tests.trace_files import trace_file

# Number, submit, wait, run, processors, then CPU time, memory, requested processors, time, memory, status,
# user, group, executable, and four that are not used. Job 4 comes before job 3 and was cancelled while it
# waited; of job 5 there are also two parts.
LOG = """; Version: 2.2
; MaxProcs: 8
;
    1  0  5 10  4 -1 -1  4 20 -1  1  7  1  3 -1 -1 -1 -1
    2  3 20  2 -1 9.5 -1  2 20 -1  0  8  1 -1 -1 -1 -1 -1
    4  3 -1 -1 -1 -1 -1  4 20 -1  5  7  1  3 -1 -1 -1 -1
    3  2  0  0  1 -1 -1  1 20 -1  1 -1  1  3 -1 -1 -1 -1

    5  9 11 40  3 -1 -1  3 20 -1  1  7  1  3 -1 -1 -1 -1
    5  9 11 10  3 -1 -1  3 20 -1  2  7  1  3 -1 -1 -1 -1
    5  9 10 30  3 -1 -1  3 20 -1  3  7  1  3 -1 -1 -1 -1
"""


def read(text: str = LOG, **options: bool) -> mb.Trace:
    return mb.read(io.StringIO(text), **options)


def test_processors_are_tasks_that_run_together() -> None:
    trace = read()
    assert trace.format == "SWF log" and trace.timed and len(trace) == 5
    assert trace.name == ["1", "3", "2", "4", "5"]
    np.testing.assert_array_equal(trace.finish, [15, 2, 25, np.nan, 60])
    jobs = trace.jobs()
    assert jobs.name == ("1", "3", "2", "5") and jobs.user == ("7", "", "8", "7")
    assert jobs.arrival.tolist() == [0, 2, 3, 9]
    assert jobs.work.tolist() == [40, 0, 4, 120] and jobs.max_slots.tolist() == [4, 1, 2, 3]
    assert trace.flows().work.tolist() == [40, 0, 4, 120]
    tasks = trace.tasks()
    assert tasks.maps.tolist() == [4, 1, 2, 3] and tasks.map_work.tolist() == [40, 0, 4, 120]
    assert tasks.program == ("3", "3", "", "3")
    slotted = trace.map_reduce()  # a slot of 164 / 10 s
    assert slotted.map.tolist() == [4, 1, 2, 3] and slotted.arrival.tolist() == [1, 1, 1, 1]
    assert trace.map_reduce(slot=3).arrival.tolist() == [1, 1, 2, 4]


def test_a_snapshot_takes_off_what_had_run() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        then = read().jobs(at=12.0)  # job 1 runs from 5 to 15, the others have not begun
    assert then.name == ("1", "2", "5")
    assert then.work.tolist() == [12, 4, 120] and then.size.tolist() == [40, 4, 120]
    assert then.max_slots.tolist() == [4, 2, 3]


def test_without_wait_times_nobody_knows_when_work_was_done() -> None:
    trace = read("1 0 -1 10 4 -1 -1 4 -1 -1 1 7 1 3 -1 -1 -1 -1\n")
    assert trace.format == "SWF log" and not trace.timed
    with pytest.warns(UserWarning, match="a SWF log does not say when work was done"):
        assert trace.jobs(at=5).work.tolist() == [40]
    assert trace.tasks().map_work.tolist() == [40] and trace.map_reduce().map.tolist() == [4]
    # Where others have one, a job of unknown wait starts at once.
    line = "2 4 -1 6 2 -1 -1 4 -1 -1 1 7 1 3 -1 -1 -1 -1\n"
    assert read(LOG + line.replace("2", "9", 1)).jobs(at=7).work.tolist() == [32, 4, 6]


def test_processors_take_no_memory() -> None:
    trace = read("1 0 1 10 2147483647 -1 -1 4 -1 -1 1 7 1 3 -1 -1 -1 -1\n")
    assert trace.jobs().work.tolist() == [21474836470.0]
    assert len(trace.map.start) == 1
    assert trace.tasks().maps.tolist() == [2147483647]
    with pytest.raises(ValueError, match="2,147,483,647 tasks; there may be 16,777,216"):
        trace.map.single()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("2  3 20", "2  3 x", r"line 5: field 3 = 'x': not a number"),
        ("2  3 20", "2  3 -2", r"line 5: wait time = '-2': must be from 0 to \d+, or -1"),
        ("2  3 20", "2  -1 20", r"line 5: submit time = '-1': must be from 0 to \d+$"),
        ("20  2 -1", "20  nan -1", "line 5: run time = 'nan'"),
        ("10  4 -1", "10  2.5 -1", "line 4: allocated processors = '2.5': must be a whole number"),
        (
            "10  4 -1",
            "10  3e9 -1",
            "line 4: allocated processors = '3e9': must be from 0 to 2147483648",
        ),
        ("    2  3", "    1  3", "line 5: job number = 1: the number is taken"),
        ("    2  3", "-    2  3", "line 5: field 1 = .-.: not a number"),
        ("1  7  1  3", "1  7.5  1  3", "line 4: user = '7.5': must be a whole number"),
    ],
)
def test_malformed_lines(old: str, new: str, problem: str) -> None:
    text = LOG.replace(old, new, 1)
    assert text != LOG
    with pytest.raises(ValueError, match="1 of 5 jobs malformed|1 of 6 jobs malformed") as caught:
        read(text)
    assert str(caught.value).startswith("<input>: ")
    with pytest.raises(ValueError, match=problem.rstrip("$")):
        read(text)
    with pytest.warns(UserWarning, match="malformed"):
        assert len(read(text, skip_bad=True)) in (4, 5)


def test_comments_alone_are_no_jobs() -> None:
    assert read("; no line yet\n" + LOG).format == "SWF log"
    with pytest.raises(ValueError, match="empty, no jobs in it"):
        read("; nothing but a comment\n")


def test_real_log() -> None:
    """By awk: lines without ``;``; sums of fields 4 x 5; largest field 5."""
    trace = mb.read(trace_file("swf", "NASA-iPSC-1993-3.1-cln.swf.gz"))
    jobs = trace.jobs()
    assert len(jobs) == 18239 and jobs.work.sum() == 474238015
    assert jobs.max_slots.max() == 128 and jobs.arrival[-1] == 7948936
    assert len(set(jobs.user)) == 69
    assert not trace.timed  # the log has no wait times
    assert trace.tasks().map_work.sum() == 474238015


def test_the_head_says_how_large_the_machine_is_and_users_how_long_jobs_run() -> None:
    line = "1 0 5 60 8 -1 -1 8 {} -1 1 -1 -1 -1 -1 -1 -1 -1\n"
    trace = mb.read(io.StringIO("; MaxNodes: 4\n;  MaxProcs: 64\n" + line.format(90)))
    assert trace.slots == 64
    jobs = trace.tasks()
    assert jobs.width.tolist() == [8] and jobs.requested.tolist() == [90.0] and jobs.rigid.all()
    trace = mb.read(io.StringIO("; MaxNodes: 4\n" + line.format(-1)))
    assert trace.slots == 4 and trace.tasks().requested.tolist() == [0.0]


def test_what_follows_the_columns_is_left_out() -> None:
    line = "; Version: 2.2\n1 0 5 10 4 -1 -1 4 20 -1 1 7 1 1 1 1 -1 -1"
    plain = mb.read(io.StringIO(f"{line}\n"))
    more = mb.read(io.StringIO(f"{line} 3.5 a_b\n"))
    assert plain.format == more.format == "SWF log" and plain.tasks() == more.tasks()
