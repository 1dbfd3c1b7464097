"""Runs a Python target: atheris (libFuzzer) where it is installed, a small mutator otherwise, and
where ``MALLEABLE_FUZZ_PLAIN`` is set.

The flags are libFuzzer's: ``-runs=N -max_total_time=S -timeout=S -max_len=N -seed=N
-artifact_prefix=P``, then files to run once or directories to start from.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

try:
    if os.environ.get("MALLEABLE_FUZZ_PLAIN"):
        raise ImportError
    import atheris
except ImportError:
    atheris = None

# What text formats are made of, and numbers that border on something.
TOKENS = [
    *b"\0\t\n\r ,;:\"'{}[]()=+-@#.eE0123456789",
    *(b"1e300", b"1e999", b"-1", b"nan", b"inf", b"-inf", b"5e-324", b"1e-400", b"0x10", b"1_0"),
    *(b"9" * 25, b"1" + b"0" * 400, b"9223372036854775808", b"-0", b"1.5", b"true", b"null"),
    *(
        b"{}",
        b"[]",
        b"[" * 300,
        b'{"a":' * 300,
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        b"\x1f\x8b",
    ),
    *(b"PAR1", b'""', b"\r\n", b"\n\n", b"work", b"name", b"after", b"\xf0\x9f\x92\xa5"),
]


class TooLong(BaseException):
    """An input took longer than it may; no target catches it."""


@contextmanager
def ceiling(seconds: int) -> Any:
    def ring(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def mutated(chosen: random.Random, corpus: Sequence[bytes], most: int) -> bytes:
    """An input of the corpus after a few changes."""
    data = bytearray(chosen.choice(corpus)) if corpus and chosen.random() < 0.95 else bytearray()
    for _ in range(chosen.choice((1, 1, 2, 3, 6))):
        at = chosen.randrange(len(data) + 1)
        to = min(len(data), at + chosen.choice((1, 1, 2, 4, 16, 64)))
        how = chosen.randrange(7)
        if how == 0:
            data[at:at] = chosen.randbytes(chosen.choice((1, 2, 8, 64)))
        elif how == 1 and data:
            data[at % len(data)] = chosen.randrange(256)
        elif how == 2:
            del data[at:to]
        elif how == 3:
            part = chosen.choice(TOKENS)
            data[at : chosen.choice((at, to))] = bytes([part]) if isinstance(part, int) else part
        elif how == 4:
            data[at:at] = data[chosen.randrange(len(data) + 1) :][: chosen.choice((4, 16, 64))]
        elif how == 5 and corpus:
            other = chosen.choice(corpus)
            data[at:] = other[chosen.randrange(len(other) + 1) :]
        elif data:
            data[at % len(data)] ^= 1 << chosen.randrange(8)
    return bytes(data[:most])


def instrument() -> None:
    """Lets atheris see every function of the package that is loaded. Its own import hook sees none
    behind a loader that is wrapped, as that of an editable install is."""
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and str(thing.__module__).startswith("malleable"):
            atheris.instrument_func(thing)


def run(target: Callable[[bytes], None], arguments: Sequence[str]) -> int:
    """Feeds the target; returns the exit status."""
    flags = dict(a[1:].split("=", 1) for a in arguments if a.startswith("-") and "=" in a)
    paths = [Path(a) for a in arguments if not a.startswith("-")]
    if atheris is not None:
        instrument()
        atheris.Setup([sys.argv[0], *arguments], target)
        atheris.Fuzz()
        return 0
    runs, seconds = int(flags.get("runs", 0)), float(flags.get("max_total_time", 0))
    limit, most = int(flags.get("timeout", 60)), int(flags.get("max_len", 4096))
    corpus = [
        file.read_bytes()
        for path in paths
        for file in (sorted(path.iterdir()) if path.is_dir() else [path])
    ]
    chosen = random.Random(int(flags.get("seed", 1)))
    end = time.monotonic() + seconds
    mutate = not paths or any(path.is_dir() for path in paths)
    done = 0

    def more() -> bool:
        bounded = runs > 0 or seconds > 0
        return (
            mutate
            and bounded
            and (not runs or done < runs)
            and (not seconds or time.monotonic() < end)
        )

    while done < len(corpus) or more():
        data = corpus[done] if done < len(corpus) else mutated(chosen, corpus, most)
        try:
            with ceiling(limit):
                target(data)
        except BaseException as error:
            kind = "timeout" if isinstance(error, TooLong) else "crash"
            path = Path(f"{flags.get('artifact_prefix', './')}{kind}-{hash(data) & 0xFFFFFFFF:08x}")
            path.write_bytes(data)
            print(f"input kept as {path}", file=sys.stderr)
            raise
        done += 1
    print(f"Done {done} runs", file=sys.stderr)
    return 0
