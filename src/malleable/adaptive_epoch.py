"""The adaptive scheduler in a loop of one's own: free slots of a cluster get tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from malleable import _core, views
from malleable.adaptive_policy import Adaptive
from malleable.columns import array_of, bools_of, floats_of, given, ids_of, integers_of
from malleable.tables import Floats, Integers, check_count, check_time
from malleable.values import Kept, by_value, in_turn
from malleable.views import counted
from malleable.workloads.cluster_jobs import ClusterJobs
from malleable.workloads.cluster_nodes import Cluster, read_cluster

_MOST_COPIES = 1 << 28  # of blocks placed at once

__all__ = ["AdaptiveEpoch", "AdaptiveMatching", "TaskStarts"]


@by_value()
class TaskStarts(NamedTuple):
    """Tasks to start now, one row each.

    Attributes
    ----------
    ids, node : ndarray of int64
        Whose task starts, and where.
    phase : ndarray of int64
        0 map, 1 reduce.
    task : ndarray of int64
        Which map task of a job with blocks; -1: the job has none, any of its waiting tasks.
    """

    ids: Integers
    phase: Integers
    task: Integers
    node: Integers

    def __repr__(self) -> str:
        return views.brief(self)

    def _repr_html_(self) -> str:
        return views.as_html(self)


@by_value()
class AdaptiveMatching(NamedTuple):
    """What the last solution of the linear programs says, with today's rates.

    Attributes
    ----------
    classes : tuple of (priority, program)
        Rows. Programs are names, or tuples of magnitudes where jobs have none.
    nodes : list of ndarray
        Nodes of each column.
    arrival_rates, minimum_arrival_rates : ndarray of float64, shape (F,)
        Jobs a second: all, and those of users with a minimum share.
    execution_rates : ndarray of float64, shape (F, R)
        Jobs a second that one node of the column could serve.
    share, minimum_share : ndarray of float64, shape (F, R)
        delta' (fairness) and delta (minimum share); above 0: suggested.
    solves : int
        How often the programs were solved.
    """

    classes: tuple[tuple[float, Any], ...]
    nodes: list[Integers]
    arrival_rates: Floats
    minimum_arrival_rates: Floats
    execution_rates: Floats
    share: Floats
    minimum_share: Floats
    solves: int

    def __repr__(self) -> str:
        return views.brief(self)

    def _repr_html_(self) -> str:
        return views.as_html(self)


class AdaptiveEpoch(Kept):
    """Which task each free slot of a heterogeneous cluster starts.

    Parameters
    ----------
    cluster : Cluster, mapping or path
        Nodes, and users with minimum shares and priorities; other users have minimum 0, priority 1.
    policy : Adaptive, optional

    Notes
    -----
    The object takes for granted that what it answers is started. Reduce tasks may start once all
    map tasks of their job have ended, or when `update` says so. Ids are never used twice; times never
    fall. A wrong call changes nothing. One thread at a time per object, RuntimeError for a second one.
    Copies and pickles go on as the original would (a pickle loads in the same version only); epochs
    are equal if their state is. A decision takes O(users x suggested classes) a slot.
    Source: adaptive, section 6.2.
    """

    def __init__(self, cluster: Any, policy: Adaptive | None = None) -> None:
        self._cluster = cluster if isinstance(cluster, Cluster) else read_cluster(cluster)
        policy = Adaptive() if policy is None else policy
        if not isinstance(policy, Adaptive):
            raise ValueError(f"policy: an Adaptive is needed, not {type(policy).__name__}")
        place = self._cluster
        features = np.stack(
            [
                place.map_slots.astype(np.float64),
                place.reduce_slots.astype(np.float64),
                place.rate,
                place.storage,
                place.link,
                np.zeros(len(place)) if policy.grouped else np.arange(float(len(place))),
            ]
        )
        _, first, member = np.unique(features, axis=1, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        self._example: Integers = first[order].astype(np.int64)
        self._resource: Integers = rank[member.reshape(-1)].astype(np.int64)
        self._epoch = _core.AdaptiveEpoch(
            place.map_slots,
            place.reduce_slots,
            self._resource,
            place.generic,
            policy.core_options(),
            policy.matcher(),
        )
        self._users: dict[str, int] = {}
        for name in place.users:
            self._user(name)
        self._classes: dict[tuple[float, Any], int] = {}
        self._present: set[int] = set()
        self._now = 0.0

    def __len__(self) -> int:
        return len(self._present)

    def __repr__(self) -> str:
        return f"AdaptiveEpoch({counted(len(self), 'job')}, {self._cluster!r})"

    _repr_html_ = views.as_html

    @property
    def cluster(self) -> Cluster:
        """Where tasks run."""
        return self._cluster

    def _user(self, name: str) -> int:
        if name not in self._users:
            self._users[name] = self._epoch.add_user(*self._priority(name))
        return self._users[name]

    def _priority(self, name: str) -> tuple[float, float]:
        return self._cluster.users.get(name, (0.0, 1.0))

    def _time(self, now: float) -> float:
        at = check_time("now", now)
        if at < self._now:
            raise ValueError(f"now = {at}: before {self._now}, times never fall")
        return at

    @in_turn
    def add(
        self, jobs: ClusterJobs, now: float, blocks: Sequence[npt.ArrayLike | None] | None = None
    ) -> Integers:
        """Jobs that arrive now (their own arrival times do not matter).

        Parameters
        ----------
        jobs : ClusterJobs
            ``maps``, ``map_seconds``, ``reduces``, ``reduce_seconds`` and ``shuffle`` (as estimated, on
            nodes of rate 1), ``block`` [bytes], ``user`` and ``program`` are used. Jobs of one program
            and of users of one priority make a class; jobs without programs do if numbers and times
            of their tasks are alike.
        now : float
            [s]
        blocks : sequence of array_like of int, optional
            For each job, the nodes with copies of the blocks of its map tasks, shape (maps, copies), or
            None. They may also be given later with `set_blocks`.

        Returns
        -------
        ndarray of int64
            Ids.
        """
        if not isinstance(jobs, ClusterJobs):
            raise ValueError(f"jobs: a ClusterJobs is needed, not {type(jobs).__name__}")
        at = self._time(now)
        count = len(jobs)
        if blocks is not None and not hasattr(blocks, "__len__"):
            raise ValueError(f"blocks = {blocks!r}: one array of nodes a job, or None")
        if blocks is not None and len(blocks) != count:
            raise ValueError(f"blocks has {counted(len(blocks), 'entry')}, expected {count}")
        places = [
            None if b is None else self._block(b, jobs, k) for k, b in enumerate(blocks or [])
        ]
        self._fits(jobs)
        mean = np.zeros((count, 2))
        np.divide(jobs.map_work, jobs.maps, out=mean[:, 0], where=jobs.maps > 0)
        np.divide(jobs.reduce_work, jobs.reduces, out=mean[:, 1], where=jobs.reduces > 0)
        seconds = mean[:, :, None] / self._cluster.rate[self._example]
        seconds[:, 0] += jobs.block[:, None] / self._cluster.storage[self._example]
        owners = [""] * count if jobs.user is None else jobs.user
        rows = self._class_rows(jobs, owners, mean)
        users = np.array([self._user(name) for name in owners], dtype=np.int64)
        ids = np.asarray(
            self._epoch.add(rows, users, at, jobs.maps, jobs.reduces, np.ascontiguousarray(seconds))
        )
        self._now = at
        self._present.update(ids.tolist())
        for k, place in enumerate(places):
            if place is not None:
                self._epoch.set_blocks(int(ids[k]), place)
        return ids

    def _fits(self, jobs: ClusterJobs) -> None:
        maps, reduces = int(self._cluster.map_slots.sum()), int(self._cluster.reduce_slots.sum())
        for phase, tasks, slots in (
            ("maps", jobs.maps, maps),
            ("reduces", jobs.reduces, maps if self._cluster.generic else reduces),
        ):
            if slots == 0 and tasks.any():
                row = int(np.flatnonzero(tasks)[0])
                raise ValueError(
                    f"{phase}[{row}] = {tasks[row]}: the cluster has no slots for them"
                )

    def _block(self, given: npt.ArrayLike, jobs: ClusterJobs, row: int) -> Integers:
        places = self._nodes(f"blocks[{row}]", given)
        if len(places) != jobs.maps[row]:
            raise ValueError(f"blocks[{row}] has shape {places.shape}, expected (maps, copies)")
        return places

    def _nodes(self, field: str, given: npt.ArrayLike) -> Integers:
        """Nodes of copies of blocks, shape (maps, copies)."""
        places = array_of(field, given)
        if places.ndim != 2 or not places.size:
            raise ValueError(f"{field} has shape {places.shape}, expected (maps, copies)")
        if places.dtype.kind not in "iu":
            raise ValueError(f"{field}: not whole numbers")
        for node in places[(places < 0) | (places >= len(self._cluster))][:1]:
            raise ValueError(f"{field}: names a node that the cluster has not, {node}")
        return np.ascontiguousarray(places, dtype=np.int64)

    def _class_rows(self, jobs: ClusterJobs, owners: Sequence[str], mean: Floats) -> Integers:
        keys: list[tuple[float, Any]]
        if jobs.program is not None:
            keys = [(self._priority(u)[1], p) for u, p in zip(owners, jobs.program, strict=True)]
        else:
            values = np.column_stack([jobs.maps, mean[:, 0], jobs.reduces, mean[:, 1]])
            size = np.full(values.shape, -1000.0)
            np.log2(values, out=size, where=values > 0.0)
            powers = np.where(values > 0.0, np.ceil(size / 2.0 - 1e-9), -1000.0).astype(np.int64)
            keys = [
                (self._priority(u)[1], tuple(row))
                for u, row in zip(owners, powers.tolist(), strict=True)
            ]
        for key in keys:
            if key not in self._classes:
                self._classes[key] = self._epoch.add_class()
        return np.array([self._classes[key] for key in keys], dtype=np.int64)

    @in_turn
    def set_blocks(self, job_id: int, nodes: npt.ArrayLike) -> None:
        """Where copies of the blocks of a job's map tasks are, before any of them started.

        Parameters
        ----------
        job_id : int
        nodes : array_like of int, shape (maps, copies)
        """
        job = _job(job_id)
        tasks, places = self._epoch.maps(job), self._nodes("nodes", nodes)
        if len(places) != tasks:
            raise ValueError(f"nodes has {len(places)} rows, expected one for each of {tasks} maps")
        self._epoch.set_blocks(job, places)

    @in_turn
    def place(self, job_id: int, copies: int = 3, blocks: int | None = None) -> Integers:
        """Nodes for copies of a job's blocks: those that its class is suggested to, in turn.

        Nodes that shall serve more of the class get more. Where suggested nodes are too few, others
        fill up.

        Returns
        -------
        ndarray of int64, shape (blocks, copies)
            ``blocks`` is the number of map tasks by default; copies at most the number of nodes.
        """
        number, job = check_count("copies", copies), _job(job_id)
        if not 1 <= number <= len(self._cluster):
            raise ValueError(f"copies = {copies}: must be from 1 to {len(self._cluster)}")
        if blocks is None:
            blocks = self._epoch.maps(job)
        wanted = check_count("blocks", blocks)
        if wanted * number > _MOST_COPIES:
            raise ValueError(f"blocks = {blocks}: more than {_MOST_COPIES} copies in all")
        return np.asarray(self._epoch.place(job, wanted, number))

    @in_turn
    def update(
        self,
        ids: npt.ArrayLike,
        now: float,
        *,
        maps: npt.ArrayLike | None = None,
        reduces: npt.ArrayLike | None = None,
    ) -> None:
        """How many map or reduce tasks of jobs could start now (slow start, say).

        Parameters
        ----------
        ids : array_like of int, shape (n,)
        now : float
        maps, reduces : array_like of int, shape (n,), optional
            From 0 to the tasks that neither run nor have ended.
        """
        at = self._time(now)
        rows = ids_of(ids)
        count = len(rows)
        self._epoch.set_waiting(
            rows, integers_of("maps", maps, count), integers_of("reduces", reduces, count), at
        )
        self._now = at

    @in_turn
    def finish(
        self,
        ids: npt.ArrayLike,
        phase: npt.ArrayLike,
        node: npt.ArrayLike,
        seconds: npt.ArrayLike,
        now: float,
        *,
        task: npt.ArrayLike = -1,
        done: npt.ArrayLike = True,
    ) -> None:
        """Tasks that ended: times are learnt from; where ``done`` is False the task waits again.

        Parameters
        ----------
        ids, phase, node : array_like of int, shape (n,)
            As they were started.
        seconds : array_like of float, shape (n,)
            That they took [s].
        now : float
        task : array_like of int, optional
            As started; only needed for failed tasks with blocks.
        done : array_like of bool, optional
        """
        at = self._time(now)
        rows = ids_of(ids)
        count = len(rows)
        self._epoch.finish(
            rows,
            integers_of("phase", given("phase", phase), count),
            integers_of("node", given("node", node), count),
            integers_of("task", given("task", task), count, least=-1),
            floats_of("seconds", given("seconds", seconds), count),
            bools_of("done", given("done", done), count),
            at,
        )
        self._now = at

    @in_turn
    def remove(self, ids: npt.ArrayLike) -> None:
        """Forget jobs; what ran of them ends elsewhere."""
        rows = ids_of(ids)
        self._epoch.remove(rows)
        self._present.difference_update(rows.tolist())

    @in_turn
    def decide(
        self, now: float, free_map_slots: npt.ArrayLike, free_reduce_slots: npt.ArrayLike = 0
    ) -> TaskStarts:
        """Tasks for free slots.

        Parameters
        ----------
        now : float
            [s]
        free_map_slots, free_reduce_slots : array_like of int, shape (N,), or int
            By node; generic slots count as map slots.

        Returns
        -------
        TaskStarts
        """
        at = self._time(now)
        free = [
            self._by_node(field, slots)
            for field, slots in (
                ("free_map_slots", free_map_slots),
                ("free_reduce_slots", free_reduce_slots),
            )
        ]
        found = self._epoch.decide(at, *free)
        self._now = at
        return TaskStarts(found["ids"], found["phase"], found["task"], found["node"])

    def _by_node(self, field: str, slots: npt.ArrayLike) -> Integers:
        nodes = len(self._cluster)
        array = array_of(field, slots)
        if array.ndim and array.shape != (nodes,):
            raise ValueError(f"{field} has {array.size} entries, expected {nodes}")
        column: Integers = integers_of(field, given(field, slots), nodes)
        return column

    @in_turn
    def counts(self, ids: npt.ArrayLike) -> dict[str, Integers]:
        """Tasks of jobs: ``map_waiting``, ``map_running``, ``map_finished``, the same for reduces."""
        return dict(self._epoch.counts(ids_of(ids)))

    @in_turn
    def match(self, now: float) -> AdaptiveMatching:
        """Solve the linear programs with today's estimates, whatever moved."""
        at = self._time(now)
        self._epoch.match(at)
        self._now = at
        return self._matching(at)

    @in_turn
    def matching(self, now: float | None = None) -> AdaptiveMatching:
        """The matching in use, and the rates at a time (by default the last one heard of)."""
        return self._matching(self._now if now is None else check_time("now", now))

    def _matching(self, now: float) -> AdaptiveMatching:
        found = self._epoch.matching(now)
        return AdaptiveMatching(
            tuple(self._classes),
            [np.flatnonzero(self._resource == r) for r in range(len(self._example))],
            found["arrival_rates"],
            found["minimum_arrival_rates"],
            found["execution_rates"],
            found["share"],
            found["minimum_share"],
            found["solves"],
        )


def _job(job_id: Any) -> int:
    if isinstance(job_id, bool) or not isinstance(job_id, (int, np.integer)):
        raise ValueError(f"job_id = {job_id!r}: not an id")
    if not 0 <= job_id < 2**63:
        raise ValueError(f"job_id = {job_id}: no such job")
    return int(job_id)
