"""Reduce tasks that start before all maps have ended, where nothing is lost by it."""

import copy
import heapq

import numpy as np
import pytest

import malleable as mb
from benchmarks.instances import copying_world
from tests.cluster.cluster_runs import nodes, run
from tests.cluster.task_engine import Copied, Engine

CLUSTER = mb.Cluster([{"map_slots": 8, "reduce_slots": 4}])


def same_jobs(count, shuffle, gap=200.0, maps=16):
    """One after the other, each with two waves of maps of 9 to 10 s, two reduces that copy and work for 5 s."""
    seconds = [[9.0 + k % 8 / 7 for k in range(maps)]] * count
    return mb.ClusterJobs(
        [maps] * count, seconds, [2] * count, 5.0, shuffle=shuffle, arrival=gap * np.arange(count)
    )


def ends(jobs, **options):
    options = {"learn": True, "estimates": "learn"} | options
    return run(jobs, "auto", CLUSTER, **options).records["turnaround_time"]


def test_what_is_learnt_of_copying_saves_its_time():
    jobs = same_jobs(12, 4.0)
    last = ends(jobs, slow_start=1.0)
    # All but the last map's part can be copied before it ends.
    least = last - 4 * 15 / 16
    kept = ends(jobs, take_back=False)
    # Three jobs have to show how long copying takes.
    assert kept[:3].tolist() == last[:3].tolist()
    assert (kept[5:] <= last[5:] - 1.5).all()
    assert (kept[5:] >= least[5:]).all()
    # Slots that nobody wants are used before that is known.
    assert ends(jobs).tolist() == least.tolist()


@pytest.mark.parametrize("options", [{"shuffle": 0.0}, {"learn": False, "estimates": None}])
def test_it_changes_nothing_without_copying_or_learning(options):
    jobs = same_jobs(8, options.pop("shuffle", 4.0))
    assert ends(jobs, **options).tolist() == ends(jobs, slow_start=1.0, **options).tolist()


@pytest.mark.parametrize("straggler", [0, 11])
def test_it_waits_for_a_straggler(straggler):
    """A map takes ten times as long as others do, whose times scatter: its age says that it may take long."""
    rng = np.random.default_rng(1)
    seconds = [rng.lognormal(2.2, 0.6, 16).tolist() for _ in range(9)]
    seconds[8][straggler] = 100.0
    jobs = mb.ClusterJobs(
        [16] * 9, seconds, [2] * 9, 5.0, shuffle=4.0, arrival=300.0 * np.arange(9)
    )
    how = {"learn": True, "estimates": "learn", "take_back": False}
    traced = run(jobs, "auto", CLUSTER, trace=True, **how).tasks
    own = traced["job"] == 8
    reduces, maps = (own & (traced["phase"] == name) for name in ("reduce", "map"))
    assert reduces.sum() == 2
    assert (traced["starting_time"][reduces] >= traced["finish_time"][maps].max()).all()


def test_worlds_lose_nothing():
    """The geometric mean over settings of all kinds is below that of waiting for all maps."""
    ratios = []
    for number in range(0, 90, 11):
        jobs, cluster = copying_world(number, 100)
        found = [
            mb.simulate(
                jobs, "auto", cluster=cluster, estimates="learn", rng=1, records=False, **options
            ).summary["auto"]["mean_response"]
            for options in ({}, {"take_back": False}, {"slow_start": 1.0})
        ]
        ratios.append([found[0] / found[2], found[1] / found[2]])
    both, kept = np.exp(np.log(ratios).mean(axis=0))
    assert both < kept < 1.0
    assert np.max(ratios) < 1.05


def test_an_idle_slot_copies_sooner_and_is_given_back():
    """A reduce starts once all maps will end within its 4 s of copying by half a chance."""
    jobs = same_jobs(12, 4.0)
    traced = [run(jobs, "auto", CLUSTER, learn=True, estimates="learn", trace=True, take_back=own).tasks
              for own in (True, False)]  # fmt: skip
    first = [
        min(own["starting_time"][(own["job"] == 11) & (own["phase"] == "reduce")]) for own in traced
    ]
    assert first[0] < first[1]


