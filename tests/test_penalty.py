"""Penalties by decoration: compiled, checked, and taken wherever `penalty=` is."""

import math
import pickle

import numpy as np
import pytest

import malleable as mb
from malleable import objective

numba = pytest.importorskip("numba", reason="needs malleable[custom]")


def late(job, completion):
    return 3.0 * max(0.0, completion - 20.0)


@pytest.fixture(scope="module")
def decorated():
    return objective.penalty(late)


def jobs():
    return mb.Jobs([40, 30, 20, 60.0], max_slots=[3, 2, 4, 3], weight=3, deadline=20)


def test_plans_as_the_built_in_penalty_does(decorated):
    expected = mb.plan(jobs(), 5, "sum:tardiness", effort=200)
    plan = mb.plan(jobs(), 5, "sum:custom", effort=200, penalty=decorated)
    assert plan.value == pytest.approx(expected.value, rel=1e-9)
    np.testing.assert_allclose(plan.penalty, 3.0 * np.maximum(0.0, plan.completion - 20.0))
    worst = mb.plan(jobs(), 5, "max:custom", penalty=decorated)
    assert worst.value == pytest.approx(mb.plan(jobs(), 5, "max:tardiness").value, rel=1e-6)


def test_epochs_of_jobs_and_flows_take_it(decorated):
    epoch = mb.Epoch(5, "sum:custom", penalty=decorated)
    same = mb.Epoch(5, "sum:tardiness")
    for each in (epoch, same):
        each.add(jobs())
    assert epoch.decide(0.0).value == pytest.approx(same.decide(0.0).value, rel=1e-6)
    flows = mb.FlowEpoch(5, "sum:custom", penalty=decorated)
    flows.add(mb.Flows([[{"work": 30.0}, {"work": 10.0, "after": ["job0"]}]]))
    assert flows.decide(0.0).slots.sum() > 0


def test_it_is_called_and_pickles_by_name(decorated):
    assert decorated(0, 25.0) == 15.0
    copy = pickle.loads(pickle.dumps(decorated))
    assert copy == decorated
    assert copy(7, 21.0) == 3.0


def test_strict_deadlines_may_be_infinite():
    made = objective.penalty(lambda job, end: 0.0 if end <= 3.0 else math.inf)
    assert made(0, 4.0) == math.inf


@pytest.mark.parametrize(
    ("function", "where"),
    [
        (lambda job, end: -end, "job 0"),
        (lambda job, end: math.nan if end > 5.0 else 0.0, "nan"),
        (lambda job, end: end if job < 2 else 1.0 / (1.0 + abs(end)), "job 2"),
    ],
)
def test_what_falls_is_refused(function, where):
    with pytest.raises(ValueError, match=f"must not fall.*{where}|{where}"):
        objective.penalty(jobs=3)(function)


def test_what_falls_beyond_the_checked_jobs_is_not_seen():
    objective.penalty(jobs=2)(lambda job, end: end if job < 2 else -end)
