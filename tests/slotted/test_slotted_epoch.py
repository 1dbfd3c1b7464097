"""The slotted policies in a loop of one's own decide what they decide in the simulator."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from malleable.policies import policy_names
from malleable.slotted.generate import section7

LOOP_POLICIES = policy_names("slotted", in_loop=True)


def believed_left(estimate, done):
    """What a loop tells as left: of a job that has outlived its estimate a quarter of the work done so far."""
    return estimate - done if done <= estimate else 0.25 * done


class Loop:
    """A cluster that does what an epoch says; returns the slot in which every job ends."""

    def __init__(self, jobs, policy, machines, preemptive, seconds=1.0, start=0.0, estimates=None):
        self.estimates = jobs.reduce_work if estimates is None else estimates
        self.epoch = mb.SlottedEpoch(machines, policy, step_seconds=seconds)
        self.jobs, self.machines, self.preemptive = jobs, machines, preemptive
        self.seconds, self.start = seconds, start

    def run(self):
        jobs, epoch, seconds = self.jobs, self.epoch, self.seconds
        finish = [int(a) - 1 for a in jobs.arrival]
        tasks = [list(lengths) for lengths in jobs.reduce]
        maps = jobs.map.tolist()
        running = {}  # job: units left of each running task
        id_of, job_of = {}, {}
        slot = 0
        while slot < int(max(jobs.arrival)) or id_of:
            slot += 1
            now = self.start + (slot - 1) * seconds
            new = [
                k for k in range(len(jobs)) if jobs.arrival[k] == slot and maps[k] + sum(tasks[k])
            ]
            ids = epoch.add(
                [maps[k] for k in new],
                [self.estimates[k] * seconds if tasks[k] else 0.0 for k in new],
                arrival=now,
                reduces=[0 if maps[k] else self.waiting(tasks[k]) for k in new],
            )
            for k, name in zip(new, ids.tolist(), strict=True):
                id_of[k], job_of[name], running[k] = name, k, []
            decision = epoch.decide(now)
            used = sum(len(each) for each in running.values())
            columns = (decision.ids, decision.maps, decision.reduces, decision.slots)
            for name, more_maps, more_reduces, slots in zip(
                *map(np.ndarray.tolist, columns), strict=True
            ):
                k = job_of[name]
                assert slots == len(running[k]) + more_maps + more_reduces
                used += more_maps + more_reduces
                assert more_maps == 0 or more_reduces == 0
                maps[k] -= more_maps
                assert maps[k] >= 0
                if self.preemptive:
                    tasks[k] = (
                        [sum(tasks[k]) - more_reduces] if sum(tasks[k]) > more_reduces else []
                    )
                else:
                    running[k] += [tasks[k].pop(0) for _ in range(more_reduces)]
            assert used <= self.machines
            ended = []
            for k, name in list(id_of.items()):
                running[k] = [units - 1 for units in running[k] if units > 1]
                if maps[k] + sum(tasks[k]) + sum(running[k]) == 0:
                    finish[k] = slot
                    ended.append(name)
                    del id_of[k]
            epoch.finish(ended)
            left = list(id_of)
            epoch.update(
                [id_of[k] for k in left],
                maps=[maps[k] for k in left],
                reduces=[0 if maps[k] else self.waiting(tasks[k]) for k in left],
                running=[len(running[k]) for k in left],
                map_left=[maps[k] * seconds for k in left],
                reduce_left=[self.shown(k, sum(tasks[k]) + sum(running[k])) for k in left],
            )
            assert len(epoch) == len(left)
        return finish

    def shown(self, k, left):
        done = self.jobs.reduce_work[k] - left
        return float(believed_left(self.estimates[k], done)) * self.seconds

    def waiting(self, tasks):
        return sum(tasks) if self.preemptive else len(tasks)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(1, 9),
    st.sampled_from(LOOP_POLICIES),
    st.booleans(),
    st.sampled_from([1.0, 0.5, 20.0]),  # exact, so that equal work stays equal
)
def test_a_loop_is_the_simulator(seed, machines, policy, preemptive, seconds):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 12))
    reduce = [rng.integers(1, 6, rng.integers(0, 4)).tolist() for _ in range(count)]
    jobs = mb.MapReduceJobs(
        rng.integers(0, 6, count), reduce, arrival=np.sort(rng.integers(1, 9, count))
    )
    options = {"machines": machines, "preemptive": preemptive}
    expected = mb.simulate(jobs, policy, **options).records["completion"]
    loop = Loop(jobs, policy, machines, preemptive, seconds, start=float(rng.integers(0, 10**6)))
    assert loop.run() == expected.tolist()


@pytest.mark.parametrize("policy", LOOP_POLICIES)
def test_a_stretch_of_section_7(policy):
    jobs = section7("exp-small", steps=60, rng=4)
    expected = mb.simulate(jobs, policy, preemptive=False).records["completion"]
    assert Loop(jobs, policy, 100, False).run() == expected.tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 9), st.sampled_from(LOOP_POLICIES), st.booleans())
def test_a_loop_on_estimates_is_the_simulator(seed, machines, policy, preemptive):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 12))
    reduce = [rng.integers(1, 6, rng.integers(1, 4)).tolist() for _ in range(count)]
    estimate = rng.integers(1, 12, count).astype(float)
    jobs = mb.MapReduceJobs(
        rng.integers(0, 6, count),
        reduce,
        arrival=np.sort(rng.integers(1, 9, count)),
        reduce_estimate=estimate,
    )
    options = {"estimates": "column", "preemptive": preemptive}
    result = mb.simulate(jobs, policy, machines=machines, **options)
    loop = Loop(jobs, policy, machines, preemptive, estimates=estimate)
    assert loop.run() == result.records["completion"].tolist()


def test_further_decisions_of_a_slot_hand_out_what_is_idle():
    epoch = mb.SlottedEpoch(10, "asrpt", step_seconds=20.0)
    ids = epoch.add([4, 30], [40.0, 400.0], arrival=100.0)
    first = epoch.decide(100.0)
    assert first.ids.tolist() == ids.tolist()
    assert (first.maps.tolist(), first.reduces.tolist()) == ([4, 6], [0, 0])
    epoch.update(ids, maps=[0, 24], running=[4, 6], map_left=[80.0, 560.0])
    again = epoch.decide(105.0)
    assert (again.slots.tolist(), again.maps.tolist()) == ([4, 6], [0, 0])
    assert not again.changed.any()
    # Two map tasks of the first job end early; its reduce tasks wait for the other two.
    epoch.update(ids[:1], running=2, map_left=40.0)
    second = epoch.decide(110.0)
    assert (second.ids.tolist(), second.maps.tolist()) == (ids[::-1].tolist(), [2, 0])
    assert second.slots.tolist() == [8, 2]
    assert second.explain() == [
        "rule asrpt",
        f"job {ids[1]}: 8 slots (no slots are left)",
        f"job {ids[0]}: 2 slots (nothing waits)",
    ]


@pytest.mark.parametrize("policy", LOOP_POLICIES)
def test_map_work_follows_the_tasks_that_wait(policy):
    """Without ``map_left`` a loop decides as one that says a slot for each task that waits."""
    rng = np.random.default_rng(7)
    silent, told = (mb.SlottedEpoch(12, policy, step_seconds=2.0) for _ in range(2))
    maps, left = rng.integers(2, 20, 9), rng.uniform(0, 40, 9)
    ids = silent.add(maps, left)
    assert told.add(maps, left, map_left=maps * 2.0).tolist() == ids.tolist()
    for slot in range(1, 12):
        maps = np.maximum(maps - rng.integers(0, 4, 9), 0)
        silent.update(ids, maps=maps)
        told.update(ids, maps=maps, map_left=maps * 2.0)
        decisions = [epoch.decide(2.0 * slot) for epoch in (silent, told)]
        assert decisions[0] == decisions[1]
    assert silent == told


def test_map_work_that_was_told_is_told_of_each_task():
    ranks = {}
    for told in (None, 60.0):
        epoch = mb.SlottedEpoch(1, "srpt")
        ids = epoch.add([10, 9], [0.0, 0.0], map_left=None if told is None else [10.0, told])
        epoch.update(ids, maps=[5, 2])
        ranks[told] = epoch.decide(0.0).ids.tolist()
    # 5 and 2 slots; or 5 slots, and 2 of 9 tasks that take 60 together.
    assert ranks == {None: [int(ids[1])], 60.0: [int(ids[0])]}


def test_removed_jobs_leave_the_virtual_schedule():
    """A small job that is done early holds the virtual machines that would plan the other's maps."""
    for cancelled in (True, False):
        epoch = mb.SlottedEpoch(4, "asrpt")
        small = epoch.add([3], [1.0])
        (epoch.remove if cancelled else epoch.finish)(small)
        mapping, ready = epoch.add([4, 0], [6.0, 12.0], reduces=[0, 4]).tolist()
        decision = epoch.decide(0.0)
        assert decision.ids.tolist() == [mapping if cancelled else ready]
        assert decision.maps.tolist() == [4 if cancelled else 0]
        assert decision.reduces.tolist() == [0 if cancelled else 4]


