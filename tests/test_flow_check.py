"""The checker of flow schedules sees every kind of fault."""

import copy

import numpy as np
import pytest

import malleable as mb
from malleable.flow_check import check_flow_schedule


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
        (lambda p: setattr(p, "slots", 2), "slots of 2 in use"),
    ],
)
def test_faults(break_it, message):
    plan = copy.copy(good())
    for field in ("completion", "start", "flow_completion"):
        setattr(plan, field, getattr(plan, field).copy())
    break_it(plan)
    with pytest.raises(ValueError, match=message):
        check_flow_schedule(plan)
