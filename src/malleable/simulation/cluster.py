"""Tasks on the nodes of a cluster: every policy on the same jobs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.adaptive_policy import Adaptive
from malleable.objectives import KINDS, parse_objective
from malleable.simulation.cluster_flows import FlowFlexOnCluster
from malleable.simulation.result import RECORD_COLUMNS, SimulationResult
from malleable.tables import Floats
from malleable.workloads.cluster_jobs import ClusterJobs
from malleable.workloads.cluster_nodes import Cluster, read_cluster

__all__ = ["CLUSTER_POLICIES", "EXTRA_COLUMNS", "policy_name", "run"]

_SRPT = ("srpt", "max-srpt", "split-srpt", "asrpt", "hesrpt")
CLUSTER_POLICIES = (
    "flex", "fair", "fifo", "wdeq", *_SRPT, "flowflex", "adaptive", "adaptive-literal",
)  # fmt: skip
EXTRA_COLUMNS = ("user", "work", "deadline")
_STEPS = 64  # of a run, between which Ctrl-C and progress are looked at


def policy_name(policy: Any) -> str:
    """What records and summaries call a policy: its name, or that of a function or class."""
    if isinstance(policy, str):
        return policy
    return str(getattr(policy, "name", None) or getattr(policy, "__name__", type(policy).__name__))


class _Function:
    """A function of the view as a policy."""

    def __init__(self, decide: Callable[[dict[str, Any]], Any]) -> None:
        self.decide = decide


def _policy(
    policy: Any,
    objective: str,
    hysteresis: float,
    effort: int | None,
    at_least_one: bool,
    by_user: bool,
    settings: Mapping[str, Any],
) -> Any:
    if policy in ("adaptive", "adaptive-literal"):
        policy = Adaptive() if policy == "adaptive" else Adaptive.literal()
    if isinstance(policy, Adaptive):
        if settings.get("gang", False):
            raise ValueError(f"gang: not with policy {policy.name!r}, which starts single tasks")
        return _core.ClusterAdaptive(
            policy.core_options(), policy.matcher(), bool(policy.grouped), bool(policy.placement)
        )
    if isinstance(policy, str):
        goal = parse_objective(objective)
        if len(goal.kinds) != 1 or KINDS[int(goal.kinds[0])] in ("sla", "custom"):
            raise ValueError(f"objective = {objective!r}: not one that cluster jobs have data for")
        if policy == "fifo" and not by_user:
            return _core.ClusterFifo()
        if policy in ("flex", "fair", "fifo", "wdeq"):
            return _core.ClusterEpoch(
                policy,
                bool(goal.is_max),
                int(goal.kinds[0]),
                float(hysteresis),
                effort,
                bool(at_least_one),
                by_user,
                bool(settings.get("gang", False)),
                float(settings.get("pool_minimum", 0.0)),
            )
        if policy in _SRPT:
            return _core.ClusterSrpt(policy, float(settings.get("speedup", 1.0)))
        raise ValueError(f"policy = {policy!r}: expected one of {', '.join(CLUSTER_POLICIES)}")
    style = str(getattr(policy, "style", "targets"))
    own = policy if hasattr(policy, "decide") or hasattr(policy, "choose") else _Function(policy)
    return _core.ClusterCallback(
        own,
        style,
        bool(getattr(policy, "depends_on_time", False)),
        hasattr(own, "task_finished"),
    )


def _nodes(cluster: Cluster) -> dict[str, Any]:
    return {
        "map_slots": cluster.map_slots,
        "reduce_slots": cluster.reduce_slots,
        "rate": cluster.rate,
        "type": cluster.type,
        "rack": cluster.rack,
        "storage": cluster.storage,
        "link": cluster.link,
        "rack_link": cluster.rack_link,
        "generic": cluster.generic,
    }


def _numbers(words: tuple[str, ...] | None, known: list[str]) -> npt.NDArray[np.int64]:
    place = {word: k for k, word in enumerate(known)}
    for word in words or ():
        if word not in place:
            place[word] = len(place)
            known.append(word)
    return np.array([place[word] for word in words or ()], dtype=np.int64)


def _jobs(jobs: ClusterJobs, cluster: Cluster) -> tuple[dict[str, Any], list[str]]:
    columns: dict[str, Any] = {
        "arrival": jobs.arrival,
        "maps": jobs.maps,
        "reduces": jobs.reduces,
        "map_seconds": jobs.map_seconds,
        "reduce_seconds": jobs.reduce_seconds,
        "shuffle": jobs.shuffle,
        "block": jobs.block,
        "shuffle_bytes": jobs.shuffle_bytes,
        "min_map_slots": jobs.min_map_slots,
        "min_reduce_slots": jobs.min_reduce_slots,
        "weight": jobs.weight,
        "deadline": jobs.deadline,
    }
    if jobs.map_offset is not None:
        columns["map_offset"] = jobs.map_offset
    if jobs.after is not None:
        columns |= {"after_offset": jobs.after_offset, "after": jobs.after}
    if jobs.reduce_offset is not None:
        columns["reduce_offset"] = jobs.reduce_offset
    users = list(cluster.users)
    if jobs.user is not None:
        columns["user"] = _numbers(jobs.user, users)
    if jobs.user is not None and cluster.users:
        named = [cluster.users.get(user, (0.0, 1.0)) for user in users]
        columns["user_minimum"] = np.array([minimum for minimum, _ in named])
        columns["user_priority"] = np.array([priority for _, priority in named])
    if jobs.program is not None:
        columns["group"] = _numbers(jobs.program, [])
    return columns, users


def _estimates(jobs: ClusterJobs, estimates: Any, split_copy: bool, seed: int) -> Floats | None:
    """Believed seconds of a task, map and reduce of every job in turn; None: the core's own."""
    if estimates is None or estimates == "learn":
        return None
    if isinstance(estimates, str):
        raise ValueError(f"estimates = {estimates!r}: expected 'learn', a number or an array")
    reduce_work = jobs.reduce_work - (jobs.reduces * jobs.shuffle if split_copy else 0.0)
    truth = np.zeros((len(jobs), 2))
    np.divide(jobs.map_work, jobs.maps, out=truth[:, 0], where=jobs.maps > 0)
    np.divide(reduce_work, jobs.reduces, out=truth[:, 1], where=jobs.reduces > 0)
    if np.ndim(estimates) == 0:
        sigma = float(estimates)
        if not (math.isfinite(sigma) and sigma >= 0.0):
            raise ValueError(f"estimates = {sigma}: must be finite and at least 0")
        errors = np.random.default_rng(seed).standard_normal((len(jobs), 2))
        return np.ascontiguousarray((truth * np.exp(sigma * errors)).reshape(-1))
    given = np.asarray(estimates, dtype=np.float64)
    if given.shape != (len(jobs), 2):
        raise ValueError(f"estimates has shape {given.shape}, expected ({len(jobs)}, 2)")
    return np.ascontiguousarray(given.reshape(-1))


