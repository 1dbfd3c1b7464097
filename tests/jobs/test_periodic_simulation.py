"""Malleable jobs that arrive, in a loop that holds its slots: against the loop as a user writes it."""

import math

import numpy as np
import pytest

import malleable as mb
from tests.strategies import POLICIES


def stream(seed, jobs=60, slots=20, load=0.8):
    """Jobs of log-normal work that arrive at random, with deadlines and weights."""
    rng = np.random.default_rng(seed)
    work = rng.lognormal(2.0, 1.2, jobs)
    gaps = rng.exponential(math.exp(2.0 + 0.72) / (slots * load), jobs)
    arrival = np.cumsum(gaps)
    most = rng.integers(1, 30, jobs)
    return mb.Jobs(
        work=work,
        arrival=rng.permutation(arrival),
        max_slots=most,
        min_slots=np.minimum(rng.integers(0, 2, jobs), most),
        weight=rng.integers(1, 9, jobs),
        deadline=arrival.max() * rng.random(jobs),
    )


def loop_by_hand(jobs, policy, slots, period, objective, seen, knows_period=True):
    """Completions, in a loop as README has it, over the public epoch."""
    epoch = mb.Epoch(slots, objective, policy)
    rows, left, stated_left = {}, {}, {}
    coming = sorted(range(len(jobs)), key=lambda row: (jobs.arrival[row], row))
    ended = np.full(len(jobs), math.inf)
    call = 0
    while coming or left:
        now = call * period
        call += 1
        fresh = [row for row in coming if jobs.arrival[row] <= now]
        coming = [row for row in coming if jobs.arrival[row] > now]
        if fresh:
            pick = jobs.take(fresh)
            ids = epoch.add(
                seen[fresh],
                arrival=pick.arrival,
                min_slots=pick.min_slots,
                max_slots=pick.max_slots,
                weight=pick.weight,
                deadline=pick.deadline,
                size=pick.size,
            )
            for job, row in zip(ids.tolist(), fresh, strict=True):
                rows[job], left[job], stated_left[job] = row, jobs.work[row], seen[row]
        if not left:
            continue
        d = epoch.decide(now, period=period if knows_period else 0.0)
        gone, ran = [], []
        for job, held in zip(d.ids.tolist(), d.slots.tolist(), strict=True):
            if held == 0:
                continue
            if left[job] <= held * period * (1 + 1e-12):
                ended[rows[job]] = now + left[job] / held
                gone.append(job)
                del left[job]
            else:
                left[job] -= held * period
                stated_left[job] = max(0.0, stated_left[job] - held * period)
                ran.append(job)
        epoch.finish(gone)
        epoch.update(ran, work=[stated_left[job] for job in ran])
    return ended


def completions(result, jobs, policy):
    kept = result.records
    ended = np.full(len(jobs), math.inf)
    mine = kept["policy"] == policy
    ended[kept["job_id"][mine]] = kept["completion"][mine]
    return ended


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("objective", ["sum:stretch", "max:tardiness"])
@pytest.mark.parametrize("period", [0.3, 2.0, 11.0])
def test_the_loop_is_the_one_that_a_user_writes(policy, objective, period):
    for seed in range(3):
        jobs = stream(seed)
        rng = np.random.default_rng(seed)
        seen = jobs.work * np.exp(0.5 * rng.standard_normal(len(jobs)))
        for believed in (jobs.work, seen):
            result = mb.simulate(
                jobs,
                policy,
                slots=20,
                period=period,
                objective=objective,
                estimates=None if believed is jobs.work else believed,
            )
            by_hand = loop_by_hand(jobs, policy, 20, period, objective, believed)
            np.testing.assert_allclose(completions(result, jobs, policy), by_hand, rtol=1e-9)


def test_policies_that_are_not_told():
    jobs = stream(1)
    result = mb.simulate(jobs, "flex", slots=20, period=2.0, knows_period=False)
    by_hand = loop_by_hand(jobs, "flex", 20, 2.0, "sum:response", jobs.work, knows_period=False)
    np.testing.assert_allclose(completions(result, jobs, "flex"), by_hand, rtol=1e-9)
    told = mb.simulate(jobs, "flex", slots=20, period=2.0)
    assert told.summary["flex"]["mean_response"] < result.summary["flex"]["mean_response"]


