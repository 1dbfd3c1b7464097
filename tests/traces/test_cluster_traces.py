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
HAWK = "7 2 3.0 2.5 3.5\n5 1 4 4\n"
GOOGLE = (
    "job_id,submit_us,n_tasks,n_finish,sum_finished_runtime_s,complete\n"
    "b,9000000,4,2,30,1\na,5000000,1,1,7,1\nc,6000000,3,0,0,1\nd,6000000,3,1,5,0\n"
)


def rumen(name, *maps):
    attempts = [
        {"attempts": [{"result": "SUCCESS", "startTime": 1000 * a, "finishTime": 1000 * b}]}
        for a, b in maps
    ]
    return json.dumps({"jobID": name, "submitTime": 1000, "mapTasks": attempts, "reduceTasks": []})


def alibaba(name, *tasks):
    return json.dumps(
        {
            "job": name,
            "tasks": [
                {"id": k, "parents": p, "instances": n, "duration": d, "start_time": start}
                for k, p, n, d, start in tasks
            ],
        }
    )


ALIBABA = (
    alibaba("x", (1, [], 3, 2.0, 900), (2, [1], None, 5.0, 902))
    + "\n"
    + alibaba("y", (1, [], 1, 4.0, 880))
    + "\n"
)
FLOWS = json.dumps({"flows": [{"jobs": [{"name": "a", "work": 6, "max_slots": 2}]}]})
PROFILES = {
    "tpch_q1_50g_maxCores_50": [
        {"stage_id": 0, "num_tasks": 4, "average_runtime_ms": 500},
        {"stage_id": 1, "num_tasks": 1, "average_runtime_ms": 2000},
    ],
    "tpch_q2_50g_maxCores_50": [{"stage_id": 0, "num_tasks": 2, "average_runtime_ms": 1000}],
}
GRAPHS = {"Q1": {"0": ["1"], "1": []}, "Q2": {"0": []}}
TABLE = "maps,map_seconds\n2,3;4\n1,2\n"


@pytest.mark.parametrize(
    ("text", "kind", "tasks"),
    [
        (SWIM, "SWIM trace", 3),
        (rumen("j", (1, 2), (1, 3)), "Rumen trace", 2),
        (HAWK, "Hawk trace", 3),
        (GOOGLE, "Google 2011 table", 5),
        (ALIBABA, "Alibaba DAG", 5),
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
        ("# shapes\ngraphs:\n  - name: Q1\n", "query graphs of TPC-H"),
        (json.dumps(PROFILES), "graphs: needed"),
    ],
)
def test_unknown_formats(text, message):
    with pytest.raises(ValueError, match=message):
        mb.read(io.StringIO(text)).tasks()


def test_options_of_the_format():
    jobs = mb.read(io.StringIO(SWIM)).tasks(block_bytes=2 * MIB, task_seconds=3)
    assert jobs.maps.tolist() == [65, 0]
    assert jobs.map_work.tolist() == [195, 0]
    with pytest.raises(ValueError, match="'size' does not apply to a Hawk trace: it has none"):
        mb.read(io.StringIO(HAWK), size=1).tasks()
    with pytest.raises(ValueError, match="'task_seconds' does not apply to a Hawk trace"):
        mb.read(io.StringIO(HAWK)).tasks(task_seconds=1)


GOOD_AND_BAD = [
    ("swim", SWIM, ["j2\t5\n", "j3\tx\t1\t1\t1\t1\n"], "line 3: 2 tab-sep.*line 4: submit time = 'x'"),
    ("hawk", HAWK, ["1 2 3 4\n", "1 1 3 -4\n"], "line 3: 1 task times, 2 tasks; line 4: must be"),
    (
        "google2011",
        GOOGLE,
        ["e,x,1,1,1,1\n", "f,1,1.5,1,1,1\n"],
        "line 6: submit_us = 'x'.*line 7: n_tasks = '1.5': must be a whole",
    ),
    (
        "alibaba",
        ALIBABA,
        ["{\n", alibaba("z", (1, [7], 1, 1.0, 5)) + "\n"],
        "line 3: not JSON.*line 4: .*after '7', which is no job",
    ),
    ("table", TABLE, ["x,1\n", "-1,3\n"], "line 4: maps = 'x': not a number; line 5: maps = '-1'"),
    ("table", TABLE, ["2,1;2;3\n", "1,inf\n"], r"line 5: .* finite.*map_seconds\[2\]: 3 times for 2"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "good", "bad", "first"), GOOD_AND_BAD)
def test_malformed_records_are_counted(kind, good, bad, first):
    text = good + "".join(bad)
    with pytest.raises(ValueError, match=rf"2 of \d+ (jobs|flows) malformed: .*{first}"):
        mb.read(io.StringIO(text)).tasks()
    with pytest.warns(UserWarning, match=r"2 of \d+ (jobs|flows) malformed"):
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


