"""What tasks take, as the scheduler learns it: what was said, the job's own tasks, earlier runs."""

import collections
import json
import pickle

import numpy as np
import pytest

import malleable as mb
from tests.cluster.cluster_runs import BUILT_IN, nodes
from tests.cluster.task_engine import Copied, Engine, instance

ONE = {"cluster": mb.Cluster([{"slots": 40}])}


def uneven(seed, count=150):
    """Jobs whose tasks take as long as each other, but not as those of other jobs."""
    rng = np.random.default_rng(seed)
    maps = np.maximum(1, rng.lognormal(2.5, 1.0, count)).astype(int)
    return mb.ClusterJobs(
        maps, rng.lognormal(3.0, 1.0, count), arrival=np.cumsum(rng.exponential(20.0, count))
    )


def over_fair(jobs, policy, seed, *, speedup=1.0, **options):
    means = [
        mb.simulate(jobs, name, load=0.8, rng=seed, speedup=speedup, **more).summary[name][
            "mean_response"
        ]
        for name, more in ((policy, options), ("fair", {}))
    ]
    return means[0] / means[1]


def test_wrong_sizes_that_are_corrected_cost_little():
    right, trusting, learning = [], [], []
    for seed in range(100, 124):  # over 100 draws it costs 1.046, give or take 0.005
        jobs = uneven(seed)
        right.append(over_fair(jobs, "auto", seed, learn=False))
        trusting.append(over_fair(jobs, "auto", seed, learn=False, estimates=2.0))
        learning.append(over_fair(jobs, "auto", seed, estimates=2.0))

    def cost(found):
        return np.exp(np.mean(np.log(found) - np.log(right)))

    assert np.mean(right) < 0.9
    assert cost(trusting) > 1.15
    assert cost(learning) < 1.05


def run_many(scheduler, p, rounds=150):
    """Jobs of 1 to 29 tasks, one after the other: s tasks together do s^p."""
    rng = np.random.default_rng(1)
    now = 0.0
    for _ in range(rounds):
        tasks, alone = int(rng.integers(1, 30)), float(rng.lognormal(2.0, 1.0))
        (job,) = scheduler.add(mb.ClusterJobs([tasks], alone * rng.lognormal(0.0, 0.05)), now)
        scheduler.started([job], count=tasks, now=now)
        done = took = 0.0
        for work in np.sort(alone * rng.lognormal(0.0, 0.2, tasks)):
            took += (work - done) * tasks ** (1.0 - p)
            scheduler.ended([job], seconds=took, now=now + took)
            done, tasks = work, tasks - 1
        now += took
        scheduler.finish([job], now)
    return now


def test_auto_says_what_it_does_and_why():
    scheduler = mb.Scheduler(**ONE)
    assert scheduler.rule.startswith("by size: tasks may slow each other down (p = 0.89)")
    low = scheduler.learned["speedup_low"]
    run_many(scheduler, 1.0)
    assert scheduler.rule.startswith("in order: tasks hardly slow each other down (p = ")
    assert low < 0.9 <= scheduler.learned["speedup_low"] <= scheduler.learned["speedup"]
    slower = mb.Scheduler(**ONE)
    run_many(slower, 0.6)
    slower.add(mb.ClusterJobs([5], 1.0), slower.now)
    assert slower.rule.startswith("by size") and slower.learned["speedup"] < 0.7
    single = mb.Scheduler(**ONE)
    single.add(mb.ClusterJobs([1] * 50, 1.0))
    single.decide(0.0)
    assert single.rule.startswith("one by one: no job that is here can use two slots")
    assert mb.Scheduler(**ONE, objective="max:lateness").rule.startswith("flex: no order by size")
    assert mb.Scheduler(**ONE, policy="flex").rule == ""


