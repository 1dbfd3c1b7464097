"""The scheduler that an engine drives: the same decisions as in the simulation, whatever is told how."""

import copy
import pickle

import numpy as np
import pytest

import malleable as mb
from tests.cluster.cluster_runs import nodes
from tests.cluster.task_engine import FLOWS, POLICIES, Engine, instance, largest_first
from tests.full import in_full
from tests.oracles.class_matching import EAGER


@pytest.mark.parametrize("generic", [False, True])
# What is suggested to single nodes depends on which of several slots is offered first.
@pytest.mark.parametrize(
    "policy", [*(name for name in POLICIES if name != "adaptive-literal"), largest_first]
)
def test_an_engine_that_tells_all_gets_what_the_simulation_gets(policy, generic):
    jobs = instance(3)
    cluster = mb.Cluster([{"count": 4, "slots": 3}]) if generic else nodes(4, 2, 1)
    options = {"slow_start": 1.0} | ({"ageing": 30.0} if policy == "flex" else {})
    own = Engine(jobs, cluster, mb.Scheduler(cluster, policy, learn=False, **options)).run()
    found = mb.simulate(jobs, policy, cluster=cluster, epoch=0, rng=1, learn=False, **options)
    np.testing.assert_allclose(own, found.records["completion"], rtol=1e-12)


class Placed:
    """Ranks by arrival; ``node_of[row]``: where the blocks of a job lie."""

    name, style = "placed", "ranks"

    def __init__(self, node_of):
        self.node_of = node_of

    def decide(self, state):
        return state["arrival"]

    def place(self, state, job, task, copies):
        return [self.node_of[job][task]]


GANGS = [
    {"min_mode": "start"},
    {"min_mode": "start", "ageing": 10.0},
]
BLOCKS = [
    {"replicas": 1},
    {"replicas": 1, "delay": 4.0},
    {"replicas": 1, "delay": 4.0, "ageing": 10.0},
    {"replicas": 1, "min_mode": "start", "ageing": 10.0},
    {"replicas": 1, "min_mode": "start"},
]  # A gang that waits for blocks takes the slots that came free first, which an engine does not tell.


@pytest.mark.parametrize("seed", [5, 6])
@pytest.mark.parametrize(
    ("policy", "options"),
    [(policy, own) for policy in ("fair", "flex", "srpt") for own in GANGS]
    + [(None, own) for own in BLOCKS],
    ids=str,
)
def test_tasks_start_where_the_simulation_starts_them(policy, options, seed):
    """Gangs, ageing, and waiting for blocks."""
    rng = np.random.default_rng(seed)
    cluster = mb.Cluster([{"count": 4, "map_slots": 3, "reduce_slots": 2}])
    plain = instance(seed)
    jobs = mb.ClusterJobs(
        plain.maps, plain.map_seconds, plain.reduces, plain.reduce_seconds, arrival=plain.arrival,
        min_map_slots=np.minimum(plain.maps, rng.integers(0, 4, len(plain))),
        min_reduce_slots=np.minimum(plain.reduces, rng.integers(0, 3, len(plain))),
    )  # fmt: skip
    options = {"slow_start": 1.0, **options}
    node_of = [rng.integers(0, 4, maps).tolist() for maps in jobs.maps]
    policy = policy or Placed(node_of)
    blocks = [[[node] for node in own] for own in node_of] if "replicas" in options else None
    scheduler = mb.Scheduler(cluster, policy, learn=False, **options)
    own = Engine(jobs, cluster, scheduler, blocks=blocks).run()
    found = mb.simulate(jobs, policy, cluster=cluster, epoch=0, rng=1, **options)
    np.testing.assert_allclose(own, found.records["completion"], rtol=1e-12)


@pytest.mark.parametrize("policy", ["auto", "flex", "srpt", "hesrpt"])
def test_an_engine_learns_what_the_simulation_learns(policy):
    jobs, cluster = instance(3), nodes(4, 2, 1)
    options = {"slow_start": 1.0, "prior": 2.0}
    own = Engine(jobs, cluster, mb.Scheduler(cluster, policy, **options)).run()
    found = mb.simulate(jobs, policy, cluster=cluster, epoch=0, rng=1, learn=True, **options)
    np.testing.assert_allclose(own, found.records["completion"], rtol=1e-9)


