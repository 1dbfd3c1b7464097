"""Clusters: nodes with slots, rates (a task of s seconds takes s / rate) and disks; TOML files that describe
them."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable.arrays import Floats, Integers, numbered
from malleable.checkpoints import by_value
from malleable.display import counted, html_of
from malleable.files.advice import AdvisedError
from malleable.files.json import is_number, text_of
from malleable.files.reading import MAX_SIZE, Source, open_text, telling_of
from malleable.validation import (
    BYTES,
    LATEST_TIME,
    WEIGHT,
    Table,
    as_number,
    check_amount,
    check_keys,
    check_whole,
    checked_flag,
    checked_positive,
    near,
    shown,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_MOST_NODES = 1 << 20
_KINDS = 4  # kinds of nodes that a brief line lists
_LISTS = ("node", "user", "change")
_TABLES = ("node", "user", "change", "options")  # as `Cluster` takes them
_NEEDED: Any = object()  # stands for the default of a key that has none
_COLUMNS = ("map_slots", "reduce_slots", "rate", "type", "storage", "link", "generic")
_ROOM = ("partitions", "memory", "gpus")  # None if no node has it
_MOST_PARTITIONS = 64
_OF_NODE = 4  # map slots of a node of a cluster that is made for a load


def _count(field: str, value: Any, least: int = 0) -> int:
    return check_whole(field, value, least, 1 << 20)


def _number(field: str, value: Any) -> float:
    if isinstance(value, float):
        return value  # also infinite numbers
    if not is_number(value):
        raise ValueError(f"{field} = {shown(value)}: not a number")
    return as_number(field, value)


def _positive(field: str, value: Any) -> float:
    return checked_positive(field, _number(field, value))


def _weight(field: str, value: Any) -> float:
    return check_amount(field, _number(field, value), WEIGHT)


def _bandwidth(field: str, value: Any) -> float:
    speed = _number(field, value)
    if speed == math.inf:
        return speed
    return check_amount(field, speed, BYTES) if speed > 0.0 else checked_positive(field, speed)


def _moment(field: str, value: Any) -> float:
    when = _number(field, value)
    if not 0.0 <= when <= LATEST_TIME:
        raise ValueError(f"{field} = {when}: must be finite and at least 0, at most 1e12 seconds")
    return when


def _text(field: str, value: Any) -> str:
    return text_of(value, field)


def _texts(field: str, value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, Sequence):
        raise ValueError(f"{field} = {shown(value)}: not a name, or a list of names")
    return tuple(text_of(name, field) for name in listed)


# Keys of one kind of entries: the check of the value, and the default.
_Keys = Mapping[str, tuple[Callable[[str, Any], Any], Any]]
_NODE: _Keys = {
    "name": (_text, None),
    "count": (partial(_count, least=1), 1),
    "slots": (_count, None),
    "map_slots": (_count, None),
    "reduce_slots": (_count, None),
    "rate": (_positive, 1.0),
    "storage": (_bandwidth, math.inf),
    "link": (_bandwidth, math.inf),
    "partition": (_texts, ()),
    "memory": (_bandwidth, math.inf),
    "gpus": (_weight, 0.0),
}
_USER: _Keys = {"name": (_text, _NEEDED), "minimum": (_weight, 0.0), "priority": (_positive, 1.0)}
_CHANGE: _Keys = {
    "time": (_moment, _NEEDED),
    "node": (_count, _NEEDED),
    "up": (checked_flag, _NEEDED),
}


def _entries(
    kind: str, entries: Sequence[Mapping[str, Any]], keys: _Keys
) -> Iterator[tuple[str, dict[str, Any]]]:
    for row, entry in enumerate(entries):
        where = f"{kind}[{row}]"
        check_keys(f"{where}: ", entry, tuple(keys), "key")
        found = {}
        for key, (check, default) in keys.items():
            if key in entry:
                found[key] = check(f"{where}.{key}", entry[key])
            elif default is _NEEDED:
                raise ValueError(f"{where}.{key}: missing")
            else:
                found[key] = default
        yield where, found


def _groups(nodes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if not isinstance(nodes, Sequence) or not all(isinstance(node, Mapping) for node in nodes):
        like = "[{'count': 3, 'slots': 2}]"
        raise ValueError(f"nodes = {shown(nodes)}: expected a list of mappings, such as {like}")
    if not nodes:
        raise ValueError("cluster: needs at least one node")
    if len({"slots" in node for node in nodes}) == 2:
        raise ValueError("node: either all have 'slots' or all have 'map_slots'")
    groups: list[dict[str, Any]] = []
    total = 0
    for where, node in _entries("node", nodes, _NODE):
        total += node["count"]
        if total > _MOST_NODES:
            raise ValueError(f"{where}.count = {node['count']}: more than {_MOST_NODES:,} nodes")
        name = f"type{len(groups)}" if node["name"] is None else node["name"]
        groups.append({**_with_both_slots(where, node), "name": name})
    return groups


def _with_both_slots(where: str, node: dict[str, Any]) -> dict[str, Any]:
    slots, maps, reduces = node.pop("slots"), node["map_slots"], node["reduce_slots"]
    if slots is not None and not maps is reduces is None:
        raise ValueError(f"{where}: 'slots' stands for both 'map_slots' and 'reduce_slots'")
    if slots is None and maps is None:
        raise ValueError(f"{where}: 'slots' or 'map_slots' is missing")
    return {**node, "map_slots": slots or maps or 0, "reduce_slots": reduces or 0}


def _partitions(
    groups: Sequence[Mapping[str, Any]], count: Sequence[int]
) -> tuple[list[str], npt.NDArray[np.uint64] | None]:
    # Names of partitions, and for each node the partitions that it is in, as bits.
    names = list(dict.fromkeys(name for group in groups for name in group["partition"]))
    if not names:
        return [], None
    if len(names) > _MOST_PARTITIONS:
        raise ValueError(f"node: {len(names)} partitions; there may be {_MOST_PARTITIONS}")
    bits = [sum(1 << names.index(name) for name in group["partition"] or names) for group in groups]
    return names, np.repeat(np.array(bits, dtype=np.uint64), count)


@by_value(without=("nodes",))  # alike nodes may be told apart or together
class Cluster(Table):
    """Nodes of several types.

    Parameters
    ----------
    nodes : sequence of mappings
        One mapping for each group of equal nodes; defaults in brackets: ``count`` [1], the number of nodes;
        either ``slots``, which run maps and reduces, or ``map_slots`` and ``reduce_slots`` [0]; ``rate``
        [1]: a task of s seconds takes s / rate; ``storage``, bytes a second that its disks read, and
        ``link``, bytes a second into the node and out of it [unlimited]; ``name`` of the type. For policies
        of rigid jobs: ``partition``, a name or a list of names, ``memory`` [bytes, unlimited] and ``gpus``.
    users : sequence of mappings, optional
        ``name``, ``minimum`` [slots, 0], ``priority`` [1].
    changes : sequence of mappings, optional
        ``time`` [s], ``node`` (number from 0), ``up`` (false: leaves; true: returns).
    options : mapping, optional
        Options of `malleable.simulate`, unless the call gives others.

    Attributes
    ----------
    map_slots, reduce_slots : ndarray of int64, shape (N,)
        Slots of each node; slots that run maps and reduces count as map slots.
    rate, storage, link : ndarray of float64, shape (N,)
    type : ndarray of int64, shape (N,)
        Numbers into ``type_names``.

    Raises
    ------
    ValueError
        Names what is wrong and where.

    See Also
    --------
    malleable.read_cluster : Reads one from a TOML file.

    Notes
    -----
    Nodes do not change after construction. O(nodes).

    Examples
    --------
    >>> import malleable as mb
    >>> mb.Cluster([{"count": 11, "map_slots": 4, "reduce_slots": 2}])
    Cluster(11 x (4 map, 2 reduce))
    >>> jobs = mb.generate_cluster_jobs(100, rng=1)
    >>> cluster = mb.Cluster.for_load(jobs, 0.7)
    """

    def __init__(
        self,
        nodes: Sequence[Mapping[str, Any]],
        users: Sequence[Mapping[str, Any]] = (),
        changes: Sequence[Mapping[str, Any]] = (),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        groups = _groups(nodes)
        self.nodes = [dict(node) for node in nodes]
        count = [group["count"] for group in groups]

        def column(key: str, dtype: type[Any]) -> Any:
            return np.repeat(np.array([group[key] for group in groups], dtype=dtype), count)

        def told(key: str) -> bool:
            return any(key in node for node in nodes)

        self.generic = "slots" in nodes[0]
        self.map_slots: Integers = column("map_slots", np.int64)
        self.reduce_slots: Integers = column("reduce_slots", np.int64)
        self.rate: Floats = column("rate", np.float64)
        self.storage: Floats = column("storage", np.float64)
        self.link: Floats = column("link", np.float64)
        self.type_names, types = numbered([group["name"] for group in groups])
        self.type: Integers = np.repeat(types, count)
        if not self.map_slots.sum() + self.reduce_slots.sum():
            raise ValueError("cluster: has no slots at all")
        self.partition_names, self.partitions = _partitions(groups, count)
        self.memory: Floats | None = column("memory", np.float64) if told("memory") else None
        self.gpus: Floats | None = column("gpus", np.float64) if told("gpus") else None
        self.users: dict[str, tuple[float, float]] = {}
        for where, user in _entries("user", users, _USER):
            if user["name"] in self.users:
                raise ValueError(f"{where}.name = {shown(user['name'])}: named twice")
            self.users[user["name"]] = user["minimum"], user["priority"]
        self.changes: list[tuple[float, int, bool]] = []
        for where, change in _entries("change", changes, _CHANGE):
            if change["node"] >= len(self):
                there = counted(len(self), "node")
                raise ValueError(f"{where}.node = {change['node']}: there are {there}")
            self.changes.append((change["time"], change["node"], change["up"]))
        self.options: dict[str, Any] = dict(options or {})

    def __len__(self) -> int:
        return len(self.rate)

    def __repr__(self) -> str:
        nodes = counted(len(self), "node")
        both = list(zip(self.map_slots.tolist(), self.reduce_slots.tolist(), strict=True))
        kinds = Counter(both)
        if len(kinds) <= _KINDS:
            words = (counted(maps, "slot") if self.generic else f"({maps:,} map, {reduces:,} reduce)"
                     for maps, reduces in kinds)  # fmt: skip
            each = " + ".join(
                f"{n:,} x {own}" for own, n in zip(words, kinds.values(), strict=True)
            )
            return f"Cluster({each})"
        maps, reduces = int(self.map_slots.sum()), int(self.reduce_slots.sum())
        if self.generic:
            return f"Cluster({nodes}, {counted(maps, 'slot')})"
        return f"Cluster({nodes}, {counted(maps, 'map slot')}, {counted(reduces, 'reduce slot')})"

    _repr_html_ = html_of("type map_slots reduce_slots rate")

    def columns(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in (*_COLUMNS, *_ROOM)}
        return {name: column for name, column in found.items() if column is not None}

    def numbers_of(self, partitions: Sequence[str]) -> Integers | None:
        """Numbers of the ``partitions`` of jobs, -1 for "", as the core takes them; None if nodes have none.
        ValueError for a partition without nodes."""
        if self.partitions is None:
            return None
        numbers = {"": -1, **{name: k for k, name in enumerate(self.partition_names)}}
        for row, name in enumerate(partitions):
            if name not in numbers:
                told = f"no node is in it{near(name, self.partition_names)}"
                raise ValueError(f"partition[{row}] = {shown(name)}: {told}")
        return np.array([numbers[name] for name in partitions], dtype=np.int64)

    @classmethod
    def for_load(cls, jobs: Any, load: float, *, generic: bool = False) -> Cluster:
        """A cluster with as many slots as give a table of jobs this load: nodes of four map slots (the last one
        may have fewer), on which reduce slots are spread evenly.

        Parameters
        ----------
        jobs : ClusterJobs
        load : float
            Work over the slots' time between the first and the last arrival, above 0, of both kinds of slots.
        generic : bool
            True: one kind of slots for both phases.
        """
        target = checked_positive("load", load)
        span = float(np.ptp(jobs.arrival)) if len(jobs) else 0.0
        if not span > 0.0:
            told = "load: needs arrivals at different times"
            ways = "--slots N instead, or --spread SECONDS, which lets them come one after another"
            raise AdvisedError(told, "give a cluster instead", ways)
        work = jobs.map_work.sum(), jobs.reduce_work.sum()
        if generic:
            work = work[0] + work[1], 0.0
        maps, reduces = (math.ceil(w / (span * target) - 1e-9) for w in work)
        maps = max(maps, 1) if generic else maps
        nodes = max(1, math.ceil(maps / _OF_NODE))
        own = [
            (max(0, min(_OF_NODE, maps - k * _OF_NODE)), reduces // nodes + (k < reduces % nodes))
            for k in range(nodes)
        ]
        keys = ("slots",) if generic else ("map_slots", "reduce_slots")
        return cls(
            [
                {"name": "node", "count": len(list(alike)), **dict(zip(keys, slots, strict=False))}
                for slots, alike in groupby(own)
            ]
        )


def read_cluster(source: Source | Mapping[str, Any], *, max_size: int | None = MAX_SIZE) -> Cluster:
    """Read a cluster from TOML: ``[[node]]``, ``[[user]]``, ``[[change]]``, ``[options]``.

    Parameters
    ----------
    source : path, file object or mapping
        The TOML file, or its content; keys as in `Cluster`.
    max_size : int or None
        Bytes that the file may have, unpacked; None: any number.

    Raises
    ------
    ValueError
        One line that names the file and the key.
    OSError
        The file cannot be opened.

    See Also
    --------
    malleable.Cluster : What is returned.

    Notes
    -----
    O(nodes + size of the file).

    Examples
    --------
    >>> import malleable as mb
    >>> with open("cluster.toml", "w") as file:
    ...     _ = file.write("[[node]]\\ncount = 4\\nslots = 2\\n")
    >>> mb.read_cluster("cluster.toml")
    Cluster(4 x 2 slots)
    """
    if isinstance(source, Mapping):
        with telling_of("cluster"):
            return _made(source)
    with open_text(source, max_size) as (text, where), telling_of(where):
        content = text.read()
        try:
            data = tomllib.loads(content)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"not TOML ({error})") from None
        except ValueError:
            raise ValueError("a number of thousands of digits") from None
        return _made(data)


def _made(data: Mapping[str, Any]) -> Cluster:
    check_keys("cluster: ", data, _TABLES, "key")
    for key in _LISTS:
        rows = data.get(key, [])
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise ValueError(f"{key}: write [[{key}]]")
    if not isinstance(data.get("options", {}), Mapping):
        raise ValueError("options: write [options]")
    for name, value in data.get("options", {}).items():
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise ValueError(f"options.{name} = {shown(value)}: too large")
    return Cluster(*(data.get(key, []) for key in _TABLES))
