"""Loops over flows, phases and time steps say, too, that what keeps coming is more than there is."""

import copy
import pickle

import pytest

import malleable as mb

FAST, SLOW = 1, 3  # periods between two arrivals


def flows(epoch, now):
    rows = [[{"name": "a", "work": 0.5, "max_slots": 1}] for _ in range(3)]
    epoch.add(mb.Flows(rows, arrival=[now] * 3))
    return lambda decision: epoch.finish(decision.ids[decision.slots > 0])


def phases(epoch, now):
    ids = epoch.add(map=[0.05] * 3, shuffle=[0.0] * 3, arrival=now)
    return lambda decision: epoch.finish([k for k in ids.tolist() if k in decision.ids.tolist()])


def tasks(epoch, now):
    ids = epoch.add(maps=[5] * 3, reduce_left=[0.0] * 3, arrival=now)
    return lambda decision: epoch.finish([k for k in ids.tolist() if k in decision.ids.tolist()])


@pytest.mark.parametrize(
    ("make", "come"),
    [
        (lambda: mb.FlowEpoch(2, period=1.0), flows),
        (lambda: mb.TandemEpoch((2, 2), period=1.0), phases),
        (lambda: mb.SlottedEpoch(2, period=4.0), tasks),
    ],
    ids=["flows", "phases", "tasks"],
)
def test_overload_is_told(make, come):
    """Three jobs of a part of a slot-period each come for two slots, every period or every third."""
    for every, said in ((FAST, True), (SLOW, False)):
        epoch, seen, span = make(), [], 4.0 if come is tasks else 1.0
        for call in range(120):
            end = come(epoch, call * span) if call % every == 0 else None
            decision = epoch.decide(call * span)
            seen.append(decision.overloaded)
            if end:
                end(decision)
        assert seen[-1] is said
        assert not any(seen[:10])
        assert not epoch.decide(120 * span, period=0.0).overloaded
        for other in (copy.deepcopy(epoch), pickle.loads(pickle.dumps(epoch))):
            assert other.decide(121 * span).overloaded is said
