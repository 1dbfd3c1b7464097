"""Decisions without effort where jobs have deadlines, against the plain rules that they stand for."""

import copy

import numpy as np
import pytest

import malleable as mb
from benchmarks.instances import DUE_EVERY, due_steps, due_stream, due_table
from benchmarks.rivals import rules as rivals
from benchmarks.rivals.loops import JobEpoch, hold_jobs


def state_of(jobs, slots):
    return {
        "ids": np.arange(len(jobs)),
        "work": jobs.work,
        "weight": jobs.weight,
        "deadline": jobs.deadline,
        "max_slots": np.minimum(jobs.max_slots, slots),
        "capacity": slots,
    }


@pytest.mark.parametrize("tightness", [0.06, 0.35, 1.0])
def test_tardiness_goes_by_apparent_cost(tightness):
    jobs, slots = due_table(300, tightness, seed=4)
    epoch = mb.Epoch(slots, "sum:tardiness")
    epoch.add(jobs.work, max_slots=jobs.max_slots, weight=jobs.weight, deadline=jobs.deadline)
    wanted = rivals.apparent_cost(state_of(jobs, slots), 0.0)
    assert epoch.decide(now=0.0).slots.tolist() == np.asarray(wanted).tolist()


KINDS = ("response", "tardiness", "tardy", "stretch")


def mixed_cost(kinds, size, state, now):
    """Apparent cost: a step counts as if it rose within twice a job's mean time, a missed one not at all."""
    left, weight = state["work"], state["weight"]
    patience = 2.0 * left.mean() / state["capacity"]
    slack = state["deadline"] - now - left / state["max_slots"]
    step, line = kinds == "tardy", (kinds == "response") | (kinds == "stretch")
    rate = np.where(step, weight / patience, np.where(kinds == "stretch", weight / size, weight))
    key = np.log(left / rate) + np.where(line, 0.0, np.maximum(slack, 0.0)) / patience
    key = np.where(step & (slack < 0), np.inf, key)
    return rivals.in_order(key, state["max_slots"], state["capacity"])


@pytest.mark.parametrize("seed", range(6))
def test_mixed_kinds_go_by_what_each_job_pays(seed):
    rng = np.random.default_rng(seed)
    jobs, slots = due_table(400, (0.06, 0.35, 1.0)[seed % 3], seed=seed)
    kinds, weight = rng.choice(KINDS, len(jobs)), jobs.weight * rng.choice([0.02, 1.0, 20.0], 400)
    own = mb.Jobs(jobs.work, max_slots=jobs.max_slots, weight=weight, deadline=jobs.deadline)
    epoch = mb.Epoch(slots)
    ids = epoch.add(own, kind=kinds.tolist())
    left = own.work.copy()
    for now in (0.0, 3.0, 40.0):
        few = rng.choice(len(own), 50, replace=False)
        left[few] *= rng.uniform(0.2, 1.0, 50)
        epoch.update(ids[few], work=left[few])
        state = state_of(own, slots) | {"work": left}
        decision = epoch.decide(now)
        assert decision.slots.tolist() == mixed_cost(kinds, own.work, state, now).tolist()
        decision.plan().validate()


def test_a_step_that_is_missed_is_not_waited_for():
    """Behind it there may be a next one; without one the job goes last."""
    epoch = mb.Epoch(1, "sum:sla")
    epoch.add([4.0, 4.0, 4.0], sla=[[(3.0, 9.0)], [(3.0, 9.0), (9.0, 10.0)], None], max_slots=1)
    epoch.add([8.0], kind="response", weight=0.1)
    assert epoch.decide(0.0).slots.tolist() == [0, 1, 0, 0]


def step_cost(times, costs, state, now):
    """Apparent cost with a long patience; each job aims at the first step that it can still reach."""
    left, most, weight = state["work"], state["max_slots"], state["weight"]
    start = times - (left / most)[:, None]
    reached = start >= now
    first = np.where(reached.any(axis=1), reached.argmax(axis=1), -1)
    rows = np.arange(len(left))
    patience = 0.02 * left.sum() / state["capacity"]
    key = np.log(left / (weight * costs[first])) + (start[rows, first] - now) / patience
    return rivals.in_order(np.where(first < 0, np.inf, key), most, state["capacity"])


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("tightness", [0.1, 0.4])
def test_many_jobs_with_steps_go_by_apparent_cost(steps, tightness):
    """As time goes by, latest starts pass; copies go on alike."""
    jobs, slots = (due_steps if steps > 1 else due_table)(5_000, tightness, seed=2)
    times = jobs.sla_time.reshape(-1, 3) if steps > 1 else jobs.deadline[:, None]
    epoch = mb.Epoch(slots, "sum:sla" if steps > 1 else "sum:tardy")
    ids = epoch.add(jobs)
    left, rng = jobs.work.copy(), np.random.default_rng(1)
    for now in (0.0, 2.0, 60.0):
        few = rng.choice(len(jobs), 500, replace=False)
        left[few] *= rng.uniform(0.2, 1.0, 500)
        epoch.update(ids[few], work=left[few])
        copied = copy.deepcopy(epoch)
        wanted = step_cost(times, np.ones(3), state_of(jobs, slots) | {"work": left}, now)
        decision = epoch.decide(now)
        assert decision.slots.tolist() == wanted.tolist() == copied.decide(now).slots.tolist()
    decision.plan().validate()


def loss(jobs, slots, rule, kind):
    late = hold_jobs(jobs, slots, rule, DUE_EVERY, between=True) - jobs.deadline
    paid = np.maximum(late, 0.0) if kind == "tardiness" else late > 1e-6
    return float((jobs.weight * paid).sum())


@pytest.mark.parametrize(
    "kind, rival, draws", [("tardiness", "apparent_cost", 24), ("tardy", "latest_start", 48)]
)
def test_loops_are_as_good_as_the_rules(kind, rival, draws):
    """In the mean of many draws: single ones differ by a factor of two either way."""
    ours = theirs = 0.0
    for seed in range(draws):
        jobs, slots = due_stream(seed, 250, 1.3)
        ours += loss(jobs, slots, JobEpoch(slots, f"sum:{kind}"), kind)
        theirs += loss(jobs, slots, getattr(rivals, rival), kind)
    assert 0.0 < ours <= theirs
