"""What a scheduler was told, given to a fresh one, and to another policy beside it."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from malleable import _core, views
from malleable.cluster.events import checksum, read_events
from malleable.cluster.named_policies import policy_name
from malleable.cluster.nodes import Cluster
from malleable.cluster.scheduler import Scheduler
from malleable.cluster.table import ClusterJobs
from malleable.values import by_value

__all__ = ["Replay", "record_simulation", "replay"]


@by_value()
class Replay(NamedTuple):
    """What came out of a replay.

    Attributes
    ----------
    recorded, policy : str
        Names of the policy of the record and of the one beside it.
    jobs, calls, decisions : int
        In the record.
    same : bool
        Whether the fresh scheduler decided, and started, what the record says.
    differing : int
        Decisions in which the other policy gives any job other slots.
    moved : float
        Slots that change hands between the two, in the mean decision.
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
        return views.brief(self)


def replay(
    events: str | PathLike[str],
    policy: Any = None,
    *,
    objective: str | None = None,
    recorded: Any = None,
) -> Replay:
    """Give a record to a fresh scheduler; what another policy would have decided at each state.

    Parameters
    ----------
    events : path
        As `Scheduler` with ``record=`` writes it.
    policy : str, Adaptive or function, optional
        At every decision asked what it would decide at the state of the record, one step: what
        would have come of it is `malleable.simulate`'s answer. By default the record's own.
    objective : str, optional
        Of that policy; the record's by default.
    recorded : function, optional
        The policy of the record where that is one of your own.

    Returns
    -------
    Replay

    Raises
    ------
    ValueError
        Not a file of events, or one that is cut; a policy that cannot follow these events.

    Notes
    -----
    O(calls + events), and two decisions a decision.
    """
    header, calls = read_events(events)
    fresh = _scheduler(header, header["policy"] if recorded is None else recorded, None)
    other = None if policy is None else _scheduler(header, policy, objective)
    counts = {"add": 0, "decide": 0}
    total, same, differing, moved = 0, True, 0, 0.0
    for call, columns in calls:
        total += 1
        said = _apply(fresh._core, call, columns, False)
        if call == "add":
            counts["add"] += len(said)
        elif call == "assign":
            wanted = (columns["start_ids"], columns["start_phase"], columns["start_node"])
            same &= all(map(np.array_equal, (said[0], said[1], said[3]), wanted))
        elif call == "decide":
            counts["decide"] += 1
            same &= checksum(said[0], said[1]) == int(columns["count"][0])
        if other is None:
            continue
        answer = _apply(other._core, call, columns, True)
        if call == "decide":
            part = _moved(said, answer)
            differing += part > 0
            moved += part
    return Replay(
        str(header["policy"]),
        policy_name(policy) if policy is not None else str(header["policy"]),
        counts["add"],
        total,
        counts["decide"],
        bool(same),
        int(differing),
        moved / max(counts["decide"], 1),
    )


def _scheduler(header: Mapping[str, Any], policy: Any, objective: str | None) -> Scheduler:
    place = Cluster(header["cluster"]["nodes"], header["cluster"]["users"])
    goal = header["objective"] if objective is None else objective
    return Scheduler(place, policy, goal, **header["options"])


def _moved(one: tuple[Any, ...], two: tuple[Any, ...]) -> float:
    """Slots that two decisions give to different jobs."""
    ids = np.union1d(one[0], two[0])
    slots = [np.zeros((len(ids), 2)) for _ in range(2)]
    for table, decision in zip(slots, (one, two), strict=True):
        table[np.searchsorted(ids, decision[0])] = decision[1]
    return float(np.maximum(slots[0] - slots[1], 0.0).sum())


def _people(values: npt.NDArray[Any]) -> list[tuple[float, float]]:
    return [(float(a), float(b)) for a, b in values.reshape(-1, 2)]


def _apply(
    core: _core.Scheduler, call: str, given: dict[str, npt.NDArray[Any]], beside: bool
) -> Any:
    """One call to a fresh scheduler; ``beside``: tasks start as recorded, whatever it would start."""
    columns = dict(given)
    now = float(columns.pop("now", np.zeros(1))[0])
    if call == "add":
        return core.add(_people(columns.pop("new_users")), columns, now)
    if call in ("started", "ended", "failed", "ready"):
        return core.tell(call, columns, now)
    if call == "decide":
        return core.decide(now)
    if call == "assign":
        if beside:
            told = {"ids": columns["start_ids"], "phase": columns["start_phase"]}
            return core.tell("started", told, now)
        return core.assign(now, columns["free_maps"], columns["free_reduces"])
    if call == "set_users":
        return core.set_users(columns["users"], _people(columns["people"]), now)
    if call == "set_slots":
        return core.set_slots(
            columns["nodes"], columns.get("map_slots"), columns.get("reduce_slots"), now
        )
    if call == "set_blocks":
        nodes = columns["nodes"].reshape(-1, int(columns["copies"][0]))
        return core.set_blocks(int(columns["ids"][0]), nodes)
    ids = columns.pop("ids")
    if call in ("finish", "remove"):
        return getattr(core, call)(ids, now)
    return getattr(core, call)(ids, columns, now)


