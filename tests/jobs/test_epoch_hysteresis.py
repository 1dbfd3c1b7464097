"""Slots stay for small changes of urgency and move for large ones."""

import numpy as np
import pytest

import malleable as mb


def test_slots_stay_for_small_changes_and_move_for_large_ones():
    moved = {}
    for hysteresis in (0.0, 0.5, 3.0):
        epoch = mb.Epoch(1, hysteresis=hysteresis)
        ids = epoch.add([4.0, 5.0])
        assert epoch.decide(0.0).slots.tolist() == [1, 0]
        epoch.update(ids, work=[5.5, 5.0])
        small = epoch.decide(0.0)
        assert small.changed.tolist() == [small.slots[0] == 0] * 2
        epoch.update(ids, work=[100.0, 5.0])
        moved[hysteresis] = (
            small.slots.tolist() == [0, 1],
            epoch.decide(0.0).slots.tolist() == [0, 1],
        )
    assert moved == {0.0: (True, True), 0.5: (False, True), 3.0: (False, True)}


@pytest.mark.parametrize("objective", ["sum:sla", "max:lateness", "max:stretch"])
def test_without_a_key_places_in_the_order_stand_in_for_urgency(objective):
    """One that overtakes the holder gets nothing, half a dozen do."""
    for hysteresis in (0.0, 3.0):
        epoch = mb.Epoch(1, objective, hysteresis=hysteresis)
        holder = epoch.add([4.0], deadline=9.0, sla=[[(9.0, 1.0)]], arrival=0.0)
        assert epoch.decide(0.0).slots.tolist() == [1]
        urgent = {"deadline": 1.0, "sla": [[(1.0, 9.0)]], "arrival": 0.0}
        epoch.add([0.5], **urgent)
        assert epoch.decide(0.0).slots.tolist() == ([1, 0] if hysteresis else [0, 1])
        if hysteresis:
            for _ in range(6):
                epoch.add([0.1], **urgent)
            decision = epoch.decide(0.0)
            assert decision.slots[decision.ids == holder[0]].tolist() == [0]


@pytest.mark.parametrize(
    ("objective", "deadline", "factors"),
    [("sum:response", None, (2.0, 3.0)), ("sum:tardiness", 0.0, (1.49, 1.51))],
)
def test_hysteresis_is_measured_by_keys(objective, deadline, factors):
    """By apparent cost, of jobs that are late: Smith's ratio; less than by it where jobs catch up."""
    for factor, stays in zip(factors, (True, False), strict=True):
        epoch = mb.Epoch(1, objective, hysteresis=0.5)
        ids = epoch.add([4.0, 5.0], deadline=deadline)
        assert epoch.decide(0.0).slots.tolist() == [1, 0]
        epoch.update(ids[:1], work=5.0 * factor)
        assert (epoch.decide(0.0).slots.tolist() == [1, 0]) is stays


def test_a_job_on_its_minimum_holds_nothing():
    epoch = mb.Epoch(4, hysteresis=9.0)
    ids = epoch.add([4.0, 5.0], min_slots=1)
    assert epoch.decide(0.0).slots.tolist() == [3, 1]
    epoch.update(ids, work=[20.0, 5.0])
    assert epoch.decide(0.0).slots.tolist() == [3, 1]
    # Its slots beyond the minimum are taken away by capacity; when they return it is no holder.
    assert epoch.decide(0.0, slots=2).slots.tolist() == [1, 1]
    assert epoch.decide(0.0, slots=4).slots.tolist() == [1, 3]


def test_fewer_slots_change_hands():
    def changes(hysteresis):
        rng = np.random.default_rng(107)
        epoch = mb.Epoch(20, hysteresis=hysteresis)
        work = rng.uniform(10, 20, 40)
        ids = epoch.add(work, max_slots=4)
        count = 0
        for now in range(30):
            count += int(epoch.decide(float(now)).changed.sum())
            epoch.update(ids, work=work * rng.uniform(0.8, 1.25, 40))
        return count

    assert changes(1.0) < 0.5 * changes(0.0)
