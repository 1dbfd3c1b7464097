"""Opening files, file objects and data frames that people give. Readers look at content, not at suffixes:
gzip, bz2, zstd and lz4 are known by their first bytes. Faults of the bytes (truncated, not UTF-8, binary)
become a one-line ValueError that names the file. A file object stays the caller's: it is read from its
position and left open."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO, TypeAlias

from malleable.display import printable
from malleable.files.advice import AdvisedError, LimitError, library
from malleable.files.numbers import parse_number
from malleable.validation import check_whole, shown

Source: TypeAlias = "str | os.PathLike[str] | IO[str] | IO[bytes]"


class DamageError(Exception):
    """Packed data are damaged or end too early."""


# Bytes that a file may have, unpacked, unless ``max_size`` says otherwise.
MAX_SIZE = 1 << 30

_PACKED = {
    b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4",
}  # fmt: skip
# Errors of the libraries for damaged data; BadGzipFile is an OSError.
_FAULTS = (EOFError, OSError, zlib.error)
_HEAD = 4096  # bytes that a caller may rely on seeing in the first peek()
_LINE = 400  # characters of a message
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def one_line(text: str) -> str:
    """A message of bounded length without line breaks, which names in a file may have."""
    text = printable(text)
    return text if len(text) <= _LINE else f"{text[: _LINE // 2]} ... {text[-_LINE // 2 :]}"


def parse_size(text: str) -> int:
    """A number of bytes such as ``500M`` or ``4G`` (powers of 1024); ValueError otherwise."""
    digits = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = digits[-1:] if digits[-1:] in _UNITS else ""
    digits = digits.removesuffix(unit)
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18 and int(digits) > 0):
        raise ValueError(f"{shown(text)}: not a size such as 500M or 4G")
    return int(digits) << _UNITS[unit]


_LASTS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(ms|s|min|m|h|d)\s*", re.ASCII)


def parse_seconds(text: str) -> float:
    """Seconds of a duration: ``90``, ``90s``, ``250ms``, ``10m`` (``min``), ``2h``, ``1d``, ``1h30m``;
    ValueError otherwise."""
    with suppress(ValueError):
        return parse_number(text)
    parts = _DURATION.findall(text)
    if not parts or _DURATION.sub("", text.strip()):
        raise ValueError(f"{shown(text)}: not a duration such as 90s, 10m, 2h or 1h30m")
    return sum(float(count) * _LASTS[unit] for count, unit in parts)


def _told_size(size: int) -> str:
    for unit, shift in reversed(_UNITS.items()):
        if size >> shift << shift == size and size >> shift:
            return f"{size >> shift:,} {unit}{'iB' if unit else 'bytes'}"
    return f"{size:,} bytes"


def too_large(where: str, max_size: int) -> LimitError:
    ways = "a larger max_size reads it", "a larger --max-size reads it"
    return LimitError(f"{where}: more than {_told_size(max_size)}, unpacked", *ways)


class _Relay(io.RawIOBase):
    """Raw stream over a ``read(n)`` of bytes or text. Closing it leaves the source open. The head (`_HEAD`
    bytes) is read at once, in as many reads as needed, so that one ``peek`` shows it."""

    def __init__(self, read: Callable[[int], bytes | str | None], name: str) -> None:
        super().__init__()
        self.name = name
        self._source = read
        self._handed_on = 0
        self._most: int | None = None  # bytes that may be passed on
        self._head = b""
        while len(self._head) < _HEAD and (part := self._read(_HEAD - len(self._head))):
            self._head += part

    def _read(self, size: int) -> bytes:
        data = self._source(size) or b""
        return data if isinstance(data, bytes) else data.encode()

    def limit(self, most: int | None) -> None:
        # Pass on this many bytes, including those before this call; one more is a `LimitError`.
        self._most = most
        self._check()

    def _check(self) -> None:
        if self._most is not None and self._handed_on > self._most:
            raise too_large(self.name, self._most)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # Bytes that do not fit (a text source counts characters) wait for the next call.
        data = self._head or self._read(len(buffer))
        data, self._head = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(data)] = data
        self._handed_on += len(data)
        self._check()
        return len(data)


def _unpacked(packed: io.BufferedReader, stack: ExitStack) -> Callable[[int], bytes] | None:
    # A ``read(n)`` of what is packed in a stream, None if nothing is packed; the stack closes it.
    head = packed.peek(4)[:4]
    kind = next((kind for magic, kind in _PACKED.items() if head.startswith(magic)), None)
    if kind is None:
        return None
    unpacked: Any
    if kind == "gzip":
        unpacked = gzip.GzipFile(fileobj=packed, mode="rb")
    elif kind == "bz2":
        unpacked = bz2.BZ2File(packed)
    else:
        pa = library("pyarrow", f"reading {kind}", "'malleable[tables]'")
        unpacked = pa.CompressedInputStream(packed, kind)
    stack.enter_context(unpacked)

    def read(size: int) -> bytes:
        try:
            return bytes(unpacked.read(size))
        except _FAULTS as error:
            if isinstance(error, OSError) and error.errno:
                raise  # an error of the disk
            raise DamageError(f"damaged or truncated {kind} data ({error})") from None

    return read


def name_of(source: object) -> str:
    """What messages call a path or file object."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<input>"


