"""Policies of a cluster as the core calls them: by name, with their options, or a user's own (a function, or
an object). Options and settings are mappings by name; ``generic``: slots run maps and reduces."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from malleable import _core
from malleable.arrays import Floats
from malleable.cluster.compiled import compiled, is_compiled
from malleable.cluster.nodes import Cluster
from malleable.cluster.policy import AdaptiveLiteral
from malleable.cluster.table import ClusterJobs, checked_rates
from malleable.objective import Objective, ObjectiveLike, parse_objective
from malleable.policies import policy_of
from malleable.validation import check_keys, check_whole, checked_choice, checked_flag

_OF_RIGID = {"auto": "easy-auto", "fifo": "fcfs"}  # policies for rigid jobs
# By job: p of s^p, rates by number of tasks, or none.
_Speedups = tuple[float | Floats | None, ...] | None


def policy_name(policy: Any) -> str:
    """The name of a policy in records and summaries: its own, or that of a function or class."""
    if isinstance(policy, str):
        return policy
    return str(getattr(policy, "name", None) or getattr(policy, "__name__", type(policy).__name__))


class PolicyState(dict[str, Any]):
    """The state that a user's own policy gets: arrays by name, also as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def _takes_time(function: Any) -> bool:
    # Whether a function has two parameters, ``(state, now)``.
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in kinds and p.default is inspect.Parameter.empty]
    return len(needed) == 2


def check_generic(policy: Any, generic: bool) -> None:
    if isinstance(policy, str) and policy.startswith("flowflex") and not generic:
        raise ValueError(f"{policy}: needs a cluster with generic slots (nodes with 'slots')")


def core_policy(
    policy: Any,
    goal: Objective,
    settings: Mapping[str, Any],
    generic: bool,
    tables: _Speedups = None,
    jobs: int = 0,
) -> Any:
    # The core's object of a policy; ``tables``: the speed-ups of its ``jobs``, if these are known.
    if isinstance(policy, _core.ClusterPolicy):
        return policy
    if policy == "adaptive-literal":
        policy = AdaptiveLiteral()
    if isinstance(policy, AdaptiveLiteral):
        return _core.ClusterAdaptive(policy.core_options(), policy.matcher())
    if not isinstance(policy, str):
        return _own_policy(policy, generic)
    policy_of("cluster", policy)
    code, by_user = int(goal.kinds[0]), settings["by_user"]  # the table has the jobs' own kinds
    exponents: list[float] = []
    useful: list[int] = []
    common = settings.get("speedup", 1.0)
    if tables is not None or (jobs and not isinstance(common, float)):
        exponents, useful = _exponents(tables, settings, jobs)
    elif policy == "hesrpt":  # the jobs are not known yet
        settings = {**settings, "speedup": _exponent(common)[0]}
    return _core.cluster_policy(
        policy, goal.is_max, code, dict(settings), by_user, generic, exponents, useful
    )


def rule_of(policy: Any, jobs: ClusterJobs) -> Any:
    """The rule of a name: some names are another rule if jobs are rigid, and "auto" if kinds of nodes suit
    jobs differently, unless they are flows' jobs, which only auto knows."""
    if policy == "auto" and jobs.rated is not None and jobs.flow is None:
        return "adaptive"
    rigid = isinstance(policy, str) and bool((jobs.width > 1).any())
    return _OF_RIGID.get(policy, policy) if rigid else policy


