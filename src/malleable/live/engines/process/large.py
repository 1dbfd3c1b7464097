"""Large results on their way from a worker to the pool, in memory that both share.

A worker writes the pickle into a file in memory (``memfd_create``) and sends its descriptor; the pool maps
the file and unpickles from there. Buffers that pickle can leave out, such as those of arrays, are copied once
on either side, all else twice.
"""

from __future__ import annotations

import mmap
import os
import pickle
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

LARGE = 1 << 20  # bytes from which on a result goes this way

Lengths = tuple[int, ...]
"""Bytes of the pickle, and of each buffer behind it."""


class Parts:
    """A large pickle, and the buffers that it does not contain."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self._parts = parts
        self.lengths: Lengths = tuple(len(part) for part in parts)

    def written(self) -> int:
        """The descriptor of a file in memory that has all, one after the other."""
        descriptor = os.memfd_create("malleable-result", os.MFD_CLOEXEC)
        try:
            for part in self._parts:
                with memoryview(part) as rest:
                    at = 0
                    while at < len(rest):
                        at += os.write(descriptor, rest[at:])
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor


def pickled(value: Any) -> bytes | Parts:
    """A pickle, or its parts if it is large."""
    buffers: list[memoryview] = []

    def stays(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < LARGE:
            return True
        buffers.append(raw)
        return False

    found = pickle.dumps(value, pickle.HIGHEST_PROTOCOL, buffer_callback=stays)
    return Parts([found, *buffers]) if buffers or len(found) >= LARGE else found


def _copied(descriptor: int, size: int, at: int) -> mmap.mmap:
    """So many bytes of a file in memory of this process alone: a map of the file would keep it open."""
    found = mmap.mmap(-1, size)
    with memoryview(found) as rest:
        done = 0
        while done < size:
            count = os.preadv(descriptor, [rest[done:]], at + done)
            if count == 0:
                raise ValueError(f"{size:,} bytes were announced, and {done:,} came")
            done += count
    return found


class Mapped:
    """What a worker has written."""

    def __init__(self, descriptor: int, lengths: Lengths) -> None:
        self._error: Exception | None = None
        try:
            starts = accumulate(lengths)
            self._head = mmap.mmap(descriptor, lengths[0])
            self._buffers = [_copied(descriptor, size, next(starts)) for size in lengths[1:]]
        except (OSError, ValueError) as error:  # this call's alone
            self._error = error
        finally:
            os.close(descriptor)

    def load(self) -> Any:
        """The object, once."""
        if self._error:
            raise self._error
        with self._head, memoryview(self._head) as head:
            return pickle.loads(head, buffers=self._buffers)
