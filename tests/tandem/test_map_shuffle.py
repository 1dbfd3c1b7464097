"""Jobs with a map and a shuffle phase: tables, readers, the stream of section 5.3."""

from __future__ import annotations

import gzip
import io
import json

import numpy as np
import pytest

import malleable as mb
from tests.trace_files import trace_file


def test_table():
    jobs = mb.MapShuffleJobs([1, 2], 3, arrival=[4, 0], name=["x", "y"])
    assert jobs.shuffle.tolist() == [3, 3]
    assert jobs.weight.tolist() == [1, 1]
    assert jobs.name == ("x", "y")
    with pytest.raises(ValueError, match="read-only"):
        jobs.map[0] = 2


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"map": [1, -1], "shuffle": 1}, r"map\[1\] = -1"),
        ({"map": [1], "shuffle": [np.nan]}, r"shuffle\[0\] = nan"),
        ({"map": [1], "shuffle": [1], "arrival": [np.inf]}, r"arrival\[0\] = inf"),
        ({"map": [1], "shuffle": [1, 2]}, "shuffle has 2 entries but map has 1"),
        ({"map": [[1]], "shuffle": 1}, "map has 2 dimensions"),
        ({"map": ["a"], "shuffle": 1}, r"map\[0\] = 'a': not a number"),
        ({"map": [1], "shuffle": 1, "name": ["a", "b"]}, "name has 2 entries"),
    ],
)
def test_wrong_tables(columns, message):
    with pytest.raises(ValueError, match="^" + message):
        mb.MapShuffleJobs(**columns)


def test_csv(tmp_path):
    text = "name,arrival,map,shuffle,weight\na,1,2,3,4\n\nb,0,0,0,0\n"
    jobs = mb.read(io.StringIO(text)).map_shuffle()
    assert jobs.name == ("a", "b")
    assert (jobs.arrival[0], jobs.map[0], jobs.shuffle[0], jobs.weight[0]) == (1, 2, 3, 4)
    path = tmp_path / "jobs.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert mb.read(path).map_shuffle().map.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("map,shufle\n", "unknown column 'shufle'"),
        ("map\n1\n", "column 'shuffle' is missing"),
        ("map,shuffle,map\n", "column 'map' occurs twice"),
        ("map,shuffle\n1\n", "row 0: 1 cells, but the header has 2"),
        ("map,shuffle\n1,x\n", "row 0, shuffle = 'x': not a number"),
        ("map,shuffle\n1,-2\n", r"shuffle\[0\] = -2"),
        ("map,shuffle,map_estimate\n1,1,1\n", "shuffle_estimate: missing"),
    ],
)
def test_wrong_csv(text, message):
    with pytest.raises(ValueError, match=message):
        mb.read(io.StringIO(text)).map_shuffle()


def test_swim():
    text = "j0\t5\t5\t1000\t2000\t7\nj1\t2\t0\t3000\t0\t0\n"
    jobs = mb.read(io.StringIO(text)).map_shuffle(map_rate=100, shuffle_rate=10)
    assert jobs.name == ("j1", "j0")
    assert jobs.map.tolist() == pytest.approx([30, 10])
    assert jobs.shuffle.tolist() == pytest.approx([0, 200])
    with pytest.raises(ValueError, match="map_rate"):
        mb.read(io.StringIO(text)).map_shuffle(map_rate=0)


def attempt(begin, end, shuffled=None, result="SUCCESS"):
    found = {"startTime": begin, "finishTime": end, "result": result}
    if shuffled is not None:
        found |= {"shuffleFinished": begin, "sortFinished": begin, "reduceShuffleBytes": shuffled}
    return found


def rumen_job(name, submit, maps, reduces):
    def tasks(attempts):
        return [{"taskID": f"t{k}", "attempts": [each]} for k, each in enumerate(attempts)]

    return json.dumps(
        {
            "jobID": name,
            "submitTime": submit,
            "finishTime": submit + 9000,
            "totalMaps": len(maps),
            "totalReduces": len(reduces),
            "mapTasks": tasks(maps),
            "reduceTasks": tasks(reduces),
        }
    )


def test_rumen():
    late = rumen_job(
        "late",
        11_000,
        [attempt(11_000, 13_000), attempt(11_000, 12_000, result="KILLED")],
        [attempt(13_000, 14_000, 500), attempt(13_000, 14_000, -1)],
    )
    early = rumen_job("early", 10_000, [attempt(10_000, 15_000)], [])
    jobs = mb.read(io.StringIO(late + "\n" + early)).map_shuffle(shuffle_rate=100)
    assert jobs.name == ("early", "late")
    assert jobs.arrival.tolist() == [0, 1]
    assert jobs.map.tolist() == [5, 4]  # the killed task counts with the mean
    assert jobs.shuffle.tolist() == [0, 10]  # and so does the unknown amount


def test_rumen_without_bytes():
    text = rumen_job("j", 0, [attempt(1, 2)], [attempt(3, 4, -1)])
    with pytest.raises(ValueError, match="job j: no reduce attempt with known reduceShuffleBytes"):
        mb.read(io.StringIO(text)).map_shuffle()
    with pytest.raises(ValueError, match="1 of 1 jobs malformed: .*; none is left"):
        mb.read(io.StringIO(text), skip_bad=True).map_shuffle()
    text = text.replace('"reduceShuffleBytes": -1', '"reduceShuffleBytes": "many"')
    with pytest.raises(ValueError, match="reduceShuffleBytes = 'many'"):
        mb.read(io.StringIO(text)).map_shuffle()


@pytest.mark.parametrize("name", ["folder-input-trace.json.gz", "trace_7m.json.gz"])
def test_real_rumen(name):
    path = trace_file("hadoop-rumen", name)
    jobs = mb.read(path).map_shuffle()
    assert jobs.map.tolist() == mb.read(path).jobs().work.tolist()
    assert jobs.shuffle.sum() > 0
    summary = mb.simulate(jobs, policy="max-srpt", load=0.5).summary["max-srpt"]
    assert summary["jobs"] == len(jobs)


def test_real_swim():
    jobs = mb.read(
        trace_file("swim-facebook", "FB-2009_samples_24_times_1hr_0.tsv.gz")
    ).map_shuffle()
    assert len(jobs) == 5894
    for found in mb.simulate(jobs, policy=["max-srpt", "two-srpt"], load=0.6).summary.values():
        assert found["jobs"] == len(jobs)
        assert found["mean_response"] >= found["lower_bound"] * (1 - 1e-9)


def test_stream():
    stream = mb.MapShuffleStream(300_000, 0.75)
    parts = list(stream.chunks(3))
    arrival, size, data = (
        np.concatenate([getattr(part, field) for part in parts])
        for field in ("arrival", "map", "shuffle")
    )
    assert len(arrival) == len(stream) == 300_000
    assert (np.diff(arrival) >= 0).all()
    assert arrival[-1] / len(arrival) == pytest.approx(1 / 0.75, rel=0.01)
    # Log-normal: what the logarithms must be for mean 1 and the standard deviations of the paper.
    for values, deviation in ((size, 3.65), (data / size, 3.28)):
        variance = np.log1p(deviation**2)
        assert np.log(values).mean() == pytest.approx(-variance / 2, abs=0.02)
        assert np.log(values).var() == pytest.approx(variance, rel=0.02)
    for jobs, load in ((-1, 0.5), (1.5, 0.5), (3, 0.0), (3, np.nan)):
        with pytest.raises(ValueError, match="jobs|load"):
            mb.MapShuffleStream(jobs, load)