@pytest.mark.parametrize("policy", FLOWS)
def test_flows_come_as_their_parents_finish(policy):
    cluster = mb.Cluster([{"slots": 4}])
    scheduler = mb.Scheduler(cluster, policy, "max:completion")
    jobs = mb.ClusterJobs(
        [8, 2, 8], 1.0, [1, 0, 0], [4.0, 0.0, 0.0], flow=["a", "a", "b"], after=[[], [0], []]
    )
    ids = scheduler.add(jobs, 0.0)
    assert set(scheduler.decide(0.0).ids.tolist()) <= {ids[0], ids[2]}
    with pytest.raises(ValueError, match=r"^ids\[0\] = 99: no such job$"):
        scheduler.ended([99])
    assert scheduler.ended([ids[0]], 0, count=8, seconds=1.0, now=2.0) == 0
    assert scheduler.ended([ids[0]], 1, seconds=4.0, now=6.0) == 0
    scheduler.finish(ids[:1], 6.0)
    assert ids[1] in scheduler.decide(6.0).ids
    scheduler.remove(ids[1:2])
    assert scheduler.decide(7.0).ids.tolist()[:1] != [ids[1]] and len(scheduler) == 1


def test_events_that_are_late_or_come_twice_are_made_good():
    scheduler = mb.Scheduler(nodes(2, 2), "fair")
    first, second = scheduler.add(mb.ClusterJobs([3, 2], 2.0), 0.0)
    # Nobody said that it started.
    assert scheduler.ended([first], seconds=2.0, now=5.0) == 0
    assert scheduler.started([first], count=5, now=4.0) == 3
    counts = scheduler.counts([first])
    assert [counts[k][0, 0] for k in ("waiting", "running", "finished")] == [0, 2, 1]
    assert scheduler.now == 5.0
    assert scheduler.ended([first] * 4) == 2
    assert scheduler.failed([second]) == 1
    scheduler.observe([second], pending=1, running=1, done=1, failed=2, now=6.0)
    counts = scheduler.counts([second])
    assert [counts[k][0, 0] for k in ("waiting", "running", "finished")] == [1, 1, 3]
    scheduler.finish([first])
    assert scheduler.ended([first]) == 1
    decision = scheduler.decide(7.0)
    assert (decision.ids.tolist(), decision.slots[:, 0].tolist()) == ([second], [2])
    assert decision.explain() == [
        f"job {second}: 2 map slots (its maximum), 0 reduce slots (nothing waits)"
    ]


def test_an_explanation_of_some_jobs():
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), "fair")
    ids = scheduler.add(mb.ClusterJobs([8, 2], [6.0, 3.0]), now=0.0)
    decision = scheduler.decide(0.0)
    assert decision.explain(ids[::-1]) == decision.explain()[::-1]
    with pytest.raises(ValueError, match=r"ids\[0\] = 9: no such job"):
        decision.explain([9])


@pytest.mark.parametrize("policy", ["auto", "flex", "fair", "fifo", "wdeq"])
def test_a_decision_is_worth_what_a_plan_of_divisible_jobs_is(policy):
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), policy, "sum:tardiness")
    table = mb.ClusterJobs([8, 2], [6.0, 3.0], deadline=[10.0, 2.0], weight=[1.0, 2.0])
    ids = scheduler.add(table, now=1e9)
    decision = scheduler.decide(1e9)
    jobs = mb.Jobs([48.0, 6.0], max_slots=[8, 2], deadline=[10.0, 2.0], weight=[1.0, 2.0])
    name = "flex" if policy == "auto" else policy
    plan = mb.plan(jobs, 4, "sum:tardiness", name, effort=0, now=1e9)
    assert (decision.value, decision.lower_bound, decision.gap) == (
        plan.value, plan.lower_bound, plan.gap
    )  # fmt: skip
    kept = pickle.loads(pickle.dumps(decision))
    assert kept == decision and kept.value == decision.value
    late = scheduler.decide(1e9)
    scheduler.started(ids[:1], now=1e9)
    with pytest.raises(RuntimeError, match="moved on"):
        _ = late.value
    assert pickle.loads(pickle.dumps(late)).value is None


