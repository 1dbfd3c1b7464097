"""Job tables: CSV, Parquet and data frames in, CSV out."""

from __future__ import annotations

import gzip
import io
import math
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import malleable as mb
from malleable.jobs.table import ALL_SLOTS, Jobs
from malleable.traces.job_table import read_jobs, write_jobs

FULL = """\
name,arrival,work,min_slots,max_slots,weight,deadline,sla,user
a,1.5,10,1,4,2,20,5:1;10:2.5,ann
b,,3e2,,,,,,
"c, the third",0,0, 2 ,4.0,0.5, ,7:1,bob
"""


def table(text: str) -> Jobs:
    return read_jobs(io.StringIO(text))


def same(left: Jobs, right: Jobs) -> bool:
    columns = ("arrival", "work", "min_slots", "max_slots", "weight", "deadline")
    columns += ("sla_offset", "sla_time", "sla_penalty")
    return (
        all(np.array_equal(getattr(left, c), getattr(right, c)) for c in columns)
        and left.name == right.name
        and left.user == right.user
    )


def check_full(jobs: Jobs, second: str = "b") -> None:
    assert jobs.name == ("a", second, "c, the third")
    assert jobs.arrival.tolist() == [1.5, 0, 0]
    assert jobs.work.tolist() == [10, 300, 0]
    assert jobs.min_slots.tolist() == [1, 0, 2]
    assert jobs.max_slots.tolist() == [4, ALL_SLOTS, 4]
    assert jobs.weight.tolist() == [2, 1, 0.5]
    assert jobs.deadline.tolist() == [20, math.inf, math.inf]
    assert jobs.sla == [[(5, 1), (10, 2.5)], [], [(7, 1)]]
    assert jobs.user == ("ann", "", "bob")


@pytest.mark.parametrize(
    "data",
    [
        FULL.encode(),
        b"\xef\xbb\xbf" + FULL.encode(),
        FULL.replace("\n", "\r\n").encode(),
        FULL.replace("\n", "\n\n").encode(),
        FULL.rstrip("\n").encode(),
        gzip.compress(FULL.encode()),
    ],
    ids=["plain", "bom", "crlf", "blank lines", "no last newline", "gzip"],
)
def test_full_table(data: bytes, tmp_path: Path) -> None:
    check_full(read_jobs(io.BytesIO(data)))
    path = tmp_path / "jobs"
    path.write_bytes(data)
    check_full(read_jobs(path))


def test_only_work_is_required() -> None:
    jobs = table("work\n3\n4\n")
    assert jobs.work.tolist() == [3, 4]
    assert jobs.name == ("job0", "job1")
    assert jobs.max_slots.tolist() == [ALL_SLOTS] * 2
    assert jobs.user is None
    assert same(jobs, Jobs([3, 4]))


def test_columns_in_any_order_and_blank_names() -> None:
    jobs = table("work,name\n1,\n2,x\n")
    assert jobs.name == ("job0", "x")


def test_header_alone_is_no_jobs() -> None:
    assert len(table("work\n")) == 0
    assert len(table("name,work,sla,user,max_slots\n")) == 0


def test_semicolons_between_cells() -> None:
    text = 'name;work;sla;arrival\n"a;b";5;"9:1;12:2";3\nc;6;;\n'
    jobs = table(text)
    assert jobs.name == ("a;b", "c") and jobs.work.tolist() == [5, 6]
    assert jobs.sla == [[(9, 1), (12, 2)], []] and jobs.arrival.tolist() == [3, 0]
    assert mb.read(io.StringIO("\n" + text)).jobs() == jobs
    with pytest.raises(ValueError, match="row 0: 3 cells, but the header has 2"):
        table("name;work\na;1;5\n")


def test_iso_dates() -> None:
    text = (
        "work,arrival,deadline,sla\n1,2024-05-01T09:30:00,2024-05-01T12:30:00+02:00,"
        "2024-05-01T10:00:5;2024-05-02:6\n2,2024-05-01,,\n3,7,9,8:1\n"
    )
    jobs = table(text)
    assert jobs.arrival.tolist() == [1714555800, 1714521600, 7]
    assert jobs.deadline.tolist() == [1714559400, math.inf, 9]
    assert jobs.sla == [[(1714557600, 5), (1714608000, 6)], [], [(8, 1)]]
    assert mb.read(io.StringIO(text)).format == "job table"


