"""What a scheduler has learnt of the times of tasks: sums that the core keeps, as a mapping in JSON's types
with which another scheduler can begin.

A phase is the map or the reduce tasks of a job. A statement is the time of a task that a user gave before. p
is the exponent of speed-up: s tasks at once do s^p; it is estimated on a grid of 16 values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from malleable.arrays import Floats
from malleable.files.json import is_number, parse_json
from malleable.validation import shown

_FORMAT = "malleable history 1"
_PHASES = {"map": 3, "reduce": 3}
# By list of the file: the keys that name an entry, and the numbers of each field; only phases are
# required.
_NAMES = {"programs": ("program", "user"), "users": ("user",)}
_FIELDS = {
    "programs": {**_PHASES, "speedup": 17},
    "users": _PHASES,
}


class History(NamedTuple):
    """Sums over all phases, and by program and by user what their phases showed, a row each.

    ``map`` and ``reduce`` have 3 columns: the number of phases, the mean of the logarithms of their tasks'
    seconds, and that of the latest ones; for users the same of how far statements were off, with the sum of
    squares in the third. ``speedup`` has 17: tasks that showed p, and the log-likelihood of each p.
    """

    names: list[tuple[str, str]]  # program and user, by row
    users: list[str]  # by row of their statements
    common: Floats
    shown: dict[str, Floats]  # of programs, by field
    said: dict[str, Floats]  # of users' statements, by field

    @classmethod
    def of(
        cls, names: Iterable[tuple[str, str]], users: Iterable[str], numbers: tuple[Floats, ...]
    ) -> History:
        """A history of ``numbers`` of the core, for programs and users in the order of their rows; the last
        ones may have no row."""
        programs, people = list(names), list(users)
        common, maps, reduces, said_maps, said_reduces, *others = numbers
        shown = zip(_FIELDS["programs"], (maps, reduces, *others), strict=True)
        said = zip(_PHASES, (said_maps, said_reduces), strict=True)
        return cls(
            programs,
            people,
            common,
            {field: _filled(rows, len(programs)) for field, rows in shown},
            {field: _filled(rows, len(people)) for field, rows in said},
        )

    def numbers(self, users: Iterable[str]) -> tuple[Floats, ...]:
        # The arrays of the core, with a row for each of these users.
        place = {name: row for row, name in enumerate(self.users)}
        of = [place.get(name, -1) for name in users]
        said = (np.vstack([rows, np.zeros((1, 3))])[of] for rows in self.said.values())
        maps, reduces, *others = self.shown.values()
        return (self.common, maps, reduces, *said, *others)

    def with_users(self, others: History) -> History:
        """With the users of ``others`` that this one does not have."""
        more = [row for row, name in enumerate(others.users) if name not in self.users]
        return self._replace(
            users=[*self.users, *(others.users[row] for row in more)],
            said={
                field: np.vstack([own, others.said[field][more]])
                for field, own in self.said.items()
            },
        )

    def plain(self) -> dict[str, Any]:
        """In JSON's types, without users that stated nothing and without speed-ups that no task has shown."""
        users = _plain("users", [(user,) for user in self.users], self.said)
        return {
            "format": _FORMAT,
            "common": self.common.tolist(),
            "programs": _plain("programs", self.names, self.shown),
            "users": [own for own in users if own["map"][0] or own["reduce"][0]],
        }


def _plain(
    part: str, names: Sequence[tuple[str, ...]], columns: Mapping[str, Floats]
) -> list[dict[str, Any]]:
    entries = []
    for row, name in enumerate(names):
        own = {
            field: rows[row].tolist()
            for field, rows in columns.items()
            if field in _PHASES or rows[row].any()
        }
        entries.append({**dict(zip(_NAMES[part], name, strict=True)), **own})
    return entries


def _filled(rows: Floats, count: int) -> Floats:
    found = np.zeros((count, rows.shape[1]))
    known = min(count, len(rows))
    found[:known] = rows[:known]
    return found


def _row(field: str, values: Any, count: int | None) -> Floats:
    if not (isinstance(values, list) and all(map(is_number, values))):
        raise ValueError(f"{field} = {shown(values)}: a list of finite numbers is needed")
    if count is not None and len(values) != count:
        raise ValueError(f"{field} has {len(values)} entries, expected {count}")
    return np.array(values, dtype=np.float64)


def _entries(found: Mapping[str, Any], part: str) -> tuple[list[Any], dict[str, Floats]]:
    entries = found.get(part)
    if not isinstance(entries, list):
        raise ValueError(f"history.{part} = {shown(entries)}: a list is needed")
    names: dict[tuple[str, ...], None] = {}
    rows: dict[str, list[Floats]] = {field: [] for field in _FIELDS[part]}
    for place, own in enumerate(entries):
        where = f"history.{part}[{place}]"
        if not isinstance(own, Mapping):
            raise ValueError(f"{where} = {shown(own)}: a mapping is needed")
        name: Any = tuple(own.get(key) for key in _NAMES[part])
        for key, value in zip(_NAMES[part], name, strict=True):
            if not isinstance(value, str):
                raise ValueError(f"{where}: {key} is needed")
        if name in names:
            told = " of ".join(f"{key} {own[key]!r}" for key in _NAMES[part])
            raise ValueError(f"{where}: {told} is there twice")
        names[name] = None
        for field, width in _FIELDS[part].items():
            # Fields without samples may be left out.
            value = own.get(field, None if field in _PHASES else [0.0] * width)
            rows[field].append(_row(f"{where}.{field}", value, width))
    widths = _FIELDS[part]
    return list(names), {
        field: np.array(own).reshape(-1, widths[field]) for field, own in rows.items()
    }


def read_history(history: Mapping[str, Any] | str | PathLike[str]) -> History:
    """A history as `Scheduler.history` returns it, or a file of one; ValueError otherwise."""
    if isinstance(history, Mapping):
        found: Any = history
    else:
        found = parse_json(Path(history).read_text(encoding="utf-8"), str(history))
    if not isinstance(found, Mapping) or found.get("format") != _FORMAT:
        raise ValueError(f"history: not a mapping with format = {_FORMAT!r}")
    names, programs = _entries(found, "programs")
    users, said = _entries({"users": []} | dict(found), "users")
    common = _row("history.common", found.get("common"), None)
    return History(names, [user for (user,) in users], common, programs, said)
