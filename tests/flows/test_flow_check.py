"""The checker of flow schedules sees every kind of fault."""

import copy

import numpy as np
import pytest

import malleable as mb
from malleable.flows.check import check_flow_schedule


def good():
    flows = mb.Flows(
        [
            [
                {"name": "a", "work": 4, "max_slots": 2},
                {"name": "b", "work": 2, "max_slots": 2, "after": ["a"]},
            ],
            [{"name": "c", "work": 3, "max_slots": 1}],
        ],
        arrival=[0.0, 0.5],
    )
    plan = mb.plan(flows, 3, "sum:completion")
    plan.validate()
    return plan


def change(plan, field, row, value):
    pieces = {key: np.array(column) for key, column in plan.pieces.items()}
    pieces[field][row] = value
    plan.pieces = pieces


def shift(plan, row, by):
    change(plan, "start", row, plan.pieces["start"][row] + by)
    change(plan, "end", row, plan.pieces["end"][row] + by)


def squeeze(plan, row):
    """Twice the slots for half the time."""
    begin, end = plan.pieces["start"][row], plan.pieces["end"][row]
    change(plan, "slots", row, 2 * plan.pieces["slots"][row])
    change(plan, "end", row, (begin + end) / 2)
    job = plan.pieces["job"][row]
    plan.completion[job] = (begin + end) / 2


def piece_of(plan, job):
    return int(np.flatnonzero(plan.pieces["job"] == plan.flows.job_name.index(job))[0])


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda p: squeeze(p, piece_of(p, "flow0/a")), "4 slots .* in use|its maximum is 2"),
        (lambda p: change(p, "slots", 0, 0), "whole slots"),
        (lambda p: change(p, "job", 0, 9), "unknown job"),
        (lambda p: change(p, "end", 0, np.nan), "no time"),
        (lambda p: shift(p, piece_of(p, "flow0/b"), -0.5), "flow0/a ends at"),
        (lambda p: change(p, "start", piece_of(p, "flow1/c"), 0.25), "before 0.5"),
        (lambda p: change(p, "end", piece_of(p, "flow0/b"), 99.0), "done of 2"),
        (lambda p: p.completion.__setitem__(0, 7.0), "completion 7"),
        (lambda p: p.start.__setitem__(0, 7.0), "start 7"),
        (lambda p: p.flow_completion.__setitem__(1, 7.0), "flow flow1"),
        (
            lambda p: setattr(p, "pieces", {k: v[1:] for k, v in p.pieces.items()}),
            "never runs|done",
        ),
        (lambda p: setattr(p, "capacity", 2), "slots of 2 in use"),
    ],
)
def test_faults(break_it, message):
    plan = copy.copy(good())
    for field in ("completion", "start", "flow_completion"):
        setattr(plan, field, getattr(plan, field).copy())
    break_it(plan)
    with pytest.raises(ValueError, match=message):
        check_flow_schedule(plan)


def test_work_too_short_for_the_clock():
    """It leaves no piece, but it ends when its turn has come, and so does its flow."""
    flows = mb.Flows([[{"work": 5e14}], [{"work": 6.8e-6}]])
    plan = mb.plan(flows, 1, "max:stretch", policy="fifo")
    assert plan.pieces["job"].tolist() == [0] and plan.completion.tolist() == [5e14, 5e14]
    plan.validate()
    plan.completion = plan.completion * [1, 0]
    with pytest.raises(ValueError, match="flow flow1: completion 5"):
        plan.validate()


def test_work_that_rounding_of_times_hides():
    """A millionth of a millionth of a moment is not looked for where times have fewer digits."""
    jobs = [
        {"name": "short", "work": 3.51435582518404e-08},
        {"name": "next", "work": 6.0, "after": ["short"]},
        {"name": "beside", "work": 6.0},
    ]
    flows = mb.Flows([[{"work": 3.0}], [{"work": 50.77}], jobs])
    for policy in ("flowflex", "flowflex-literal", "fifo", "fair"):
        for now in (0.0, 37.11707847574213, 1e9):
            mb.plan(flows, 1, "sum:tardy", policy=policy, now=now).validate()