class Copying(Engine):
    """Its reduce tasks copy, and can be ended; the k-th map of a job that starts takes ``times[job][k]``."""

    def __init__(self, jobs, cluster, scheduler, times):
        super().__init__(jobs, cluster, scheduler)
        self.times = [iter(own) for own in times]
        self.copied = np.zeros(len(jobs))  # when maps let all copying end at the earliest
        self.early = self.taken = 0

    def arrive(self, row, now):
        maps, reduces = self.jobs.maps[row], self.jobs.reduces[row]
        table = mb.ClusterJobs([maps], 0.0, [reduces], 0.0, arrival=self.jobs.arrival[row])
        self.ids[row] = int(self.scheduler.add(table, now)[0])
        self.row[self.ids[row]] = row

    def begin(self, row, phase, node, now):
        self.running[row, phase] += 1
        self.free[node, 0 if self.cluster.generic else phase] -= 1
        if phase == 0:
            seconds = next(self.times[row])
            heapq.heappush(self.ends, (now + seconds, len(self.ends), row, 0, node, seconds))
        elif self.done[row, 0] < self.total[row, 0]:
            self.parked.setdefault(row, []).append((now, node))
            self.early += 1
        else:
            self.work(row, node, now)

    def work(self, row, node, began):
        own = self.jobs.reduce_seconds[row]
        seconds = own + self.jobs.shuffle[row]
        end = max(began + seconds, self.copied[row] + own)
        heapq.heappush(self.ends, (end, len(self.ends), row, 1, node, seconds))

    def end(self, row, phase, node, seconds, now):
        self.running[row, phase] -= 1
        self.done[row, phase] += 1
        self.free[node, 0 if self.cluster.generic else phase] += 1
        self.scheduler.ended(
            [self.ids[row]], phase, seconds=seconds, copying=self.jobs.shuffle[row], now=now
        )
        maps = self.total[row, 0]
        if phase == 0:
            left = (maps - self.done[row, 0] + 1) / maps * self.jobs.shuffle[row]
            self.copied[row] = max(self.copied[row], now + left)
        if phase == 0 and self.done[row, 0] == maps:
            for began, place in self.parked.pop(row, []):
                self.work(row, place, began)
        if (self.done[row] == self.total[row]).all():
            self.completion[row] = now
            self.scheduler.finish([self.ids.pop(row)], now)

    def take_back(self, now):
        jobs = self.scheduler.take_back(now, self.free).tolist()
        for job in jobs:
            _, node = self.parked[self.row[job]].pop()
            self.running[self.row[job], 1] -= 1
            self.free[node, 0 if self.cluster.generic else 1] += 1
        self.taken += len(jobs)
        return bool(jobs)

    def assign(self, now):
        self.take_back(now)
        super().assign(now)
        while self.take_back(now):
            super().assign(now)


class CopyingOn(Copied, Copying):
    pass


def copying_jobs(seed, count=40, sigma=1.0, gap=5.0):
    """Jobs, and the seconds of their maps, that scatter."""
    rng = np.random.default_rng(seed)
    maps = rng.integers(2, 12, count)
    times = [(6.0 * rng.lognormal(0.0, sigma, n)).tolist() for n in maps]
    jobs = mb.ClusterJobs(
        maps, times, rng.integers(1, 5, count), rng.integers(2, 9, count) + rng.random(count),
        shuffle=rng.uniform(6.0, 12.0, count), arrival=np.cumsum(rng.exponential(gap, count)),
    )  # fmt: skip
    return jobs, times


@pytest.mark.parametrize("engine", [Copying, CopyingOn])
@pytest.mark.parametrize(("policy", "generic"), [("fair", False), ("fair", True), ("fifo", True)])
def test_an_engine_starts_and_ends_them_as_the_simulation_does(policy, generic, engine):
    early = taken = 0
    for seed in (1, 3, 4):  # in which no two choices are so equal that rounding decides
        jobs, times = copying_jobs(seed, gap=9.0)
        cluster = mb.Cluster([{"count": 4, "slots": 3}]) if generic else nodes(4, 3, 1)
        own = engine(jobs, cluster, mb.Scheduler(cluster, policy, take_back=True), times)
        completion = own.run()
        found = mb.simulate(
            jobs, policy, cluster=cluster, epoch=0, rng=1, learn=True, estimates="learn"
        )
        np.testing.assert_allclose(completion, found.records["completion"], rtol=1e-9)
        assert own.taken == found.summary[policy]["preempted_tasks"]
        early += own.early
        taken += own.taken
    assert early > taken > 0


