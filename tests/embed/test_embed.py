"""The C interface from this process: from compiled Python, on the objects that Python has."""

import ctypes
import gc

import numpy as np
import pytest

import malleable as mb
from malleable import embed
from tests.embed import loops


def test_a_whole_loop_in_numba_decides_as_python():
    pytest.importorskip("numba", reason="needs malleable[custom]")
    work, most, offset = loops.instance()
    expected = loops.in_python(work, most, offset)
    epoch = loops.new_epoch()  # kept while its handle is used
    log = np.full(expected.shape, -1)
    jobs, changes = (
        np.zeros(1, embed.record(name)) for name in ("malleable_jobs", "malleable_job_changes")
    )
    run = loops.numba_loop()
    assert run(embed.handle(epoch), work, most, offset, log, jobs, changes) == 0
    np.testing.assert_array_equal(log, expected)
    assert (expected > 0).sum() > 500


def test_both_faces_see_one_object():
    epoch = mb.Epoch(10)
    ids = epoch.add([5.0, 7.0])
    rows = ctypes.c_int64()
    given = np.zeros(2, np.int64)
    decide = embed.function("malleable_epoch_decide")
    assert (
        decide(embed.handle(epoch), 3.0, 6, ids.ctypes, given.ctypes, 0, 2, ctypes.byref(rows)) == 0
    )
    assert given.sum() == 6
    assert epoch.slots == 6
    with pytest.raises(ValueError, match="now"):
        epoch.decide(2.0)
    assert embed.function("malleable_epoch_finish")(embed.handle(epoch), 1, ids.ctypes) == 0
    assert len(epoch) == 1
    assert decide(embed.handle(epoch), 2.0, -1, 0, 0, 0, 1, 0) == 1
    assert b"now = 2" in embed.function("malleable_message")()


def test_decisions_for_a_period():
    """As from Python: slots, who is next, overload; the number in the wrong place is refused."""
    ours, theirs = mb.Epoch(12), mb.Epoch(12, period=5.0)
    for epoch in (ours, theirs):
        epoch.add([10.0, 12.0, 200.0], max_slots=12)
    rows, overloaded = ctypes.c_int64(), ctypes.c_int64(-1)
    ids, given = np.zeros(3, np.int64), np.zeros(3, np.int64)
    decide = embed.function("malleable_epoch_decide_period")
    order = embed.function("malleable_epoch_order")

    def ask(period):
        out = (ids.ctypes, given.ctypes, 0, 3, ctypes.byref(rows), ctypes.byref(overloaded))
        return decide(embed.handle(ours), 0.0, -1, period, *out)

    want = theirs.decide(0.0)
    assert ask(5.0) == 0
    assert (given.tolist(), overloaded.value) == (want.slots.tolist(), 0)
    assert order(embed.handle(ours), ids.ctypes, 3, ctypes.byref(rows)) == 0
    assert ids[: rows.value].tolist() == want.order.tolist()
    assert order(embed.handle(ours), ids.ctypes, 2, ctypes.byref(rows)) == 1
    assert ask(-1.0) == 1
    assert b"period = -1" in embed.function("malleable_message")()
    ours.add([1.0])
    assert order(embed.handle(ours), 0, 4, 0) == 1


@pytest.mark.parametrize("kind", ["flow", "overlap", "slotted"])
def test_other_loops_are_held_for_a_period(kind):
    """As from Python: who is next, by station, and whether there is overload."""
    made = {
        "flow": lambda: mb.FlowEpoch(4),
        "overlap": lambda: mb.OverlapEpoch((4, 4)),
        "slotted": lambda: mb.SlottedEpoch(4),
    }[kind]
    ours, theirs = made(), made()
    for epoch in (ours, theirs):
        if kind == "flow":
            epoch.add(mb.Flows([[{"name": "a", "work": 9.0}], [{"name": "b", "work": 30.0}]]))
        elif kind == "overlap":
            epoch.add(map=[0.5, 9.0], shuffle=[1.0, 2.0])
        else:
            epoch.add(maps=[5, 40], reduce_left=[0.0, 0.0])
    set_period = embed.function(f"malleable_{kind}_epoch_set_period")
    order = embed.function(f"malleable_{kind}_epoch_order")
    decide = embed.function(f"malleable_{kind}_epoch_decide")
    assert set_period(embed.handle(ours), -1.0) == 1
    assert b"period = -1" in embed.function("malleable_message")()
    assert set_period(embed.handle(ours), 5.0) == 0
    capacities = (-1, -1) if kind == "overlap" else (-1,)
    columns = {"flow": 4, "overlap": 5, "slotted": 6}[kind]  # ids and what stands beside them
    assert decide(embed.handle(ours), 0.0, *capacities, *([0] * columns), 8, 0) == 0
    want = theirs.decide(0.0, period=5.0)
    ids, rows, overloaded = np.zeros(8, np.int64), ctypes.c_int64(), ctypes.c_int64(-1)
    for station, right in enumerate(want.order if kind == "overlap" else (want.order,)):
        more = (1 - station,) if kind == "overlap" else ()
        out = (ids.ctypes, 8, ctypes.byref(rows), ctypes.byref(overloaded))
        assert order(embed.handle(ours), *more, *out) == 0
        assert ids[: rows.value].tolist() == right.tolist()
        assert overloaded.value == want.overloaded == 0
    assert order(embed.handle(ours), *((1,) if kind == "overlap" else ()), ids.ctypes, 0, 0, 0) == 1


