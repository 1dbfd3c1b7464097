"""What a file may hold: bytes, depth, digits, tasks; and names that no spreadsheet runs."""

import csv
import gzip
import io
import json
import re
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from malleable.files.advice import LimitError
from malleable.files.csv import csv_text, formula_safe, without_apostrophe
from malleable.files.reading import MAX_SIZE, parse_size
from tests.slotted.test_map_reduce import write_map_reduce_jobs
from tests.traces.test_damaged_files import JOBS, MAP_REDUCES, READERS, TASKS, check

FORMULAS = [
    "=1+1",
    "+x",
    "-x",
    "@sum",
    "\tx",
    "\rx",
    "\nx",
    "'=x",
    "''-y",
    "'x",
    "'",
    "-",
    "=",
    "a=b",
]


@pytest.mark.parametrize("format", [name for name in READERS if name != "cluster"])
@pytest.mark.parametrize("packed", [False, True])
def test_more_bytes_than_allowed(format, packed, tmp_path):
    """The limit counts what comes out of gzip, and is met while reading."""
    text, readers = READERS[format]
    data = text.encode() + b" " * 20_000_000
    path = tmp_path / "trace"
    path.write_bytes(gzip.compress(data, 1) if packed else data)
    for reader in readers:
        with pytest.raises(LimitError) as caught:
            reader(path, max_size=64 << 10)
        told = f"{path}: more than 64 KiB, unpacked"
        assert str(caught.value) == f"{told} (a larger max_size reads it)"
        assert caught.value.in_commands == f"{told} (a larger --max-size reads it)"
        reader(io.BytesIO(text.encode()), max_size=len(text.encode()))
        reader(io.BytesIO(text.encode()), max_size=None)


def test_reading_stops_at_the_limit():
    """A source without end is left where the limit is."""

    class Endless(io.RawIOBase):
        read_so_far = 0

        def readable(self):
            return True

        def read(self, size=-1):
            assert 0 < size < 1 << 20
            self.read_so_far += size
            return b"1" * size

    for reader in (mb.read_jobs, JOBS, mb.read_flows, mb.read_cluster):
        source = Endless()
        with pytest.raises(ValueError, match=r"more than 1 MiB, unpacked|unknown|not TOML"):
            reader(source, max_size=1 << 20)
        assert source.read_so_far <= (1 << 20) + (1 << 17)
    with pytest.raises(ValueError, match="max_size = 0"):
        mb.read_jobs(io.StringIO("work\n1\n"), max_size=0)


def test_parquet_that_unpacks_to_much():
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    packed = io.BytesIO()
    pq.write_table(pa.table({"work": np.zeros(200_000)}), packed)
    assert packed.tell() < 50_000
    packed.seek(0)
    with pytest.raises(LimitError, match="more than 1 MiB, unpacked"):
        mb.read_jobs(packed, max_size=1 << 20)
    packed.seek(0)
    assert len(mb.read_jobs(packed)) == 200_000


def _parquet(columns, **how):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    packed = io.BytesIO()
    pq.write_table(pa.table(columns), packed, compression="zstd", **how)
    packed.seek(0)
    return packed


@pytest.mark.parametrize("name", ["dictionary", "plain", "in lists"])
def test_parquet_whose_dictionaries_stand_for_much(name):
    pa = pytest.importorskip("pyarrow")
    rows, text = 200_000, "x" * 1000
    names = pa.array([text] * rows)
    if name == "dictionary":
        names = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))
    elif name == "in lists":
        names = pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), names)
    packed = _parquet({"name": names, "work": pa.array([1.0] * rows)})
    assert len(packed.getvalue()) < 1 << 20
    with pytest.raises(LimitError, match="more than 16 MiB, unpacked"):
        mb.read_jobs(packed, max_size=16 << 20)


