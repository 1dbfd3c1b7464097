"""The governor over a Slurm that answers as one does, with faults."""

import math
import os
import socket

import numpy as np
import pytest

from malleable.live.decider import SchedulerDecider
from malleable.live.jobs_file import Terms
from malleable.live.journal import Journal
from malleable.live.slurm.commands import Change, Reply, Slurm, SlurmError
from malleable.live.slurm.governor import Governor, wishes_of
from malleable.live.slurm.lease import Lease, left_behind
from malleable.live.slurm.place_deciders import PlaceDeciders
from malleable.live.status import run_status
from tests.live.fake_slurm import FakeSlurm

STEPS = 20_000


def governed(world, every=5.0, apply=True, journal=None, policy="flex", objective="sum:response",
             chosen=lambda array: array.user == "me", **more):  # fmt: skip
    engine = Slurm(every, ask=world.ask, clock=world.clock, sleep=world.sleep, wall=world.wall)
    places = PlaceDeciders(
        lambda place: SchedulerDecider(1, policy, objective, counted=True, processors="own")
    )
    lease = Lease(engine) if apply else None
    return Governor(
        engine, places, chosen, lease, journal, 1, clock=world.clock, until_done=True, **more
    )


def glance(governor):
    """One look, and what follows from it."""
    governor.take(governor.queue.look())
    governor.step(0.0)


def go(governor, world, until=math.inf):
    for _ in range(STEPS):
        if governor.finished or world.now >= until:
            return
        governor.step()
    raise AssertionError("the governor does not end")


def mean_response(world):
    ends = [each.done - each.submitted for each in world.arrays.values() if each.user == "me"]
    assert not any(map(math.isnan, ends))
    return sum(ends) / len(ends)


SIZES = [400, 60, 300, 20, 150, 90, 30, 250]


def test_short_arrays_come_first_and_nothing_stays_behind():
    plain, ours = FakeSlurm(), FakeSlurm()
    for world in (plain, ours):
        for size in SIZES:
            world.submit(size, 2.0)
    plain.advance(10_000.0)
    governor = governed(ours)
    go(governor, ours)
    assert governor.restore()
    assert mean_response(ours) < 0.7 * mean_response(plain)
    assert {key for _, key, _ in ours.updates} <= {"Nice", "StartTime"}
    assert ours.leases == {}
    assert [job.done for job in governor.jobs] == SIZES
    assert not any(job.failed for job in governor.jobs)
    assert not governor.trouble


def test_seconds_are_measured():
    world = FakeSlurm()
    for seconds in (1.0, 3.0, 8.0):
        world.submit(400, seconds)
    governor = governed(world)
    seen = {}
    for _ in range(STEPS):
        if governor.finished:
            break
        governor.step()
        for row, job in enumerate(governor.jobs):
            if job.done > 100:
                seen[row] = job.sums.seconds / job.done
    assert [seen[row] for row in range(3)] == pytest.approx([1.0, 3.0, 8.0], rel=0.2)


def test_a_dry_run_changes_nothing_and_says_what_it_would():
    world = FakeSlurm()
    for size in SIZES:
        world.submit(size, 2.0)
    governor = governed(world, apply=False)
    glance(governor)
    assert [planned.array.number for planned in governor.planned][:2] == [4, 7]
    assert any(planned.nice > 0 for planned in governor.planned)
    assert world.updates == []
    assert all(words[0] in ("squeue", "scontrol") for words in world.calls)
    assert ["scontrol"] not in world.calls


def test_minima_hold_and_caps_go_when_the_governor_does():
    world = FakeSlurm()
    world.submit(2000, 2.0, comment="malleable min=4")
    for size in (500, 400, 300):
        world.submit(size, 2.0)
    governor = governed(world, lease_seconds=20.0)
    go(governor, world, until=60.0)
    held = []
    for _ in range(20):
        go(governor, world, until=world.now + 2.0)
        held.append(len(world.arrays[1].running))
    assert min(held) >= 4
    assert max(held) <= 5
    # Killed: no word more from it.
    assert world.arrays[1].throttle > 0
    world.advance(20.0 + 5.0 + 2.0)
    assert world.arrays[1].throttle == 0
    assert all(array.nice == 0 for array in world.arrays.values() if array.pending)
    assert world.leases == {}


