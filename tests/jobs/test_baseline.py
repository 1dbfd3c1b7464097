"""FIFO, FAIR and WDEQ against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings

import malleable as mb
from tests.full import part
from tests.oracles import packing as oracle
from tests.oracles.malleable_optimum import malleable_optimum
from tests.strategies import cases, limits, random_jobs


def columns_of(jobs, slots, policy, min_mode="guarantee"):
    """Minima, maxima and weights as the water_filling takes them."""
    weight = jobs.weight.tolist() if policy == "wdeq" else [1.0] * len(jobs)
    return *limits(jobs, slots, min_mode=min_mode), weight


def test_fifo_by_hand():
    jobs = mb.Jobs([4.0, 2.0, 6.0], max_slots=[2, 4, 3], arrival=[-1.0, -3.0, -2.0])
    plan = mb.plan(jobs, 4, policy="fifo")
    assert plan.order.tolist() == [1, 2, 0]
    # Job 1 has all; then job 2 has three, and job 0 one until it can have two.
    assert plan.completion.tolist() == [3.5, 0.5, 2.5]
    assert plan.slots.tolist() == [0, 4, 0]


def test_fifo_knows_neither_minima_nor_gangs():
    jobs = mb.Jobs([4.0, 4.0], min_slots=[9, 9])
    for min_mode in ("guarantee", "gang"):
        plan = mb.plan(jobs, 4, policy="fifo", min_mode=min_mode)
        plan.validate()
        assert (plan.status, plan.completion.tolist()) == ("ok", [1.0, 2.0])


def test_fair_by_hand():
    jobs = mb.Jobs([4.0, 2.0, 6.0], max_slots=[2, 4, 3])
    # A level of 4/3 rounds to 2 1 1; all but job 2 end at 2, and it can have three.
    plan = mb.plan(jobs, 4, policy="fair")
    assert plan.slots.tolist() == [2, 1, 1]
    assert plan.completion.tolist() == pytest.approx([2, 2, 2 + 4 / 3])
    # Minima hold: 1 3 of 4 though both want 2.
    plan = mb.plan(mb.Jobs([1.0, 3.0], min_slots=[0, 3]), 4, policy="fair")
    assert plan.slots.tolist() == [1, 3]
    assert plan.order.tolist() == [0, 1]


def test_wdeq_by_hand():
    jobs = mb.Jobs([2.0, 6.0, 9.0], weight=[1, 3, 0])
    plan = mb.plan(jobs, 8, "sum:completion", "wdeq")
    assert plan.slots.tolist() == [2, 6, 0]
    assert plan.completion.tolist() == [1, 1, 1 + 9 / 8]
    assert plan.value == 4.0


@settings(max_examples=part(300, 50))
@given(cases(extreme=False))
def test_fifo_packs_by_arrival_and_obeys_maxima_only(case):
    jobs, slots, now = case
    plan = mb.plan(jobs, slots, policy="fifo", now=now)
    order = oracle.fifo_order(jobs.arrival.tolist())
    _, high = limits(jobs, slots)
    want = oracle.packing(order, jobs.work, [0] * len(jobs), high, slots).completion
    want = [now + t if w > 0 else a for t, w, a in zip(want, jobs.work, jobs.arrival, strict=True)]
    assert plan.order.tolist() == order
    assert plan.completion.tolist() == pytest.approx(want, rel=1e-9)
    assert plan.status == "ok"


@pytest.mark.parametrize("policy", ["fair", "wdeq"])
@pytest.mark.parametrize("maxima", ["any", "tight", "all"])
@pytest.mark.parametrize("minima", ["none", "small", "large"])
def test_a_water_filling_is_drawn_at_every_completion(policy, maxima, minima):
    rng = np.random.default_rng([90, len(policy), len(maxima), len(minima)])
    for _ in range(10):
        count, slots = int(rng.integers(1, 14)), int(rng.integers(1, 30))
        jobs = random_jobs(rng, count, slots, minima=minima, maxima=maxima, idle=0.1)
        low, high, weight = columns_of(jobs, slots, policy)
        want = oracle.water_filling_plan(jobs.work, low, high, weight, slots).completion
        plan = mb.plan(jobs, slots, "sum:completion", policy, now=5.0)
        has_work = jobs.work > 0
        assert (plan.completion - 5.0)[has_work].tolist() == pytest.approx(
            np.array(want)[has_work].tolist(), rel=1e-8
        )
        # The order reported is that of completions.
        running = [j for j in plan.order.tolist() if has_work[j]]
        assert np.all(np.diff(plan.completion[running]) >= 0)


@pytest.mark.parametrize("policy", ["fair", "wdeq"])
def test_whole_numbers_where_jobs_end_together(policy):
    rng = np.random.default_rng([91, len(policy)])
    for _ in range(150):
        count, slots = int(rng.integers(1, 8)), int(rng.integers(1, 9))
        high = rng.integers(1, slots + 1, count)
        jobs = mb.Jobs(
            rng.integers(0, 5, count),
            min_slots=np.minimum(rng.integers(0, 3, count), high),
            max_slots=high,
            weight=rng.choice([0.0, 1.0, 1.0, 2.0], count),
        )
        low, high, weight = columns_of(jobs, slots, policy)
        want = oracle.water_filling_plan(jobs.work, low, high, weight, slots).completion
        got = mb.plan(jobs, slots, "sum:completion", policy).completion
        assert got.tolist() == pytest.approx(want, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("policy", ["fair", "wdeq"])
def test_gangs_are_admitted_by_row(policy):
    rng = np.random.default_rng([92, len(policy)])
    for _ in range(80):
        count, slots = int(rng.integers(1, 9)), int(rng.integers(1, 20))
        jobs = random_jobs(rng, count, slots, minima="large")
        low, high, weight = columns_of(jobs, slots, policy, "gang")

        def layer(unfinished, low=low, high=high, weight=weight, slots=slots):
            left, admitted = slots, []
            for j in sorted(unfinished):
                if max(1, low[j]) <= left:
                    left -= max(1, low[j])
                    admitted.append(j)
            columns = ([column[j] for j in admitted] for column in (low, high, weight))
            shares = oracle.water_filling_allocation(*columns, slots)
            return dict.fromkeys(unfinished, 0) | dict(zip(admitted, shares, strict=True))

        want = oracle.run_layers(range(count), jobs.work, layer, float).completion
        got = mb.plan(jobs, slots, "sum:completion", policy, min_mode="gang").completion
        assert got.tolist() == pytest.approx(want, rel=1e-8)


def test_wdeq_without_minima_is_within_twice_the_optimum():
    """Beaumont et al. 2012; enough slots that rounding them hardly matters."""
    rng = np.random.default_rng(93)
    ratios = []
    for _ in range(25):
        jobs = random_jobs(rng, 3, 120, minima="none")
        _, high = limits(jobs, 120)
        best = malleable_optimum(
            jobs.work, [0] * 3, high, 120, "sum:completion", weight=jobs.weight
        ).value
        plan = mb.plan(mb.Jobs(jobs.work, max_slots=high, weight=jobs.weight), 120, policy="wdeq")
        ratios.append(plan.value / best)
    assert min(ratios) >= 1 - 1e-9
    assert max(ratios) <= 2.0
    assert max(ratios) > 1.01


def test_baselines_do_not_look_at_the_objective():
    rng = np.random.default_rng(94)
    jobs = random_jobs(rng, 9, 14, minima="small")
    for policy in ("fair", "fifo", "wdeq"):
        completions = {
            mb.plan(jobs, 14, objective, policy).completion.tobytes()
            for objective in ("sum:response", "max:stretch", "sum:sla", "max:tardy")
        }
        assert len(completions) == 1


def test_many_jobs_under_a_water_filling():
    rng = np.random.default_rng(95)
    jobs = random_jobs(rng, 400, 90, minima="large", work=(0.1, 30))
    for policy in ("fair", "wdeq"):
        plan = mb.plan(jobs, 90, policy=policy)
        plan.validate()
        assert np.all(np.isfinite(plan.completion))
