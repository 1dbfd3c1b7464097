"""Event logs of Spark applications."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import pytest

import malleable as mb
from tests.trace_files import trace_file


def stage(number: int, tasks: int, *parents: int, attempt: int = 0) -> dict[str, Any]:
    return {
        "Stage ID": number,
        "Stage Attempt ID": attempt,
        "Number of Tasks": tasks,
        "Parent IDs": list(parents),
    }


def line(event: str, **fields: Any) -> str:
    named = {key.replace("_", " "): value for key, value in fields.items()}
    return json.dumps({"Event": f"SparkListener{event}"} | named, separators=(",", ":"))


def start(job: int, time: int, *stages: dict[str, Any]) -> str:
    ids = [one["Stage ID"] for one in stages]
    fields = {"Job ID": job, "Submission Time": time, "Stage Infos": stages, "Stage IDs": ids}
    return line("JobStart", **fields)


def end(job: int, result: str = "JobSucceeded") -> str:
    return line("JobEnd", **{"Job ID": job, "Completion Time": 9, "Job Result": {"Result": result}})


def task(
    number: int, index: int, begin: int, stop: int, attempt: int = 0, reason: str = "Success"
) -> str:
    return line(
        "TaskEnd",
        **{
            "Stage ID": number,
            "Stage Attempt ID": attempt,
            "Task End Reason": {"Reason": reason},
            "Task Info": {"Index": index, "Launch Time": begin, "Finish Time": stop},
        },
    )


def submitted(one: dict[str, Any]) -> str:
    return line("StageSubmitted", **{"Stage Info": one})


def completed(one: dict[str, Any], **more: Any) -> str:
    return line("StageCompleted", **{"Stage Info": one | more})


A, B, C = stage(0, 2), stage(1, 3), stage(2, 1, 0, 1)
# Job 0: A and B, then C, whose first try fails. Job 1 skips A, which is its stage, too, and another: D.
# Job 2 fails, job 3 goes on.
LOG = [
    line("LogStart", Spark_Version="3.5.0"),
    line("ApplicationStart", App_Name="etl", User="ann"),
    start(0, 1000, A, B, C),
    submitted(A),
    submitted(B),
    task(0, 0, 1100, 2100),
    task(1, 0, 1100, 1600),
    task(0, 1, 1200, 2700),
    task(1, 1, 1600, 1700, reason="ExceptionFailure"),
    task(1, 2, 1700, 2000),
    task(1, 1, 1800, 2000),
    completed(A),
    completed(B),
    submitted(C),
    task(2, 0, 3000, 3500, reason="TaskKilled"),
    task(2, 0, 3500, 4500),
    completed(C),
    end(0),
    start(1, 5000, A, stage(3, 9), stage(4, 2, 0, 3)),
    submitted(stage(4, 2, 0, 3)),
    task(4, 0, 5100, 5200),
    task(4, 1, 5100, 5300),
    completed(stage(4, 2, 0, 3)),
    end(1),
    start(2, 6000, stage(5, 1)),
    task(5, 0, 6000, 6100),
    end(2, "JobFailed"),
    start(3, 7000, stage(6, 2), stage(7, 1, 6)),
    task(6, 0, 7000, 7100),
]


def read(lines: list[str] = LOG, **options: bool) -> mb.Trace:
    return mb.read(io.StringIO("\n".join(lines)), **options)


def test_jobs_are_flows_of_their_stages() -> None:
    trace = read()
    assert trace.format == "Spark event log" and trace.timed
    flows = trace.flows()
    assert flows.name == ("job0", "job1") and flows.arrival.tolist() == [0, 4]
    assert flows.job_name == ("job0/stage0", "job0/stage1", "job0/stage2", "job1/stage4")
    assert flows.work.tolist() == pytest.approx([2.5, 1.0, 1.0, 0.3])
    assert flows.max_slots.tolist() == [2, 3, 1, 2]
    assert [flows.after(k) for k in range(4)] == [[], [], [0, 1], []]
    tasks = trace.tasks()
    seconds = [1.0, 1.5, 0.5, 0.2, 0.3, 1.0, 0.1, 0.2]
    assert tasks.map_seconds.tolist() == pytest.approx(seconds)
    assert set(tasks.user) == {"ann"} and set(tasks.program) == {"etl"}
    then = trace.jobs(at=1.0)  # 2 s on the clock: A has 0.1 s and 0.7 s left, B nothing
    assert then.name == ("job0",) and then.work.tolist() == pytest.approx([1.8])
    mb.plan(flows, 4).validate()


def test_later_attempts_of_a_stage() -> None:
    """Task 1 of 3 has succeeded; the second attempt's tasks are 0 and 2. All three ran again in the third."""
    one, two, three = (stage(0, tasks, attempt=k) for k, tasks in enumerate((3, 2, 3)))
    log = [
        start(0, 0, one), submitted(one), task(0, 1, 0, 1000),
        completed(one, **{"Failure Reason": "FetchFailed"}),
        submitted(two), task(0, 0, 1000, 3000, 1), task(0, 1, 1000, 4000, 1), completed(two),
    ]  # fmt: skip
    tasks = read([*log, end(0)]).tasks()
    assert tasks.map_seconds.tolist() == [2, 1, 3]
    again = [submitted(three), *(task(0, k, 5000, 5500, 2) for k in range(3)), end(0)]
    flows = read([*log, *again]).flows()
    assert flows.work.tolist() == [6 + 1.5] and flows.max_slots.tolist() == [3]


