"""SWIM traces."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from tests.trace_files import trace_file

MIB = 2**20
TRACE = (
    f"j0\t5\t5\t{130 * MIB}\t2500000000\t7\n"
    f"j1\t5\t0\t{64 * MIB}\t0\t0\n"
    "j2\t9\t4\t0\t0\t0\n"
    "j3\t9\t0\t1\t1\t0\n"
)


def test_map_phase() -> None:
    jobs = mb.read(io.StringIO(TRACE)).jobs()
    assert jobs.name == ("j0", "j1", "j2", "j3")
    assert jobs.arrival.tolist() == [5, 5, 9, 9]
    assert jobs.max_slots.tolist() == [3, 1, 1, 1]
    assert jobs.work.tolist() == pytest.approx([130 / 64 * 20, 20, 0, 20 / (64 * MIB)])


def test_reduce_phase_and_rates() -> None:
    jobs = mb.read(io.BytesIO(TRACE.encode())).jobs(phase="reduce")
    assert jobs.max_slots.tolist() == [3, 1, 1, 1]
    assert jobs.work.tolist() == pytest.approx([750, 0, 0, 3e-7])
    jobs = mb.read(io.StringIO(TRACE)).jobs(phase="reduce", reduce_bytes=5e8, reduce_seconds=1)
    assert jobs.max_slots.tolist() == [5, 1, 1, 1]
    assert jobs.work[0] == 5
    jobs = mb.read(io.StringIO(TRACE)).jobs(block_bytes=MIB, task_seconds=2)
    assert jobs.max_slots.tolist() == [130, 64, 1, 1]
    assert jobs.work[0] == 260


def test_jobs_without_bytes_can_be_left_out() -> None:
    assert mb.read(io.StringIO(TRACE)).jobs(keep_zero=False).name == ("j0", "j1", "j3")
    assert mb.read(io.StringIO(TRACE)).jobs(keep_zero=False, phase="reduce").name == ("j0", "j3")


def test_sorted_by_arrival_ties_in_file_order() -> None:
    lines = TRACE.splitlines()
    text = "\r\n".join([lines[2], lines[0], "", lines[3], lines[1]])
    assert mb.read(io.StringIO(text)).jobs().name == ("j0", "j1", "j2", "j3")


@pytest.mark.parametrize("paths", ["\tin\tout", "\tin\t\t", "\tin 1\tin 2\tin,3\tout"])
def test_appended_paths_are_ignored_wherever_swim_is_read(paths: str) -> None:
    """SWIM's ``withInputPaths`` files have nine columns."""
    text = "".join(f"{line}{paths}\n" for line in TRACE.splitlines())
    for name, column in (
        ("jobs", "work"),
        ("map_shuffle", "map"),
        ("map_reduce", "map"),
        ("tasks", "maps"),
    ):
        found, expected = (
            getattr(getattr(mb.read(io.StringIO(t)), name)(), column) for t in (text, TRACE)
        )
        assert np.array_equal(found, expected) and expected.sum() > 0


