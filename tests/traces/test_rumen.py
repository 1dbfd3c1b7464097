"""Rumen traces: whole, as snapshots, and malformed."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from tests.full import in_full
from tests.trace_files import trace_file

T0 = 1_256_811_828_000
TRACES = {
    # name: (jobs, without reduces)
    "folder-input-trace.json.gz": (59, 43),
    "trace_1m.json.gz": (5, 0),
    "trace_3m.json.gz": (12, 0),
    "trace_5m.json.gz": (16, 0),
    "trace_7m.json.gz": (26, 0),
    "5m_stream_trace.json.gz": (15, 0),
    "compression_case1_trace.json.gz": (2, 0),
}
QUICK = ("trace_1m.json.gz", "trace_3m.json.gz", "compression_case1_trace.json.gz")


def attempt(start: float, *steps: float, result: str = "SUCCESS") -> dict[str, Any]:
    """An attempt with times in seconds after T0, None for unknown."""
    keys = ("finishTime",) if len(steps) == 1 else ("shuffleFinished", "sortFinished", "finishTime")
    times = zip(("startTime", *keys), (start, *steps), strict=True)
    return {key: -1 if t is None else round(T0 + 1000 * t) for key, t in times} | {"result": result}


def task(name: str, *attempts: dict[str, Any]) -> dict[str, Any]:
    return {"taskID": name, "attempts": list(attempts)}


def job(name: str, submit: float, finish: float, maps: Any, reduces: Any = ()) -> dict[str, Any]:
    return {
        "jobID": name,
        "user": "ann",
        "submitTime": round(T0 + 1000 * submit),
        "finishTime": round(T0 + 1000 * finish),
        "totalMaps": len(maps),
        "totalReduces": len(reduces),
        "mapTasks": list(maps),
        "reduceTasks": list(reduces),
    }


def two_jobs() -> list[dict[str, Any]]:
    return [
        job(
            "late",
            10,
            30,
            [task("m0", attempt(11, 15)), task("m1", attempt(12, 18))],
            [task("r0", attempt(13, 20, 22, 29))],
        ),
        job(
            "early",
            0,
            21,
            [
                task("m0", attempt(1, 5, result="FAILED"), attempt(6, 9)),
                task("m1", attempt(2, 12)),
                task("m2", attempt(12, 20)),
            ],
        ),
    ]


def text(jobs: list[Any], indent: int | None = 2) -> str:
    return "\n".join(json.dumps(record, indent=indent) for record in jobs)


def read(jobs: list[Any], skip_bad: bool = False, **options: Any) -> Any:
    return mb.read(io.StringIO(text(jobs)), skip_bad=skip_bad).jobs(**options)


def test_map_phase_sorted_by_arrival() -> None:
    jobs = read(two_jobs())
    assert jobs.name == ("early", "late")
    assert jobs.user == ("ann", "ann")
    assert jobs.arrival.tolist() == [0, 10]
    assert jobs.work.tolist() == [3 + 10 + 8, 4 + 6]
    assert jobs.max_slots.tolist() == [3, 2]


@pytest.mark.parametrize(
    ("first", "work"), [(None, 9), ("start", 16), ("shuffled", 9), ("sorted", 7)]
)
def test_reduce_phase(first: str | None, work: float) -> None:
    jobs = read(two_jobs(), phase="reduce", **({"reduce_from": first} if first else {}))
    assert jobs.name == ("early", "late")
    assert jobs.work.tolist() == [0, work]
    assert jobs.max_slots.tolist() == [1, 1]
    assert read(two_jobs(), phase="reduce", keep_zero=False).name == ("late",)


@pytest.mark.parametrize("indent", [None, 0, 4])
@pytest.mark.parametrize("between", ["", "\n", " \r\n\t\n"])
def test_objects_one_after_another(indent: int | None, between: str) -> None:
    data = between + between.join(json.dumps(r, indent=indent) for r in two_jobs()) + between
    jobs = mb.read(io.BytesIO(gzip.compress(data.encode()))).jobs()
    assert jobs.work.tolist() == [21, 10]


@pytest.mark.parametrize("padding", [10, 65_536, 65_530, 300_000])
def test_objects_larger_than_a_chunk(padding: int) -> None:
    records = two_jobs() + two_jobs() + two_jobs()
    for index, record in enumerate(records):
        record["jobID"] = f"j{index}"
        record["padding"] = ["é\\u00e9\\n", "x" * padding, -1.5e-7]
    assert read(records).name == ("j1", "j3", "j5", "j0", "j2", "j4")


def test_unknown_times_count_with_the_mean() -> None:
    maps = [
        task("known", attempt(1, 5)),
        task("known too", attempt(1, 7)),
        task("no end", attempt(2, None)),
        task("no start", attempt(None, 9)),
        task("nothing", attempt(None, None)),
        task("failed", attempt(1, 2, result="FAILED"), attempt(2, 3, result="KILLED")),
    ]
    record = job("j", 0, 20, maps)
    assert read([record]).work.tolist() == [6 * 5]
    record["totalMaps"] = 8
    jobs = read([record])
    assert jobs.work.tolist() == [8 * 5]
    assert jobs.max_slots.tolist() == [8]
    # At 6 s: 0 + 1 + (2 + 5 - 6) + (9 - 6) and four of which nothing is known.
    jobs = read([record], at=6)
    assert jobs.work.tolist() == [1 + 1 + 3 + 4 * 5]
    assert jobs.max_slots.tolist() == [7]


def test_reduce_with_unknown_shuffle_end() -> None:
    reduces = [task("r0", attempt(1, 4, 5, 9)), task("r1", attempt(1, None, 5, 7))]
    record = job("j", 0, 20, [], reduces)
    assert read([record], phase="reduce").work.tolist() == [5 + 5]
    assert read([record], phase="reduce", reduce_from="sorted").work.tolist() == [4 + 2]


def test_attempts_that_both_succeeded_both_count() -> None:
    maps = [task("m", attempt(0, 3, result="SUCCEEDED"), attempt(5, 9))]
    jobs = read([job("j", 0, 9, maps)])
    assert (jobs.work[0], jobs.max_slots[0]) == (7, 1)


def test_snapshots() -> None:
    jobs = read(two_jobs(), at=0)
    assert (jobs.name, jobs.work.tolist()) == (("early",), [21])
    jobs = read(two_jobs(), at=10)
    assert jobs.name == ("early", "late")
    assert jobs.arrival.tolist() == [0, 10]
    assert jobs.work.tolist() == [2 + 8, 10]
    assert jobs.size.tolist() == [21, 10]
    assert jobs.max_slots.tolist() == [2, 2]
    jobs = read(two_jobs(), at=16)
    assert (jobs.work.tolist(), jobs.max_slots.tolist()) == ([4, 2], [1, 1])
    assert read(two_jobs(), at=19).name == ("early",)
    assert read(two_jobs(), at=19, phase="reduce").work.tolist() == [9]
    assert len(read(two_jobs(), at=30, phase="reduce")) == 0
    assert len(read(two_jobs(), at=-1)) == 0


def test_finished_jobs_are_not_in_a_snapshot() -> None:
    # A clean-up that ends after the job, or a task of unknown times, does not keep it alive.
    record = job("j", 0, 5, [task("m0", attempt(1, 9)), task("m1", attempt(None, None))])
    assert len(read([record], at=4)) == 1
    assert len(read([record], at=5)) == 0
    record["finishTime"] = -1
    assert read([record], at=5).work.tolist() == [4 + 8]


def test_folded_traces_repeat_job_ids() -> None:
    jobs = read(two_jobs() + two_jobs())
    assert jobs.name == ("early", "early#2", "late", "late#2")


def test_negative_durations() -> None:
    records = two_jobs()
    records[0]["reduceTasks"][0]["attempts"][0]["finishTime"] -= 8000
    for phase in ("map", "reduce"):
        with pytest.raises(
            ValueError,
            match="job late, task r0: negative duration: finishTime is 1000 ms before sortFinished",
        ):
            read(records, phase=phase)
        assert read(records, phase=phase, skip_bad=True).name == ("early",)
    # A failed attempt may say what it likes.
    records[0]["reduceTasks"][0]["attempts"][0]["result"] = "FAILED"
    assert read(records).name == ("early", "late")


def change(*path: Any, to: Any) -> Any:
    def apply(record: dict[str, Any]) -> None:
        place: Any = record
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return apply


MALFORMED = {
    "submit": (change("submitTime", to=-1), "job late: submitTime is unknown"),
    "submit text": (change("submitTime", to="x"), "job late: submitTime = 'x': must be from 0"),
    "submit bool": (change("submitTime", to=True), "job late: submitTime = True: must be from 0"),
    "before 1970": (change("finishTime", to=-2), "job late: finishTime = -2: must be from 0"),
    "huge": (change("submitTime", to=10**400), "job late: submitTime = inf: must be from 0"),
    "map tasks": (change("mapTasks", to={}), "job late: mapTasks = {}: expected a list of objects"),
    "attempts": (
        change("mapTasks", 0, "attempts", to=[3]),
        "job late, task m0: attempts = .*: expected a list of objects",
    ),
    "map goes back": (
        change("mapTasks", 1, "attempts", 0, "finishTime", to=T0),
        "job late, task m1: negative duration: finishTime is 12000 ms before startTime",
    ),
    "shuffle goes back": (
        change("reduceTasks", 0, "attempts", 0, "shuffleFinished", to=T0),
        "job late, task r0: negative duration: shuffleFinished is 13000 ms before startTime",
    ),
    "nothing known": (
        change("mapTasks", to=[{"attempts": []}]),
        "job late: no map task with a known time",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_job_is_named_or_skipped(case: str, tmp_path: Path) -> None:
    apply, problem = MALFORMED[case]
    records = two_jobs()
    apply(records[0])
    path = tmp_path / "trace.json"
    path.write_text(text(records))
    with pytest.raises(ValueError, match=problem) as caught:
        mb.read(path).jobs()
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    with pytest.warns(UserWarning, match=f"1 of 2 jobs malformed: {problem}"):
        assert mb.read(path, skip_bad=True).jobs().name == ("early",)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("[1]", "unknown format"),
        ('{"slots": 3}', "line 1: an object without jobID"),
        (text(two_jobs()) + "\n[1]", "line 91: an object without jobID"),
        ("{nonsense", "line 1: broken or truncated JSON"),
        (text(two_jobs())[:-1], "line 90: broken or truncated JSON"),
        (text(two_jobs()) + "\n\n{]" + " " * 99, "line 92: broken or truncated JSON"),
        (text(two_jobs()) + '\n{"jobID": "open', "line 91: broken or truncated JSON .Unterm"),
        ('{"jobID": NaN}', "line 1: NaN is not JSON"),
        ('{"jobID": ' + "[" * 200_000, "line 1: (JSON nested too deeply|broken or truncated)"),
        ('{"jobID": 1' + "0" * 5000 + "}", "job inf: submitTime is unknown"),
    ],
)
def test_broken_files(data: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(data)
    with pytest.raises(ValueError, match=problem) as caught:
        mb.read(path).jobs()
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_what_lies_before_damage_can_be_kept(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text(two_jobs())[:-1])
    told = "1 of 2 jobs malformed: after 1 job: line 90: broken or truncated JSON"
    with pytest.warns(UserWarning, match=told):
        trace = mb.read(path, skip_bad=True)
    for table in (trace.jobs(), trace.map_reduce(), trace.tasks()):
        assert tuple(table.name) == ("late",)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"phase": "shuffle"}, "phase = 'shuffle': expected one of map, reduce"),
        ({"reduce_from": "end"}, "reduce_from = 'end': expected one of start, shuffled, sorted"),
        ({"skip_bad": "ignore"}, "skip_bad = 'ignore': must be True or False"),
        ({"at": float("nan")}, "at = nan: must be finite"),
    ],
)
def test_parameters_out_of_range(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read(two_jobs(), **options)


spans = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=5)


@given(st.lists(st.tuples(st.integers(0, 9), spans), min_size=1, max_size=4), st.integers(-1, 60))
def test_snapshot_agrees_with_counting_seconds(rows: list[Any], at: int) -> None:
    origin = min(submit for submit, _ in rows)
    records, expected = [], {}
    for index, (submit, tasks) in enumerate(rows):
        times = [(submit + wait, submit + wait + length) for wait, length in tasks]
        finish = max(end for _, end in times)
        maps = [task(f"m{k}", attempt(*pair)) for k, pair in enumerate(times)]
        records.append(job(f"j{index}", submit, finish, maps))
        left = [len([s for s in range(a, b) if s >= origin + at]) for a, b in times]
        if submit <= origin + at and sum(left):
            expected[f"j{index}"] = (sum(left), sum(map(bool, left)))
    jobs = read(records, at=at)
    found = zip(jobs.work.tolist(), jobs.max_slots.tolist(), strict=True)
    assert dict(zip(jobs.name, found, strict=True)) == expected


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=in_full) for name in TRACES]
)
def test_hadoop_traces(name: str) -> None:
    path = trace_file("hadoop-rumen", name)
    maps, reduces = mb.read(path).jobs(), mb.read(path).jobs(phase="reduce")
    count, map_only = TRACES[name]
    assert len(maps) == len(reduces) == count
    assert maps.name == reduces.name
    assert (reduces.work == 0).sum() == map_only
    assert (maps.work > 0).all()
    assert maps.arrival[0] == 0
    assert (np.diff(maps.arrival) >= 0).all()
    whole = mb.read(path).jobs(phase="reduce", reduce_from="start").work
    step = mb.read(path).jobs(phase="reduce", reduce_from="sorted").work
    assert (whole >= reduces.work).all()
    assert (reduces.work >= step).all()
    last: dict[str, float] = dict(zip(maps.name, maps.work.tolist(), strict=True))
    for at in np.linspace(0, 2 * maps.arrival[-1], 9).tolist():
        jobs = mb.read(path).jobs(at=at)
        assert (jobs.arrival <= at).all()
        for row, work in zip(jobs.name, jobs.work.tolist(), strict=True):
            assert work <= last[row] * (1 + 1e-12)
            last[row] = work


def test_gold_folded_trace_is_malformed() -> None:
    path = trace_file("hadoop-rumen", "goldFoldedTrace.json.gz")
    with pytest.raises(ValueError, match=r"job job_\w+, task task_\w+: negative duration"):
        mb.read(path).jobs()
    maps, reduces = (mb.read(path, skip_bad=True).jobs(phase=p) for p in ("map", "reduce"))
    assert maps.name == reduces.name
    assert len(maps) == 73