def test_ends_that_the_log_lacks() -> None:
    one = stage(0, 2**31 - 1)
    log = [start(0, 0, one), task(0, 4, 0, 2000), task(0, 5, 0, 4000), completed(one)]
    trace = read(log)  # the end of the job is missing, but all its stages are there
    assert trace.flows().work.tolist() == [3.0 * (2**31 - 1)] and len(trace.map.task) == 4
    with pytest.raises(ValueError, match="2,147,483,647 tasks; there may be"):
        trace.tasks()
    few = [one.replace(str(2**31 - 1), "8") for one in log]
    assert read(few).tasks().map_seconds.tolist() == [3, 3, 3, 3, 2, 4, 3, 3]


def test_a_last_line_that_is_cut() -> None:
    whole = read().flows()
    assert read([*LOG, task(6, 1, 7000, 7100)[:50]]).flows() == whole
    with pytest.raises(ValueError, match="1 of 3 flows malformed: line 30: not JSON"):
        read([*LOG, task(6, 1, 7000, 7100)[:50], end(1)])
    with pytest.raises(ValueError, match="no Spark job in it that ran to its end"):
        read(LOG[:8])


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            LOG[5],
            task(0, 2, 1100, 2100),
            "line 6: Stage ID = 0, Index = 2: not a task that the log",
        ),
        (
            LOG[5],
            task(9, 0, 1100, 2100),
            "line 6: Stage ID = 9, Index = 0: not a task that the log",
        ),
        (LOG[5], task(0, 0, 2100, 1100), "line 6: .*Finish Time is 1000 ms before Launch Time"),
        (LOG[5], task(0, 0, -1, 1100), "line 6: Launch Time = -1: must be from 0"),
        (LOG[5], task(0, -1, 1, 1100), "line 6: Index = -1: must be a whole number from 0"),
        (
            LOG[5],
            LOG[5].replace('{"Reason":"Success"}', "7"),
            "line 6: Task End Reason = 7: not an obj",
        ),
        (LOG[2], LOG[2].replace("[0,1,2]", "3"), "line 3: Stage IDs = 3: expected a list"),
        (
            LOG[2],
            LOG[2].replace("1000", "null"),
            "line 3: Submission Time = None: must be from 0",
        ),
        (LOG[18], start(0, 5000), "line 19: Job ID = 0: a job that has started"),
        (LOG[17], end(8), "line 18: Job ID = 8: a job that has not started"),
        (LOG[13], submitted(stage(2, 1, 0, 1, 2)), "Job ID = 0: cycle: 'stage2' -> 'stage2'"),
    ],
)
def test_malformed_events(old: str, new: str, problem: str) -> None:
    log = [new if line is old else line for line in LOG]
    with pytest.raises(ValueError, match=problem):
        read(log)
    with pytest.warns(UserWarning, match=problem):
        assert "job1" in read(log, skip_bad=True).flow_name or new == start(0, 5000)


@pytest.mark.parametrize(
    ("name", "arrival", "work", "slots"),
    [
        ("eventlog_3nodes_12cores_variable_cores.gz", [0], [7.222], [12]),
        ("truncated_eventlog.gz", [0], [7.222], [12]),
        ("join_missing_sql_end.gz", [0], [8.125, 8.069, 24.204, 0.05], [6, 6, 200, 1]),
        (
            "eventlog_complex_dec_nested.gz",
            [0, 56.44, 64.234, 85.405, 94.263, 111.765],
            [7.598, 1.05, 0.11, 1.709, 0.014, 0.283],
            [8, 8, 1, 5, 1, 4],
        ),
    ],
)
def test_real_logs(name: str, arrival: list[float], work: list[float], slots: list[int]) -> None:
    """By a loop over the lines: Finish - Launch Time of successes, summed by stage; the jobs' submissions."""
    path = trace_file("spark-events", name)
    flows = mb.read(path).flows()
    assert flows.arrival.tolist() == arrival and flows.max_slots.tolist() == slots
    assert flows.work.tolist() == pytest.approx(work, abs=1e-9)
    if name.startswith("join"):
        assert [flows.after(k) for k in range(4)] == [[], [], [0, 1], [2]]
    pa = pytest.importorskip("pyarrow")
    packed = pa.compress(gzip.decompress(path.read_bytes()), codec="zstd", asbytes=True)
    assert mb.read(io.BytesIO(packed)).flows() == flows


def test_a_rolling_log_is_its_folder(tmp_path) -> None:
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    (folder / "appstatus_app-1").touch()
    with pytest.raises(
        ValueError, match=r"eventlog_v2_app-1: a directory without parts of a Spark"
    ):
        mb.read(folder)
    cuts = [0, 7, 16, len(LOG)]
    for number, (first, last) in enumerate(zip(cuts, cuts[1:], strict=False), start=9):
        text = "\n".join(LOG[first:last]).encode()
        name = f"events_{number}_app-1"
        if number == 10:  # parts are in order by number, not by name
            (folder / f"{name}.gz").write_bytes(gzip.compress(text))
        else:
            (folder / name).write_bytes(text)
    with pytest.raises(
        ValueError, match=r"eventlog_v2_app-1: part 1 of the Spark event log is miss"
    ):
        mb.read(folder)
    (folder / "events_9_app-1").rename(folder / "events_9_app-1.compact")
    (folder / "events_8_app-1").write_text("compacted with those before\n")
    assert mb.read(folder).flows() == read().flows()
    with pytest.raises(ValueError, match=r"more than 100 bytes"):
        mb.read(folder, max_size=100)


def test_a_folder_is_no_file(tmp_path) -> None:
    with pytest.raises(ValueError, match=r"a folder, not a file"):
        mb.read_cluster(tmp_path)
