"""Policies side by side."""

import pytest

import malleable as mb
from malleable.cli.demo_command import compare, comparison_table
from malleable.jobs.generate import bimodal_jobs
from malleable.view.text import console_for, json_text, plain


def test_rows_are_those_of_the_plans():
    jobs = bimodal_jobs(rng=3)
    seen = []
    objectives, policies = ("sum:response", "max:tardiness"), ("fifo", "flex")
    rows = compare(jobs, 100, objectives, policies, effort=10, progress=lambda: seen.append(1))
    assert len(seen) == 4
    wanted = [(objective, policy) for objective in objectives for policy in policies]
    assert [(row.objective, row.policy) for row in rows] == wanted
    for row in rows:
        plan = mb.plan(jobs, 100, row.objective, row.policy, effort=10)
        assert row.value == plan.value
        best = min(other.value for other in rows if other.objective == row.objective)
        assert row.ratio == pytest.approx(row.value / best)
        assert row.seconds >= 0


def test_all_rows_have_the_best_bound_that_holds_for_all():
    jobs = bimodal_jobs(rng=1)
    policies = ("flex", "fair", "fifo")
    assert not jobs.min_slots.any() or jobs.min_slots.all()
    for objective in ("sum:response", "sum:tardiness"):
        rows = compare(jobs, 100, [objective], policies)
        plans = [mb.plan(jobs, 100, objective, policy) for policy in policies]
        (bound,) = {row.lower_bound for row in rows}
        assert bound == plans[2].lower_bound  # FIFO ignores minima
        own = max(plan.lower_bound for plan in plans)
        assert [row.own_bound for row in rows] == [own, own, None]
        both = compare(jobs, 100, [objective], policies[:2])
        assert {(row.lower_bound, row.own_bound) for row in both} == {(own, None)}
        free = compare(
            mb.Jobs(jobs.work, max_slots=jobs.max_slots), 100, ["sum:response"], policies
        )
        assert len({row.lower_bound for row in free}) == 1 and {row.own_bound for row in free} == {
            None
        }
        for row in (*rows, *both, *free):
            assert row.gap == pytest.approx((row.value - row.lower_bound) / row.lower_bound)


def test_no_ratio_to_what_is_not_positive():
    jobs = mb.Jobs([1, 2], deadline=100)
    rows = compare(jobs, 4, ["sum:tardiness", "sum:lateness"])
    assert {row.ratio for row in rows} == {None}
    assert compare(jobs, 4, ["sum:response"], []) == []


def test_for_machines_and_for_people(capsys):
    jobs = mb.Jobs([9, 2], min_slots=[9, 0])
    rows = compare(jobs, 4, policies=("flex", "fifo"), min_mode="gang")
    read = plain(rows)
    json_text(read)
    assert read[0]["value"] is read[0]["gap"] is None
    assert read[0]["status"] == "infeasible"
    console_for().print(comparison_table(rows, "two jobs"))
    shown = capsys.readouterr().out
    assert "FIFO" in shown
    assert "(infeasible)" in shown
