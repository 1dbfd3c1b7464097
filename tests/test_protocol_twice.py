"""Deciding twice at one moment, with nothing changed, changes nothing: every epoch, every rule."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from tests.stateful import KINDS
from tests.strategies import MIN_MODES, OBJECTIVES

POLICIES = ("flex", "fair", "fifo", "wdeq", "hesrpt")
STEADY = ("sum:response", "sum:completion", "sum:stretch", "sum:lateness")
EPOCHS = [kind for kind in KINDS if not kind.name.startswith("scheduler") and kind.name != "state"]


def held(decision):
    """The slots of those that have some."""
    return {
        job: np.ravel(slots).tolist()
        for job, slots in zip(decision.ids.tolist(), decision.slots, strict=True)
        if np.any(slots)
    }


def stays(epoch, now, **more):
    """Later decisions at this moment are the first one, in a copy, too."""
    first = held(epoch.decide(now, **more))
    for later in (epoch, copy.deepcopy(epoch), epoch):
        again = later.decide(now, **more)
        assert held(again) == first
        assert not again.changed.any()


@st.composite
def options(draw):
    """An objective and the options of an epoch of jobs."""
    chosen = {"min_mode": draw(st.sampled_from(MIN_MODES))}
    if chosen["min_mode"] != "start" and draw(st.integers(0, 4)) == 0:
        chosen["predictable"] = draw(st.sampled_from([0.01, 0.1, 4.0]))
        return draw(st.sampled_from(STEADY)), "flex", chosen
    policy = draw(st.sampled_from(POLICIES))
    chosen["period"] = draw(st.sampled_from([0.0, 0.0, 0.3, 1.0, 7.3, 1e3]))
    if policy == "flex":
        chosen["hysteresis"] = draw(st.sampled_from([0.0, 0.1, 0.5, 3.0]))
        chosen["effort"] = draw(st.sampled_from([None, None, 0, 10]))
    return draw(st.sampled_from(OBJECTIVES)), policy, chosen


@st.composite
def columns(draw, slots, programs=True):
    """New jobs: of known programs, with speed-ups, or neither."""
    count = draw(st.integers(1, 6))

    def column(values):
        return draw(st.lists(values, min_size=count, max_size=count))

    low = column(st.integers(0, 3))
    table = {
        "work": column(st.one_of(st.sampled_from([0.0, 1.0, 9.0]), st.floats(0.1, 90.0))),
        "min_slots": low,
        "max_slots": [a + b for a, b in zip(low, column(st.integers(1, slots)), strict=True)],
        "weight": column(st.sampled_from([0.0, 0.5, 1.0, 3.0])),
        "deadline": column(st.floats(1.0, 60.0)),
        "sla": [[(at, 1.0), (at + 5.0, 2.0)] for at in column(st.floats(1.0, 60.0))],
    }
    how = draw(st.integers(0, 3))
    if how == 1 and programs:
        table["program"] = column(st.integers(-1, 2))
    if how == 2:
        table["speedup"] = column(st.floats(0.3, 1.0))
    return table


@given(st.data())
def test_an_epoch_of_jobs(data):
    slots = data.draw(st.integers(1, 12), "slots")
    objective, policy, chosen = data.draw(options(), "options")
    epoch = mb.Epoch(slots, objective, policy, **chosen)
    now, ids = 0.0, []
    for _ in range(data.draw(st.integers(1, 4), "steps")):
        ids += epoch.add(
            **data.draw(columns(slots, chosen["min_mode"] != "start"), "jobs"), arrival=now
        ).tolist()
        if data.draw(st.booleans(), "ends"):
            epoch.finish([ids.pop(0)])
        left = data.draw(st.sampled_from([None, 0.0, 3.5]), "left")
        if left is not None and ids:
            epoch.update(ids[-1:], work=[left])
        more = {}
        if data.draw(st.booleans(), "other slots"):
            more["slots"] = data.draw(st.integers(0, 12))
        if "predictable" not in chosen and data.draw(st.booleans(), "other period"):
            more["period"] = data.draw(st.sampled_from([0.0, 2.0]))
        stays(epoch, now, **more)
        now += data.draw(st.sampled_from([0.0, 0.7, 4.0]), "pause")


@pytest.mark.parametrize("kind", EPOCHS, ids=lambda kind: kind.name)
@given(st.integers(0, 10**6), st.integers(1, 14), st.sampled_from([None, 1.3]))
def test_every_epoch(kind, seed, steps, period):
    epoch, memory, _ = kind.start(seed, 0)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        kind.step(epoch, memory, rng)
    stays(epoch, memory["now"], period=period)


def test_calls_that_change_nothing_are_no_change():
    """Gangs of one program with hysteresis, where a decision anew would move slots."""
    epoch = mb.Epoch(100, "sum:stretch", "flex", 0.5, min_mode="gang", period=1)
    ids = epoch.add(
        [60.0, 82.0, 43.7],
        min_slots=[2, 1, 2],
        max_slots=[5, 1, 2],
        weight=[1, 1, 0.5],
        program=[2, 2, 2],
    )
    epoch.decide(2.0)
    first = epoch.decide(2.0, slots=3)
    plan = first.plan()
    epoch.update(ids, work=[60.0, 82.0, 43.7], weight=[1, 1, 0.5])
    epoch.add([])
    epoch.finish([])
    assert held(epoch.decide(2.0, slots=3, period=1.0)) == held(first)
    assert first.plan() == plan
