"""Decisions over flows that are held for a period: against equal shares, and against all schedules."""

import copy
import functools
import itertools
import math
import pickle

import numpy as np
import pytest

import malleable as mb
from benchmarks.rivals.loops import FlowEpochRule, hold_flows


def flows_of(rng, count=2, jobs=3, slots=3):
    """Small flows whose works are not multiples of the period 1."""
    rows = []
    for _ in range(count):
        size = int(rng.integers(1, jobs + 1))
        rows.append(
            [
                {
                    "name": str(b),
                    "work": float(np.round(rng.lognormal(0.3, 0.8), 2)) + 0.01,
                    "max_slots": int(rng.integers(1, slots + 1)),
                    "after": [str(a) for a in range(b) if rng.random() < 0.5],
                }
                for b in range(size)
            ]
        )
    return mb.Flows(rows)


def best_sum(flows, slots):
    """Least sum of completions over all integer allocations that are held for periods of 1 s."""
    jobs = range(len(flows.work))
    flow, most = flows.flow.tolist(), flows.max_slots.tolist()
    parents = [list(flows.after(j)) for j in jobs]
    work = flows.work.tolist()

    @functools.cache
    def least(done):  # slots held so far by each job, or inf: it has ended
        left = [work[j] - done[j] for j in jobs]
        ready = [
            j for j in jobs if done[j] < math.inf and all(done[p] == math.inf for p in parents[j])
        ]
        open_flows = {flow[j] for j in jobs if done[j] < math.inf}
        if not open_flows:
            return 0.0
        best = math.inf
        for given in itertools.product(*(range(min(most[j], slots) + 1) for j in ready)):
            if not 0 < sum(given) <= slots:
                continue
            after, ends = list(done), dict.fromkeys(open_flows, 0.0)
            for j, a in zip(ready, given, strict=True):
                if a * 1.0 >= left[j] - 1e-12 and a:
                    after[j] = math.inf
                    ends[flow[j]] = max(ends[flow[j]], left[j] / a)
                else:
                    after[j] = done[j] + a
            still = {flow[j] for j in jobs if after[j] < math.inf}
            cost = sum(1.0 if f in still else ends[f] for f in open_flows)
            if len(still) == len(open_flows) and all(
                after[j] == done[j] for j in ready
            ):  # nothing was handed out
                continue
            best = min(best, cost + least(tuple(after)))
        return best

    return least((0.0,) * len(work))


def test_near_the_best_of_all_integer_allocations():
    ratios = []
    for seed in range(40):
        flows = flows_of(np.random.default_rng(seed))
        done = hold_flows(flows, 3, FlowEpochRule(flows, 3, "sum:response", 1.0), 1.0)
        best = best_sum(flows, 3)
        assert done.sum() >= best * (1 - 1e-9)
        ratios.append(done.sum() / best)
    assert np.mean(ratios) <= 1.03 and max(ratios) <= 1.25, (np.mean(ratios), max(ratios))


def test_jobs_that_cannot_wait_go_first():
    # Flow 0 takes two periods whatever its second root does; flow 1 ends now if it gets two slots.
    flows = mb.Flows(
        [
            [
                {"name": "a", "work": 1.0, "max_slots": 4},
                {"name": "b", "work": 1.0, "max_slots": 4},
                {"name": "c", "work": 1.0, "max_slots": 4, "after": ["a"]},
            ],
            [{"work": 8.0, "max_slots": 2}],
        ]
    )
    epoch = mb.FlowEpoch(3, period=1.0)
    ids = epoch.add(flows).jobs
    decision = epoch.decide(0.0)
    assert decision.slots.tolist() == [1, 0, 0, 2] and decision.period == 1.0
    assert decision.order.tolist() == [ids[0], ids[3], ids[1]]
    assert epoch.decide(0.0, period=0.0).slots.tolist() == [3, 0, 0, 0]
    with pytest.raises(ValueError, match="a decision that is held has no plan"):
        epoch.decide(0.0).plan()


def test_left_over_slots_go_to_jobs_that_end_earlier_by_them():
    epoch = mb.FlowEpoch(10, period=1.0)
    epoch.add(mb.Flows([[{"work": 2.0}], [{"work": 4.0, "max_slots": 7}]]))
    # Both end with two and four slots; each further slot goes to the job that it ends sooner by more.
    assert epoch.decide(0.0).slots.tolist() == [4, 6]


def test_a_job_that_outlives_its_estimate_has_a_quarter_left():
    epoch = mb.FlowEpoch(100, period=1.0)
    epoch.add(mb.Flows([[{"work": 40.0}], [{"work": 60.0}]]))
    assert epoch.decide(0.0).slots.tolist() == [40, 60]
    epoch.update([0, 1], work=[0.0, 200.0])
    # Of 40 slot-seconds done, 10 count as left; the slots that nobody else can use are the other's.
    assert epoch.decide(1.0).slots.tolist() == [10, 90]
    # Without a period it goes first.
    assert epoch.decide(1.0, period=0.0).slots.tolist() == [100, 0]


@pytest.mark.parametrize(
    "policy", ["flowflex", "flowflex-fast", "flowflex-literal", "fifo", "fair"]
)
@pytest.mark.parametrize("objective", ["sum:response", "max:tardiness", "sum:strict"])
def test_every_policy_keeps_to_slots_and_maxima(policy, objective):
    rng = np.random.default_rng(5)
    for seed in range(12):
        flows = flows_of(np.random.default_rng(seed), count=5, jobs=5, slots=6)
        slots = int(rng.integers(1, 12))
        period = float(rng.choice([0.05, 1.0, 30.0]))
        epoch = mb.FlowEpoch(slots, objective, policy, period=period)
        ids = epoch.add(flows).jobs
        decision = epoch.decide(0.0)
        given = decision.slots
        wanted = int(np.minimum(flows.max_slots, slots)[decision.ready].sum())
        assert (given >= 0).all() and (given <= flows.max_slots).all()
        assert not given[~decision.ready].any() and given.sum() <= slots
        assert sorted(decision.order) == sorted(ids[decision.ready])
        if policy != "fair":  # where nobody gains, equal shares leave slots idle
            assert given.sum() == min(slots, wanted)


def test_the_period_is_kept_in_copies_and_checked_first():
    epoch = mb.FlowEpoch(7, period=2.0)
    epoch.add(flows_of(np.random.default_rng(1), count=4, slots=7))
    epoch.decide(0.0)
    epoch.update([0], work=0.0)
    for twin in (copy.deepcopy(epoch), pickle.loads(pickle.dumps(epoch))):
        assert twin == epoch
        ours, theirs = copy.deepcopy(epoch).decide(2.0), twin.decide(2.0)
        assert ours.slots.tolist() == theirs.slots.tolist() and ours.period == theirs.period == 2.0
        assert ours.order.tolist() == theirs.order.tolist()
    before = pickle.dumps(epoch)
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="^period = "):
            epoch.decide(2.0, period=bad)
        with pytest.raises(ValueError, match="^period = "):
            mb.FlowEpoch(7, period=bad)
    with pytest.raises(ValueError, match="^now = "):
        epoch.decide(-1.0, period=1.0)
    assert pickle.dumps(epoch) == before
    assert mb.FlowEpoch(7, period=1.0) != mb.FlowEpoch(7)
