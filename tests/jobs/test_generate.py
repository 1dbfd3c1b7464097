"""Generated job tables."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from malleable.jobs.generate import bimodal_jobs, lognormal_jobs
from malleable.jobs.table import ALL_SLOTS, Jobs


def large(jobs: Jobs) -> Any:
    """Large jobs stand apart: 10 times the mean, a third of it as deviation."""
    work = jobs.work / np.median(jobs.work)
    return work > 4


def test_base_case() -> None:
    jobs = bimodal_jobs(rng=1)
    assert len(jobs) == 10
    assert (jobs.max_slots == ALL_SLOTS).all()
    assert (jobs.arrival == 0).all()
    assert jobs.work.sum() == pytest.approx(100 * 100, rel=1e-12)
    assert ((jobs.weight >= 0) & (jobs.weight < 1)).all()
    assert ((jobs.deadline >= 0) & (jobs.deadline < 100)).all()
    assert all(len(steps) == 3 for steps in jobs.sla)


def test_pinned_outputs() -> None:
    jobs = bimodal_jobs(rng=7)
    work = [67.44008172444566, 506.46652127660633, 494.9949314784337]
    assert jobs.work[:3].tolist() == pytest.approx(work, rel=1e-12)
    assert jobs.min_slots.tolist() == [5, 3, 3, 4, 2, 2, 3, 1, 1, 3]
    weight = [0.4662060253252891, 0.9171677731928523]
    assert jobs.weight[:2].tolist() == pytest.approx(weight, rel=1e-12)
    assert jobs.deadline[9] == pytest.approx(74.17709473618571, rel=1e-12)
    step = (60.50562538298513, 0.23948921268184487)
    assert jobs.sla[4][1] == pytest.approx(step, rel=1e-12)
    maxima = [3, 16, 15, 12, 10, 94, 10, 12, 12, 100]
    assert bimodal_jobs(rng=7, tasks=300).max_slots.tolist() == maxima
    jobs = lognormal_jobs(3, 50, min_slots=1, max_slots=(2, 90), rng=7)
    work = [20.122633574613957, 31.441173950698182, 13.313695163192268]
    assert jobs.work.tolist() == pytest.approx(work, rel=1e-9)
    assert jobs.max_slots.tolist() == [50, 22, 6]


def test_seed_generator_and_fresh_randomness() -> None:
    one, two = bimodal_jobs(rng=3), bimodal_jobs(rng=np.random.default_rng(3))
    assert np.array_equal(one.work, two.work)
    assert one.sla == two.sla
    generator = np.random.default_rng(3)
    assert not np.array_equal(bimodal_jobs(rng=generator).work, bimodal_jobs(rng=generator).work)
    assert not np.array_equal(bimodal_jobs().work, bimodal_jobs().work)
    assert not np.array_equal(
        lognormal_jobs(5, 5, min_slots=0, max_slots=None).work,
        lognormal_jobs(5, 5, min_slots=0, max_slots=None).work,
    )


def test_unweighted_jobs_are_otherwise_the_same() -> None:
    one, two = bimodal_jobs(rng=5), bimodal_jobs(rng=5, weighted=False)
    assert (two.weight == 1).all()
    assert np.array_equal(one.work, two.work)
    assert np.array_equal(one.deadline, two.deadline)
    assert one.sla == two.sla


def test_small_and_large_jobs_in_random_order() -> None:
    counts = [int(large(bimodal_jobs(rng=seed)).sum()) for seed in range(50)]
    assert max(counts) == 2  # and seldom 1, where a large job came out short
    assert np.mean(counts) > 1.9
    first = [bool(large(bimodal_jobs(rng=seed))[0]) for seed in range(300)]
    assert 0.1 < np.mean(first) < 0.3


def test_moments_of_the_work() -> None:
    jobs = bimodal_jobs(100_000, 1000, rng=2)
    ordered = np.sort(jobs.work)
    few, many = ordered[80_000:], ordered[:80_000]
    assert few.mean() / many.mean() == pytest.approx(10, rel=0.01)
    assert many.std() / many.mean() == pytest.approx(1 / 3, rel=0.02)
    assert (jobs.work > 0).all()


def test_moments_of_the_minima() -> None:
    minima = bimodal_jobs(20_000, 20_000 * 40, slack=0.75, rng=2).min_slots
    assert minima.mean() == pytest.approx(10, rel=0.01)
    assert minima.std() == pytest.approx(10 / 3, rel=0.03)
    sums = [bimodal_jobs(rng=seed).min_slots.sum() for seed in range(300)]
    assert np.mean(sums) == pytest.approx(25, rel=0.03)


def test_drawing_below_the_maximum_is_drawing_again() -> None:
    """The inverted distribution against literal rejection, by mean and extremes."""
    cap, mean = 4, 5.0
    drawn = bimodal_jobs(20_000, 20_000 * 20, tasks=20_000 * 3, small=1, slack=0.75, rng=8)
    ours = drawn.min_slots[drawn.max_slots == cap]
    rng = np.random.default_rng(1)
    literal = rng.normal(mean, mean / 3, 200_000)
    literal = np.maximum(np.rint(literal[literal > 0]), 1)
    literal = literal[literal <= cap]
    assert len(ours) > 3000
    for value in range(1, cap + 1):
        assert (ours == value).mean() == pytest.approx((literal == value).mean(), abs=0.03)


def test_tasks_become_maxima() -> None:
    jobs = bimodal_jobs(tasks=1000, rng=4)
    expected = [min(100, math.ceil(1000 * w / 10_000)) for w in jobs.work.tolist()]
    assert jobs.max_slots.tolist() == expected
    assert (bimodal_jobs(tasks=1, rng=4).max_slots == 1).all()


@given(
    count=st.integers(1, 40),
    slots=st.integers(1, 500),
    small=st.floats(0, 1),
    slack=st.floats(0, 1),
    tasks=st.none() | st.integers(1, 5000),
    seed=st.integers(0, 2**32),
)
def test_always_a_valid_experiment(
    count: int,
    slots: int,
    small: float,
    slack: float,
    tasks: int | None,
    seed: int,
) -> None:
    jobs = bimodal_jobs(
        count,
        slots,
        small=small,
        slack=slack,
        tasks=tasks,
        rng=seed,
    )
    assert len(jobs) == count
    assert (jobs.work > 0).all()
    assert jobs.work.sum() == pytest.approx(100 * slots)
    assert (jobs.min_slots >= 1).all()
    assert (jobs.min_slots <= np.minimum(jobs.max_slots, slots)).all()
    for row in jobs.sla:
        assert len(row) == 3
        assert all(a[0] < b[0] and a[1] <= b[1] for a, b in itertools.pairwise(row))


def test_extreme_slack_against_tight_maxima_ends() -> None:
    jobs = bimodal_jobs(50, 10**9, slack=0, tasks=60, rng=1)
    assert (jobs.min_slots <= jobs.max_slots).all()
    assert (bimodal_jobs(slack=1, rng=1).min_slots == 1).all()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"jobs": 0}, "jobs = 0: must be a whole number of at least 1"),
        ({"jobs": 2.5}, "jobs = 2.5: must be a whole number"),
        ({"slots": -1}, "slots = -1"),
        ({"small": 1.5}, "small = 1.5: must be between 0 and 1"),
        ({"slack": float("nan")}, "slack = nan: must be between 0 and 1"),
        ({"tasks": 0}, "tasks = 0"),
    ],
)
def test_section41_parameters_out_of_range(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        bimodal_jobs(**options)


def test_lognormal_jobs() -> None:
    jobs = lognormal_jobs(50_000, 30, min_slots=2, max_slots=(3, 40), rng=1)
    logs = np.log(jobs.work)
    assert logs.mean() == pytest.approx(3, abs=0.02)
    assert logs.std() == pytest.approx(1.5, abs=0.01)
    assert (jobs.min_slots == 2).all()
    assert (jobs.max_slots.min(), jobs.max_slots.max()) == (3, 30)
    assert (jobs.max_slots == 30).mean() == pytest.approx(11 / 38, abs=0.01)
    assert (jobs.weight == 1).all()
    assert len(lognormal_jobs(0, 1, min_slots=0, max_slots=None)) == 0
    assert (lognormal_jobs(3, 1, min_slots=0, max_slots=None).max_slots == ALL_SLOTS).all()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"min_slots": 6}, "min_slots = 6: must be at most slots = 5"),
        ({"min_slots": -1}, "min_slots = -1"),
        ({"min_slots": 3, "max_slots": (2, 4)}, r"max_slots\[0\] = 2: .* at least 3"),
        ({"max_slots": (0, 4)}, r"max_slots\[0\] = 0: .* at least 1"),
        ({"max_slots": (3, 2)}, r"max_slots\[1\] = 2: .* at least 3"),
        ({"jobs": -1}, "jobs = -1"),
    ],
)
def test_lognormal_parameters_out_of_range(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        lognormal_jobs(**({"jobs": 3, "slots": 5, "min_slots": 0, "max_slots": None} | options))