@pytest.mark.parametrize(
    ("slots", "policy", "objective"),
    [
        ({"map_slots": 2, "reduce_slots": 2}, "flex", "sum:response"),
        ({"slots": 4}, "gittins", "sum:response"),
        ({"slots": 4}, lambda state, now: state.max_slots, "sum:response"),
    ],
)
def test_a_decision_without_a_plan_has_no_value(slots, policy, objective):
    scheduler = mb.Scheduler(mb.Cluster([slots]), policy, objective)
    scheduler.add(mb.ClusterJobs([8, 2], [6.0, 3.0]), now=0.0)
    decision = scheduler.decide(0.0)
    assert decision.value is decision.lower_bound is decision.gap is None


def test_slots_users_and_estimates_change():
    cluster = mb.Cluster([{"count": 2, "slots": 4}], users=[{"name": "ann"}, {"name": "bob"}])
    scheduler = mb.Scheduler(cluster, "fair", by_user=True)
    ids = scheduler.add(mb.ClusterJobs([20, 20], 1.0, user=["ann", "bob"]), 0.0)
    assert scheduler.decide(0.0).slots.tolist() == [4, 4]
    scheduler.set_users({"ann": (0.0, 3.0)})
    assert scheduler.decide(1.0).slots.tolist() == [6, 2]
    scheduler.set_slots([0], 0)
    assert scheduler.decide(2.0).slots.tolist() == [3, 1]
    flex = mb.Scheduler(nodes(4), "flex")
    ids = flex.add(mb.ClusterJobs([4, 4], [1.0, 2.0]), 0.0)
    assert flex.decide(0.0).slots[:, 0].tolist() == [4]
    flex.update(ids, map_seconds=[5.0, 2.0])
    decision = flex.decide(0.0)
    assert (decision.ids.tolist(), decision.slots[:, 0].tolist()) == (ids.tolist(), [0, 4])
    flex.update(ids[:1], weight=9.0)
    assert flex.decide(0.0).slots[:, 0].tolist() == [4, 0]


def test_adaptive_says_where_free_slots_would_go():
    """What a job holds and what it would be given: users below their minimum first, then the earliest job."""
    cluster = mb.Cluster(
        [{"count": 3, "map_slots": 2, "reduce_slots": 1}],
        users=[{"name": "ann"}, {"name": "bob", "minimum": 2}],
    )
    scheduler = mb.Scheduler(cluster, mb.AdaptiveLiteral(**EAGER), slow_start=0.05)
    table = mb.ClusterJobs([4, 4, 9], 1.0, 2, 1.0, user=["ann", "ann", "ann"])
    ids = scheduler.add(table, 0.0)
    decision = scheduler.decide(0.0)
    assert dict(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True)) == {
        ids[0]: [4, 0],
        ids[1]: [2, 0],
    }
    assert decision.order.tolist() == ids[:2].tolist()
    # Nothing is taken back; the slot that becomes free goes on.
    scheduler.started(ids[2:], count=6)
    decision = scheduler.decide(1.0)
    assert (decision.ids.tolist(), decision.slots.tolist()) == (
        ids.tolist(),
        [[0, 0], [0, 0], [6, 0]],
    )
    scheduler.ended(ids[2:], count=2, seconds=1.0)
    own = scheduler.add(mb.ClusterJobs([5], 1.0, user=["bob"]), 2.0)
    decision = scheduler.decide(2.0)
    slots = dict(zip(decision.ids.tolist(), decision.slots[:, 0].tolist(), strict=True))
    assert (slots[own[0]], slots[ids[2]]) == (2, 4)
    before = scheduler._core.save()
    again = pickle.loads(pickle.dumps(scheduler))
    assert again._core.save() == before
    # What it said is what it does.
    starts = scheduler.assign(2.0, [[2, 0], [0, 0], [0, 0]])
    assert starts.ids.tolist() == [own[0]] * 2
    told, copied = scheduler.decide(3.0), again.decide(3.0)
    assert told.slots.sum(axis=0).tolist() == copied.slots.sum(axis=0).tolist() == [6, 2]


def test_adaptive_targets_are_what_is_assigned():
    scheduler = mb.Scheduler(mb.Cluster([{"count": 4, "slots": 3}]), "adaptive", learn=False)
    jobs = instance(7)
    ids = scheduler.add(jobs, 60.0)
    decision = scheduler.decide(60.0)
    starts = scheduler.assign(60.0, 3)
    started = np.bincount(np.searchsorted(ids, starts.ids), minlength=len(ids))
    wanted = np.zeros(len(ids), dtype=int)
    wanted[np.searchsorted(ids, decision.ids)] = decision.slots
    assert wanted.sum() == 12
    assert wanted.tolist() == started.tolist()


