"""The simulation of a cluster: tasks of jobs on the slots of nodes. Here arguments become the core's columns;
the core simulates."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.arrays import Floats, numbered, quotient
from malleable.cluster.history import history_of, numbers_of, programs_in, read_history
from malleable.cluster.named_policies import (
    check_generic,
    checked_options,
    core_policy,
    goal_of,
    placed_columns,
    policy_name,
    programs_of,
    rule_of,
    without_effect,
)
from malleable.cluster.nodes import Cluster, read_cluster
from malleable.cluster.outcome import records_of, slowdown_of, summary_of
from malleable.cluster.series import advance
from malleable.cluster.slots import task_records
from malleable.cluster.table import ClusterJobs
from malleable.display import counted
from malleable.estimate_errors import error_sigma, lognormal_errors
from malleable.objective import KINDS, Objective, ObjectiveLike
from malleable.policies import policy_names, policy_of
from malleable.results import SimulationResult
from malleable.streaming import seed_of
from malleable.traces.job_table import table_of
from malleable.validation import WORK, checked_flag, floats, refuse, suggesting

CLUSTER_POLICIES = policy_names("cluster")


def _rates(jobs: ClusterJobs, slots: int) -> dict[str, Any]:
    # Speed-ups as rates of 1, 2, ... tasks together; those of job j begin at ``rate_offset[j]``.
    tables: list[Floats] = []
    for row, own in enumerate(jobs.speedup or ()):
        if isinstance(own, float):
            most = max(1, min(slots, int(max(jobs.maps[row], jobs.reduces[row]))))
            tables.append(np.arange(1.0, most + 1) ** own)
        else:
            tables.append(np.empty(0) if own is None else own)
    offset = np.concatenate([[0], np.cumsum([len(own) for own in tables])])
    return {"rate_offset": offset.astype(np.int64), "rates": np.concatenate([*tables, np.empty(0)])}


def _numbers(words: Sequence[Any], known: list[Any]) -> npt.NDArray[np.int64]:
    # The number of each word in ``known``, to which new words are added.
    before = len(known)
    known[:], numbers = numbered([*known, *words])
    return numbers[before:]


def _jobs(
    jobs: ClusterJobs, cluster: Cluster, policy: Any, programs: list[Any]
) -> tuple[dict[str, Any], list[str]]:
    # The core's columns of jobs, and the users by number.
    columns = jobs.columns()
    if jobs.speedup is not None:
        columns |= _rates(jobs, int(cluster.map_slots.sum() + cluster.reduce_slots.sum()))
    users = list(cluster.users)
    if jobs.user is not None:
        columns["user"] = _numbers(jobs.user, users)
    if jobs.user is not None and cluster.users:
        named = [cluster.users.get(user, (0.0, 1.0)) for user in users]
        columns["user_minimum"] = np.array([minimum for minimum, _ in named])
        columns["user_priority"] = np.array([priority for _, priority in named])
    if jobs.flow is not None:
        columns["flow"] = _numbers(jobs.flow, [])
    if jobs.program is not None:
        columns["group"] = _numbers(programs_of(jobs, policy), programs)
    return columns, users


def _estimates(jobs: ClusterJobs, estimates: Any, split_copy: bool, seed: int) -> Floats | None:
    # Believed seconds of a task, map and reduce of every job in turn; None: the core's own.
    if estimates is None:
        return None
    if isinstance(estimates, str):
        if estimates != "learn":
            raise ValueError(f"estimates = {estimates!r}: expected 'learn', a number or an array")
        return None
    sigma = error_sigma(estimates)
    if sigma is None:
        return floats("estimates", estimates, WORK, (len(jobs), 2)).reshape(-1)
    reduce_work = jobs.reduce_work - (jobs.reduces * jobs.shuffle if split_copy else 0.0)
    means = quotient(jobs.map_work, jobs.maps), quotient(reduce_work, jobs.reduces)
    truth = np.stack(means, axis=1)
    errors = lognormal_errors(sigma, truth.shape, np.random.default_rng(seed))
    return (truth * errors).reshape(-1)


@suggesting
def run(
    jobs: Any,
    policy: Any,
    *,
    rng: np.random.Generator | int | None = None,
    estimates: Any = None,
    history: Mapping[str, Any] | str | PathLike[str] | None = None,
    cluster: Cluster | Mapping[str, Any] | str | None = None,
    load: float | None = None,
    objective: ObjectiveLike = "sum:response",
    records: bool | None = None,
    trace: bool = False,
    horizon: float | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> SimulationResult:
    """Simulate one policy that gives tasks of jobs to the slots of a cluster.

    Parameters
    ----------
    jobs : ClusterJobs
        The jobs that arrive.
    policy : str or object
        A `malleable.AdaptiveLiteral`, a policy of your own, or a name:

        - ``flex``, ``fair`` and ``wdeq`` divide the map slots and the reduce slots separately.
        - ``fifo`` takes the oldest job; ``srpt``, ``max-srpt``, ``asrpt`` and ``hesrpt`` go by the estimated
          work left, ``gittins`` by the service that jobs have had.
        - ``auto`` goes by what tasks have shown (``learn``). Every job gets a part of the slots, small jobs
          more, by p, the exponent of the learnt speed-up (s tasks of a phase do s^p). If p is 1, jobs go in
          FLEX's order. While there is a flow of several jobs, jobs go in the order of ``flowflex`` (generic
          slots). Jobs with ``rate`` make it ``adaptive``.
        - ``flowflex`` and ``flowflex-fast`` are for flows, on generic slots.
        - ``adaptive`` and ``adaptive-literal`` (the second as in Rasooli and Down 2011) choose a job for each
          node, with rules in place of ``delay`` and ``by_user``.

        A policy of your own gets a mapping with arrays of the jobs that have ready tasks (``job``,
        ``running``, ``most``, ``minimum``, ``work``, ``size``, ``user``, ``arrival``, ``weight``,
        ``deadline``), and the numbers ``pool``, ``now`` and ``slots``. It may be a function that returns the
        slots of each job; one with ``style = "ranks"`` that returns numbers of which the least goes first; or
        an object with ``style = "node"`` and a method ``choose(state, node, pool)`` that returns a job and a
        phase (0 map, 1 reduce), or None.
    rng, records, progress
        As for `malleable.simulate`. ``rng`` draws noise, failures and the places of blocks.
    estimates : optional
        Stated times of tasks. None: the true mean of each job and phase. A number sigma: this mean times
        exp(sigma Z), Z standard normal and drawn once. ``"learn"``: nothing. An array of shape (J, 2):
        seconds of a map task and of a reduce task, copying included (without ``split_copy``). With ``learn``,
        0 means nothing.
    learn : bool, optional
        Whether policies see statements corrected by the times of running and finished tasks and by earlier
        runs of the program and user (``prior`` if nothing is known). By default for ``auto``, ``gittins`` and
        ``estimates="learn"``.
    history : mapping or path, optional
        What policies that learn know at the start: ``result.history``, `malleable.Scheduler.history`, or a
        JSON file.
    cluster : Cluster, mapping or path
        Nodes and users; see `malleable.read_cluster`.
    load : float, optional
        Instead of ``cluster``: as many slots as give this load (`Cluster.for_load`).
    objective, hysteresis, effort
        As for `malleable.Epoch`; the objective also as a list with one for each job, the same within a flow.
    at_least_one : bool
        The minimum of every job is at least 1, so that every ready phase is soon measured.
    by_user : bool, optional
        Users share the slots first (minima, then water-filling by priority), then the policy decides for the
        jobs of each user. By default if the cluster names users and jobs have them. Not for ``adaptive`` and
        your own policy.
    trace : bool
        Keep starts and ends of tasks in ``result.trace``, a row for each attempt in ``result.tasks``, and the
        slots that jobs really held in the records.
    horizon : float, optional
        The simulation stops at this time [s].
    **options
        See ``docs/options.md`` and ``malleable simulate --options``.

    Returns
    -------
    SimulationResult

    Raises
    ------
    ValueError
        Wrong input, or a job that no node can run.

    Notes
    -----
    A task takes O(log) time, less if equal tasks start together; a decision as in `malleable.Epoch`. Limited
    disks and links are shared by the reads of blocks as fluids (max-min fair); a read then takes O(nodes +
    reads). Source: Wolf et al. 2010, sections 1 and 4.2; Nagarajan et al. 2013, section 5.2; metrics of
    users: Rasooli and Down 2011, section 5.
    """
    jobs = table_of(jobs, ClusterJobs)
    name, policy = policy_name(policy), rule_of(policy, jobs)
    place = _place(jobs, cluster, load)
    seed = seed_of(rng)
    settings = _settings(jobs, policy, place, options, estimates)
    settings |= {"seed": seed, "trace": checked_flag("trace", trace)}
    learns = settings["learn"]
    split = bool(settings.get("split_copy", False))
    believed = _estimates(jobs, 0.0 if learns and estimates is None else estimates, split, seed)
    end = _end(horizon)
    goal = goal_of(objective, len(jobs))
    _check_gangs(jobs, place, settings.get("min_mode") == "start")
    known = None if history is None or not learns else read_history(history)
    programs: list[Any] = [] if known is None else programs_in(known)
    columns, users = _jobs(jobs, place, policy, programs)
    if goal.kind() is None:
        columns["kind"] = _kinds(jobs, goal)
    _check_deadlines(jobs, goal)
    columns |= placed_columns(jobs, place, settings)
    check_generic(policy, place.generic)
    asked = core_policy(policy, goal, settings, place.generic, jobs.speedup, len(jobs))
    told = place.columns(), columns, settings, _changes(place), believed
    simulation = _core.ClusterSimulation(*told, asked)
    if known is not None:
        simulation.recall(numbers_of(known, _tellers(users)))
    began = time.perf_counter()
    complete, series = advance(simulation, jobs, place, end, progress)
    timing = {name: time.perf_counter() - began, **_latencies(name, simulation.latency())}
    found = simulation.records()
    traced, of_tasks = _of_tasks(simulation, name, trace, jobs)
    return SimulationResult(
        model="cluster",
        records=records_of(jobs, name, found, traced) if records is None or records else None,
        summary={name: summary_of(jobs, simulation.totals(), found, users)},
        slowdown={name: slowdown_of(jobs, found)},
        timing=timing,
        complete=complete,
        series={name: series},
        history={name: _learnt(programs, users, simulation, known)} if learns else None,
        **of_tasks,
    )


def _learnt(programs: list[Any], users: list[str], simulation: Any, known: Any) -> dict[str, Any]:
    # The history at the end, with users of the ``known`` one that had no job.
    found = history_of(programs, _tellers(users), simulation.history())
    absent = [own for own in known["users"] if own["user"] not in users] if known else []
    return found | {"users": found["users"] + absent}


def _tellers(users: list[str]) -> list[str]:
    # Users whose statements of sizes are learnt; a table without users has one, without a name.
    return users or [""]


def _end(horizon: float | None) -> float:
    end = math.inf if horizon is None else float(horizon)
    if not end >= 0.0:
        raise ValueError(f"horizon = {horizon}: must be at least 0")
    return end


def _learns(learn: bool | None, estimates: Any, policy: Any) -> bool:
    unknown = isinstance(estimates, str)
    if unknown and learn is False:
        raise ValueError("learn = False: cannot be used with estimates = 'learn'")
    own = isinstance(policy, str) and policy_of("cluster", policy).learns
    return unknown or own if learn is None else learn


def _of_tasks(
    simulation: Any, name: str, trace: bool, jobs: ClusterJobs
) -> tuple[Any, dict[str, Any]]:
    if not trace:
        return None, {}
    traced = simulation.trace()
    return traced, {"trace": {name: traced}, "tasks": task_records(traced, name, jobs.arrival)}


def _settings(
    jobs: ClusterJobs, policy: Any, place: Cluster, given: Mapping[str, Any], estimates: Any
) -> dict[str, Any]:
    # Options as the core takes them; warns of those without effect.
    said = {name: value for name, value in given.items() if value is not None}
    settings = checked_options({**place.options, **said})
    settings["learn"] = _learns(settings.get("learn"), estimates, policy)
    if settings.get("backups") and not settings["learn"]:
        raise ValueError("backups = True: needs learn, as gains follow what was learnt")
    settings.setdefault("by_user", bool(place.users) and jobs.user is not None)
    for told in without_effect(jobs, policy, said, settings):
        warnings.warn(told, stacklevel=3)
    return settings


def _changes(cluster: Cluster) -> dict[str, Any]:
    times, nodes, up = zip(*cluster.changes, strict=True) if cluster.changes else ((), (), ())
    return {
        "time": np.array(times, dtype=np.float64),
        "node": np.array(nodes, dtype=np.int64),
        "up": np.array(up, dtype=np.uint8),
    }


def _latencies(policy: str, seconds: npt.NDArray[Any]) -> dict[Any, float]:
    parts = (50, 99) if len(seconds) else ()
    return {(policy, f"decision p{k}"): float(np.quantile(seconds, k / 100)) for k in parts}


def _check_deadlines(jobs: ClusterJobs, goal: Objective) -> None:
    kind = goal.kind()
    if kind is not None and kind.needs_deadline:
        none = ~np.isfinite(jobs.deadline)
        refuse("deadline", jobs.deadline, none, f"{goal.text} needs a deadline")


# A flow: jobs that wait for each other and count when the last one ends.
def _kinds(jobs: ClusterJobs, goal: Objective) -> npt.NDArray[np.uint8]:
    first: dict[str, int] = {}
    for row, flow in enumerate(jobs.flow or ()):
        own, other = goal.kinds[row], goal.kinds[first.setdefault(flow, row)]
        if own != other:
            raise ValueError(
                f"objective[{row}] = {goal.aggregate}:{KINDS[own]}: job {first[flow]} of the same flow"
                f" has {goal.aggregate}:{KINDS[other]}"
            )
    return goal.kinds


def _place(jobs: ClusterJobs, cluster: Any, load: float | None) -> Cluster:
    if cluster is None:
        if load is None:
            raise ValueError("cluster: missing (or give a load)")
        # Flows run on generic slots, which take maps and reduces.
        return Cluster.for_load(jobs, load, generic=jobs.flow is not None)
    if load is not None:
        raise ValueError("load: only without a cluster")
    return cluster if isinstance(cluster, Cluster) else read_cluster(cluster)


def _check_gangs(jobs: ClusterJobs, cluster: Cluster, gangs: bool) -> None:
    total = [int(cluster.map_slots.sum()), int(cluster.reduce_slots.sum())]
    for field, tasks, pool in (
        ("min_map_slots", jobs.maps, 0),
        ("min_reduce_slots", jobs.reduces, 1),
    ):
        minimum, slots = getattr(jobs, field), total[0 if cluster.generic else pool]
        never = f"they never start together on {counted(slots, 'slot')}"
        waits = np.where(jobs.min_mode < 0, gangs, jobs.min_mode == 1)
        refuse(field, minimum, waits & (np.minimum(tasks, minimum) > slots), never)
    together = np.minimum(jobs.width, jobs.maps)
    refuse(
        "width", together, together > total[0], f"the job never fits on {counted(total[0], 'slot')}"
    )
