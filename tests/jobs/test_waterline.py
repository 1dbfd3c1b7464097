"""The integer waterline against exact fractions."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from malleable import _core
from malleable.domain import ALL_SLOTS
from tests.full import part
from tests.oracles.packing import scale_minima, waterline_allocation, waterline_shares

SLOTS = st.integers(1, 60)


def waterline(low, high, slots, weight=None, min_mode="guarantee"):
    weights = {} if weight is None else {"weight": weight}
    jobs = mb.Jobs(np.ones(len(high)), min_slots=low, max_slots=high, **weights)
    return _core.waterline(jobs, slots, weight is not None, min_mode == "gang")


@st.composite
def rows(draw, weights=None):
    """Minima, maxima, weights and slots; the minima may add up to too much."""
    slots = draw(SLOTS)
    count = draw(st.integers(1, 12))
    high = draw(st.lists(st.integers(1, slots + 3), min_size=count, max_size=count))
    style = draw(st.sampled_from(["none", "any", "equal"]))
    low = [
        0 if style == "none" else h if style == "equal" else draw(st.integers(0, h)) for h in high
    ]
    weight = None
    if weights is not None:
        weight = draw(st.lists(weights, min_size=count, max_size=count))
    return low, high, weight, slots


def expected(low, high, weight, slots):
    low = scale_minima([1.0] * len(low), low, slots)
    high = [min(h, slots) for h in high]
    return waterline_allocation(low, high, weight or [1.0] * len(low), slots)


def test_by_hand():
    assert waterline([0, 0, 0], [9, 9, 9], 7).tolist() == [3, 2, 2]
    assert waterline([5, 0, 0], [9, 9, 1], 9).tolist() == [5, 3, 1]
    assert waterline([0, 0], [10, 10], 10, [1, 3]).tolist() == [3, 7]
    assert waterline([0, 0], [10, 10], 10, [3, 1]).tolist() == [8, 2]
    assert waterline([0, 0, 0], [10] * 3, 7, [1, 1, 2]).tolist() == [2, 2, 3]
    assert waterline([0] * 3, [10] * 3, 2).tolist() == [1, 1, 0]
    assert waterline([], [], 5).tolist() == []
    assert waterline(1, [3, ALL_SLOTS], 10).tolist() == [3, 7]


def test_nobody_gets_more_than_the_maximum_and_slots_may_be_left():
    assert waterline([0, 0], [2, 3], 100).tolist() == [2, 3]


def test_minima_that_do_not_fit_are_scaled():
    assert waterline([3, 3, 3], [9, 9, 9], 4).tolist() == [2, 1, 1]
    assert waterline([1, 2, 4], [9, 9, 9], 5).tolist() == [1, 1, 3]


def test_weight_zero_waits_for_all_the_others():
    assert waterline([0, 1, 0], [4, 9, 4], 8, [1, 0, 1]).tolist() == [4, 1, 3]
    assert waterline([0, 1, 0], [2, 9, 2], 8, [1, 0, 1]).tolist() == [2, 4, 2]
    assert waterline([0, 0, 0], [9, 9, 2], 8, [0, 0, 0]).tolist() == [3, 3, 2]


@settings(max_examples=part(600, 50))
@given(rows())
def test_fair_is_exact(row):
    low, high, _, slots = row
    assert waterline(low, high, slots).tolist() == expected(low, high, None, slots)


@settings(max_examples=part(600, 50))
@given(rows(st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 7.0])))
def test_weighted_is_exact_with_many_ties(row):
    low, high, weight, slots = row
    assert waterline(low, high, slots, weight).tolist() == expected(low, high, weight, slots)


@settings(max_examples=part(400, 50))
@given(rows(st.floats(1e-6, 1e6)))
def test_weights_of_any_size(row):
    """Fractions that lie within 1e-9 count as tied, so a share may be rounded either way there."""
    low, high, weight, slots = row
    got = waterline(low, high, slots, weight).tolist()
    want = expected(low, high, weight, slots)
    if got != want:
        fitting = scale_minima([1.0] * len(low), low, slots)
        shares = waterline_shares(fitting, high, weight, slots)
        fractions = [float(s) % 1 for s, a, b in zip(shares, got, want, strict=True) if a != b]
        assert max(fractions) - min(fractions) < 1e-8
    assert sum(got) == sum(want)


def test_many_jobs():
    rng = np.random.default_rng(3)
    for count in (100, 1000):
        high = rng.integers(1, 50, count)
        low = np.minimum(rng.integers(0, 4, count), high)
        weight = rng.integers(0, 6, count).astype(float)
        for slots in (count // 3, 3 * count, 20 * count, 60 * count):
            got = waterline(low, high, slots, weight)
            assert got.tolist() == expected(low.tolist(), high.tolist(), weight.tolist(), slots)


def test_one_slot_more_never_takes_a_slot_away_from_the_level():
    """Shares rise with the capacity; rounding moves each by less than one slot."""
    low, high, weight = [0, 2, 0, 1], [9, 4, 20, 6], [1.0, 2.0, 0.5, 0.0]
    before = np.zeros(4)
    for slots in range(3, 45):
        now = waterline(low, high, slots, weight)
        assert np.all(now >= before - 1)
        assert now.sum() == min(slots, sum(high))
        before = now


def test_gangs_are_admitted_by_row_while_they_fit():
    assert waterline([3, 4, 2], [9, 9, 9], 5, min_mode="gang").tolist() == [3, 0, 2]
    assert waterline([3, 4, 2], [9, 9, 9], 8, min_mode="gang").tolist() == [4, 4, 0]
    assert waterline([9, 4, 0], [9, 9, 9], 8, min_mode="gang").tolist() == [0, 4, 4]
    assert waterline([0, 0, 0], [9, 9, 9], 2, min_mode="gang").tolist() == [1, 1, 0]


@settings(max_examples=part(300, 50))
@given(rows(st.sampled_from([0.0, 0.5, 1.0, 3.0])))
def test_gangs_are_a_waterline_over_the_admitted(row):
    low, high, weight, slots = row
    got = waterline(low, high, slots, weight, min_mode="gang").tolist()
    left, admitted = slots, []
    for j, m in enumerate(low):
        if max(1, m) <= left:
            left -= max(1, m)
            admitted.append(j)
    want = [0] * len(low)
    if admitted:
        columns = ([column[j] for j in admitted] for column in (low, high, weight))
        small, large, share = columns
        large = [min(h, slots) for h in large]
        for j, given_slots in zip(
            admitted, waterline_allocation(small, large, share, slots), strict=True
        ):
            want[j] = given_slots
    assert got == want


def test_the_widest_range_ends():
    found = waterline([0, 0], [2**40] * 2, 2**50, [1e-12, 1])
    assert found.tolist() == [2**40, 2**40]
    found = waterline([0, 0], [2**49] * 2, 2**49, [1e-12, 1e12])
    assert found.sum() == 2**49 and found[0] <= 1