def test_auto_shares_by_size_where_tasks_slow_each_other_down():
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 40}]))
    run_many(scheduler, 0.6)
    small, middle, large = scheduler.add(mb.ClusterJobs([50, 60, 70], 10.0), scheduler.now)
    given = collections.defaultdict(int)  # decisions say what changes

    def decide():
        decision = scheduler.decide(scheduler.now)
        given.update(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True))

    decide()
    # Flatter than 1 - (1 - k / 3)^(1 / (1 - p)) of the smallest k jobs, as jobs keep coming.
    height = (np.arange(4) / 3) ** (1 / (1 - scheduler.learned["speedup"]))
    assert (
        40 / 3 < given[small] < 40 * (1 - height[2]) and given[small] > given[middle] > given[large]
    )
    # A job that can use less leaves the rest to all others, by their parts.
    (tiny,) = scheduler.add(mb.ClusterJobs([2], 10.0), scheduler.now)
    decide()
    assert given[tiny] == 2 and given[small] > given[middle] > given[large] > 2
    # Jobs beyond the slots: one each for the smallest.
    crowd = scheduler.add(mb.ClusterJobs([3] * 100, 10.0), scheduler.now).tolist()
    decide()
    assert given[tiny] >= 1 and sum(given[j] for j in crowd) == 40 - given[tiny]
    assert given[large] == 0 and max(given[j] for j in crowd) <= 2


@pytest.mark.parametrize("policy", BUILT_IN)
def test_reduces_start_when_all_maps_have_ended(policy):
    jobs = mb.ClusterJobs([6, 1], 10.0, [2, 1], 5.0, arrival=[0.0, 1.0])
    cluster = mb.Cluster([{"map_slots": 2, "reduce_slots": 2}])
    found = mb.simulate(jobs, policy, cluster=cluster, rng=1, trace=True)
    trace = found.trace[policy]
    for job in (0, 1):
        of_job = trace["job"] == job
        ended = trace["time"][of_job & (trace["phase"] == 0) & (trace["kind"] == 1)].max()
        began = trace["time"][of_job & (trace["phase"] == 1) & (trace["kind"] == 0)].min()
        assert began >= ended
    if policy in ("fair", "flex", "srpt", "auto"):
        # Early, the first job's reduce tasks hold both slots while its maps run.
        early = mb.simulate(jobs, policy, cluster=cluster, rng=1, slow_start=0.1)
        assert found.records["completion"][1] < early.records["completion"][1]


