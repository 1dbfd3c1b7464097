"""Wrong input to the epoch object changes nothing."""

import copy
import math
import re

import numpy as np
import pytest

import malleable as mb
from malleable.validation import ALL_SLOTS
from tests.jobs.epoch_model import INF


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"slots": -1}, "slots = -1"),
        ({"slots": 2.5}, "slots = 2.5"),
        ({"slots": 2**50 + 1}, "slots"),
        ({"objective": "sum:respons"}, "objective = 'sum:respons'"),
        ({"objective": "sum:custom"}, "objective custom"),
        ({"objective": ["sum:tardy", "sum:sla"]}, "objective"),
        ({"policy": "flx"}, "policy = 'flx'"),
        ({"min_mode": "gangs"}, "min_mode = 'gangs'"),
        ({"hysteresis": -0.5}, "hysteresis"),
        ({"hysteresis": math.nan}, "hysteresis"),
        ({"hysteresis": INF}, "hysteresis"),
        ({"hysteresis": "some"}, "hysteresis"),
        ({"effort": -1}, "effort = -1"),
        ({"effort": 0.5}, "effort = 0.5"),
        ({"policy": "fair", "hysteresis": 0.5}, "hysteresis"),
        ({"policy": "fifo", "effort": 3}, ".*effort"),
    ],
)
def test_bad_options(options, field):
    with pytest.raises(ValueError, match=f"^{field}") as error:
        mb.Epoch(**{"slots": 4, **options})
    assert "\n" not in str(error.value)


def unchanged(epoch, now=1.0):
    """What a decision and its plan say, to compare before and after."""
    decision = epoch.decide(now)
    plan = decision.plan()
    columns = ("work", "size", "weight", "deadline", "arrival", "min_slots", "max_slots")
    return (
        len(epoch),
        epoch.slots,
        decision.ids.tolist(),
        decision.slots.tolist(),
        [getattr(plan.jobs, name).tolist() for name in columns],
        plan.jobs.sla,
        plan.value,
    )


UPDATES = [
    ({"ids": [0, 7], "work": [1, 1]}, "ids[1] = 7: no such job"),
    ({"ids": [-1], "work": 1}, "ids[0] = -1: no such job"),
    ({"ids": [1], "work": 1}, "ids[0] = 1: no such job"),
    ({"ids": [2**63], "work": 1}, "ids[0] = "),
    ({"ids": [0.5], "work": 1}, "ids"),
    ({"ids": ["0"], "work": 1}, "ids"),
    ({"ids": [True], "work": 1}, "ids"),
    ({"ids": [[0, 2]], "work": 1}, "ids"),
    ({"ids": [0, 2], "work": [1, math.nan]}, "work[1] = nan"),
    ({"ids": [0, 2], "work": [-1.0, 2]}, "work[0] = -1"),
    ({"ids": [0, 2], "work": [1, INF]}, "work[1] = inf"),
    ({"ids": [0, 2], "work": [1.0]}, "work has "),
    ({"ids": [0, 2], "work": []}, "work has "),
    ({"ids": [0, 2], "work": [[1.0, 2.0]]}, "work"),
    ({"ids": [0, 2], "work": "ab"}, "work"),
    ({"ids": [0, 2], "work": 7, "weight": [1, -1]}, "weight[1] = -1"),
    ({"ids": [0, 2], "work": 7, "weight": [math.nan, 1]}, "weight[0] = nan"),
    ({"ids": [0, 2], "work": 7, "deadline": [1, math.nan]}, "deadline[1] = nan"),
    ({"ids": [0, 2], "work": 7, "deadline": [-INF, 1]}, "deadline[0] = -inf"),
    ({"ids": [0, 2], "work": 7, "min_slots": [0, -5]}, "min_slots[1] = -5"),
    ({"ids": [0, 2], "work": 7, "min_slots": [0, 99]}, "min_slots[1] = 99"),
    ({"ids": [0, 2], "work": 7, "min_slots": [0.5, 1]}, "min_slots[0] = 0.5"),
    ({"ids": [0, 2], "work": 7, "min_slots": 3, "max_slots": [9, 2]}, "min_slots[1] = 3"),
    ({"ids": [0, 2], "work": 7, "min_slots": 0, "max_slots": [9, 0]}, "max_slots[1] = 0"),
    ({"ids": [0, 2], "work": 7, "min_slots": 0, "max_slots": [9, math.nan]}, "max_slots[1] = nan"),
    ({"ids": [0, 2], "work": 7, "max_slots": [9, 9, 9]}, "max_slots has "),
]


