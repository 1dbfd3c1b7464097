"""The adaptive scheduler in a loop of your own: free slots of a cluster get tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.cluster.nodes import Cluster, read_cluster
from malleable.cluster.policy import Adaptive
from malleable.cluster.table import ClusterJobs
from malleable.columns import array_of, bools_of, columns_of, floats_of, given, ids_of, integers_of
from malleable.domain import check_whole
from malleable.epoch import BaseEpoch, ExplainedDecision
from malleable.jobs.table import Floats, Integers, check_count, check_time
from malleable.lines import counted
from malleable.values import by_value, in_turn

_MOST_COPIES = 1 << 28  # of blocks placed at once


@by_value()
class TaskStarts(NamedTuple):
    """Tasks that start now, one row for each task.

    Attributes
    ----------
    ids : ndarray of int64, shape (T,)
        The job of the task.
    phase : ndarray of int64, shape (T,)
        0: a map task; 1: a reduce task.
    task : ndarray of int64, shape (T,)
        If the job has blocks: number of the map task. Otherwise -1: start any waiting task of the job.
    node : ndarray of int64, shape (T,)
        The node on which the task starts.
    """

    ids: Integers
    phase: Integers
    task: Integers
    node: Integers


class AdaptiveDecision(ExplainedDecision):
    """Tasks that start now, and the slots that jobs hold then; `AdaptiveEpoch.decide` returns it.

    Attributes
    ----------
    ids : ndarray of int64, shape (n,)
        Jobs. First come the jobs whose tasks start, in the order in which they start, then other jobs that
        hold slots, or held slots until now.
    slots : ndarray of int64, shape (n, 2)
        Slots of map tasks and of reduce tasks that the job holds after these tasks have started.
    changed : ndarray of bool, shape (n,)
        Whether the slots of the job differ from those of the decision before (a new job had 0).
    now : float
        Time of the decision [s].
    starts : TaskStarts
        The tasks that start: columns ``ids``, ``phase``, ``task`` and ``node``, one row for each task.

    See Also
    --------
    malleable.AdaptiveEpoch.decide : Returns it.
    """

    __slots__ = ("starts",)
    _more = ("_bound", "starts")
    kinds = ("map slot", "reduce slot")
    starts: TaskStarts


@by_value()
class AdaptiveMatching(NamedTuple):
    """The last solution of the linear programs, and the rates at the time that was asked for.

    A row of the arrays is a class of jobs. A column is a group of nodes that are alike.

    Attributes
    ----------
    classes : tuple of (priority, program)
        The class of each row. A program is a name. If jobs have no programs, it is a tuple of the orders of
        magnitude of their tasks.
    nodes : list of ndarray
        The nodes of each column.
    arrival_rates, minimum_arrival_rates : ndarray of float64, shape (F,)
        Jobs of the class that arrive in a second: all jobs, and jobs of users with a minimum share.
    execution_rates : ndarray of float64, shape (F, R)
        Jobs of the class that one node of the column could serve in a second.
    share, minimum_share : ndarray of float64, shape (F, R)
        delta' (for fairness) and delta (for minimum shares) of the paper. Above 0: nodes of the column are
        suggested to jobs of the class.
    solves : int
        How often the programs have been solved.
    """

    classes: tuple[tuple[float, Any], ...]
    nodes: list[Integers]
    arrival_rates: Floats
    minimum_arrival_rates: Floats
    execution_rates: Floats
    share: Floats
    minimum_share: Floats
    solves: int


class AdaptiveEpoch(BaseEpoch):
    """Which task each free slot of a heterogeneous cluster starts.

    Parameters
    ----------
    cluster : Cluster, mapping or path
        Nodes, and users with minimum shares and priorities; other users have minimum 0, priority 1.
    policy : Adaptive, optional

    Raises
    ------
    ValueError
        Here and in all methods for wrong input, naming field, row and value, before anything changes.

    See Also
    --------
    malleable.Scheduler : All other policies, with the same calls.
    malleable.Adaptive : The options of the policy.
    malleable.match_classes : The matching of classes by itself.

    Notes
    -----
    The object assumes that you start the tasks of its decisions. Reduce tasks may start once all map tasks
    of their job have ended, or when `update` says so. If you remove a job, its running tasks are yours to
    end. Ids are never used twice. Times never fall: an event that you tell late counts from the latest time
    told, 0 at first. A wrong call changes nothing. One thread at a time per object, RuntimeError for a
    second one. Copies and pickles go on as the original would (a pickle loads in the same version only);
    epochs are equal if their state is. A decision takes O(users x suggested classes) a slot, and O(1) for
    each job that has tasks running. Source: adaptive, section 6.2.

    Examples
    --------
    >>> import malleable as mb
    >>> cluster = mb.Cluster([{"map_slots": 2}, {"map_slots": 2, "rate": 4.0}])
    >>> epoch = mb.AdaptiveEpoch(cluster)  # needs malleable[lp]
    >>> ids = epoch.add(mb.ClusterJobs([6], 20.0, program=["etl"]), arrival=0)
    >>> epoch.decide(0, slots=[2, 2]).slots
    array([[4, 0]])
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
        self._core: _core.AdaptiveEpoch = _core.AdaptiveEpoch(
            place.map_slots[self._example],
            place.reduce_slots[self._example],
            place.rate[self._example],
            place.storage[self._example],
            self._resource,
            place.generic,
            list(place.users.values()),
            policy.core_options(),
            policy.matcher(),
        )
        # Their numbers in the core.
        self._users: dict[str, int] = {name: k for k, name in enumerate(place.users)}
        self._classes: dict[tuple[float, Any], int] = {}

    def __repr__(self) -> str:
        return f"AdaptiveEpoch({counted(len(self), 'job')}, {self._cluster!r})"

    @property
    def cluster(self) -> Cluster:
        """Where tasks run."""
        return self._cluster

    def _priority(self, name: str) -> tuple[float, float]:
        return self._cluster.users.get(name, (0.0, 1.0))

    @in_turn
    def add(
        self,
        jobs: ClusterJobs,
        *,
        arrival: npt.ArrayLike = 0.0,
        blocks: Sequence[npt.ArrayLike | None] | None = None,
    ) -> Integers:
        """Add jobs.

        Parameters
        ----------
        jobs : ClusterJobs
            ``maps``, ``map_seconds``, ``reduces``, ``reduce_seconds`` and ``shuffle`` (as estimated, on
            nodes of rate 1), ``rate`` by name of nodes (copying included), ``block`` [bytes], ``user`` and
            ``program`` are used. Jobs of one program
            and of users of one priority make a class; jobs without programs do if numbers and times
            of their tasks are alike.
        arrival : array_like of float
            When the jobs came [s]; the table's own arrival times do not matter.
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
        count = len(jobs)
        if blocks is not None and not hasattr(blocks, "__len__"):
            raise ValueError(f"blocks = {blocks!r}: one array of nodes a job, or None")
        if blocks is not None and len(blocks) != count:
            raise ValueError(f"blocks has {counted(len(blocks), 'entry')}, expected {count}")
        places = None
        if blocks is not None:
            places = [
                None if b is None else _nodes(f"blocks[{k}]", b) for k, b in enumerate(blocks)
            ]
        times = floats_of("arrival", given("arrival", arrival), count)
        mean = np.zeros((2, count))
        np.divide(jobs.map_work, jobs.maps, out=mean[0], where=jobs.maps > 0)
        np.divide(jobs.reduce_work, jobs.reduces, out=mean[1], where=jobs.reduces > 0)
        rates = self._rates(jobs)
        owners = [""] * count if jobs.user is None else jobs.user
        users, new_users = _numbered(self._users, owners)
        classes, new_classes = _numbered(self._classes, self._class_keys(jobs, owners, mean))
        ids = self._core.add(
            [self._priority(name) for name in new_users],
            len(new_classes),
            {
                "maps": jobs.maps,
                "reduces": jobs.reduces,
                "job_class": classes,
                "user": users,
                "arrival": times,
                "map_seconds": mean[0],
                "reduce_seconds": mean[1],
                "block": jobs.block,
                "rates": rates,
            },
            places,
        )
        self._users |= new_users
        self._classes |= new_classes
        return ids

    def _rates(self, jobs: ClusterJobs) -> Floats | None:
        """Rates of jobs of their own by phase and resource, one row after the other."""
        place = self._cluster
        names = [place.type_names[kind] for kind in place.type.tolist()]
        found = jobs.rates_on(place.rate, names)
        if found is None:
            return None
        chosen = found[:, :, self._example]
        apart = (found != chosen[:, :, self._resource]).any(axis=(0, 1))
        for node in np.flatnonzero(apart)[:1].tolist():
            other = names[int(self._example[self._resource[node]])]
            raise ValueError(
                f"rate[{names[node]!r}]: these nodes are one with {other!r} for this epoch; an"
                " Adaptive(grouped=False) tells them apart"
            )
        return np.ascontiguousarray(chosen).reshape(-1)

    def _class_keys(
        self, jobs: ClusterJobs, owners: Sequence[str], mean: Floats
    ) -> list[tuple[float, Any]]:
        priorities = [self._priority(name)[1] for name in owners]
        if jobs.program is not None:
            return list(zip(priorities, jobs.program, strict=True))
        values = np.column_stack([jobs.maps, mean[0], jobs.reduces, mean[1]])
        size = np.full(values.shape, -1000.0)
        np.log2(values, out=size, where=values > 0.0)
        powers = np.where(values > 0.0, np.ceil(size / 2.0 - 1e-9), -1000.0).astype(np.int64)
        return list(zip(priorities, map(tuple, powers.tolist()), strict=True))

    def set_blocks(self, job_id: int, nodes: npt.ArrayLike) -> None:
        """Say where copies of the blocks of a job's map tasks are, before any of them started.

        Parameters
        ----------
        job_id : int
        nodes : array_like of int, shape (maps, copies)
        """
        self._core.set_blocks(_job(job_id), _nodes("nodes", nodes))

    def place(self, job_id: int, copies: int = 3, blocks: int | None = None) -> Integers:
        """Nodes for copies of a job's blocks: the nodes that its class is suggested to, in turn.

        Nodes that will serve more of the class get more copies. If there are too few suggested nodes, other
        nodes get the rest.

        Parameters
        ----------
        job_id : int
            The job.
        copies : int
            Copies of each block, at most the number of nodes.
        blocks : int, optional
            Number of blocks; the number of map tasks by default.

        Returns
        -------
        ndarray of int64, shape (blocks, copies)
            Numbers of nodes.
        """
        number, job = check_count("copies", copies), _job(job_id)
        if not 1 <= number <= len(self._cluster):
            raise ValueError(f"copies = {copies}: must be from 1 to {len(self._cluster)}")
        if blocks is None:
            blocks = self._core.maps(job)
        wanted = check_count("blocks", blocks)
        if wanted * number > _MOST_COPIES:
            raise ValueError(f"blocks = {blocks}: more than {_MOST_COPIES} copies in all")
        return self._core.place(job, wanted, number)

    def update(
        self,
        ids: npt.ArrayLike,
        *,
        maps: npt.ArrayLike | None = None,
        reduces: npt.ArrayLike | None = None,
        map_seconds: npt.ArrayLike | None = None,
        reduce_seconds: npt.ArrayLike | None = None,
    ) -> None:
        """Change jobs; columns that you leave out stay as they were.

        Parameters
        ----------
        ids : array_like of int, shape (n,)
        maps, reduces : array_like of int, shape (n,), optional
            How many tasks could start now (for example with a slow start): from 0 to the number of tasks
            that neither run nor have ended.
        map_seconds, reduce_seconds : array_like of float, shape (n,), optional
            Seconds of a task on a node of rate 1, as estimated now instead of when the job came.
        """
        self._update(
            ids,
            {
                "maps": maps,
                "reduces": reduces,
                "map_seconds": map_seconds,
                "reduce_seconds": reduce_seconds,
            },
        )

    def ended(
        self,
        ids: npt.ArrayLike,
        phase: npt.ArrayLike,
        node: npt.ArrayLike,
        seconds: npt.ArrayLike,
        *,
        end: npt.ArrayLike | None = None,
        task: npt.ArrayLike = -1,
        done: npt.ArrayLike = True,
    ) -> None:
        """Tell tasks that ended. The epoch learns from their times; with ``done=False`` a task waits again.

        Parameters
        ----------
        ids, phase, node : array_like of int, shape (n,)
            As they were started.
        seconds : array_like of float, shape (n,)
            How long they took [s].
        end : array_like of float, optional
            When they ended [s]; by default at the latest time told.
        task : array_like of int, optional
            As started; only needed for failed tasks with blocks.
        done : array_like of bool, optional
        """
        rows = ids_of(ids)
        columns = {"phase": phase, "node": node, "task": task, "seconds": seconds, "done": done}
        for field, values in columns.items():
            given(field, values)
        flags = bools_of("done", columns.pop("done"), len(rows))
        told = columns_of(columns | {"end": end}, len(rows))
        self._core.ended({"ids": rows, "done": flags, **told})

    def decide(self, now: float, *, slots: npt.ArrayLike) -> AdaptiveDecision:
        """Tasks for free slots.

        Parameters
        ----------
        now : float
            Absolute time [s], never before an earlier one.
        slots : array_like of int, shape (N, 2) or (N,), or int
            Free map and reduce slots by node, each from 0 to 2^40; one number counts for both.
            Generic slots are the first column.
        """
        moment = check_time("now", now)
        ids, held, changed, bound, starts = self._core.decide(moment, *self._by_node(slots))
        return AdaptiveDecision(moment, ids, held, changed, bound, TaskStarts(*starts))

    def _by_node(self, slots: npt.ArrayLike) -> tuple[Integers, Integers]:
        nodes = len(self._cluster)
        array = array_of("slots", given("slots", slots))
        if array.ndim and array.shape not in ((nodes,), (nodes, 2)):
            raise ValueError(f"slots has shape {array.shape}, expected ({nodes},) or ({nodes}, 2)")
        maps, reduces = array.T if array.ndim == 2 else (array, array)
        return integers_of("slots", maps, nodes), integers_of("slots", reduces, nodes)

    def counts(self, ids: npt.ArrayLike) -> dict[str, Integers]:
        """Tasks of jobs by phase and state.

        Parameters
        ----------
        ids : array_like of int, shape (n,)
            As `add` returned them.

        Returns
        -------
        dict of ndarray of int64, shape (n,)
            ``map_waiting``, ``map_running``, ``map_finished``, the same for reduces.
        """
        return self._core.counts(ids_of(ids))

    def match(self, now: float) -> AdaptiveMatching:
        """Solve the linear programs now, also if no rate has changed.

        Parameters
        ----------
        now : float
            Absolute time [s].
        """
        self._core.match(check_time("now", now))
        return self._matching(None)

    def matching(self, now: float | None = None) -> AdaptiveMatching:
        """The matching in use, and the rates at a time.

        Parameters
        ----------
        now : float, optional
            Absolute time [s]; the latest time told by default.
        """
        return self._matching(None if now is None else check_time("now", now))

    def _matching(self, now: float | None) -> AdaptiveMatching:
        found = self._core.matching(now)
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
    return check_whole("job_id", job_id, 0, 2**63 - 1)


def _nodes(field: str, given: npt.ArrayLike) -> Integers:
    """Nodes of copies of blocks, shape (maps, copies)."""
    places = array_of(field, given)
    if places.ndim != 2 or not places.size:
        raise ValueError(f"{field} has shape {places.shape}, expected (maps, copies)")
    return ids_of(places.reshape(-1), field).reshape(places.shape)


def _numbered(known: dict[Any, int], keys: Sequence[Any]) -> tuple[Integers, dict[Any, int]]:
    """Numbers of keys, and the new keys with their numbers."""
    new: dict[Any, int] = {}
    numbers = [
        known[key] if key in known else new.setdefault(key, len(known) + len(new)) for key in keys
    ]
    return np.array(numbers, dtype=np.int64), new
