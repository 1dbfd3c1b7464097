"""Changes of slots that cost time, and unknown sizes (`Jobs`, `Epoch`, `plan`, `simulate`)."""

import copy
import io

import numpy as np
import pytest

import malleable as mb


def two(restart=5.0, **more):
    return mb.Jobs([400.0, 300.0], max_slots=4, restart=restart, **more)


def test_a_plan_says_from_when_on_a_job_works():
    plan = mb.plan(two(), slots=4)
    assert plan.pieces["works_from"].tolist() == [5.0, 85.0]
    assert plan.completion.tolist() == [185.0, 80.0]
    assert "works from 5 s" in plan.explain()[1]
    assert plan.looped
    plan.validate()
    plan.pieces["works_from"][1] = 81.0
    with pytest.raises(ValueError, match="before its restart is over"):
        plan.validate()


def test_a_decision_and_its_plan():
    epoch = mb.Epoch(4)
    (first,) = epoch.add([400.0], max_slots=4, restart=1.0)
    epoch.decide(0.0)
    (second,) = epoch.add([300.0], max_slots=4, arrival=50.0, restart_grow=1.0, restart_slot=0.5)
    epoch.update([first], work=[204.0])
    decision = epoch.decide(50.0)
    assert decision.slots.tolist() == [4, 0]  # it ends before the other one would
    epoch.update([second], work=[30.0])
    decision = epoch.decide(51.0)
    assert decision.slots.tolist() == [0, 4]
    plan = decision.plan()
    plan.validate()
    assert plan.pieces["works_from"].tolist() == [54.0, 62.5]  # 1 s, and half a second a slot
    assert copy.deepcopy(epoch) == epoch


def test_only_changes_that_gain_more_than_they_cost():
    def slots_with(restart):
        epoch = mb.Epoch(4)
        epoch.add([400.0], max_slots=4)
        epoch.decide(0.0)
        epoch.add([300.0], max_slots=4, arrival=1.0)
        epoch.update([0, 1], restart=restart)
        return epoch.decide(1.0).slots.tolist()

    assert slots_with(0.0) == slots_with(1.0) == [0, 4]
    assert slots_with(100.0) == [4, 0]


@pytest.mark.parametrize("restart", [0.5, 20.0, 1000.0])
def test_jobs_that_wait_to_start_restart_too(restart):
    rng = np.random.default_rng(3)
    columns = {
        "min_slots": rng.integers(0, 5, 40), "max_slots": 8,
        "min_mode": rng.choice(["start", "guarantee"], 40).tolist(),
    }  # fmt: skip
    work = rng.lognormal(4.0, 1.0, 40)
    plan = mb.plan(mb.Jobs(work, restart=restart, **columns), 16)
    plan.validate()
    took = plan.pieces["works_from"] - plan.pieces["start"]
    assert took.max() == pytest.approx(restart)
    free = mb.plan(mb.Jobs(work, **columns), 16)
    assert plan.value > free.value
    arrival = np.cumsum(rng.exponential(8.0, 40))
    streams = [
        mb.simulate(mb.Jobs(work, arrival=arrival, restart=cost, **columns), "flex", slots=16)
        for cost in (None, restart)
    ]
    without, with_costs = (found.summary["flex"]["mean_response"] for found in streams)
    assert without < with_costs
    epoch = mb.Epoch(4, min_mode="start")
    epoch.add([400.0, 300.0], min_slots=[1, 2], max_slots=4, restart=restart)
    assert epoch.decide(0.0).slots.sum() == 4
    epoch.update([0], work=[1.0], restart=[2.0 * restart])
    epoch.decide(1.0)
    assert copy.deepcopy(epoch) == epoch


def test_files_keep_the_columns():
    jobs = two(restart_shrink=[1.0, 2.0], restart_slot=0.25)
    text = io.StringIO()
    mb.write_jobs(jobs, text)
    text.seek(0)
    again = mb.read_jobs(text)
    assert again == jobs
    assert again.take([1]).restart_shrink.tolist() == [2.0]


def test_simulations_count_what_changes_cost():
    rng = np.random.default_rng(5)
    work, arrival = rng.lognormal(4.0, 1.0, 300), np.cumsum(rng.exponential(6.0, 300))
    speedup = [0.7] * 300

    def response(restart, **options):
        jobs = mb.Jobs(work, arrival=arrival, max_slots=8, speedup=speedup, restart=restart)
        return mb.simulate(jobs, "flex", slots=32, **options).summary["flex"]["mean_response"]

    free, cheap, dear = (response(restart) for restart in (None, 0.01, 5.0))
    assert free < cheap < dear < free + 25.0
    assert response(None, sizes="unknown") < 1.5 * free


def test_unknown_sizes():
    epoch = mb.Epoch(2, sizes="unknown")
    epoch.add([1.0, 1.0])
    assert epoch.decide(0.0).slots.tolist() == [2, 0]
    assert epoch.decide(50.0).slots.tolist() == [0, 2]
    with pytest.raises(ValueError, match="takes sizes for unknown"):
        epoch.update([0], work=[3.0])
    plan = epoch.decide(60.0).plan()
    plan.validate()
    assert copy.deepcopy(epoch) == epoch


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: two(-1.0), r"restart\[0\] = -1"),
        (lambda: two(restart_slot=[1.0]), "restart_slot"),
        (lambda: mb.Epoch(4, predictable=0.05).add(two()), "goes without predictable"),
        (lambda: mb.Epoch(4, sizes="none"), "sizes = 'none': expected one of known, unknown"),
        (lambda: mb.Epoch(4, sizes="unknown", predictable=0.1), "unknown ones go without"),
    ],
)
def test_wrong_input(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_jobs_of_which_the_same_is_guessed_do_not_take_turns():
    # The second job is stopped when it has done more than the first one, not when it has caught up.
    epoch = mb.Epoch(1, sizes="unknown")
    epoch.add([1.0], restart=30.0)
    for now in range(0, 960, 60):
        epoch.decide(now)
    epoch.add([1.0], restart=30.0, arrival=960.0)
    stopped = next(
        now for now in range(1020, 4000, 60) if epoch.decide(now).slots.tolist() == [1, 0]
    )
    assert 2000 < stopped < 2200
