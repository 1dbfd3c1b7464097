"""Formats told apart by content."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from tests.trace_files import trace_file

TABLE = "work,arrival\n5,0\n6,9\n"
SWIM = "j0\t0\t0\t67108864\t0\t0\nj1\t9\t9\t0\t1000000000\t0\n"
RUMEN = json.dumps(
    {
        "jobID": "j0",
        "submitTime": 1000,
        "mapTasks": [{"attempts": [{"startTime": 2000, "finishTime": 7000, "result": "SUCCESS"}]}],
    }
)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("text", "work"),
    [
        (TABLE, [5, 6]),
        ("\ufeff\r\n" + TABLE, [5, 6]),
        ('"work"\n1\n', [1]),
        (SWIM, [20, 0]),
        (RUMEN, [5]),
        ("\n " + RUMEN, [5]),
    ],
)
def test_text_formats(text: str, work: list[float], packed: bool, tmp_path: Path) -> None:
    path = tmp_path / "workload.dat"
    data = text.encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    for source in (path, io.BytesIO(path.read_bytes())):
        assert mb.read(source).jobs().work.tolist() == work
    if not packed:
        assert mb.read(io.StringIO(text)).jobs().work.tolist() == work


@pytest.mark.parametrize(
    ("text", "kind"), [(TABLE, "job table"), (SWIM, "SWIM trace"), (RUMEN, "Rumen trace")]
)
def test_the_format_is_told(text: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "workload"
    path.write_text(text)
    stream = io.BytesIO(b"before" + text.encode())
    stream.seek(6)
    for source in (path, str(path), stream):
        trace = mb.read(source)
        assert trace.format == kind
        assert repr(trace).startswith(f"Trace({kind}, ")
    with pytest.raises(ValueError, match="empty, no jobs in it"):
        mb.read(io.BytesIO())


def test_parquet_and_frames(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    frame = pa.table({"work": [5, 6], "arrival": [0, 9]})
    parquet.write_table(frame, tmp_path / "x")
    (tmp_path / "y").write_bytes(gzip.compress((tmp_path / "x").read_bytes()))
    for source in (frame, tmp_path / "x", tmp_path / "y"):
        assert mb.read(source).format == "job table"
        assert mb.read(source).jobs(phase="reduce").work.tolist() == [5, 6]
        assert mb.read(source).jobs(at=3).work.tolist() == [5]


def test_phase_snapshot_and_options_reach_the_reader() -> None:
    assert mb.read(io.StringIO(SWIM)).jobs(phase="reduce").work.tolist() == [0, 300]
    assert mb.read(io.StringIO(SWIM)).jobs(task_seconds=7).work.tolist() == [7, 0]
    assert mb.read(io.StringIO(SWIM)).jobs(keep_zero=False).name == ("j0",)
    with pytest.warns(UserWarning, match="a SWIM trace does not say when work was done"):
        assert mb.read(io.StringIO(SWIM)).jobs(at=8.9).name == ("j0",)
    assert mb.read(io.StringIO(TABLE)).jobs(at=9).work.tolist() == [5, 6]
    assert mb.read(io.StringIO(RUMEN)).jobs(at=4).work.tolist() == [2]
    with pytest.raises(ValueError, match="option 'task_seconds' does not apply to a job table"):
        mb.read(io.StringIO(TABLE)).jobs(task_seconds=7)
    with pytest.raises(ValueError, match="option 'reduce_from' does not apply to a SWIM trace"):
        mb.read(io.StringIO(SWIM)).jobs(reduce_from="start")
    with pytest.warns(UserWarning, match=r"1 of 3 jobs malformed: line 3: 1 tab-separated"):
        assert len(mb.read(io.StringIO(SWIM + "j2\n"), skip_bad=True).jobs()) == 2
    with pytest.raises(ValueError, match="skip_bad = 'ignore'"):
        mb.read(io.StringIO(TABLE), skip_bad="ignore").jobs()
    with pytest.raises(ValueError, match="phase = 'shuffle'"):
        mb.read(io.StringIO(SWIM)).jobs(phase="shuffle")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "empty, no jobs in it"),
        (b"\r\n\n", "empty, no jobs in it"),
        (b"\x7fELF\0\0\0", "binary data, neither gzip, bz2, zstd, lz4 nor Parquet"),
        (b"[1, 2]", r"unknown format, begins with '\[1, 2\]'; JSON that is read: of sacct"),
        (b"a\tb\tc\td\te\tf\n", "unknown format"),
        (b"\xff\xfe\xfd", "unknown format"),
        (b"wrok,arrival\n1,2\n", r"unknown column 'wrok'; did you mean 'work'\?"),
        (b"wrok\n1\n", r"unknown column 'wrok'; did you mean 'work'\?"),
        (b"work\n\xff\n", "not UTF-8"),
        (b'{"slots": 3}', "line 1: an object without jobID, not a job of a Rumen trace"),
        (SWIM.encode() + b"j2\n", "line 3: 1 tab-separated fields"),
        (gzip.compress(TABLE.encode(), mtime=0)[:-9], "truncated"),
    ],
)
def test_what_cannot_be_read(data: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "workload"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=problem) as caught:
        mb.read(path).jobs()
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


PIECES = [b"work", b",", b"\n", b"1", b"{", b"}", b'"', b"jobID", b":", b"\t", b"PAR1", b"\xff"]


@given(
    st.binary(max_size=60)
    | st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)
    | st.binary(max_size=20).map(gzip.compress),
    st.sampled_from([TABLE, SWIM, RUMEN]).map(str.encode),
    st.integers(0, 80),
)
def test_any_bytes_give_jobs_or_one_line(junk: bytes, good: bytes, place: int) -> None:
    if b"PAR1" in junk:
        pytest.importorskip("pyarrow")
    for data in (junk, good[:place] + junk + good[place:]):
        try:
            mb.read(io.BytesIO(data)).jobs()
        except ValueError as error:
            assert str(error).startswith("<input>: ")
            assert "\n" not in str(error)


def test_missing_file_and_wrong_type() -> None:
    with pytest.raises(FileNotFoundError):
        mb.read("no/such/file").jobs()
    wrong: Any = 7
    with pytest.raises(TypeError, match="a path or a file object, got int"):
        mb.read(wrong).jobs()


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("swim-facebook/FB-2009_samples_24_times_1hr_0.tsv.gz", 5894),
        ("hadoop-rumen/folder-input-trace.json.gz", 59),
    ],
)
def test_real_traces(name: str, count: int) -> None:
    assert len(mb.read(trace_file(name)).jobs()) == count
