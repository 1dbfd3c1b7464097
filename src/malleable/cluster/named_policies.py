"""Policies of a cluster as the core asks them: by name, with their options, or one's own."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from malleable import _core
from malleable.cluster.compiled import compiled, is_compiled
from malleable.cluster.policy import Adaptive
from malleable.cluster.table import ClusterJobs, checked_rates
from malleable.columns import Floats
from malleable.domain import check_whole, checked_choice, checked_flag
from malleable.objective import Objective, ObjectiveLike, parse_objective
from malleable.policies import policy_of

_Speedups = tuple[float | Floats | None, ...] | None


def policy_name(policy: Any) -> str:
    """What records and summaries call a policy: its name, or that of a function or class."""
    if isinstance(policy, str):
        return policy
    return str(getattr(policy, "name", None) or getattr(policy, "__name__", type(policy).__name__))


class _Function:
    """A function as a policy of the view."""

    def __init__(self, decide: Callable[..., Any]) -> None:
        self.decide = decide


class PolicyState(dict[str, Any]):
    """What a function of the state and the time sees; its entries are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class _OfState:
    """A function as a policy of the state and the time."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def decide(self, state: dict[str, Any], now: float) -> Any:
        """Slots of all jobs."""
        return self.function(PolicyState(state), now)


def _takes_time(function: Any) -> bool:
    """Whether a function is one of the state and the time, by its parameters."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in kinds and p.default is inspect.Parameter.empty]
    return len(needed) == 2


def core_policy(
    policy: Any,
    goal: Objective,
    hysteresis: float,
    effort: int | None,
    at_least_one: bool,
    by_user: bool,
    settings: Mapping[str, Any],
    tables: _Speedups,
    generic: bool,
) -> Any:
    """What the core asks: a policy by its name, an `Adaptive`, or one of your own."""
    if isinstance(policy, _core.ClusterPolicy):
        return policy
    if policy in ("adaptive", "adaptive-literal"):
        policy = Adaptive() if policy == "adaptive" else Adaptive.literal()
    if isinstance(policy, Adaptive):
        return _core.ClusterAdaptive(
            policy.core_options(), policy.matcher(), bool(policy.grouped), bool(policy.placement)
        )
    if not isinstance(policy, str):
        return _own_policy(policy, generic)
    code = int(goal.kinds[0])  # where jobs have kinds of their own, the table says so
    family = policy_of("cluster", policy).family
    if policy == "fifo" and not by_user:
        return _core.ClusterFifo()
    if family == "epoch":
        return _core.ClusterEpoch(
            policy,
            goal.is_max,
            code,
            float(hysteresis),
            effort,
            bool(at_least_one),
            by_user,
            settings.get("gang", False),
            settings.get("pool_minimum", 0.0),
        )
    if family == "flow":
        return _core.ClusterFlow(policy, goal.is_max, code, int(effort or 0), by_user)
    if family == "service":
        return _core.ClusterService(policy, by_user)
    exponents: list[float] = []
    useful: list[int] = []
    if policy == "hesrpt" and (tables is not None or "rates" in settings):
        exponents, useful = _exponents(tables, settings)
    speedup, rates = settings.get("speedup", 1.0), settings.get("rates", [])
    return _core.ClusterSrpt(policy, speedup, rates, exponents, useful, by_user)


def programs_of(jobs: ClusterJobs, policy: Any) -> list[tuple[str, str]]:
    """What jobs run, and for whom: jobs of the same are runs of one another. For adaptive policies, which
    make classes of programs, for anybody."""
    if jobs.program is None:
        return []
    anybody = isinstance(policy, Adaptive) or policy in ("adaptive", "adaptive-literal")
    users = ("",) * len(jobs) if jobs.user is None or anybody else jobs.user
    return list(zip(jobs.program, users, strict=True))


def _own_policy(policy: Any, generic: bool) -> Any:
    timed = bool(getattr(policy, "depends_on_time", False))
    if is_compiled(policy):
        made = compiled(policy, generic)
        return _core.CompiledPolicy(int(made.address), timed, made)
    style = str(getattr(policy, "style", "targets"))
    function = not (hasattr(policy, "decide") or hasattr(policy, "choose"))
    of_state = function and _takes_time(policy)
    own = _OfState(policy) if of_state else _Function(policy) if function else policy
    return _core.ClusterCallback(own, style, timed, hasattr(own, "task_finished"), of_state)


