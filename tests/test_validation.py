"""The numbers that are accepted, and that tables stay as they were validated."""

import copy
import gc
import pickle
import sys
import types
import weakref

import numpy as np
import pytest

import malleable as mb
from malleable.cluster.nodes import Cluster
from malleable.cluster.table import ClusterJobs
from malleable.slotted.table import MapReduceJobs
from malleable.tandem.table import MapShuffleJobs
from malleable.validation import WEIGHT, check_amount

TABLES = {
    "jobs": lambda: mb.Jobs([1.0, 2.0], sla=[[(1.0, 2.0)], [(2.0, 3.0)]], name=["a", "b"]),
    "flows": lambda: mb.Flows.from_arrays([0, 1, 3], [1.0, 2.0, 3.0], [0, 0, 0, 1], [1]),
    "map_shuffle": lambda: MapShuffleJobs(
        [1.0, 2.0], [3.0, 4.0], map_estimate=1, shuffle_estimate=2
    ),
    "map_reduce": lambda: MapReduceJobs([1, 2], [[1], [2, 3]], reduce_estimate=[1.0, 5.0]),
    "cluster_jobs": lambda: ClusterJobs([1, 2], [[3.0], [1.0, 2.0]], after=[[], [0]]),
    "cluster": lambda: Cluster([{"count": 2, "slots": 3}]),
}
COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda table: pickle.loads(pickle.dumps(table)),
}


def columns_of(table):
    slots = [name for kind in type(table).__mro__ for name in getattr(kind, "__slots__", ())]
    fields = [*slots, *getattr(table, "COLUMNS", ()), *getattr(table, "__dict__", ())]
    found = {field: getattr(table, field) for field in fields}
    return {field: each for field, each in found.items() if isinstance(each, np.ndarray)}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("way", COPIES)
def test_copies_of_tables_are_read_only(kind, way):
    table = TABLES[kind]()
    again = COPIES[way](table)
    columns, others = columns_of(table), columns_of(again)
    assert columns and columns.keys() == others.keys()
    for field, column in columns.items():
        np.testing.assert_array_equal(column, others[field])
        if kind != "cluster" or way != "copy":
            assert not others[field].flags.writeable, field


def test_a_state_that_makes_no_sense_is_refused():
    wrong = np.array([0, 2**40, 2])
    for kind in ("jobs", "flows"):
        make, (columns, others) = TABLES[kind]().__reduce__()
        assert make(columns, others) == TABLES[kind]()
        with pytest.raises(ValueError, match="sla offsets"):
            make({**columns, "sla_offset": wrong}, others)
    table = TABLES["map_reduce"]()
    made = type(table).__new__(type(table))
    state = table.__reduce_ex__(4)[2]
    with pytest.raises(ValueError, match="offsets|offset"):
        made.__setstate__((None, {**state[1], "task_offset": wrong}))


@pytest.mark.parametrize("kind", ["jobs", "flows"])
def test_views_of_a_table_keep_it_alive_and_stay_read_only(kind):
    table = TABLES[kind]()
    view, want = table.work, table.work.tolist()
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True
    with pytest.raises(AttributeError):
        table.work = view
    alive = weakref.ref(table)
    del table
    gc.collect()
    assert alive() is not None and view.tolist() == want
    del view
    gc.collect()
    assert alive() is None


HUGE = 10**400
JOBS = mb.Jobs([1.0, 2.0])


def masked():
    return np.ma.masked_array([1.0, 2.0], mask=[False, True])


def epoch(**options):
    made = mb.Epoch(4, **options)
    made.add([1.0, 2.0])
    return made


def flow_epoch():
    made = mb.FlowEpoch(4)
    made.add(mb.Flows.from_arrays([0, 2], [1.0, 2.0], [0, 0, 0], []))
    return made


def tandem_epoch():
    made = mb.TandemEpoch((1, 1))
    made.add([1.0, 2.0], [1.0, 1.0])
    return made


def slotted_epoch():
    made = mb.SlottedEpoch(4)
    made.add([1, 2], [0.0, 0.0])
    return made


