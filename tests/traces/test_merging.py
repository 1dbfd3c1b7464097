"""Several logs as one trace."""

import gzip
import io
import json
import shutil

import numpy as np
import pytest

import malleable as mb
from malleable.traces.merging import between, merged
from tests.report.pages import sacct, swim
from tests.trace_files import trace_file

HEAD = "JobID|Partition|Submit|Start|End|AllocCPUS\n"
FIRST = HEAD + "1|p|100|150|200|2\n2|q|120|200|Unknown|1\n"
SECOND = HEAD + "2|q|120|200|900|1\n3|p|300|300|320|4\n"


def test_jobs_of_both_by_arrival(tmp_path):
    lines = sacct(40).splitlines(keepends=True)
    whole = tmp_path / "whole.txt"
    whole.write_text("".join(lines))
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "b.txt").write_text(lines[0] + "".join(lines[1:25]))
    (folder / "a.txt").write_text(lines[0] + "".join(lines[25:]))
    together, alone = mb.read(folder), mb.read(whole)
    assert together.name == alone.name and together.groups == alone.groups
    assert together.tasks() == alone.tasks()
    for field in ("arrival", "finish", "known"):
        assert np.array_equal(getattr(together, field), getattr(alone, field), equal_nan=True)
    rows = np.arange(len(alone))
    for a, b in zip(together.recorded(rows), alone.recorded(rows), strict=True):
        assert np.array_equal(a, b, equal_nan=True)


def test_a_job_of_two_logs_counts_once(tmp_path):
    (tmp_path / "april").write_text(FIRST)
    (tmp_path / "may").write_text(SECOND)
    with pytest.warns(UserWarning, match="1 job in more than one of them"):
        trace = mb.read(tmp_path)
    assert list(trace.name) == ["1", "2", "3"] and trace.finish.tolist() == [200.0, 900.0, 320.0]
    assert trace.groups["partition"] == ["p", "q", "p"]


def test_names_of_swim_may_repeat(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(swim(5, name="same"))
    assert len(mb.read(tmp_path)) == 10


def test_several_applications(tmp_path):
    logs = ("eventlog_complex_dec_nested.gz", "join_missing_sql_end.gz")
    for log in logs:
        shutil.copy(trace_file("spark-events", log), tmp_path / log)
    parts = [mb.read(tmp_path / log) for log in logs]
    trace = mb.read(tmp_path)
    assert len(trace.flow_name) == sum(len(part.flow_name) for part in parts)
    assert len(set(trace.flow_name)) == len(trace.flow_name)
    jobs = trace.tasks()
    assert jobs.map_work.sum() == pytest.approx(sum(p.tasks().map_work.sum() for p in parts))
    assert np.array_equal(np.sort(trace.arrival), trace.arrival)
    # What a stage waits for is of its own flow, and has the same work as before.
    pairs = set()
    for row in range(len(jobs)):
        for parent in jobs.after[jobs.after_offset[row] : jobs.after_offset[row + 1]]:
            assert jobs.flow[row] == jobs.flow[parent]
            pairs.add((round(jobs.map_work[row], 6), round(jobs.map_work[parent], 6)))
    apart = set()
    for part in parts:
        own = part.tasks()
        for row in range(len(own)):
            for parent in own.after[own.after_offset[row] : own.after_offset[row + 1]]:
                apart.add((round(own.map_work[row], 6), round(own.map_work[parent], 6)))
    assert pairs == apart


def test_formats_that_do_not_go_together(tmp_path):
    (tmp_path / "a").write_text(FIRST)
    (tmp_path / "b").write_text(swim(3))
    with pytest.raises(ValueError, match=r"b: a SWIM trace, but .*a is a Slurm sacct table"):
        mb.read(tmp_path)
    table = tmp_path / "t.csv"
    table.write_text("name,work\na,1\n")
    with pytest.raises(ValueError, match="put tables into one file"):
        merged([mb.read(table), mb.read(table)])


@pytest.mark.parametrize("target", ["again", ".", "..", "other/deep", "gone"])
def test_a_folder_with_a_loop_of_links(tmp_path, target):
    folder = tmp_path / "logs"
    (folder / "other").mkdir(parents=True)
    (folder / "again").symlink_to(target)
    (folder / "other" / "deep").symlink_to(folder / "again")
    with pytest.raises(
        ValueError, match=r"again: a symbolic link that leads nowhere, or around; remove it"
    ):
        mb.read(folder)


def test_what_is_no_log_in_a_folder_is_left_out_and_named(tmp_path):
    (tmp_path / "LICENSE").write_text("You may copy this.\n")
    with pytest.raises(ValueError, match="LICENSE: unknown format"):
        mb.read(tmp_path)
    (tmp_path / "week.tsv").write_text("a\t0\t0\t1e9\t4e9\t0\n")
    with pytest.warns(UserWarning, match="left out: LICENSE"):
        assert mb.read(tmp_path).format == "SWIM trace"


def test_a_folder_without_logs(tmp_path):
    with pytest.raises(ValueError, match="without parts of a Spark event log"):
        mb.read(tmp_path)


def _events(part):
    start = {"Event": "SparkListenerJobStart", "Job ID": part, "Submission Time": 1000 * part}
    info = {"Stage ID": part, "Stage Attempt ID": 0, "Number of Tasks": 1, "Parent IDs": []}
    start |= {"Stage IDs": [part], "Stage Infos": [info]}
    task = {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": part,
        "Task End Reason": {"Reason": "Success"},
    }
    task["Task Info"] = {"Index": 0, "Launch Time": 1000 * part, "Finish Time": 1000 * part + 500}
    end = {"Event": "SparkListenerJobEnd", "Job ID": part, "Job Result": {"Result": "JobSucceeded"}}
    return "".join(json.dumps(event) + "\n" for event in (start, task, end))


def test_a_part_stands_for_its_log(tmp_path):
    for number in (2, 3):
        (tmp_path / f"events_{number}_app-1").write_text(_events(number))
    with pytest.raises(ValueError, match="part 1 of the Spark event log is missing"):
        mb.read(tmp_path / "events_2_app-1")
    (tmp_path / "events_1_app-1").write_text(_events(1))
    assert len(mb.read(tmp_path)) == len(mb.read(tmp_path / "events_2_app-1")) == 3
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "events_1_app-1.gz").write_bytes(gzip.compress(_events(1).encode()))
    assert len(mb.read(alone / "events_1_app-1.gz")) == 1


def test_jobs_that_ran_when_the_window_begins_count_with_what_was_left() -> None:
    text = (
        "JobID|Submit|Start|End|AllocCPUS\n"
        "1|0|0|1000|2\n"  # runs at 600: 400 s are left
        "2|10|20|500|4\n"  # has ended
        "3|550|700|800|3\n"  # waits at 600
        "4|650|650|750|1\n"
    )
    trace = mb.read(io.StringIO(text))
    with pytest.warns(UserWarning, match="2 jobs of before --from count with what was left then"):
        window = between(trace, "600", None)
    jobs = window.tasks()
    assert jobs.name == ("1", "3", "4") and jobs.arrival.tolist() == [0, 0, 50]
    assert jobs.map_work.tolist() == [2 * 400, 3 * 100, 100]
    recorded = window.recorded(window.task_rows())
    assert recorded is not None and recorded.start.tolist() == [600, 700, 650]