def test_limits_of_owners_stay():
    world = FakeSlurm()
    world.submit(300, 2.0, throttle=3)
    world.submit(100, 2.0, comment="malleable max=5")
    world.submit(50, 2.0, width=4)
    governor = governed(world)
    go(governor, world, until=30.0)
    assert world.arrays[1].throttle == 3
    assert world.arrays[2].throttle == 5
    assert governor.jobs[2].width == 4
    assert max(governor.jobs[row].slots for row in range(2)) <= 5
    assert governor.restore()
    assert (world.arrays[1].throttle, world.arrays[2].throttle) == (3, 0)


def test_what_an_array_is_after_is_told_late():
    """A Slurm says so once it has thought of the array."""
    world = FakeSlurm()
    failing = world.submit(30, 2.0, fails=1)
    world.submit(4000, 2.0)
    late = world.submit(300, 2.0, base=1)
    governor = governed(world)
    go(governor, world, until=10.0)
    assert governor.jobs[2].here
    assert not late.running
    late.after = failing.number
    go(governor, world, until=30.0)
    assert governor.jobs[2].cancelled
    assert governor.jobs[2].failed == late.pending
    (planned,) = [each for each in governor.planned if each.array.number == late.number]
    assert (planned.slots, planned.why) == (0, "dead")


def test_a_map_and_its_reduce():
    world = FakeSlurm()
    first = world.submit(60, 2.0)
    then = world.submit(300, 2.0, after=first.number)
    failing = world.submit(30, 2.0, fails=1)
    dead = world.submit(10, 1.0, after=failing.number)
    world.submit(200, 2.0)
    governor = governed(world)
    go(governor, world, until=100.0)
    works = governor.jobs
    assert first.done <= works[1].began <= first.done + 5.0 < then.done
    assert works[3].cancelled
    assert works[3].failed == 10
    assert works[2].failed == 1
    (why,) = [planned.why for planned in governor.planned if planned.array.number == dead.number]
    assert why == "dead"


def test_nice_that_moves_nothing_is_given_up():
    for kind in ("stuck", "refused"):
        world = FakeSlurm(nice=kind)
        for size in SIZES:
            world.submit(size, 2.0)
        governor = governed(world)
        go(governor, world, until=100.0)
        asked = len(world.updates)
        assert "Nice does not change" in governor.trouble["main"]
        go(governor, world, until=150.0)
        assert {key for _, key, _ in world.updates[asked:]} <= {"StartTime"}
        assert all(array.nice < 100 for array in world.arrays.values())


def test_priorities_too_low_to_be_told_apart():
    world = FakeSlurm()
    for size in SIZES:
        world.submit(size, 2.0, base=1)
    governor = governed(world)
    go(governor, world, until=50.0)
    assert "too low" in governor.trouble["main"]


HOSTILE = [
    "a|b", "%F%A", "a\nb", "~x~1~2", "1 2 3", "", "\x1b[31m", "$(touch x)", "PD", "malleable-leas",
    "é" * 100, "a\r\n~", "Reason=CPUAlloc=3",
]  # fmt: skip


def test_hostile_names_and_comments():
    world = FakeSlurm()
    for name in HOSTILE:
        world.submit(40, 2.0, name=name, comment=name)
    governor = governed(world)
    glance(governor)
    names = {planned.array.number: planned.array.name for planned in governor.planned}
    assert [names[k + 1] for k in range(len(HOSTILE))] == HOSTILE
    go(governor, world)
    assert all(number <= len(HOSTILE) + 100 for number, _, _ in world.updates)


ALL = Terms(weight=2.0, deadline=5.0, min_slots=3, max_slots=7, seconds=2.5)


@pytest.mark.parametrize(
    ("comment", "wishes"),
    [
        ("", Terms()),
        ("(null)", Terms()),
        ("weight=3", Terms()),
        ("malleable weight=2 min=3 max=7 seconds=2.5 deadline=5", ALL),
        ("malleable weight=nan min=-1 max=0 seconds=inf deadline=-3", Terms()),
        ("malleable weight=1e400 min=1e300 = == x=y", Terms()),
    ],
)
def test_wishes(comment, wishes):
    assert wishes_of(comment) == wishes


