"""Users of a cluster: shares, minima, fairness."""

import pytest

import malleable as mb
from tests.cluster.cluster_runs import run


def test_users_share_first():
    # Ten jobs of a, one of b: half of the slots each; priority 3 gives b three quarters.
    jobs = mb.ClusterJobs([100] * 11, 1, user=["a"] * 10 + ["b"])
    for priority, done in ((1, 20), (3, 14)):
        cluster = mb.Cluster(
            [{"map_slots": 10}], [{"name": "a"}, {"name": "b", "priority": priority}]
        )
        policies = ("fair", "flex", "fifo", "wdeq", "srpt", "max-srpt", "asrpt")
        for policy in (*policies, "hesrpt"):
            records = run(jobs, policy, cluster, epoch=1).records
            assert records["completion"][10] == pytest.approx(done, abs=1)
            alike = run(jobs, policy, cluster, epoch=1, by_user=False).records
            if policy not in ("hesrpt", "srpt", "max-srpt"):
                assert alike["completion"][10] >= 90


def test_minimum_of_a_user():
    cluster = mb.Cluster(
        [{"map_slots": 10}], [{"name": "a", "minimum": 8}, {"name": "b", "priority": 9}]
    )
    jobs = mb.ClusterJobs([80, 80], 1, user=["a", "b"])
    result = run(jobs, "fair", cluster, epoch=1)
    assert result.records["completion"].tolist() == [10, 16]
    assert result.summary["fair"]["dissatisfaction"] == 0
    # FIFO without users starves a: 0 of its 8 slots while b runs for 8 s of 16 s, weighted by 1.
    back = mb.ClusterJobs([80, 80], 1, user=["b", "a"])
    told = run(back, "fifo", cluster, by_user=False).summary["fifo"]
    assert told["dissatisfaction"] == pytest.approx(0.5)
    # Always |10 - 8 - (-4) / 1| and so on: each priority has one user, so nobody differs.
    assert told["user_fairness"] == 0


def test_fairness_of_equal_users():
    cluster = mb.Cluster([{"map_slots": 10}], [{"name": "a"}, {"name": "b"}])
    jobs = mb.ClusterJobs([20, 20], 1, user=["a", "b"])
    # FIFO: 10 and 0 slots, 5 from the mean each, then the other way round, to the end at 4.
    assert run(jobs, "fifo", cluster, by_user=False).summary["fifo"][
        "user_fairness"
    ] == pytest.approx(10)
    assert run(jobs, "fair", cluster).summary["fair"]["user_fairness"] == 0


def test_what_is_told_of_a_user():
    # FIFO on one slot: a's jobs end at 2 and 5, b's at 9, all of them there at 0.
    jobs = mb.ClusterJobs([1, 1, 1], [2, 3, 4], user=["a", "a", "b"])
    cluster = mb.Cluster([{"map_slots": 1}], [{"name": "a"}, {"name": "b"}])
    told = run(jobs, "fifo", cluster, by_user=False).summary["fifo"]
    assert told["response", "a"] == 3.5 and told["response", "b"] == 9
    assert told["p95", "a"] == 5 and told["p95", "b"] == 9
    assert told["longest_wait", "a"] == 2 and told["longest_wait", "b"] == 5
    assert told["stretch", "a"] == (2 / 2 + 5 / 3) / 2
