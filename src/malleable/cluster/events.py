"""Files of events: the calls of a scheduler (what it was told and asked), so that they can be replayed;
compact, versioned, the same bytes for the same calls.

A file is gzip. It begins with `MAGIC` and a line of JSON (``cluster``, ``policy``, ``objective``,
``options``). Then come calls: a byte for the name, a byte for the number of columns, then each column: a
byte for its name, one for its type, its length as four bytes, its values, all little-endian.
"""

from __future__ import annotations

import gzip
import io
import json
import operator
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.cluster.nodes import Cluster
from malleable.files.json import is_number

MAGIC = b"malleable events 1\n"
CALLS, COLUMNS = _core.EVENT_CALLS, _core.EVENT_COLUMNS
_TYPES = (np.dtype("<f8"), np.dtype("<i8"), np.dtype("<i4"), np.dtype("u1"))  # by code
_CALL = {name: code for code, name in enumerate(CALLS)}
_COLUMN = {name: code for code, name in enumerate(COLUMNS)}
_MOST_HEADER = 1 << 26  # bytes


def _narrow(values: Any) -> tuple[int, bytes, int]:
    # Type, values and length of a column, in as few bytes as its whole numbers need.
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return 0, np.ascontiguousarray(array, dtype="<f8").tobytes(), array.size
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    code = 3 if low >= 0 and high < 1 << 8 else 2 if low >= -(1 << 31) and high < 1 << 31 else 1
    return code, np.ascontiguousarray(array, dtype=_TYPES[code]).tobytes(), array.size


class EventWriter:
    """Writes a file of events, call by call."""

    def __init__(self, path: str | PathLike[str], header: Mapping[str, Any]) -> None:
        # Without name and time of writing, so that the same calls are the same bytes.
        self._open = ExitStack()
        raw = self._open.enter_context(io.FileIO(path, "w"))
        self._file = self._open.enter_context(gzip.GzipFile("", "wb", 6, raw, mtime=0))
        item = operator.methodcaller("item")  # of numbers of NumPy
        text = json.dumps(header, sort_keys=True, separators=(",", ":"), default=item)
        self._file.write(MAGIC + text.encode() + b"\n")

    def write(self, call: str, columns: Mapping[str, Any]) -> None:
        given = [(name, values) for name, values in columns.items() if values is not None]
        parts = [struct.pack("<BB", _CALL[call], len(given))]
        for name, values in given:
            code, data, size = _narrow(values)
            parts += [struct.pack("<BBI", _COLUMN[name], code, size), data]
        self._file.write(b"".join(parts))

    def close(self) -> None:
        self._open.close()


def checksum(ids: npt.NDArray[np.int64], slots: npt.NDArray[np.int64]) -> int:
    """Checksum of a decision; a replay compares its own with the recorded one."""
    return zlib.crc32(slots.astype("<i8").tobytes(), zlib.crc32(ids.astype("<i8").tobytes()))


def cluster_header(cluster: Cluster) -> dict[str, Any]:
    # Nodes and users of a cluster in JSON's types.
    users = [
        {"name": name, "minimum": minimum, "priority": priority}
        for name, (minimum, priority) in cluster.users.items()
    ]
    return {"nodes": cluster.nodes, "users": users}


def cluster_of(header: Mapping[str, Any]) -> Cluster:
    return Cluster(header["cluster"]["nodes"], header["cluster"]["users"])


def is_events(path: str | PathLike[str]) -> bool:
    try:
        with gzip.open(path) as file:
            return file.read(len(MAGIC) - 2) == MAGIC[:-2]
    except (OSError, EOFError, zlib.error):
        return False


def read_events(path: str | PathLike[str]) -> tuple[dict[str, Any], bytes, int]:
    """Header and content of a file, and where its calls begin in that.

    Raises
    ------
    ValueError
        Not a file of events, of another version, or cut or damaged (where it is).
    """
    with Path(path).open("rb") as raw:
        data = raw.read()
    try:
        data = gzip.decompress(data)
    except (OSError, EOFError, ValueError, zlib.error) as fault:
        raise ValueError(f"{path}: not a file of events, or cut: {fault}") from None
    if not data.startswith(MAGIC[:-2]):
        raise ValueError(f"{path}: not a file of events")
    if not data.startswith(MAGIC):
        raise ValueError(
            f"{path}: events of a version that this one ({_core.__version__}) cannot read"
        )
    end = data.find(b"\n", len(MAGIC), len(MAGIC) + _MOST_HEADER)
    try:
        header = json.loads(data[len(MAGIC) : end])
        known = {"cluster", "objective", "options", "policy"} <= set(header)
    except (ValueError, TypeError):
        known = False
    if end < 0 or not known:
        raise ValueError(f"{path}: its header is damaged")
    return header, data, end + 1


def calls_of(data: bytes, at: int) -> Iterator[tuple[str, dict[str, npt.NDArray[Any]]]]:
    # Name and columns of each call, from byte ``at`` on.
    number = 0
    while at < len(data):
        columns: dict[str, npt.NDArray[Any]] = {}
        try:
            call, count = struct.unpack_from("<BB", data, at)
            at += 2
            for _ in range(count):
                name, code, size = struct.unpack_from("<BBI", data, at)
                at += 6
                kind = _TYPES[code]
                columns[COLUMNS[name]] = np.frombuffer(data, kind, size, at)
                at += size * kind.itemsize
            told = CALLS[call]
        except (struct.error, IndexError, ValueError):
            raise ValueError(f"call {number} is cut or damaged") from None
        number += 1
        yield told, columns


def plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with a value, as a header has them; ValueError names one that it cannot have."""
    for name, value in options.items():
        if not (value is None or isinstance(value, (bool, str)) or is_number(value)):
            raise ValueError(f"{name}: cannot be recorded")
    return {name: value for name, value in options.items() if value is not None}