def faulty(kind, rng):
    """A third of all calls go wrong so."""

    def fault(words):
        if rng.random() > 1 / 3:
            return None
        if kind == "silent":
            return Reply("", "squeue: no answer within 10 s", 10.0)
        if kind == "nothing, well" and words[0] != "squeue":
            return Reply("", "", 0.01)
        if kind == "cut off" and words[0] == "squeue":
            mark = words[-1].partition("%")[0]
            return Reply(f"{mark}1{mark}2", "", 0.01)
        if kind == "rubbish" and words[0] != "squeue":
            return Reply("\x00\xff~~~" * 9, "", 0.01)
        if kind == "error text":
            return Reply("", f"{words[0]}: error: Unable to contact slurm controller", 0.1)
        return None

    return fault


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["silent", "nothing, well", "cut off", "rubbish", "error text"])
def test_answers_that_fail(kind, seed):
    world = FakeSlurm()
    for size in SIZES:
        world.submit(size, 2.0)
    governor = governed(world)
    glance(governor)
    world.faults = faulty(kind, np.random.default_rng(seed))
    go(governor, world)
    assert all(math.isfinite(array.done) for array in world.arrays.values())
    assert [job.done for job in governor.jobs] == SIZES


def test_looks_come_slower_when_answers_are_slow():
    world = FakeSlurm()
    world.took = 2.0
    world.submit(4000, 2.0)
    governor = governed(world)
    go(governor, world, until=800.0)
    looks = sum(words[0] == "squeue" and "--me" in words for words in world.calls)
    assert looks <= 12


def test_looks_come_often_while_arrays_come_and_when_one_ends_soon():
    world = FakeSlurm()
    for size in (40, 400, 4000):
        world.submit(size, 2.0)
    governor = governed(world)
    looks = []
    while world.now < 200.0:
        before = governor.looks
        governor.step()
        looks += [world.now] * (governor.looks - before)
    gaps = np.diff(looks)
    young, old = gaps[np.array(looks[1:]) < 9.0], gaps[np.array(looks[1:]) > 90.0]
    assert len(young) >= 6 and young.max() < 2.0
    assert old.min() > 4.0


