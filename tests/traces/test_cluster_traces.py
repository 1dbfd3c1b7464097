"""Traces as cluster jobs: detection, malformed records, what becomes of each format."""

import gzip
import io
import json
import math

import numpy as np
import pytest

import malleable as mb
from tests.trace_files import trace_file

MIB = 2**20
SWIM = f"j0\t5\t5\t{130 * MIB}\t2500000000\t7\nj1\t9\t4\t0\t0\t0\n"


def rumen(name, *maps):
    attempts = [
        {"attempts": [{"result": "SUCCESS", "startTime": 1000 * a, "finishTime": 1000 * b}]}
        for a, b in maps
    ]
    return json.dumps({"jobID": name, "submitTime": 1000, "mapTasks": attempts, "reduceTasks": []})


FLOWS = json.dumps({"flows": [{"jobs": [{"name": "a", "work": 6, "max_slots": 2}]}]})
TABLE = "maps,map_seconds\n2,3;4\n1,2\n"


@pytest.mark.parametrize(
    ("text", "kind", "tasks"),
    [
        (SWIM, "SWIM trace", 3),
        (rumen("j", (1, 2), (1, 3)), "Rumen trace", 2),
        (FLOWS, "file of flows", 2),
        (TABLE, "table of cluster jobs", 3),
    ],
)
def test_formats_are_known_by_content(tmp_path, text, kind, tasks):
    path = tmp_path / "trace"
    path.write_bytes(gzip.compress(text.encode()))
    for source in (path, io.StringIO(text), io.BytesIO(text.encode())):
        trace = mb.read(source)
        assert trace.format == kind
        jobs = trace.tasks()
        assert jobs.maps.sum() == tasks
        assert jobs == mb.read(io.StringIO(text)).tasks()
        assert len(mb.simulate(jobs, "fifo", cluster={"node": [GENERIC]}).records)


GENERIC = {"slots": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty, no jobs"),
        ("cloud,vendor\naws,spark\n", "unknown format, begins with 'cloud,vendor'"),
    ],
)
def test_unknown_formats(text, message):
    with pytest.raises(ValueError, match=message):
        mb.read(io.StringIO(text)).tasks()


def test_options_of_the_format():
    jobs = mb.read(io.StringIO(SWIM)).tasks(block_bytes=2 * MIB, task_seconds=3)
    assert jobs.maps.tolist() == [65, 0]
    assert jobs.map_work.tolist() == [195, 0]
    with pytest.raises(ValueError, match="'size' does not apply to a SWIM trace: expected"):
        mb.read(io.StringIO(SWIM)).tasks(size=1)


GOOD_AND_BAD = [
    ("swim", SWIM, ["j2\t5\n", "j3\tx\t1\t1\t1\t1\n"], "line 3: 2 tab-sep.*line 4: submit time = 'x'"),
    ("table", TABLE, ["x,1\n", "-1,3\n"], r"row 2, maps = 'x': not a number; row 3: maps\[0\] = -1"),
    ("table", TABLE, ["2,1;2;3\n", "1,inf\n"], r"row 2: .*: 3 times for 2.*row 3: map_s.* finite"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "good", "bad", "first"), GOOD_AND_BAD)
def test_malformed_records_are_counted(kind, good, bad, first):
    text = good + "".join(bad)
    with pytest.raises(ValueError, match=rf"2 of \d+ (jobs|flows|rows) malformed: .*{first}"):
        mb.read(io.StringIO(text)).tasks()
    with pytest.warns(UserWarning, match=r"2 of \d+ (jobs|flows|rows) malformed"):
        kept = mb.read(io.StringIO(text), skip_bad=True).tasks()
    assert repr(kept) == repr(mb.read(io.StringIO(good)).tasks())
    if kind == "swim":  # nothing else in it
        with pytest.raises(ValueError, match="1 of 1 jobs malformed.*none is left"):
            mb.read(io.StringIO("j2\t5\t1\t1\t1\t-1\n"), skip_bad=True)


def test_truncated_files():
    lines = [f"j{k}\t{k}\t1\t{k * MIB + k * k}\t0\t0\n" for k in range(20_000)]
    data = gzip.compress("".join(lines).encode())
    with pytest.raises(ValueError, match="1 of .* malformed: after line .* truncated gzip"):
        mb.read(io.BytesIO(data[: len(data) // 2])).tasks()
    with pytest.warns(UserWarning, match=r"1 of \d+ jobs malformed"):
        kept = mb.read(io.BytesIO(data[: len(data) // 2]), skip_bad=True).tasks()
    assert 5_000 < len(kept) < 15_000
    assert kept.arrival.tolist() == list(range(len(kept)))

    rng = np.random.default_rng(3)
    records = [rumen(f"j{k}", (1, int(rng.integers(2, 10**9)))) for k in range(3000)]
    data = gzip.compress("\n".join(records).encode())
    with pytest.raises(
        ValueError, match=r"1 of \d+ jobs malformed: after [\d,]+ jobs: .*truncated"
    ):
        mb.read(io.BytesIO(data[: len(data) // 2])).tasks()
    with pytest.warns(UserWarning, match="1 of"):
        kept = mb.read(io.BytesIO(data[: len(data) // 2]), skip_bad=True).tasks()
    assert 1000 < len(kept) < 2000
    text = "\n".join(records[:5])
    with pytest.warns(UserWarning, match="1 of 5 jobs malformed: after 4 jobs: line 5: broken or"):
        assert len(mb.read(io.StringIO(text[:-7]), skip_bad=True).tasks()) == 4


def test_flows_without_maxima_need_a_task_time():
    text = json.dumps({"flows": [{"jobs": [{"name": "a", "work": 6}]}]})
    with pytest.raises(ValueError, match=r"job 'flow0/a' has no max_slots.*\(say task_seconds\)"):
        mb.read(io.StringIO(text)).tasks()
    assert mb.read(io.StringIO(text)).tasks(task_seconds=2).maps.tolist() == [3]


def test_infinite_rates_and_times():
    assert mb.read(io.StringIO(SWIM)).tasks(shuffle_rate=math.inf).shuffle.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("parts", "kind", "count"),
    [
        (("swim-facebook", "FB-2009_samples_24_times_1hr_0.tsv.gz"), "SWIM trace", 5894),
        (("hadoop-rumen", "trace_7m.json.gz"), "Rumen trace", 26),
    ],
)
def test_real_traces(parts, kind, count):
    path = trace_file(*parts)
    trace = mb.read(path)
    assert trace.format == kind
    assert len(trace.tasks()) == count
