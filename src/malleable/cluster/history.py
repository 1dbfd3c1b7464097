"""What a scheduler has learnt of the times of tasks: sums that the core keeps, as a mapping in JSON's types
with which another scheduler can begin.

A phase is the map or the reduce tasks of a job. A statement is the time of a task that a user gave before. p
is the exponent of speed-up: s tasks at once do s^p; it is estimated on a grid of 16 values.

The mapping has sums over all phases (``common``), an entry for each program and user with what their phases
showed (``programs``), and an entry for each user who stated times (``users``). In an entry ``map`` and
``reduce`` have 3 numbers: the number of phases, the mean of the logarithms of their tasks' seconds, and that
of the latest ones; of a user the same of how far statements were off, with the sum of squares in the third.
``speedup`` has 17: tasks that showed p, and the log-likelihood of each p."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from malleable.arrays import Floats
from malleable.files.json import is_number, parse_json
from malleable.validation import shown

_FORMAT = "malleable history 1"
_KEYS = {"programs": ("program", "user"), "users": ("user",)}  # that name an entry of a list
_WIDTHS = {"map": 3, "reduce": 3, "speedup": 17}  # numbers of each field of an entry
_PHASES = ("map", "reduce")  # fields that every entry has


def history_of(
    names: Iterable[tuple[str, str]], users: Iterable[str], numbers: tuple[Floats, ...]
) -> dict[str, Any]:
    """The history of ``numbers`` of the core, for programs and users in the order of their rows; the last
    ones may have no row. Users that stated nothing and speed-ups that no task has shown are left out."""
    common, maps, reduces, said_maps, said_reduces, speedups = numbers
    programs = [
        {"program": program, "user": user} | _entry(row, map=maps, reduce=reduces, speedup=speedups)
        for row, (program, user) in enumerate(names)
    ]
    people = [
        {"user": user} | _entry(row, map=said_maps, reduce=said_reduces)
        for row, user in enumerate(users)
    ]
    stated = [own for own in people if own["map"][0] or own["reduce"][0]]
    return {"format": _FORMAT, "common": common.tolist(), "programs": programs, "users": stated}


def _entry(row: int, **fields: Floats) -> dict[str, Any]:
    own = {name: rows[row] for name, rows in fields.items() if row < len(rows)}
    every = {name: own.get(name, np.zeros(_WIDTHS[name])) for name in fields}
    return {name: each.tolist() for name, each in every.items() if name in _PHASES or each.any()}


def numbers_of(history: Mapping[str, Any], users: Iterable[str]) -> tuple[Floats, ...]:
    """The arrays of the core, with a row for each of these users."""
    said = {own["user"]: own for own in history["users"]}
    programs, people = history["programs"], [said.get(user, {}) for user in users]

    def rows(entries: list[Any], field: str) -> Floats:
        width = _WIDTHS[field]
        every = [own.get(field, [0.0] * width) for own in entries]
        return np.array(every, dtype=np.float64).reshape(-1, width)

    phases = [rows(entries, phase) for entries in (programs, people) for phase in _PHASES]
    return np.array(history["common"]), *phases, rows(programs, "speedup")


def _numbers(field: str, values: Any, count: int | None = None) -> list[float]:
    if not (isinstance(values, list) and all(map(is_number, values))):
        raise ValueError(f"{field} = {shown(values)}: a list of finite numbers is needed")
    if count is not None and len(values) != count:
        raise ValueError(f"{field} has {len(values)} entries, expected {count}")
    return list(map(float, values))


def _entries(found: Mapping[str, Any], part: str) -> list[dict[str, Any]]:
    entries = found.get(part, [] if part == "users" else None)
    if not isinstance(entries, list):
        raise ValueError(f"history.{part} = {shown(entries)}: a list is needed")
    known: dict[tuple[str, ...], dict[str, Any]] = {}
    for place, own in enumerate(entries):
        where = f"history.{part}[{place}]"
        if not isinstance(own, Mapping):
            raise ValueError(f"{where} = {shown(own)}: a mapping is needed")
        for key in _KEYS[part]:
            if not isinstance(own.get(key), str):
                raise ValueError(f"{where}: {key} is needed")
        name = tuple(own[key] for key in _KEYS[part])
        if name in known:
            told = " of ".join(f"{key} {own[key]!r}" for key in _KEYS[part])
            raise ValueError(f"{where}: {told} is there twice")
        known[name] = dict(zip(_KEYS[part], name, strict=True)) | {
            field: _numbers(f"{where}.{field}", own.get(field), width)
            for field, width in _WIDTHS.items()
            if field in _PHASES or (part == "programs" and field in own)
        }
    return list(known.values())


def read_history(history: Mapping[str, Any] | str | PathLike[str]) -> dict[str, Any]:
    """A history as `Scheduler.history` returns it, or a file of one; ValueError otherwise."""
    if isinstance(history, Mapping):
        found: Any = history
    else:
        found = parse_json(Path(history).read_text(encoding="utf-8"), str(history))
    if not isinstance(found, Mapping) or found.get("format") != _FORMAT:
        raise ValueError(f"history: not a mapping with format = {_FORMAT!r}")
    parts = {part: _entries(found, part) for part in _KEYS}
    return {"format": _FORMAT, "common": _numbers("history.common", found.get("common")), **parts}


def programs_in(history: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Program and user of each entry, by row."""
    return [(own["program"], own["user"]) for own in history["programs"]]