def test_two_partitions_are_governed_apart():
    world = FakeSlurm(places=("main", "other"))
    for size in SIZES:
        world.submit(size // 4, 2.0)
        world.submit(size // 4, 2.0, place="other")
    governor = governed(world)
    glance(governor)
    for place in ("main", "other"):
        given = [p.slots for p in governor.planned if p.array.place == place]
        assert sum(given) == 24
    go(governor, world)


def test_what_programs_take_is_learnt_where_they_ran(tmp_path):
    world = FakeSlurm(places=("main", "other"))
    world.submit(60, 2.0, name="first")
    world.submit(30, 4.0, name="second", place="other")
    world.submit(5, 2.0, name="first", place="other")
    with Journal(tmp_path / "j") as journal:
        journal.begin(24, "sum:response", "flex", kind="arrays")
        journal.enter(1)
        governor = governed(world, journal=journal)
        go(governor, world)
        governor.end("done")
        programs = {own["program"]: own["map"][0] for own in journal.history()["programs"]}
    assert programs == {"first": 1.0, "second": 1.0}


def test_no_more_slots_than_a_partition_may_have():
    world = FakeSlurm(most=6)
    for size in SIZES:
        world.submit(size, 2.0)
    governor = governed(world)
    glance(governor)
    assert sum(planned.slots for planned in governor.planned) == 6
    go(governor, world, until=100.0)
    assert sum(words[-1] == "partitions" for words in world.calls) == 4  # one in 30 s


def test_tasks_that_have_no_memory_together_do_not_count_as_running_together():
    """Two of the large ones fit: they last for 100 s, not for 9, so the other array is the shorter one."""
    world = FakeSlurm(memory=1000)
    large = world.submit(100, 2.0, memory=400)
    other = world.submit(200, 2.0, memory=1)
    governor = governed(world)
    glance(governor)
    slots = {planned.array.number: planned.slots for planned in governor.planned}
    assert slots == {large.number: 2, other.number: 22}
    assert {planned.throttle for planned in governor.planned} == {0}
    go(governor, world)
    assert [job.done for job in governor.jobs] == [100, 200]
    assert "ArrayTaskThrottle" not in {key for _, key, _ in world.updates}


def test_memory_is_asked_for_once_an_array():
    world = FakeSlurm(memory=1000)
    world.submit(100, 2.0, memory=10)
    governor = governed(world)
    go(governor, world, until=6.0)
    world.submit(100, 2.0, memory=10)
    go(governor, world, until=20.0)
    assert [words[-1] for words in world.calls if "-O" in words] == ["1", "2"]
    assert sum(words[-1] == "config" for words in world.calls) == 1


def test_other_peoples_arrays_are_left_alone():
    world = FakeSlurm()
    foreign = [world.submit(200, 2.0, user="you") for _ in range(3)]
    own = [world.submit(size, 2.0) for size in (100, 50)]
    governor = governed(world)
    go(governor, world, until=40.0)
    assert not {number for number, _, _ in world.updates} & {each.number for each in foreign}
    assert {planned.array.number for planned in governor.planned} == {each.number for each in own}


def test_a_cancelled_array_leaves_its_slots_to_others():
    world = FakeSlurm()
    world.submit(50, 2.0)
    world.submit(4000, 2.0)
    world.submit(300, 2.0)
    governor = governed(world)
    go(governor, world, until=20.0)
    del world.arrays[3]
    go(governor, world, until=40.0)
    assert not math.isnan(governor.jobs[2].ended)
    assert len(governor.planned) == 1


def test_what_a_dead_governor_left_is_found_in_its_lease(tmp_path):
    world = FakeSlurm()
    for size in SIZES:
        world.submit(size, 2.0)
    go(governed(world), world, until=10.0)
    assert any(array.nice for array in world.arrays.values())
    engine = Slurm(ask=world.ask, clock=world.clock, sleep=world.sleep, wall=world.wall)
    assert left_behind(engine, engine.look(), tmp_path) >= 3
    assert not any(array.nice for array in world.arrays.values() if array.pending)
    assert world.leases == {}
    number = engine.submit(["--begin=now+9", "--comment=malleable lease elsewhere 7"], "")
    with pytest.raises(SlurmError, match="a governor on elsewhere"):
        left_behind(engine, engine.look(), tmp_path)
    assert number in world.leases
    assert socket.gethostname() != "elsewhere"


def test_a_governor_that_has_ended_left_nothing_to_set_back(tmp_path, monkeypatch):
    """Slurm shows its lease for some minutes more, also to other machines."""
    world = FakeSlurm()
    for size in SIZES:
        world.submit(size, 2.0)
    governor = governed(world)
    go(governor, world, until=10.0)
    moved = sorted({number for number, key, _ in world.updates if key == "Nice"})
    assert governor.restore()
    assert world.ended_leases
    theirs = [world.arrays[number] for number in moved if world.arrays[number].pending]
    for array in theirs:  # what its owner gave it since then
        array.nice = 77
    engine = Slurm(ask=world.ask, clock=world.clock, sleep=world.sleep, wall=world.wall)
    for machine in (socket.gethostname(), "elsewhere"):
        monkeypatch.setattr(socket, "gethostname", lambda machine=machine: machine)
        assert left_behind(engine, engine.look(), tmp_path) == 0
    assert {array.nice for array in theirs} == {77}


def test_it_is_done_when_what_is_left_can_never_start():
    world = FakeSlurm()
    world.submit(300, 2.0)
    failing = world.submit(30, 2.0, fails=1)
    dead = world.submit(10, 1.0, after=failing.number)
    world.submit(5, 1.0, after=dead.number)  # Slurm says of it that it waits
    governor = governed(world)
    go(governor, world, until=500.0)
    assert governor.finished
    assert [array.number for array in governor.never] == [3, 4]
    assert [job.cancelled for job in governor.jobs] == [False, False, True, True]
    assert world.arrays[1].done < world.now < world.arrays[1].done + 30.0


def test_what_may_start_some_day_is_waited_for():
    world = FakeSlurm()
    held = world.submit(30, 2.0, reason="JobHeldUser")
    world.submit(5, 1.0, after=held.number)
    governor = governed(world)
    for _ in range(100):
        governor.step()
    assert not governor.finished
    held.reason = "Priority"
    world._start()
    go(governor, world)
    assert [job.done for job in governor.jobs] == [30, 5]


def test_what_a_dead_governor_left_is_found_in_its_file(tmp_path):
    world = FakeSlurm()
    array = world.submit(2000, 2.0, nice=7)
    engine = Slurm(ask=world.ask, clock=world.clock, sleep=world.sleep, wall=world.wall)
    lines = f"update JobId={array.number} Nice=3\n"
    elsewhere = tmp_path / "lease-else-where-7"
    elsewhere.write_text(f"60\n{lines}")
    with pytest.raises(SlurmError, match=r"a governor on else-where \(process 7\)"):
        left_behind(engine, engine.look(), tmp_path)
    assert array.nice == 7
    os.utime(elsewhere, (0.0, 0.0))  # its machine went down with it
    assert left_behind(engine, engine.look(), tmp_path) == 1
    assert array.nice == 3
    assert not elsewhere.exists()
    (tmp_path / f"lease-{socket.gethostname()}-8").write_text("60\n" + lines.replace("3", "5"))
    assert left_behind(engine, engine.look(), tmp_path) == 1
    assert array.nice == 5
    assert list(tmp_path.iterdir()) == []


def test_without_a_lease_there_are_no_caps():
    world = FakeSlurm(
        faults=lambda words: Reply("", "sbatch: error: no", 0.01) if words[0] == "sbatch" else None
    )
    world.submit(2000, 2.0, comment="malleable min=4")
    world.submit(500, 2.0)
    governor = governed(world)
    go(governor, world, until=30.0)
    assert "no lease" in governor.trouble["lease"]
    assert {key for _, key, _ in world.updates} <= {"Nice"}


def test_the_journal_has_what_local_runs_have(tmp_path):
    world = FakeSlurm()
    world.submit(60, 2.0, name="first")
    world.submit(30, 2.0, name="second", comment="malleable weight=2")
    with Journal(tmp_path / "j") as journal:
        journal.begin(24, "sum:response", "flex", kind="arrays")
        journal.enter(1)
        governor = governed(world, journal=journal)
        go(governor, world, until=7.0)
        status = run_status(journal)
        assert [job.name for job in status.jobs] == ["1 first", "2 second"]
        assert sum(job.done for job in status.jobs) > 20
        go(governor, world)
        governor.end("done")
        status = run_status(journal)
        assert [(job.done, job.failed, job.left) for job in status.jobs] == [(60, 0, 0), (30, 0, 0)]
        assert list(journal.decisions(1))
        programs = {(p["program"], p["user"]): p["map"][0] for p in journal.history()["programs"]}
        assert programs == {("first", "me"): 1.0, ("second", "me"): 1.0}


@pytest.mark.parametrize("seconds", [1.86, 8.0])
def test_the_journal_says_what_tasks_took_and_not_what_was_believed_at_first(tmp_path, seconds):
    world = FakeSlurm()
    for size in (120, 60):
        world.submit(size, seconds)
    with Journal(tmp_path / "j") as journal:
        journal.begin(24, "sum:response", "flex", kind="arrays")
        journal.enter(1)
        governor = governed(world, journal=journal)
        go(governor, world)
        governor.end("done")
        status = run_status(journal)
    assert [job.seconds for job in status.jobs] == pytest.approx([seconds] * 2, rel=0.1)
    assert [job.spread for job in status.jobs] == pytest.approx([0.0] * 2, abs=1e-6)
    assert all(0.0 < job.ended <= status.now for job in status.jobs)


def test_the_order_of_changes():
    """Caps fall before anything rises: what old tasks hold is not given away twice."""
    world = FakeSlurm()
    world.submit(2000, 2.0, comment="malleable min=4")
    for size in (500, 100, 300):
        world.submit(size, 2.0)
    governor = governed(world)
    sent = []
    change = governor.queue.change
    governor.queue.change = lambda changes: sent.append(list(changes)) or change(changes)
    go(governor, world, until=60.0)
    for changes in sent:
        kinds = [c for c in changes if c.key != "StartTime"]
        assert all(isinstance(c, Change) for c in kinds)
        caps = [place for place, c in enumerate(kinds) if c.key == "ArrayTaskThrottle" and c.value]
        assert not caps or caps[0] == 0 or len(kinds) == caps[-1] + 1