@contextmanager
def telling_of(where: str) -> Iterator[None]:
    """Put the name of a file, or of a place in it, before the message of a ValueError of the block, once."""
    try:
        yield
    except UnicodeError:
        raise  # `open_bytes` makes the message
    except ValueError as error:
        advised = isinstance(error, AdvisedError)
        told, *ways = error.args if advised else (str(error),)
        if told.startswith(where):
            raise
        kind = type(error) if advised else ValueError
        raise kind(f"{where}: {one_line(told)}", *ways) from None
    except OverflowError:
        raise ValueError(f"{where}: a number in it is too large") from None
    except RecursionError:
        raise ValueError(f"{where}: a value in it is nested too deeply") from None


def source_of(path: str) -> Any:
    """The path, or for ``-`` standard input."""
    if path != "-":
        return path
    if sys.stdin is None:
        raise ValueError("-: standard input is closed")
    return sys.stdin.buffer


@contextmanager
def open_bytes(
    source: Source, max_size: int | None = MAX_SIZE
) -> Iterator[tuple[io.BufferedReader, str]]:
    """Open a path or file object for reading, unpacked if it is packed; yields the stream and its name
    for messages.

    The first ``peek()`` shows 4096 bytes (fewer only if there are no more); ``name`` is the name for
    messages, so that the stream can be passed on to another reader. ``max_size`` limits the unpacked bytes
    (None: any number).

    Raises
    ------
    OSError, TypeError
        The path cannot be opened; ``source`` is neither a path nor a file object.
    ImportError
        Zstd or lz4, and pyarrow is not installed.
    ValueError
        A folder. Here or in the ``with`` body: damaged packed data, text that is not UTF-8, more bytes than
        ``max_size`` (`LimitError`).
    """
    where = name_of(source)
    limit = None if max_size is None else check_whole("max_size", max_size, 1, 1 << 62)
    with ExitStack() as stack:
        if isinstance(source, (str, os.PathLike)):
            if Path(source).is_dir():
                raise ValueError(f"{where}: a folder, not a file")
            handle: Any = stack.enter_context(Path(source).open("rb"))
        elif hasattr(source, "read"):
            handle = source
        else:
            raise TypeError(f"expected a path or a file object, got {type(source).__name__}")
        try:
            relay = _Relay(handle.read, where)
            stream: Any = stack.enter_context(io.BufferedReader(relay))
            unpacked = _unpacked(stream, stack)
            if unpacked is not None:
                relay = _Relay(unpacked, where)
                stream = stack.enter_context(io.BufferedReader(relay))
            relay.limit(limit)
            yield stream, where
        except (UnicodeDecodeError, UnicodeEncodeError) as error:
            raise ValueError(f"{where}: not UTF-8 text ({error.reason})") from None
        except DamageError as error:
            raise ValueError(f"{where}: {error}") from None


def open_parts(
    parts: Iterable[Path], where: str, max_size: int | None = MAX_SIZE
) -> AbstractContextManager[tuple[io.BufferedReader, str]]:
    """`open_bytes` of several files of lines, one after another; ``max_size`` is for all together."""

    def lines() -> Iterator[bytes]:
        for part in parts:
            with open_bytes(part, max_size=None) as (stream, _):
                yield from stream
            yield b"\n"  # the part may lack its last line break

    chunks = lines()
    rest = b""

    def read(size: int) -> bytes:
        nonlocal rest
        rest = rest or next(chunks, b"")
        data, rest = rest[:size], rest[size:]
        return data

    whole: Any = _Relay(read, where)
    return open_bytes(whole, max_size)


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
def open_text(source: Source, max_size: int | None = MAX_SIZE) -> Iterator[tuple[TextIO, str]]:
    """`open_bytes`, then `as_text`: yields the text stream and the name for messages."""
    with open_bytes(source, max_size) as (stream, where), as_text(stream, where) as text:
        yield text, where
