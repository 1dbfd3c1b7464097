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
        assert (row.value, row.lower_bound, row.gap) == (plan.value, plan.lower_bound, plan.gap)
        best = min(other.value for other in rows if other.objective == row.objective)
        assert row.ratio == pytest.approx(row.value / best)
        assert row.seconds >= 0


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
