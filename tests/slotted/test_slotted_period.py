"""Decisions over time steps that are held for a period of several steps."""

import copy
import math
import pickle

import numpy as np
import pytest

import malleable as mb
from tests.periodic_loops import hold_slots


def test_machines_run_tasks_one_after_the_other():
    epoch = mb.SlottedEpoch(10, "srpt", period=4.0)
    ids = epoch.add(maps=[7, 30], reduce_left=[0.0, 0.0])
    decision = epoch.decide(0.0)
    # Two machines do seven tasks in four slots; 30 tasks need eight.
    assert decision.ids.tolist() == ids.tolist()
    assert decision.maps.tolist() == decision.slots.tolist() == [2, 8]
    assert decision.order.tolist() == ids.tolist()
    other = mb.SlottedEpoch(10, "srpt")
    other.add(maps=[7, 30], reduce_left=[0.0, 0.0])
    assert copy.deepcopy(other).decide(0.0).maps.tolist() == [7, 3]
    assert copy.deepcopy(other).decide(0.0, period=1.9).maps.tolist() == [7, 3]
    assert other.decide(0.0, period=4.0).maps.tolist() == [2, 8]


def test_left_over_machines_go_where_tasks_end_earlier():
    epoch = mb.SlottedEpoch(12, "srpt", period=4.0)
    epoch.add(maps=[4, 8], reduce_left=[0.0, 0.0])
    assert epoch.decide(0.0).maps.tolist() == [4, 8]
    epoch = mb.SlottedEpoch(5, "srpt", period=4.0)
    epoch.add(maps=[4, 8], reduce_left=[0.0, 0.0])
    assert epoch.decide(0.0).maps.tolist() == [2, 3]


def test_reduce_tasks_count_by_their_length():
    epoch = mb.SlottedEpoch(10, "srpt", period=6.0)
    # Four tasks of three slots: two a machine. Three of ten slots: a machine each.
    ids = epoch.add(maps=[0, 0, 40], reduces=[4, 3, 0], reduce_left=[12.0, 30.0, 0.0])
    decision = epoch.decide(0.0)
    got = dict(zip(decision.ids.tolist(), (decision.maps + decision.reduces).tolist(), strict=True))
    assert got == {int(ids[0]): 2, int(ids[1]): 3, int(ids[2]): 5}


def stream(seed, count=25, machines=10):
    rng = np.random.default_rng(seed)
    arrival = np.floor(np.cumsum(rng.exponential(22 / (machines * 0.6), count)))
    return [
        (
            int(t),
            int(rng.geometric(0.12)),
            (1 + rng.geometric(0.3, int(rng.integers(0, 4)))).tolist(),
        )
        for t in arrival
    ]


@pytest.mark.parametrize("policy", ["asrpt", "unlock", "srpt", "fifo", "fair"])
@pytest.mark.parametrize("held", [2, 4, 16])
def test_a_periodic_loop_is_no_slower_for_knowing_it(policy, held):
    known, unknown = (
        np.mean(
            [hold_slots(stream(s), 10, mb.SlottedEpoch(10, policy), held, said) for s in range(6)]
        )
        for said in (float(held), 0.0)
    )
    assert known <= 1.02 * unknown, (known, unknown)


def test_the_period_is_kept_and_checked_first():
    epoch = mb.SlottedEpoch(9, period=3.0)
    epoch.add(maps=[20, 4], reduce_left=[3.0, 1.0])
    epoch.decide(0.0)
    for twin in (copy.deepcopy(epoch), pickle.loads(pickle.dumps(epoch))):
        assert twin == epoch
        assert twin.decide(3.0) == copy.deepcopy(epoch).decide(3.0)
    before = pickle.dumps(epoch)
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="^period = "):
            epoch.decide(3.0, period=bad)
        with pytest.raises(ValueError, match="^period = "):
            mb.SlottedEpoch(9, period=bad)
    assert pickle.dumps(epoch) == before
    assert mb.SlottedEpoch(9, period=1.0) != mb.SlottedEpoch(9)
