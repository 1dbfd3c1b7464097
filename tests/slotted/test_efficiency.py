"""Constants of theorems 2 and 3 against their definition, and kept by every work-conserving policy."""

import math

import numpy as np
import pytest

import malleable as mb
from malleable.slotted import simulate as slotted
from malleable.slotted.efficiency import _tail, efficiency_constants, interval_moment
from malleable.slotted.generate import MapReduceStream, section7


def rate_function(work, chance, a):
    """sup over theta >= 0 of theta a - log E exp(theta W), by ternary search (it is concave)."""
    if a > work.max():
        return math.inf

    def value(theta):
        top = theta * work.max()
        return theta * a - top - math.log(chance @ np.exp(theta * work - top))

    low, high = 0.0, 1.0
    while value(high) > value(high / 2):
        high *= 2
    for _ in range(200):
        third = (high - low) / 3
        if value(low + third) < value(high - third):
            low += third
        else:
            high -= third
    return value(low)


def constants_of(work, chance, machines, largest, powers=(1, 2), points=400):
    """B1, B2 ... by trying many epsilons and adding up the series."""
    best = [math.inf] * len(powers)
    spread = (machines - 1) * largest
    span = machines - work @ chance
    for fraction in np.linspace(0.0, 1.0, points)[1:-1]:
        epsilon = fraction * span
        rate = rate_function(work, chance, machines - epsilon)
        if rate < 1e-3:
            continue  # close to the largest epsilon, where the series is large
        steps = 1 + math.ceil(spread / epsilon)
        k = np.arange(2, 2 + int(60 / rate)) if rate < 60 else np.arange(2, 4)
        for place, power in enumerate(powers):
            tail = float(np.sum(k.astype(float) ** power * np.exp(-k * rate)))
            best[place] = min(best[place], steps**power + tail)
    return best


def test_last_terms_are_series():
    for rate in (0.05, 0.3, 1.0, 4.0):
        k = np.arange(2, 3000)
        for power in (1, 2, 3, 5, 8, 16):
            series = np.sum(k.astype(float) ** power * np.exp(-k * rate))
            assert _tail(np.array([rate]), power)[0] == pytest.approx(series, rel=1e-9)
    assert _tail(np.array([0.0]), 1)[0] == math.inf
    assert _tail(np.array([500.0]), 2)[0] == pytest.approx(0.0, abs=1e-80)


@pytest.mark.parametrize(("setting", "seed"), [("uniform-small", 1), ("exp-large", 2)])
def test_constants_of_a_table(setting, seed):
    jobs = section7(setting, slots=100, rate=0.3, rng=seed)
    machines = 20
    found = efficiency_constants(jobs, machines, slots=100)
    total = jobs.map + jobs.reduce_work
    slot_work = np.zeros(100)
    np.add.at(slot_work, jobs.arrival - 1, total)
    work, count = np.unique(slot_work, return_counts=True)
    largest = int(jobs.reduce_work.max())
    assert found.load == pytest.approx(total.sum() / 100 / machines)
    assert found.largest_reduce == largest
    assert found.arrival_rate == len(jobs) / 100
    assert found.empty_slots == np.mean(~np.isin(np.arange(1, 101), jobs.arrival))
    assert found.mean_reduce == jobs.reduce_work.mean()
    for ours, slow in zip(
        (found.b1, found.b2), constants_of(work, count / 100, machines, largest), strict=True
    ):
        assert ours <= slow * (1 + 1e-9)
        assert ours == pytest.approx(slow, rel=0.01)
    tail = max(2.0, (1 - found.empty_slots) / found.arrival_rate, found.load / found.arrival_rate)
    tail *= max(1.0, 1 / (machines * (1 - found.load)))
    assert found.preemptive == pytest.approx((found.b2 + found.b1**2) * tail)
    more = found.b1 * (found.mean_reduce - 1)
    assert found.non_preemptive == pytest.approx((found.b2 + found.b1**2 + more) * tail)


def test_every_moment():
    """ "For any given number H, there exists a constant B_H" (equation 11)."""
    jobs = section7("uniform-small", slots=100, rate=0.3, rng=1)
    slot_work = np.zeros(100)
    np.add.at(slot_work, jobs.arrival - 1, jobs.map + jobs.reduce_work)
    work, count = np.unique(slot_work, return_counts=True)
    powers = (1, 2, 3, 6)
    slow = constants_of(work, count / 100, 20, int(jobs.reduce_work.max()), powers, 60)
    known = efficiency_constants(jobs, 20, slots=100)
    for power, other in zip(powers, slow, strict=True):
        found = interval_moment(jobs, 20, power, slots=100)
        assert found <= other * (1 + 1e-9)
        assert found == pytest.approx(other, rel=0.05 * power)
    assert (interval_moment(jobs, 20, 1, slots=100), interval_moment(jobs, 20, 2, slots=100)) == (
        known.b1,
        known.b2,
    )
    assert interval_moment(mb.MapReduceJobs([5] * 4, [[5]] * 4), 1, 3) == math.inf
    for power in (0, 17):
        with pytest.raises(ValueError, match=f"power = {power}"):
            interval_moment(jobs, 20, power)


def test_constants_of_a_stream():
    stream = MapReduceStream("uniform-large", rate=2.0)
    found = efficiency_constants(stream, 100)
    assert found.load == pytest.approx(0.9)
    assert found.empty_slots == math.exp(-2)
    assert (found.mean_reduce, found.largest_reduce) == (40.0, 70)
    # Drawn long enough, a table says nearly the same.
    table = efficiency_constants(section7("uniform-large", slots=50_000, rng=1), 100, slots=50_000)
    assert table.b1 == pytest.approx(found.b1, rel=0.1)
    assert table.preemptive == pytest.approx(found.preemptive, rel=0.2)
    with pytest.raises(ValueError, match="largest reduce phase"):
        efficiency_constants(MapReduceStream("exp-large"), 100)


def test_no_slot_with_more_work_than_machines():
    """Then nothing is left over at all: the rate function is infinite and the tail 0."""
    jobs = mb.MapReduceJobs([1] * 10, [[1]] * 10, arrival=range(1, 11))
    found = efficiency_constants(jobs, 5)
    # epsilon just below 3: 1 + ceil(4 * 1 / 3) is 3.
    assert (found.b1, found.b2) == (3.0, 9.0)
    alone = efficiency_constants(jobs, 3)
    assert (alone.b1, alone.b2) == (4.0, 16.0)  # epsilon just below 1: ceil(2 / epsilon) is 3


def test_overload_promises_nothing():
    jobs = mb.MapReduceJobs([5] * 4, [[5]] * 4, arrival=[1, 2, 3, 4])
    found = efficiency_constants(jobs, 10)
    assert (found.load, found.b1, found.preemptive) == (1.0, math.inf, math.inf)
    with pytest.raises(ValueError, match="at least one"):
        efficiency_constants(mb.MapReduceJobs([], []), 10)
    with pytest.raises(ValueError, match="slots = 3"):
        efficiency_constants(jobs, 10, slots=3)


@pytest.mark.parametrize("preemptive", [True, False])
def test_every_work_conserving_policy_keeps_the_promise(preemptive):
    jobs = section7("uniform-small", slots=300, rng=9)
    promised = efficiency_constants(jobs, 100)
    most = promised.preemptive if preemptive else promised.non_preemptive
    for policy in slotted.POLICIES:
        if policy != "dsrpt":
            result = mb.simulate(jobs, policy, preemptive=preemptive)
            assert result.summary[policy]["ratio"] <= most
