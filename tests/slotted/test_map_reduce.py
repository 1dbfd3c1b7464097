"""Map and reduce jobs in steps: tables, files, traces, and the generator of section VII."""

import gzip
import io
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from malleable.files.csv import csv_text
from malleable.slotted.generate import SETTINGS, MapReduceStream, section7
from malleable.slotted.table import join_tables
from tests.trace_files import trace_file

TABLE = "name,arrival,map,reduce\na,3,2,4;1\nb,1,0,\nc,2,5,7\n"
MIB = 2**20


def write_map_reduce_jobs(jobs, path):
    """A table as people write it."""
    columns = {"name": jobs.name, "arrival": jobs.arrival, "map": jobs.map}
    columns["reduce"] = [";".join(map(str, lengths)) for lengths in jobs.reduce]
    if jobs.reduce_estimate is not None:
        columns["reduce_estimate"] = jobs.reduce_estimate
    path.write_text(csv_text(columns), newline="")


def same(left, right):
    for column in ("arrival", "map", "task_offset", "task", "name"):
        assert list(getattr(left, column)) == list(getattr(right, column))


def test_columns():
    jobs = mb.MapReduceJobs([2, 0], [[4, 1], []], arrival=[3, 1])
    assert (len(jobs), jobs.reduce, jobs.reduce_work.tolist()) == (2, [[4, 1], []], [5, 0])
    assert jobs.task.tolist() == [4, 1]
    assert jobs.task_offset.tolist() == [0, 2, 2]
    assert jobs.name == ("job0", "job1")
    assert repr(jobs) == "MapReduceJobs(2 jobs, 7 units)"
    with pytest.raises(ValueError, match="read-only"):
        jobs.map[0] = 1
    same(jobs.take([1, 0]).take([1, 0]), mb.MapReduceJobs([2, 0], [[4, 1], []], arrival=[3, 1]))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"map": [1, -1], "reduce": [[], []]}, r"map\[1\] = -1"),
        ({"map": [1, 1.5], "reduce": [[], []]}, r"map\[1\] = 1\.5"),
        ({"map": [1, float("nan")], "reduce": [[], []]}, r"map\[1\] = nan"),
        ({"map": [1, 2**41], "reduce": [[], []]}, r"map\[1\]"),
        ({"map": "ab", "reduce": [[], []]}, "map = 'ab'"),
        ({"map": [[1]], "reduce": [[]]}, "map has 2 dimensions"),
        ({"map": [1], "reduce": [[1], [2]]}, "reduce has 2 entries but map has 1"),
        ({"map": [1, 1], "reduce": [[2], [3, 0]]}, r"reduce\[1\] = 0"),
        ({"map": [1, 1], "reduce": [[2], [3, 1.5]]}, r"reduce\[1\] = 1\.5"),
        ({"map": [1, 1], "reduce": [[2], 3]}, r"reduce\[1\] = 3: not a list"),
        ({"map": [1, 1], "reduce": [[2], ["x"]]}, r"reduce\[1\] = 'x'"),
        ({"map": [1], "reduce": 5}, "one list of task lengths per job"),
        ({"map": [1], "reduce": [[1]], "arrival": 0}, r"arrival\[0\] = 0"),
        ({"map": [1], "reduce": [[1]], "arrival": [1, 2]}, "arrival has 2 entries"),
        ({"map": [1], "reduce": [[1]], "name": "a"}, "not a single text"),
        ({"map": [1], "reduce": [[1]], "name": ["a", "b"]}, "name has 2 entries"),
    ],
)
def test_wrong_columns(columns, message):
    with pytest.raises(ValueError, match=message):
        mb.MapReduceJobs(**columns)


def test_read():
    jobs = mb.read(io.StringIO(TABLE)).map_reduce()
    same(
        jobs,
        mb.MapReduceJobs([2, 0, 5], [[4, 1], [], [7]], arrival=[3, 1, 2], name=["a", "b", "c"]),
    )
    packed = io.BytesIO(gzip.compress(TABLE.encode()))
    same(mb.read(packed).map_reduce(), jobs)
    assert mb.read(io.StringIO("map,reduce\n1,2\n")).map_reduce().arrival.tolist() == [1]


