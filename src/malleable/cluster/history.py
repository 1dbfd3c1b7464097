"""What a scheduler has learnt of tasks, as JSON has it."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from malleable.columns import Floats
from malleable.domain import shown
from malleable.files.json import is_number, parse_json

__all__ = ["History", "read_history"]

_FORMAT = "malleable history 1"
_NUMBERS = 3  # of a phase of a program


class History(NamedTuple):
    """By row of ``maps`` and ``reduces`` (G, 3): phases, mean of their logarithms, squares around it."""

    names: list[tuple[str, str]]  # program and user, by row
    common: Floats
    maps: Floats
    reduces: Floats

    @classmethod
    def of(
        cls, numbers: Mapping[tuple[str, str], int], common: Floats, maps: Floats, reduces: Floats
    ) -> History:
        """Of programs with these numbers, of which the last ones may have no row."""
        names = sorted(numbers, key=numbers.__getitem__)
        rows = [np.zeros((len(names), _NUMBERS)) for _ in range(2)]
        for own, known in zip(rows, (maps, reduces), strict=True):
            own[: len(known)] = known
        return cls(names, common, *rows)

    def programs(self) -> dict[tuple[str, str], int]:
        """Their numbers."""
        return {name: row for row, name in enumerate(self.names)}

    def numbers(self) -> tuple[Floats, Floats, Floats]:
        """As the core takes them."""
        return self.common, self.maps, self.reduces

    def plain(self) -> dict[str, Any]:
        """In JSON's types."""
        rows = zip(self.names, self.maps.tolist(), self.reduces.tolist(), strict=True)
        return {
            "format": _FORMAT,
            "common": self.common.tolist(),
            "programs": [
                {"program": program, "user": user, "map": own, "reduce": other}
                for (program, user), own, other in rows
            ],
        }


def _row(field: str, values: Any, count: int | None) -> Floats:
    if not (isinstance(values, list) and all(map(is_number, values))):
        raise ValueError(f"{field} = {shown(values)}: a list of finite numbers is needed")
    if count is not None and len(values) != count:
        raise ValueError(f"{field} has {len(values)} entries, expected {count}")
    return np.array(values, dtype=np.float64)


def read_history(history: Mapping[str, Any] | str | PathLike[str]) -> History:
    """A history as `Scheduler.history` says it, or a file of that; ValueError if it is none."""
    if isinstance(history, Mapping):
        found: Any = history
    else:
        found = parse_json(Path(history).read_text(encoding="utf-8"), str(history))
    if not isinstance(found, Mapping) or found.get("format") != _FORMAT:
        raise ValueError(f"history: not a mapping with format = {_FORMAT!r}")
    programs = found.get("programs")
    if not isinstance(programs, list):
        raise ValueError(f"history.programs = {shown(programs)}: a list is needed")
    names: dict[tuple[str, str], None] = {}
    rows: dict[str, list[Floats]] = {"map": [], "reduce": []}
    for place, own in enumerate(programs):
        field = f"history.programs[{place}]"
        if not isinstance(own, Mapping):
            raise ValueError(f"{field} = {shown(own)}: a mapping is needed")
        name = (own.get("program"), own.get("user"))
        if not (isinstance(name[0], str) and isinstance(name[1], str)):
            raise ValueError(f"{field}: program and user are needed")
        if name in names:
            raise ValueError(f"{field}: program {name[0]!r} of {name[1]!r} is there twice")
        names[name[0], name[1]] = None
        for phase, column in rows.items():
            column.append(_row(f"{field}.{phase}", own.get(phase), _NUMBERS))
    maps, reduces = (np.array(column).reshape(-1, _NUMBERS) for column in rows.values())
    return History(list(names), _row("history.common", found.get("common"), None), maps, reduces)