# Whoever takes numbers, one by one: (field in the message, a call with one number replaced).
NUMBERS = {
    "Jobs.work": ("work", lambda x: mb.Jobs([1.0, x])),
    "Jobs.arrival": ("arrival", lambda x: mb.Jobs([1.0, 1.0], arrival=[0.0, x])),
    "Jobs.weight": ("weight", lambda x: mb.Jobs([1.0, 1.0], weight=[0.0, x])),
    "Jobs.deadline": ("deadline", lambda x: mb.Jobs([1.0, 1.0], deadline=[0.0, x])),
    "Jobs.size": ("size", lambda x: mb.Jobs([1.0, 1.0], size=[1.0, x])),
    "Jobs.sla_time": ("sla", lambda x: mb.Jobs([1.0], sla=[[(x, 1.0)]])),
    "Jobs.sla_penalty": ("sla", lambda x: mb.Jobs([1.0], sla=[[(1.0, x)]])),
    "plan.now": ("now", lambda x: mb.plan(JOBS, 3, now=x)),
    "plan.slots": ("slots", lambda x: mb.plan(JOBS, x)),
    "plan.budget": ("budget", lambda x: mb.plan(JOBS, 3, budget=x)),
    "Flows.work": ("work", lambda x: mb.Flows.from_arrays([0, 1], [x], [0, 0], [])),
    "Flows.arrival": (
        "arrival",
        lambda x: mb.Flows.from_arrays([0, 1], [1], [0, 0], [], arrival=x),
    ),
    "Epoch.hysteresis": ("hysteresis", lambda x: epoch(hysteresis=x)),
    "Epoch.work": ("work", lambda x: epoch().update([0, 1], work=[1.0, x])),
    "Epoch.weight": ("weight", lambda x: epoch().update([0, 1], weight=[1.0, x])),
    "Epoch.deadline": ("deadline", lambda x: epoch().update([0, 1], deadline=[1.0, x])),
    "Epoch.now": ("now", lambda x: epoch().decide(x)),
    "Epoch.slots": ("slots", lambda x: epoch().decide(0.0, slots=x)),
    "FlowEpoch.hysteresis": ("hysteresis", lambda x: mb.FlowEpoch(4, hysteresis=x)),
    "FlowEpoch.work": ("work", lambda x: flow_epoch().update([1], work=[x])),
    "FlowEpoch.now": ("now", lambda x: flow_epoch().decide(x)),
    "TandemEpoch.map": ("map", lambda x: tandem_epoch().add([x], [1.0])),
    "TandemEpoch.shuffle": ("shuffle", lambda x: tandem_epoch().add([1.0], [x])),
    "TandemEpoch.arrival": ("arrival", lambda x: tandem_epoch().add([1.0], [1.0], arrival=x)),
    "TandemEpoch.ready": ("ready", lambda x: tandem_epoch().add([1.0], [1.0], ready=[x])),
    "TandemEpoch.update": ("map", lambda x: tandem_epoch().update([0], map=[x])),
    "TandemEpoch.now": ("now", lambda x: tandem_epoch().decide(x)),
    "SlottedEpoch.step_seconds": ("step_seconds", lambda x: mb.SlottedEpoch(4, step_seconds=x)),
    "SlottedEpoch.left": ("map_left", lambda x: slotted_epoch().update([0], map_left=[x])),
    "SlottedEpoch.now": ("now", lambda x: slotted_epoch().decide(x)),
    "MapShuffleJobs.map": ("map", lambda x: MapShuffleJobs([1.0, x], 1.0)),
    "MapShuffleJobs.weight": ("weight", lambda x: MapShuffleJobs([1.0], 1.0, weight=x)),
    "MapShuffleJobs.arrival": ("arrival", lambda x: MapShuffleJobs([1.0], 1.0, arrival=x)),
    "MapReduceJobs.map": ("map", lambda x: MapReduceJobs([x], [[1]])),
    "MapReduceJobs.reduce": ("reduce", lambda x: MapReduceJobs([1], [[x]])),
    "MapReduceJobs.arrival": ("arrival", lambda x: MapReduceJobs([1], [[1]], arrival=x)),
    "MapReduceJobs.estimate": (
        "reduce_estimate",
        lambda x: MapReduceJobs([1], [[1]], reduce_estimate=[x]),
    ),
    "ClusterJobs.maps": ("maps", lambda x: ClusterJobs([x], 1.0)),
    "ClusterJobs.seconds": ("map_seconds", lambda x: ClusterJobs([1], x)),
    "ClusterJobs.list": ("map_seconds", lambda x: ClusterJobs([1], [[x]])),
    "ClusterJobs.arrival": ("arrival", lambda x: ClusterJobs([1], 1.0, arrival=x)),
    "ClusterJobs.weight": ("weight", lambda x: ClusterJobs([1], 1.0, weight=x)),
    "ClusterJobs.bytes": ("block", lambda x: ClusterJobs([1], 1.0, block=x)),
    "ClusterJobs.deadline": ("deadline", lambda x: ClusterJobs([1], 1.0, deadline=x)),
    "ClusterJobs.speedup": ("speedup", lambda x: ClusterJobs([1], 1.0, speedup=[[x]])),
    "Cluster.rate": ("rate", lambda x: Cluster([{"slots": 1, "rate": x}])),
    "Cluster.link": ("link", lambda x: Cluster([{"slots": 1, "link": x}])),
    "Cluster.slots": ("slots", lambda x: Cluster([{"slots": x}])),
}
# Larger than all means all of them; an infinite deadline or link means none.
NAN_IS_NONE = {"Jobs.deadline", "ClusterJobs.deadline"}  # as data frames have it
OPEN = {"Jobs.deadline", "Epoch.deadline", "ClusterJobs.deadline", "Cluster.link"}


