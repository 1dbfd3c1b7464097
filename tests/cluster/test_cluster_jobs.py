"""Tables of cluster jobs and clusters: parameters, CSV, TOML, traces."""

import gzip
import io
import json
import math
import warnings

import numpy as np
import pytest

import malleable as mb
from tests.trace_files import trace_file

MIB = 2**20


# the table ----------------------------------------------------------------------------------------


def test_columns_broadcast_and_add_up():
    jobs = mb.ClusterJobs([2, 0], [[1, 3], []], [1, 2], 5, shuffle=[1, 2])
    assert jobs.map_work.tolist() == [4, 0]
    assert jobs.reduce_work.tolist() == [6, 14]
    assert jobs.weight.tolist() == [1, 1]
    assert jobs.deadline.tolist() == [math.inf, math.inf]
    assert repr(jobs) == "ClusterJobs(2 jobs, 2 map tasks, 3 reduce tasks)"
    with pytest.raises(ValueError, match="read-only"):
        jobs.maps[0] = 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.5], 1), r"maps\[0\] = 1.5: must be a whole number"),
        (([-1], 1), r"maps\[0\] = -1"),
        (([1], math.nan), r"map_seconds\[0\] = nan"),
        (([2], [[1, 2, 3]]), r"map_seconds\[0\]: 3 times for 2 tasks"),
        (([2], [[1, -2]]), r"map_seconds\[0\]\[1\] = -2"),
        (([1, 1], [1, 2, 3]), "map_seconds has 3 entries but maps has 2"),
        (([1], 1, [1, 2]), "reduces has 2 entries but maps has 1"),
        ((["x"], 1), "not a number"),
        (([1], "x"), "map_seconds = 'x': not a number"),
    ],
)
def test_wrong_columns(arguments, message):
    with pytest.raises(ValueError, match=message):
        mb.ClusterJobs(*arguments)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"arrival": -1}, r"arrival\[0\] = -1"),
        ({"weight": math.nan}, r"weight\[0\] = nan"),
        ({"user": ["a", "b"]}, "user has 2 entries"),
        ({"after": [[], []]}, "after has 2 entries"),
        ({"min_map_slots": [0.5]}, r"min_map_slots\[0\] = 0.5"),
    ],
)
def test_wrong_options(more, message):
    with pytest.raises(ValueError, match=message):
        mb.ClusterJobs([1], 1, **more)


# CSV ----------------------------------------------------------------------------------------------


def test_csv():
    text = (
        "name,arrival,maps,map_seconds,reduces,reduce_seconds,deadline,user\n"
        "a,0,2,3;4,1,5,9,ann\nb,1.5,3,2,0,0,,bob\n"
    )
    for source in (io.StringIO(text), io.BytesIO(gzip.compress(text.encode()))):
        jobs = mb.read(source).tasks()
        assert jobs.name == ("a", "b")
        assert jobs.user == ("ann", "bob")
        assert jobs.map_work.tolist() == [7, 6]
        assert jobs.reduce_work.tolist() == [5, 0]
        assert jobs.deadline.tolist() == [9, math.inf]


def test_speedups_of_jobs_from_csv():
    text = "maps,map_seconds,arrival,speedup\n2,10,0,1;1\n2,10,100,0.5\n2,10,200,\n1,10,300,0.5;\n"
    jobs = mb.read(io.StringIO(text)).tasks()
    rates, exponent, none, one = jobs.speedup
    assert (rates.tolist(), exponent, none, one.tolist()) == ([1, 1], 0.5, None, [0.5])
    found = mb.simulate(jobs, "fifo", cluster={"node": [{"map_slots": 2}]}, epoch=0)
    ends = [20, 100 + 10 * math.sqrt(2), 210, 320]
    assert found.records["completion"] == pytest.approx(ends)
    with pytest.warns(UserWarning, match="1 of 5 rows malformed: row 4: speedup"):
        again = mb.read(io.StringIO(text + "1,1,0,7\n"), skip_bad=True).tasks()
    assert len(again) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("maps,mapseconds\n", "unknown column 'mapseconds'"),
        ("maps\n1\n", "column 'map_seconds' is missing"),
        ("maps,map_seconds\n1,x\n", "row 0, map_seconds = 'x': not a number"),
        ("maps,map_seconds\n1\n", "row 0: 1 cells, but the header has 2"),
        ("maps,map_seconds\n2,1;2;3\n", r"map_seconds\[0\]: 3 times for 2 tasks"),
        ("maps,maps,map_seconds\n", "column 'maps' occurs twice"),
        ("maps,map_seconds,speedup\n1,1,2\n", "speedup.0. = 2.0: must be from 0 to 1"),
        ("maps,map_seconds,speedup\n1,1,2;1\n", r"speedup\[0\]\[1\] = 1.0: more tasks"),
        ("maps,map_seconds,speedup\n1,1,1;x\n", "row 0, speedup = '1;x': not a number"),
        ("maps,map_seconds,speedup\n1,1,;\n", "speedup"),
    ],
)
def test_wrong_csv(text, message):
    with pytest.raises(ValueError, match=message):
        mb.read(io.StringIO(text)).tasks()


