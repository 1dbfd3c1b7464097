"""The state of a cluster's scheduler: the core's object, names of users and programs, the record of calls."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from os import PathLike
from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.arrays import array_of, given, integers_of
from malleable.checkpoints import Checkpointed, guarded
from malleable.cluster.events import EventWriter, cluster_header, plain_options
from malleable.cluster.history import numbers_of, programs_in, read_history
from malleable.cluster.named_policies import (
    check_generic,
    checked_options,
    core_policy,
    goal_of,
    policy_name,
)
from malleable.cluster.nodes import Cluster, read_cluster
from malleable.display import as_html, counted
from malleable.jobs.table import check_time
from malleable.policies import ClusterPolicy, ObjectiveName


class SchedulerState(Checkpointed):
    """A scheduler without its calls; `malleable.Scheduler` describes the arguments."""

    def __init_subclass__(cls) -> None:
        # A call serves one thread at a time. `preview` makes a copy, which is a call of its own.
        for name, call in list(vars(cls).items()):
            if isinstance(call, FunctionType) and not name.startswith("_") and name != "preview":
                setattr(cls, name, guarded(call))

    def __init__(
        self,
        cluster: Any,
        policy: ClusterPolicy | str | Any = "auto",
        objective: ObjectiveName | str = "sum:response",
        *,
        history: Mapping[str, Any] | str | PathLike[str] | None = None,
        record: str | PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        place = cluster if isinstance(cluster, Cluster) else read_cluster(cluster)
        name = policy_name(policy)
        check_generic(policy, place.generic)
        self._cluster = place
        self._policy, self._objective = policy, objective
        own = {"learn": True, "by_user": bool(place.users)}
        own["take_back"] = False  # running tasks are not ended, unlike in simulations
        said = {name: value for name, value in options.items() if value is not None}
        self._settings = own | checked_options(said, simulated=False)
        known = None if history is None else read_history(history)
        stated = [own["user"] for own in known["users"]] if known else []
        people = dict.fromkeys([*place.users, *stated])
        self._users: dict[str, int] = {user: k for k, user in enumerate(people)}
        # (program, user): row
        self._programs: dict[tuple[str, str], int] = {}
        self._core = self._made()
        self._calls = 0  # calls that reported events
        if known is not None:
            self._programs = {name: row for row, name in enumerate(programs_in(known))}
            self._core.recall(numbers_of(known, people))
        self._writer: EventWriter | None = None
        if record is not None:
            header = {
                "cluster": cluster_header(place),
                "policy": name,
                "objective": objective,
                "options": plain_options(_core.scheduler_options(self._settings)),
            }
            if known is not None:
                header["history"] = known
            self._writer = EventWriter(record, header)

    def _log(self, call: str, **columns: Any) -> None:
        self._calls += 1
        if self._writer is not None:
            self._writer.write(call, columns)

    @guarded
    def close(self) -> None:
        """End the file of recorded calls."""
        if self._writer is not None:
            self._writer.close()
        self._writer = None

    def _made(self) -> _core.Scheduler:
        place = self._cluster
        goal = goal_of(self._objective)
        asked = core_policy(self._policy, goal, self._settings, place.generic)
        return _core.Scheduler(place.columns(), self._people(self._users), self._settings, asked)

    def __getstate__(self) -> dict[str, Any]:
        with self._guard:
            left_out = ("_guard", "_core", "_writer", "_calls")
            kept = {k: copy.copy(v) for k, v in vars(self).items() if k not in left_out}
            return {"version": _core.__version__, **kept, "state": self._core.save()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        saved: bytes = self.__dict__.pop("state")
        self._core = self._made()
        self._core.load(saved)
        self._writer = None
        self._calls = 0

    @guarded
    def __len__(self) -> int:
        return len(self._core)

    def __repr__(self) -> str:
        name = policy_name(self._policy)
        return f"Scheduler({counted(len(self), 'job')}, {name}, {self._cluster!r})"

    _repr_html_ = as_html

    @property
    def cluster(self) -> Cluster:
        """The nodes and users at the beginning."""
        return self._cluster

    @property
    def objective(self) -> str:
        """The objective of the policy."""
        return self._objective

    @property
    def now(self) -> float:
        """The latest time told [s]."""
        return self._core.now

    @property
    def next_time(self) -> float:
        """When to ask again although nothing happens, because a job has waited long enough [s] (options
        ``delay``, ``ageing``); infinity: never."""
        return self._core.next

    def _people(self, names: Iterable[str]) -> list[tuple[float, float]]:
        # Minimum [slots] and priority of users.
        return [self._cluster.users.get(name, (0.0, 1.0)) for name in names]

    def _moment(self, now: float | None) -> float:
        return self._core.now if now is None else check_time("now", now)

    def _by_pool(
        self, name: str, slots: npt.ArrayLike, nodes: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        # Map slots and reduce slots of nodes, from two columns or one for both; generic: each slot runs both.
        array = array_of(name, given(name, slots))
        if array.ndim == 2 and array.shape != (nodes, 2):
            raise ValueError(f"{name} has shape {array.shape}, expected ({nodes}, 2)")
        maps = integers_of(name, array[:, 0] if array.ndim == 2 else array, nodes)
        if self._cluster.generic:
            return maps, np.zeros(nodes, dtype=np.int64)
        return maps, integers_of(name, array[:, 1] if array.ndim == 2 else array, nodes)
