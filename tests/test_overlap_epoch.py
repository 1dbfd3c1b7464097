"""Overlapping phases in a loop: the simulator's own decisions, limits, and errors."""

import threading

import numpy as np
import pytest

import malleable as mb
from malleable.simulation.tandem import core_queue

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
    epoch = mb.OverlapEpoch(policy, 10, 10, conserving=conserving)
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
        found = {back[int(k)]: (m, s) for k, m, s in zip(d.ids, d.map, d.shuffle, strict=True)}
        assert found == shares(*queue.running())
        assert d.map_slots.sum() <= 10
        assert d.shuffle_slots.sum() <= 10


def test_what_is_ready_follows_from_progress():
    epoch = mb.OverlapEpoch("max-srpt", 10, 10)
    (job,) = epoch.add([4.0], [2.0])
    d = epoch.decide(0.0)
    assert (d.map[0], d.shuffle[0]) == (1.0, 0.5)  # it can shuffle what it maps
    assert (d.map_slots[0], d.shuffle_slots[0]) == (10, 5)
    epoch.update([job], map=2.0, shuffle=1.5)  # mapped half, shuffled a quarter
    assert epoch.decide(1.0).shuffle[0] == 1.0
    epoch.update([job], map=0.0)
    assert epoch.decide(2.0).map[0] == 0.0
    epoch.update([job], shuffle=0.0)
    assert len(epoch.decide(3.0).ids) == 0


def test_limits_go_down_the_order():
    epoch = mb.OverlapEpoch("max-srpt", 10, 4)
    ids = epoch.add([1, 2, 3], [1, 2, 3], max_map_slots=[3, 5, 9], max_shuffle_slots=[1, 1, 9])
    d = epoch.decide()
    assert d.ids.tolist() == ids.tolist()
    assert d.map_slots.tolist() == [3, 5, 2]
    assert d.shuffle_slots.tolist() == [1, 1, 1]  # the third maps on a fifth of its station
    assert epoch.decide(map_slots=3).map_slots.tolist() == [3]


def test_overrun_estimates():
    for how, first in (("first", 0), ("bounce", 1)):
        epoch = mb.OverlapEpoch("max-srpt", underestimates=how)
        ids = epoch.add([2.0, 1.5], [0.0, 0.0])
        epoch.update(ids[:1], map=-1.9)  # runs on, though it said 2
        assert epoch.decide().ids[0] == ids[first]


def test_fcfs_goes_by_arrival():
    epoch = mb.OverlapEpoch("fcfs")
    ids = epoch.add([1, 1], [1, 1], arrival=[5, 2])
    assert epoch.decide(5.0).ids.tolist() == [ids[1]]
    with pytest.raises(ValueError, match="a job arrives"):
        epoch.decide(4.0)
    epoch.remove(ids[:1])
    assert epoch.decide(4.0).ids.tolist() == [ids[1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"map": [1, np.nan]}, "map[1] = nan"),
        ({"shuffle": [1, np.inf]}, "shuffle[1] = inf"),
        ({"ready": [-1, 0]}, "ready[0] = -1"),
        ({"max_map_slots": [1, 0.5]}, "max_map_slots[1] = 0.5"),
        ({"map": [1, 2, 3]}, "map has 3 entries but there are 2 jobs"),
        ({"map": ["a", "b"]}, "map[0] = 'a': not a number"),
    ],
)
def test_wrong_input_changes_nothing(change, message):
    epoch = mb.OverlapEpoch()
    ids = epoch.add([1, 2], [1, 2])
    before = epoch.decide()
    with pytest.raises(ValueError, match="^" + message.replace("[", r"\[")):
        epoch.update(ids, **change)
    if "map" in change and len(change["map"]) == 2:
        with pytest.raises(ValueError, match="^map"):
            epoch.add(change["map"], [1, 2])
    with pytest.raises(ValueError, match=r"^ids\[1\] = 99"):
        epoch.remove([ids[0], 99])
    after = epoch.decide()
    assert len(epoch) == 2
    assert before.ids.tolist() == after.ids.tolist()


def test_ids_and_columns_are_checked_as_of_every_epoch():
    epoch = mb.OverlapEpoch()
    epoch.add([1, 2], 3.0)
    with pytest.raises(ValueError, match=r"^ids\[0\] = 9223372036854775808: no such job"):
        epoch.remove(np.array([2**63], dtype=np.uint64))
    with pytest.raises(ValueError, match="^map: expected numbers, rows of one length"):
        epoch.add([[1.0], [1.0, 2.0]], 1.0)
    with pytest.raises(ValueError, match="^map has 2 dimensions, expected 1"):
        epoch.add([[1.0, 2.0]], 1.0)
    assert len(epoch) == 2


def test_wrong_words():
    with pytest.raises(ValueError, match="policy"):
        mb.OverlapEpoch("ps")
    with pytest.raises(ValueError, match="underestimates"):
        mb.OverlapEpoch(underestimates="last")
    with pytest.raises(ValueError, match="slots"):
        mb.OverlapEpoch(map_slots=0)
    with pytest.raises(ValueError, match="add|map"):
        mb.OverlapEpoch().add([-1.0], [1.0])


def test_ids_are_not_reused():
    epoch = mb.OverlapEpoch()
    (first,) = epoch.add(1.0, 1.0)
    epoch.remove([first])
    (second,) = epoch.add(1.0, 1.0)
    assert first != second
    with pytest.raises(ValueError, match="no such job"):
        epoch.update([first], map=[2.0])


def test_one_thread_at_a_time():
    epoch = mb.OverlapEpoch("max-srpt", 100_000, 100_000)
    rng = np.random.default_rng(1)
    size = rng.random(200_000)
    epoch.add(size, size, max_map_slots=1, max_shuffle_slots=1)
    refused, done = [], []

    def loop():
        for _ in range(10):
            try:
                done.append(len(epoch.decide().ids))
            except RuntimeError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=loop) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done
    assert set(done) == {100_000}
    assert all("in use" in text for text in refused)
