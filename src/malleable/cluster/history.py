"""A scheduler's knowledge of tasks, in JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from malleable.columns import Floats
from malleable.domain import shown
from malleable.files.json import is_number, parse_json

_FORMAT = "malleable history 1"
_NUMBERS = 3  # of a phase of a program, and of what a user said
_SPEEDUP = 17  # of a program: tasks that showed it, and logarithms on the grid
_CHANGE = 7  # of a phase of a program: sums that show whether its times have changed
# Of a program, beside its phases.
_OTHERS = {"speedup": _SPEEDUP, "map_changes": _CHANGE, "reduce_changes": _CHANGE}


class History(NamedTuple):
    """Sums over all phases; by program and by user what their phases showed.

    ``maps`` and ``reduces`` (G, 3): phases, mean of their logarithms, squares around it;
    ``said_maps`` and ``said_reduces`` (U, 3): the same of how far statements were off;
    ``speedup`` (G, 17): tasks that showed p, and the logarithm of how well each p explains them;
    ``map_changes`` and ``reduce_changes`` (G, 7): sums over logarithms, outliers drawn near, of all
    phases (the sum, that of squares) and of the latest ones (count, sums as they are, sums drawn near).
    """

    names: list[tuple[str, str]]  # program and user, by row
    users: list[str]  # by row of what they said
    common: Floats
    maps: Floats
    reduces: Floats
    said_maps: Floats
    said_reduces: Floats
    speedup: Floats
    map_changes: Floats
    reduce_changes: Floats

    @classmethod
    def of(
        cls, names: Iterable[tuple[str, str]], users: Iterable[str], numbers: tuple[Floats, ...]
    ) -> History:
        """Of programs and users in the order of their rows, of which the last ones may have none."""
        programs, people = list(names), list(users)
        common, *rows = numbers
        p, u = len(programs), len(people)
        return cls(programs, people, common, *map(_filled, rows, (p, p, u, u, p, p, p)))

    def numbers(self, users: Iterable[str] | None = None) -> tuple[Floats, ...]:
        """As the core takes them; ``users``: these, in this order, are its users."""
        said = self.said_maps, self.said_reduces
        if users is not None:
            rows = {name: row for row, name in enumerate(self.users)}
            of = [rows.get(name, -1) for name in users]
            none = np.zeros((1, _NUMBERS))
            said = np.vstack([said[0], none])[of], np.vstack([said[1], none])[of]
        return (
            self.common,
            self.maps,
            self.reduces,
            *said,
            self.speedup,
            self.map_changes,
            self.reduce_changes,
        )

    def with_users(self, others: History) -> History:
        """With what ``others`` knows of users that are not in this one."""
        more = [row for row, name in enumerate(others.users) if name not in self.users]
        return self._replace(
            users=[*self.users, *(others.users[row] for row in more)],
            said_maps=np.vstack([self.said_maps, others.said_maps[more]]),
            said_reduces=np.vstack([self.said_reduces, others.said_reduces[more]]),
        )

    def plain(self) -> dict[str, Any]:
        """In JSON's types, without users that said nothing and without speed-ups that no task has shown."""
        programs: list[dict[str, Any]] = []
        columns = (self.maps, self.reduces, self.speedup, self.map_changes, self.reduce_changes)
        shown = (rows.tolist() for rows in columns)
        for (program, user), maps, reduces, *others in zip(self.names, *shown, strict=True):
            own = {"program": program, "user": user, "map": maps, "reduce": reduces}
            rest = zip(_OTHERS, others, strict=True)
            programs.append(own | {field: values for field, values in rest if any(values)})
        rows = zip(self.users, self.said_maps.tolist(), self.said_reduces.tolist(), strict=True)
        return {
            "format": _FORMAT,
            "common": self.common.tolist(),
            "programs": programs,
            "users": [
                {"user": user, "map": maps, "reduce": reduces}
                for user, maps, reduces in rows
                if maps[0] or reduces[0]
            ],
        }


def _filled(rows: Floats, count: int) -> Floats:
    """That many rows: missing rows are zeros, rows beyond the number belong to no job."""
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


def _entries(found: Mapping[str, Any], field: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Those of a list, with their places."""
    entries = found.get(field)
    if not isinstance(entries, list):
        raise ValueError(f"history.{field} = {shown(entries)}: a list is needed")
    for place, own in enumerate(entries):
        if not isinstance(own, Mapping):
            raise ValueError(f"history.{field}[{place}] = {shown(own)}: a mapping is needed")
    return [(f"history.{field}[{place}]", own) for place, own in enumerate(entries)]


def _stack(rows: list[Floats], width: int) -> Floats:
    return np.array(rows).reshape(-1, width)


def _programs(
    found: Mapping[str, Any],
) -> tuple[dict[tuple[str, str], None], dict[str, list[Floats]]]:
    """Programs and users in their order, and rows of their columns."""
    names: dict[tuple[str, str], None] = {}
    rows: dict[str, list[Floats]] = {column: [] for column in ("map", "reduce", *_OTHERS)}
    for field, own in _entries(found, "programs"):
        name = (own.get("program"), own.get("user"))
        if not (isinstance(name[0], str) and isinstance(name[1], str)):
            raise ValueError(f"{field}: program and user are needed")
        if name in names:
            raise ValueError(f"{field}: program {name[0]!r} of {name[1]!r} is there twice")
        names[name[0], name[1]] = None
        for phase in ("map", "reduce"):
            rows[phase].append(_row(f"{field}.{phase}", own.get(phase), _NUMBERS))
        # What no task has shown is left out.
        for column, width in _OTHERS.items():
            rows[column].append(_row(f"{field}.{column}", own.get(column, [0.0] * width), width))
    return names, rows


def read_history(history: Mapping[str, Any] | str | PathLike[str]) -> History:
    """A history as `Scheduler.history` says it, or a file of that; ValueError if it is none."""
    if isinstance(history, Mapping):
        found: Any = history
    else:
        found = parse_json(Path(history).read_text(encoding="utf-8"), str(history))
    if not isinstance(found, Mapping) or found.get("format") != _FORMAT:
        raise ValueError(f"history: not a mapping with format = {_FORMAT!r}")
    names, rows = _programs(found)
    users: dict[str, None] = {}
    said: dict[str, list[Floats]] = {"map": [], "reduce": []}
    for field, own in _entries({"users": []} | dict(found), "users"):
        user = own.get("user")
        if not isinstance(user, str):
            raise ValueError(f"{field}: user is needed")
        if user in users:
            raise ValueError(f"{field}: user {user!r} is there twice")
        users[user] = None
        for phase, column in said.items():
            column.append(_row(f"{field}.{phase}", own.get(phase), _NUMBERS))
    return History(
        list(names),
        list(users),
        _row("history.common", found.get("common"), None),
        _stack(rows["map"], _NUMBERS),
        _stack(rows["reduce"], _NUMBERS),
        _stack(said["map"], _NUMBERS),
        _stack(said["reduce"], _NUMBERS),
        *(_stack(rows[column], width) for column, width in _OTHERS.items()),
    )
