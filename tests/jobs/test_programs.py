"""Speed-ups that an epoch learns by program."""

import copy
import pickle

import numpy as np
import pytest

import malleable as mb

TABLE = [1.0, 1.8, 2.0, 3.4, 3.5, 3.6, 3.7, 6.0]


def loop(epoch, works, told, start=0.0, seconds=1.0):
    """Jobs of one program with that table, until all have ended; returns their ends."""
    kwargs = {"program": 3} if told is None else {"speedup": [told] * len(works)}
    ids = epoch.add(works, max_slots=8, arrival=start, **kwargs)
    left, ends = dict(zip(ids.tolist(), works, strict=True)), {}
    now = start
    while left and now < start + 400.0:
        decision = epoch.decide(now)
        now += seconds
        for job, slots in zip(decision.ids.tolist(), decision.slots.tolist(), strict=True):
            left[job] -= ([0.0, *TABLE][min(slots, 8)]) * seconds
            if left[job] <= 0.0:
                ends[job] = now - start
                del left[job]
                epoch.finish([job])
        if left:
            epoch.update(list(left), work=list(left.values()))
    return ends


def test_rates_are_those_that_jobs_had():
    epoch = mb.Epoch(slots=12)
    assert epoch.rates(3, 4) == pytest.approx([1.0, 2**0.8, 3**0.8, 4**0.8])
    loop(epoch, [100.0, 60.0, 80.0, 30.0, 200.0], None)
    rates = epoch.rates(3, 8)
    seen = [k for k in range(8) if rates[k] == pytest.approx(TABLE[k])]
    assert len(seen) >= 3
    assert (np.diff(rates) >= 0.0).all()
    assert epoch.rates(4, 2)[1] == pytest.approx(2**0.8)


def test_what_is_learnt_serves_those_who_come_later():
    works = [100.0, 60.0, 80.0, 30.0, 200.0, 90.0]

    def mean(epoch, told, start=0.0):
        return np.mean(list(loop(epoch, works, told, start).values()))

    known = mean(mb.Epoch(slots=12), TABLE)
    epoch = mb.Epoch(slots=12)
    first = mean(epoch, None)
    later = mean(epoch, None, start=1000.0)
    assert known <= later < first
    assert later <= 1.1 * known


def test_copies_know_the_same():
    epoch = mb.Epoch(slots=12)
    loop(epoch, [30.0, 20.0, 9.0], None)
    for twin in (copy.deepcopy(epoch), pickle.loads(pickle.dumps(epoch))):
        assert twin == epoch
        assert twin.rates(3, 8).tolist() == epoch.rates(3, 8).tolist()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"program": -2}, r"program.* = -2"),
        ({"program": 1.5}, r"program.* = 1.5"),
        ({"program": [1, 2]}, "program"),
        ({"program": 1, "speedup": 0.5}, "program: speedup= is given"),
    ],
)
def test_wrong_programs_change_nothing(options, says):
    epoch = mb.Epoch(slots=4)
    before = copy.deepcopy(epoch)
    with pytest.raises(ValueError, match=says):
        epoch.add([3.0], **options)
    assert epoch == before
    assert epoch.add([3.0, 2.0], program=[0, -1]).tolist() == [0, 1]