# clusters -----------------------------------------------------------------------------------------

TOML = """
[options]
heartbeat = 3
[[node]]
count = 3
map_slots = 2
reduce_slots = 1
[[node]]
name = "big"
map_slots = 4
rate = 2.0
link = 1e6
[[user]]
name = "ann"
minimum = 2
[[change]]
time = 5
node = 3
up = false
"""


def test_toml():
    cluster = mb.read_cluster(io.StringIO(TOML))
    assert repr(cluster) == "Cluster(3 x (2 map, 1 reduce) + 1 x (4 map, 0 reduce))"
    assert cluster.rate.tolist() == [1, 1, 1, 2]
    assert cluster.type_names == ["type0", "big"]
    assert cluster.link.tolist() == [math.inf] * 3 + [1e6]
    assert cluster.users == {"ann": (2.0, 1.0)}
    assert cluster.changes == [(5.0, 3, False)]
    assert cluster.options == {"heartbeat": 3}
    assert not cluster.generic
    assert mb.read_cluster({"node": [{"slots": 2}]}).generic


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[node", "not TOML"),
        ("", "needs at least one node"),
        ("[[nodes]]", "unknown key 'nodes'; did you mean 'node'"),
        ("[[node]]\nslot = 1", "unknown key 'slot'; did you mean 'slots'"),
        ("[[node]]\nslots = 1\nmap_slots = 1", "'slots' stands for both"),
        ("[[node]]\nslots = 1\n[[node]]\nmap_slots = 1", "either all have 'slots'"),
        ("[[node]]\nrate = 1", "'slots' or 'map_slots' is missing"),
        ("[[node]]\nslots = -1", r"node\[0\].slots = -1"),
        ("[[node]]\nslots = 0", "no slots at all"),
        ("[[node]]\nslots = 1\nrate = 0", r"node\[0\].rate = 0"),
        ("[[node]]\nslots = 1\nlink = -1", r"node\[0\].link = -1"),
        ("[[node]]\nslots = 1\ncount = 0", r"node\[0\].count = 0"),
        ("[[node]]\nslots = 1\n[[user]]\nminimum = 1", r"user\[0\].name"),
        ("[[node]]\nslots = 1\n[[change]]\ntime = 1\nnode = 1\nup = true", "there are 1 node"),
        ("[[node]]\nslots = 1\n[[change]]\ntime = 1\nnode = 0\nup = 1", "must be true or false"),
        ("[node]\nslots = 1", r"node: write \[\[node\]\]"),
    ],
)
def test_wrong_toml(text, message):
    with pytest.raises(ValueError, match=message):
        mb.read_cluster(io.StringIO(text))


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_slots_for_a_load(load):
    jobs = mb.generate_cluster_jobs(300, 1, gap=4.0)
    span = float(np.ptp(jobs.arrival))
    cluster = mb.Cluster.for_load(jobs, load)
    for slots, work in (
        (cluster.map_slots.sum(), jobs.map_work.sum()),
        (cluster.reduce_slots.sum(), jobs.reduce_work.sum()),
    ):
        assert work / (slots * span) <= load + 1e-9
        assert work / ((slots - 1) * span) > load
    one = mb.Cluster.for_load(jobs, load, generic=True)
    total = jobs.map_work.sum() + jobs.reduce_work.sum()
    assert one.map_slots.sum() == math.ceil(total / (span * load))
    with pytest.raises(ValueError, match="different times"):
        mb.Cluster.for_load(mb.ClusterJobs([1], 1), 0.5)