@pytest.mark.parametrize(("call", "says"), UPDATES)
@pytest.mark.parametrize("objective", ["sum:stretch", "max:lateness"])
def test_a_wrong_update_changes_nothing(objective, call, says):
    epoch = mb.Epoch(9, objective)
    ids = epoch.add(
        [5.0, 1.0, 7.0],
        max_slots=[4, 9, 8],
        min_slots=1,
        deadline=[3, 2, 4],
        sla=[[(1, 1)], [], []],
    )
    epoch.remove(ids[1:2])
    before = unchanged(epoch)
    with pytest.raises(ValueError, match=re.escape(says)) as error:
        epoch.update(**call)
    assert "\n" not in str(error.value)
    assert unchanged(epoch) == before


def test_other_wrong_calls_change_nothing():
    epoch = mb.Epoch(9, "sum:lateness")
    epoch.add([5.0, 7.0], deadline=[3, 4])
    before = unchanged(epoch)
    wrong = [
        (lambda: epoch.remove([0, 9]), "ids[1] = 9: no such job"),
        (lambda: epoch.remove([0.0]), "ids"),
        (lambda: epoch.add([1.0, -2.0], deadline=1), "work[1] = -2"),
        (lambda: epoch.add([1.0, 2.0], deadline=[1, None]), "deadline[1] = inf: lateness"),
        (lambda: epoch.add([1.0], deadline=1, size=[math.nan]), "size[0] = nan"),
        (lambda: epoch.add([1.0], deadline=1, min_slots=4, max_slots=3), "min_slots[0] = 4"),
        (lambda: epoch.add(mb.Jobs([1.0])), "deadline[0] = inf: lateness"),
        (lambda: epoch.update([0], deadline=INF), "deadline[0] = inf: lateness"),
        (lambda: epoch.decide(math.nan), "now = nan"),
        (lambda: epoch.decide("noon"), "now = 'noon'"),
        (lambda: epoch.decide(1.0, slots=-1), "slots = -1"),
        (lambda: epoch.decide(0.5), "now = 0.5: before 1.0"),
        (lambda: epoch.finish([0, 9]), "ids[1] = 9: no such job"),
        (lambda: epoch.decide(1.0, slots=2.5), "slots = 2.5"),
    ]
    for call, says in wrong:
        with pytest.raises(ValueError, match=re.escape(says)) as error:
            call()
        assert "\n" not in str(error.value)
        assert unchanged(epoch) == before


def test_an_arrival_in_the_future_is_an_error_and_changes_nothing():
    epoch = mb.Epoch(4)
    epoch.add([2.0, 3.0])
    before = unchanged(epoch)
    ids = epoch.add([1.0, 1.0], arrival=[1.0, 8.0])
    with pytest.raises(ValueError, match=r"arrival.*3.*8.*now = 1"):
        epoch.decide(1.0, slots=7)
    assert epoch.slots == 4
    epoch.remove(ids)
    assert unchanged(epoch) == before
    epoch.add([1.0], arrival=8.0)
    assert epoch.decide(8.0).slots.tolist() == [0, 0, 4]


def test_a_job_named_twice():
    epoch = mb.Epoch(4)
    ids = epoch.add([2.0, 3.0, 5.0])
    before = copy.deepcopy(epoch)
    for call in (lambda: epoch.update([0, 0], work=[8.0, 9.0]), lambda: epoch.remove([ids[0]] * 2)):
        with pytest.raises(ValueError, match=r"ids\[1\] = 0: named twice"):
            call()
        assert epoch == before


def test_scalars_and_none_work_as_in_tables():
    epoch = mb.Epoch(4, "sum:tardiness")
    epoch.add([2.0, 3.0], deadline=[1, None])
    epoch.update([0, 1], work=5, max_slots=np.uint64(2**63), deadline=[None, 2])
    epoch.update(1, weight=7)
    jobs = epoch.decide(0.0).plan().jobs
    assert jobs.work.tolist() == [5.0, 5.0]
    assert jobs.max_slots.tolist() == [ALL_SLOTS] * 2
    assert jobs.deadline.tolist() == [INF, 2.0]
    assert jobs.weight.tolist() == [1.0, 7.0]