def test_estimates_of_a_table(tmp_path):
    text = "map,reduce,reduce_estimate\n1,2;3,7.5\n2,,0\n"
    jobs = mb.read(io.StringIO(text)).map_reduce()
    assert jobs.reduce_estimate.tolist() == [7.5, 0.0]
    assert jobs.take([1]).reduce_estimate.tolist() == [0.0]
    write_map_reduce_jobs(jobs, tmp_path / "t.csv")
    again = mb.read(tmp_path / "t.csv").map_reduce()
    same(again, jobs)
    assert again.reduce_estimate.tolist() == [7.5, 0.0]
    with pytest.raises(ValueError, match=r"reduce_estimate\[1\] = -2"):
        mb.MapReduceJobs([1, 1], [[1], [1]], reduce_estimate=[1, -2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("reduce\n1\n", "column 'map' is missing"),
        ("map,reduce,size\n1,2,3\n", "unknown column 'size'"),
        ("map,map,reduce\n1,1,2\n", "occurs twice"),
        ("map,reduce\n1\n", "row 0: 1 cells, but the header has 2"),
        ("map,reduce\n1,2\nx,2\n", "row 1, map = 'x': not a number"),
        ("map,reduce\n1,2;y\n", "row 0, reduce = '2;y': not a number"),
        ("map,reduce\n1,2;0\n", r"reduce\[0\] = 0"),
        ("", "empty, no jobs in it"),
    ],
)
def test_wrong_files(text, message):
    with pytest.raises(ValueError, match=message):
        mb.read(io.StringIO(text)).map_reduce()


@given(
    st.lists(
        st.tuples(
            st.integers(1, 2**50), st.integers(0, 2**20), st.lists(st.integers(1, 99), max_size=4)
        ),
        max_size=6,
    )
)
def test_written_and_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("tables") / "t.csv"
    jobs = mb.MapReduceJobs(
        [m for _, m, _ in rows], [r for _, _, r in rows], arrival=[a for a, _, _ in rows]
    )
    write_map_reduce_jobs(jobs, path)
    same(mb.read(path).map_reduce(), jobs)


@pytest.mark.parametrize("setting", SETTINGS)
def test_section_7(setting):
    jobs = section7(setting, steps=20_000, rng=1)
    stream = MapReduceStream(setting, steps=20_000)
    work = jobs.map + jobs.reduce_work
    assert len(jobs) == pytest.approx(40_000, rel=0.02)
    assert work.mean() == pytest.approx(stream.mean_work, rel=0.02)
    assert stream.mean_work == pytest.approx(45.0, rel=0.003)  # load 0.9
    assert min(jobs.map.min(), jobs.reduce_work.min()) >= 1
    count = np.diff(jobs.task_offset)
    assert (count.min(), count.max()) == (1, 10)
    # Even: the tasks of a job differ by one unit at most.
    longest = np.maximum.reduceat(jobs.task, jobs.task_offset[:-1])
    shortest = np.minimum.reduceat(jobs.task, jobs.task_offset[:-1])
    assert set((longest - shortest).tolist()) == {0, 1}
    if setting.startswith("uniform"):
        assert jobs.reduce_work.max() == stream.sizes[1][1]


def test_streams_are_drawn_in_chunks(monkeypatch):
    stream = MapReduceStream("exp-small", steps=500, rate=3.0)
    monkeypatch.setattr("malleable.slotted.generate._CHUNK_JOBS", 100)
    parts = list(stream.chunks(5))
    assert len(parts) == math.ceil(500 / 33)
    arrival = join_tables(parts).arrival
    assert (np.diff(arrival) >= 0).all()
    same(join_tables(parts), join_tables(list(stream.chunks(5))))
    assert len(join_tables([])) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"setting": "exp"}, "setting = 'exp'"),
        ({"setting": (1.0, 2.0)}, "setting = "),
        ({"steps": float("inf")}, "steps = inf"),
        ({"steps": None}, "steps = None"),
        ({"rate": "x"}, "rate = 'x'"),
        ({"steps": -1}, "steps = -1"),
        ({"rate": 0.0}, "rate = 0"),
        ({"rate": 1e7}, "rate"),
    ],
)
def test_wrong_streams(options, message):
    with pytest.raises(ValueError, match=message):
        MapReduceStream(**options)