def test_parquet_whose_lists_are_long():
    pa = pytest.importorskip("pyarrow")
    rates = pa.array([[1.0] * 100_000] * 100)
    packed = _parquet({"work": pa.array([1.0] * 100), "speedup": rates})
    assert len(packed.getvalue()) < 1 << 20
    with pytest.raises(LimitError, match="more than 16 MiB, unpacked"):
        mb.read_jobs(packed, max_size=16 << 20)


def test_parquet_with_dictionaries_is_read_as_any_other():
    pa = pytest.importorskip("pyarrow")
    names = pa.array(["a", "b", None, "c"]).dictionary_encode()
    work = pa.array([3.0, 4.0, 3.0, 5.0]).dictionary_encode()
    jobs = mb.read_jobs(_parquet({"name": names, "work": work}), max_size=4096)
    assert [*jobs.name] == ["a", "b", "job2", "c"] and jobs.work.tolist() == [3.0, 4.0, 3.0, 5.0]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("10K", 10 << 10),
        ("500m", 500 << 20),
        ("1G", MAX_SIZE),
        ("2GiB", 2 << 30),
        ("3TB", 3 << 40),
    ],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5G", "G", "1X", "1e9", "9" * 30, "\u0661"])
def test_no_sizes(text):
    with pytest.raises(ValueError, match="not a size"):
        parse_size(text)


DEEP = 100_000


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (mb.read_flows, '{"flows": ' + "[" * DEEP),
        (mb.read_flows, '{"flows": ' * DEEP),
        (mb.read_flows, '{"workflow": ' * DEEP),
        (JOBS, '{"jobID": ' + "[" * DEEP),
        (TASKS, '{"jobID": ' + "[" * DEEP),
        (mb.read_cluster, "options = " + "[" * DEEP),
        (mb.read_cluster, "options = " + "{a=" * DEEP),
        (mb.read_cluster, "[" + "a." * 20_000 + "b]\nc = 1"),
    ],
)
def test_deep_files(reader, text):
    source = io.BytesIO(text.encode())
    source.name = "deep.file"
    with pytest.raises(ValueError, match=r"^deep\.file: ") as caught:
        reader(source)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("number", ["1" + "0" * 400, "1e999", "1" + "0" * 6000])
@pytest.mark.parametrize("format", READERS)
def test_huge_numbers_in_every_place(format, number):
    """Each number of each format in turn; the words of Python's own errors reach nobody."""
    text, readers = READERS[format]
    for span in [m.span() for m in re.finditer(r"(?<![\w.])\d[\d.e+]*", text)]:
        data = (text[: span[0]] + number + text[span[1] :]).encode()
        for reader in readers:
            told = check(reader, data)
            assert "digits" not in told or "thousands" in told
            assert "convert" not in told


@pytest.mark.parametrize("value", ["1e17", "1e30", "1e300"])
@pytest.mark.parametrize("column", [1, 3, 4])
def test_huge_numbers_in_swim(column, value):
    """No warning of NumPy, and an error that names file and line, in every reading."""
    cells = ["j1", "2", "1", "2000", "1000", "1"]
    cells[column] = value
    text = "j0\t1\t1\t2000\t1000\t1\n" + "\t".join(cells) + "\n"
    for reader in READERS["swim"][1]:
        source = io.BytesIO(text.encode())
        source.name = "big.tsv"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                reader(source)
            except ValueError as error:
                assert str(error).startswith("big.tsv: ")
                if value != "1e17":
                    assert "line 2: " in str(error) and "must be from 0" in str(error)
            else:
                assert value == "1e17"


