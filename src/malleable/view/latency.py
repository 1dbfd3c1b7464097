"""How fast this machine decides: the latency of an epoch (an object that decides in a loop) by policy,
objective and number of jobs.

Instances with log-normal work (mean 3 and standard deviation 1.5 of the logarithm, seed 1): (a) twice as many
slots as jobs, minima 1, maxima uniform on 1 to 64; (b) a tenth as many slots as jobs, no minima, maxima all
slots; (c) as (b), with maxima uniform on 1 to 64, and a period of 5 s. Between two decisions 1 % of the jobs
leave, arrive or change.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from malleable import _core
from malleable.jobs.epoch import Decision, Epoch
from malleable.jobs.generate import lognormal_jobs
from malleable.jobs.table import Jobs
from malleable.objective import parse_objective
from malleable.planning import plan
from malleable.policies import policy_of
from malleable.validation import check_whole
from malleable.view.text import Column, Table, columns_table, duration

# Fraction of the jobs that leave, arrive or change between two decisions.
SHARE = 0.01

_SEED = 1
_FEW = 10  # jobs of the first, untimed decision
_WARM = 3  # decisions at the start that are not timed
_QUANTILES = {"median": 0.5, "p99": 0.99, "p999": 0.999, "worst": 1.0}
_DUE = (1.0, 40.0)  # deadlines, as multiples of the time on one slot

# The instances in words.
INSTANCES = {
    "a": "2 slots a job, minima of 1",
    "b": "10 jobs a slot, no minima or maxima",
    "c": "10 jobs a slot, no minima, held for 5 s",
}

_PERIOD = {"c": 5.0}  # seconds for which slots are held; other instances decide at every change


def instance_a(jobs: int) -> tuple[Jobs, int]:
    return lognormal_jobs(jobs, 2 * jobs, min_slots=1, max_slots=(1, 64), rng=_SEED), 2 * jobs


def instance_b(jobs: int) -> tuple[Jobs, int]:
    slots = max(1, jobs // 10)
    return lognormal_jobs(jobs, slots, min_slots=0, max_slots=None, rng=_SEED), slots


def instance_c(jobs: int) -> tuple[Jobs, int]:
    slots = max(1, jobs // 10)
    return lognormal_jobs(jobs, slots, min_slots=0, max_slots=(1, 64), rng=_SEED), slots


class Case(NamedTuple):
    instance: str
    jobs: int
    policy: str = "flex"
    objective: str = "sum:response"


def cases_of(
    instances: Sequence[str],
    jobs: Sequence[int],
    policies: Sequence[str],
    objectives: Sequence[str],
) -> list[Case]:
    """All combinations; policies without an objective once, with the first."""
    found = []
    for instance, policy, objective in product(instances, policies, objectives):
        if objective == objectives[0] or policy_of("jobs", policy).follows_objective:
            found += [Case(instance, count, policy, objective) for count in jobs]
    return found


def measure(
    cases: Sequence[Case], *, epochs: int = 1000, progress: Callable[[], object] = lambda: None
) -> list[dict[str, Any]]:
    """Time ``epochs`` decisions of each case while jobs come, go and change.

    Returns a dict for each case, with its fields and wall-clock seconds: ``decide_*`` is `Epoch.decide`
    alone, ``change_median`` the changes before it, ``plan_seconds`` a FLEX plan with value, bound and pieces
    (fixed orders only). ``progress`` is called after each case. ValueError for an unknown instance, policy or
    objective, or fewer than 1 job or epoch.
    """
    check_whole("epochs", epochs, 1)
    DecisionStream("a", _FEW).change()  # one-time costs belong to no case
    found: list[dict[str, Any]] = []
    for case in cases:
        found.append(_measured(case, epochs))
        progress()
    return found


def _measured(case: Case, epochs: int) -> dict[str, Any]:
    stream = DecisionStream(case.instance, case.jobs, case.objective, case.policy)
    decide, change = np.empty(epochs), np.empty(epochs)
    for k in range(-_WARM, epochs):
        stream.change()
        began = time.perf_counter()
        stream.decide()
        if k >= 0:
            decide[k], change[k] = time.perf_counter() - began, stream.change_seconds
    found = {**case._asdict(), "slots": stream.slots, "epochs": epochs}
    found |= {f"decide_{name}": float(np.quantile(decide, q)) for name, q in _QUANTILES.items()}
    found["change_median"] = float(np.median(change))
    if case.policy == "flex":
        made = plan(stream.jobs, stream.slots, case.objective, effort=0)
        found["plan_seconds"] = made.timing["seconds"]
    return found


class DecisionStream:
    """An epoch on an instance whose jobs come, go and change. ``change_seconds`` is the wall-clock time of the
    last change, without the time of drawing random numbers."""

    def __init__(
        self, instance: str, jobs: int, objective: str = "sum:response", policy: str = "flex"
    ) -> None:
        instances = {"a": instance_a, "b": instance_b, "c": instance_c}
        if instance not in instances:
            raise ValueError(f"instance = {instance!r}: expected a, b or c")
        if jobs < 1:
            raise ValueError(f"jobs = {jobs}: must be at least 1")
        self.jobs, self.slots = instances[instance](jobs)
        self.now = 0.0
        self.change_seconds = 0.0
        self._rng = np.random.default_rng(_SEED + 1)
        kind = parse_objective(objective).kind()
        # whether the objective needs deadlines, or its penalties do not just grow with time
        self._due = kind is None or kind.needs_deadline or not kind.steady
        if self._due:
            times = np.random.default_rng(_SEED + 2).uniform(*_DUE, jobs)
            self.jobs = self.jobs._replaced(deadline=self.jobs.work * times)
        self._each = min(max(1, round(jobs * SHARE / 3)), jobs)
        self._work = self.jobs.work.copy()
        period = _PERIOD.get(instance, 0.0)
        self._step = period or 1.0  # seconds between two decisions
        self._epoch = Epoch(self.slots, objective, policy, period=period)
        self._ids = self._epoch.add(self.jobs)
        self._epoch.decide(self.now)

    def change(self) -> None:
        # Let time pass: some jobs go, come and change.
        jobs, rng, each = self.jobs, self._rng, self._each
        self.now += self._step
        rows = rng.permutation(len(jobs))
        gone, changed = rows[:each], rows[each : 2 * each]
        alike = rng.integers(0, len(jobs), each)  # new jobs are copies of earlier ones
        work, low, high = jobs.work[alike], jobs.min_slots[alike], jobs.max_slots[alike]
        due = self.now + jobs.deadline[alike] if self._due else None
        self._work[gone] = work
        self._work[changed] *= rng.uniform(0.5, 1.0, len(changed))
        left, leaving, moving = self._work[changed], self._ids[gone], self._ids[changed]

        began = time.perf_counter()
        self._epoch.remove(leaving)
        came = self._epoch.add(work, arrival=self.now, min_slots=low, max_slots=high, deadline=due)
        self._epoch.update(moving, work=left)
        self.change_seconds = time.perf_counter() - began
        self._ids[gone] = came

    def decide(self) -> Decision:
        return self._epoch.decide(self.now)


def latency_dict(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    made_with = {
        "malleable": _core.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "system": platform.system(),
    }
    return {"unit": "s", "share_changed": SHARE, "made_with": made_with, "cases": list(found)}


def latency_tables(found: Sequence[dict[str, Any]]) -> list[Table | str]:
    made: list[Table | str] = []
    for instance, words in INSTANCES.items():
        own = [each for each in found if each["instance"] == instance]
        title = f"Latency of an epoch on this machine: {words}"
        made += [columns_table(title, own, _COLUMNS, left=2)] if own else []
    return made + [f"{each['epochs']:,} decisions of each" for each in found[:1]]


def _time(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda each: duration(each[name]) if name in each else "-"


_COLUMNS: list[Column] = [
    ("policy", lambda each: each["policy"]),
    ("objective", lambda each: each["objective"]),
    ("jobs", lambda each: f"{each['jobs']:,}"),
    ("median", _time("decide_median")),
    ("p99", _time("decide_p99")),
    ("p99.9", _time("decide_p999")),
    ("worst", _time("decide_worst")),
    ("changing 1 %", _time("change_median")),
    ("full plan", _time("plan_seconds")),
]
