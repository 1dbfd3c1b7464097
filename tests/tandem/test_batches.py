"""Plans of batches: guarantees, bounds, hard instances, the least makespan."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from malleable import _core
from malleable.tandem.simulate import batch_guarantee, lower_bound
from tests.oracles import tandem_steps


def total(jobs, policy, **options):
    return mb.simulate(jobs, policy=policy, **options).summary[policy]["mean_response"] * len(jobs)


@st.composite
def batches(draw):
    number = st.integers(0, 24).map(lambda n: n / 8)
    count = draw(st.integers(1, 9))
    column = st.lists(number, min_size=count, max_size=count)
    return mb.MapShuffleJobs(draw(column), draw(column), arrival=draw(number))


@given(batches())
def test_best_is_the_best_and_within_its_guarantee(jobs):
    policies = ["best", "max-srpt", "split-srpt", "two-srpt"]
    summary = mb.simulate(jobs, policy=policies, effort=500).summary
    best = summary["best"]
    for policy in policies:
        assert best["mean_response"] <= summary[policy]["mean_response"] * (1 + 1e-9)
    assert best["lower_bound"] <= best["mean_response"] * (1 + 1e-9) + 1e-12
    for policy in ("best", "max-srpt", "split-srpt"):
        s = summary[policy]
        assert s["guarantee"] == batch_guarantee(policy, jobs.map, jobs.shuffle) <= 2.0
        # Nobody's optimum is above the best found.
        assert s["mean_response"] <= s["guarantee"] * best["mean_response"] * (1 + 1e-9)
    assert best["guarantee"] <= summary["max-srpt"]["guarantee"]


def test_best_plans_are_feasible_in_small_steps():
    rng = np.random.default_rng(8)
    jobs = mb.MapShuffleJobs(rng.integers(1, 30, 6) / 10, rng.integers(1, 30, 6) / 10)
    records = mb.simulate(jobs, policy="best").records
    # No schedule of the oracle's policies is better, and theirs are reached by the fixed plans.
    rows = [(0.0, x, y) for x, y in zip(jobs.map, jobs.shuffle, strict=True)]
    for policy in ("max-srpt", "split-srpt", "two-srpt"):
        steps = tandem_steps.simulate(rows, policy, 1 / 1000)
        assert records["completion"].sum() <= sum(steps) + 0.1


def test_effort_budget_and_origin():
    rng = np.random.default_rng(3)
    jobs = mb.MapShuffleJobs(rng.lognormal(0, 1, 40), rng.lognormal(0, 1, 40))
    values = [total(jobs, "best", effort=effort) for effort in (0, 200, 4000)]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[2]
    assert total(jobs, "best", effort=4000, budget=0.0) == values[0]
    assert mb.simulate(jobs, policy="best", effort=70).summary["best"]["tried"] == 70
    assert values[2] == total(jobs, "best", effort=4000)


def test_best_plans_with_estimates_and_is_judged_by_the_truth():
    rng = np.random.default_rng(4)
    jobs = mb.MapShuffleJobs(rng.lognormal(0, 1, 30), rng.lognormal(0, 1, 30))
    found = mb.simulate(jobs, policy="best", estimates=2.0, rng=1).summary["best"]
    assert found["mean_response"] * 30 > total(jobs, "best")
    assert found["map_utilisation"] * found["end"] == pytest.approx(jobs.map.sum())
    assert "guarantee" not in found


def test_only_batches_are_planned():
    jobs = mb.MapShuffleJobs([1, 1], [1, 1], arrival=[0, 1])
    for policy in ("best", "makespan"):
        with pytest.raises(ValueError, match="plans batches only"):
            mb.simulate(jobs, policy=policy)
        with pytest.raises(ValueError, match="plans batches only"):
            mb.simulate(mb.MapShuffleStream(5, 0.5), policy=policy)
    for effort in (-1, 0.5, True):
        with pytest.raises(ValueError, match="effort"):
            mb.simulate(mb.MapShuffleJobs([1], [1]), policy="best", effort=effort)


@given(batches())
def test_makespan_is_the_larger_total(jobs):
    order, completion = _core.tandem_makespan(jobs.map, jobs.shuffle)
    assert sorted(order) == list(range(len(jobs)))
    least = max(jobs.map.sum(), jobs.shuffle.sum())
    assert completion.max() == pytest.approx(least, abs=1e-12)
    s = mb.simulate(jobs, policy="makespan").summary["makespan"]
    assert s["end"] - jobs.arrival[0] == pytest.approx(least, abs=1e-9)


@given(batches())
def test_batch_bound_is_stronger_and_holds(jobs):
    bound = lower_bound(jobs)
    for lone in (jobs.map, jobs.shuffle, (jobs.map + jobs.shuffle) / 2):
        assert bound >= np.cumsum(np.sort(lone)).sum() * (1 - 1e-12)
    assert bound <= total(jobs, "best", effort=50) * (1 + 1e-9) + 1e-12


def test_figures_2_and_3():
    jobs = mb.MapShuffleJobs([1, 3, 2], [2, 1, 2])
    with_overlap, without = (
        mb.simulate(jobs, policy="fcfs", overlap=overlap).records for overlap in (True, False)
    )
    assert with_overlap["map_completion"].tolist() == without["map_completion"].tolist()
    assert with_overlap["completion"].tolist() == [2, 4, 6]
    assert without["completion"].tolist() == [3, 5, 8]