SWIM = (
    f"j0\t0\t0\t{130 * MIB}\t2500000000\t7\n"
    f"j1\t39\t39\t{64 * MIB}\t0\t0\n"
    "j2\t40\t1\t0\t0\t0\n"
    "j3\t61\t21\t1\t1\t0\n"
)


def test_swim():
    jobs = mb.read(io.StringIO(SWIM)).map_reduce()
    # Steps of 20 s; a reduce task of 10^9 bytes takes 300 s = 15 steps, half of one 8.
    same(
        jobs,
        mb.MapReduceJobs(
            [3, 1, 0, 1],
            [[15, 15, 8], [], [], [1]],
            arrival=[1, 2, 3, 4],
            name=["j0", "j1", "j2", "j3"],
        ),
    )
    coarse = mb.read(io.StringIO(SWIM)).map_reduce(
        slot=60, block_bytes=MIB, reduce_bytes=5e8, reduce_seconds=60
    )
    assert coarse.map.tolist() == [130, 64, 0, 1]
    assert coarse.reduce == [[1] * 5, [], [], [1]]
    assert coarse.arrival.tolist() == [1, 1, 1, 2]
    with pytest.raises(ValueError, match="slot = 0"):
        mb.read(io.StringIO(SWIM)).map_reduce(slot=0)


def rumen(name, submit, maps, reduces):
    def attempts(times, reduce=False):
        return [
            {
                "attempts": [
                    {
                        "startTime": a * 1000,
                        **(
                            {"shuffleFinished": a * 1000, "sortFinished": a * 1000}
                            if reduce
                            else {}
                        ),
                        "finishTime": b * 1000,
                        "result": "SUCCESS",
                    }
                ]
            }
            for a, b in times
        ]

    return json.dumps(
        {
            "jobID": name,
            "submitTime": submit * 1000,
            "finishTime": 10**6,
            "mapTasks": attempts(maps),
            "reduceTasks": attempts(reduces, True),
        }
    )


def test_rumen():
    text = rumen("late", 130, [(130, 150), (130, 150)], [(150, 211)])
    text += rumen("early", 100, [(100, 110), (100, 130)], [(130, 131), (130, 170)])
    # The mean map task takes (10 + 30 + 20 + 20) / 4 = 20 s.
    expected = mb.MapReduceJobs([2, 2], [[1, 2], [4]], arrival=[1, 2], name=["early", "late"])
    same(mb.read(io.StringIO(text)).map_reduce(), expected)
    ten = mb.read(io.StringIO(text)).map_reduce(slot=10)
    assert (ten.reduce, ten.arrival.tolist()) == ([[1, 4], [7]], [1, 4])
    with pytest.raises(ValueError, match="say slot"):
        mb.read(io.StringIO(rumen("none", 0, [], [(1, 2)]))).map_reduce()


def test_real_traces():
    swim = trace_file("swim-facebook", "FB-2009_samples_24_times_1hr_0.tsv.gz")
    for path in (
        swim,
        swim.parent.parent / "hadoop-rumen" / "trace_7m.json.gz",
    ):
        jobs = mb.read(path).map_reduce()
        machines = max(1, int((jobs.map.sum() + jobs.task.sum()) / (0.8 * jobs.arrival.max())))
        summary = mb.simulate(jobs, "unlock", machines=machines).summary["unlock"]
        assert summary["jobs"] == len(jobs) > 20
        assert summary["mean_response"] >= summary["tight_bound"] >= summary["lower_bound"] > 0
