"""Packed output of tasks: one SQLite file a job, with a row for each stream, compressed.

A running task writes into files of its own. These are removed once their rows are there, so each stream is
whole in one of the two places, even if the run is killed or the disk is full. Large streams stay files.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterable
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

from malleable.live.journal_file import telling
from malleable.live.own_files import check_file, open_file

PACK = "packed"
LARGE = 1 << 16  # bytes from which a whole stream stays a file
_SHORT, _PLAIN = 64, b"="  # streams of fewer bytes are not compressed, and begin with this
_TABLE = (
    "create table if not exists stream (task integer, attempt integer, suffix text, data blob,"
    " primary key (task, attempt, suffix)) without rowid"
)
_Key = tuple[int, int, str]  # task, attempt, "out" or "err"


def pack(folder: str, streams: Iterable[tuple[_Key, bytes]]) -> None:
    """Add streams to the pack of a folder, all or none of them (ValueError)."""
    path = Path(folder) / PACK
    # `closed=False`: others keep their rights to it
    os.close(open_file(path, os.O_RDWR | os.O_CREAT, closed=False))
    rows = (
        (*key, _PLAIN + data if len(data) < _SHORT else zlib.compress(data))
        for key, data in streams
    )
    # `telling`: errors name the file
    with telling(path), closing(sqlite3.connect(path)) as base, base:
        base.execute("pragma synchronous = off")  # may lose rows if the power fails, as the journal
        base.execute(_TABLE)
        base.executemany("insert or replace into stream values (?, ?, ?, ?)", rows)


@lru_cache(maxsize=64)
def _opened(path: Path, inode: int) -> sqlite3.Connection:
    # A pack, opened once for all readers; another ``inode``: it was removed and made again.
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


def _selected(folder: str, query: str, *values: Any) -> list[Any]:
    path = Path(folder) / PACK
    check_file(path, closed=False)
    if not path.exists():
        return []
    with telling(path):
        return _opened(path, path.stat().st_ino).execute(query, values).fetchall()


def packed_keys(folder: str) -> list[_Key]:
    return _selected(folder, "select task, attempt, suffix from stream")


def packed_stream(folder: str, task: int, attempt: int, suffix: str) -> bytes | None:
    key = "task = ? and attempt = ? and suffix = ?"
    for (data,) in _selected(folder, f"select data from stream where {key}", task, attempt, suffix):
        return data[1:] if data.startswith(_PLAIN) else zlib.decompress(data)
    return None