@pytest.mark.parametrize("policy", [*POLICIES, *FLOWS, largest_first])
def test_jobs_hold_no_more_than_their_maximum(policy):
    cluster = mb.Cluster([{"count": 2, "slots": 4}])
    scheduler = mb.Scheduler(cluster, policy)
    jobs = mb.ClusterJobs([20, 20], [1.0, 2.0], 2, 1.0)
    ids = scheduler.add(jobs, 0.0, max_slots=[3, 2])
    decision = scheduler.decide(0.0)
    assert (decision.slots <= [3, 2][: len(decision.slots)]).all()
    starts = scheduler.assign(0.0, 4)
    assert np.bincount(np.searchsorted(ids, starts.ids)).tolist() == [3, 2]
    scheduler.decide(0.0)
    assert len(scheduler.assign(0.0, [3, 0]).ids) == 0
    scheduler.update(ids[1:], max_slots=4)
    scheduler.decide(1.0)
    assert scheduler.assign(1.0, [3, 0]).ids.tolist() == [ids[1]] * 2
    before = scheduler._core.save()
    for wrong in (
        lambda: scheduler.update(ids, max_slots=-1),
        lambda: scheduler.update(ids, max_slots=[1, 1], min_map_slots=[0, 2]),
        lambda: scheduler.add(jobs, max_slots=[1, 0]),
    ):
        with pytest.raises(ValueError, match=r"^max_slots\["):
            wrong()
        assert scheduler._core.save() == before


@pytest.mark.parametrize("policy", [*POLICIES, *FLOWS, largest_first])
def test_a_job_that_may_have_no_slot_waits(policy):
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), policy)
    ids = scheduler.add(mb.ClusterJobs([20, 20], [1.0, 2.0]), 0.0)
    scheduler.started(ids, count=1)
    scheduler.update(ids[:1], max_slots=0)
    scheduler.decide(0.0)
    assert scheduler.assign(0.0, 2).ids.tolist() == [ids[1]] * 2
    scheduler.ended(ids, seconds=2.0, now=2.0)
    scheduler.decide(2.0)
    assert scheduler.assign(2.0, 2).ids.tolist() == [ids[1]] * 2
    scheduler.update(ids[:1], max_slots=4)
    scheduler.update(ids[1:], max_slots=0)
    scheduler.decide(3.0)
    assert scheduler.assign(3.0, 2).ids.tolist() == [ids[0]] * 2


@pytest.mark.parametrize("policy", ["flex", "auto", "fair", "srpt", "adaptive", "flowflex"])
def test_a_preview_changes_nothing(policy):
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), policy)
    ids = scheduler.add(mb.ClusterJobs([20, 3], [1.0, 2.0]), 0.0)
    scheduler.decide(0.0)
    before = scheduler._core.save()
    shown = scheduler.preview(1.0, 3)
    assert scheduler._core.save() == before
    assert shown.ids.tolist() == scheduler.assign(1.0, 3).ids.tolist()
    assert scheduler.counts(ids)["running"].sum() == 3


def test_processors_that_are_known_better_later(tmp_path):
    record = tmp_path / "record"
    made = [
        mb.Scheduler(mb.Cluster([{"slots": 4}]), processors=has, record=path)
        for has, path in (("beyond", record), ("own", None))
    ]
    for scheduler in made:
        scheduler.add(mb.ClusterJobs([20, 9], 1.0), 0.0)
        scheduler.started([0], count=4, now=0.0)
        scheduler.ended([0] * 4, seconds=[1.0, 1.1, 0.9, 1.2], now=1.2)
    changed, own = made
    assert changed.learned["speedup"] < 0.9 < own.learned["speedup"]
    changed.set_processors("own", now=1.2)
    assert changed.learned == own.learned
    assert changed.decide(2.0).slots.tolist() == own.decide(2.0).slots.tolist()
    before = changed._core.save()
    with pytest.raises(ValueError, match="^processors = 'many'"):
        changed.set_processors("many")
    assert changed._core.save() == before
    changed.close()
    assert mb.replay(record).same