def test_speedups():
    """By exponents alone and by tables, as from Python."""
    work, exponent = np.array([9.0, 5.0, 7.0]), np.array([0.5, 1.0, 1.0])
    offset = np.array([0, 0, 0, 3])
    add = embed.function("malleable_epoch_add")
    # The last table is as measured ones are: its steps do not only become smaller.
    tables = np.array([1.0, 1.5, 1.75]), np.array([1.0, 1.1, 2.6])
    for rules in ([0.5, 1.0, 1.0], *([0.5, None, table] for table in tables)):
        rate = rules[2]
        jobs = np.zeros(1, embed.record("malleable_jobs"))
        jobs["count"], jobs["work"], jobs["speedup"] = 3, work.ctypes.data, exponent.ctypes.data
        if rate is not rules[0] and np.ndim(rate):
            jobs["rate_offset"], jobs["rate"] = offset.ctypes.data, rate.ctypes.data
        ours, theirs = mb.Epoch(20), mb.Epoch(20)
        assert add(embed.handle(ours), jobs.ctypes, 0) == 0
        theirs.add(work, speedup=rules)
        assert ours == theirs
        assert ours.decide(0.0).slots.tolist() == theirs.decide(0.0).slots.tolist()
    rate[1] = 3.0  # then three slots do less than two
    assert add(embed.handle(ours), jobs.ctypes, 0) == 1
    assert b"speedup[2][2] = 2.6" in embed.function("malleable_message")()


def test_what_backup_tasks_gain():
    """As from Python; three of four tasks have ended."""
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), "auto")
    jobs = scheduler.add(mb.ClusterJobs([4], [0.0]), now=0.0)
    scheduler.decide(0.0)
    scheduler.assign(0.0, 4)
    seconds, ages, maps = np.array([9.0, 10.0, 11.0]), np.array([1.0, 60.0]), np.zeros(3, np.int64)
    scheduler.finished(jobs.repeat(3), seconds=seconds, now=60.0)
    want = scheduler.backup_gains(jobs.repeat(2), [0, 0], ages)

    slots, count = np.array([4]), np.array([4])
    cluster, table = (
        np.zeros(1, embed.record(f"malleable_{name}")) for name in ("cluster", "cluster_jobs")
    )
    cluster["nodes"], cluster["generic"], cluster["map_slots"] = 1, 1, slots.ctypes.data
    table["count"], table["maps"] = 1, count.ctypes.data
    made, rows, ids = ctypes.c_void_p(), ctypes.c_int64(), np.zeros(3, np.int64)

    def call(name, *arguments):
        status = embed.function(f"malleable_scheduler_{name}")(made, *arguments)
        assert status == 0, embed.function("malleable_message")()

    new = embed.function("malleable_scheduler_new")
    assert new(cluster.ctypes, b"auto", b"sum:response", 0, ctypes.byref(made)) == 0
    call("add", 0.0, table.ctypes, ids.ctypes)
    ids[:] = ids[0]
    call("decide", 0.0, 0, 0, 0, 0, 0, 1, ctypes.byref(rows))
    call("assign", 0.0, slots.ctypes, 0, ctypes.byref(rows))
    call("ended_copying", 60.0, 3, ids.ctypes, maps.ctypes, 0, 0, seconds.ctypes, 0, 0)
    gain = np.zeros(2)
    call("backup_gains", 2, ids.ctypes, maps.ctypes, ages.ctypes, gain.ctypes)
    assert gain.tolist() == want.tolist()
    assert gain[1] > 1.0
    assert 0.22 > gain[0] > 0.0
    call("take_back", 60.0, slots.ctypes, 0, ctypes.byref(rows))
    assert rows.value == 0
    embed.function("malleable_scheduler_free")(made)


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match="no such function"):
        embed.function("malleable_epoch_guess")
    with pytest.raises(ValueError, match="no such structure"):
        embed.record("malleable_guess")
    with pytest.raises(ValueError, match="an epoch is needed, not int"):
        embed.handle(3)
    size = embed.function("malleable_epoch_size")
    slotted = mb.SlottedEpoch(3)
    assert size(embed.handle(slotted), 0) == 1
    assert b"another kind" in embed.function("malleable_message")()
    assert size(0, 0) == 1


def test_handles_end_with_their_epochs():
    epoch = mb.Epoch(10)
    before = embed.handle(epoch)
    assert embed.handle(epoch) == before
    embed.function("malleable_epoch_free")(before)  # not ours to free: nothing happens
    assert len(epoch) == 0
    del epoch
    gc.collect()


@pytest.mark.parametrize(
    "make",
    [
        lambda: mb.FlowEpoch(3),
        lambda: mb.OverlapEpoch((3, 3)),
        lambda: mb.SlottedEpoch(3),
    ],
    ids=["flow", "overlap", "slotted"],
)
def test_every_epoch_has_a_handle(make):
    epoch = make()
    name = {"FlowEpoch": "flow", "OverlapEpoch": "overlap", "SlottedEpoch": "slotted"}[
        type(epoch).__name__
    ]
    jobs = ctypes.c_int64(-1)
    more = (0,) if name == "flow" else ()
    size = embed.function(f"malleable_{name}_epoch_size")
    assert size(embed.handle(epoch), ctypes.byref(jobs), *more) == 0
    assert jobs.value == len(epoch) == 0
