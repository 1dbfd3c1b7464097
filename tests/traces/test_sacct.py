"""Tables that Slurm's sacct prints."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest

import malleable as mb

# 10: an array; one element ran from 10 s to 70 s on 2 CPUs, one runs since 60 s, five wait. 11 failed after a
# day and an hour. 12 was cancelled while it waited. 13 has two components and was suspended for 40 s.
TABLE = """JobID|JobName|User|State|Submit|Start|End|Elapsed|AllocCPUS|ReqCPUS
10_1|sweep|ann|COMPLETED|2024-05-01T09:00:00|2024-05-01T09:00:10|2024-05-01T09:01:10|00:01:00|2|2
10_1.batch|batch||COMPLETED|2024-05-01T09:00:10|2024-05-01T09:00:10|2024-05-01T09:01:10|00:01:00|2|2
10_2|sweep|ann|RUNNING|2024-05-01T09:00:00|2024-05-01T09:01:00|Unknown|00:00:30|2|2
10_[3-5,8-10:2%2]|sweep|ann|PENDING|2024-05-01T09:00:00|Unknown|Unknown|00:00:00|0|2
11|big|bob|FAILED|2024-05-01T09:00:30|2024-05-01T09:00:30|2024-05-02T10:00:30|1-01:00:00|4|4
12|no|bob|CANCELLED by 7|2024-05-01T09:00:06|None|2024-05-01T09:00:30|00:00:00|0|4
13+0|mpi|eve|COMPLETED|2024-05-01T09:00:05|2024-05-01T09:00:20|2024-05-01T09:02:00|00:01:00|1|1
13+1|mpi|eve|COMPLETED|2024-05-01T09:00:05|2024-05-01T09:00:20|2024-05-01T09:02:00|00:01:00|3|3
13+1.0|mpi||COMPLETED|2024-05-01T09:00:05|2024-05-01T09:00:20|2024-05-01T09:02:00|00:01:00|3|3
"""
NINE = 1714554000.0  # date -u -d 2024-05-01T09:00:00 +%s


def read(text: str = TABLE, **options: bool) -> mb.Trace:
    return mb.read(io.StringIO(text), **options)


def test_arrays_are_jobs() -> None:
    trace = read()
    assert trace.format == "Slurm sacct table" and trace.timed
    assert trace.name == ["10", "13", "12", "11"]
    assert (trace.arrival - NINE).tolist() == [0, 5, 6, 30]
    assert [math.isnan(end) for end in trace.finish.tolist()] == [True, False, True, False]
    assert trace.finish[1] == NINE + 120
    jobs = trace.jobs()
    assert jobs.name == ("10", "13", "11") and jobs.user == ("ann", "eve", "bob")
    assert jobs.arrival.tolist() == [0, 5, 30]
    # Elements of unknown length take 60 s: 7 elements on 2 CPUs.
    assert jobs.work.tolist() == [7 * 2 * 60, 4 * 60, 4 * 90000]
    assert jobs.max_slots.tolist() == [14, 4, 4]
    assert trace.flows().work.tolist() == jobs.work.tolist()
    assert trace.map_reduce(slot=60).map.tolist() == [14, 4, 4]
    tasks = trace.tasks()
    assert tasks.maps.tolist() == [14, 4, 4] and tasks.program == ("sweep", "mpi", "big")
    assert tasks.map_seconds.tolist() == [60] * 18 + [90000] * 4


def test_a_snapshot() -> None:
    then = read().jobs(at=40.0)
    assert then.name == ("10", "13", "11")
    # 10_1 has 30 s left; 10_2 and what waits all of theirs. 13 counts until 80 s, so 40 s are left.
    assert then.work.tolist() == [2 * 30 + 6 * 2 * 60, 4 * 40, 4 * 89990]
    assert read().jobs(at=90.0).work.tolist() == [2 * 30 + 5 * 2 * 60, 4 * 89940]
    assert read().jobs(at=90.0).max_slots.tolist() == [12, 4]


def test_columns_that_are_not_there() -> None:
    seconds = "JobID|Submit|Start|ElapsedRaw|\n7|100|150|25|\n8|110|160|Unknown|\n"  # --parsable
    trace = read(seconds)
    assert trace.jobs().work.tolist() == [25] and trace.jobs().max_slots.tolist() == [1]
    np.testing.assert_array_equal(trace.finish, [175, np.nan])
    ends = "JobID|Submit|Start|End|NCPUS\n7|2024-05-01|2024-05-01T01:00:00Z|2024-05-01T02:00:30|3\n"
    assert read(ends).jobs().work.tolist() == [3 * 3630]


def test_the_last_of_several_lines_counts() -> None:
    line = "10_1|sweep|ann|NODE_FAIL|2024-05-01T08:00:00|2024-05-01T08:00:10|2024-05-01T08:30:10||8|2\n"
    header, rest = TABLE.split("\n", 1)
    assert read(f"{header}\n{line}{rest}").jobs() == read().jobs()


def test_elements_take_no_memory() -> None:
    many = TABLE.replace("10_[3-5,8-10:2%2]", "10_[2-100000000,...]")
    assert read(many).jobs().work[0] == 2 * 60 * (99999999 + 2)
    with pytest.raises(ValueError, match="tasks; there may be 16,777,216"):
        read(many).tasks()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "|COMPLETED|2024-05-01T09:00:00",
            "|COMPLETED|09:00",
            "line 2: Submit = '09:00': not a number",
        ),
        ("|COMPLETED|2024-05-01T09:00:00", "|COMPLETED|Unknown", "line 2: Submit is unknown"),
        ("00:01:00|2", "00:61|2", None),
        ("00:01:00|2", "a minute|2", "line 2: Elapsed = 'a minute': not a time such as 1-02:03:04"),
        ("00:01:00|2", "00:01:00|two", "line 2: AllocCPUS = 'two': must be a whole number"),
        ("10_1|sw", "10_x|sw", "line 2: JobID = '10_x': not the ID of a job"),
        ("10_1|sweep", "10_1|sweep|x", None),
        ("[3-5", "[5-3", r"line 5: elements '5-3,8-10:2%2': not a list such as"),
        ("[3-5", "[3-999999999,1-999999999", "line 5: .* elements of 2 slots: there may be"),
        ("09:01:10|00:01:00", "09:00:00|", "line 2: End = '2024-05-01T09:00:00': before Start"),
    ],
)
def test_malformed_lines(old: str, new: str, problem: str | None) -> None:
    text = TABLE.replace(old, new, 1)
    assert text != TABLE
    if problem is None:
        assert len(read(text).jobs()) == 3  # 61 seconds
        return
    with pytest.raises(ValueError, match=problem):
        read(text)
    with pytest.warns(UserWarning, match="1 of 5 jobs malformed"):
        read(text, skip_bad=True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("JobID|State|Start|End\n1|COMPLETED|1|2\n", "column 'Submit' is missing"),
        ("JobID|Submit|Start\n1|1|2\n", "column 'End' is missing, and so is 'Elapsed'"),
        ("JobID|Submit|Start|End|End\n1|1|2|3|3\n", "column 'End' occurs twice"),
        ("JobID|Submit|Start|End\n", "empty, no jobs in it"),
    ],
)
def test_headers(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^<input>: {problem}$"):
        read(text)


CLUSTERS = """JobID|Cluster|State|Submit|Start|End|AllocCPUS|Timelimit|JobName
7|alpha|COMPLETED|0|0|3600|8|02:00:00|a
7|beta|COMPLETED|0|0|7200|4|UNLIMITED|b|c
8_1|beta|COMPLETED|0|10|70|2|00:05:00|sweep
8_2|beta|RUNNING|0|20|Unknown|2|00:05:00|sweep
9|beta|RUNNING|0|30|Unknown|64|1-00:00:00|d
10|beta|PENDING|0|Unknown|Unknown|16|00:10:00|e
"""


def test_clusters_number_their_jobs_apart() -> None:
    trace = read(CLUSTERS)
    assert sorted(trace.name or ()) == ["alpha/7", "beta/10", "beta/7", "beta/8", "beta/9"]
    jobs = trace.tasks()
    assert jobs.map_work.sum() == 8 * 3600 + 4 * 7200 + 4 * 60
    # 8 is an array of two elements on two CPUs each, of which one runs yet.
    assert jobs.maps.tolist() == [8, 4, 4] and jobs.width.tolist() == [8, 4, 2]
    assert jobs.requested.tolist() == [7200, 0, 300] and jobs.program == ("a", "b|c", "sweep")
    assert jobs.rigid.tolist() == [True, True, False]
    recorded = trace.recorded(trace.task_rows())
    assert recorded is not None and recorded.most == 8 + 4 + 2 + 2 + 64


def test_jobs_left_out_are_counted_by_reason() -> None:
    head, *rows = CLUSTERS.splitlines()
    text = "\n".join([head, *rows[-2:]]) + "\n"
    with pytest.raises(ValueError, match="no job has ended: 1 running, 1 pending"):
        read(text).tasks()


def test_commas_may_stand_between_cells() -> None:
    text = (
        "JobID,JobName,Submit,Start,End,AllocCPUS\n5_[1,3-4],x,0,Unknown,Unknown,1\n5_2,x,0,5,9,1\n"
    )
    jobs = read(text).tasks()
    assert jobs.maps.tolist() == [4] and jobs.map_seconds.tolist() == [4.0] * 4