def placed_columns(
    jobs: ClusterJobs, cluster: Cluster, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Columns of jobs for which nodes or options count, too: partitions by number, rates by name of node, and
    the power of each speed-up; left out where nothing says them."""
    columns: dict[str, Any] = {}
    numbers = None if jobs.partition is None else cluster.numbers_of(jobs.partition)
    if numbers is not None:
        columns["partition"] = numbers
    # NaN: where a job gives no rate, the rate of the node counts.
    rates = jobs.rates_on(np.full(len(cluster.type_names), math.nan), cluster.type_names)
    if rates is not None:
        columns["node_rates"] = np.ascontiguousarray(rates).reshape(-1)
    if jobs.speedup is not None or "speedup" in settings:
        exponents, _ = _exponents(jobs.speedup, settings, len(jobs))
        columns["speedup"] = np.array(exponents, dtype=np.float64)
    return columns


def programs_of(jobs: ClusterJobs, policy: Any) -> list[tuple[str, str]]:
    """Program and user of each job: jobs with equal pairs are runs of one another. For a policy that makes
    classes of programs, the user does not count."""
    if jobs.program is None:
        return []
    by_program = isinstance(policy, AdaptiveLiteral) or policy == "adaptive-literal"
    users = ("",) * len(jobs) if jobs.user is None or by_program else jobs.user
    return list(zip(jobs.program, users, strict=True))


def _own_policy(policy: Any, generic: bool) -> Any:
    timed = bool(getattr(policy, "depends_on_time", False))
    if is_compiled(policy):
        made = compiled(policy, generic)
        return _core.CompiledPolicy(int(made.address), timed, made)
    style = str(getattr(policy, "style", "targets"))
    function = not (hasattr(policy, "decide") or hasattr(policy, "choose"))
    of_state = function and _takes_time(policy)
    own = policy
    if of_state:
        own = SimpleNamespace(decide=lambda state, now: policy(PolicyState(state), now))
    elif function:
        own = SimpleNamespace(decide=policy)
    return _core.ClusterCallback(own, style, timed, hasattr(own, "task_finished"), of_state)


def goal_of(objective: ObjectiveLike, count: int | None = None) -> Objective:
    goal = parse_objective(objective, count)
    kind = goal.kind()
    if goal.custom or (count is None and (kind is None or kind.uses_sla)):
        raise ValueError(f"objective = {objective!r}: not one that cluster jobs have data for")
    return goal


def _exponents(
    speedups: _Speedups, settings: Mapping[str, Any], jobs: int
) -> tuple[list[float], list[int]]:
    usual = _exponent(settings.get("speedup", 1.0))
    every = (None,) * jobs if speedups is None else speedups
    rows = [usual if own is None else _exponent(own) for own in every]
    return [p for p, _ in rows], [most for _, most in rows]


def _exponent(rates: float | Floats) -> tuple[float, int]:
    # The nearest p of rates by number of slots, and the number of slots that is fastest.
    if isinstance(rates, float):
        return rates, 1 << 62
    slots = np.log(np.arange(1.0, len(rates) + 1))
    gain = np.log(rates / rates[0])
    # Least squares in logarithms, through one slot.
    p = float(slots @ gain / (slots @ slots)) if len(rates) > 1 else 0.0
    return min(max(p, 0.0), 1.0), int(np.argmax(rates)) + 1


def _number(row: Mapping[str, Any], value: Any) -> float:
    field, low, high = row["name"], row["low"], row["high"]
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise ValueError(f"{field} = {value!r}: not a number")
    if not low <= float(value) <= high or math.isinf(float(value)):
        raise ValueError(f"{field} = {value}: must be from {low:g} to {high:g}, and finite")
    return float(value)


_CHECKS: dict[str, Callable[[Mapping[str, Any], Any], Any]] = {
    "number": _number,
    "whole": lambda row, value: check_whole(
        row["name"], value, low=int(row["low"]), high=int(row["high"])
    ),
    "flag": lambda row, value: checked_flag(row["name"], value),
    "word": lambda row, value: checked_choice(row["name"], value, row["words"]),
    "speedup": lambda row, value: checked_rates(row["name"], value),
}
# Rows of the core's table of options by name.
OPTIONS: dict[str, Mapping[str, Any]] = {row["name"]: row for row in _core.OPTIONS}


def checked_options(given: Mapping[str, Any], *, simulated: bool = True) -> dict[str, Any]:
    """Options of a cluster as the core takes them; ValueError that names the first wrong one."""
    known = [name for name, row in OPTIONS.items() if simulated or row["of"] != "simulation"]
    check_keys("", given, known, "option")
    return {name: _CHECKS[OPTIONS[name]["kind"]](OPTIONS[name], own) for name, own in given.items()}


# By option: why it may have no effect, and whether it has one for these jobs with these settings.
_REDUCES = "no job has reduce tasks", lambda jobs, _: (jobs.reduces > 0).any()
_USED: dict[str, tuple[str, Callable[[ClusterJobs, Mapping[str, Any]], Any]]] = {
    "min_mode": (
        "no job has a minimum",
        lambda jobs, all: (
            (jobs.min_map_slots > 0).any() or (jobs.min_reduce_slots > 0).any()
            or all.get("at_least_one") or all.get("pool_minimum")
        ),
    ),
    "slow_start": _REDUCES,
    "split_copy": _REDUCES,
    "delay": ("tasks have no blocks (replicas)", lambda _, all: all.get("replicas")),
    "straggler_factor": ("straggler_share is 0", lambda _, all: all.get("straggler_share")),
    "inherent": ("there are no backups", lambda _, all: all.get("backups")),
}  # fmt: skip


_QUEUES = ("fcfs", "easy", "easy-sjf", "easy-auto", "conservative")
_NOT_QUEUED = (
    *("ageing", "at_least_one", "by_user", "delay", "effort", "hysteresis", "min_mode"),
    *("pool_minimum", "replicas", "slow_start", "take_back"),
)
_NO_QUEUE = dict.fromkeys(_NOT_QUEUED, "its jobs wait in a queue")
_BY_NODE = dict.fromkeys(("by_user", "delay"), "it has rules of its own for users and blocks")
_UNUSED = dict.fromkeys(_QUEUES, _NO_QUEUE) | dict.fromkeys(
    ("adaptive", "adaptive-literal"), _BY_NODE
)
_ORDERED = ("fcfs", "easy", "conservative")
_NO_ORDER = {"order": f"only {', '.join(_ORDERED)} have a queue that it puts in order"}


def without_effect(
    jobs: ClusterJobs, policy: Any, given: Mapping[str, Any], settings: Mapping[str, Any]
) -> list[str]:
    """Warnings about options that change nothing for these jobs, or under this policy."""
    name_of = policy_name(policy)
    unused = _UNUSED.get(name_of, {})
    if name_of not in _ORDERED:
        unused = unused | _NO_ORDER
    found = [
        f"option {name} has no effect on {name_of}: {unused[name]}"
        for name, value in given.items()
        if value is not None and name in unused
    ]
    said = [name for name, value in given.items() if not _is_default(value)]
    return found + [
        f"option {name} has no effect: {why}"
        for name, (why, used) in _USED.items()
        if name in said and name not in unused and not used(jobs, settings)
    ]


def _is_default(value: Any) -> bool:
    return value is None or (np.isscalar(value) and value in (False, 0, "guarantee"))
