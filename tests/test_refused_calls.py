"""A wrong call changes nothing: every method of every object that keeps state, every argument wrong in turn.

The error is a ValueError that begins with the argument as the caller spells it.
"""

import copy
import re

import numpy as np
import pytest

import malleable as mb
from tests.stateful import KINDS, flow_table

NAN, INF = float("nan"), float("inf")
HUGE = 10**400

TIME = ["x", None, NAN, INF, -INF, [1.0, 2.0], HUGE, 1j]
CAPACITIES = ["x", 2.7, NAN, INF, -1, True, 2**60, [3], HUGE]
SLOTS = [*CAPACITIES, 0]
PAIRS = [3, "xy", (3,), (3, 3, 3), [[1, 1]], {1, 2}, *([3, n] for n in CAPACITIES)]
IDS = [
    [99],
    [-1],
    [2**70],
    [0.5],
    ["x"],
    [NAN],
    None,
    lambda ids: [ids[0], ids[0]],
    lambda ids: [ids[0], 99],
    lambda ids: [[ids[0]]],
]
# The first column of a table may have any length, and has no scalar to be spread.
FIRST = ["x", ["x", 1], [NAN, 1.0], [[1.0, 2.0]], [1j, 1.0], [HUGE, 1], [[1], [1, 2]]]
NUMBERS = [*FIRST, [1.0], [1, 2, 3], NAN]
NEGATIVE, FRACTIONS = [[1.0, -1.0], -1.0], [[1.5, 1], 2.7]
AMOUNTS = [*NUMBERS, *NEGATIVE, [1.0, INF]]
COUNTS = [*NUMBERS, *NEGATIVE, *FRACTIONS]
LIMITS = [*COUNTS, [1, 0], 0]  # at least 1
DEADLINES = [*NUMBERS, [1.0, -INF]]
STEPS = [
    "x",
    [[(1, 2)]],
    [[(NAN, 1)], None],
    [[(2, 1), (1, 2)], None],
    [[(1,)], None],
    3,
]


def two(ids):
    return ids[:2]


def table(count=2):
    return mb.ClusterJobs([2] * count, 3.0, [1] * count, 2.0, user=["ann"] * count)


# Class and method: a call that is right, and what is wrong for each argument. Callables get the ids.
CALLS = {
    (mb.Epoch, "add"): (
        {"work": [1.0, 2.0]},
        {
            "work": [*FIRST, [-1.0]],
            "arrival": [*NUMBERS, [0.0, INF]],
            "min_slots": COUNTS,
            "max_slots": [each for each in LIMITS if "nan" not in str(each)],  # none
            "weight": AMOUNTS,
            "deadline": [each for each in DEADLINES if "nan" not in str(each)],  # none
            "sla": STEPS,
            "size": AMOUNTS,
            "kind": ["tardi", b"sla", 3, ["sla"], ["sla", "Sla"], [None, 2], ["custom", None]],
            "program": ["x", [1.5, 1], [-2, 1], [2**70, 1], [1], NAN],
        },
    ),
    (mb.Epoch, "rates"): (
        {"program": 1, "most": 4},
        {"program": ["x", None, -1, 1.5, NAN], "most": ["x", None, 0, -1, 1.5, NAN, 2**70]},
    ),
    (mb.Epoch, "update"): (
        {"ids": two},
        {
            "ids": IDS,
            "work": AMOUNTS,
            "min_slots": [*COUNTS, [1, 99]],
            "max_slots": LIMITS,
            "weight": AMOUNTS,
            "deadline": DEADLINES,
            "sla": STEPS,
        },
    ),
    (mb.Epoch, "finish"): ({"ids": two}, {"ids": IDS}),
    (mb.Epoch, "remove"): ({"ids": two}, {"ids": IDS}),
    (mb.Epoch, "decide"): (
        {"now": 1e6, "slots": 9},
        {"now": [*TIME, 0.0], "slots": [slots for slots in SLOTS if slots != 0]},
    ),
    (mb.FlowEpoch, "add"): (
        {"flows": mb.Flows([[{"name": "a", "work": 1}, {"work": 2, "after": ["a"]}]])},
        {
            "flows": [3, None, [[{"work": 1}]], mb.Jobs([1.0])],
        },
    ),
    (mb.FlowEpoch, "rates"): (
        {"program": 1, "most": 4},
        {"program": ["x", None, -1, 1.5, NAN], "most": ["x", None, 0, -1, 1.5, NAN, 2**70]},
    ),
    (mb.FlowEpoch, "update"): (
        {"ids": two},
        {
            "ids": IDS,
            "work": AMOUNTS,
            "max_slots": LIMITS,
            "flows": [99, -1, 1.5, "x", [1, 1]],
        },
    ),
    (mb.FlowEpoch, "finish"): ({"ids": two}, {"ids": IDS}),
    (mb.FlowEpoch, "remove"): (
        {"ids": two},
        {"ids": IDS, "flows": [*IDS[:7], [1, 1], [1, 99], [[1]]]},
    ),
    (mb.FlowEpoch, "decide"): (
        {"now": 1e6, "slots": 9},
        {"now": [*TIME, 0.5], "slots": [s for s in SLOTS if s != 0]},
    ),
    (mb.TandemEpoch, "add"): (
        {"map": [1.0, 2.0], "shuffle": [1.0, 2.0]},
        {
            "map": [*FIRST, [1.0, -1.0], None],
            "shuffle": [*AMOUNTS, None],
            "arrival": [*NUMBERS, [0.0, INF]],
            "ready": AMOUNTS,
            "max_map_slots": LIMITS,
            "max_shuffle_slots": LIMITS,
        },
    ),
    (mb.TandemEpoch, "update"): (
        {"ids": two},
        {
            "ids": IDS,
            "map": [*NUMBERS, [0.0, INF]],
            "shuffle": [*NUMBERS, [0.0, -INF]],
            "ready": AMOUNTS,
            "max_map_slots": LIMITS,
            "max_shuffle_slots": LIMITS,
        },
    ),
    (mb.TandemEpoch, "finish"): ({"ids": two}, {"ids": IDS}),
    (mb.TandemEpoch, "remove"): ({"ids": two}, {"ids": IDS}),
    (mb.TandemEpoch, "decide"): (
        {"now": 1e6, "slots": (7, 0)},
        {"now": [*TIME, -1e6], "slots": PAIRS},
    ),
    (mb.SlottedEpoch, "add"): (
        {"maps": [1, 2], "reduce_left": [1.0, 2.0]},
        {
            "maps": [*FIRST, [1, -1], [1.5, 1], None, [1, 2**41]],
            "reduce_left": [*AMOUNTS, None],
            "arrival": [*NUMBERS, [0.0, INF], [0.0, 1e300]],
            "map_left": AMOUNTS,
            "reduces": [*COUNTS, None],
            "running": [*COUNTS, None],
        },
    ),
    (mb.SlottedEpoch, "update"): (
        {"ids": two},
        {
            "ids": IDS,
            "maps": [*COUNTS, [1, 2**41]],
            "reduces": COUNTS,
            "running": COUNTS,
            "map_left": AMOUNTS,
            "reduce_left": AMOUNTS,
        },
    ),
    (mb.SlottedEpoch, "finish"): ({"ids": two}, {"ids": IDS}),
    (mb.SlottedEpoch, "remove"): ({"ids": two}, {"ids": IDS}),
    (mb.SlottedEpoch, "decide"): (
        {"now": 1e6, "slots": 0},
        {"now": [*TIME, -1e6], "slots": CAPACITIES},
    ),
}