def record_simulation(
    path: str | PathLike[str],
    jobs: ClusterJobs,
    cluster: Cluster,
    result: Any,
    policy: str,
    objective: str = "sum:response",
    **options: Any,
) -> None:
    """Write what happened in a simulation as the events that a scheduler would have been told.

    Parameters
    ----------
    path : path
    jobs, cluster : ClusterJobs, Cluster
        That were simulated; nobody waits for others (``after``), no node leaves.
    result : SimulationResult
        Of ``malleable.simulate(jobs, policy, cluster=cluster, trace=True)``.
    policy, objective, **options
        Of the scheduler whose decisions are recorded, as for `Scheduler`.

    Notes
    -----
    O(rows of the trace). At every instant: tasks end, jobs come, the policy decides, tasks start.
    """
    if jobs.after is not None or cluster.changes:
        raise ValueError("jobs: none may wait for others, and no node may leave")
    name = policy_name(policy)
    trace = result.trace[name]
    completion = result.records["completion"][result.records["policy"] == name]
    scheduler = Scheduler(cluster, policy, objective, record=path, **options)
    time, kind = trace["time"], trace["kind"]
    task = np.stack([trace["job"], trace["phase"], trace["task"]])
    seconds = np.full(len(time), np.nan)
    order = np.lexsort((np.arange(len(time)), *task[::-1]))
    ends = order[1:][
        (kind[order[1:]] > 0) & (task[:, order[1:]] == task[:, order[:-1]]).all(axis=0)
    ]
    before = order[:-1][
        (kind[order[1:]] > 0) & (task[:, order[1:]] == task[:, order[:-1]]).all(axis=0)
    ]
    seconds[ends] = time[ends] - time[before]
    moments = np.unique(np.concatenate([time, jobs.arrival]))
    first = np.searchsorted(time, moments)
    last = np.searchsorted(time, moments, side="right")
    came = np.argsort(jobs.arrival, kind="stable")
    ids = np.full(len(jobs), -1, dtype=np.int64)
    next_job = 0
    for now, a, b in zip(moments.tolist(), first.tolist(), last.tolist(), strict=True):
        rows = np.arange(a, b)
        for code, tell in ((1, "finished"), (2, "failed"), (3, "failed")):
            some = rows[kind[rows] == code]
            if len(some):
                keys = [trace["job"][some], trace["phase"][some]]
                if code == 1:
                    keys += [seconds[some]] + [trace["node"][some]] * name.startswith("adaptive")
                (job, phase, *more), count = _batches(keys)
                told = dict(zip(("seconds", "node"), more, strict=False))
                getattr(scheduler, tell)(ids[job], phase, count=count, now=now, **told)
        over = np.unique(trace["job"][rows[kind[rows] == 1]])
        over = over[completion[over] == now]
        if len(over):
            scheduler.finish(ids[over], now)
        upto = next_job + int(np.searchsorted(jobs.arrival[came[next_job:]], now, side="right"))
        if upto > next_job:
            some = came[next_job:upto]
            ids[some] = scheduler.add(_some(jobs, some), now)
            next_job = upto
        scheduler.decide(now)
        begun = rows[kind[rows] == 0]
        if len(begun):
            (job, phase), count = _batches([trace["job"][begun], trace["phase"][begun]])
            scheduler.started(ids[job], phase, count=count, now=now)
    scheduler.close()


def _batches(
    keys: list[npt.NDArray[Any]],
) -> tuple[list[npt.NDArray[Any]], npt.NDArray[np.int64]]:
    """Rows that are alike in all columns, once, and how often each is there."""
    order = np.lexsort(keys[::-1])
    columns = [key[order] for key in keys]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    first = np.flatnonzero(fresh)
    return [column[first] for column in columns], np.diff(np.append(first, len(order)))


def _some(jobs: ClusterJobs, rows: npt.NDArray[np.int64]) -> ClusterJobs:
    """These jobs, with the mean seconds of their tasks."""

    def mean(work: npt.NDArray[Any], tasks: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(work[rows] / np.maximum(tasks[rows], 1))

    words = {
        name: [getattr(jobs, name)[row] for row in rows.tolist()]
        for name in ("user", "program")
        if getattr(jobs, name) is not None
    }
    return ClusterJobs(
        jobs.maps[rows],
        mean(jobs.map_work, jobs.maps),
        jobs.reduces[rows],
        mean(jobs.reduce_work, jobs.reduces),
        arrival=jobs.arrival[rows],
        weight=jobs.weight[rows],
        deadline=jobs.deadline[rows],
        min_map_slots=jobs.min_map_slots[rows],
        min_reduce_slots=jobs.min_reduce_slots[rows],
        **words,
    )
