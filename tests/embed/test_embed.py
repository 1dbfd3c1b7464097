"""The C interface from this process: from compiled Python, on the objects that Python has."""

import ctypes
import gc

import numpy as np
import pytest

import malleable as mb
from malleable import embed
from tests.embed import loops


def record_of(name, **members):
    """A structure that says its size, with these members: numbers, and addresses of arrays."""
    made = np.zeros(1, embed.record(f"malleable_{name}"))
    made["bytes"] = made.itemsize
    for member, value in members.items():
        made[member] = value.ctypes.data if isinstance(value, np.ndarray) else value
    return made


def test_a_whole_loop_in_numba_decides_as_python():
    pytest.importorskip("numba", reason="needs malleable[custom]")
    work, most, offset = loops.instance()
    expected = loops.in_python(work, most, offset)
    epoch = loops.new_epoch()  # kept while its handle is used
    log = np.full(expected.shape, -1)
    jobs, changes, decision = (record_of(name) for name in ("jobs", "jobs", "decision"))
    run = loops.numba_loop()
    assert run(embed.handle(epoch), work, most, offset, log, jobs, changes, decision) == 0
    np.testing.assert_array_equal(log, expected)
    assert (expected > 0).sum() > 500


def test_both_faces_see_one_object():
    epoch = mb.Epoch(10)
    ids = epoch.add([5.0, 7.0])
    given = np.zeros(2, np.int64)
    decision = record_of("decision", room=2, ids=ids, given=given)
    decide = embed.function("malleable_epoch_decide")
    assert decide(embed.handle(epoch), 3.0, np.array([6]).ctypes, 0.0, decision.ctypes) == 0
    assert given.sum() == 6
    assert epoch.slots == 6
    with pytest.raises(ValueError, match="now"):
        epoch.decide(2.0)
    assert embed.function("malleable_epoch_finish")(embed.handle(epoch), 1, ids.ctypes) == 0
    assert len(epoch) == 1
    assert decide(embed.handle(epoch), 2.0, 0, 0.0, decision.ctypes) == 1
    assert b"now = 2" in embed.function("malleable_message")()


@pytest.mark.parametrize("kind", ["jobs", "flows", "tandem", "slotted"])
def test_decisions_for_a_period(kind):
    """As from Python: slots, who is next, by station, overload; a wrong number is refused."""
    made = {
        "jobs": lambda: mb.Epoch(12),
        "flows": lambda: mb.FlowEpoch(4),
        "tandem": lambda: mb.TandemEpoch((4, 4)),
        "slotted": lambda: mb.SlottedEpoch(4),
    }[kind]
    ours, theirs = made(), made()
    for epoch in (ours, theirs):
        if kind == "jobs":
            epoch.add([10.0, 12.0, 200.0], max_slots=12)
        elif kind == "flows":
            epoch.add(mb.Flows([[{"name": "a", "work": 9.0}], [{"name": "b", "work": 30.0}]]))
        elif kind == "tandem":
            epoch.add(map=[0.5, 9.0], shuffle=[1.0, 2.0])
        else:
            epoch.add(maps=[5, 40], reduce_left=[0.0, 0.0])
    orders = {name: np.zeros(8, np.int64) for name in ("order", "shuffle_order")}
    decision = record_of("decision", room=8, **orders)
    decide = embed.function("malleable_epoch_decide")

    def ask(period):
        return decide(embed.handle(ours), 0.0, 0, period, decision.ctypes)

    assert ask(-1.0) == 1
    assert b"period = -1" in embed.function("malleable_message")()
    assert ask(5.0) == 0
    want = theirs.decide(0.0, period=5.0)
    assert decision["overloaded"] == want.overloaded == 0
    for (name, ids), right in zip(
        orders.items(), want.order if kind == "tandem" else (want.order, []), strict=True
    ):
        assert ids[: int(decision[name + "ed"][0])].tolist() == list(right)
    decision["room"] = 0
    assert ask(5.0) == 1


def test_speedups():
    """By exponents alone and by tables, as from Python."""
    work, exponent = np.array([9.0, 5.0, 7.0]), np.array([0.5, 1.0, 1.0])
    offset = np.array([0, 0, 0, 3])
    add = embed.function("malleable_epoch_add")
    # The last table is as measured ones are: its steps do not only become smaller.
    tables = np.array([1.0, 1.5, 1.75]), np.array([1.0, 1.1, 2.6])
    for rules in ([0.5, 1.0, 1.0], *([0.5, None, table] for table in tables)):
        rate = rules[2]
        jobs = record_of("jobs", count=3, work=work, speedup=exponent)
        if rate is not rules[0] and np.ndim(rate):
            jobs["rate_offset"], jobs["rate"] = offset.ctypes.data, rate.ctypes.data
        ours, theirs = mb.Epoch(20), mb.Epoch(20)
        assert add(embed.handle(ours), jobs.ctypes, 0, 0) == 0
        theirs.add(work, speedup=rules)
        assert ours == theirs
        assert ours.decide(0.0).slots.tolist() == theirs.decide(0.0).slots.tolist()
        changed = mb.Epoch(20)
        ids = changed.add(work)
        jobs["work"] = 0
        assert (
            embed.function("malleable_epoch_update")(
                embed.handle(changed), jobs.ctypes, ids.ctypes, 0
            )
            == 0
        )
        assert changed.decide(0.0).slots.tolist() == theirs.decide(0.0).slots.tolist()
        jobs["work"] = work.ctypes.data
    rate[1] = 3.0  # then three slots do less than two
    assert add(embed.handle(ours), jobs.ctypes, 0, 0) == 1
    assert b"speedup[2][2] = 2.6" in embed.function("malleable_message")()


