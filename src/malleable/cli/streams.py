"""Standard streams: how all commands speak to people. Its imports are fast, because every command needs it."""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from malleable.display import printable
from malleable.files.advice import AdvisedError, ThereError

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class Manner:
    """How to speak: the options ``--quiet`` and ``--no-color``."""

    quiet: bool = False
    no_color: bool = False


_manner = Manner()


def speak(manner: Manner) -> None:
    _manner.quiet, _manner.no_color = manner.quiet, manner.no_color


def quiet() -> bool:
    return _manner.quiet


def watched(stream: TextIO) -> bool:
    # Whether a person sees it: a terminal, and not ``--quiet``.
    return not _manner.quiet and stream.isatty()


def ready(stream: TextIO) -> bool:
    """Whether writing would not block, as on a terminal that is stopped (Ctrl-S)."""
    with suppress(OSError, ValueError):
        return bool(select.select([], [stream], [], 0.0)[1])
    return True


def coloured(stream: TextIO) -> bool:
    return stream.isatty() and not _manner.no_color and not os.environ.get("NO_COLOR")


def console(stream: TextIO) -> Console:
    from malleable.view.text import console_for

    return console_for(stream, _manner.no_color)


def prepare_streams() -> None:
    # Make standard output and errors usable if they are closed, or cannot encode a character.
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Write the rest; if that is impossible, let no later write fail."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            target = os.open(os.devnull, os.O_WRONLY)
            os.dup2(target, sys.stdout.fileno())
            os.close(target)


def clear_line() -> None:
    if watched(sys.stderr):
        with suppress(OSError):
            sys.stderr.write("\r\x1b[K")


def note(text: str, grave: bool = False) -> None:
    """One line on standard error. ``--quiet`` leaves it out unless it is ``grave``."""
    if quiet() and not grave:
        return
    with suppress(OSError):
        print(f"malleable: {printable(text)}", file=sys.stderr)


# what you can do about an error of the system
_NEXT = {
    errno.EMFILE: "allow this process more open files, as with ulimit -n 4096",
    errno.ENFILE: "this machine has no more open files; end programs that hold many",
    errno.EAGAIN: "end some processes; ulimit -u says how many you may have",
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "your share there is used up; remove some of your files",
}


def wording(error: BaseException) -> str:
    # An error as one line for people.
    if isinstance(error, OSError) and error.strerror:
        return ": ".join(_wording_of_system(error))
    if isinstance(error, (AdvisedError, ThereError)):
        return error.in_commands
    if isinstance(error, MemoryError):
        return str(error) or "out of memory"
    return str(error) or type(error).__name__


def _wording_of_system(error: OSError) -> Iterator[str]:
    # The subject, what is wrong with it, and what you can do.
    assert error.strerror
    if error.filename is not None:
        yield os.fsdecode(error.filename)
    elif error.errno == errno.ENOENT and not _has_folder():
        yield "the current folder"
        yield "it was removed; go to a folder that is there: cd"
        return
    elif error.errno == errno.EMFILE:
        yield "this process"
    yield error.strerror
    if error.errno in _NEXT:
        yield _NEXT[error.errno]


def _has_folder() -> bool:
    with suppress(OSError):
        return bool(os.getcwd())  # noqa: PTH109
    return False
