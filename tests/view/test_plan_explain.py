"""One line per job: why."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from tests.strategies import MIN_MODES, OBJECTIVES, POLICIES, cases


def line_of(plan, row):
    return plan.explain()[row].split(": ", 1)[1]


def test_what_binds_each_job():
    jobs = mb.Jobs([40, 400, 300], min_slots=[1, 1, 2], max_slots=[20, 100, 100])
    plan = mb.plan(jobs, 50)
    assert line_of(plan, 0) == "20 slots now (its maximum), keeps them; ends at 2 s; penalty 2"
    assert line_of(plan, 1).startswith("1 slot now (its minimum, place 3 of 3), 50 from ")
    assert line_of(plan, 2).startswith("29 slots now (what is left at place 2 of 3), 49 from 2 s")


def test_all_slots_waiting_and_what_comes_next():
    plan = mb.plan(mb.Jobs([10, 20]), 10)
    assert line_of(plan, 0) == "10 slots now (all there are), keeps them; ends at 1 s; penalty 1"
    assert line_of(plan, 1) == (
        "0 slots now (waits, place 2 of 2), 10 from 1 s; ends at 3 s; penalty 3"
    )


def test_changes_after_the_next_are_counted():
    plan = mb.plan(mb.Jobs([1, 3, 100], min_slots=1, max_slots=[1, 1, 9]), 9)
    assert ", 8 from 1 s and 1 more change; " in line_of(plan, 2)


def test_deadlines():
    jobs = mb.Jobs([10, 20], deadline=[4, 2])
    early, late = (line_of(mb.plan(jobs, 10), row) for row in (0, 1))
    assert "ends at 1 s, 3 s before its deadline; " in early
    assert "ends at 3 s, 1 s after its deadline; " in late


def test_no_work_scaled_minima_and_gangs_that_never_run():
    done = mb.plan(mb.Jobs([0, 5], arrival=[-2, 0]), 5)
    assert line_of(done, 0) == "no work left, done at -2 s; penalty 0"
    scaled = mb.plan(mb.Jobs([9, 9], min_slots=[6, 3], max_slots=6), 6)
    assert "4 slots now (its minimum of 6, scaled to what there is)" in line_of(scaled, 0)
    gangs = mb.plan(mb.Jobs([9, 9, 9], min_slots=[3, 3, 9]), 4, min_mode="gang")
    assert "(waits for 3 at once, place 2 of 3)" in line_of(gangs, 1)
    assert line_of(gangs, 2) == "never runs: it needs 9 slots at once and there are 4; penalty inf"


def test_fair_shares():
    jobs = mb.Jobs([9, 9, 9], min_slots=[0, 4, 0], weight=[1, 1, 3])
    fair = mb.plan(jobs, 8, policy="fair")
    assert "2 slots now (an equal share), " in line_of(fair, 0)
    assert "4 slots now (its minimum; an equal share is less), " in line_of(fair, 1)
    assert "(a weighted share)" in line_of(mb.plan(jobs, 8, policy="wdeq"), 2)


def test_names_stay_on_their_line():
    plan = mb.plan(mb.Jobs([1], name=["a\n\x1b[31mb"]), 4)
    assert plan.explain() == [
        "a\\n\\x1b[31mb: 4 slots now (all there are), keeps them; ends at 0.25 s; penalty 0.25"
    ]


@pytest.mark.parametrize("objective", [o for o in OBJECTIVES if not o.endswith("lateness")])
@given(case=cases(), policy=st.sampled_from(POLICIES), min_mode=st.sampled_from(MIN_MODES))
def test_every_job_has_a_line_with_its_slots(objective, case, policy, min_mode):
    jobs, slots, now = case
    plan = mb.plan(jobs, slots, objective, policy, effort=5, now=now, min_mode=min_mode)
    lines = plan.explain()
    assert len(lines) == len(jobs)
    for row, line in enumerate(lines):
        assert "\n" not in line
        assert line.startswith(f"{jobs.name[row]}: ")
        if jobs.work[row] > 0 and math.isfinite(plan.completion[row]):
            assert f": {plan.slots[row]:,} slot" in line
            shown = re.search(r"ends at (\S+) s", line)[1].replace(",", "")
            assert float(shown) == pytest.approx(plan.completion[row], rel=5e-4, abs=1e-12)
            assert ("keeps them" in line) <= (plan.slots[row] > 0)
    assert np.all(plan.slots >= 0)
