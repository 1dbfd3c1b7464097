"""Reading a trace (recorded jobs) of any format. Each format is a file of this folder with a ``FORMAT``, which
says how to recognise it by its content and how to read it; `_MODULES` names the files. A folder that is read is
the parts of a Spark event log, or logs of one format."""

from __future__ import annotations

import importlib
import os
import re
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, TypeVar

from malleable.files.bad_records import BadRecords
from malleable.files.json import parse_json
from malleable.files.reading import (
    MAX_SIZE,
    DamageError,
    Source,
    as_text,
    open_bytes,
    open_parts,
    telling_of,
)
from malleable.traces.arrow_columns import is_frame
from malleable.traces.trace import Trace
from malleable.validation import shown

Record = TypeVar("Record")
Table = TypeVar("Table")

# If a head looks like several formats, the first of them reads it.
_MODULES = (
    "columns_csv", "alibaba_csv", "flow_files", "wfformat", "spark", "sacct_json", "yarn", "kubernetes",
    "rumen", "jhist", "nextflow", "parallel_log", "pbs", "swim", "google2011_events", "sacct", "job_table",
    "swf",
)  # fmt: skip
_PART = re.compile(r"events_([0-9]{1,9})_")  # name of a part of a Spark event log


class Head:
    """The first 4096 bytes of a file, unpacked; the last character and line may be cut. ``text`` begins with
    the first character that is no space, ``line`` is its first line, ``cells`` are that as CSV,
    ``is_object`` says whether it begins like a JSON object."""

    def __init__(self, data: bytes, columns: Mapping[str, str] | None = None) -> None:
        self.data = data
        self.columns = columns or {}
        self.text = data.decode("utf-8-sig", errors="replace").lstrip("\r\n \f\v")
        self.line = self.text.splitlines()[0] if self.text else ""
        self.cells = [cell.strip().strip('"') for cell in self.line.split(",")]
        self.is_object = self.text.lstrip().startswith("{")


@dataclass(frozen=True)
class File:
    """A file that a format reads, unpacked and within ``max_size`` bytes: a ``stream``, its name ``where``,
    which `read` puts before errors, ``bad`` for malformed records, ``columns`` (our name, and the name in the
    file or "") and ``slots_from`` (the resource that counts as slots)."""

    stream: BinaryIO
    where: str
    bad: BadRecords
    max_size: int | None
    columns: Mapping[str, str]
    slots_from: str | None

    def text(self) -> AbstractContextManager[TextIO]:
        return as_text(self.stream, self.where)

    def lines(self) -> Generator[tuple[int, str]]:
        """Non-blank lines with their numbers; damage of packed data goes to ``bad``."""
        number = 0
        with self.text() as text:
            try:
                for number, line in enumerate(text, start=1):
                    if line.strip():
                        yield number, line.rstrip("\r\n")
            except DamageError as error:
                self.bad.add(f"after line {number}: {error}")

    def records(
        self, parse: Callable[[Any], Record | None], lines: Any = None, noun: str = "line"
    ) -> Iterator[Record]:
        """Results of ``parse`` for each line, or for these with numbers, without None. ValueErrors go to
        ``bad``, with ``noun`` and number."""
        for number, line in self.lines() if lines is None else lines:
            try:
                found = parse(line)
            except ValueError as error:
                self.bad.add(f"{noun} {number}: {error}")
                continue
            if found is not None:
                yield found

    def json(self) -> Any:
        with self.text() as text:
            return parse_json(text.read())

    def whole(
        self, records: list[Record], build: Callable[[list[Record]], Table], noun: str
    ) -> Table:
        """The table that ``build`` makes of all records; with ``skip_bad``, of all that `build` takes: halves
        are tried until the malformed ones are alone."""
        before = self.bad.count
        try:
            made, good = build(records), len(records)
        except ValueError:
            sound = self._sound(records, build)
            if self.bad.count == before:
                raise
            made, good = None, len(sound)
        self.bad.noun = noun
        self.bad.report(self.where, good)
        return build(sound) if made is None else made

    def _sound(self, records: list[Record], build: Callable[[list[Record]], Table]) -> list[Record]:
        # Records that are not malformed.
        try:
            build(records)
            return records
        except ValueError as error:
            if len(records) < 2:
                self.bad.add(str(error))
                return []
        half = len(records) // 2
        return self._sound(records[:half], build) + self._sound(records[half:], build)

    def check_records(self, good: int, noun: str = "jobs") -> None:
        """After the last record: an error or a warning if any was malformed, an error if there is none."""
        self.bad.noun = noun
        self.bad.report(self.where, good)
        if not good:
            raise ValueError(f"empty, no {noun} in it")


