"""`auto` on nodes of unlike speed: fast slots first, slow ones where they do not delay."""

import pickle

import numpy as np
import pytest

import malleable as mb
from benchmarks.instances import mixed_speeds

SLOW, FAST = {"slots": 1, "rate": 1.0}, {"slots": 1, "rate": 4.0}


def ends(jobs, nodes, policy="auto"):
    result = mb.simulate(jobs, policy, cluster=mb.Cluster(nodes), rng=1)
    return result.records["completion"].tolist()


def test_the_fast_slot_goes_first():
    assert ends(mb.ClusterJobs([1], 8.0), [SLOW, FAST]) == [2.0]
    assert ends(mb.ClusterJobs([1], 8.0), [SLOW, FAST], "fifo") == [8.0]


def test_a_job_waits_for_the_fast_slot_while_that_ends_earlier():
    # Three tasks one after the other on the fast slot end at 6; a fifth would end at 10.
    assert ends(mb.ClusterJobs([3], 8.0), [SLOW, FAST]) == [6.0]
    assert ends(mb.ClusterJobs([5], 8.0), [SLOW, FAST]) == [8.0]


def test_work_ahead_counts_for_the_next_job():
    # The first one's three tasks keep the fast slot until 6, so the second would end there at 7.75.
    assert ends(mb.ClusterJobs([3, 1], [8.0, 7.0], weight=[10.0, 1.0]), [SLOW, FAST]) == [6.0, 7.0]


def test_only_nodes_that_are_up_count():
    scheduler = mb.Scheduler(mb.Cluster([SLOW, FAST]), "auto")
    scheduler.add(mb.ClusterJobs([2], 8.0), 0.0)
    scheduler.decide(0.0)
    assert scheduler.assign(0.0, [[1, 0], [1, 0]]).node.tolist() == [1]
    again = pickle.loads(pickle.dumps(scheduler))
    for one in (scheduler, again):
        assert len(one.assign(1.0, [[1, 0], [0, 0]]).ids) == 0
        one.set_slots([1], [[0, 0]])
        copy = pickle.loads(pickle.dumps(one))
        assert copy.assign(2.0, [[1, 0], [0, 0]]).node.tolist() == [0]


def test_fast_slots_that_nobody_offers_are_not_waited_for():
    scheduler = mb.Scheduler(mb.Cluster([SLOW, FAST]), "auto")
    scheduler.add(mb.ClusterJobs([1], 8.0), 0.0)
    scheduler.decide(0.0)
    assert scheduler.assign(0.0, [[1, 0], [0, 0]]).node.tolist() == [0]


@pytest.mark.parametrize("seed", range(3))
def test_mean_response_is_below_that_of_the_plain_order(seed):
    jobs, cluster = mixed_speeds(seed, 4.0, 150)
    means = {}
    for policy in ("auto", "srpt", "fair"):
        result = mb.simulate(jobs, policy, cluster=cluster, estimates="learn", records=False, rng=1)
        means[policy] = next(iter(result.summary.values()))["mean_response"]
    assert means["auto"] < 0.9 * min(means["srpt"], means["fair"]), means
    assert np.isfinite(means["auto"])


@pytest.mark.parametrize("load", [0.5, 0.95])
def test_jobs_of_one_task_do_not_wait_for_each_other(load):
    """If each job minded its own end alone, all would wait as long as a slow task takes."""
    ratios = []
    for seed in range(2):
        jobs, cluster = mixed_speeds(seed, 4.0, 1_000, 1, load)
        means = [
            next(
                iter(
                    mb.simulate(
                        jobs, policy, cluster=cluster, estimates="learn", records=False, rng=1
                    ).summary.values()
                )
            )
            for policy in ("auto", "srpt")
        ]
        ratios.append(means[0]["mean_response"] / means[1]["mean_response"])
    assert np.mean(ratios) < 1.0, ratios