def test_jobs_wait_for_jobs_of_earlier_calls(tmp_path):
    record = tmp_path / "record"
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), record=record)
    first = scheduler.add(mb.ClusterJobs([1, 2], 1.0), 0.0)
    scheduler.finish(first[:1], 1.0)
    jobs = mb.ClusterJobs([2, 2, 2], 1.0, after=[[], [], [1]])
    then = scheduler.add(jobs, 1.0, parents=[[first[0]], first, []])
    scheduler.decide(1.0)
    assert scheduler.assign(1.0, 9).ids.tolist() == [first[1]] * 2 + [then[0]] * 2
    scheduler.finish([first[1], then[0]], 2.0)
    scheduler.decide(2.0)
    assert scheduler.assign(2.0, 9).ids.tolist() == [then[1]] * 2
    scheduler.remove(then[1:2], 3.0)  # and the one that waits for it
    assert len(scheduler) == 0
    for parents in ([[99], [], []], [[], []], [[0.5], [], []]):
        with pytest.raises(ValueError, match="^parents"):
            scheduler.add(jobs, 3.0, parents=parents)
    scheduler.close()
    assert mb.replay(record).same


def test_elapsed_seconds_make_the_mean_exact():
    """Counts of tasks of 2 s on 4 slots, looked at every 1.3 s; the first look comes late."""
    found = {}
    for told in (True, False):
        scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), learn=True)
        ids = scheduler.add(mb.ClusterJobs([400], 0.0), now=3.0)
        begin = np.array([0.0, 0.5, 1.0, 1.5])
        for now in 3.0 + 1.3 * np.arange(60):
            age = (now - begin) % 2.0
            done = int(((now - begin) // 2.0).sum())
            more = {"elapsed": age.sum()} if told else {}
            scheduler.observe(ids, pending=396 - done, running=4, done=done, now=now, **more)
        counts = scheduler.counts(ids)
        found[told] = (counts["estimate"] * counts["slowed"])[0, 0]
    assert found[True] == pytest.approx(2.0, rel=0.03)
    assert found[False] == pytest.approx(2.0, rel=0.1)
    before = scheduler._core.save()
    for wrong in ([[1.0, 2.0, 3.0]], [-1.0], [np.nan], [1.0, 2.0]):
        with pytest.raises(ValueError, match="^elapsed"):
            scheduler.observe(ids, elapsed=wrong)
    assert scheduler._core.save() == before


@pytest.mark.parametrize("policy", [*POLICIES, *FLOWS])
def test_jobs_change_hands(policy):
    cluster = mb.Cluster([{"count": 2, "slots": 4}], users=[{"name": "ann", "priority": 3.0}])
    moved, fresh = (mb.Scheduler(cluster, policy, by_user=True) for _ in range(2))
    table = [[20, 20, 20], [1.0, 2.0, 1.5]]
    ids = moved.add(mb.ClusterJobs(*table, user=["ann", "ann", "bob"]), 0.0)
    fresh.add(mb.ClusterJobs(*table, user=["bob", "ann", "cid"]), 0.0)
    moved.decide(0.0)
    moved.started(ids, count=1)
    fresh.started(ids, count=1)
    before = moved._core.save()
    with pytest.raises(ValueError, match="^user"):
        moved.update(ids, user=["ann"])
    assert moved._core.save() == before
    moved.update(ids[[0, 2]], user=["bob", "cid"])
    for now in (1.0, 2.0):
        one, two = moved.decide(now), fresh.decide(now)
        assert dict(zip(one.ids.tolist(), one.slots.tolist(), strict=True)) == dict(
            zip(two.ids.tolist(), two.slots.tolist(), strict=True)
        )


def by_spread(state, now):
    """All slots to the jobs whose work is best known."""
    slots = np.zeros(len(state.ids))
    free = state.capacity
    for row in np.argsort(state.spread):
        slots[row] = min(free, state.max_slots[row])
        free -= slots[row]
    return slots


def test_what_a_function_sees_of_spread_and_speed_up():
    seen = {}

    def look(state, now):
        seen.update(state)
        return state.max_slots

    cluster = mb.Cluster([{"slots": 8}])
    scheduler = mb.Scheduler(cluster, look, learn=False)
    ids = scheduler.add(mb.ClusterJobs([6, 6], 3.0, speedup=[0.5, None]), 0.0)
    scheduler.decide(0.0)
    assert seen["speedup"].tolist() == [0.5, 1.0]
    assert seen["spread"].tolist() == [np.inf, np.inf]
    scheduler.ended([ids[0]] * 3, seconds=[1.0, 3.0, 5.0], now=5.0)
    scheduler.decide(5.0)
    # Three are left; their sample deviation is 2: 2 sqrt(3 + 9 / 3).
    np.testing.assert_allclose(seen["spread"], [2.0 * np.sqrt(6.0), np.inf])


@pytest.mark.parametrize("generic", [False, pytest.param(True, marks=in_full)])
def test_compiled_policies_decide_as_the_function_does(generic):
    numba = pytest.importorskip("numba")
    function = by_spread if generic else most_by_pool
    compiled = numba.njit(function)
    cluster = mb.Cluster([{"count": 4, "slots": 3}]) if generic else nodes(4, 2, 1)
    ends = [
        Engine(instance(5), cluster, mb.Scheduler(cluster, policy)).run()
        for policy in (function, compiled)
    ]
    np.testing.assert_array_equal(*ends)
    results = [
        mb.simulate(instance(5), policy, cluster=cluster, rng=1) for policy in (function, compiled)
    ]
    np.testing.assert_array_equal(*(one.records["completion"] for one in results))
    mb.Scheduler(cluster, numba.njit(wrong)).decide(0.0)
    scheduler = mb.Scheduler(cluster, numba.njit(wrong))
    scheduler.add(mb.ClusterJobs([2], 1.0), 0.0)
    with pytest.raises(ValueError, match=r"^policy's answer\[0\] = -1"):
        scheduler.decide(0.0)


def most_by_pool(state, now):
    slots = np.zeros(state.max_slots.shape)
    for pool in range(2):
        free = state.capacity[pool]
        for row in range(len(state.ids)):
            slots[row, pool] = min(free, state.max_slots[row, pool])
            free -= slots[row, pool]
    return slots


def wrong(state, now):
    return state.work * 0.0 - 1.0


def test_what_is_estimated_from_counts():
    scheduler = mb.Scheduler(nodes(4), "flex")
    job = scheduler.add(mb.ClusterJobs([8], 100.0), 0.0)
    scheduler.observe(job, pending=4, running=4, now=0.0)
    scheduler.observe(job, pending=2, running=4, done=2, now=6.0)
    # 24 slot-seconds for two tasks and four halves; 100 s were said.
    counts = scheduler.counts(job)
    assert 6.0 < (counts["estimate"] * counts["slowed"])[0, 0] < 8.0


@pytest.mark.parametrize("policy", [*POLICIES, *FLOWS, largest_first])
def test_copies_and_pickles_go_on_alike(policy):
    cluster = mb.Cluster([{"count": 3, "slots": 2}], users=[{"name": "ann"}])
    scheduler = mb.Scheduler(cluster, policy, ageing=5.0)
    rng = np.random.default_rng(5)
    others = []
    for step in range(60):
        now = float(step)
        if step in (7, 23, 41):
            others = [*others, copy.deepcopy(scheduler), pickle.loads(pickle.dumps(scheduler))]
            assert all(other == scheduler for other in others)
        seed = int(rng.integers(1 << 30))
        said = [drive(each, seed, now) for each in (scheduler, *others)]
        assert all(one == said[0] for one in said[1:])


def drive(scheduler, seed, now):
    rng = np.random.default_rng(seed)
    here = sorted(getattr(scheduler, "known", []))
    if rng.random() < 0.3 or not here:
        count = int(rng.integers(1, 4))
        users = [str(user) for user in rng.choice(["ann", "bob"], count)]
        jobs = mb.ClusterJobs(
            rng.integers(1, 5, count), 2.0, rng.integers(0, 3, count), 3.0, user=users
        )
        here += scheduler.add(jobs, now).tolist()
    some = [job for job in here if rng.random() < 0.5]
    scheduler.ended(
        some, rng.integers(0, 2, len(some)), seconds=rng.uniform(1, 5, len(some)), node=0
    )
    gone = [job for job in here if rng.random() < 0.1]
    scheduler.finish(gone)
    scheduler.known = [job for job in here if job not in gone]
    decision = scheduler.decide(now)
    starts = scheduler.assign(now, rng.integers(0, 3, 3))
    return [c.tolist() for c in (decision.ids, decision.slots, decision.order, *starts)]


def test_wrong_calls_change_nothing():
    scheduler = mb.Scheduler(nodes(2), "flex")
    ids = scheduler.add(mb.ClusterJobs([2, 3], 2.0), 1.0)
    scheduler.decide(2.0)
    before = scheduler._core.save()
    for call in (
        lambda: scheduler.started([ids[0], 77]),
        lambda: scheduler.ended(ids, 2),
        lambda: scheduler.ended(ids, seconds=[1.0, -1.0]),
        lambda: scheduler.ended(ids, node=[0, 9]),
        lambda: scheduler.observe(ids, done=[1, -1]),
        lambda: scheduler.observe([ids[0]] * 2),
        lambda: scheduler.update(ids, weight=[1.0, np.nan]),
        lambda: scheduler.set_slots([5], 1),
        lambda: scheduler.set_slots([0], [[1, 1, 1]]),
        lambda: scheduler.finish([ids[0], ids[0]]),
        lambda: scheduler.remove([-1]),
        lambda: scheduler.decide(1.0),
        lambda: scheduler.assign(1.0, 1),
        lambda: scheduler.assign(3.0, [1, -1]),
        lambda: scheduler.add([1]),
        lambda: scheduler.set_blocks(ids[0], [[0], [1]]),
    ):
        with pytest.raises(ValueError, match="."):
            call()
        assert scheduler._core.save() == before
    with pytest.raises(ValueError, match="generic slots"):
        mb.Scheduler(nodes(2), "flowflex")
    with pytest.raises(ValueError, match="^unknown option 'speed'"):
        mb.Scheduler(nodes(2), speed=2)


def test_blocks_are_near():
    scheduler = mb.Scheduler(nodes(1, 1, 3), "fair", replicas=1, delay=4.0)
    job = scheduler.add(mb.ClusterJobs([2], 5.0), 0.0)
    scheduler.set_blocks(job[0], [[2], [1]])
    scheduler.decide(0.0)
    assert len(scheduler.assign(0.0, [1, 0, 0]).ids) == 0
    starts = scheduler.assign(1.0, [0, 0, 1])
    assert (starts.task.tolist(), starts.node.tolist()) == ([0], [2])
    scheduler.assign(1.0, [1, 0, 0])
    assert scheduler.next_time == 4.0
    assert scheduler.assign(6.0, [1, 0, 0]).task.tolist() == [1]


@pytest.mark.parametrize("policy", [*POLICIES, *FLOWS, largest_first])
def test_counts_alone_cost_what_slots_idle_between_looks(policy):
    # A slot whose task has ended waits for the next look: up to 5 s, where tasks take 1 to 9.
    jobs, cluster = instance(11), nodes(2, 1, 4)
    if policy in FLOWS:
        cluster = mb.Cluster([{"count": 4, "slots": 3}])
    ends = [
        Engine(jobs, cluster, mb.Scheduler(cluster, policy), every).run()
        for every in (None, 1.0, 5.0)
    ]
    assert np.isfinite(ends).all()
    told, often, seldom = (float((end - jobs.arrival).mean()) for end in ends)
    assert told < often < 1.5 * told
    assert often < seldom


@pytest.mark.parametrize("policy", ["auto", "flex"])
def test_a_restart_that_is_told_later_keeps_slots(policy, tmp_path):
    # The second job waits for slots of the first one, unless they take long to move.
    def slots_with(restart):
        record = tmp_path / str(restart)
        scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), policy, record=record, learn=False)
        (first,) = scheduler.add(mb.ClusterJobs([100], 10.0), now=0.0)
        scheduler.decide(0.0)
        scheduler.started([first], count=4, now=0.0)
        scheduler.update([first], restart=restart, now=0.5)
        (second,) = scheduler.add(mb.ClusterJobs([60], 10.0), now=1.0)
        scheduler.update([second], restart=restart, now=1.0)
        decision = scheduler.decide(1.0)
        scheduler.close()
        assert mb.replay(record).same
        return dict(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True))[first]

    assert slots_with(0.0) < slots_with(300.0) == 4
    with pytest.raises(ValueError, match=r"restart\[0\] = -1"):
        slots_with(-1.0)