def test_capacity_may_change():
    epoch = mb.SlottedEpoch(2, "fifo")
    epoch.add([10], [5.0])
    assert epoch.decide(0.0).maps.tolist() == [2]
    assert epoch.decide(1.0, slots=7).maps.tolist() == [7]
    assert epoch.slots == 7


@pytest.mark.parametrize("policy", LOOP_POLICIES)
def test_slots_of_time_without_machines_do_not_count(policy):
    """An outage shifts a schedule, virtual or real, by its length."""
    rng = np.random.default_rng(3)
    maps, left = rng.integers(1, 9, 6), rng.uniform(0, 20, 6)
    through, after = (mb.SlottedEpoch(5, policy) for _ in range(2))
    for epoch in (through, after):
        epoch.add(maps, left)
        epoch.decide(0.0)
    assert not after.decide(1.0, slots=0).maps.any()
    assert not after.decide(9.0).slots.any()
    for slot in range(1, 8):
        one, other = through.decide(float(slot)), after.decide(9.0 + slot, slots=5)
        assert one.maps[one.slots > 0].tolist() == other.maps[other.slots > 0].tolist()


def test_wrong_parameters():
    for arguments, message in (
        ((-1,), "slots = -1"),
        ((2.5,), "slots = 2.5"),
        ((True,), "slots = True"),
        ((3, "dsrpt"), "policy = 'dsrpt'"),
        ((3, "sjf"), "policy = 'sjf'"),
    ):
        with pytest.raises(ValueError, match=message):
            mb.SlottedEpoch(*arguments)
    with pytest.raises(ValueError, match="step_seconds"):
        mb.SlottedEpoch(3, step_seconds=0.0)