def test_reduces_that_start_early_cost_most_where_tasks_differ():
    """Tasks' times scatter by exp(Z): a reduce task that started early holds its slot for long."""
    rng = np.random.default_rng(1)
    maps = np.minimum(rng.geometric(0.06, 300), 200)
    reduces = np.maximum(1, maps // 4)
    seconds = [
        [(mean * rng.lognormal(-0.5, 1.0, count)).tolist() for mean, count in zip(own, counts, strict=True)]
        for own, counts in (
            (rng.lognormal(2.5, 0.6, 300), maps), (rng.lognormal(3.0, 0.6, 300), reduces),
        )
    ]  # fmt: skip
    gap = sum(map(sum, seconds[1])) / 30 / 0.8 / 300
    arrival = np.cumsum(rng.exponential(gap, 300))
    jobs = mb.ClusterJobs(maps, seconds[0], reduces, seconds[1], arrival=arrival)
    cluster = mb.Cluster([{"count": 15, "map_slots": 4, "reduce_slots": 2}])

    def mean(**options):
        return mb.simulate(jobs, "flex", cluster=cluster, rng=1, **options).summary["flex"][
            "mean_response"
        ]

    assert mean() < 0.6 * mean(slow_start=0.05)


def test_auto_learns_unless_told_not_to():
    jobs = uneven(2)
    runs = [
        mb.simulate(jobs, "auto", load=0.8, rng=1, estimates=2.0, **more).records["completion"]
        for more in ({}, {"learn": True}, {"learn": False})
    ]
    assert runs[0].tolist() == runs[1].tolist() != runs[2].tolist()


@pytest.mark.parametrize("p", [0.75, 0.5])
@pytest.mark.parametrize("policy", ["auto", "flex"])
def test_not_worse_than_fair_where_tasks_slow_each_other_down(policy, p):
    """`auto` finds it out, FLEX is told."""
    found = [over_fair(uneven(seed), policy, seed, speedup=p) for seed in range(4)]
    assert np.mean(found) < 1.03


@pytest.mark.parametrize("p", [1.0, 0.8, 0.5])
def test_the_speedup_is_fitted(p):
    scheduler = mb.Scheduler(**ONE, policy="auto")
    now = run_many(scheduler, p)
    assert scheduler.learned["speedup"] == pytest.approx(p, abs=0.06)
    # Seconds are those of a task alone.
    (job,) = scheduler.add(mb.ClusterJobs([5], 10.0), now)
    assert scheduler.counts([job])["estimate"][0, 0] == pytest.approx(10.0, rel=0.25)


def run_once(scheduler, seconds, tasks=10, *, said=0.0, told=True, **columns):
    """A job whose tasks run all at once; its estimate when it came."""
    now = scheduler.now
    (job,) = scheduler.add(mb.ClusterJobs([tasks], said, **columns), now)
    believed = scheduler.counts([job])
    scheduler.started([job], count=tasks, now=now)
    if told:
        scheduler.ended([job], count=tasks, seconds=seconds, now=now + seconds)
    else:
        for part in (0.5, 1.0):
            done = tasks if part == 1.0 else 0
            scheduler.observe([job], running=tasks - done, done=done, now=now + part * seconds)
    scheduler.finish([job], now + seconds)
    return believed["estimate"][0, 0], believed["spread"][0, 0]


@pytest.mark.parametrize("told", [True, False])
def test_earlier_runs_of_the_same_program_and_user(told):
    scheduler = mb.Scheduler(**ONE)
    for _ in range(10):
        run_once(scheduler, 10.0, told=told, program=["sort"], user=["ann"])
        run_once(scheduler, 500.0, told=told, program=["sort"], user=["bob"])
    ann, bob, cid = (
        run_once(scheduler, 70.0, program=["sort"], user=[user]) for user in ("ann", "bob", "cid")
    )
    assert ann[0] == pytest.approx(10.0, rel=0.3) and bob[0] == pytest.approx(500.0, rel=0.3)
    assert 30.0 < cid[0] < 3000.0
    assert cid[1] / cid[0] > 2.0 * ann[1] / ann[0]


def test_before_anything_is_known():
    for prior in (1.0, 60.0):
        scheduler = mb.Scheduler(**ONE, prior=prior)
        said, unsaid = scheduler.add(mb.ClusterJobs([4, 4], [30.0, 0.0]), 0.0)
        counts = scheduler.counts([said, unsaid])
        assert counts["estimate"][:, 0] == pytest.approx([30.0, prior], rel=0.03)
        said, unsaid = counts["spread"][:, 0] / counts["estimate"][:, 0]
        assert said < 2.0 < unsaid


def test_auto_that_may_not_learn_goes_in_order():
    """What live decisions do: p counts as 1, so the job with the least work goes first."""
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 24}]), "auto", learn=False)
    jobs = mb.ClusterJobs([400, 40, 900], 3.0, min_map_slots=[0, 0, 4])
    long, short, least = scheduler.add(jobs, 0.0).tolist()
    decision = scheduler.decide(0.0)
    slots = dict(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True))
    assert slots == {short: 20, least: 4}
    assert long not in scheduler.assign(0.0, free=24).ids.tolist()


def test_jobs_that_wait_learn_from_the_others():
    """All came at once, and nothing was known of any: tasks of jobs that go on speak for those that wait."""
    scheduler = mb.Scheduler(**ONE, policy="flex")
    jobs = scheduler.add(mb.ClusterJobs([6, 6, 6, 6], 0.0), 0.0)

    def believed(now):
        scheduler.decide(now)
        return scheduler.counts(jobs[2:])["estimate"][:, 0]

    first = believed(0.0)
    assert first == pytest.approx([1.0, 1.0], rel=0.03)
    scheduler.started(jobs[:2], count=6, now=0.0)
    scheduler.ended(jobs[:2], seconds=20.0, now=20.0)
    going_on = believed(20.0)
    scheduler.ended([job for job in jobs[:2] for _ in range(5)], seconds=20.0, now=20.0)
    ended = believed(20.0)
    # 20 s, and what two jobs leave open: the mean of a log-normal of variance 1 is e^0.5 times its median.
    for estimate in (going_on, ended):
        assert (estimate > 15.0).all() and (estimate < 20.0 * np.exp(0.5)).all()
    # Copies know the same.
    copied = pickle.loads(pickle.dumps(scheduler))
    copied.decide(21.0)
    np.testing.assert_array_equal(copied.counts(jobs[2:])["estimate"][:, 0], believed(21.0))