# traces -------------------------------------------------------------------------------------------


def test_swim():
    text = f"j0\t5\t5\t{130 * MIB}\t2500000000\t7\nj1\t9\t4\t0\t0\t0\n"
    jobs = mb.read(io.StringIO(text)).tasks(shuffle_rate=1e7)
    assert jobs.maps.tolist() == [3, 0]
    assert jobs.reduces.tolist() == [3, 0]
    assert jobs.map_work.tolist() == [60, 0]
    assert jobs.shuffle.tolist() == pytest.approx([2.5e9 / 3 / 1e7, 0])
    with pytest.raises(ValueError, match="shuffle_rate"):
        mb.read(io.StringIO(text)).tasks(shuffle_rate=0)


def attempt(**times):
    return {"attempts": [{"result": "SUCCESS", **{k: 1000 * v for k, v in times.items()}}]}


def rumen(name, submit, maps, reduces):
    return json.dumps(
        {
            "jobID": name,
            "jobName": "sort",
            "user": "ann",
            "submitTime": submit * 1000,
            "mapTasks": [attempt(startTime=a, finishTime=b) for a, b in maps],
            "reduceTasks": [
                attempt(startTime=a, shuffleFinished=s, sortFinished=s, finishTime=b)
                for a, s, b in reduces
            ],
        }
    )


def test_rumen():
    # Maps end at 30; the reduce task waits for them in its shuffle from 15 on, copies until 34.
    good = rumen("j1", 10, [(12, 20), (12, 30)], [(15, 34, 40)])
    jobs = mb.read(io.StringIO(good)).tasks()
    assert jobs.map_work.tolist() == [26]
    assert jobs.shuffle.tolist() == [4]
    assert jobs.reduce_work.tolist() == [10]
    assert (jobs.user, jobs.program) == (("ann",), ("sort",))
    bad = rumen("j2", 11, [(12, 20)], [(15, 34, 33)])
    both = f"{good}\n{bad}\n{bad}"
    with pytest.raises(
        ValueError, match=r"2 of 3 jobs malformed: job j2, .*33|2 of 3 jobs malformed"
    ):
        mb.read(io.StringIO(both)).tasks()
    with pytest.warns(UserWarning, match="2 of 3 jobs malformed"):
        kept = mb.read(io.StringIO(both), skip_bad=True).tasks()
    assert len(kept) == 1
    with pytest.raises(ValueError, match="truncated"):
        mb.read(io.StringIO(good[:-5])).tasks()
    with pytest.raises(ValueError, match="empty"):
        mb.read(io.StringIO("")).tasks()


def test_flows_become_jobs_that_wait():
    flows = mb.Flows(
        [[{"name": "a", "work": 100}, {"name": "b", "work": 30, "after": ["a"]}], [{"work": 0}]]
    )
    jobs = mb.cluster_flows(flows, 20)
    assert jobs.maps.tolist() == [5, 2, 0]
    assert jobs.map_work.tolist() == [100, 30, 0]
    assert jobs.after.tolist() == [0]
    assert jobs.flow == ("flow0", "flow0", "flow1")


def test_real_rumen_trace():
    jobs = mb.read(trace_file("hadoop-rumen", "folder-input-trace.json.gz")).tasks()
    assert len(jobs) == 59
    bad = trace_file("hadoop-rumen", "goldFoldedTrace.json.gz")
    with pytest.raises(ValueError, match="16 of 89 jobs malformed: job .*negative duration"):
        mb.read(bad).tasks()
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        assert len(mb.read(bad, skip_bad=True).tasks()) == 73


def test_facebook_day_flex_beats_fair_with_true_sizes():
    jobs = mb.read(trace_file("swim-facebook", "FB-2009_samples_24_times_1hr_0.tsv.gz")).tasks()
    for load in (0.5, 0.7, 0.9):
        result = mb.simulate(jobs, ["flex", "fair"], load=load, rng=1)
        by = {name: s["mean_response"] for name, s in result.summary.items()}
        assert by["flex"] < by["fair"]


@pytest.mark.parametrize("nodes", [3, "ab", {"slots": 2}, [4, 2]])
def test_nodes_that_are_no_mappings(nodes):
    with pytest.raises(ValueError, match=r"nodes = .*expected a list of mappings, such as"):
        mb.Cluster(nodes)
