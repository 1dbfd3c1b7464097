"""How good decisions about flows are that make no plan, against those that begin a whole one each."""

import numpy as np
import pytest

import malleable as mb
from malleable.flows.generate import section51_flows
from malleable.flows.plan import plan_flows
from malleable.objective import parse_objective
from tests.full import in_full, part
from tests.oracles.flow_loop import fluid_loop

SLOTS = 25


def arriving_flows(seed, flows=200, load=0.9):
    """Flows of section 5.1 that come at random, due some times their least length after that."""
    table = section51_flows(seed, slots=SLOTS, flows=flows)
    rng = np.random.default_rng(seed)
    volume = table.volume()
    arrival = np.cumsum(rng.exponential(volume.mean() / (load * SLOTS), flows))
    deadline = arrival + rng.uniform(4.5, 18.0, flows) * volume / SLOTS
    return table._replaced(arrival=arrival, deadline=deadline)


class ByEpoch:
    """The epoch object in a loop."""

    def __init__(self, table, objective, **options):
        self.table, self.epoch = table, mb.FlowEpoch(SLOTS, objective, **options)
        self.row_of = np.empty(0, dtype=int)
        self.id_of = np.full(len(table.work), -1)

    def __call__(self, now, came, finished, left):
        self.epoch.finish(self.id_of[finished])
        for flow in came:
            ids = self.epoch.add(self.table.take([flow])).jobs
            rows = np.arange(*self.table.job_offset[flow : flow + 2])
            self.id_of[rows] = ids
            self.row_of = np.concatenate([self.row_of, rows])
        if len(self.row_of):
            running = self.running[~np.isin(self.running, finished)]
            self.epoch.update(self.id_of[running], work=left[running])
        decision = self.epoch.decide(now)
        has = decision.slots > 0
        self.running = self.row_of[decision.ids[has]]
        return self.running, decision.slots[has]

    running = np.empty(0, dtype=int)


class ByPlans:
    """A whole plan of what is there in every decision, which begins with the last order."""

    def __init__(self, table, objective):
        self.table, self.objective = table, objective
        self.there, self.order = np.empty(0, dtype=int), np.empty(0, dtype=int)
        self.open_jobs = np.diff(table.job_offset)

    def __call__(self, now, came, finished, left):
        np.subtract.at(self.open_jobs, self.table.flow[finished], 1)
        self.there = np.concatenate([self.there, came])
        self.there = self.there[self.open_jobs[self.there] > 0]
        known = np.concatenate([self.order, came])
        warm = [int(np.flatnonzero(self.there == k)[0]) for k in known if k in self.there]
        flows = self.table._replaced(work=left.copy()).take(self.there)
        plan = plan_flows(flows, SLOTS, self.objective, effort=0, now=now, order=warm)
        self.order = self.there[plan.order]
        offset = self.table.job_offset
        of_flows = [np.arange(offset[k], offset[k + 1]) for k in self.there]
        rows = np.concatenate([np.empty(0, dtype=int), *of_flows])
        has = plan.allocation > 0
        return rows[has], plan.allocation[has]


def paid(table, objective, completion):
    penalties = parse_objective(objective).penalties(table).of_jobs(completion)
    return penalties.sum() if objective.startswith("sum") else penalties.max()


def loop(table, objective, decide):
    completion = fluid_loop(table.arrival, table.job_offset, table.work, decide)
    return paid(table, objective, completion)


@pytest.mark.parametrize(
    "objective", ["sum:response", "sum:stretch", "sum:tardiness"][: part(3, 1)]
)
def test_200_flows_cost_hardly_more_than_by_whole_plans(objective):
    costs = {"order": 0.0, "plans": 0.0}
    for seed in range(3):
        table = arriving_flows(seed)
        costs["order"] += loop(table, objective, ByEpoch(table, objective))
        costs["plans"] += loop(table, objective, ByPlans(table, objective))
    assert costs["order"] <= 1.02 * costs["plans"]


def tight_flows(seed):
    """The same with 0.6 to 1.1 of that section's own time until the deadline: few schedules meet them."""
    table = arriving_flows(seed)
    own = section51_flows(seed, slots=SLOTS, flows=len(table)).deadline
    share = np.random.default_rng(seed).uniform(0.6, 1.1, len(own))
    return table._replaced(deadline=table.arrival + share * own)


@in_full
def test_tight_deadlines_cost_no_more_than_by_whole_plans():
    """Over two tables, 0.97 as much; the order of the decision before is one that is compared."""
    objective, totals = "sum:tardiness", np.zeros(2)
    for seed in (101, 1):
        table = tight_flows(seed)
        totals += [loop(table, objective, by(table, objective)) for by in (ByEpoch, ByPlans)]
    assert totals[0] <= totals[1]


@pytest.mark.parametrize("objective", ["sum:response", "sum:tardiness", "max:stretch"])
def test_with_an_effort_decisions_begin_plans(objective):
    table = arriving_flows(5, flows=12, load=1.5)
    by_epoch, by_plans = ByEpoch(table, objective, effort=0), ByPlans(table, objective)

    def both(*arguments):
        rows, slots = by_epoch(*arguments)
        wanted, expected = by_plans(*arguments)
        assert dict(zip(rows, slots, strict=True)) == dict(zip(wanted, expected, strict=True))
        return rows, slots

    loop(table, objective, both)