def run(
    jobs: Any,
    policy: Any,
    *,
    rng: np.random.Generator | int | None = None,
    estimates: Any = None,
    cluster: Cluster | Mapping[str, Any] | str | None = None,
    load: float | None = None,
    objective: str = "sum:response",
    hysteresis: float = 0.0,
    effort: int | None = None,
    at_least_one: bool = False,
    by_user: bool | None = None,
    records: bool | None = None,
    trace: bool = False,
    horizon: float | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> SimulationResult:
    """Simulate one policy on a cluster.

    Parameters
    ----------
    jobs : ClusterJobs
    policy : str or object
        ``flex``, ``fair`` and ``wdeq`` decide for map and for reduce slots apart; ``fifo``; ``srpt``,
        ``max-srpt``, ``split-srpt``, ``asrpt``, ``hesrpt`` on estimated work left; ``flowflex`` on
        flows (`malleable.simulation.cluster_flows`; generic slots); ``adaptive``, ``adaptive-literal`` or a
        `malleable.Adaptive`, which choose for each node and so know no ``delay``, ``ageing`` and
        ``by_user`` but have rules of their own. One of your own: a function of a view (a mapping of
        arrays, one row a job with ready tasks: ``job``, ``running``, ``most``, ``minimum``, ``work``,
        ``size``, ``user``, ``arrival``, ``weight``, ``deadline``; and ``pool``, ``now``, ``slots``) that
        gives slots, or with ``style = "ranks"`` numbers, the least first; or an object with
        ``style = "node"`` and ``choose(state, node, pool)``, which gives a job and a phase (0 map, 1
        reduce) or None.
    rng : numpy Generator or seed, optional
        Of noise, failures and the places of blocks: the same for every policy.
    estimates : optional
        Task times as policies see them: None: the true means of each job and phase; a number sigma:
        those times exp(sigma Z), Z standard normal and drawn once; ``"learn"``: ``prior``, or the
        mean of earlier runs of the same program, until tasks have finished, then their mean; an
        array of shape (J, 2) [s].
    cluster : Cluster, mapping or path
        See `malleable.read_cluster`.
    load : float, optional
        Instead of a cluster: as many slots as give this load (`Cluster.for_load`).
    objective, hysteresis, effort
        Of FLEX, as for `malleable.Epoch`.
    at_least_one : bool
        Minima are 1 at least (FLEX, section 4.2: so that every ready phase is measured soon).
    by_user : bool, optional
        FLEX, FAIR, WDEQ, FIFO: users share slots first (waterline weighted by priority, minima), then
        the policy decides for each user's jobs; by default where the cluster names users.
    records : bool, optional
        Keep one record a job (default).
    trace : bool
        Keep every start and end of a task in ``result.trace``.
    horizon : float, optional
        Stop then [s].
    progress : callable, optional
        Called with finished jobs and all jobs.
    **options
        ``epoch`` [0.5 s] between decisions (0: at every event); ``heartbeat`` [0 s] of nodes (0: free
        slots are offered at once); ``tasks_per_heartbeat`` [0: all]; ``slow_start`` [0.05] of the maps
        that have finished when reduces may start; ``split_copy`` [False]; ``shuffle_steps`` [64], so
        many times reduce tasks hear of map output to fetch (0: of every map); ``network_epoch`` [0 s: at
        once] between changes of transfers' rates, for large networks; ``replicas`` [0] of each
        block; ``delay`` [0 s] that a job waits for a local slot, then ``rack_delay`` [0 s] for one in
        a rack with a block of its own; ``noise`` [0], standard deviation of
        the logarithm of task times; ``straggler_share`` [0], ``straggler_factor`` [1]; ``failure`` [0]
        probability of an attempt; ``speedup`` [1]: s tasks of a phase together do s^speedup;
        ``prior`` [1 s]; ``ageing`` [0 s: never]: a job whose ready tasks have waited so long without
        one that runs goes first, with one task; ``gang`` [False]: minima are gang sizes, of a phase run
        no tasks or at least so many (needs heartbeat 0 and no replicas); ``pool_minimum`` [0]: the part
        of each kind of slots that all jobs are guaranteed in equal shares (flex, fair, wdeq).

    Returns
    -------
    SimulationResult

    Raises
    ------
    ValueError
        Wrong input, or a job that no node can run.

    Notes
    -----
    O(log) a task and less in batches, a decision what `malleable.Epoch` takes. Tasks are never taken
    back. Where disks or links of the cluster are limited, blocks and shuffled bytes cross them as
    fluids (max-min fair): one transfer for each map task that reads and each reduce task that copies,
    whose cost grows with the nodes that hold something for it. Source: FLEX, sections 1 and 4.2;
    FlowFlex, section 5.2; for metrics of users: adaptive, section 5.
    """
    if not isinstance(jobs, ClusterJobs):
        raise ValueError(f"jobs: a ClusterJobs is needed, not {type(jobs).__name__}")
    name = policy_name(policy)
    place = _place(jobs, cluster, load)
    settings = _options({**place.options, **options})
    seed = _seed(rng)
    shared = by_user if by_user is not None else bool(place.users) and jobs.user is not None
    split = bool(settings.get("split_copy", False))
    believed = _estimates(jobs, estimates, split, seed)
    settings |= {"seed": seed, "learn": isinstance(estimates, str), "trace": bool(trace)}
    end = math.inf if horizon is None else float(horizon)
    if math.isnan(end) or end < 0.0:
        raise ValueError(f"horizon = {horizon}: must be at least 0")
    if objective.endswith(":lateness") and not np.isfinite(jobs.deadline).all():
        row = int(np.flatnonzero(~np.isfinite(jobs.deadline))[0])
        raise ValueError(f"deadline[{row}] = {jobs.deadline[row]}: {objective} needs a deadline")
    if settings.get("gang"):
        _check_gangs(jobs, place, settings, policy)
    columns, users = _jobs(jobs, place)
    changes = {
        "time": np.array([when for when, _, _ in place.changes], dtype=np.float64),
        "node": np.array([node for _, node, _ in place.changes], dtype=np.int64),
        "up": np.array([up for _, _, up in place.changes], dtype=np.uint8),
    }
    if policy == "flowflex":
        if not place.generic:
            raise ValueError("flowflex: needs a cluster with generic slots (nodes with 'slots')")
        known = _estimates(jobs, 0.0 if estimates is None else estimates, split, seed)
        if known is None:
            known = np.full(2 * len(jobs), float(settings.get("prior", 1.0)))
        policy = FlowFlexOnCluster(jobs, objective, effort, known.reshape(-1, 2))
    simulation = _core.ClusterSimulation(
        _nodes(place),
        columns,
        settings,
        changes,
        believed,
        _policy(policy, objective, hysteresis, effort, at_least_one, shared, settings),
    )
    began = time.perf_counter()
    complete = _advance(simulation, jobs, end, progress)
    seconds = time.perf_counter() - began
    totals, found = simulation.totals(), simulation.records()
    summary = _summary(jobs, totals, found, users)
    latency = simulation.latency()
    timing = {name: seconds}
    if len(latency):
        timing[f"{name} decision p50"] = float(np.quantile(latency, 0.5))
        timing[f"{name} decision p99"] = float(np.quantile(latency, 0.99))
    keep = True if records is None else records
    return SimulationResult(
        model="cluster",
        records=_records(jobs, name, found) if keep else None,
        summary={name: summary},
        slowdown={name: _slowdown(jobs, found)},
        timing=timing,
        complete=complete,
        trace={name: simulation.trace()} if trace else None,
    )


def _seed(rng: np.random.Generator | int | None) -> int:
    if rng is None or isinstance(rng, np.random.Generator):
        return int(np.random.default_rng(rng).integers(2**63))
    return int(rng)


def _place(jobs: ClusterJobs, cluster: Any, load: float | None) -> Cluster:
    if cluster is None:
        if load is None:
            raise ValueError("cluster: missing (or give a load)")
        return Cluster.for_load(jobs, load)
    if load is not None:
        raise ValueError("load: only without a cluster")
    return cluster if isinstance(cluster, Cluster) else read_cluster(cluster)


_LIMITS: dict[str, tuple[float, float]] = {
    "epoch": (0.0, math.inf),
    "heartbeat": (0.0, math.inf),
    "slow_start": (0.0, 1.0),
    "delay": (0.0, math.inf),
    "rack_delay": (0.0, math.inf),
    "network_epoch": (0.0, math.inf),
    "noise": (0.0, 10.0),
    "straggler_share": (0.0, 1.0),
    "straggler_factor": (0.0, math.inf),
    "failure": (0.0, 0.99),
    "speedup": (0.0, 1.0),
    "prior": (0.0, math.inf),
    "ageing": (0.0, math.inf),
    "pool_minimum": (0.0, 1.0),
}
_WHOLE = {"shuffle_steps": 1 << 31, "replicas": 1000, "tasks_per_heartbeat": 1 << 20}
_FLAGS = ("split_copy", "gang")


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    for name, value in given.items():
        if name in _LIMITS:
            low, high = _LIMITS[name]
            if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
                raise ValueError(f"{name} = {value!r}: not a number")
            if not low <= float(value) <= high or math.isinf(float(value)):
                raise ValueError(f"{name} = {value}: must be from {low:g} to {high:g}, and finite")
            checked[name] = float(value)
        elif name in _WHOLE:
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not whole or not 0 <= value <= _WHOLE[name]:
                raise ValueError(f"{name} = {value!r}: must be a whole number, at least 0")
            checked[name] = int(value)
        elif name in _FLAGS:
            if not isinstance(value, (bool, np.bool_)):
                raise ValueError(f"{name} = {value!r}: must be true or false")
            checked[name] = bool(value)
        else:
            known = ", ".join([*_LIMITS, *_WHOLE, *_FLAGS])
            raise ValueError(f"{name}: unknown option, expected one of {known}")
    return checked


def _check_gangs(
    jobs: ClusterJobs, cluster: Cluster, settings: Mapping[str, Any], policy: Any
) -> None:
    if settings.get("heartbeat", 0.0) or settings.get("replicas", 0):
        raise ValueError("gang: needs heartbeat = 0 and no replicas")
    if getattr(policy, "style", "") == "node":
        raise ValueError("gang: a policy that picks jobs for nodes has its own say")
    total = int(cluster.map_slots.sum()), int(cluster.reduce_slots.sum())
    for field, tasks, minimum, slots in (
        ("min_map_slots", jobs.maps, jobs.min_map_slots, total[0]),
        (
            "min_reduce_slots",
            jobs.reduces,
            jobs.min_reduce_slots,
            total[0 if cluster.generic else 1],
        ),
    ):
        for row in np.flatnonzero(np.minimum(tasks, minimum) > slots)[:1]:
            raise ValueError(
                f"{field}[{row}] = {minimum[row]}: the gang never fits on {slots} slots"
            )


def _advance(simulation: Any, jobs: ClusterJobs, end: float, progress: Any) -> bool:
    """Run in steps, so that Ctrl-C is heard; False if it was."""
    last = float(jobs.arrival.max()) if len(jobs) else 0.0
    try:
        for step in range(1, _STEPS):
            until = last * step / _STEPS
            if until >= end:
                break
            simulation.advance(until)
            if progress is not None:
                progress(int(simulation.totals()["completed"]), len(jobs))
        simulation.advance(end)
        if progress is not None:
            progress(int(simulation.totals()["completed"]), len(jobs))
    except KeyboardInterrupt:
        return False
    return True


def _quantile(sorted_values: Floats, fraction: float) -> float:
    """The least value that this part of all values does not exceed."""
    if not len(sorted_values):
        return math.nan
    return float(sorted_values[max(0, math.ceil(fraction * len(sorted_values)) - 1)])


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else math.nan


def _outcome(jobs: ClusterJobs, found: Mapping[str, Any]) -> tuple[Any, Floats, Floats]:
    """Finished rows, their responses and their stretches."""
    rows = np.flatnonzero(np.isfinite(found["completion"]))
    response = np.maximum(found["completion"][rows] - jobs.arrival[rows], 0.0)
    work = (jobs.map_work + jobs.reduce_work)[rows]
    return rows, response, np.divide(response, work, out=np.zeros(len(rows)), where=work > 0.0)


def _summary(
    jobs: ClusterJobs, totals: Mapping[str, Any], found: Mapping[str, Any], users: list[str]
) -> dict[str, float]:
    rows, response, stretch = _outcome(jobs, found)
    order = np.sort(response)
    weight = jobs.weight[rows]
    now = float(totals["now"])
    wait = np.maximum(found["start"][rows] - jobs.arrival[rows], 0.0)
    late = found["completion"] > jobs.deadline + 1e-9 * np.maximum(1.0, np.abs(jobs.deadline))
    late |= ~np.isfinite(found["completion"]) & (jobs.deadline < now)
    placed = totals["local"] + totals["remote"]
    summary = {
        "jobs": float(len(rows)),
        "unfinished": float(len(jobs) - len(rows)),
        "mean_response": float(response.mean()) if len(rows) else math.nan,
        "weighted_response": _ratio(float(weight @ response), float(weight.sum())),
        "p50": _quantile(order, 0.5),
        "p95": _quantile(order, 0.95),
        "p99": _quantile(order, 0.99),
        "max_response": float(order[-1]) if len(rows) else math.nan,
        "mean_stretch": float(stretch.mean()) if len(rows) else math.nan,
        "max_stretch": float(stretch.max()) if len(rows) else math.nan,
        "makespan": float(found["completion"][rows].max()) if len(rows) else math.nan,
        "missed_deadlines": float(late[np.isfinite(jobs.deadline)].sum()),
        "longest_wait": float(wait.max()) if len(rows) else math.nan,
        "jain_fairness": _ratio(float(stretch.sum()) ** 2, len(rows) * float(stretch @ stretch)),
        "mean_jobs": _ratio(totals["jobs_seconds"], now),
        "map_utilisation": _ratio(totals["map_busy"], totals["map_offered"]),
        "reduce_utilisation": _ratio(totals["reduce_busy"], totals["reduce_offered"]),
        "lost_slots": _ratio(totals["map_lost"] + totals["reduce_lost"], now),
        "idle_slots": _ratio(totals["map_idle"] + totals["reduce_idle"], now),
        "locality": _ratio(totals["local"], placed),
        "rack_locality": _ratio(totals["rack"], placed),
        "off_rack": _ratio(totals["remote"] - totals["rack"], placed),
        "decisions": float(totals["decisions"]),
        "churn": _ratio(totals["moved"], totals["decisions"]),
        "tasks": float(totals["tasks"]),
        "failed_attempts": float(totals["failed"]),
        "killed_tasks": float(totals["killed"]),
        "dissatisfaction": _ratio(totals["dissatisfaction"], now),
        "user_fairness": _ratio(totals["fairness"], now),
        "end": now,
    }
    summary |= totals.get("network", {})
    if jobs.flow is not None:
        summary |= _flow_summary(jobs, found)
    if jobs.user is not None:
        owner = np.array(jobs.user, dtype=object)[rows]
        for user in users:
            own = owner == user
            if own.any():
                summary[f"response of {user}"] = float(response[own].mean())
                summary[f"stretch of {user}"] = float(stretch[own].mean())
    return summary


def _flow_summary(jobs: ClusterJobs, found: Mapping[str, Any]) -> dict[str, float]:
    """Responses and stretches of flows all of whose jobs have finished."""
    number: dict[str, int] = {}
    flow = np.array([number.setdefault(name, len(number)) for name in jobs.flow or ()])
    count = len(number)
    arrival, work = np.full(count, math.inf), np.zeros(count)
    completion = np.full(count, -math.inf)
    np.minimum.at(arrival, flow, jobs.arrival)
    np.add.at(work, flow, jobs.map_work + jobs.reduce_work)
    np.maximum.at(completion, flow, np.nan_to_num(found["completion"], nan=math.inf))
    done = np.isfinite(completion)
    response = np.maximum(completion - arrival, 0.0)[done]
    stretch = np.divide(response, work[done], out=np.zeros(len(response)), where=work[done] > 0.0)
    return {
        "flows": float(done.sum()),
        "flow_response": float(response.mean()) if len(response) else math.nan,
        "flow_max_response": float(response.max()) if len(response) else math.nan,
        "flow_stretch": float(stretch.mean()) if len(stretch) else math.nan,
        "flow_max_stretch": float(stretch.max()) if len(stretch) else math.nan,
    }


def _slowdown(
    jobs: ClusterJobs, found: Mapping[str, Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Jobs and mean response / work in each decade of work: [1, 10), [10, 100) ... slot-seconds."""
    rows, _, stretch = _outcome(jobs, found)
    work = (jobs.map_work + jobs.reduce_work)[rows]
    decade = np.zeros(len(rows), dtype=np.int64)
    some = work >= 1.0
    decade[some] = np.floor(np.log10(work[some])).astype(np.int64)
    count = np.bincount(decade) if len(rows) else np.zeros(1, dtype=np.int64)
    total = np.bincount(decade, weights=stretch) if len(rows) else np.zeros(1)
    mean = np.divide(total, count, out=np.zeros(len(count)), where=count > 0)
    return count.astype(np.int64), mean


def _records(
    jobs: ClusterJobs, policy: str, found: Mapping[str, Any]
) -> dict[str, npt.NDArray[Any]]:
    rows, response, stretch = _outcome(jobs, found)
    count = len(rows)
    arrival, completion = jobs.arrival[rows], found["completion"][rows]
    start, most = found["start"][rows], found["most_slots"][rows]
    names, users = jobs.name, jobs.user
    # Whoever reads records for Batsim expects sets of slots; tasks come and go, so only their
    # greatest number at once is known: the slots are numbered from 0.
    slots = ["" if n == 0 else "0" if n == 1 else f"0-{n - 1}" for n in most.tolist()]
    columns = (
        rows,
        np.full(count, "cluster"),
        arrival,
        np.maximum(jobs.maps, jobs.reduces)[rows],
        np.full(count, -1.0),
        np.ones(count, dtype=np.int64),
        start,
        completion - start,
        completion,
        start - arrival,
        response,
        stretch,
        np.zeros(count),
        np.array(slots, dtype=str),
        np.full(count, policy),
        np.array([f"job{r}" if names is None else names[r] for r in rows.tolist()], dtype=str),
        found["map_completion"][rows],
        completion,
        np.array(["" if users is None else users[r] for r in rows.tolist()], dtype=str),
        (jobs.map_work + jobs.reduce_work)[rows],
        jobs.deadline[rows],
    )
    return dict(zip((*RECORD_COLUMNS, *EXTRA_COLUMNS), columns, strict=True))
