"""Overlapping phases in a loop: the simulator's own decisions, limits, and errors."""

import numpy as np
import pytest

import malleable as mb
from malleable.tandem.simulate import core_queue

POLICIES = ("fcfs", "max-srpt", "split-srpt", "two-srpt")


def shares(ids, maps, shuffles):
    return {
        int(job): (pytest.approx(m, abs=1e-9), pytest.approx(s, abs=1e-9))
        for job, m, s in zip(ids, maps, shuffles, strict=True)
        if m + s > 1e-9  # less is rounding
    }


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("conserving", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_decides_as_the_simulator(policy, conserving, seed):
    if policy == "two-srpt" and not conserving:
        pytest.skip("always hands on")
    rng = np.random.default_rng(seed)
    queue = core_queue(policy, conserving=conserving)
    epoch = mb.TandemEpoch((10, 10), policy, conserving=conserving)
    ids, nothing, now = {}, np.empty(0), 0.0
    for job in range(60):
        now += rng.exponential(0.6)
        x, y = rng.lognormal(0, 1, 2)
        columns = [np.array([value]) for value in (now, x, y, 1.0)]
        queue.feed(*columns, nothing, nothing, nothing, nothing)
        ids[job] = int(epoch.add(x, y, arrival=now)[0])
        live, maps, shuffles, ready = queue.state()
        epoch.remove([ids.pop(gone) for gone in set(ids) - set(live.tolist())] or np.empty(0, int))
        rows = [ids[k] for k in live.tolist()]
        if rng.random() < 0.5:
            epoch.update(rows, map=maps, shuffle=shuffles, ready=ready)
        else:  # what is ready follows from the progress
            epoch.update(rows, map=maps, shuffle=shuffles)
            epoch.update(rows, ready=ready)
        assert len(epoch) == len(live)
        d = epoch.decide(now)
        back = {handle: k for k, handle in ids.items()}
        found = {
            back[int(k)]: tuple(share)
            for k, share in zip(d.ids, d.share, strict=True)
            if any(share)
        }
        assert found == shares(*queue.running())
        assert (d.slots.sum(axis=0) <= 10).all()


def test_what_is_ready_follows_from_progress():
    epoch = mb.TandemEpoch((10, 10))
    (job,) = epoch.add([4.0], [2.0])
    d = epoch.decide(0.0)
    assert d.share.tolist() == [[1.0, 0.5]]  # it can shuffle what it maps
    assert d.slots.tolist() == [[10, 5]]
    epoch.update([job], map=2.0, shuffle=1.5)  # mapped half, shuffled a quarter
    assert epoch.decide(1.0).share.tolist() == [[1.0, 1.0]]
    epoch.update([job], map=0.0)
    assert epoch.decide(2.0).share.tolist() == [[0.0, 1.0]]
    epoch.update([job], shuffle=0.0)
    d = epoch.decide(3.0)
    assert d.slots.tolist() == [[0, 0]]
    assert d.explain() == [
        "rule max-srpt",
        f"job {job}: 0 map slots (nothing waits), 0 shuffle slots (nothing waits)",
    ]
    assert len(epoch.decide(4.0).ids) == 0


def test_limits_go_down_the_order():
    epoch = mb.TandemEpoch((10, 4))
    ids = epoch.add([1, 2, 3], [1, 2, 3], max_map_slots=[3, 5, 9], max_shuffle_slots=[1, 1, 9])
    d = epoch.decide(0.0)
    assert d.ids.tolist() == ids.tolist()
    assert d.slots.tolist() == [[3, 1], [5, 1], [2, 1]]  # the third maps on a fifth of its station
    assert [line.split(": ")[1] for line in d.explain()[1:]] == [
        "3 map slots (its maximum), 1 shuffle slot (its maximum)",
        "5 map slots (its maximum), 1 shuffle slot (its maximum)",
        "2 map slots (what was left), 1 shuffle slot (as fast as it maps)",
    ]
    d = epoch.decide(0.0, slots=(3, 4))
    assert d.slots[:, 0].tolist() == [3, 0, 0]
    assert (
        d.explain()[2]
        == f"job {ids[1]}: 0 map slots (its place in the order), 0 shuffle slots (nothing waits)"
    )
    assert epoch.slots == (3, 4)


def test_overrun_estimates():
    epoch = mb.TandemEpoch((1, 1))
    ids = epoch.add([2.0, 0.7], [0.0, 0.0])
    for overrun, first in ((0.1, 0), (1.9, 0), (2.0, 1)):  # 0.5 seem to be left, then 1
        epoch.update(ids[:1], map=-overrun)  # runs on, though it said 2
        assert epoch.decide(0.0).ids[0] == ids[first]


def test_fcfs_goes_by_arrival():
    epoch = mb.TandemEpoch((1, 1), "fcfs")
    ids = epoch.add([1, 1], [1, 1], arrival=[5, 2])
    with pytest.raises(ValueError, match="a job arrives"):
        epoch.decide(4.0)
    assert epoch.decide(5.0).ids.tolist() == [ids[1]]
    late = epoch.add(1, 1, arrival=1)  # was there before the decision
    assert epoch.decide(5.0).ids.tolist() == [late[0], ids[1]]
    future = epoch.add(1, 1, arrival=9)
    epoch.remove(future)
    assert epoch.decide(6.0).ids.tolist() == late.tolist()


def test_wrong_words():
    for options, message in (
        ({"policy": "ps"}, "^policy"),
        ({"slots": (1, -1)}, r"^slots\[1\] = -1"),
        ({"slots": 3}, "^slots = 3: expected two numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            mb.TandemEpoch(**{"slots": (1, 1), **options})
