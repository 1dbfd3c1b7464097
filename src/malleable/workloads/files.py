"""Opening what people hand us.

Readers look at content, not at suffixes: gzip is known by its first two bytes. Whatever is wrong
with the bytes themselves (truncated gzip, not UTF-8, binary) becomes a one-line ValueError that
names the file. A file object stays the caller's: it is read from where it stands and left open.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO, TypeAlias

Source: TypeAlias = "str | os.PathLike[str] | IO[str] | IO[bytes]"

DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)  # what a truncated or damaged gzip file raises
_GZIP = b"\x1f\x8b"
_HEAD = 4096  # bytes that a caller may rely on seeing in the first peek()
_SHOWN = 60  # characters of a bad value that an error message repeats


def shown(value: object) -> str:
    """``repr`` of a value, on one line and cut to a length that fits into a message."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def parse_number(text: str) -> float:
    """``float(text)`` without Python's digit-grouping underscores; ValueError if not a number."""
    if "_" in text:
        raise ValueError("not a number")
    try:
        return float(text)
    except ValueError:
        raise ValueError("not a number") from None


def checked_positive(field: str, value: float) -> float:
    """``value`` as a float; ValueError naming ``field`` unless it is finite and above zero."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{field} = {shown(value)}: not a number") from None
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{field} = {shown(value)}: must be finite and above 0")
    return number


def checked_whole(field: str, value: Any, low: int, high: int) -> int:
    """``value`` as an int; ValueError naming ``field`` unless it is whole and in the range."""
    whole = not isinstance(value, bool) and hasattr(value, "__index__")
    if isinstance(value, float):
        whole = value.is_integer()
    if not whole or not low <= value <= high:
        raise ValueError(f"{field} = {shown(value)}: must be a whole number from {low} to {high}")
    return int(value)


def checked_choice(field: str, value: str, choices: tuple[str, ...]) -> str:
    """``value``; ValueError naming ``field`` unless it is one of ``choices``."""
    if value not in choices:
        raise ValueError(f"{field} = {shown(value)}: must be one of {', '.join(choices)}")
    return value


class _Relay(io.RawIOBase):
    """Raw stream over a ``read(n)`` callable; closing it leaves what lies behind it open.

    The head is fetched at once, in as many reads as it takes, so that a single ``peek`` shows it
    even where the source hands out a few bytes at a time (pipes, sockets).
    """

    def __init__(self, read: Callable[[int], bytes], name: str) -> None:
        super().__init__()
        self.name = name
        self._read = read
        parts: list[bytes] = []
        missing = _HEAD
        while missing > 0 and (part := read(missing)):
            parts.append(part)
            missing -= len(part)
        self._head = b"".join(parts)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # What does not fit (a text source counts characters, not bytes) waits for the next call.
        data = self._head or self._read(len(buffer))
        data, self._head = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def _label(source: object) -> str:
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<input>"


def _byte_reader(source: IO[str] | IO[bytes]) -> Callable[[int], bytes]:
    """A ``read(n)`` that gives bytes, whatever kind of file object ``source`` is."""

    def read(size: int) -> bytes:
        data = source.read(size) or b""
        return data if isinstance(data, bytes) else data.encode()

    return read


@contextmanager
def telling_of(where: str) -> Iterator[None]:
    """Put the name of a file, or of a place in it, before what a ValueError of the block says."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