@pytest.mark.parametrize(
    ("policy", "period"),
    [*((policy, 1.5) for policy in POLICIES), ("hesrpt", 0.0)],
)
def test_a_batch_ends_as_its_plan_says(policy, period):
    """At every event FLEX would search in a plan, and ties go by rows, which move in a loop."""
    rng = np.random.default_rng(5)
    jobs = mb.Jobs(work=rng.lognormal(2.0, 1.0, 12), max_slots=rng.integers(1, 9, 12))
    result = mb.simulate(jobs, policy, slots=10, period=period)
    made = mb.plan(jobs, 10, policy=policy, period=period)
    np.testing.assert_allclose(completions(result, jobs, policy), made.completion, rtol=1e-9)
    assert result.summary[policy]["value"] == pytest.approx(made.value)


def test_one_job_waits_for_the_next_call():
    jobs = mb.Jobs(work=[6.0], arrival=[1.0], max_slots=4, deadline=[3.0], weight=2.0)
    held = mb.simulate(jobs, "fair", slots=3, period=5.0)
    assert held.records["starting_time"].tolist() == [5.0]
    assert held.records["completion"].tolist() == [7.0]
    own = held.summary["fair"]
    assert own["mean_tardiness"] == own["max_tardiness"] == 8.0
    assert own["tardy_share"] == 1.0
    assert own["longest_wait"] == 4.0
    assert own["idle_assigned"] == pytest.approx(3.0 / 5.0)
    assert mb.simulate(jobs, "fair", slots=3).records["completion"].tolist() == [3.0]


def test_calls_without_jobs_are_left_out():
    jobs = mb.Jobs(work=[1.0, 1.0], arrival=[0.0, 1e9], max_slots=1)
    own = mb.simulate(jobs, "flex", slots=1, period=0.5).summary["flex"]
    assert own["decisions"] == 4
    assert own["jobs"] == 2


def test_little_law_and_a_single_server():
    """One slot, jobs of one size, asked at every event: an M/D/1 queue."""
    rng = np.random.default_rng(3)
    arrival = np.cumsum(rng.exponential(1.0 / 0.7, 40_000))
    jobs = mb.Jobs(work=np.ones(len(arrival)), arrival=arrival, max_slots=1)
    own = mb.simulate(jobs, "fifo", slots=1).summary["fifo"]
    assert own["mean_response"] == pytest.approx(1.0 + 0.7 / (2 * 0.3), rel=0.05)
    assert own["utilisation"] == pytest.approx(0.7, rel=0.02)


def test_a_horizon_counts_those_that_are_not_done():
    jobs = mb.Jobs(work=[1.0, 50.0], arrival=[0.0, 1.0], max_slots=1)
    own = mb.simulate(jobs, "fair", slots=2, period=1.0, horizon=10.0).summary["fair"]
    assert own["jobs"] == 1
    assert own["unfinished"] == 1


def test_the_same_seed_gives_the_same_errors():
    jobs = stream(2)
    runs = [mb.simulate(jobs, "flex", slots=20, period=1.0, estimates=0.5, rng=7) for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0] != mb.simulate(jobs, "flex", slots=20, period=1.0, estimates=0.5, rng=8)


def test_a_load_says_how_many_slots():
    jobs = stream(2, jobs=400)
    own = mb.simulate(jobs, "fair", load=0.5).summary["fair"]
    assert own["utilisation"] == pytest.approx(0.5, rel=0.15)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "give slots or a load"),
        ({"slots": 2, "load": 0.5}, "give slots or a load"),
        ({"slots": 0}, "slots = 0"),
        ({"slots": 2, "period": -1.0}, "period = -1"),
        ({"slots": 2, "knows_period": 1}, "knows_period = 1"),
        ({"slots": 2, "objective": "sum:lateness"}, "deadline"),
        ({"slots": 2, "policy": "asrpt"}, "policy = 'asrpt'"),
        ({"slots": 2, "estimates": [1.0]}, "estimates has shape"),
        ({"slots": 2, "policy": "fair", "hysteresis": -1.0}, "hysteresis = -1"),
        ({"slots": 2, "policy": "fair", "predictable": 0.0}, "predictable = 0"),
    ],
)
def test_what_is_wrong_is_named(options, told):
    jobs = mb.Jobs(work=[1.0, 2.0], arrival=[0.0, 0.0])
    with pytest.raises(ValueError, match=told):
        mb.simulate(jobs, **options)


def test_periods_side_by_side():
    found = mb.replicate(stream, range(2), ["flex", "fair"], grid={"period": [0.5, 2.0]}, slots=20)
    assert [point["period"] for point in found.points] == [0.5, 2.0]
    figure = found.plot()
    assert [axes.get_ylabel() for axes in figure.axes] == ["mean response [s]"]
    means = found.at(period=2.0).summary["flex"]["mean_response"].mean
    drawn = figure.axes[0].lines[0].get_ydata()
    assert drawn[1] == pytest.approx(means)