BAD = {
    "work,arrival\n1,2024-05-32\n": "row 0, arrival = '2024-05-32': not a number or a date",
    "work,weight\n1,2024-05-02\n": "row 0, weight = '2024-05-02': not a number",
    "work;weight\n1;2,5\n": "row 0, weight = '2,5': not a number",
    "": "empty; a job table starts with a header",
    "\n\n": "empty; a job table starts with a header",
    "name\nx\n": "column 'work' is missing",
    "work,wieght\n1,2\n": r"unknown column 'wieght'; did you mean 'weight'\?",
    "work,Deadline\n1,2\n": r"unknown column 'Deadline'; did you mean 'deadline'\?",
    "work,zzz\n1,2\n": r"unknown column 'zzz'; expected work, arrival,",
    "work,\n1,\n": "unknown column ''; expected work",
    "work;arrival,x\n1;2\n": "unknown column 'work;arrival'",
    "work,work\n1,2\n": "column 'work' occurs twice",
    "work,weight\n1,2\n1\n": "row 1: 1 cells, but the header has 2",
    "work,weight\n1,2,3\n": "row 0: 3 cells, but the header has 2",
    "work\n1\n2\n3\nabc\n": "row 3, work = 'abc': not a number",
    "work\n1_000\n": "row 0, work = '1_000': not a number",
    "work,name\n,x\n": "row 0, work: blank, but required",
    "work,name\n1,x\n  ,y\n": "row 1, work: blank, but required",
    "work,weight\n1,heavy\n": "row 0, weight = 'heavy': not a number",
    "work,max_slots\n1,2.5\n": "row 0, max_slots = '2.5': not a whole number",
    "work,min_slots\n1,inf\n": "row 0, min_slots = 'inf': not a whole number",
    "work,max_slots\n1,nan\n": "row 0, max_slots = 'nan': not a whole number",
    "work,max_slots\n1,all\n": "row 0, max_slots = 'all': not a number",
    "work,max_slots\n1,1_0\n": "row 0, max_slots = '1_0': not a number",
    "work,max_slots\n1,9223372036854775808\n": "max_slots = '9223372036854775808': too large",
    "work,max_slots\n1,1e30\n": "row 0, max_slots = '1e30': too large",
    "work,sla\n1,5\n": "row 0, sla = '5': not of the form t:p;t:p",
    "work,sla\n1,5:1;\n": "row 0, sla = '5:1;': not of the form",
    "work,sla\n1,5:1:2\n": "row 0, sla = '5:1:2': not of the form",
    "work,sla\n1,a:b\n": "row 0, sla = 'a:b': not of the form",
    "work,sla\n1,1_0:2\n": "row 0, sla = '1_0:2': not of the form",
    'work,name\n1,"open\n': "line 2: unexpected end of data",
    'work,name\n1,"a"b\n': "line 2:",
    "work\n-1\n": r"work\[0\] = -1",
    "work\n1\nnan\n": r"work\[1\] = nan",
    "work\ninf\n": r"work\[0\] = inf",
    "work,weight\n1,nan\n": r"weight\[0\] = nan",
    "work,min_slots,max_slots\n1,3,2\n": r"min_slots\[0\] = 3",
    "work,max_slots\n1,-2\n": r"max_slots\[0\]",
    "work,sla\n1,5:2;4:3\n": r"sla\[0\]",
    "work,name\n1,x\n1,x\n": r"name\[1\] = 'x'",
}


