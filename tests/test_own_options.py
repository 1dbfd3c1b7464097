"""Policies with options of their own."""

import pytest

import malleable as mb

JOBS = mb.ClusterJobs([6, 1], 10.0, [2, 1], 5.0, arrival=[0.0, 1.0], name=["a", "b"])
CLUSTER = mb.Cluster([{"map_slots": 2, "reduce_slots": 2}])


def test_options_of_one_policy_are_its_own():
    names = ["fair", "fair(slow_start=0.1)", "fair(slow_start=0.1; ageing=1e6)"]
    found = mb.simulate(JOBS, names, cluster=CLUSTER, rng=1, trace=True)
    assert list(found.summary) == list(found.slowdown) == list(found.trace) == names
    assert found.records["policy"].tolist() == [name for name in names for _ in range(2)]
    assert set(found.tasks["policy"].tolist()) == set(names)
    assert (names[1], "decision p50") in found.timing and names[1] in found.timing
    for name, options in zip(names, ({}, {"slow_start": 0.1}, {"slow_start": 0.1}), strict=True):
        own = mb.simulate(JOBS, "fair", cluster=CLUSTER, rng=1, **options)
        assert own.summary["fair"] == found.summary[name]
    assert found.summary[names[0]] != found.summary[names[1]]
    # They go before those for all.
    early = mb.simulate(JOBS, ["fair", names[1]], cluster=CLUSTER, rng=1, slow_start=1.0)
    assert early.summary == {name: found.summary[name] for name in names[:2]}


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("fair(slow_start)", r"policy = 'fair\(slow_start\)': write NAME=VALUE"),
        ("fair(slow_start=x)", r"policy = 'fair\(slow_start=x\)': not a number"),
        ("fair(slow=1)", "unknown option 'slow'"),
        ("best(slow_start=1)", "policy = 'best': expected one of"),
    ],
)
def test_wrong_options(policy, message):
    with pytest.raises(ValueError, match=message):
        mb.simulate(JOBS, policy, cluster=CLUSTER)