def goal_of(objective: ObjectiveLike, count: int | None = None) -> Objective:
    """The objective of so many jobs, or where their number is not known one for all."""
    goal = parse_objective(objective, count)
    kind = goal.kind()
    if goal.custom or (count is None and (kind is None or kind.uses_sla)):
        raise ValueError(f"objective = {objective!r}: not one that cluster jobs have data for")
    return goal


def exponents_of(speedups: _Speedups, settings: Mapping[str, Any], count: int) -> Floats | None:
    """The p of s^p by job, or of rates what comes nearest to it; None: 1 for all."""
    if speedups is None and "rates" not in settings and "speedup" not in settings:
        return None
    return np.array(_exponents(speedups, {**settings, "jobs": count})[0], dtype=np.float64)


def _exponents(speedups: _Speedups, settings: Mapping[str, Any]) -> tuple[list[float], list[int]]:
    """By job: the p of s^p that comes nearest to its rates, and how many slots still speed it up."""
    common = np.array(settings["rates"]) if "rates" in settings else settings.get("speedup", 1.0)
    known: dict[int, tuple[float, int]] = {}
    rows = []
    for given in speedups if speedups is not None else (None,) * settings["jobs"]:
        own = common if given is None else given
        if id(own) not in known:
            known[id(own)] = _exponent(own)
        rows.append(known[id(own)])
    return [p for p, _ in rows], [most for _, most in rows]


def _exponent(rates: float | Floats) -> tuple[float, int]:
    if isinstance(rates, float):
        return rates, 1 << 62
    slots = np.log(np.arange(1.0, len(rates) + 1))
    gain = np.log(rates / rates[0])
    # Least squares in logarithms, through one slot.
    p = float(slots @ gain / (slots @ slots)) if len(rates) > 1 else 0.0
    return min(max(p, 0.0), 1.0), int(np.argmax(rates)) + 1


def _number(field: str, value: Any, high: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise ValueError(f"{field} = {value!r}: not a number")
    if not 0.0 <= float(value) <= high or math.isinf(float(value)):
        raise ValueError(f"{field} = {value}: must be from 0 to {high:g}, and finite")
    return float(value)


ASSIGNMENTS = ("ratio", "difference", "deficit")
"""Of the assignment layer, in the order of the core's codes."""


def _assignment(field: str, value: Any) -> int:
    return ASSIGNMENTS.index(checked_choice(field, value, ASSIGNMENTS))


_OPTIONS: dict[str, Callable[[str, Any], Any]] = {
    "epoch": _number,
    "heartbeat": _number,
    "slow_start": partial(_number, high=1.0),
    "delay": _number,
    "rack_delay": _number,
    "network_epoch": _number,
    "noise": partial(_number, high=10.0),
    "straggler_share": partial(_number, high=1.0),
    "straggler_factor": _number,
    "failure": partial(_number, high=0.99),
    "prior": _number,
    "ageing": _number,
    "pool_minimum": partial(_number, high=1.0),
    "shuffle_steps": partial(check_whole, low=0, high=1 << 31),
    "replicas": partial(check_whole, low=0, high=1000),
    "assignment": _assignment,
    "tasks_per_heartbeat": partial(check_whole, low=0, high=1 << 20),
    **dict.fromkeys(("split_copy", "gang", "in_order", "lose_output"), checked_flag),
}


DEFAULTS = {"slow_start": 1.0, "ageing": 600.0}
"""As in the core, for records: what they were made with stays what it was."""


def checked_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a cluster as the core takes them; ValueError that names the first wrong one."""
    checked: dict[str, Any] = {}
    for name, value in given.items():
        if name == "speedup":
            rates = checked_rates("speedup", value)
            checked |= {"speedup": rates} if isinstance(rates, float) else {"rates": rates.tolist()}
        elif name in _OPTIONS:
            checked[name] = _OPTIONS[name](name, value)
        else:
            known = ", ".join(["speedup", *_OPTIONS])
            raise ValueError(f"{name}: unknown option, expected one of {known}")
    if checked.get("split_copy"):  # copying that takes no slot may begin early
        checked.setdefault("slow_start", 0.05)
    return checked
