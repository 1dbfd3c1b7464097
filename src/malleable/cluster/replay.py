"""What a scheduler was told, given to a fresh one, and to another policy beside it."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.cluster.events import cluster_of, read_events
from malleable.cluster.named_policies import OPTIONS, policy_name
from malleable.cluster.nodes import Cluster
from malleable.cluster.scheduler import Scheduler
from malleable.cluster.table import ClusterJobs
from malleable.lines import brief
from malleable.values import by_value


@by_value()
class Replay(NamedTuple):
    """The result of a replay.

    Attributes
    ----------
    recorded, policy : str
        Names of the policy of the record and of the other policy.
    jobs, calls, decisions : int
        How many the record has.
    same : bool
        Whether the fresh scheduler decided, and started, what the record says.
    differing : int
        Decisions in which the other policy gives any job other slots.
    moved : float
        Slots that change hands between the two, on average over decisions.

    See Also
    --------
    malleable.replay : Runs a record again under another policy.
    malleable.record_simulation : Records a simulation that can be replayed.

    Notes
    -----
    Plain numbers, made once by `malleable.replay`. O(1).

    Examples
    --------
    >>> import malleable as mb
    >>> scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), "flex", record="events")
    >>> ids = scheduler.add(mb.ClusterJobs([6, 3], [2.0, 1.0]), 0.0)
    >>> decision = scheduler.decide(0.0)
    >>> scheduler.close()
    >>> found = mb.replay("events", "fair")
    >>> found.decisions, found.differing, found.moved
    (1, 1, 1.0)
    """

    recorded: str
    policy: str
    jobs: int
    calls: int
    decisions: int
    same: bool
    differing: int
    moved: float

    def __repr__(self) -> str:
        return brief(self)


def replay(
    events: str | PathLike[str],
    policy: Any = None,
    *,
    objective: str | None = None,
    recorded: Any = None,
) -> Replay:
    """Give a record to a fresh scheduler, and ask what another policy would have decided.

    Parameters
    ----------
    events : path
        A file that `Scheduler` with ``record=`` wrote.
    policy : str, Adaptive or function, optional
        The other policy. At every decision it says what it would decide at the state of the record, one
        step only. `malleable.simulate` says how jobs would have ended. By default the policy of the record.
    objective : str, optional
        Objective of the other policy; by default that of the record.
    recorded : function, optional
        The policy of the record, if it is one of your own.

    Returns
    -------
    Replay

    Raises
    ------
    ValueError
        Not a file of events, or a cut file; a policy that cannot follow these events.

    See Also
    --------
    malleable.record_simulation : Records a simulation.
    malleable.Replay : What is returned.
    malleable.simulate : Runs a table or a trace.

    Notes
    -----
    O(calls + events), and two decisions for each recorded decision.

    Examples
    --------
    >>> import malleable as mb
    >>> scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), "flex", record="events")
    >>> ids = scheduler.add(mb.ClusterJobs([6, 3], [2.0, 1.0]), 0.0)
    >>> decision = scheduler.decide(0.0)
    >>> scheduler.close()
    >>> mb.replay("events", "fair").same
    True
    """
    header, data, at = read_events(events)
    fresh = _scheduler(header, header["policy"] if recorded is None else recorded, None)
    other = None if policy is None else _scheduler(header, policy, objective)
    try:
        jobs, calls, decisions, same, differing, moved = _core.replay(
            data, at, fresh._core, None if other is None else other._core
        )
    except ValueError as fault:
        raise ValueError(f"{events}: {fault}") from None
    beside = str(header["policy"]) if policy is None else policy_name(policy)
    return Replay(
        str(header["policy"]),
        beside,
        jobs,
        calls,
        decisions,
        same,
        differing,
        moved / max(decisions, 1),
    )


def _scheduler(header: Mapping[str, Any], policy: Any, objective: str | None) -> Scheduler:
    goal = header["objective"] if objective is None else objective
    history = header.get("history")
    options = {**_UNSAID, **header["options"]}
    return Scheduler(cluster_of(header), policy, goal, history=history, **options)


# What counted when records did not say it yet.
_UNSAID = {name: row["unsaid"] for name, row in OPTIONS.items() if row["unsaid"] is not None}


_START, _END, _FAILED, _KILLED, _LOST = range(5)


def record_simulation(
    path: str | PathLike[str],
    jobs: ClusterJobs,
    cluster: Cluster,
    result: Any,
    policy: str,
    objective: str = "sum:response",
    **options: Any,
) -> None:
    """Write a simulation as the events that a scheduler would have been told.

    Parameters
    ----------
    path : path
    jobs, cluster : ClusterJobs, Cluster
        The simulated jobs and cluster.
    result : SimulationResult
        The result of ``malleable.simulate(jobs, policy, cluster=cluster, trace="batches")``.
    policy, objective, **options
        Arguments of the `Scheduler` whose decisions are recorded.

    Raises
    ------
    ValueError
        The simulation had no ``trace="batches"``, or did not simulate the policy.

    See Also
    --------
    malleable.replay : Replays what was recorded under another policy.
    malleable.simulate : Runs without a record.

    Notes
    -----
    O(rows of the trace). At every instant: tasks end, nodes leave or return, jobs are done, jobs come, the
    policy decides, tasks start. A flow is added whole when its first job arrives.

    Examples
    --------
    >>> import malleable as mb
    >>> jobs = mb.generate_cluster_jobs(20, rng=1)
    >>> cluster = mb.Cluster.for_load(jobs, 0.7)
    >>> result = mb.simulate(jobs, "fair", cluster=cluster, rng=1, trace="batches")
    >>> mb.record_simulation("events", jobs, cluster, result, "fair")
    >>> mb.replay("events", "fair").same
    True
    """
    name = policy_name(policy)
    if name not in (result.batches or {}):
        raise ValueError(f'result: no batches of {name}; simulate it with trace="batches"')
    batches = result.batches[name]
    completion = result.records["completion"][result.records["policy"] == name]
    scheduler = Scheduler(cluster, policy, objective, record=path, **options)
    time, kind, job = batches["time"], batches["kind"], batches["job"]
    added = _added(jobs)
    changed = np.array([when for when, _, _ in cluster.changes])
    moments = np.unique(np.concatenate([time, [when for when, _ in added], changed]))
    cuts = np.searchsorted(time, np.append(moments, np.inf)).tolist()
    ids = np.full(len(jobs), -1, dtype=np.int64)
    next_add = next_change = 0
    changes = sorted(range(len(changed)), key=changed.__getitem__)
    down: set[int] = set()
    for now, a, b in zip(moments.tolist(), cuts[:-1], cuts[1:], strict=True):
        codes = kind[a:b]
        for code, tell in ((_END, "finished"), (_FAILED, "failed"), (_KILLED, "failed")):
            _told(scheduler, tell, batches, a + np.flatnonzero(codes == code), ids, now)
        while next_change < len(changes) and changed[changes[next_change]] <= now:
            _, node, up = cluster.changes[changes[next_change]]
            next_change += 1
            if (node in down) == up:
                _move(scheduler, cluster, node, up, now)
                (down.discard if up else down.add)(node)
        _told(scheduler, "lost", batches, a + np.flatnonzero(codes == _LOST), ids, now)
        over = np.unique(job[a:b][codes == _END])
        over = over[completion[over] == now]
        if len(over):
            scheduler.finish(ids[over], now)
        while next_add < len(added) and added[next_add][0] <= now:
            rows = added[next_add][1]
            ids[rows] = scheduler.add(_some(jobs, rows), now)
            next_add += 1
        scheduler.decide(now)
        _told(scheduler, "started", batches, a + np.flatnonzero(codes == _START), ids, now)
    scheduler.close()


def _added(jobs: ClusterJobs) -> list[tuple[float, npt.NDArray[np.int64]]]:
    """Which rows are added when: together where they arrive at once, flows whole."""
    first = jobs.arrival
    if jobs.flow is not None:
        _, number = np.unique(jobs.flow, return_inverse=True)
        earliest = np.full(number.max(initial=-1) + 1, np.inf)
        np.minimum.at(earliest, number, jobs.arrival)
        first = earliest[number]
    order = np.argsort(first, kind="stable")
    times, starts = np.unique(first[order], return_index=True)
    return list(zip(times.tolist(), np.split(order, starts[1:]), strict=True)) if len(order) else []


def _told(
    scheduler: Scheduler,
    tell: str,
    batches: Mapping[str, Any],
    rows: npt.NDArray[np.int64],
    ids: npt.NDArray[np.int64],
    now: float,
) -> None:
    """Rows of one kind at one instant, in one call."""
    if not len(rows):
        return
    told = {"count": batches["count"][rows]}
    if tell == "finished":
        told["seconds"] = batches["seconds"][rows]
        node = batches["node"][rows]
        told |= {"node": node} if (node >= 0).any() else {}
    getattr(scheduler, tell)(ids[batches["job"][rows]], batches["phase"][rows], now=now, **told)


def _move(scheduler: Scheduler, cluster: Cluster, node: int, up: bool, now: float) -> None:
    """A node leaves, or returns with all its slots."""
    slots = cluster.map_slots[node] * up, cluster.reduce_slots[node] * up
    scheduler.set_slots([node], [slots], now=now)


def _some(jobs: ClusterJobs, rows: npt.NDArray[np.int64]) -> ClusterJobs:
    """These jobs, with the mean seconds of their tasks."""

    def mean(work: npt.NDArray[Any], tasks: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(work[rows] / np.maximum(tasks[rows], 1))

    words: dict[str, Any] = {
        name: [getattr(jobs, name)[row] for row in rows.tolist()]
        for name in ("user", "program", "flow", "speedup")
        if getattr(jobs, name) is not None
    }
    if jobs.after is not None and jobs.after_offset is not None:
        place = {row: k for k, row in enumerate(rows.tolist())}
        first, last = jobs.after_offset[rows].tolist(), jobs.after_offset[rows + 1].tolist()
        words["after"] = [
            [place[other] for other in jobs.after[a:b].tolist()]
            for a, b in zip(first, last, strict=True)
        ]
    return ClusterJobs(
        map_seconds=mean(jobs.map_work, jobs.maps),
        reduce_seconds=mean(jobs.reduce_work, jobs.reduces),
        **{name: column[rows] for name, column in jobs.told().items()},
        **words,
    )
