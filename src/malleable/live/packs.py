"""A pack: a file with the packed output of a job's tasks, in compressed blocks. A block has the streams (output
or errors of an attempt) of many tasks.

A running task writes into files of its own. These are removed once their block is in the pack, so each stream
is whole in one of the two places, even if the run is killed or the disk is full. A block has a head (a mark,
the lengths of the rest), an index (task, attempt, stream, bytes) and the streams. A block that was cut is
ignored and overwritten. Large streams stay files.
"""

from __future__ import annotations

import errno
import json
import os
import struct
import zlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import IO

from malleable.live.own_files import open_file

PACK = "packed"  # its name, in the job's folder
LARGE = 1 << 16  # bytes; larger streams stay files
_HEAD = struct.Struct("<4sII")
_MARK = b"mOut"
_Key = tuple[int, int, str]  # task, attempt, "out" or "err"


class Pack:
    """The pack of a folder; blocks that other processes add are found."""

    def __init__(self, folder: str) -> None:
        self._path = Path(folder) / PACK
        self.end = 0  # end of the known blocks
        self._places: dict[_Key, tuple[int, int, int]] = {}  # block, first byte, bytes
        # the block that was read last: its place, its bytes
        self._block: tuple[int, bytes] = (-1, b"")

    def look(self) -> dict[_Key, tuple[int, int, int]]:
        # All streams that are in the pack now.
        try:
            size = self._path.stat().st_size
        except OSError:
            return self._places
        if size < self.end:  # the file was removed and made again
            self.end, self._places = 0, {}
        if size > self.end:
            with self._open() as file:
                while self.end + _HEAD.size < size:
                    file.seek(self.end)
                    mark, index, body = _HEAD.unpack(file.read(_HEAD.size))
                    if mark != _MARK or self.end + _HEAD.size + index + body > size:
                        break
                    self._learn(json.loads(zlib.decompress(file.read(index))))
                    self.end += _HEAD.size + index + body
        return self._places

    def _open(self) -> IO[bytes]:
        return os.fdopen(open_file(self._path, os.O_RDONLY, closed=False), "rb")

    def _learn(self, index: Iterable[tuple[int, int, str, int]]) -> None:
        at = 0
        for task, attempt, suffix, size in index:
            self._places[task, attempt, suffix] = self.end, at, size
            at += size

    def has(self, task: int, attempt: int, suffix: str) -> bool:
        return (task, attempt, suffix) in self.look()

    def read(self, task: int, attempt: int, suffix: str) -> bytes | None:
        if not self.has(task, attempt, suffix):
            return None
        block, at, size = self._places[task, attempt, suffix]
        if self._block[0] != block:
            with self._open() as file:
                file.seek(block)
                _, index, body = _HEAD.unpack(file.read(_HEAD.size))
                file.seek(index, os.SEEK_CUR)
                self._block = block, zlib.decompress(file.read(body))
        return self._block[1][at : at + size]

    def add(self, streams: Iterable[tuple[_Key, bytes]]) -> None:
        """Add a block; OSError: nothing was added. Only the run of the journal does this."""
        streams = list(streams)
        index = zlib.compress(json.dumps([(*key, len(data)) for key, data in streams]).encode())
        body = zlib.compress(b"".join(data for _, data in streams))
        block = _HEAD.pack(_MARK, len(index), len(body)) + index + body
        self.look()
        file = open_file(self._path, os.O_RDWR | os.O_CREAT, closed=False)
        try:
            os.ftruncate(file, self.end)  # the rest of a block that was cut
            if os.pwrite(file, block, self.end) < len(block):
                os.ftruncate(file, self.end)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        finally:
            os.close(file)


# The pack of a folder, one object for all callers.
pack_of = lru_cache(maxsize=64)(Pack)