def used(cls):
    """An object of the class that has been used for a while, and ids of its jobs."""
    name = {mb.Epoch: "epoch", mb.FlowEpoch: "flow", mb.TandemEpoch: "tandem-max-srpt"}
    name |= {mb.SlottedEpoch: "slotted-asrpt"}
    kind = next(kind for kind in KINDS if kind.name == name[cls])
    kept, memory, rng = kind.start(11, steps=25)
    if cls is mb.FlowEpoch:
        kept, memory, rng = kind.make(), {"ids": []}, np.random.default_rng(1)
        memory["ids"] = kept.add(flow_table(rng, 0.0)).jobs.tolist()
        memory["ids"] += kept.add(mb.Flows([[{"work": 2}]] * 3)).jobs.tolist()
        kept.decide(1.0)
        kept.finish(memory["ids"][:1])
        del memory["ids"][0]
        kept.finish(memory["ids"][-1:])  # its flow has ended, which is still to be told
        del memory["ids"][-1]
    return kept, memory


def filled(value, ids):
    return value(ids) if callable(value) else value


def ready(cls, name):
    """An object, ids of its jobs, and arguments that are right."""
    kept, memory = used(cls)
    ids = memory["running"] if name == "ended" and "running" in memory else memory["ids"]
    return kept, ids, {key: filled(value, ids) for key, value in CALLS[cls, name][0].items()}


CASES = [
    pytest.param(cls, name, argument, id=f"{cls.__name__}.{name}-{argument}")
    for (cls, name), (_, wrongs) in CALLS.items()
    for argument in wrongs
]


@pytest.mark.parametrize(("cls", "name", "argument"), CASES)
def test_a_wrong_call_changes_nothing(cls, name, argument):
    kept, ids, right = ready(cls, name)
    before = copy.deepcopy(kept)
    if argument == "jobs" and cls is mb.Epoch:
        del right["work"]
    for wrong in CALLS[cls, name][1][argument]:
        value = filled(wrong, ids)
        with pytest.raises(ValueError) as caught:
            pytest.fail(
                f"{argument}={value!r} -> {getattr(kept, name)(**right | {argument: value})!r}"
            )
        assert kept == before, value
        assert re.match(rf"{argument}\b", str(caught.value)), (value, caught.value)


@pytest.mark.parametrize(("cls", "name"), CALLS)
def test_the_call_that_is_right_is_right(cls, name):
    """Otherwise the wrong ones could fail for another reason."""
    kept, _, right = ready(cls, name)
    getattr(kept, name)(**right)


def test_every_method_is_called():
    for cls in (mb.Epoch, mb.FlowEpoch, mb.TandemEpoch, mb.SlottedEpoch):
        methods = {
            name for name in dir(cls) if not name.startswith("_") and callable(getattr(cls, name))
        }
        assert {name for owner, name in CALLS if owner is cls} == methods