class Format(NamedTuple):
    """A format: its name, whether a head looks like it, and how to read a `File` or a data ``frame``."""

    name: str
    looks: Callable[[Head], bool]
    read: Callable[[File], Trace]
    frame: Callable[[Any], Trace] | None = None


def _formats() -> list[Format]:
    return [importlib.import_module(f"malleable.traces.{stem}").FORMAT for stem in _MODULES]


def _format_of(head: Head) -> Format:
    if not head.text and not head.data.strip():
        raise ValueError("empty, no jobs in it")
    for format in _formats():
        if format.looks(head):
            return format
    if b"\0" in head.data:
        raise ValueError("binary data, neither gzip, bz2, zstd, lz4 nor Parquet")
    raise ValueError(f"unknown format, begins with {shown(head.line)}; {_likeliest(head)}")


def _likeliest(head: Head) -> str:
    # Which two formats a file of none of them may be, and what reads it.
    named = "--columns submit=A,start=B,end=C,slots=D names the columns of any table of jobs"
    without = "--columns JobID,Submit,... names the columns of sacct in a file without their names"
    if head.is_object or head.text.startswith("["):
        return "JSON that is read: of sacct, YARN, Kubernetes, Rumen, Spark, WfFormat, flows"
    if head.text.startswith("<"):
        return "XML or HTML: YARN answers JSON to curl -H 'Accept: application/json'"
    if "JobID" in head.line.split():
        return "sacct's table for people: sacct --parsable2 writes one that is read"
    if "|" in head.line:
        return f"most like a Slurm sacct table or a CSV file: {without}; {named}"
    if "," in head.line or "\t" in head.line or ";" in head.line:
        return f"most like a table of jobs or a CSV file of another program: {named}"
    return f"most like an SWF log (18 numbers a line) or a table of jobs: {named}"


def _logs(folder: Path) -> list[Path]:
    # What is in a folder of logs, in the order of names, without files of no known format.
    found = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))
    for path in filter(_leads_nowhere, found):
        told = "a symbolic link that leads nowhere, or around; remove it, or give the logs by name"
        raise ValueError(f"{path}: {told}")
    if any(map(_is_part, found)):
        return []
    found = [path for path in found if path.stat().st_size]
    known = [path for path in found if path.is_dir() or _is_known(path)]
    if known and known != found:
        others = ", ".join(path.name for path in found if path not in known)
        warnings.warn(f"{folder}: of no known format, and left out: {others}", stacklevel=3)
    return known or found


def _leads_nowhere(path: Path) -> bool:
    around = path.is_symlink() and path.parent.resolve().is_relative_to(os.path.realpath(path))
    return around or not path.exists()


def _is_known(path: Path) -> bool:
    with open_bytes(path, max_size=None) as (stream, _):
        head = Head(stream.peek())
    return any(format.looks(head) for format in _formats())


def _columns(told: str | Mapping[str, str] | None) -> Mapping[str, str]:
    if not isinstance(told, str):
        return told or {}
    pairs = [part.partition("=") for part in told.split(",") if part.strip()]
    return {here.strip(): there.strip() for here, _, there in pairs}


