"""Files that are not quite right: every reader gives a table, or one line that names the file."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import malleable as mb
from tests.full import part

SWIM = (
    "job0\t1\t1\t2267942\t0\t1937944\nkind\t2\t1\t20791551476\t12295202125\t1491950225\tin\t\tout\n"
    "job2\t2\t0\t90015105\t110986156\t2783997\n"
)
SWF = (
    "; UnixStartTime: 1\n1 0 5 10 4 -1 -1 4 20 -1 1 7 1 3 -1 -1 -1 -1\n"
    "2 3 20 2 -1 9.5 -1 2 20 -1 0 8 1 -1 -1 -1 -1 -1\n"
)
SACCT = (
    "JobID|JobName|User|State|Submit|Start|End|Elapsed|AllocCPUS\n"
    "10_1|a|ann|COMPLETED|2024-05-01T09:00:00|2024-05-01T09:00:10|2024-05-01T09:01:10|00:01:00|2\n"
    "10_1.batch|batch||COMPLETED|||||2\n"
    "10_[2-4%1]|a|ann|PENDING|2024-05-01T09:00:00|Unknown|Unknown|00:00:00|0\n"
    "11|b|bob|FAILED|2024-05-01T09:00:05|2024-05-01T09:00:30|2024-05-02T10:00:30|1-01:00:00|4\n"
)
BATCH_TASK = (
    "M1,3,j_1,1,Terminated,10,14,100.0,0.5\nR2_1,1,j_1,1,Terminated,15,18,50,0.5\n"
    "task_Nz==,2,j_2,2,Terminated,12,13,100.0,0.5\n"
)
TASK_EVENTS = (
    "1000000,,7,0,,0,ann,2,0,0.1,0.2,0.3,0\n1000000,,7,1,,0,ann,2,0,0.1,0.2,0.3,0\n"
    "2000000,,7,0,5,1,ann,2,0,0.1,0.2,0.3,0\n4500000,,7,0,5,4,ann,2,0,0.1,0.2,0.3,0\n"
    "5000000,,7,1,5,5,ann,2,0,0.1,0.2,0.3,0\n"
)


def _spark() -> str:
    stages = [
        {"Stage ID": k, "Stage Attempt ID": 0, "Number of Tasks": 2 - k, "Parent IDs": [0][:k]}
        for k in range(2)
    ]
    events: list[dict[str, Any]] = [
        {"Event": "SparkListenerLogStart", "Spark Version": "3.5.0"},
        {"Event": "SparkListenerApplicationStart", "App Name": "etl", "User": "ann"},
        {"Event": "SparkListenerJobStart", "Job ID": 0, "Submission Time": 1000,
         "Stage Infos": stages, "Stage IDs": [0, 1]},
    ]  # fmt: skip
    for stage in stages:
        events.append({"Event": "SparkListenerStageSubmitted", "Stage Info": stage})
        events += [
            {"Event": "SparkListenerTaskEnd", "Stage ID": stage["Stage ID"], "Stage Attempt ID": 0,
             "Task End Reason": {"Reason": "Success"},
             "Task Info": {"Index": k, "Launch Time": 1100 + k, "Finish Time": 1500}}
            for k in range(stage["Number of Tasks"])
        ]  # fmt: skip
        events.append({"Event": "SparkListenerStageCompleted", "Stage Info": stage})
    events.append(
        {"Event": "SparkListenerJobEnd", "Job ID": 0, "Job Result": {"Result": "JobSucceeded"}}
    )
    return "\n".join(json.dumps(event) for event in events)


SPARK = _spark()
TABLE = (
    "name,arrival,work,min_slots,max_slots,weight,deadline,sla,user\n"
    "a,0,40,1,8,1,90,50:1;70:3,ann\n'=b,1.5,10,0,,2,,,bob\n"
)
CLUSTER_TABLE = (
    "name,arrival,maps,map_seconds,reduces,reduce_seconds,shuffle,deadline,speedup,user\n"
    "a,0,3,1;2;3,1,20,5,100,0.8,ann\nb,9,2,20,0,0,0,,1;1.8,bob\n"
)
MAP_SHUFFLE = "name,arrival,map,shuffle,weight\na,0,3,1.5,1\n-b,1,2,0,2\n"
MAP_REDUCE = "name,arrival,map,reduce\na,1,3,1;2;4\nb,2,0,\nc,2,5,10\n"
FLOWS = json.dumps(
    {
        "slots": 8,
        "flows": [
            {"name": "f", "arrival": 0, "weight": 2, "deadline": 90.5, "sla": [[5, 1], [9, 2]],
             "jobs": [{"name": "a", "work": 10, "max_slots": 4},
                      {"name": "b", "work": 5.5, "max_slots": 2, "after": ["a"]}]},
            {"name": "g", "jobs": [{"work": 1, "max_slots": 1}]},
        ],
    },
    indent=1,
)  # fmt: skip
WORKFLOW = json.dumps(
    {
        "name": "genome",
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {"tasks": [
                {"name": "x", "id": "x1", "parents": [], "children": ["y1"]},
                {"name": "y", "id": "y1", "parents": ["x1"], "children": []}]},
            "execution": {"tasks": [
                {"id": "x1", "runtimeInSeconds": 12.5, "coreCount": 2},
                {"id": "y1", "runtimeInSeconds": 3}]},
        },
    }
)  # fmt: skip
CLUSTER = (
    '[[node]]\nname = "small"\ncount = 3\nmap_slots = 2\nreduce_slots = 1\nrate = 0.5\n'
    "link = 1e8\n"
    '[[user]]\nname = "ann"\nminimum = 2\n[[change]]\ntime = 5.0\nnode = 1\nup = false\n'
    "[options]\nheartbeat = 3.0\n"
)


def _attempt(begin: int, end: int) -> dict[str, Any]:
    return {
        "result": "SUCCESS", "startTime": begin, "shuffleFinished": begin + 1,
        "sortFinished": begin + 2, "finishTime": end, "reduceShuffleBytes": 9,
    }  # fmt: skip


RUMEN = "\n".join(
    json.dumps(
        {
            "jobID": f"job_{k}", "user": "ann", "jobName": "sort", "submitTime": 1000 * k,
            "finishTime": 90000, "totalMaps": 2, "totalReduces": 1,
            "mapTasks": [{"taskID": "m0", "attempts": [_attempt(2000, 9000 + k)]}],
            "reduceTasks": [{"taskID": "r0", "attempts": [_attempt(9000, 20000)]}],
        },
        indent=1,
    )
    for k in range(1, 3)
)  # fmt: skip

Reader = Callable[..., Any]


def converted(name: str) -> Reader:
    """A reader that makes a table of one model."""

    def reader(source: Any, **options: Any) -> Any:
        return getattr(mb.read(source, **options), name)()

    return reader


JOBS, FLOW, MAP_SHUFFLES, MAP_REDUCES, TASKS = (
    converted(name) for name in ("jobs", "flows", "map_shuffle", "map_reduce", "tasks")
)
TRIES = part(300)

READERS: dict[str, tuple[str, list[Reader]]] = {
    "swim": (SWIM, [JOBS, FLOW, MAP_SHUFFLES, MAP_REDUCES, TASKS]),
    "rumen": (RUMEN, [JOBS, FLOW, MAP_SHUFFLES, MAP_REDUCES, TASKS]),
    "swf": (SWF, [JOBS, FLOW, MAP_REDUCES, TASKS]),
    "sacct": (SACCT, [JOBS, FLOW, MAP_REDUCES, TASKS]),
    "batch_task": (BATCH_TASK, [JOBS, FLOW, TASKS]),
    "task_events": (TASK_EVENTS, [JOBS, FLOW, MAP_REDUCES, TASKS]),
    "spark": (SPARK, [JOBS, FLOW, TASKS]),
    "table": (TABLE, [JOBS, FLOW]),
    "cluster table": (CLUSTER_TABLE, [JOBS, FLOW, MAP_REDUCES, TASKS]),
    "map and shuffle": (MAP_SHUFFLE, [JOBS, FLOW, MAP_SHUFFLES]),
    "map and reduce": (MAP_REDUCE, [JOBS, FLOW, MAP_REDUCES, TASKS]),
    "flows": (FLOWS, [JOBS, mb.read_flows, TASKS]),
    "workflow": (WORKFLOW, [JOBS, mb.read_flows, TASKS]),
    "cluster": (CLUSTER, [lambda source, skip_bad: mb.read_cluster(source)]),
}
NASTY = (
    "1e999", "-1", "1" + "0" * 400, "9" * 5000, "1e300", "1e18", "NaN", "Infinity", "null", "true",
    "0", "0.5", "5e-324", "2147483648", "1_0", '""', "[]", "{}", "[[1]]", '"a b"', "\u0661", "-0",
)  # fmt: skip
BYTES = (
    b"\0", b"\r", b"\n", b"\t", b",", b'"', b"'", b"\xff", b"\xef\xbb\xbf", b"{", b"}", b"[", b";",
    b"=", b"\xe2\x80\xa8", b":",
)  # fmt: skip


def mutated(text: str, rng: random.Random) -> bytes:
    """The text with a few things wrong with it."""
    data = text.encode()
    for _ in range(rng.choice((1, 1, 2, 4))):
        place, other = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
        match rng.randrange(8):
            case 0:
                data = data[:place] + rng.choice(BYTES) + data[place:]
            case 1:
                data = data[:place] + data[min(other, place + 9) :]
            case 2:
                data = data[:other] + data[place:other] + data[other:]
            case 3:
                data = data[:place]
            case 4:
                lines = data.splitlines(keepends=True)
                rng.shuffle(lines)
                data = b"".join(lines)
            case _:
                spans = [m.span() for m in re.finditer(rb"\d[\d.e+]*", data)]
                if spans:
                    begin, end = rng.choice(spans)
                    data = data[:begin] + rng.choice(NASTY).encode() + data[end:]
    if rng.random() < 0.1:
        data = bytearray(gzip.compress(bytes(data)))
        if rng.random() < 0.7:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        data = bytes(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.3 else data)
    return data


class _Named(io.BytesIO):
    name = "odd.file"


def check(reader: Reader, data: bytes, skip_bad: bool = False) -> str:
    """The outcome of a reader: ``read``, or the message of an error that is as it should be."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)  # what was left out
        try:
            reader(_Named(data), skip_bad=skip_bad)
        except (ValueError, OSError) as error:
            told = str(error)
            assert "odd.file" in told, told
            assert told.isprintable() and len(told) < 2000, told
            assert "set_int_max_str_digits" not in told, told
            return told
    return "read"


@pytest.mark.parametrize("format", READERS)
def test_as_they_are(format: str) -> None:
    text, readers = READERS[format]
    assert [check(reader, text.encode()) for reader in readers] == ["read"] * len(readers)


@pytest.mark.parametrize("format", READERS)
def test_mutated(format: str) -> None:
    """Seeded, so that it is the same in every run."""
    text, readers = READERS[format]
    rng = random.Random(format)
    read = 0
    for _ in range(TRIES):
        data = mutated(text, rng)
        for reader in readers:
            read += check(reader, data, rng.choice((False, True))) == "read"
    assert 0 < read < TRIES * len(readers)
