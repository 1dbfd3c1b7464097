"""Opening by content."""

from __future__ import annotations

import gzip
import io
import os
import random
import sys
from pathlib import Path

import pytest

from malleable.domain import shown
from malleable.files.reading import open_bytes, open_text, parse_number

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
        (PACKED[:200] + b"\xff\xff\xff" + PACKED[203:], "damaged gzip"),
        (PACKED[:-6] + b"\0\0" + PACKED[-4:], "damaged gzip"),
        (PACKED + b"tail", "damaged gzip"),
        (b"\x1f\x8b", "truncated"),
        (b"\x1f\x8bnope" * 9, "damaged gzip"),
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
