"""Simulations that begin with what earlier runs had learnt."""

import json

import numpy as np
import pytest

import malleable as mb

CLUSTER = mb.Cluster([{"slots": 12}])


def day(seed, count=60):
    """Programs whose tasks take very different times, in another order each day."""
    rng = np.random.default_rng(seed)
    program = rng.integers(30, size=count)
    seconds = 4.0 ** (program % 6 - 2.0) * rng.lognormal(0.0, 0.2, count)
    tasks = rng.integers(4, 30, count)
    gap = (tasks * seconds).mean() / (12 * 0.9)
    names = [f"program{p}" for p in program]
    return mb.ClusterJobs(
        tasks, seconds, arrival=np.cumsum(rng.exponential(gap, count)), program=names
    )


def mean(result):
    return result.summary["auto"]["mean_response"]


def test_later_days_know_what_earlier_days_learnt(tmp_path):
    first, later, told = [], [], []
    for seed in range(24):
        options = {"cluster": CLUSTER, "rng": seed, "estimates": "learn"}
        learnt = None
        for before in range(3):
            learnt = mb.simulate(day(100 + 10 * seed + before), history=learnt, **options).history[
                "auto"
            ]
        today = day(seed)
        first.append(mean(mb.simulate(today, **options)))
        later.append(mean(mb.simulate(today, history=learnt, **options)))
        told.append(mean(mb.simulate(today, cluster=CLUSTER, rng=seed)))
        file = tmp_path / "history.json"
        file.write_text(json.dumps(learnt))
        assert mean(mb.simulate(today, history=file, **options)) == later[-1]
    assert np.mean(later) < 0.95 * np.mean(first)
    assert np.mean(later) < 1.05 * np.mean(told)


def test_a_scheduler_goes_on_where_a_simulation_ended():
    learnt = mb.simulate(day(1), cluster=CLUSTER, rng=1, estimates="learn").history["auto"]
    scheduler = mb.Scheduler(CLUSTER, history=learnt)
    assert scheduler.history == learnt
    (job,) = scheduler.add(mb.ClusterJobs([5], 0.0, program=["program29"]))
    assert 40.0 < scheduler.counts([job])["estimate"][0, 0] < 100.0
    again = mb.simulate(
        day(2), cluster=CLUSTER, rng=1, estimates="learn", history=scheduler.history
    )
    counted = {own["program"]: own["map"][0] for own in again.history["auto"]["programs"]}
    before = {own["program"]: own["map"][0] for own in learnt["programs"]}
    assert all(counted[name] >= runs for name, runs in before.items())


def test_how_far_users_were_off_is_known_the_next_day(tmp_path):
    before = mb.Scheduler(CLUSTER)
    for off, user in ((0.1, "ann"), (1.0, "bob")) * 3:
        (job,) = before.add(mb.ClusterJobs([4], 10.0 * off, user=[user]))
        before.started([job], count=4)
        before.ended([job], count=4, seconds=10.0, now=before.now + 10.0)
        before.finish([job])
    assert [own["user"] for own in before.history["users"]] == ["ann", "bob"]
    file = tmp_path / "history.json"
    file.write_text(json.dumps(before.history))
    for history in (before.history, file):
        # The cluster's own users are numbered first.
        place = mb.Cluster([{"slots": 12}], users=[{"name": "bob"}, {"name": "eve"}])
        after = mb.Scheduler(place, history=history)
        assert after.history == before.history | {"users": after.history["users"]}
        users = {own["user"]: own for own in after.history["users"]}
        assert users == {own["user"]: own for own in before.history["users"]}
        jobs = after.add(mb.ClusterJobs([4, 4, 4], 3.0, user=["bob", "ann", "new"]))
        bob, ann, new = after.counts(jobs)["estimate"][:, 0]
        assert bob < new < ann
        assert ann > 1.3 * bob
    unsaid = mb.Scheduler(CLUSTER, history=before.history | {"users": []})
    jobs = unsaid.add(mb.ClusterJobs([4, 4], 3.0, user=["bob", "ann"]))
    assert np.ptp(unsaid.counts(jobs)["estimate"][:, 0]) == 0.0
    jobs = mb.ClusterJobs([4, 4], 3.0, user=["new", "bob"])
    learnt = mb.simulate(jobs, cluster=CLUSTER, rng=1, history=file).history["auto"]["users"]
    assert {own["user"] for own in learnt} == {"ann", "bob", "new"}
    said = {own["user"]: own["map"][0] for own in learnt}
    assert said == {"ann": 3.0, "bob": 4.0, "new": 1.0}


def test_how_far_tasks_of_each_program_slow_each_other_down_is_known_the_next_day():
    rng = np.random.default_rng(5)
    program = rng.integers(4, size=80)
    jobs = mb.ClusterJobs(
        rng.integers(8, 30, 80),
        5.0,
        arrival=np.cumsum(rng.exponential(20.0, 80)),
        program=[f"program{k}" for k in program],
        speedup=np.where(program % 2 == 0, 1.0, 0.5).tolist(),
    )
    learnt = mb.simulate(jobs, cluster=CLUSTER, rng=1, estimates="learn").history["auto"]
    grid = np.append(np.arange(0.25, 0.99, 0.05), 1.0)
    for own in learnt["programs"]:
        tasks, *logs = own["speedup"]
        assert tasks > 0.0
        even = int(own["program"][-1]) % 2 == 0
        assert abs(grid[np.argmax(logs)] - (1.0 if even else 0.5)) < 0.06
    # Slots go to the job whose tasks do not slow each other down, also if the other job came first.
    for names in (["program0", "program1"], ["program3", "program2"]):
        scheduler = mb.Scheduler(CLUSTER, history=learnt)
        ids = scheduler.add(mb.ClusterJobs([30, 30], 5.0, program=names), now=0.0)
        decision = scheduler.decide(0.0)
        given = dict(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True))
        even, odd = (given.get(job, 0) for job in (ids if names[0] == "program0" else ids[::-1]))
        assert even > 2 * odd
        shown = scheduler.counts(ids)["speedup"]
        assert (
            np.abs(shown - [1.0 if int(name[-1]) % 2 == 0 else 0.5 for name in names]).max() < 0.06
        )
    wrong = [own | {"speedup": [1.0]} for own in learnt["programs"]]
    with pytest.raises(ValueError, match=r"programs\[0\].speedup has 1 entries, expected 17"):
        mb.Scheduler(CLUSTER, history=learnt | {"programs": wrong})
    older = [{key: own[key] for key in own if key != "speedup"} for own in learnt["programs"]]
    assert mb.Scheduler(CLUSTER, history=learnt | {"programs": older}).learned["speedup"] < 1.0


def test_policies_that_learn_nothing_have_no_history():
    learnt = mb.simulate(day(1), cluster=CLUSTER, rng=1).history["auto"]
    plain = mb.simulate(day(2), ["fair", "auto"], cluster=CLUSTER, rng=1)
    known = mb.simulate(day(2), ["fair", "auto"], cluster=CLUSTER, rng=1, history=learnt)
    assert set(known.history) == {"auto"}
    assert known.summary["fair"] == plain.summary["fair"]
    assert mb.simulate(day(2), "fair", cluster=CLUSTER, rng=1).history is None
    with pytest.raises(ValueError, match="history: not a mapping"):
        mb.simulate(day(2), cluster=CLUSTER, history={"format": "other"})