def test_speedups_of_flows():
    """Added and changed as from Python."""
    work, exponent = np.array([9.0, 5.0, 7.0]), np.array([0.5, 1.0, 1.0])
    offset, rate = np.array([0, 0, 0, 3]), np.array([1.0, 1.5, 1.75])
    rates = {"rate_offset": offset, "rate": rate}
    jobs = record_of("jobs", count=3, flows=2, work=work, speedup=exponent, **rates)
    places = {"job_offset": np.array([0, 2, 3]), "parent_offset": np.zeros(4, np.int64)}
    for name, column in places.items():
        jobs[name] = column.ctypes.data
    ours, theirs = mb.FlowEpoch(20), mb.FlowEpoch(20)
    kind = np.zeros(2, np.uint8)
    jobs["kind"] = kind.ctypes.data
    ids, flow_ids = np.zeros(3, np.int64), np.zeros(2, np.int64)
    add = embed.function("malleable_epoch_add")
    assert add(embed.handle(ours), jobs.ctypes, ids.ctypes, flow_ids.ctypes) == 0
    rules = [0.5, None, rate]
    table = mb.Flows.from_arrays(*(places["job_offset"], work), [0] * 4, [], speedup=rules)
    theirs.add(table, kind="response")
    assert ours.decide(0.0).slots.tolist() == theirs.decide(0.0).slots.tolist()
    changes = record_of("jobs", count=1, speedup=exponent[2:])
    update = embed.function("malleable_epoch_update")
    assert update(embed.handle(ours), changes.ctypes, ids.ctypes, 0) == 0
    theirs.update([0], speedup=1.0)
    assert ours.decide(0.0).slots.tolist() == theirs.decide(0.0).slots.tolist()
    exponent[2] = 2.0
    assert update(embed.handle(ours), changes.ctypes, ids.ctypes, 0) == 1
    assert b"speedup[0] = 2" in embed.function("malleable_message")()


def test_what_backup_tasks_gain():
    """As from Python; three of four tasks have ended."""
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), "auto")
    jobs = scheduler.add(mb.ClusterJobs([4], [0.0]), now=0.0)
    scheduler.decide(0.0)
    scheduler.assign(0.0, 4)
    seconds, ages, maps = np.array([9.0, 10.0, 11.0]), np.array([1.0, 60.0]), np.zeros(3, np.int64)
    scheduler.ended(jobs.repeat(3), seconds=seconds, now=60.0)
    want = scheduler.backup_gains(jobs.repeat(2), [0, 0], ages)

    slots, count = np.array([4]), np.array([4])
    cluster, table = (
        np.zeros(1, embed.record(f"malleable_{name}")) for name in ("cluster", "cluster_jobs")
    )
    cluster["nodes"], cluster["generic"], cluster["map_slots"] = 1, 1, slots.ctypes.data
    table["count"], table["maps"] = 1, count.ctypes.data
    made, rows, ids = ctypes.c_void_p(), ctypes.c_int64(), np.zeros(3, np.int64)
    starts = record_of("starts", room=4)

    def call(name, *arguments):
        status = embed.function(f"malleable_scheduler_{name}")(made, *arguments)
        assert status == 0, embed.function("malleable_message")()

    new = embed.function("malleable_scheduler_new")
    assert new(cluster.ctypes, 0, ctypes.byref(made)) == 0
    call("add", 0.0, table.ctypes, ids.ctypes)
    ids[:] = ids[0]
    call("decide", 0.0, record_of("decision", room=1).ctypes)
    call("assign", 0.0, slots.ctypes, 0, starts.ctypes)
    events = record_of("events", count=3, ids=ids, phase=maps, seconds=seconds)
    call("tell", 60.0, b"ended", events.ctypes)
    gain = np.zeros(2)
    call("backup_gains", 2, ids.ctypes, maps.ctypes, ages.ctypes, gain.ctypes)
    assert gain.tolist() == want.tolist()
    assert gain[1] > 1.0
    assert 0.22 > gain[0] > 0.0
    call("take_back", 60.0, slots.ctypes, 0, ids.ctypes, 3, ctypes.byref(rows))
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
    epoch = mb.SlottedEpoch(3)
    assert embed.function("malleable_scheduler_size")(embed.handle(epoch), 0) == 1
    assert b"another kind" in embed.function("malleable_message")()
    assert size(0, 0, 0) == 1


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
        lambda: mb.TandemEpoch((3, 3)),
        lambda: mb.SlottedEpoch(3),
    ],
    ids=["flow", "overlap", "slotted"],
)
def test_every_epoch_has_a_handle(make):
    epoch = make()
    jobs = ctypes.c_int64(-1)
    size = embed.function("malleable_epoch_size")
    assert size(embed.handle(epoch), ctypes.byref(jobs), 0) == 0
    assert jobs.value == len(epoch) == 0
