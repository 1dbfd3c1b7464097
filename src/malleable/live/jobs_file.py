"""Jobs to run, from a file of jobs or the command line, checked before anything starts. Tasks are made when
they start, so that a job of a million lines takes the memory of its values."""

from __future__ import annotations

import glob
import io
import math
import re
import sys
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from malleable.files.csv import csv_rows
from malleable.files.reading import Source, open_text, parse_seconds, parse_size, telling_of
from malleable.live.journal_rows import JobRow
from malleable.live.resources import check_needs
from malleable.live.shell_text import OF_COLUMNS, ShellText, quoted
from malleable.live.templates import Template
from malleable.validation import (
    BYTES,
    WEIGHT,
    WORK,
    check_amount,
    check_slots,
    check_time,
    check_whole,
    near,
    shown,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# What was ordered of a job while it ran.
PAUSED, CANCELLED = "paused", "cancelled"
_HELD = "held"  # key of that order in a job's description
# Tasks that all jobs of a run may have together.
MOST_TASKS = 100_000_000


@dataclass(kw_only=True)
class Terms:
    """What a user asks for a job.

    Attributes
    ----------
    weight, min_slots, max_slots, user, program
        As in job tables; task times are remembered by the program.
    deadline : float
        Seconds after the start of the run; infinite: none.
    retries : int
        How often a failed task is tried again.
    seconds : float
        Estimated seconds of a task; 0: not known.
    backups : bool
        Whether its tasks may run twice at once.
    """

    weight: float = 1.0
    deadline: float = math.inf
    min_slots: int = 0
    max_slots: int | None = None
    user: str = ""
    program: str = ""
    retries: int = 0
    seconds: float = 0.0
    backups: bool = False


@dataclass
class Job(Terms):
    """A job to run.

    Attributes
    ----------
    command : Template
        A command with places for values. One task for each of `values`: texts or numbers, mappings of texts
        by name, or None for a task without a value.
    commands : sequence
        Instead: one task each, a text for a shell.
    memory : float
        Bytes of a task; 0: not known. Running tasks together have at most the machine's.
    after : sequence of str
        Names of jobs that must have ended first.
    timeout : float
        Time limit of a task [s], which then has failed; 0: none.
    folder, environment
        Where its tasks run, and variables beside those of the run.
    resources : mapping
        How many of each resource a task holds.
    held : str
        `PAUSED` or `CANCELLED` by an order, else empty.
    """

    name: str
    command: Template | None = None
    values: Sequence[Any] = (None,)
    commands: Sequence[str] = ()
    memory: float = 0.0
    after: Sequence[str] = ()
    timeout: float = 0.0
    folder: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, int] = field(default_factory=dict)
    held: str = ""

    def __len__(self) -> int:
        return len(self.commands) if self.commands else len(self.values)

    @property
    def called(self) -> str:
        # The name under which its task times are remembered.
        return self.program or self.name

    @property
    def needs(self) -> dict[str, float]:
        """What a task holds while it runs, memory among it."""
        return {**self.resources, **({"memory": self.memory} if self.memory else {})}

    @property
    def is_shell(self) -> bool:
        return not self.command or self.command.shell

    def arguments(self, number: int) -> list[str]:
        if self.command:
            return self.command.arguments(self.values[number], number)
        return ["/bin/sh", "-c", self.commands[number]]

    def shown(self, number: int) -> str:
        """The command of one task as its author wrote it; a shell can read it."""
        if self.command:
            return self.command.shown(self.values[number], number)
        own = self.commands[number]
        if own.isprintable() and ShellText(own).whole:
            return own
        return " ".join(map(quoted, self.arguments(number)))


