"""Objectives: their names, and penalties against their literal definitions."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from malleable.objective import KINDS as ALL_KINDS
from malleable.objective import parse_objective
from tests.full import part
from tests.oracles import objectives as literal
from tests.strategies import KINDS, OBJECTIVES, STRICT, cases, penalty_columns, with_deadlines


def paid(objective, jobs, times):
    """The package's penalties of these completions."""
    goal = parse_objective(objective, len(jobs))
    return goal.penalties(jobs).of_jobs(np.array(times, float)).tolist()


def test_every_documented_objective_is_known():
    for text in (*OBJECTIVES, *STRICT, "sum:custom", "max:custom"):
        goal = parse_objective(text)
        aggregate, kind = text.split(":")
        assert goal.aggregate == aggregate
        assert [ALL_KINDS[k] for k in goal.kinds] == [kind]
        assert goal.text == text
    assert (*KINDS, "strict", "custom") == ALL_KINDS


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("sum:responce", "sum:response"),
        ("max:streth", "max:stretch"),
        ("sum:Tardy", "sum:tardy"),
        ("sum:makespan", None),
        ("mean:response", None),
        ("response", None),
        ("sum:", None),
        ("", None),
        (":", None),
        ("sum:response:x", "sum:response"),
    ],
)
def test_an_unknown_objective_is_named_with_the_nearest_known_one(text, near):
    with pytest.raises(ValueError, match=re.escape(f"objective = {text!r}")) as error:
        parse_objective(text)
    message = str(error.value)
    assert "\n" not in message
    assert "response" in message
    if near:
        assert f"did you mean '{near}'" in message


@pytest.mark.parametrize("value", [None, 5, 1.5, b"sum:response", ["sum:response", 3], [None]])
def test_an_objective_is_text(value):
    with pytest.raises(ValueError, match="^objective"):
        parse_objective(value)


def test_one_objective_per_job():
    jobs = mb.Jobs([1, 1, 1], deadline=[1, 2, 3])
    goal = parse_objective(["sum:tardy", "sum:response", "sum:lateness"], 3)
    assert goal.aggregate == "sum"
    assert goal.penalties(jobs).of_jobs(np.array([5.0, 5.0, 5.0])).tolist() == [1.0, 5.0, 2.0]
    same = parse_objective(["max:tardy"] * 3, 3)
    assert same.text == "max:tardy"
    assert len(same.kinds) == 1
    with pytest.raises(ValueError, match="objective has 2 entries but there are 3 jobs"):
        parse_objective(["sum:tardy"] * 2, 3)
    with pytest.raises(ValueError, match="mixed"):
        parse_objective(["sum:tardy", "max:tardy"], 2)


def test_an_empty_table_takes_an_empty_list_of_objectives():
    goal = parse_objective([], 0)
    assert goal.aggregate == "sum"
    assert goal.penalties(mb.Jobs([])).of_jobs(np.empty(0)).tolist() == []
    assert mb.plan(mb.Jobs([]), 3, []).value == 0.0


def test_a_single_objective_of_one_job_counts_for_one_job():
    with pytest.raises(ValueError, match="objective has 1 entry but there are 3 jobs"):
        parse_objective(["sum:tardy"], 3)


def test_lateness_names_the_job_without_a_deadline():
    jobs = mb.Jobs([1, 1, 1], deadline=[4, None, None])
    with pytest.raises(ValueError, match=re.escape("deadline[1] = inf: lateness needs a deadline")):
        mb.plan(jobs, 2, "sum:lateness")
    mixed = ["max:lateness", "max:response", "max:lateness"]
    with pytest.raises(ValueError, match=re.escape("deadline[2] = inf: lateness needs a deadline")):
        mb.plan(jobs, 2, mixed)
    assert mb.plan(jobs.take([0]), 2, "max:lateness").value == 1 / 2 - 4


def test_custom_needs_a_function_and_nothing_else_takes_one():
    jobs = mb.Jobs([1.0])
    with pytest.raises(ValueError, match="custom needs penalty"):
        mb.plan(jobs, 1, "sum:custom")
    with pytest.raises(ValueError, match="^penalty"):
        mb.plan(jobs, 1, "sum:custom", penalty=5)
    with pytest.raises(ValueError, match="^penalty"):
        mb.plan(jobs, 1, "sum:response", penalty=lambda job, time: time)


def test_times_of_another_length_are_refused():
    penalties = parse_objective("sum:response").penalties(mb.Jobs([1, 2]))
    with pytest.raises(ValueError, match="completion has 3 entries but there are 2 jobs"):
        penalties.of_jobs(np.zeros(3))