BAD = {
    "huge": HUGE,
    "-huge": -HUGE,
    "1e300": 1e300,
    "nan": float("nan"),
    "inf": float("inf"),
    "text": "many",
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("which", NUMBERS)
@pytest.mark.parametrize("value", list(BAD.values()), ids=list(BAD))
def test_numbers_that_nobody_has_are_refused_in_one_line(which, value):
    field, call = NUMBERS[which]
    none = value == float("inf") or (str(value) == "nan" and which in NAN_IS_NONE)
    if which in OPEN and none:
        call(value)
        return
    with pytest.raises(ValueError, match=field) as error:
        call(value)
    text = str(error.value)
    assert "\n" not in text and len(text) < 200


# What is left of a job may be a rounding residue; times may be any.
LEFT = {"Jobs.sla_time", "Epoch.work", "FlowEpoch.work", "TandemEpoch.update", "SlottedEpoch.left"}


def test_a_residue_of_rounding_is_nothing_left():
    """So the job has outlived its estimate: a quarter of its work is believed to be left."""
    decisions = []
    for little in (0.0, 5e-17):
        made = epoch()
        made.update([0, 1], work=[little, 2.0])
        decisions.append(made.decide(0.0))
        assert decisions[-1].plan().jobs.work.tolist() == [0.25, 2.0]
    assert decisions[0].slots.tolist() == decisions[1].slots.tolist() == [4, 0]


@pytest.mark.parametrize("which", NUMBERS)
def test_the_smallest_amounts_are_refused(which):
    """Below the least: whatever would vanish beside everything else."""
    field, call = NUMBERS[which]
    if field in ("now", "arrival", "deadline", "budget", "ready") or which in LEFT:
        return
    with pytest.raises(ValueError, match=field):
        call(5e-324)


MASKED = {
    "Jobs": ("work", mb.Jobs),
    "Jobs.min_slots": ("min_slots", lambda x: mb.Jobs([1.0, 1.0], min_slots=x)),
    "Flows": ("work", lambda x: mb.Flows.from_arrays([0, 2], x, [0, 0, 0], [])),
    "Epoch.add": ("work", lambda x: mb.Epoch(3).add(x)),
    "Epoch.update": ("work", lambda x: epoch().update([0, 1], work=x)),
    "Epoch.ids": ("ids", lambda x: epoch().remove(x.astype(int))),
    "FlowEpoch.update": ("work", lambda x: flow_epoch().update([0, 1], work=x)),
    "TandemEpoch": ("map", lambda x: mb.TandemEpoch((1, 1)).add(x, [1.0, 1.0])),
    "MapShuffleJobs": ("map", lambda x: MapShuffleJobs(x, 1.0)),
    "MapReduceJobs": ("map", lambda x: MapReduceJobs(x, [[1], [2]])),
    "ClusterJobs": ("maps", lambda x: ClusterJobs(x, 1.0)),
    "ClusterJobs.seconds": ("map_seconds", lambda x: ClusterJobs([1, 1], x)),
}


@pytest.mark.parametrize("which", MASKED)
def test_masked_arrays_are_refused(which):
    field, call = MASKED[which]
    with pytest.raises(ValueError, match=f"{field}.*masked"):
        call(masked())


def test_penalties_must_be_functions():
    class Fake:
        address = True

    for penalty in (Fake(), True, 140000, "f"):
        with pytest.raises(ValueError, match="penalty: expected a Numba cfunc or a function"):
            mb.plan(JOBS, 2, "sum:custom", penalty=penalty)
    numba = pytest.importorskip("numba")
    wrong = numba.cfunc("float64(float64)")(lambda t: t)
    with pytest.raises(ValueError, match="penalty: a cfunc of"):
        mb.plan(JOBS, 2, "sum:custom", penalty=wrong)


def test_the_smallest_estimate_may_be_outlived():
    made = mb.TandemEpoch((1, 1))
    made.add([1e-12], [1.0])
    made.update([0], map=[-1e-12])
    assert made.decide(0.0).ids.tolist() == [0]


# The whole domain, through Python and the independent checker.

RANGES = {"work": (1e-12, 1e15), "weight": (1e-12, 1e12), "away": (1e-12, 1e13)}
SLOTS = (1, 2, 7, 2**31, 2**50)
MOMENTS = (0.0, 1.7e9, -1e12, 1e12)
KINDS = ("response", "completion", "stretch", "tardy", "tardiness", "lateness", "sla")


def drawn(rng, name, count):
    low, high = RANGES[name]
    style = rng.integers(4)
    values = np.exp(rng.uniform(np.log(low), np.log(high), count))
    if style == 0:
        values[:] = values[:1].sum()
    elif style == 1:
        values = rng.choice([0.0, low, high], count)
    values = np.clip(values, low, high, where=values > 0, out=values)
    if style == 2:
        values[rng.random(count) < 0.2] = 0.0
    return values


def wide_jobs(rng, slots, now):
    count = int(rng.choice([1, 2, 5, 9, 40]))
    maxima = np.exp(rng.uniform(0, np.log(min(2.0**50, 4.0 * slots)), count)).astype(np.int64)
    minima = np.where(rng.random(count) < 0.3, np.minimum(maxima, slots) // count, 0)
    away = np.clip(now + rng.choice([-1, 1], count) * drawn(rng, "away", count), -1e12, 1e12)
    return mb.Jobs(
        drawn(rng, "work", count),
        arrival=np.minimum(now, np.clip(now - drawn(rng, "away", count), -1e12, 1e12)),
        min_slots=minima,
        max_slots=maxima,
        weight=drawn(rng, "weight", count),
        deadline=away,
        sla=[[(time, 1e-12), (time + 1e3, 1e12)] if time < 9e11 else [] for time in away.tolist()],
    )


def check_decision(made, now):
    decision = made.decide(now)
    assert decision.slots.sum() <= made.slots
    assert decision.lower_bound <= decision.value
    plan = decision.plan()
    assert plan.slots.tolist() == decision.slots.tolist()
    plan.validate()
    assert plan.lower_bound <= plan.value


@pytest.mark.parametrize("seed", range(60))
def test_plans_and_epochs_over_the_whole_domain(seed):
    rng = np.random.default_rng([71, seed])
    slots, now = int(rng.choice(SLOTS)), float(rng.choice(MOMENTS))
    jobs = wide_jobs(rng, slots, now)
    goal = f"{rng.choice(['sum', 'max'])}:{rng.choice(KINDS)}"
    mode = str(rng.choice(["guarantee", "gang"]))
    for policy in ("flex", "fair", "fifo", "wdeq"):
        plan = mb.plan(jobs, slots, goal, policy, now=now, min_mode=mode)
        plan.validate()
        assert plan.slots.sum() <= slots
        assert plan.lower_bound <= plan.value
        made = mb.Epoch(slots, goal, policy, min_mode=mode)
        ids = made.add(jobs)
        check_decision(made, now)
        made.update(ids, work=drawn(rng, "work", len(ids)))
        check_decision(made, now)
        made.remove(ids[::2])
        made.decide(now, slots=int(rng.choice(SLOTS)))
        check_decision(made, min(now + 1.0, 1e12))


def test_numpy_ma_may_be_half_imported(monkeypatch):
    """By another thread, as happens in workers of Dask."""
    monkeypatch.setitem(sys.modules, "numpy.ma", types.ModuleType("numpy.ma"))
    assert check_amount("estimates", 0.5, WEIGHT) == 0.5