def test_google2011():
    jobs = mb.read(io.StringIO(GOOGLE)).tasks()
    assert jobs.name == ("a", "b")
    assert jobs.arrival.tolist() == [0, 4]
    assert jobs.maps.tolist() == [1, 4]
    assert jobs.map_work.tolist() == [7, 60]  # tasks that did not finish count with the mean
    with pytest.raises(ValueError, match="column 'n_tasks' is missing"):
        mb.read(io.StringIO("job_id,submit_us\n1,2\n")).tasks()
    head = GOOGLE.splitlines()[0] + "\n"
    with pytest.raises(ValueError, match="no job is left"):
        mb.read(io.StringIO(head + "d,6000000,3,1,5,0\n")).tasks()
    with pytest.raises(ValueError, match="empty, no jobs in it"):
        mb.read(io.StringIO(head))


def test_alibaba():
    jobs = mb.read(io.StringIO(ALIBABA)).tasks()
    assert jobs.name == ("y/1", "x/1", "x/2")
    assert jobs.arrival.tolist() == [0, 20, 20]
    assert jobs.maps.tolist() == [1, 3, 1]
    assert jobs.map_work.tolist() == [4, 6, 5]
    result = mb.simulate(jobs, "fifo", cluster={"node": [{"slots": 9}]}, epoch=0)
    # x/2 waits for x/1: 20 + 2 + 5.
    assert result.records["completion"].tolist() == [4, 22, 27]
    assert result.summary["fifo"]["flow_response"] == pytest.approx((4 + 7) / 2)
    assert mb.read(io.StringIO(ALIBABA)).tasks(task_seconds=1).maps.tolist() == [4, 6, 5]
    with pytest.raises(ValueError, match="the name is taken"):
        mb.read(io.StringIO(ALIBABA + ALIBABA)).tasks()


def test_flows_without_maxima_need_a_task_time():
    text = json.dumps({"flows": [{"jobs": [{"name": "a", "work": 6}]}]})
    with pytest.raises(ValueError, match=r"job 'flow0/a' has no max_slots.*\(say task_seconds\)"):
        mb.read(io.StringIO(text)).tasks()
    assert mb.read(io.StringIO(text)).tasks(task_seconds=2).maps.tolist() == [3]


def test_tpch(tmp_path):
    path = tmp_path / "profiles.json"
    path.write_text(json.dumps(PROFILES))
    with pytest.raises(ValueError, match=r"no queries\.yaml with its query graphs beside it"):
        mb.read(path).tasks()
    (tmp_path / "queries.yaml").write_text(
        "graphs:\n  - name: Q1\n    graph:\n      - name: 0\n        children: [1]\n      - name: 1\n"
        "  - name: Q2\n    graph:\n      - name: 0\n"
    )
    for graphs in ({}, {"graphs": GRAPHS}):
        jobs = mb.read(path, **graphs).tasks()
        assert jobs.maps.tolist() == [4, 1, 2]
        assert jobs.map_work.tolist() == [2, 2, 2]
        assert jobs.arrival.tolist() == [0, 0, 0]
    spread = mb.read(path, graphs=GRAPHS, gap=60.0, seed=4).tasks()
    assert spread.arrival[0] == spread.arrival[1] == 0 < spread.arrival[2]
    with pytest.raises(ValueError, match="gap = -1"):
        mb.read(path, graphs=GRAPHS, gap=-1)
    path.write_text(json.dumps({**PROFILES, "tpch_q1_50g_maxCores_50": [{"stage_id": 5}]}))
    with pytest.raises(ValueError, match="1 of 2 queries malformed: Q1: stage 5 is not in"):
        mb.read(path).tasks()
    with pytest.warns(UserWarning, match="1 of 2 queries malformed"):
        assert len(mb.read(path, skip_bad=True).tasks()) == 1


def test_infinite_rates_and_times():
    with pytest.raises(ValueError, match="line 2: must be finite"):
        mb.read(io.StringIO("1 1 1 1\ninf 1 1 1\n"))
    assert mb.read(io.StringIO(SWIM)).tasks(shuffle_rate=math.inf).shuffle.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("parts", "kind", "count"),
    [
        (("swim-facebook", "FB-2009_samples_24_times_1hr_0.tsv.gz"), "SWIM trace", 5894),
        (("hadoop-rumen", "trace_7m.json.gz"), "Rumen trace", 26),
        (("google2011", "jobs_dev.csv.gz"), "Google 2011 table", 6234),
        (("alibaba2018-dag", "medium_filtered.jsonl.gz"), "Alibaba DAG", 22333),
        (("yahoo-hawk", "YH1_sub.tr.gz"), "Hawk trace", 2910),
        (("tpch-cloudlab", "cloudlab_22query_tpch_profiles.json.gz"), "TPC-H profile", 171),
    ],
)
def test_real_traces(parts, kind, count):
    path = trace_file(*parts)
    trace = mb.read(path)
    assert trace.format == kind
    assert len(trace.tasks()) == count
