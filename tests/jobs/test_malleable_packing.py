"""The packing scheme and its gang variant against the quadratic simulation of figure 3."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from malleable.jobs.kernels import malleable_packing
from tests.full import part
from tests.oracles import packing as oracle
from tests.strategies import cases, limits, random_jobs

pack = malleable_packing


def expected(jobs, slots, order, min_mode="guarantee", **options):
    low, high = limits(jobs, slots, min_mode=min_mode)
    scheme = oracle.gang_packing if min_mode == "gang" else oracle.packing
    return [
        float(t) for t in scheme(list(order), jobs.work, low, high, slots, **options).completion
    ]


def test_two_jobs_by_hand():
    jobs = mb.Jobs([3, 3], min_slots=1, max_slots=2)
    assert pack(jobs, 3, [0, 1]).tolist() == [1.5, 2.25]
    assert pack(jobs, 3, [1, 0]).tolist() == [2.25, 1.5]


def test_a_job_that_ends_on_its_minimum():
    jobs = mb.Jobs([8, 6, 1], min_slots=[0, 1, 1], max_slots=[3, 4, 4])
    assert pack(jobs, 4, [0, 1, 2]).tolist() == [3.0, 3.75, 1.0]


def test_the_partly_filled_job_takes_over_what_is_freed():
    jobs = mb.Jobs([2, 9, 5], max_slots=[2, 3, 4])
    # 0..1: 2 1 0; job 1 then has 8 left on 3 slots; nothing for job 2 but 0.
    assert pack(jobs, 3, [0, 1, 2]).tolist() == pytest.approx([1, 1 + 8 / 3, 1 + 8 / 3 + 5 / 3])


def test_equal_jobs_end_together():
    jobs = mb.Jobs([2.0] * 6, max_slots=1)
    assert pack(jobs, 3, range(6)).tolist() == [2, 2, 2, 4, 4, 4]


def test_no_work_ends_at_once_and_no_jobs_are_no_trouble():
    assert pack(mb.Jobs([0, 4, 0], min_slots=3), 4, [0, 1, 2]).tolist() == [0, 1, 0]
    assert pack(mb.Jobs([]), 4, []).tolist() == []


def test_minima_beyond_the_slots_are_scaled():
    jobs = mb.Jobs([3, 6, 6], min_slots=[1, 2, 4], max_slots=[1, 2, 4])
    # 1, 1 and 3 of 5 slots; job 2 ends at 2, then job 1 may have its maximum, 2.
    assert pack(jobs, 5, [0, 1, 2]).tolist() == [3, 4, 2]
    # Two of four have to wait, though they come first in the order.
    assert pack(mb.Jobs([1] * 4, min_slots=1), 2, [3, 2, 1, 0]).tolist() == [1, 1, 2, 1.5]


@pytest.mark.parametrize("order", [[0, 0], [0], [0, 2], [0, 1, 2], [], [-1, 0], [1.5, 0], [[0, 1]]])
def test_an_order_names_every_job_once(order):
    with pytest.raises(ValueError, match="^order"):
        pack(mb.Jobs([1, 1]), 2, order)


@pytest.mark.parametrize("slots", [0, -1, 2**50 + 1])
def test_the_capacity_is_checked(slots):
    with pytest.raises(ValueError, match=f"slots = {slots}"):
        pack(mb.Jobs([1, 1]), slots, [0, 1])


def test_an_unknown_mode_is_an_error():
    with pytest.raises(ValueError, match="min_mode"):
        pack(mb.Jobs([1, 1]), 2, [0, 1], min_mode="gangs")


@settings(max_examples=part(400, 50))
@given(cases(extreme=False), st.randoms(use_true_random=False))
def test_any_table_and_order(case, random):
    jobs, slots, _ = case
    order = list(range(len(jobs)))
    random.shuffle(order)
    want = expected(jobs, slots, order)
    assert pack(jobs, slots, order).tolist() == pytest.approx(want, rel=1e-9)


@settings(max_examples=100)
@given(cases(max_jobs=6), st.randoms(use_true_random=False))
def test_work_of_any_size_against_exact_fractions(case, random):
    jobs, slots, _ = case
    order = list(range(len(jobs)))
    random.shuffle(order)
    got = pack(jobs, slots, order).tolist()
    want = expected(jobs, slots, order, number=Fraction)
    # A tiny job behind a huge one inherits the huge one's rounding.
    assert got == pytest.approx(want, rel=1e-9, abs=1e-12 * max(want, default=0.0))


def test_every_order_of_small_tables():
    rng = np.random.default_rng(11)
    for _ in range(40):
        slots = int(rng.integers(1, 9))
        jobs = random_jobs(rng, int(rng.integers(1, 5)), slots, minima="large", idle=0.1)
        for order in permutations(range(len(jobs))):
            want = expected(jobs, slots, order)
            assert pack(jobs, slots, order).tolist() == pytest.approx(want, rel=1e-9), order


def scales(rng, count, spread):
    """Work that is narrow, wide (many scales), or full of ties."""
    if spread == "wide":
        return np.exp(rng.uniform(-9, 9, count))
    if spread == "ties":
        return rng.integers(1, 5, count).astype(float)
    return rng.uniform(1, 2, count)


@pytest.mark.parametrize("spread", ["narrow", "wide", "ties"])
@pytest.mark.parametrize("count", [20, 60, 65, 130, 300])
def test_many_jobs_leave_through_the_calendar(count, spread):
    rng = np.random.default_rng([count, len(spread)])
    for _ in range(8 if count < 100 else 3):
        slots = int(rng.choice([1, 7, count // 2, count, 5 * count]))
        high = rng.integers(1, max(2, slots // 3) + 1, count)
        low = np.minimum(rng.integers(0, 3, count) * (rng.random(count) < 0.6), high)
        jobs = mb.Jobs(scales(rng, count, spread), min_slots=low, max_slots=high)
        order = rng.permutation(count)
        want = expected(jobs, slots, order.tolist())
        # Ties may leave in either order; their times are the same.
        assert pack(jobs, slots, order).tolist() == pytest.approx(want, rel=1e-9)


def test_minima_alone_carry_many_jobs():
    """Nobody is promoted before it ends: only the calendar of minimal jobs is used."""
    rng = np.random.default_rng(5)
    work = rng.uniform(1, 100, 200)
    jobs = mb.Jobs(np.append(1e6, work), min_slots=np.append(0, np.ones(200, int)))
    got = pack(jobs, 201, range(201))
    assert got[1:].tolist() == pytest.approx(work.tolist(), rel=1e-12)


# Gangs ----------------------------------------------------------------------------------------------


def gang(jobs, slots, order):
    return pack(jobs, slots, order, min_mode="gang").tolist()


def test_gangs_by_hand():
    jobs = mb.Jobs([4, 6, 4], min_slots=[2, 3, 0], max_slots=[2, 4, 1])
    assert gang(jobs, 4, [0, 1, 2]) == [2, 3.5, 5.5]


def test_a_gang_that_never_fits():
    jobs = mb.Jobs([1, 1, 0], min_slots=[5, 1, 7], max_slots=9)
    assert gang(jobs, 4, [0, 1, 2]) == [math.inf, 0.25, 0]
    assert gang(mb.Jobs([1, 2], min_slots=5), 4, [0, 1]) == [math.inf, math.inf]


def test_gangs_that_end_together_leave_together():
    """The last has nothing left to do when the first ends, so it cannot lose its slot and wait."""
    jobs = mb.Jobs([1, 10, 1], min_slots=[1, 2, 1], max_slots=[1, 2, 1])
    assert gang(jobs, 2, [0, 1, 2]) == [1, 6, 1]


@settings(max_examples=part(400, 50))
@given(st.integers(0, 2**32 - 1))
def test_gangs_against_the_oracle(seed):
    # Work without ties: see the test above for what happens at ties.
    rng = np.random.default_rng(seed)
    count, slots = int(rng.integers(0, 13)), int(rng.integers(1, 21))
    jobs = random_jobs(rng, count, slots, minima="large", idle=0.1)
    order = rng.permutation(count).tolist()
    want = expected(jobs, slots, order, "gang")
    assert gang(jobs, slots, order) == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("count", [64, 65, 150])
def test_many_gangs(count):
    rng = np.random.default_rng(count)
    for slots in (5, 40, 400):
        jobs = random_jobs(rng, count, slots, minima="large", maxima="tight", work=(0.01, 50))
        order = rng.permutation(count).tolist()
        want = expected(jobs, slots, order, "gang")
        assert gang(jobs, slots, order) == pytest.approx(want, rel=1e-8)


def test_gangs_of_one_are_packed_like_minima_of_none():
    rng = np.random.default_rng(8)
    for _ in range(50):
        jobs = random_jobs(rng, 9, 6, minima="none")
        order = rng.permutation(9)
        assert gang(jobs, 6, order) == pytest.approx(pack(jobs, 6, order).tolist(), rel=1e-12)
