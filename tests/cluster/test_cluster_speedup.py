"""Speed-up of jobs as tables, and what policies make of it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb


def run(jobs, policy="fifo", slots=4, **options):
    options = {"epoch": 0, "rng": 1, "cluster": mb.Cluster([{"map_slots": slots}]), **options}
    return mb.simulate(jobs, policy, **options)


def completions(*arguments, **options):
    return run(*arguments, **options).records["completion"].tolist()


def test_table_by_hand():
    # Five tasks of 12 s; 1, 2, 3 at once do 1, 1.5, 2 together, and so do 4: four run at 1/2 until
    # 24, the last one alone until 36.
    jobs = mb.ClusterJobs([5], 12)
    assert completions(jobs, speedup=[1, 1.5, 2]) == [36]
    # On two slots, pairs at 3/4: until 16, until 32, and the last one until 44.
    assert completions(jobs, slots=2, speedup=[1, 1.5, 2]) == [44]
    # A task alone at rate 1/2.
    assert completions(mb.ClusterJobs([1], 12), speedup=[0.5]) == [24]


def test_tables_of_jobs_by_hand():
    # The first job has its own rates, the second an exponent, the third follows the simulation.
    jobs = mb.ClusterJobs([2, 2, 2], 10, arrival=[0, 100, 200], speedup=[[1, 1], 0.5, None])
    expected = [20, 100 + 10 * math.sqrt(2), 210]
    assert completions(jobs) == pytest.approx(expected)
    assert completions(jobs, speedup=[1, 1.25])[2] == 216


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_table_of_powers_is_the_power(data):
    count = data.draw(st.integers(1, 6))
    column = st.lists(st.integers(1, 6), min_size=count, max_size=count)
    p = data.draw(st.sampled_from([0.3, 0.8, 1.0]))
    columns = data.draw(column), data.draw(column), data.draw(column), data.draw(column)
    arrival = data.draw(column)
    plain = mb.ClusterJobs(*columns, arrival=arrival, shuffle=1)
    own = mb.ClusterJobs(*columns, arrival=arrival, shuffle=1, speedup=[p] * count)
    policy = data.draw(st.sampled_from(["fair", "flex", "srpt", "hesrpt"]))
    cluster = mb.Cluster([{"map_slots": 3, "reduce_slots": 2}])
    rates = np.arange(1, 6) ** p
    found = [
        run(jobs, policy, cluster=cluster, **options).records["completion"]
        for jobs, options in ((plain, {"speedup": p}), (own, {}), (plain, {"speedup": rates}))
    ]
    # heSRPT on a table uses the exponent that fits it, which is p up to rounding.
    assert found[1] == pytest.approx(found[0], rel=1e-9)
    if policy != "hesrpt":
        assert found[2] == pytest.approx(found[0], rel=1e-9)


def test_hesrpt_follows_the_table():
    sizes, pieces = np.array([60.0, 30.0, 10.0, 4.0]), 40
    jobs = mb.ClusterJobs((sizes * pieces).astype(int), 1 / pieces)
    by_power = run(jobs, "hesrpt", 200, speedup=0.5).summary["hesrpt"]["mean_response"]
    rates = np.sqrt(np.arange(1, 201))
    by_table = run(jobs, "hesrpt", 200, speedup=rates).summary["hesrpt"]["mean_response"]
    assert by_table == pytest.approx(by_power, rel=0.02)
    # Nothing is gained beyond 10 slots: nobody is meant to have more.
    knee = np.minimum(np.arange(1.0, 201), 10)
    means = {
        policy: run(jobs, policy, 20, speedup=knee).summary[policy]["mean_response"]
        for policy in ("hesrpt", "srpt")
    }
    assert means["hesrpt"] < means["srpt"]


def test_auto_gives_a_flow_no_more_slots_than_do_well():
    # Flows of two stages, of 40 tasks each, on 40 slots: one by one their tasks would take much longer.
    flows, stages = 30, [40, 40]
    jobs = mb.ClusterJobs(
        stages * flows, 5.0,
        arrival=np.repeat(np.arange(flows) * 9.0, 2),
        after=[[] if row % 2 == 0 else [row - 1] for row in range(2 * flows)],
        flow=[f"f{row // 2}" for row in range(2 * flows)],
        program=["scan", "join"] * flows,
    )  # fmt: skip
    cluster = mb.Cluster([{"slots": 40}])
    found = mb.simulate(jobs, ["auto", "flowflex"], cluster=cluster, rng=1, speedup=0.5).summary
    assert found["auto"]["flow_response"] < 0.9 * found["flowflex"]["flow_response"]
    found = mb.simulate(jobs, ["auto", "flowflex"], cluster=cluster, rng=1).summary
    assert found["auto"]["flow_response"] == pytest.approx(
        found["flowflex"]["flow_response"], rel=0.02
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2, "speedup = 2: must be from 0 to 1"),
        ([], "rates of 1, 2, ... tasks are one list"),
        ([1, 0.5], r"speedup\[1\] = 0.5: more tasks must not do less"),
        ([0, 1], r"speedup\[0\] = 0: must be finite and above 0"),
        ("fast", "not a number or rates"),
    ],
)
def test_wrong_speed_ups(value, message):
    with pytest.raises(ValueError, match=message):
        run(mb.ClusterJobs([1], 1), speedup=value)


def test_wrong_speed_ups_of_jobs():
    with pytest.raises(ValueError, match="speedup has 1 entry but maps has 2"):
        mb.ClusterJobs([1, 1], 1, speedup=[0.5])
    with pytest.raises(ValueError, match=r"speedup\[1\]\[2\] = 1.0: more tasks"):
        mb.ClusterJobs([1, 1], 1, speedup=[None, [1, 2, 1]])
