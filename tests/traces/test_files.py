"""Opening by content."""

from __future__ import annotations

import gzip
import io
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from malleable.files.advice import LimitError
from malleable.files.numbers import parse_moment, parse_number
from malleable.files.reading import (
    open_bytes,
    open_text,
)
from malleable.validation import shown

TEXT = "grün\r\nzwei\n" * 3000


class Trickle(io.RawIOBase):
    """A source that hands out one byte at a time and cannot seek, as a slow pipe does."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, size: int = -1) -> bytes:
        first, self._data = self._data[:1], self._data[1:]
        return first


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("suffix", [".txt", ".gz", ""])
def test_path_is_read_by_content_not_by_suffix(tmp_path: Path, packed: bool, suffix: str) -> None:
    data = TEXT.encode()
    path = tmp_path / f"file{suffix}"
    path.write_bytes(gzip.compress(data) if packed else data)
    for source in (path, str(path)):
        with open_text(source) as (text, where):
            assert text.read() == TEXT
        assert where == str(path)


@pytest.mark.parametrize(
    "source",
    [
        io.StringIO(TEXT, newline=""),
        io.BytesIO(TEXT.encode()),
        io.BytesIO(gzip.compress(TEXT.encode())),
        Trickle(gzip.compress(TEXT.encode())),
        io.BytesIO(b"\xef\xbb\xbf" + TEXT.encode()),
    ],
    ids=["text", "bytes", "gzip", "trickle", "bom"],
)
def test_file_object_is_read_and_left_open(source: io.IOBase) -> None:
    with open_text(source) as (text, where):
        assert text.read() == TEXT
    assert where == "<input>"
    assert not source.closed


def test_file_object_is_read_from_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"skip me\nkeep me\n")
    with path.open("rb") as handle:
        handle.readline()
        with open_text(handle) as (text, where):
            assert text.read() == "keep me\n"
        assert where == str(path)
        assert not handle.closed


@pytest.mark.skipif(sys.platform != "linux", reason="counts the entries of /proc/self/fd")
def test_nothing_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(TEXT.encode())[:-9])
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(3):
        with pytest.raises(ValueError, match="truncated"), open_text(path) as (text, _where):
            text.read()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_head_can_be_peeked_and_handed_on() -> None:
    with open_bytes(io.BytesIO(gzip.compress(TEXT.encode()))) as (stream, where):
        assert stream.peek()[:4096] == TEXT.encode()[:4096]
        assert stream.name == where
        with open_text(stream) as (text, _where):
            assert text.read() == TEXT


PACKED = gzip.compress(random.Random(1).randbytes(9000).hex().encode(), mtime=0)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"abc\0def", "binary data"),
        ("wörk\n1\n".encode("utf-16"), "binary data"),
        (b"a\n\xff\n", "not UTF-8"),
        (PACKED[:-4], "truncated"),
        (PACKED[:40], "truncated"),
        (PACKED[:200] + b"\xff\xff\xff" + PACKED[203:], "damaged or truncated gzip data"),
        (PACKED[:-6] + b"\0\0" + PACKED[-4:], "damaged or truncated gzip data"),
        (PACKED + b"tail", "damaged or truncated gzip data"),
        (b"\x1f\x8b", "truncated"),
        (b"\x1f\x8bnope" * 9, "damaged or truncated gzip data"),
    ],
)
def test_bad_bytes_give_one_line_with_the_name(tmp_path: Path, data: bytes, problem: str) -> None:
    path = tmp_path / "bad"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=problem) as caught, open_text(path) as (text, _where):
        text.read()
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_what_is_no_file() -> None:
    with pytest.raises(TypeError, match="path or a file object, got int"), open_bytes(3):  # type: ignore[arg-type]
        pass
    with pytest.raises(FileNotFoundError), open_bytes("no/such/file"):
        pass


def test_numbers_have_no_underscores() -> None:
    assert parse_number(" 1e3 ") == 1000
    with pytest.raises(ValueError, match="not a number"):
        parse_number("1_000")


def test_shown_values_are_short() -> None:
    assert shown("a\nb") == r"'a\nb'"
    assert len(shown("x" * 10_000)) == 60


@pytest.fixture
def zstd() -> Callable[[bytes], bytes]:
    pa = pytest.importorskip("pyarrow")

    def pack(data: bytes) -> bytes:
        packed: bytes = pa.compress(data, codec="zstd", asbytes=True)
        return packed

    return pack


def test_zstd(tmp_path: Path, zstd: Callable[[bytes], bytes]) -> None:
    """Frames one after another are one file, as of gzip; a file object stays open."""
    half = len(TEXT.encode()) // 2
    packed = zstd(TEXT.encode()[:half]) + zstd(TEXT.encode()[half:])
    path = tmp_path / "file.txt"
    path.write_bytes(packed)
    source = io.BytesIO(packed)
    for one in (path, source, Trickle(packed)):
        with open_text(one) as (text, _):
            assert text.read() == TEXT
    assert not source.closed


def test_damaged_zstd(zstd: Callable[[bytes], bytes]) -> None:
    rng = random.Random(3)
    packed = zstd(" ".join(str(rng.randrange(1000)) for _ in range(20_000)).encode())
    for size in (5, 100, len(packed) // 2, len(packed) - 1):
        with (
            pytest.raises(ValueError, match="^<input>: damaged or truncated zstd data"),
            open_bytes(io.BytesIO(packed[:size])) as (stream, _),
        ):
            stream.read()
    refused = 0
    for _ in range(
        60
    ):  # not every one is noticed: zstd has checksums only if its writer wants them
        wrong = bytearray(packed)
        for _ in range(20):
            wrong[rng.randrange(4, len(wrong))] ^= 1 << rng.randrange(8)
        try:
            with open_bytes(io.BytesIO(bytes(wrong))) as (stream, _):
                stream.read()
        except ValueError as error:
            assert str(error).startswith("<input>: damaged or truncated zstd data")
            refused += 1
    assert refused > 30


def test_zstd_is_limited(zstd: Callable[[bytes], bytes]) -> None:
    packed = zstd(b"0" * 50_000_000)
    assert len(packed) < 10_000
    with (
        pytest.raises(LimitError, match="more than 64 KiB, unpacked"),
        open_bytes(io.BytesIO(packed), 64 << 10) as (stream, _),
    ):
        read = 0
        while part := stream.read(1 << 12):
            read += len(part)
            assert read <= 64 << 10


def test_zstd_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with (
        pytest.raises(
            ImportError, match=r"^reading zstd needs pyarrow: pip install 'malleable\[tables"
        ),
        open_bytes(io.BytesIO(b"\x28\xb5\x2f\xfd and more")),
    ):
        pass


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7.5", 7.5),
        ("1e3", 1000),
        ("1970-01-02", 86400),
        ("2024-05-01T09:30:00", 1714555800),
        (" 2024-05-01 09:30 ", 1714555800),
        ("2024-05-01T09:30:00Z", 1714555800),
        ("2024-05-01T11:30:00.5+02:00", 1714555800.5),
        ("1969-12-31T23:59:59", -1),
    ],
)
def test_moments(text: str, seconds: float) -> None:
    assert parse_moment(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "x", "1_0", "2024-13-01", "2024-05-01T25:00", "09:30", "20240501T09", "24-05-01", "Z"],
)
def test_no_moments(text: str) -> None:
    with pytest.raises(ValueError, match="not a number or a date such as"):
        parse_moment(text)


@pytest.mark.parametrize("kind", ["bz2", "lz4"])
def test_other_ways_to_pack(kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, kind) as out:
        out.write(TEXT.encode())
    packed = sink.getvalue().to_pybytes()
    with open_bytes(io.BytesIO(packed)) as (stream, _):
        assert stream.read() == TEXT.encode()
    with (
        pytest.raises(ValueError, match=f"^<input>: damaged or truncated {kind} data"),
        open_bytes(io.BytesIO(packed[:10] + b"\xff" * 9 + packed[19:])) as (stream, _),
    ):
        stream.read()