def test_tasks_that_run_on_raise_the_estimate():
    scheduler = mb.Scheduler(**ONE)
    long, short = scheduler.add(mb.ClusterJobs([8, 8], 1.0), 0.0)
    scheduler.started([long], count=6, now=0.0)
    scheduler.ended([long], seconds=1.0, now=1.0)
    scheduler.decide(1.0)
    before = scheduler.counts([long])["estimate"][0, 0]
    scheduler.update([long], weight=[1.0], now=50.0)
    scheduler.decide(50.0)
    after = scheduler.counts([long])["estimate"][0, 0]
    assert before < 3.0 and after > 8.0
    assert scheduler.counts([short])["estimate"][0, 0] == pytest.approx(1.0, rel=0.05)


def test_what_a_user_says_later_counts_as_said():
    scheduler = mb.Scheduler(**ONE)
    (job,) = scheduler.add(mb.ClusterJobs([4], 0.0), 0.0)
    scheduler.update([job], map_seconds=[40.0])
    assert scheduler.counts([job])["estimate"][0, 0] == pytest.approx(40.0, rel=0.05)


def test_users_who_are_wrong_alike_are_corrected():
    scheduler = mb.Scheduler(**ONE)
    rng = np.random.default_rng(3)
    for seconds in rng.lognormal(3.0, 1.0, 60):
        run_once(scheduler, float(seconds), tasks=1, said=float(seconds) / 6.0)
    estimate, spread = run_once(scheduler, 60.0, said=10.0)
    assert estimate == pytest.approx(60.0, rel=0.1) and spread < 15.0


def test_policies_of_ones_own_see_the_spread():
    seen = []

    def watch(state, now):
        seen.append(state.spread[0, 0] / state.work[0, 0])
        return state.max_slots

    jobs = uneven(1, 40)
    mb.simulate(jobs, watch, cluster=nodes(20), rng=1, estimates=1.0, learn=True)
    assert len(seen) > 40 and np.isfinite(seen).all() and min(seen) > 0.0


@pytest.mark.parametrize("policy", ["auto", "flex", "hesrpt"])
def test_copies_go_on_as_the_original_would(policy):
    cluster = mb.Cluster([{"count": 3, "slots": 3}])
    scheduler = mb.Scheduler(cluster, policy)
    whole = Engine(instance(7), cluster, mb.Scheduler(cluster, policy)).run()

    assert Copied(instance(7), cluster, scheduler).run().tolist() == whole.tolist()


def test_a_record_is_replayed_with_what_was_learnt(tmp_path):
    path = tmp_path / "events"
    cluster = mb.Cluster([{"count": 3, "slots": 3}])
    scheduler = mb.Scheduler(cluster, "auto", record=path, prior=7.0)
    Engine(instance(9), cluster, scheduler).run()
    scheduler.close()
    assert mb.replay(path).same
    learned = mb.replay(path, "flex")
    assert learned.same and learned.differing < learned.decisions


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"learn": 1}, "learn = 1: must be true or false"),
        (
            {"estimates": "learn", "learn": False},
            "learn = False: cannot be used with estimates = 'learn'",
        ),
        ({"prior": -1.0, "learn": True}, "prior = -1.0: must be from 0"),
    ],
)
def test_wrong_options(more, message):
    with pytest.raises(ValueError, match=message):
        mb.simulate(uneven(1, 5), "flex", load=0.5, **more)


def taught():
    scheduler = mb.Scheduler(**ONE)
    for seconds in (9.0, 10.0, 11.0) * 3:
        run_once(scheduler, seconds, said=2.0 * seconds, program=["sort"], user=["ann"])
        run_once(scheduler, 300.0, program=["join"], user=["bob"])
    return scheduler


