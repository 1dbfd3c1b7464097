"""Parts that the commands share: tables, progress bars, options about input."""

from __future__ import annotations

import argparse
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from malleable.cli.streams import console, note, quiet, watched
from malleable.files.reading import MAX_SIZE, parse_seconds, parse_size, source_of
from malleable.simulation import parsed_option
from malleable.traces import Trace, read
from malleable.view.text import Table, fields_of, printable

if TYPE_CHECKING:
    from rich.console import Console

Result = TypeVar("Result")


def show(*parts: Table | str | list[str]) -> None:
    """Tables and lines on standard output, unless quiet; without trailing blanks if it is no terminal.
    Lines of a list are never wrapped."""
    if quiet():
        return
    on = console(sys.stdout)
    for part in parts:
        if isinstance(part, list):
            sys.stdout.write("".join(line + "\n" for line in part))
        elif isinstance(part, Table) and part.title:
            _print(on, part.title)  # printed separately, because it may be wider than the table
            _print(on, part.without_title())
        else:
            _print(on, part)


def _print(on: Console, part: Table | str) -> None:
    if on.is_terminal:
        on.print(part)
        return
    with on.capture() as captured:
        on.print(part, soft_wrap=isinstance(part, str))
    lines = captured.get().splitlines()
    sys.stdout.write("".join(line.rstrip() + "\n" for line in lines))


@contextmanager
def _bar(what: str) -> Iterator[Callable[..., None]]:
    # What changes a bar on standard error with the time left; nothing if standard error is no terminal.
    if not watched(sys.stderr):
        yield lambda **change: None
        return
    from rich.progress import Progress

    with Progress(console=console(sys.stderr), transient=True) as progress:
        yield partial(progress.update, progress.add_task(what, total=None))


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[str, int], None]]:
    """A bar; yields ``advance(label, total)``, which moves it on by one of ``total`` steps."""
    with _bar(what) as change:
        yield lambda label, total: change(advance=1, total=total, description=label)


@contextmanager
def counting_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    with _bar(what) as change:
        yield lambda done, total: change(completed=done, total=total)


@contextmanager
def busy(what: str) -> Iterator[None]:
    if not watched(sys.stderr):
        yield
        return
    with console(sys.stderr).status(what):
        yield


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    with warnings.catch_warnings(record=True) as told:
        for kind in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", kind)
        yield
    for text in dict.fromkeys(str(warning.message) for warning in told):
        note(text)


class Interrupts:
    """Ctrl-C and SIGTERM: the first sets ``heard``, the second raises KeyboardInterrupt."""

    heard = False

    def __call__(self, number: int, frame: types.FrameType | None) -> None:
        if self.heard:
            raise KeyboardInterrupt
        self.heard = True


@contextmanager
def interrupts_heard() -> Iterator[Interrupts]:
    heard = Interrupts()
    before = {
        which: signal.signal(which, heard)
        for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(which) is not signal.SIG_IGN
    }
    try:
        yield heard
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)


def _argument(parse: Callable[[str], Result]) -> Callable[[str], Result]:
    def parsed(text: str) -> Result:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parsed


# Bytes and seconds, as arguments say them.
size, duration = _argument(parse_size), _argument(parse_seconds)


def listed(name: str, text: str, kind: Callable[[str], Result]) -> list[Result]:
    """The parts of an option's value, between commas; ValueError unless all are numbers."""
    try:
        return [kind(part.strip()) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--{name} {text}: numbers with commas between them") from None


def adder(to: Any) -> Callable[..., str]:
    """A function that adds options to a parser or a group, and returns the name of their attribute.

    ``add(words, told, kind, default, **how)``: the names of the option (or the attribute of a positional
    argument) with a placeholder for the value (``"-j --slots N"``, ``"file FILE"``); its help, to which a
    default is added; and the type of the value (bool: it takes none). ``how`` is argparse's.
    """

    def add(words: str, told: str = "", kind: Any = None, default: Any = None, **how: Any) -> str:
        parts = words.split()
        names = [part for part in parts if part[0] == "-"] or parts[:1]
        if value := " ".join(parts[len(names) :]):
            how["metavar"] = value
        how |= {"action": "store_true"} if kind is bool else {"type": kind, "default": default}
        if default is not None:
            told += " (default: %(default)s)" if told else "default: %(default)s"
        name: str = to.add_argument(*names, help=told, **how).dest
        return name

    return add


def reading_arguments(parser: argparse.ArgumentParser) -> None:
    add = adder(parser)
    add("--skip-bad", "leave out malformed records of a trace, with a warning", bool)
    told = "submit=A,start=B,end=C,slots=D of a CSV file, or sacct's in order (default: as in the header)"
    add("--columns A,B", told)
    add(
        "--slots-from NAME",
        "what counts as slots in a log of Slurm, for example gres/gpu (default: CPUs)",
    )
    add("--max-size SIZE", "refuse files with more data, unpacked", size, f"{MAX_SIZE >> 30}G")


def log_arguments(parser: argparse.ArgumentParser) -> None:
    """How logs are read, which jobs of them count, and on which cluster these run."""
    add = adder(parser)
    told = "slots, or machines (default: what the file says, or the most ever in use)"
    add("--slots N", told, int)
    add("--load L", "instead of --slots: as many slots as make this load", float)
    add("--cluster FILE", "instead of --slots: the nodes of the cluster (TOML)")
    told = "if all jobs come at one time: let them come at random within S seconds"
    add("--spread S", told, duration)
    told = "only jobs that come from then on: seconds after the first job, or a date (default: all)"
    add("--from TIME", told, dest="since")
    add("--to TIME", "only jobs that come before (default: all)", dest="until")
    told = "all jobs are rigid: all their tasks start together (default: as the log says)"
    add("--rigid", told, bool)
    told = "a share of the jobs, from 0 to 1 and drawn with --seed, is malleable (default: as the log says)"
    add("--malleable SHARE", told, float)
    add("--seed N", "seed of random numbers", int, 0)
    told = "an option of the trace's format, or an assumption (malleable simulate --options lists both)"
    add("--read NAME=VALUE", told, action="append")
    reading_arguments(parser)


def log_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """These arguments as those of `malleable.report.study.study`."""
    names = ("cluster", "slots", "load", "spread", "seed", "rigid", "malleable")
    given = arguments.read or ()
    return {
        **fields_of(arguments, *names),
        "window": (arguments.since, arguments.until),
        "reading": dict(parsed_option(text, f"--read {text}") for text in given),
    }


def read_file(path: str, arguments: argparse.Namespace) -> Trace:
    """The trace or table of a file (``-``: standard input), read as the options say."""
    source = source_of(path)
    with busy(f"reading {printable(path)}"), warnings_as_notes():
        return read(source, **reading_options(arguments))


def reading_options(arguments: argparse.Namespace) -> dict[str, Any]:
    return fields_of(arguments, "skip_bad", "max_size", "columns", "slots_from")