def test_each_kind_by_hand():
    jobs = mb.Jobs([4.0], arrival=1, weight=3, deadline=6, sla=[[(2, 0.5), (7, 2)]])
    at_nine = [24, 27, 6, 3, 9, 9, 6]
    at_five = [12, 15, 3, 0, 0, -3, 1.5]
    for kind, late, early in zip(KINDS, at_nine, at_five, strict=True):
        assert paid(f"sum:{kind}", jobs, [9]) == [late], kind
        assert paid(f"max:{kind}", jobs, [5]) == [early], kind


def test_stretch_divides_by_the_original_size():
    jobs = mb.Jobs([1.0, 0.0, 0.0], size=[4.0, 4.0, 0.0])
    assert paid("sum:stretch", jobs, [8.0, 8.0, 8.0]) == [2.0, 2.0, 0.0]


def test_no_deadline_costs_nothing():
    jobs = mb.Jobs([1.0])
    for kind in ("tardy", "tardiness", "sla"):
        assert paid(f"sum:{kind}", jobs, [1e12]) == [0.0]
        assert paid(f"sum:{kind}", jobs, [math.inf]) == [0.0]


@pytest.mark.parametrize("due", [0.0, 1.0, -5.0, 2.0, 1e6, -1e6])
def test_the_tolerance_of_a_deadline(due):
    jobs = mb.Jobs([1.0], deadline=due, sla=[[(due, 2.0)]])
    slack = 1e-9 * max(1.0, abs(due))
    for share, kept in ((-1, True), (0, True), (0.99, True), (1.5, False), (1000, False)):
        time = due + share * slack
        assert (paid("sum:tardy", jobs, [time]) == [0.0]) == kept
        assert (paid("sum:sla", jobs, [time]) == [0.0]) == kept


def test_never_ending_costs_what_the_limit_costs():
    jobs = mb.Jobs([1.0, 1.0], weight=[2.0, 0.0], deadline=3, sla=[[(1, 1), (2, 5)]] * 2)
    never = [math.inf, math.inf]
    for kind in ("response", "completion", "stretch", "tardiness", "lateness"):
        assert paid(f"sum:{kind}", jobs, never) == [math.inf, 0.0]
    assert paid("sum:tardy", jobs, never) == [2.0, 0.0]
    assert paid("sum:sla", jobs, never) == [10.0, 0.0]


@settings(max_examples=part(400, 50))
@given(cases(min_jobs=1, deadlines=True), st.data())
def test_penalties_are_what_they_are_defined_to_be(case, data):
    jobs, _, now = case
    count = len(jobs)
    kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=count, max_size=count))
    offsets = st.sampled_from([-2.0, 0.0, 0.25, 0.5, 1.0, 1.5, 3.0, 20.0, 77.7])
    times = [now + data.draw(offsets) for _ in range(count)]
    rows = literal.job_data(count, **penalty_columns(jobs))
    want = [literal.penalty(k, t, **row) for k, t, row in zip(kinds, times, rows, strict=True)]
    got = paid([f"sum:{kind}" for kind in kinds], jobs, times)
    assert got == pytest.approx(want, rel=1e-12, abs=1e-12)


@settings(max_examples=part(200, 50))
@given(cases(min_jobs=1), st.sampled_from(OBJECTIVES))
def test_penalties_never_fall(case, objective):
    jobs = with_deadlines(case.jobs)
    moments = case.now + np.array([-9.0, -2.0, 0.0, 1e-9, 0.4, 0.5, 0.6, 1.0, 2.0, 3.1, 19.0, 21.0])
    rows = np.array([paid(objective, jobs, [t] * len(jobs)) for t in moments])
    assert np.all(np.diff(rows, axis=0) >= 0)


# A penalty of one's own -----------------------------------------------------------------------------


def test_a_compiled_penalty_and_a_plain_one():
    numba = pytest.importorskip("numba")
    jobs = mb.Jobs([4.0, 2.0])

    def square(job, time):
        return (job + 1) * time * time

    compiled = numba.cfunc("float64(int64, float64)")(square)
    for penalty in (square, compiled):
        goal = parse_objective("sum:custom")
        assert goal.penalties(jobs, penalty).of_jobs(np.array([3.0, 2.0])).tolist() == [9.0, 8.0]


def test_custom_and_other_kinds_mix():
    pytest.importorskip("numba")
    jobs = mb.Jobs([4.0, 2.0], weight=[1, 5])
    goal = parse_objective(["max:custom", "max:completion"], 2)
    penalties = goal.penalties(jobs, lambda job, time: 100.0 * job + time)
    assert penalties.of_jobs(np.array([3.0, 2.0])).tolist() == [3.0, 10.0]
