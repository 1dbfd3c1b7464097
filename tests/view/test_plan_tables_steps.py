"""Slots over time against the pieces they come from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from malleable.view.plan_tables import slots_over_time
from tests.strategies import MIN_MODES, POLICIES, cases


def as_rows(steps):
    return list(zip(*(column.tolist() for column in steps), strict=True))


def test_overlapping_pieces_add_up_and_touching_ones_join():
    plan = mb.plan(mb.Jobs([8, 6], max_slots=[3, 4]), 4)
    plan.pieces = {
        "job": np.array([0, 0, 1, 1, 0]),
        "start": np.array([0.0, 1.0, 5.0, 4.0, 2.0]),
        "end": np.array([2.0, 3.0, 6.0, 5.0, 3.0]),
        "slots": np.array([1, 1, 2, 2, 1]),
    }
    assert as_rows(slots_over_time(plan)) == [(0, 0, 1, 1), (0, 1, 3, 2), (1, 4, 6, 2)]
    both = slots_over_time(plan, np.array([0, 0]))
    assert as_rows(both) == [(0, 0, 1, 1), (0, 1, 3, 2), (0, 4, 6, 2)]
    assert as_rows(both.between(1, 2)) == [(0, 1, 3, 2)]


def test_moments_that_differ_by_rounding_are_one():
    plan = mb.plan(mb.Jobs([8]), 4)
    end = 0.1 + 0.2  # just above 0.3
    plan.pieces = {
        "job": np.array([0, 0]),
        "start": np.array([0.0, 0.3]),
        "end": np.array([end, 1.0]),
        "slots": np.array([2, 3]),
    }
    assert as_rows(slots_over_time(plan)) == [(0, 0, 0.3, 2), (0, 0.3, 1, 3)]


def test_no_pieces():
    assert len(slots_over_time(mb.plan(mb.Jobs([]), 4)).job) == 0


@given(cases(extreme=False), st.sampled_from(POLICIES), st.sampled_from(MIN_MODES), st.booleans())
def test_steps_hold_the_work_of_each_job(case, policy, min_mode, deadline_first):
    jobs, slots, now = case
    objective = "max:tardiness" if deadline_first else "sum:response"
    plan = mb.plan(jobs, slots, objective, policy, now=now, min_mode=min_mode)
    steps = slots_over_time(plan)
    assert np.all(steps.end > steps.start)
    assert np.all(steps.slots > 0)
    same = np.diff(steps.job) == 0
    assert np.all(np.diff(steps.job) >= 0)
    assert np.all(steps.start[1:][same] >= steps.end[:-1][same])
    done = np.bincount(steps.job, steps.slots * (steps.end - steps.start), len(jobs))
    runs = np.isfinite(plan.completion) & (jobs.work > 0)
    assert done[runs] == pytest.approx(jobs.work[runs], rel=1e-6, abs=1e-6)
    for row in np.flatnonzero(plan.slots > 0):
        first = steps.job.searchsorted(row)
        assert steps.slots[first] == plan.slots[row]
