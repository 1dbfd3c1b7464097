"""Ends that are told at arrival: what a loop sees of them (`Epoch`, `simulate`)."""

import copy
import pickle

import numpy as np
import pytest

import malleable as mb


def stream(seed, jobs=200, slots=16, load=0.9):
    """Jobs of log-normal work that arrive at random, some with tables."""
    rng = np.random.default_rng(seed)
    work = rng.lognormal(2.0, 1.5, jobs)
    gaps = rng.exponential(work.mean() / (slots * load), jobs)
    tables = [[1.0, 1.9, 2.6, 2.7, 3.9], 0.7, None]
    return mb.Jobs(
        work,
        arrival=np.cumsum(gaps),
        max_slots=rng.integers(1, 9, jobs),
        speedup=[tables[k] if tables[k] is not None else 1.0 for k in rng.integers(0, 3, jobs)],
    )


def told(jobs, predictable, slots=16):
    return mb.simulate(jobs, policy="flex", slots=slots, predictable=predictable).summary["flex"]


def test_told_at_the_first_decision_and_never_again():
    epoch = mb.Epoch(slots=4, predictable=0.01)
    (first,) = epoch.add([20.0], max_slots=2)
    decision = epoch.decide(0.0)
    assert decision.promised.tolist() == [10.0]
    (second,) = epoch.add([4.0], arrival=1.0, max_slots=4)
    epoch.update([first], work=[18.0])
    decision = epoch.decide(1.0)
    assert decision.promised.tolist() == [10.0, 3.0]  # two slots are left
    epoch.update([first], work=[30.0])  # the estimate was wrong
    assert epoch.decide(2.0).promised.tolist() == [10.0, 3.0]
    epoch.finish([second])
    assert epoch.decide(3.0).promised.tolist() == [10.0]


def test_a_newcomer_passes_unless_errors_cost_too_much():
    def slots_with(predictable):
        epoch = mb.Epoch(slots=1, predictable=predictable)
        epoch.add([100.0])
        epoch.decide(0.0)
        epoch.add([50.0], arrival=1.0)
        return epoch.decide(1.0)

    assert slots_with(1e6).slots.tolist() == [0, 1]
    assert slots_with(1e-4).slots.tolist() == [1, 0]
    assert slots_with(1e-4).promised.tolist() == [100.0, 151.0]


def test_plan_is_what_the_loop_does():
    epoch = mb.Epoch(slots=8, predictable=0.05)
    epoch.add([30.0, 8.0, 5.0], max_slots=[4, 8, 2], speedup=[0.8, [1, 1.5, 1.6, 4], 1.0])
    decision = epoch.decide(0.0)
    plan = decision.plan()
    plan.validate()
    assert plan.slots.tolist() == decision.slots.tolist()
    assert (plan.completion <= decision.promised + 1e-9).all()  # idle slots bring jobs forward
    assert decision.value == plan.value


def test_the_curve():
    jobs = stream(3)
    free, some, firm = (told(jobs, predictable) for predictable in (1e6, 0.05, 1e-3))
    assert free["end_error"] > some["end_error"] > 3.0 * firm["end_error"]
    assert free["mean_response"] < firm["mean_response"]
    plain = mb.simulate(jobs, policy="fifo", slots=16).summary["fifo"]
    assert firm["mean_response"] < plain["mean_response"]
    assert "end_error" not in plain


def test_time_has_no_unit():
    jobs = stream(4)
    slow = mb.Jobs(
        jobs.work * 60, arrival=jobs.arrival * 60, max_slots=jobs.max_slots, speedup=jobs.speedup
    )
    one, other = told(jobs, 0.05), told(slow, 0.05)
    assert other["end_error"] == pytest.approx(one["end_error"])
    assert other["mean_response"] == pytest.approx(60 * one["mean_response"])


def test_copies_go_on_alike():
    rng = np.random.default_rng(0)
    epoch = mb.Epoch(slots=6, predictable=0.03)
    for step in range(20):
        epoch.add(rng.integers(1, 30, 3), arrival=float(step), max_slots=rng.integers(1, 7, 3))
        twins = [copy.deepcopy(epoch), pickle.loads(pickle.dumps(epoch))]
        decision = epoch.decide(float(step))
        for twin in twins:
            other = twin.decide(float(step))
            assert other == decision
            assert other.promised.tolist() == decision.promised.tolist()
        if step % 2:
            epoch.finish(decision.ids[:2])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"predictable": -1.0}, "predictable = -1"),
        ({"predictable": 0.0}, "predictable = 0"),
        ({"predictable": float("nan")}, "predictable = nan"),
        ({"predictable": 1.0, "policy": "fair"}, "needs the policy flex"),
        ({"predictable": 1.0, "objective": "max:response"}, "a sum of response"),
        ({"predictable": 1.0, "objective": "sum:tardy"}, "a sum of response"),
        ({"predictable": 1.0, "effort": 10}, "without effort"),
        ({"predictable": 1.0, "hysteresis": 0.1}, "without effort"),
        ({"predictable": 1.0, "period": 5.0}, "without effort"),
    ],
)
def test_wrong_options(options, says):
    with pytest.raises(ValueError, match=says):
        mb.Epoch(slots=4, **options)


def test_refused_calls_change_nothing():
    epoch = mb.Epoch(slots=4, predictable=1.0)
    epoch.add([3.0])
    before = copy.deepcopy(epoch)
    with pytest.raises(ValueError, match=r"kind\[0\] = tardy"):
        epoch.add([3.0], kind="tardy", deadline=4.0)
    with pytest.raises(ValueError, match="period = 2"):
        epoch.decide(0.0, period=2.0)
    assert epoch == before


def test_without_the_option_no_end_is_told():
    epoch = mb.Epoch(slots=4)
    epoch.add([3.0])
    assert epoch.decide(0.0).promised.tolist() == [float("inf")]
    epoch = mb.Epoch(slots=0, predictable=1.0)
    epoch.add([3.0])
    decision = epoch.decide(0.0)
    assert decision.promised.tolist() == [float("inf")]
    assert epoch.decide(5.0, slots=1).promised.tolist() == [8.0]
    with pytest.raises(RuntimeError, match="moved on"):
        _ = decision.plan()