def read(
    source: Source | Any,
    *,
    skip_bad: bool = False,
    max_size: int | None = MAX_SIZE,
    columns: str | Mapping[str, str] | None = None,
    slots_from: str | None = None,
) -> Trace:
    r"""Read a trace or a table of jobs of any known format.

    Parameters
    ----------
    source : path, file object or data frame
        Plain, gzip, bz2, zstd or lz4; the content tells the format. A folder of logs of one format is one
        trace. A rolling log of Spark is one trace, too: its folder, or one of its parts.
    skip_bad : bool
        False: malformed records, and everything behind a damaged place of the file, are one error that counts
        them and shows the first. True: they are left out, with a warning that counts them.
    max_size : int or None
        Bytes that the file may have, unpacked; None: any number.
    columns : str or mapping, optional
        For a CSV file of jobs: ``submit=A,start=B,end=C,slots=D`` with the names of its columns, or a mapping
        with these pairs. For a table of sacct without a header: the names of its columns in their order.
    slots_from : str, optional
        For a log of Slurm: the resource of AllocTRES that counts as slots, for example ``gres/gpu``.

    Returns
    -------
    Trace
        Its converters `Trace.jobs`, `Trace.flows`, `Trace.map_shuffle`, `Trace.map_reduce` and `Trace.tasks`
        give the tables of all models.

    Raises
    ------
    ValueError
        One line that names the file, and the line or record and field: an unknown format, malformed records,
        more than ``max_size``.
    ImportError
        Parquet, zstd, lz4 or a data frame, and pyarrow is not installed.
    OSError
        The file cannot be opened.

    See Also
    --------
    malleable.read_jobs : A table of divisible jobs.

    Notes
    -----
    Time and memory are linear in the size of the file.

    Examples
    --------
    >>> import io
    >>> import malleable as mb
    >>> trace = mb.read(io.StringIO("nightly\t0\t0\t1e9\t4e9\t0\nhourly\t60\t60\t2e8\t0\t0\n"))
    >>> trace
    Trace(SWIM trace, 2 jobs)
    >>> trace.jobs(phase="map", block_bytes=1e8).work
    array([200.,  40.])
    """
    if not isinstance(skip_bad, bool):
        raise ValueError(f"skip_bad = {shown(skip_bad)}: must be True or False")
    if is_frame(source):
        return next(format.frame for format in _formats() if format.frame)(source)
    path = Path(source) if isinstance(source, (str, os.PathLike)) else None
    if path is not None and _is_part(path):
        path = path.absolute().parent
    if path is not None and path.is_dir() and (logs := _logs(path)):
        from malleable.traces.merging import merged

        common: dict[str, Any] = {"skip_bad": skip_bad, "max_size": max_size}
        common |= {"columns": columns, "slots_from": slots_from}
        return replace(merged([read(log, **common) for log in logs]), where=str(path))
    opened: AbstractContextManager[Any] = open_bytes(source, max_size)
    if path is not None and path.is_dir():
        opened = open_parts(_parts_of(path), str(path), max_size)
    with opened as (stream, where), telling_of(where):
        named = _columns(columns)
        format = _format_of(Head(stream.peek(), named))
        bad = BadRecords(skip_bad)
        trace = format.read(File(stream, where, bad, max_size, named, slots_from))
        own = trace.format or format.name
        return replace(trace, format=own, where=where, skip_bad=skip_bad)


def _parts_of(folder: Path) -> list[Path]:
    # The files of a rolling log in order, from the last compacted one on: ``events_NUMBER_APPLICATION``, with
    # ``.compact`` and a codec's name. ValueError if there are none, or one is missing.
    named = ((_PART.match(path.name), path) for path in folder.iterdir())
    parts = sorted((int(found[1]), ".compact" in path.name, path) for found, path in named if found)
    if not parts:
        told = "a directory without parts of a Spark event log (events_1_ ...)"
        raise ValueError(f"{folder}: {told}")
    found = {number: path for number, _, path in parts}
    first = max((number for number, compact, _ in parts if compact), default=1)
    for number in range(first, max(found) + 1):
        if number not in found:
            raise ValueError(f"{folder}: part {number} of the Spark event log is missing")
    return [path for number, path in found.items() if number >= first]


def _is_part(path: Path) -> bool:
    return _PART.match(path.name) is not None and path.is_file()