class Parts(Sequence[str]):
    """What stands between the NULs of a text, in the memory of that and of a number for each."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = array("I", (found.start() for found in re.finditer("\0", text)))
        self._ends.append(len(text))

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, index: Any) -> Any:
        at = range(len(self))[index]
        return self._text[self._ends[at - 1] + 1 if at else 0 : self._ends[at]]


class Matrix(Sequence[Mapping[str, str]]):
    """All combinations of values by name; the last name varies fastest."""

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self.columns = dict(columns)
        self._length = math.prod(map(len, columns.values()))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        at = range(self._length)[index]
        found = {}
        for name, values in reversed(self.columns.items()):
            at, place = divmod(at, len(values))
            found[name] = str(values[place])
        return dict(reversed(found.items()))


def table_values(text: str, where: str, command: str) -> list[dict[str, str]]:
    """Values of CSV, or of TSV if the first line has a tab, by the numbers of its columns from 1. If the
    command has a field with a name, names are in the first row. ValueError for rows of different lengths."""
    tabs = "\t" in text.partition("\n")[0]
    rows, names = list[list[str]](), list[str]()
    lines = io.StringIO(text, newline="")
    between = "\t" if tabs else ","
    with telling_of(where), csv_rows(lines, strict=True, between=between) as found:
        for row in filter(None, found):
            if rows and len(row) != len(rows[0]):
                told = f"{len(row)} values, and the first line has {len(rows[0])}"
                raise ValueError(f"line {found.line_num}: {told}")
            rows.append(row)
    fields = (field[1] for field in OF_COLUMNS.finditer(command))
    if rows and any(name and not name.isdecimal() for name in fields):
        names = rows.pop(0)
    numbers = [str(k + 1) for k in range(max(map(len, rows), default=0))]
    return [dict(zip([*names, *numbers], [*row * bool(names), *row], strict=True)) for row in rows]


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(f"{name} = {shown(value)}: expected text")
    return value


def _texts(name: str, value: Any) -> list[str]:
    if not isinstance(value, list):
        raise ValueError(f"{name} = {shown(value)}: expected a list")
    if all(type(each) is str and "\0" not in each for each in value):  # a million of them, quickly
        return value
    return [
        _text(f"{name}[{k}]", str(each) if type(each) in (int, float) else each)
        for k, each in enumerate(value)
    ]


def _plain_values(name: str, given: Any) -> Sequence[Any]:
    # Texts, or texts by name, all by the same names.
    if not isinstance(given, list) or not any(isinstance(each, Mapping) for each in given):
        return _texts(name, given)
    for k, each in enumerate(given):
        if not isinstance(each, Mapping) or each.keys() != given[0].keys():
            raise ValueError(f"{name}[{k}] = {shown(each)}: expected the names that {name}[0] has")
        _texts(f"{name}[{k}]", list(each.values()))
    return given


def _range(name: str, value: Any, folder: Path) -> range:
    parts = value if isinstance(value, list) else [1, value]
    if not 2 <= len(parts) <= 3:
        raise ValueError(f"{name} = {shown(value)}: expected 100, [1, 100] or [1, 100, 3]")
    first, last, step = [check_whole(name, part, -(2**53), 2**53) for part in [*parts, 1][:3]]
    if step == 0:
        raise ValueError(f"{name}: the step must not be 0")
    return range(first, last + (1 if step > 0 else -1), step)


def _lines(name: str, given: Any, folder: Path) -> list[str]:
    with open_text(folder / _text(name, given)) as (text, where), telling_of(where):
        return lines_of(text.read())


def lines_of(text: str) -> list[str]:
    """Lines of a text; the last may be without an end, and an end may have a carriage return."""
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def _files(name: str, given: Any, folder: Path) -> list[str]:
    found: list[str] = []
    for pattern in [_text(name, given)] if isinstance(given, str) else _texts(name, given):
        matches = sorted(glob.glob(pattern, root_dir=folder, recursive=True))  # noqa: PTH207 - as a shell
        if not matches:
            raise ValueError(f"{name}: no file matches {shown(pattern)}")
        found += matches
    return found


def _matrix(name: str, given: Any, folder: Path) -> Matrix:
    if not isinstance(given, dict) or not given:
        raise ValueError(f"{name}: expected names with lists of values")
    columns = {}
    for key, own in given.items():
        where = f"{name}.{key}"
        columns[key] = _texts(where, own) if isinstance(own, list) else _values(where, own, folder)
    return Matrix(columns)


def _values(name: str, over: Any, folder: Path) -> Sequence[Any]:
    if isinstance(over, list):
        over = {"values": over}
    if not isinstance(over, dict) or len(over) != 1:
        raise ValueError(f"{name} = {shown(over)}: expected one of {', '.join(_OVER)}")
    _check_known(over, list(_OVER), f"{name}.")
    ((kind, given),) = over.items()
    return _OVER[kind](f"{name}.{kind}", given, folder)


# What the key ``over`` of a job may say: how to read the values of its tasks, by kind.
_OVER: Mapping[str, Callable[[str, Any, Path], Sequence[Any]]] = {
    "files": _files,
    "range": _range,
    "lines": _lines,
    "matrix": _matrix,
    "values": lambda name, given, _: _plain_values(name, given),
}


def _command(name: str, value: Any, *of_values: Any) -> Template:
    if not isinstance(value, str):
        value = _texts(name, value)
    try:
        return Template(value, *of_values)
    except ValueError as error:
        raise ValueError(str(error).replace("command", name, 1)) from None


_BLANK = re.compile(r"\0\s*(?=\0)")


def _whole_commands(name: str, given: Any) -> Sequence[str]:
    text = given if isinstance(given, str) else "\0".join(_texts(name, given))
    if _BLANK.search(f"\0{text}\0"):
        raise ValueError(f"{name}: one of the texts is empty")
    return Parts(text)


def _amount(name: str, value: Any, parse: Callable[[str], float], limits: Any) -> float:
    # A number, or a text that ``parse`` makes one of.
    if isinstance(value, str):
        try:
            value = parse(value)
        except ValueError as error:
            raise ValueError(f"{name} = {error}") from None
    return check_amount(name, value, limits)


def _seconds(name: str, value: Any) -> float:
    return check_time(name, _amount(name, value, parse_seconds, WORK))


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} = {shown(value)}: expected true or false")
    return value


def _resources(name: str, value: Any) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} = {shown(value)}: expected names with numbers")
    return {key: check_whole(f"{name}.{key}", each, 1, 10**6) for key, each in value.items()}


def _environment(name: str, value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} = {shown(value)}: expected names with texts")
    for key in value:
        if not key or "=" in key or "\0" in key:
            raise ValueError(f"{name}: {shown(key)} is not a variable's name")
    return {key: _text(f"{name}.{key}", each) for key, each in value.items()}


_CHECKS: Mapping[str, Any] = {
    "weight": lambda name, value: check_amount(name, value, WEIGHT),
    "deadline": _seconds,
    "min_slots": lambda name, value: check_slots(value, name, least=0),
    "max_slots": lambda name, value: check_slots(value, name),
    "memory": lambda name, value: _amount(name, value, parse_size, BYTES),
    "user": _text,
    "program": _text,
    "after": _texts,
    "retries": lambda name, value: check_whole(name, value, 0, 10**6),
    "timeout": _seconds,
    "seconds": _seconds,
    "folder": _text,
    "environment": _environment,
    "backups": _flag,
    "resources": _resources,
}
_KEYS = ("name", "command", "commands", "over", *_CHECKS)


def _check_known(keys: Iterable[str], known: Sequence[str], where: str = "") -> None:
    for key in keys:
        if key not in known:
            hint = near(key, known) or f"; expected one of {', '.join(known)}"
            raise ValueError(f"{where}{key}: unknown{hint}")


def checked_settings(
    settings: Mapping[str, Any], known: Sequence[str], where: str = ""
) -> dict[str, Any]:
    """Settings of a job by name, checked; ValueError names what is wrong, and the nearest name."""
    _check_known(settings, known, where)
    found = {key: _CHECKS[key](f"{where}{key}", value) for key, value in settings.items()}
    least, most = found.get("min_slots", 0), found.get("max_slots")
    if most is not None and least > most:
        raise ValueError(f"{where}min_slots = {least}: above max_slots = {most}")
    return found


def _frozen(values: Sequence[Any]) -> dict[str, Any]:
    if isinstance(values, range) and len(values):
        return {"range": [values.start, values[-1], values.step]}
    if isinstance(values, Matrix):
        return {"matrix": {name: _frozen(own) for name, own in values.columns.items()}}
    return {"values": list(values)}


def recorded(jobs: Sequence[Job], rows: Sequence[Mapping[str, Any]]) -> list[JobRow]:
    """Jobs and the tables (``rows``) that describe them, as a journal keeps them: with the values found."""
    found = []
    for job, row in zip(jobs, rows, strict=True):
        settings = {key: each for key, each in row.items() if key not in ("over", "commands")}
        over = {"over": _frozen(job.values)} if "over" in row else None
        content = {"commands": row["commands"]} if "commands" in row else over
        settings |= {"name": job.name, "folder": job.folder}
        found.append(JobRow(settings, len(job), content))
    return found


def recalled(rows: Sequence[JobRow]) -> list[Job]:
    """Jobs of commands from a journal, which needs nothing else."""
    tables = [{**row.described, **(row.content or {})} for row in rows]
    held = [table.pop(_HELD, "") for table in tables]
    return [replace(job, held=own) for job, own in zip(parse_jobs(tables, "/"), held, strict=True)]


def described_jobs(rows: Sequence[JobRow]) -> list[Job]:
    """Jobs of any run as its journal describes them, without their tasks."""
    jobs = []
    for row in rows:
        own = row.described
        given = {key: own[key] for key in _CHECKS if own.get(key) is not None}
        settings = {"held": own.get(_HELD, ""), **checked_settings(given, list(_CHECKS))}
        jobs.append(Job(own["name"], values=range(row.tasks), **settings))
    return jobs


def _job(row: Any, place: int, folder: Path) -> Job:
    where = f"job[{place}]"
    if not isinstance(row, Mapping):
        raise ValueError(f"{where} = {shown(row)}: expected a table")
    _check_known(row, _KEYS, f"{where}.")
    name = _text(f"{where}.name", row.get("name", f"job{place + 1}"))
    if not name:
        raise ValueError(f"{where}.name: empty")
    if ("command" in row) == ("commands" in row):
        raise ValueError(f"{where}: needs either command or commands")
    checked = checked_settings({key: row[key] for key in _CHECKS if key in row}, _KEYS, f"{where}.")
    checked["folder"] = str(folder.absolute() / checked.get("folder", ""))
    if "commands" in row:
        if "over" in row:
            raise ValueError(f"{where}.over: goes with command, not with commands")
        commands = _whole_commands(f"{where}.commands", row["commands"])
        return Job(name, values=(), commands=commands, **checked)
    values: Any = _values(f"{where}.over", row["over"], folder) if "over" in row else (None,)
    names = tuple(values[0]) if len(values) and isinstance(values[0], Mapping) else ()
    command = _command(f"{where}.command", row["command"], names, "over" in row)
    return Job(name, command, values, **checked)


def parents_first(after: Sequence[Sequence[int]]) -> list[int]:
    """Rows in an order in which each comes after the rows that it waits for; CycleError if there is none.
    O(rows + edges)."""
    return list(TopologicalSorter(dict(enumerate(after))).static_order())


def never_begin(jobs: Sequence[Job], failed: Iterable[int]) -> dict[int, list[str]]:
    """Jobs that were cancelled, or wait for jobs that failed, as these rows did, or were cancelled: by row the
    names of the latter. O(rows + edges)."""
    place = {job.name: row for row, job in enumerate(jobs)}
    bad, found = set(failed), dict[int, list[str]]()
    for row in parents_first([[place[name] for name in job.after] for job in jobs]):
        parents = [name for name in jobs[row].after if place[name] in bad]
        if jobs[row].held == CANCELLED or parents:
            bad.add(row)
            found[row] = [] if jobs[row].held == CANCELLED else parents
    return found


def _check_order(jobs: Sequence[Job]) -> None:
    place: dict[str, int] = {}
    for k, job in enumerate(jobs):
        if place.setdefault(job.name, k) != k:
            raise ValueError(
                f"job[{k}].name = {shown(job.name)}: job[{place[job.name]}] has it, too"
            )
    for k, job in enumerate(jobs):
        for parent in job.after:
            if parent not in place:
                hint = near(parent, place)
                raise ValueError(f"job[{k}].after: no job is called {shown(parent)}{hint}")
    try:
        parents_first([[place[name] for name in job.after] for job in jobs])
    except CycleError as error:
        stuck = [jobs[k].name for k in error.args[1][1:]]
        told = f"after: {', '.join(stuck[:5])}{', ...' * (len(stuck) > 5)} wait for each other"
        raise ValueError(told) from None


def parse_jobs(
    rows: Sequence[Any], folder: Path | str = ".", present: Sequence[Job] = ()
) -> list[Job]:
    """Jobs of tables as TOML has them, with the keys `_KEYS`, beside jobs that are ``present``; names of files
    are relative to ``folder``. ValueError names the job, the key and what is wrong."""
    if not rows:
        raise ValueError("no [[job]]: nothing to run")
    jobs = [_job(row, k, Path(folder)) for k, row in enumerate(rows, len(present))]
    _check_order([*present, *jobs])
    total = sum(map(len, [*present, *jobs]))
    if total > MOST_TASKS:
        raise ValueError(f"{total:,} tasks: at most {MOST_TASKS:,}")
    return jobs


def check_fits(jobs: Sequence[Job], slots: int, capacity: Mapping[str, float]) -> None:
    """ValueError for a job that is guaranteed more slots than there are, or whose tasks need more memory or
    resources."""
    for k, job in enumerate(jobs):
        if job.min_slots > slots:
            least = f"job[{k}].min_slots = {job.min_slots}"
            raise ValueError(f"{least}: above the {slots} slots of the run")
        check_needs(f"job[{k}]", {"memory": job.memory}, capacity, " bytes for all tasks")
        check_needs(f"job[{k}].resources", job.resources, capacity, "; --resource NAME= says which")


def read_rows(source: Source) -> list[dict[str, Any]]:
    with open_text(source) as (text, where), telling_of(where):
        try:
            found = tomllib.loads(text.read())
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise ValueError(f"not a TOML file: {error}") from None
        _check_known(found, ["job"])
        rows = found.get("job", [])
        if not isinstance(rows, list):
            raise ValueError("job: write [[job]], with two brackets")
        return rows