def test_a_history_is_saved_and_loaded(tmp_path):
    before = taught()
    path = tmp_path / "history.json"
    path.write_text(json.dumps(before.history, allow_nan=False))
    for history in (path, before.history):
        after = mb.Scheduler(**ONE, history=history)
        assert after.history == before.history
        assert after.learned == pytest.approx(before.learned, rel=1e-9)
        jobs = mb.ClusterJobs(
            [5] * 4, [0, 0, 0, 40.0], program=["join", "sort", "cat", "sort"], user=["bob", *["ann"] * 3]
        )  # fmt: skip
        found, same = (
            s.counts(s.add(jobs, s.now))["estimate"][:, 0].tolist() for s in (after, before)
        )
        before = taught()
        assert found == same
        assert found[:2] == pytest.approx([300.0, 10.0], rel=0.4)


def test_a_record_says_the_history(tmp_path):
    path = tmp_path / "events"
    scheduler = mb.Scheduler(**ONE, policy="auto", history=taught().history, record=path)
    scheduler.add(mb.ClusterJobs([60, 50], 0.0, program=["join", "sort"], user=["bob", "ann"]), 0.0)
    join, sort = 0, 1
    decision = scheduler.decide(0.0)
    given = dict(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True))
    assert given.get(join, 0) < given[sort]
    scheduler.close()
    assert mb.replay(path).same


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.pop("format"), "history: not a mapping"),
        (lambda h: h.update(programs=3), r"history.programs = 3: a list"),
        (lambda h: h["programs"].append(7), r"history.programs\[2\] = 7: a mapping"),
        (
            lambda h: h["programs"].append(h["programs"][0]),
            r"history.programs\[2\]: program 'sort'",
        ),
        (lambda h: h["programs"][1].pop("user"), r"history.programs\[1\]: user is needed"),
        (lambda h: h["programs"][1].update(map=[1.0]), r"history.programs\[1\].map has 1 entries"),
        (lambda h: h["programs"][0].update(map=[-1.0, 0, 0]), "history: -1"),
        (lambda h: h["common"].pop(), "history: 186 numbers, expected 187"),
        (lambda h: h["common"].__setitem__(0, "x"), "history.common = .*finite numbers"),
        (lambda h: h.update(users=3), r"history.users = 3: a list"),
        (lambda h: h["users"].append({}), r"history.users\[\d\]: user is needed"),
        (
            lambda h: h["users"].extend([{"user": "zoe", "map": [0] * 3, "reduce": [0] * 3}] * 2),
            r"history.users\[\d\]: user 'zoe' is there twice",
        ),
        (
            lambda h: h["users"].append({"user": "zoe", "map": [-1, 0, 0], "reduce": [0] * 3}),
            "history: -1",
        ),
    ],
)
def test_what_is_no_history(change, message):
    history = taught().history
    change(history)
    with pytest.raises(ValueError, match=message):
        mb.Scheduler(**ONE, history=history)


def test_reduces_count_with_the_maps_that_they_wait_for():
    # Reduce tasks that begin early hold slots: whoever has little to reduce, but many maps left, waits.
    early, best = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        seconds = rng.lognormal(2.5, 1.0, (2, 200))
        maps = np.maximum(1, rng.lognormal(2.0, 1.0, 200)).astype(int)
        jobs = mb.ClusterJobs(
            maps, seconds[0], np.maximum(1, maps // 3), 3.0 * seconds[1],
            arrival=np.cumsum(rng.exponential(20.0, 200)),
        )  # fmt: skip
        best.append(over_fair(jobs, "auto", seed, speedup=0.8))
        late, soon = (
            mb.simulate(jobs, "fair", load=0.8, rng=seed, speedup=0.8, **more).summary["fair"]
            for more in ({}, {"slow_start": 0.05})
        )
        early.append(best[-1] * late["mean_response"] / soon["mean_response"])
    assert np.mean(early) < 0.8
    assert np.mean(best) < 0.92
