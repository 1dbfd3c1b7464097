"""Simulations that begin with what earlier runs had learnt."""

import json

import numpy as np
import pytest

import malleable as mb
from tests.cli.command_line import call, read_json

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
    for seed in range(4):
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


def test_policies_that_learn_nothing_have_no_history():
    learnt = mb.simulate(day(1), cluster=CLUSTER, rng=1).history["auto"]
    plain = mb.simulate(day(2), ["fair", "auto"], cluster=CLUSTER, rng=1)
    known = mb.simulate(day(2), ["fair", "auto"], cluster=CLUSTER, rng=1, history=learnt)
    assert set(known.history) == {"auto"}
    assert known.summary["fair"] == plain.summary["fair"]
    assert mb.simulate(day(2), "fair", cluster=CLUSTER, rng=1).history is None
    with pytest.raises(ValueError, match="history: not a mapping"):
        mb.simulate(day(2), cluster=CLUSTER, history={"format": "other"})


def test_on_the_command_line(tmp_path, capsys):
    jobs, history, none = (tmp_path / name for name in ("jobs.csv", "history.json", "none.json"))
    today = day(3)
    columns = (
        today.arrival.tolist(),
        today.maps.tolist(),
        today.map_work / today.maps,
        today.program,
    )
    rows = [
        ",".join(map(str, (f"job{k}", *row))) for k, row in enumerate(zip(*columns, strict=True))
    ]
    jobs.write_text("\n".join(["name,arrival,maps,map_seconds,program", *rows]) + "\n")
    base = ["simulate", jobs, "--model", "cluster", "--slots", 12, "--estimates", "learn"]
    first = read_json(
        call(capsys, *base, "--policy", "auto", "--save-history", history, "--json", "-")
    )
    known = read_json(call(capsys, *base, "--policy", "auto", "--history", history, "--json", "-"))
    means = [found["policies"]["auto"]["mean_response"] for found in (first, known)]
    assert means[1] < means[0]
    plain = [word for word in base if word not in ("--estimates", "learn")]
    refused = call(capsys, *plain, "--policy", "fair", "--save-history", none)
    assert refused.returncode != 0
    assert "none of the policies learns" in refused.stderr
    assert not none.exists()