WORLDS = {
    "plain": {},
    "failures": {"failure": 0.3},
    "speed-up": {"speedup": 0.7},
    "epochs": {"epoch": 0.0},
    "heartbeats": {"heartbeat": 3.0},
    "blocks": {"replicas": 2, "delay": 2.0},
    "backups": {"backups": True},
    "gangs": {"min_mode": "start"},
}


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("name", WORLDS)
def test_every_task_ends_once_on_slots_of_its_own(name, generic):
    jobs, _ = copying_jobs(4, 80, gap=13.0)
    node = {"slots": 4} if generic else {"map_slots": 4, "reduce_slots": 2}
    moves = [(100.0, 1, False), (160.0, 1, True), (300.0, 0, False), (420.0, 0, True)]
    changes = [{"time": time, "node": place, "up": up} for time, place, up in moves]
    cluster = mb.Cluster([{"count": 3, **node}], changes=changes)
    result = mb.simulate(
        jobs, "auto", cluster=cluster, estimates="learn", rng=1, trace=True, **WORLDS[name]
    )
    summary, trace = result.summary["auto"], result.trace["auto"]
    kind = trace["kind"]
    assert summary["unfinished"] == 0
    assert summary["tasks"] == (jobs.maps + jobs.reduces).sum()
    assert summary["killed_tasks"] + summary["preempted_tasks"] == (kind == 3).sum()
    assert (summary["preempted_tasks"] > 0) == (name != "gangs")
    for slot in np.unique(trace["slot"][trace["slot"] >= 0]):
        begins = np.isin(kind[trace["slot"] == slot], (0, 5))
        assert begins[::2].all() and not begins[1::2].any()


@pytest.mark.parametrize("generic", [False, True])
def test_what_was_ended_had_only_copied_and_is_counted(generic):
    jobs, _ = copying_jobs(4, 80, gap=13.0)
    node = {"slots": 4} if generic else {"map_slots": 4, "reduce_slots": 2}
    result = run(jobs, "auto", mb.Cluster([{"count": 3, **node}]), estimates="learn", trace=True)
    summary, tasks = result.summary["auto"], result.tasks
    vain = tasks["success"] == 0
    took = tasks["finish_time"] - tasks["starting_time"]
    assert summary["preempted_tasks"] == vain.sum() > 0
    assert summary["wasted_slot_seconds"] == pytest.approx(took[vain].sum())
    assert (tasks["phase"][vain] == "reduce").all()
    last = np.zeros(len(jobs))
    maps = tasks["phase"] == "map"
    np.maximum.at(last, tasks["job"][maps], tasks["finish_time"][maps])
    assert (tasks["finish_time"][vain] < last[tasks["job"][vain]]).all()


def told(copying=(6.0,) * 4, **options):
    """A scheduler that knows how long maps and copying take, and a job whose last map began at 10 s."""
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 3}]), "fifo", **options)
    for seconds in copying:
        ids = scheduler.add(mb.ClusterJobs([4], 0.0, [1], 0.0), now=0.0)
        scheduler.ended(ids.repeat(4), seconds=[8.0, 10.0, 12.0, 10.0], now=0.0)
        scheduler.ended(ids, 1, seconds=30.0, copying=seconds, now=0.0)
        scheduler.finish(ids, now=0.0)
    (job,) = scheduler.add(mb.ClusterJobs([4], 0.0, [2], 0.0), now=0.0)
    scheduler.decide(0.0)
    assert scheduler.assign(0.0, 3).phase.tolist() == [0] * 3
    scheduler.ended([job] * 2, seconds=10.0, now=10.0)
    scheduler.decide(10.0)
    assert scheduler.assign(10.0, 2).phase[0] == 0
    scheduler.ended([job], seconds=11.0, now=11.0)
    return scheduler, job