@contextmanager
def open_bytes(source: Source) -> Iterator[tuple[io.BufferedReader, str]]:
    """Open a path or file object for reading, unzipped if it is gzip, with its name for messages.

    Yields
    ------
    stream : io.BufferedReader
        Its first ``peek()`` shows the first 4096 bytes (fewer only if there are no more), and its
        ``name`` is the name below, so that it can be handed on to another reader.
    where : str
        Path, the file object's own name, or ``<input>``.

    Raises
    ------
    OSError
        The path cannot be opened.
    ValueError
        Raised here or inside the ``with`` body: damaged or truncated gzip, text that is not UTF-8.
    TypeError
        ``source`` is neither a path nor a file object.
    """
    where = _label(source)
    with ExitStack() as stack:
        if isinstance(source, (str, os.PathLike)):
            handle: Any = stack.enter_context(Path(source).open("rb"))
        elif hasattr(source, "read"):
            handle = source
        else:
            raise TypeError(f"expected a path or a file object, got {type(source).__name__}")
        try:
            stream: Any = stack.enter_context(
                io.BufferedReader(_Relay(_byte_reader(handle), where))
            )
            if stream.peek(2)[:2] == _GZIP:
                unzipped = stack.enter_context(gzip.GzipFile(fileobj=stream, mode="rb"))
                stream = stack.enter_context(io.BufferedReader(_Relay(unzipped.read, where)))
            yield stream, where
        except (UnicodeDecodeError, UnicodeEncodeError) as error:
            raise ValueError(f"{where}: not UTF-8 text ({error.reason})") from None
        except EOFError:
            raise ValueError(f"{where}: gzip data end too early (truncated file)") from None
        except (zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{where}: damaged gzip data ({error})") from None


def head_of(source: Source) -> tuple[bytes, str]:
    """The first bytes, unzipped, and the name for messages; the source can still be read after it.

    A file object has to be able to go back to where it stands, and does. Raises as `open_bytes`.
    """
    start = source.tell() if hasattr(source, "tell") else 0
    try:
        with open_bytes(source) as (stream, where):
            return stream.peek(), where
    finally:
        if hasattr(source, "seek"):
            source.seek(start)


@contextmanager
def as_text(stream: BinaryIO, where: str) -> Iterator[TextIO]:
    """View an unread stream of `open_bytes` as UTF-8 text; BOM dropped, newlines untranslated."""
    peek = getattr(stream, "peek", None)
    if peek is not None and b"\0" in peek(_HEAD)[:_HEAD]:
        raise ValueError(f"{where}: binary data, not a text file")
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        yield text
    finally:
        text.detach()


@contextmanager
def open_text(source: Source) -> Iterator[tuple[TextIO, str]]:
    """`open_bytes`, then `as_text`: yields the text stream and the name for messages."""
    with open_bytes(source) as (stream, where), as_text(stream, where) as text:
        yield text, where


def _row(head: list[str], cells: list[str], parse: Callable[[str, str], Any]) -> list[Any]:
    if len(cells) != len(head):
        raise ValueError(f"{len(cells)} cells, expected {len(head)}")
    values = []
    for column, cell in zip(head, cells, strict=True):
        try:
            values.append(parse(column, cell))
        except ValueError as error:
            raise ValueError(f"{column} = {shown(cell)}: {error}") from None
    return values


def read_columns(
    source: Source,
    known: Sequence[str],
    needed: Sequence[str],
    parse: Callable[[str, str], Any],
    bad: Callable[[str], None] | None = None,
) -> tuple[dict[str, list[Any]], str]:
    """Columns of a CSV with a header, plain or gzip, and the name of the file.

    ``parse(column, cell)`` makes a value of a cell; what it says in a ValueError follows the cell.
    Lines that cannot be read go to ``bad``, with what is wrong; without it the first is an error.

    Raises
    ------
    ValueError
        One line that names the file, the line (from 1) and the column.
    OSError
        The file cannot be opened.
    """
    with open_text(source) as (text, where):
        rows = csv.reader(text)
        head = [cell.strip() for cell in next(rows, [])]
        for cell in head:
            if cell not in known:
                raise ValueError(
                    f"{where}: unknown column {shown(cell)}, expected {', '.join(known)}"
                )
        for column in needed:
            if column not in head:
                raise ValueError(f"{where}: column {column!r} is missing")
        if len(set(head)) < len(head):
            raise ValueError(f"{where}: a column occurs twice")
        columns: dict[str, list[Any]] = {cell: [] for cell in head}
        try:
            for cells in rows:
                if not cells:
                    continue
                try:
                    values = _row(head, cells, parse)
                except ValueError as error:
                    told = f"line {rows.line_num}: {error}"
                    if bad is None:
                        raise ValueError(f"{where}: {told}") from None
                    bad(told)
                    continue
                for column, value in zip(head, values, strict=True):
                    columns[column].append(value)
        except DAMAGED as error:
            if bad is None:
                raise
            bad(f"after line {rows.line_num}: damaged or truncated gzip data ({error})")
    return columns, where