@pytest.mark.parametrize("text", BAD)
def test_malformed_table_names_file_and_place(text: str, tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=BAD[text]) as caught:
        read_jobs(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_huge_cell_gives_a_short_message() -> None:
    with pytest.raises(ValueError, match="not a number") as caught:
        table("work\n" + "x" * 100_000 + "\n")
    assert len(str(caught.value)) < 200


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
amounts = st.just(0.0) | st.floats(1e-12, 1e12)


@st.composite
def job_tables(draw: st.DrawFn) -> Jobs:
    count = draw(st.integers(0, 6))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    least = column(st.integers(0, 2**40))
    extra = column(st.none() | st.integers(1, 2**40))
    steps = st.lists(st.tuples(st.integers(0, 99), amounts), max_size=3)
    slas = [
        list(zip(sorted({t / 7 for t, _ in s}), sorted(p for _, p in s), strict=False))
        for s in column(steps)
    ]
    return Jobs(
        column(amounts),
        arrival=column(amounts),
        min_slots=least,
        max_slots=[ALL_SLOTS if e is None else m + e for m, e in zip(least, extra, strict=True)],
        weight=column(amounts),
        deadline=column(amounts | st.just(math.inf)),
        sla=draw(st.sampled_from([None, slas])),
        name=draw(
            st.none() | st.lists(names.filter(bool), min_size=count, max_size=count, unique=True)
        ),
        user=draw(st.none() | st.lists(names, min_size=count, max_size=count)),
    )


@given(job_tables())
@example(Jobs(work=[], user=[]))
def test_written_table_reads_back_identically(jobs: Jobs) -> None:
    text = io.StringIO()
    write_jobs(jobs, text)
    binary = io.BytesIO()
    write_jobs(jobs, binary)
    assert binary.getvalue() == text.getvalue().encode()
    binary.seek(0)
    assert same(read_jobs(binary), jobs)


@given(st.lists(amounts, max_size=20), st.data())
def test_numbers_agree_with_float(values: list[float], data: st.DataObject) -> None:
    cells = [data.draw(st.sampled_from([f"{v!r}", f" {v!r}", f"{v:.20e}"])) for v in values]
    assert table("\n".join(["work", *cells])).work.tolist() == values


def test_write_to_a_path(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    jobs = Jobs([1, 2], name=["a\rb", 'say "x", then\ny'], user=["", "é"])
    write_jobs(jobs, path)
    assert same(read_jobs(path), jobs)
    with pytest.raises(FileExistsError, match="force"):
        write_jobs(jobs, path, force=False)
    write_jobs(jobs.take([0]), path)
    assert len(read_jobs(path)) == 1
    with (tmp_path / "other").open("wb") as handle:
        write_jobs(jobs, handle)
        assert not handle.closed
    assert same(read_jobs(tmp_path / "other"), jobs)


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800"])
def test_names_that_text_cannot_hold_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"name\[1\] = "):
        write_jobs(Jobs([1, 2], name=["x", name]), tmp_path / "jobs.csv")
    assert not list(tmp_path.iterdir())


# --- Parquet and data frames -------------------------------------------------------------------


def arrow_table(**columns: Any) -> Any:
    return pytest.importorskip("pyarrow").table(columns)


def full_arrow_table() -> Any:
    return arrow_table(
        name=["a", None, "c, the third"],
        arrival=[1.5, None, 0],
        work=[10, 300, 0],
        min_slots=[1, None, 2],
        max_slots=[4.0, None, 4.0],
        weight=[2, None, 0.5],
        deadline=["20", "", None],
        sla=["5:1;10:2.5", None, "7:1"],
        user=["ann", None, "bob"],
    )


class OnlyInterchange:
    """A data frame that speaks the older protocol only."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __dataframe__(self, **options: Any) -> Any:
        return self._frame.__dataframe__(**options)


def test_data_frames() -> None:
    frame = full_arrow_table()
    for source in (frame, OnlyInterchange(frame)):
        check_full(read_jobs(source), second="job1")


def test_dates_of_frames() -> None:
    moment = datetime(2024, 5, 1, 9, 30, tzinfo=timezone.utc)
    columns = {"work": [1.0, 2.0], "arrival": [moment, None], "deadline": [moment, moment]}
    jobs = read_jobs(arrow_table(**columns))
    assert jobs.arrival.tolist() == [1714555800, 0] and jobs.deadline.tolist() == [1714555800] * 2
    assert read_jobs(arrow_table(work=[1.0], arrival=[moment.date()])).arrival[0] == 1714521600


def test_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "table.csv"  # the suffix does not matter
    parquet.write_table(full_arrow_table(), path)
    expected = read_jobs(full_arrow_table())
    assert same(read_jobs(path), expected)
    assert same(read_jobs(io.BytesIO(path.read_bytes())), expected)
    assert same(read_jobs(io.BytesIO(gzip.compress(path.read_bytes()))), expected)


def test_parquet_that_is_damaged(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "table.parquet"
    parquet.write_table(full_arrow_table(), path)
    for data in (path.read_bytes()[:-20], b"PAR1", b"PAR1" + bytes(100)):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="damaged Parquet file") as caught:
            read_jobs(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)


def test_frame_with_sla_lists() -> None:
    assert read_jobs(arrow_table(work=[1, 2], sla=[[[5, 1], [6, 2]], None])).sla == [
        [(5, 1), (6, 2)],
        [],
    ]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"wrk": [1]}, r"data frame: unknown column 'wrk'; did you mean 'work'\?"),
        ({"name": ["x"]}, "data frame: column 'work' is missing"),
        ({"work": [1, None]}, "data frame: row 1, work: blank, but required"),
        ({"work": [True]}, "data frame: row 0, work = True: not a number"),
        ({"work": ["x"]}, "data frame: row 0, work = 'x': not a number"),
        ({"work": [1.0], "max_slots": [1.5]}, "row 0, max_slots = 1.5: not a whole number"),
        ({"work": [1.0], "max_slots": [False]}, "row 0, max_slots = False: not a number"),
        ({"work": [1.0], "sla": [[1.0, 2.0]]}, "row 0, sla = .*: not of the form t:p;t:p"),
        ({"work": [float("nan")]}, r"data frame: work\[0\] = nan"),
    ],
)
def test_malformed_frames(columns: dict[str, list[Any]], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_jobs(arrow_table(**columns))


def test_pandas_frames_of_every_shape() -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"work": [1.0, 2.0, 3.0], "deadline": [5.0, None, 7.0]})
    assert read_jobs(frame).deadline.tolist() == [5, math.inf, 7]
    assert read_jobs(frame[frame.work > 1]).work.tolist() == [2, 3]  # an index with gaps
    named = frame.assign(name=["a", "b", "c"]).set_index("name")
    assert read_jobs(named).name == ("a", "b", "c")
    with pytest.raises(ValueError, match="data frame: "):
        read_jobs(pd.DataFrame({"work": [1, "x", object()]}))


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"Parquet needs pyarrow: pip install .malleable\[tables"):
        read_jobs(io.BytesIO(b"PAR1...."))
    with pytest.raises(ImportError, match=r"a data frame needs pyarrow: pip install .malleable"):
        read_jobs(OnlyInterchange(None))
    assert len(table("work\n1\n")) == 1
