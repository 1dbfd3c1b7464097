"""Plans of jobs and of flows: every policy with every objective."""

from pathlib import Path

import numpy as np

import malleable as mb
from malleable.flows.plan import FLOW_POLICIES
from malleable.jobs.plan import POLICIES
from malleable.objective import KINDS
from tests.frozen.lines import attempt, column, digest, words

INSTANCES = Path(__file__).parent / "instances"
BUILT_IN = [kind for kind in KINDS if kind != "custom"]
OBJECTIVES = [f"{total}:{kind}" for total in ("sum", "max") for kind in BUILT_IN]

# Options of `plan` by instance, all in turn.
JOBS = {
    "section41": [
        {"slots": 60},
        {"slots": 24, "effort": 0},
        {"slots": 24, "effort": 50, "min_mode": "gang"},
    ],
    "ties": [
        {"slots": 12},
        {"slots": 12, "budget": 0.0},
        {"slots": 12, "effort": 50, "min_mode": "gang"},
    ],
    "facebook": [{"slots": 100, "now": 10_000.0, "effort": 10}],
}
FLOWS = {
    "flows": [{"slots": 8}, {"slots": 3, "effort": 0}],
    "flows-arrivals": [{"slots": 5, "effort": 50}],
}


def pieces(plan):
    """The whole schedule in one line."""
    columns = [plan.pieces[name] for name in ("job", "start", "end", "slots")]
    return f"pieces n={len(columns[0])} {digest(*columns)}"


def job_plan(jobs, objective, policy, options):
    plan = mb.plan(jobs, objective=objective, policy=policy, **options)
    return [
        words(status=plan.status, value=plan.value, lower_bound=plan.lower_bound),
        column("order", plan.order),
        column("allocation", plan.slots),
        column("completion", plan.completion),
        column("met", plan.met),
        pieces(plan),
    ]


def flow_plan(flows, objective, policy, options):
    plan = mb.plan(flows, objective=objective, policy=policy, **options)
    return [
        words(status=plan.status, value=plan.value, lower_bound=plan.lower_bound),
        words(speed=plan.speed, literal_value=plan.literal_value),
        column("order", plan.order),
        column("allocation", plan.slots),
        column("flow_completion", plan.flow_completion),
        column("completion", plan.completion),
        column("met", plan.met),
        pieces(plan),
    ]


def _objectives(count):
    """All of one kind, then kinds that take turns."""
    mixed = [
        (f"{total}:mixed", [f"{total}:{BUILT_IN[k % len(BUILT_IN)]}" for k in range(count)])
        for total in ("sum", "max")
    ]
    return [*((text, text) for text in OBJECTIVES), *mixed]


def _all(table, settings, policies, run):
    return [
        attempt(f"{policy} {name} {words(**options)}", run, table, goal, policy, options)
        for options in settings
        for policy in policies
        for name, goal in _objectives(len(table))
    ]


def jobs(name):
    """All plans of a job table."""
    return _all(mb.read_jobs(INSTANCES / f"{name}.csv"), JOBS[name], POLICIES, job_plan)


def many_jobs():
    """More jobs than a search has time for: those of the trace again and again, other columns in turn."""
    few = mb.read_jobs(INSTANCES / "facebook.csv")
    k = np.arange(2_400)
    row = k % len(few)
    return mb.Jobs(
        few.work[row] * (1.0 + k * 7_919 % 1_000 / 1_000),
        max_slots=few.max_slots[row],
        weight=k % 4,
        arrival=-(k * 17 % 100),
        deadline=60 * (k * 31 % 400),
        sla=[[(30.0 * (j * 13 % 300), 1.0)] for j in k.tolist()],
    )


def many():
    """All plans of many jobs."""
    return _all(many_jobs(), [{"slots": 300, "effort": 2}], POLICIES, job_plan)


def flows(name):
    """All plans of a table of flows."""
    table = mb.read_flows(INSTANCES / f"{name}.json")
    return _all(table, FLOWS[name], FLOW_POLICIES, flow_plan)


def _square(_, completion):
    return completion * completion if completion > 0.0 else 0.0


def custom():
    """A penalty of one's own: the square of the completion. Needs Numba."""
    import numba

    penalty = numba.cfunc("float64(int64, float64)")(_square)
    tables = (
        (mb.read_jobs(INSTANCES / "section41.csv"), POLICIES, job_plan, 60),
        (mb.read_flows(INSTANCES / "flows.json"), FLOW_POLICIES, flow_plan, 8),
    )
    return [
        attempt(
            f"{policy} {goal} slots={slots}",
            run, table, goal, policy, {"slots": slots, "penalty": penalty},
        )
        for table, policies, run, slots in tables
        for policy in policies
        for goal in ("sum:custom", "max:custom")
    ]  # fmt: skip
