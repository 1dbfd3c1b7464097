"""Decisions of map and shuffle stations that are held for a period."""

import copy
import math
import pickle

import numpy as np
import pytest

import malleable as mb


def test_whole_slot_periods_and_left_over_slots():
    epoch = mb.TandemEpoch((10, 10), period=1.0)
    # Of 10 map slots the first job needs 2 for the 1.5 slot-seconds that it has, the second one 4.
    first, second = epoch.add(map=[0.15, 0.4], shuffle=[0.0, 0.0])
    decision = epoch.decide(0.0)
    assert dict(zip(decision.ids.tolist(), decision.slots[:, 0].tolist(), strict=True)) == {
        int(first): 4,
        int(second): 6,
    }
    assert decision.share[:, 0].tolist() == [0.4, 0.6]
    assert [ids.tolist() for ids in decision.order] == [[first, second], []]
    assert epoch.decide(0.0, period=0.0).slots[:, 0].tolist() == [
        10,
        0,
    ]  # the second lost its slots
    assert [len(ids) for ids in epoch.decide(0.0, period=0.0).order] == [0, 0]


def test_shuffle_slots_follow_what_becomes_ready():
    epoch = mb.TandemEpoch((10, 10), period=1.0)
    # It maps 4 of its 10 seconds of the station in 10 periods: a tenth of its shuffle work a period.
    ids = epoch.add(map=[10.0], shuffle=[3.0], max_map_slots=[10])
    assert epoch.decide(0.0).slots.tolist() == [[10, 3]]
    epoch.update(ids, map=[0.0], shuffle=[0.25])
    assert epoch.decide(10.0).slots.tolist() == [[0, 10]]
    epoch.add(map=[1.0], shuffle=[0.0])
    epoch.add(map=[0.0], shuffle=[0.7])
    decision = epoch.decide(11.0)
    assert dict(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True)) == {
        int(ids[0]): [0, 3],
        int(ids[0]) + 1: [10, 0],
        int(ids[0]) + 2: [0, 7],
    }


def test_a_phase_that_overruns_has_a_quarter_of_its_work_left():
    epoch = mb.TandemEpoch((100, 1), period=1.0)
    ids = epoch.add(map=[0.3, 5.0], shuffle=[0.0, 0.0])
    epoch.update(ids[:1], map=[-0.1])  # 0.4 done
    assert epoch.decide(1.0).slots[:, 0].tolist() == [10, 90]


@pytest.mark.parametrize("policy", ["max-srpt", "split-srpt", "two-srpt", "fcfs"])
def test_slots_and_maxima_are_kept(policy):
    rng = np.random.default_rng(4)
    for _ in range(60):
        n, period = int(rng.integers(1, 9)), float(10.0 ** rng.uniform(-2, 2))
        slots = tuple(int(s) for s in rng.integers(0, 30, 2))
        epoch = mb.TandemEpoch(slots, policy)
        most = rng.integers(1, 12, (2, n))
        ids = epoch.add(*rng.lognormal(0, 1, (2, n)), ready=rng.lognormal(-2, 1, n),
                        max_map_slots=most[0], max_shuffle_slots=most[1])  # fmt: skip
        decision = epoch.decide(0.0, period=period)
        assert (decision.slots.sum(axis=0) <= slots).all()
        place = [ids.tolist().index(job) for job in decision.ids]
        assert (decision.slots <= most[:, place].T).all() and (decision.slots >= 0).all()
        assert sorted(decision.order[0]) == sorted(ids)


def test_the_period_is_kept_and_checked_first():
    epoch = mb.TandemEpoch((9, 5), period=3.0)
    epoch.add(map=[2.0, 1.0], shuffle=[1.0, 1.0])
    epoch.decide(0.0)
    for twin in (copy.deepcopy(epoch), pickle.loads(pickle.dumps(epoch))):
        assert twin == epoch
        assert twin.decide(3.0) == copy.deepcopy(epoch).decide(3.0)
    before = pickle.dumps(epoch)
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="^period = "):
            epoch.decide(3.0, period=bad)
        with pytest.raises(ValueError, match="^period = "):
            mb.TandemEpoch((9, 5), period=bad)
    assert pickle.dumps(epoch) == before
    assert mb.TandemEpoch((9, 5), period=1.0) != mb.TandemEpoch((9, 5))