def test_real_files_with_paths() -> None:
    path = trace_file("swim-facebook", "FB-2010_withInputPaths_first400.tsv.gz")
    trace = mb.read(path)
    assert len(trace.jobs()) == 400
    # By awk: sums of columns 4 and 5, the last of column 2.
    assert f"{trace.map.bytes.sum():.6g} {trace.reduce.bytes.sum():.6g}" == "1.8055e+13 6.87022e+12"
    assert trace.arrival[-1] == 1827


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("j9\t9\t0\t1\t1", "5 tab-separated fields, expected at least 6"),
        ("j9 9 0 1 1 1", "1 tab-separated fields"),
        ("j9\t1e300\t0\t1\t1\t1", r"submit time = 1e.*: must be from 0"),
        ("j9\t9\t0\t1\t1" + "0" * 400 + "\t1", "shuffle = inf: must be from 0"),
        ("\t9\t0\t1\t1\t1", "blank job name"),
        ("j9\tx\t0\t1\t1\t1", "submit time = 'x': must be from 0"),
        ("j9\t9\t0\t\t1\t1", "map input = '': must be from 0"),
        ("j9\t9\t0\t1\t-1\t1", "shuffle = -1.0: must be from 0"),
        ("j9\t-9\t0\t1\t1\t1", "submit time = -9.0: must be"),
        ("j9\t9\t0\t1\t1\tnan", "reduce output = nan: must be"),
        ("j9\t9\tinf\t1\t1\t1", "gap = inf: must be"),
        ("j9\t9\t0\t1_0\t1\t1", "map input = '1_0': must be from 0"),
    ],
)
def test_malformed_line_is_named(line: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.tsv"
    path.write_text(TRACE + line + "\n")
    with pytest.raises(ValueError, match=f"line 5: {problem}") as caught:
        mb.read(path).jobs()
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_empty_trace_and_repeated_names(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="<input>: empty"):
        mb.read(io.StringIO("\n"))
    with pytest.raises(ValueError, match=r"<input>: name\[4\] = 'j0'"):
        mb.read(io.StringIO(TRACE + "j0\t10\t0\t0\t0\t0\n")).jobs()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"phase": "shuffle"}, "phase = 'shuffle': expected one of map, reduce"),
        ({"block_bytes": 0}, "block_bytes = 0: must be finite and above 0"),
        ({"task_seconds": float("nan")}, "task_seconds = nan"),
        ({"phase": "reduce", "reduce_bytes": -1}, "reduce_bytes = -1"),
        ({"phase": "reduce", "reduce_seconds": float("inf")}, "reduce_seconds = inf"),
    ],
)
def test_parameters_out_of_range(options: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        mb.read(io.StringIO(TRACE)).jobs(**options)  # type: ignore[arg-type]


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 10**13), st.integers(0, 10**13)),
        min_size=1,
        max_size=30,
    )
)
def test_bytes_become_work_in_proportion(rows: list[tuple[int, int, int]]) -> None:
    text = "".join(f"j{i}\t{s}\t0\t{m}\t{r}\t0\n" for i, (s, m, r) in enumerate(rows))
    order = sorted(range(len(rows)), key=lambda i: rows[i][0])
    packed = gzip.compress(text.encode())
    for phase, column, unit, seconds in (("map", 1, 64 * MIB, 20), ("reduce", 2, 10**9, 300)):
        jobs = mb.read(io.BytesIO(packed)).jobs(phase=phase)
        sizes = [rows[i][column] for i in order]
        assert jobs.name == tuple(f"j{i}" for i in order)
        assert jobs.work.tolist() == pytest.approx([b / unit * seconds for b in sizes], rel=1e-12)
        assert jobs.max_slots.tolist() == [max(1, -(-b // unit)) for b in sizes]


@pytest.mark.parametrize(
    ("name", "count", "map_zero", "shuffle_zero", "tied"),
    [
        ("FB-2009_samples_24_times_1hr_0.tsv.gz", 5894, 86, 4448, 230),
        ("FB-2010_samples_24_times_1hr_0.tsv.gz", 24442, 418, 8324, 4903),
    ],
)
def test_facebook(name: str, count: int, map_zero: int, shuffle_zero: int, tied: int) -> None:
    path = trace_file("swim-facebook", name)
    maps, reduces = mb.read(path).jobs(), mb.read(path).jobs(phase="reduce")
    assert len(maps) == len(reduces) == count
    assert maps.name == reduces.name
    assert (maps.work == 0).sum() == map_zero
    assert (reduces.work == 0).sum() == shuffle_zero
    assert (np.diff(maps.arrival) == 0).sum() == tied
    assert (np.diff(maps.arrival) >= 0).all()
    assert len(mb.read(path).jobs(keep_zero=False)) == count - map_zero