def test_a_scheduler_starts_reduces_early_and_takes_them_back():
    scheduler, job = told(take_back=True)
    assert scheduler.assign(11.0, 2).ids.tolist() == []  # the last map has just begun
    assert scheduler.next_time < 16.0
    starts = scheduler.assign(14.6, 2)
    assert (starts.ids.tolist(), starts.phase.tolist()) == ([job] * 2, [1] * 2)
    counts = scheduler.counts([job])
    assert (counts["running"].tolist(), counts["ready"].tolist()) == ([[1, 2]], [[1, 0]])
    # The map will hardly end within the 4.5 s of copying what is there; but nobody wants the slots.
    assert scheduler.take_back(14.7, 0).tolist() == []
    late = scheduler.add(mb.ClusterJobs([1], 0.0), now=14.7)
    again = copy.copy(scheduler)
    scheduler.decide(14.7)
    assert scheduler.take_back(14.7, 1).tolist() == []  # it has a slot
    assert scheduler.take_back(14.7, 0).tolist() == [job]
    assert scheduler.take_back(14.7, 1).tolist() == []
    assert scheduler.counts([job])["running"].tolist() == [[1, 1]]
    assert scheduler.assign(14.7, 1).ids.tolist() == late.tolist()
    again.ready([job], 1)  # if you say that they are ready, they are
    again.decide(14.7)
    assert again.counts([job])["ready"].tolist() == [[1, 1]]


@pytest.mark.parametrize(("copying", "early"), [((6.0,) * 4, 0), ((6.0, 6.0, 6.0, 20.0), 1)])
def test_in_idle_slots_the_longest_copying_counts(copying, early):
    """The map that began at 10 s hardly ends within 6 s, and probably within 20 s."""
    scheduler, job = told(copying, take_back=True)
    assert scheduler.counts([job])["running"].tolist() == [[1, early]]


@pytest.mark.parametrize(("copying", "phases"), [(None, [1]), (0.0, [])])
def test_before_copying_is_known_idle_slots_are_used_when_no_map_waits(copying, phases):
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 3}]), "fifo", take_back=True)
    for _ in range(0 if copying is None else 3):
        ids = scheduler.add(mb.ClusterJobs([1], 0.0, [1], 0.0), now=0.0)
        scheduler.ended(ids, seconds=10.0, now=0.0)
        scheduler.ended(ids, 1, seconds=9.0, copying=copying, now=0.0)
        scheduler.finish(ids, now=0.0)
    (job,) = scheduler.add(mb.ClusterJobs([4], 0.0, [2], 0.0), now=0.0)
    scheduler.decide(0.0)
    assert scheduler.assign(0.0, 3).phase.tolist() == [0] * 3
    scheduler.ended([job], seconds=10.0, now=10.0)
    scheduler.decide(10.0)
    assert scheduler.assign(10.0, 1).phase.tolist() == [0]  # no map waits from here on
    scheduler.ended([job], seconds=11.0, now=11.0)
    assert scheduler.assign(11.0, 1).phase.tolist() == phases


def test_a_scheduler_that_is_not_told_that_tasks_can_be_ended_ends_none():
    scheduler, _ = told()
    assert scheduler.take_back(14.6, 2).tolist() == []
    assert scheduler.assign(14.6, 2).ids.tolist() == []


def test_what_is_told_of_copying_is_checked():
    scheduler, job = told(take_back=True)
    for wrong in (-1.0, np.inf):
        with pytest.raises(ValueError, match="copying"):
            scheduler.ended([job], 1, seconds=9.0, copying=wrong, now=20.0)
    assert scheduler.now == 11.0
    with pytest.raises(ValueError, match="free"):
        scheduler.take_back(20.0, -1)
    assert scheduler.ended([job], seconds=9.0, copying=np.nan, now=20.0) == 0


def test_what_a_scheduler_took_back_is_replayed(tmp_path):
    path = tmp_path / "events"
    scheduler, job = told(take_back=True, record=path)
    scheduler.assign(14.6, 2)
    scheduler.add(mb.ClusterJobs([1], 0.0), now=14.7)
    scheduler.decide(14.7)
    assert scheduler.take_back(14.7, 0).tolist() == [job]
    scheduler.assign(14.7, 1)
    scheduler.decide(16.0)
    scheduler.close()
    found = mb.replay(path, "srpt")
    assert found.same and found.decisions == 4
