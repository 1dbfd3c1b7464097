"""FlowFlex in the scheduler where jobs are too many to plan: as the epoch of flows decides."""

import pickle

import numpy as np
import pytest

import malleable as mb

SLOTS = 60


class Both:
    """The same flows in a scheduler and in an epoch of flows, told the same."""

    def __init__(self, rng, objective, flows=130):
        sizes = rng.integers(2, 6, flows)
        self.first = np.concatenate([[0], np.cumsum(sizes)])
        count = int(self.first[-1])
        flow = np.repeat(np.arange(flows), sizes)
        place = np.arange(count) - self.first[flow]
        after = [
            sorted(rng.choice(place[k], rng.integers(1, 3), replace=True).tolist())
            if place[k] and rng.random() < 0.6
            else []
            for k in range(count)
        ]
        after = [sorted({int(self.first[flow[k]]) + p for p in own}) for k, own in enumerate(after)]
        self.left = np.stack([rng.integers(1, 12, count), rng.integers(0, 5, count)], axis=1)
        self.seconds = rng.uniform(1.0, 9.0, (count, 2))
        weight, deadline = rng.uniform(0.5, 3.0, flows), rng.uniform(50.0, 900.0, flows)
        self.parents = [set(own) for own in after]
        self.jobs = mb.ClusterJobs(
            self.left[:, 0], self.seconds[:, 0], self.left[:, 1], self.seconds[:, 1],
            weight=weight[flow], deadline=deadline[flow], after=after,
            flow=[f"flow{k}" for k in flow],
        )  # fmt: skip
        cluster = mb.Cluster([{"slots": 10, "count": SLOTS // 10}])
        self.scheduler = mb.Scheduler(cluster, "flowflex", objective, learn=False)
        self.ids = self.scheduler.add(self.jobs, 0.0)
        # Each phase with tasks is a job of the epoch, reduces after maps.
        self.row = np.full((count, 2), -1)
        work, most, parents, offset = [], [], [], [0]
        for k in range(count):
            if k in self.first:
                offset.append(len(work)) if k else None
            for phase in (0, 1):
                if self.left[k, phase] == 0:
                    continue
                self.row[k, phase] = len(work)
                work.append(float(self.left[k, phase] * self.seconds[k, phase]))
                most.append(int(self.left[k, phase]))
                above = [self.row[k, 0]] if phase else [self.row[p].max() for p in after[k]]
                parents.append(above)
        offset.append(len(work))
        self.epoch = mb.FlowEpoch(SLOTS, objective)
        self.epoch_ids = self.epoch.add(
            mb.Flows.from_arrays(
                offset, work, np.concatenate([[0], np.cumsum([len(p) for p in parents])]),
                np.concatenate([np.array(p, dtype=np.int64) for p in parents]),
                max_slots=most, weight=weight, deadline=deadline,
            )
        ).jobs  # fmt: skip
        self.open = np.ones(count, dtype=bool)

    def here(self):
        return [
            k for k in np.flatnonzero(self.open) if not any(self.open[p] for p in self.parents[k])
        ]

    def some_end(self, rng, now):
        """Tasks of jobs that are here."""
        for k in rng.choice(self.here(), 25, replace=False):
            phase = 0 if self.left[k, 0] else 1
            count = int(rng.integers(1, self.left[k, phase] + 1))
            job, own = self.ids[k : k + 1], self.epoch_ids[self.row[k, phase]]
            assert not self.scheduler.ended(job, phase, count=count, now=now)
            self.left[k, phase] -= count
            if self.left[k, phase]:
                work = self.left[k, phase] * self.seconds[k, phase]
                self.epoch.update([own], work=work, max_slots=int(self.left[k, phase]))
            else:
                self.epoch.finish([own])
            if not self.left[k].any():
                self.scheduler.finish(job, now)
                self.open[k] = False

    def slots(self, now):
        """Of each job, as both say."""
        told, own = self.scheduler.decide(now), self.epoch.decide(now)
        by_id = dict(zip(told.ids.tolist(), told.slots.tolist(), strict=True))
        by_row = dict(zip(own.ids.tolist(), own.slots.tolist(), strict=True))
        found = [by_id.get(int(job), 0) for job in self.ids[self.open]]
        expected = [
            by_row[int(self.epoch_ids[self.row[k, 0 if self.left[k, 0] else 1]])]
            for k in np.flatnonzero(self.open)
        ]
        return found, expected


@pytest.mark.parametrize(
    "objective", ["sum:response", "sum:stretch", "sum:tardiness", "max:stretch"]
)
@pytest.mark.parametrize("seed", [1, 2])
def test_many_jobs_have_the_slots_of_the_epoch_of_flows(objective, seed):
    rng = np.random.default_rng(seed)
    both = Both(rng, objective)
    for turn in range(8):
        now = 2.0 * turn
        found, expected = both.slots(now)
        assert both.open.sum() > 300
        assert sum(expected) == SLOTS
        assert found == expected
        both.some_end(rng, now + 1.0)
    # Nothing but counts and the last decision is kept: the rest is worked out again.
    again = pickle.loads(pickle.dumps(both.scheduler))
    own, copied = both.scheduler.decide(100.0), again.decide(100.0)
    assert own.ids.tolist() == copied.ids.tolist()
    assert own.slots.tolist() == copied.slots.tolist()


@pytest.mark.parametrize("policy", ["flowflex", "flowflex-fast"])
@pytest.mark.parametrize("flows", [3, 400])
def test_weights_change_who_comes_first(policy, flows):
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), policy, learn=False)
    ids = scheduler.add(mb.ClusterJobs(np.full(flows, 4), np.arange(1.0, flows + 1.0)), 0.0)
    assert scheduler.decide(0.0).ids.tolist() == ids[:1].tolist()
    scheduler.update(ids[-1:], weight=1e4)
    decision = scheduler.decide(1.0)
    assert decision.ids[decision.slots > 0].tolist() == ids[-1:].tolist()


def test_few_jobs_become_many_and_few_again():
    """Slots of a decision that planned are taken back by one that does not, and the other way round."""
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 6}]), "flowflex", learn=False)
    few = scheduler.add(mb.ClusterJobs([3, 3], [5.0, 6.0]), 0.0)
    assert scheduler.decide(0.0).ids.tolist() == few.tolist()
    maps = np.full(400, 2)
    maps[-1] = 0  # nothing to do, and nobody has said yet that it is done
    many = scheduler.add(mb.ClusterJobs(maps, np.linspace(1.0, 2.0, 400)), 1.0)
    decision = scheduler.decide(1.0)
    assert decision.ids[decision.slots > 0].tolist() == many[:3].tolist()
    scheduler.remove(many, 2.0)
    assert scheduler.decide(2.0).slots.tolist() == [3, 3]


def test_a_flow_without_tasks_leaves_nothing_behind():
    """Nobody decided between its end and the next flow, which has its number."""
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), "flowflex", learn=False)
    for now in range(5):
        idle = scheduler.add(mb.ClusterJobs([0], 1.0), float(now))
        scheduler.finish(idle)
        scheduler.decide(float(now))
    ids = scheduler.add(mb.ClusterJobs([3, 3], [1.0, 2.0]), 6.0)
    assert scheduler.decide(6.0).slots.tolist() == [3, 1]
    assert sorted(scheduler.assign(6.0, 4).ids.tolist()) == sorted([ids[0]] * 3 + [ids[1]])
