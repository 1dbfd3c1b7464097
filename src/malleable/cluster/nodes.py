"""Clusters: nodes with slots, rates, racks and disks; TOML files that describe them."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from malleable import views
from malleable.domain import (
    BYTES,
    LATEST_TIME,
    WEIGHT,
    Table,
    as_number,
    check_amount,
    check_whole,
    checked_positive,
    shown,
)
from malleable.files.json import is_number, text_of
from malleable.files.reading import MAX_SIZE, Source, one_line, open_text, telling_of
from malleable.jobs.table import Floats, Integers
from malleable.values import by_value
from malleable.views import counted

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_MOST_NODES = 1 << 20
_NODE_KEYS = (
    "name", "count", "slots", "map_slots", "reduce_slots", "rate", "rack", "storage", "link",
)  # fmt: skip
_USER_KEYS = ("name", "minimum", "priority")
_CHANGE_KEYS = ("time", "node", "up")
_RACK_KEYS = ("name", "link")
_TABLES = ("node", "user", "change", "rack", "options")


def _count(field: str, value: Any, least: int = 0) -> int:
    return check_whole(field, value, least, 1 << 20)


def _number(field: str, value: Any) -> float:
    if isinstance(value, float):
        return value  # infinite ones, too
    if not is_number(value):
        raise ValueError(f"{field} = {shown(value)}: not a number")
    return as_number(field, value)


def _bandwidth(field: str, value: Any) -> float:
    speed = _number(field, value)
    if speed == math.inf:
        return speed
    return check_amount(field, speed, BYTES) if speed > 0.0 else checked_positive(field, speed)


def _known(where: str, keys: Any, known: Sequence[str]) -> None:
    for key in keys:
        if key not in known:
            near = get_close_matches(str(key), known, 1)
            hint = f", did you mean {near[0]!r}?" if near else f", expected {', '.join(known)}"
            raise ValueError(f"{where}: unknown key {shown(key)}{hint}")


def _rack_links(racks: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Floats:
    links = np.full(len(names), math.inf)
    seen: set[str] = set()
    for row, rack in enumerate(racks):
        where = f"rack[{row}]"
        _known(where, rack, _RACK_KEYS)
        for key in _RACK_KEYS:
            if key not in rack:
                raise ValueError(f"{where}.{key}: missing")
        name = text_of(rack["name"], f"{where}.name")
        if name not in names:
            raise ValueError(f"{where}.name = {shown(name)}: no node is in this rack")
        if name in seen:
            raise ValueError(f"{where}.name = {shown(name)}: named twice")
        seen.add(name)
        links[names.index(name)] = _bandwidth(f"{where}.link", rack["link"])
    return links


@by_value()
class Cluster(Table):
    """Nodes of several types.

    Parameters
    ----------
    nodes : sequence of mappings
        One a group of equal nodes: ``count`` [1] of them; either ``slots`` that run anything, or
        ``map_slots`` and ``reduce_slots`` [0]; ``rate`` [1], a task of s seconds takes s / rate;
        ``rack`` (a name, or a list of names over which the nodes are spread in turn); ``storage``,
        what its disks read, and ``link``, what goes into it and what goes out of it at once [bytes a
        second, unlimited]; ``name`` of the type.
    users : sequence of mappings, optional
        ``name``, ``minimum`` [slots, 0], ``priority`` [1].
    changes : sequence of mappings, optional
        ``time`` [s], ``node`` (number from 0), ``up`` (false: leaves; true: returns).
    options : mapping, optional
        Of `malleable.simulate`, used where the call does not say otherwise.
    racks : sequence of mappings, optional
        ``name`` of a rack that nodes are in, and its ``link``, what goes up from it and what comes down
        to it at once [bytes a second]; racks without one are not limited.

    Attributes
    ----------
    map_slots, reduce_slots : ndarray of int64, shape (N,)
        By node; generic slots count as map slots.
    rate, storage, link : ndarray of float64, shape (N,)
    type, rack : ndarray of int64, shape (N,)
        Numbers into ``type_names`` and ``rack_names``.
    rack_link : ndarray of float64, shape (R,)

    Raises
    ------
    ValueError
        Names what is wrong and where.
    """

    def __init__(
        self,
        nodes: Sequence[Mapping[str, Any]],
        users: Sequence[Mapping[str, Any]] = (),
        changes: Sequence[Mapping[str, Any]] = (),
        options: Mapping[str, Any] | None = None,
        racks: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        if not nodes:
            raise ValueError("cluster: needs at least one node")
        kinds = {"slots" in node for node in nodes}
        if len(kinds) == 2:
            raise ValueError("node: either all have 'slots' or all have 'map_slots'")
        self.generic = kinds == {True}
        columns: dict[str, list[Any]] = {key: [] for key in ("map", "reduce", "rate", "type")}
        columns |= {key: [] for key in ("rack", "storage", "link")}
        self.type_names: list[str] = []
        self.rack_names: list[str] = []
        for row, node in enumerate(nodes):
            where = f"node[{row}]"
            _known(where, node, _NODE_KEYS)
            if "slots" in node and ("map_slots" in node or "reduce_slots" in node):
                raise ValueError(f"{where}: 'slots' stands for both 'map_slots' and 'reduce_slots'")
            if "slots" not in node and "map_slots" not in node:
                raise ValueError(f"{where}: 'slots' or 'map_slots' is missing")
            name = text_of(node.get("name", f"type{row}"), f"{where}.name")
            if name not in self.type_names:
                self.type_names.append(name)
            names = node.get("rack", "rack0")
            names = [names] if isinstance(names, str) else names
            if not isinstance(names, Sequence) or not names:
                raise ValueError(f"{where}.rack = {shown(names)}: not a name or a list of names")
            names = [text_of(rack, f"{where}.rack") for rack in names]
            maps = _count(f"{where}.slots", node.get("slots", node.get("map_slots")))
            reduces = _count(f"{where}.reduce_slots", node.get("reduce_slots", 0))
            rate = checked_positive(
                f"{where}.rate", _number(f"{where}.rate", node.get("rate", 1.0))
            )
            speeds = {}
            for key in ("storage", "link"):
                speeds[key] = _bandwidth(f"{where}.{key}", node.get(key, math.inf))
            count = _count(f"{where}.count", node.get("count", 1), 1)
            if len(columns["map"]) + count > _MOST_NODES:
                raise ValueError(f"{where}.count = {count}: more than {_MOST_NODES:,} nodes")
            for k in range(count):
                rack = names[k % len(names)]
                if rack not in self.rack_names:
                    self.rack_names.append(rack)
                columns["map"].append(maps)
                columns["reduce"].append(reduces)
                columns["rate"].append(rate)
                columns["type"].append(self.type_names.index(name))
                columns["rack"].append(self.rack_names.index(rack))
                columns["storage"].append(speeds["storage"])
                columns["link"].append(speeds["link"])
        self.map_slots: Integers = np.array(columns["map"], dtype=np.int64)
        self.reduce_slots: Integers = np.array(columns["reduce"], dtype=np.int64)
        self.rate: Floats = np.array(columns["rate"], dtype=np.float64)
        self.type: Integers = np.array(columns["type"], dtype=np.int64)
        self.rack: Integers = np.array(columns["rack"], dtype=np.int64)
        self.storage: Floats = np.array(columns["storage"], dtype=np.float64)
        self.link: Floats = np.array(columns["link"], dtype=np.float64)
        if not self.map_slots.sum() + self.reduce_slots.sum():
            raise ValueError("cluster: has no slots at all")
        self.rack_link: Floats = _rack_links(racks, self.rack_names)
        self.users: dict[str, tuple[float, float]] = {}
        for row, user in enumerate(users):
            where = f"user[{row}]"
            _known(where, user, _USER_KEYS)
            owner = text_of(user.get("name", ""), f"{where}.name")
            if "name" not in user or owner in self.users:
                raise ValueError(f"{where}.name: missing or not the only one")
            least = check_amount(
                f"{where}.minimum", _number(f"{where}.minimum", user.get("minimum", 0.0)), WEIGHT
            )
            priority = _number(f"{where}.priority", user.get("priority", 1.0))
            self.users[owner] = (
                least,
                checked_positive(f"{where}.priority", priority),
            )
        self.changes: list[tuple[float, int, bool]] = []
        for row, change in enumerate(changes):
            where = f"change[{row}]"
            _known(where, change, _CHANGE_KEYS)
            for key in _CHANGE_KEYS:
                if key not in change:
                    raise ValueError(f"{where}.{key}: missing")
            when = _number(f"{where}.time", change["time"])
            if not 0.0 <= when <= LATEST_TIME:
                raise ValueError(
                    f"{where}.time = {when}: must be finite and at least 0, at most 1e12 seconds"
                )
            number = _count(f"{where}.node", change["node"])
            if number >= len(self.rate):
                raise ValueError(
                    f"{where}.node = {number}: there are {counted(len(self.rate), 'node')}"
                )
            if not isinstance(change["up"], bool):
                raise ValueError(f"{where}.up = {shown(change['up'])}: must be true or false")
            self.changes.append((when, number, change["up"]))
        self.options: dict[str, Any] = dict(options or {})

    def __len__(self) -> int:
        return len(self.rate)

    def __repr__(self) -> str:
        nodes = counted(len(self), "node")
        maps, reduces = int(self.map_slots.sum()), int(self.reduce_slots.sum())
        if self.generic:
            return f"Cluster({nodes}, {counted(maps, 'slot')})"
        return f"Cluster({nodes}, {counted(maps, 'map slot')}, {counted(reduces, 'reduce slot')})"

    _repr_html_ = views.as_html

    @classmethod
    def for_load(
        cls, jobs: Any, load: float, *, map_slots_per_node: int = 4, generic: bool = False
    ) -> Cluster:
        """As many slots as make the work of a table take this part of the time between its arrivals.

        Parameters
        ----------
        jobs : ClusterJobs
        load : float
            Above 0; both kinds of slots get it (rounded up to a whole slot).
        map_slots_per_node : int
            The last node may have fewer; reduce slots are spread evenly.
        generic : bool
            One kind of slots for both phases.
        """
        target = checked_positive("load", load)
        span = float(np.ptp(jobs.arrival)) if len(jobs) else 0.0
        if not span > 0.0:
            raise ValueError("load: needs arrivals at different times; give a cluster instead")
        each = _count("map_slots_per_node", map_slots_per_node, 1)
        work = jobs.map_work.sum(), jobs.reduce_work.sum()
        wanted = [math.ceil(w / (span * target) - 1e-9) for w in work]
        if generic:
            count = max(1, math.ceil(sum(work) / (span * target) - 1e-9))
            full, rest = divmod(count, each)
            groups = [{"name": "node", "count": full, "slots": each}] if full else []
            groups += [{"name": "node", "slots": rest}] if rest else []
            return cls(groups)
        nodes = max(1, math.ceil(wanted[0] / each))
        groups = []
        for k in range(nodes):
            maps = max(0, min(each, wanted[0] - k * each))
            reduces = wanted[1] // nodes + (1 if k < wanted[1] % nodes else 0)
            alike = groups and groups[-1]["map_slots"] == maps
            if alike and groups[-1]["reduce_slots"] == reduces:
                groups[-1]["count"] += 1
            else:
                groups.append(
                    {"name": "node", "count": 1, "map_slots": maps, "reduce_slots": reduces}
                )
        return cls(groups)


def read_cluster(source: Source | Mapping[str, Any], *, max_size: int | None = MAX_SIZE) -> Cluster:
    """Read a cluster from TOML: ``[[node]]``, ``[[rack]]``, ``[[user]]``, ``[[change]]``, ``[options]``.

    Parameters
    ----------
    source : path, file object or mapping
        What the file says; keys as in `Cluster`.
    max_size : int or None
        Bytes that the file may have, unpacked; None: any number.

    Raises
    ------
    ValueError
        One line that names the file and the key.
    OSError
        The file cannot be opened.
    """
    if isinstance(source, Mapping):
        data: Mapping[str, Any] = source
        where = "cluster"
    else:
        with open_text(source, max_size) as (text, where):
            content = text.read()
        try:
            data = tomllib.loads(content)
        except RecursionError:
            raise ValueError(f"{where}: TOML nested too deeply") from None
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{where}: not TOML ({one_line(str(error))})") from None
        except ValueError:
            raise ValueError(f"{where}: a number of thousands of digits") from None
    with telling_of(where):
        _known("cluster", data, _TABLES)
        for key in _TABLES[:-1]:
            rows = data.get(key, [])
            if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
                raise ValueError(f"{key}: write [[{key}]]")
        if not isinstance(data.get("options", {}), Mapping):
            raise ValueError("options: write [options]")
        for name, value in data.get("options", {}).items():
            if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
                raise ValueError(f"options.{name} = {shown(value)}: too large")
        return Cluster(
            data.get("node", []),
            data.get("user", []),
            data.get("change", []),
            data.get("options", {}),
            data.get("rack", []),
        )