def test_counts_that_nothing_backs():
    """A number of tasks is believed only as far as memory goes."""
    record = {"jobID": "j", "submitTime": 0, "mapTasks": [], "totalMaps": 10**9}
    for reader in (JOBS, TASKS, MAP_REDUCES):
        with pytest.raises(
            ValueError, match="job j: totalMaps = 1000000000, but 0 tasks are listed"
        ):
            reader(io.StringIO(json.dumps(record)))
    table = "maps,map_seconds\n2,1;2\n2000000000,5\n"
    with pytest.raises(ValueError, match="2,000,000,002 map tasks; where some have times"):
        mb.read(io.StringIO(table)).tasks()
    with pytest.raises(
        ValueError, match=r"maps\[0\] = 10000000000.0: must be a whole number from 0 to 2147483648"
    ):
        mb.read(io.StringIO("maps,map_seconds\n1e10,5\n")).tasks()
    nodes = "[[node]]\nslots = 1\ncount = 1048576\n" * 2
    with pytest.raises(ValueError, match=r"node\[1\]\.count = 1048576: more than 1,048,576 nodes"):
        mb.read_cluster(io.StringIO(nodes))


def test_long_cycles_are_named_by_their_first_jobs():
    count = 200_000
    jobs = [{"name": f"j{k}", "work": 1, "after": [f"j{(k + 1) % count}"]} for k in range(count)]
    with pytest.raises(ValueError, match=r"cycle: 'j\d+' -> ") as caught:
        mb.Flows([jobs])
    assert str(caught.value).endswith("-> ... (200,000 jobs)")
    assert len(str(caught.value)) < 300


# spreadsheets --------------------------------------------------------------------------------------


@given(st.text(alphabet="'=+-@\t\r\n ax", max_size=6) | st.text(max_size=6))
def test_safe_names_are_safe_and_come_back(name):
    safe = formula_safe(name)
    assert not safe.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert without_apostrophe(safe) == name
    assert safe in (name, f"'{name}")


def cells(text):
    return [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]


def harmless(text):
    for cell in cells(text):
        try:
            float(cell)
        except ValueError:
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")), cell


def test_every_csv_that_we_write_is_safe_and_read_back(tmp_path):
    """Tables come back with the same names; pieces and records are only written."""
    names = FORMULAS
    count = len(names)
    jobs = mb.Jobs(range(1, count + 1), name=names, user=names, sla=[[(-5.0, 1.0)]] * count)
    path = tmp_path / "t.csv"
    mb.write_jobs(jobs, path)
    with path.open(newline="") as stream:
        written = stream.read()
    harmless(written.replace("-5.0:1.0", "5.0:1.0"))
    read = mb.read_jobs(path)
    assert (read.name, read.user, read.sla) == (jobs.name, jobs.user, jobs.sla)

    slotted = mb.MapReduceJobs([1] * count, [[2]] * count, name=names)
    path = tmp_path / "s.csv"
    write_map_reduce_jobs(slotted, path)
    with path.open(newline="") as stream:
        harmless(stream.read())
    assert mb.read(path).map_reduce().name == tuple(names)

    table = csv_text({"name": names, "map": [1] * count, "shuffle": [1] * count})
    assert mb.read(io.StringIO(table, newline="")).map_shuffle().name == tuple(names)
    columns = dict.fromkeys(("name", "user", "program"), names)
    table = csv_text({**columns, "maps": [1] * count, "map_seconds": [1] * count})
    cluster = mb.read(io.StringIO(table, newline="")).tasks()
    assert cluster.name == cluster.user == cluster.program == tuple(names)

    from malleable.view.plan_tables import pieces_csv

    harmless(pieces_csv(mb.plan(jobs, 5)))
    flows = mb.Flows([[{"work": 1}]] * count, name=names)
    harmless(pieces_csv(mb.plan(flows, 5)))
    tandem = mb.MapShuffleJobs([1.0] * count, [1.0] * count, name=names)
    results = (
        mb.simulate(tandem, policy="fcfs"),
        mb.simulate(slotted, "fifo"),
        mb.simulate(cluster, "fair", cluster={"node": [{"slots": 3}]}, trace=True),
    )
    for k, result in enumerate(results):
        path = tmp_path / f"r{k}.csv"
        result.write_records(path)
        with path.open(newline="") as stream:
            harmless(stream.read())
