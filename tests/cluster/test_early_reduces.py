"""Reduce tasks that start before all maps have ended, where nothing is lost by it."""

import numpy as np
import pytest

import malleable as mb
from benchmarks.instances import copying_world
from tests.cluster.cluster_runs import run

CLUSTER = mb.Cluster([{"map_slots": 8, "reduce_slots": 4}])


def same_jobs(count, shuffle, gap=200.0, maps=16):
    """One after the other, each with two waves of maps of 9 to 10 s, two reduces that copy and work for 5 s."""
    seconds = [[9.0 + k % 8 / 7 for k in range(maps)]] * count
    return mb.ClusterJobs(
        [maps] * count, seconds, [2] * count, 5.0, shuffle=shuffle, arrival=gap * np.arange(count)
    )


def ends(jobs, **options):
    options = {"learn": True, "estimates": "learn", "slow_start": 1.0} | options
    return run(jobs, "auto", CLUSTER, **options).records["turnaround_time"]


def test_what_is_learnt_of_copying_saves_its_time():
    jobs = same_jobs(12, 4.0)
    early, last = ends(jobs), ends(jobs, early_reduces=False)
    # Three jobs have to show how long copying takes.
    assert early[:3].tolist() == last[:3].tolist()
    # All but the last map's part can be copied before it ends.
    assert (early[5:] <= last[5:] - 1.5).all()
    assert (early[5:] >= last[5:] - 4 * 15 / 16).all()


@pytest.mark.parametrize(
    "options", [{"shuffle": 0.0}, {"learn": False, "estimates": None}, {"slow_start": 0.5}]
)
def test_it_changes_nothing_without_copying_or_learning_or_where_a_part_of_the_maps_is_enough(
    options,
):
    jobs = same_jobs(8, options.pop("shuffle", 4.0))
    assert ends(jobs, **options).tolist() == ends(jobs, early_reduces=False, **options).tolist()


def test_it_waits_for_a_straggler():
    """A map that takes ten times as long as others do: reduces that started would hold their slots in vain."""
    seconds = [[9.0 + k % 8 / 7 for k in range(16)] for _ in range(9)]
    seconds[8][11] = 100.0
    jobs = mb.ClusterJobs(
        [16] * 9, seconds, [2] * 9, 5.0, shuffle=4.0, arrival=200.0 * np.arange(9)
    )
    traced = run(jobs, "auto", CLUSTER, learn=True, estimates="learn", trace=True).tasks
    own = (traced["job"] == 8) & (traced["phase"] == 1)
    assert (traced["starting_time"][own] >= 1600 + 100).all()


def test_worlds_lose_nothing():
    """The geometric mean over settings of all kinds is below that of waiting for all maps."""
    ratios = []
    for number in range(0, 90, 11):
        jobs, cluster = copying_world(number, 100)
        found = [
            mb.simulate(
                jobs, "auto", cluster=cluster, estimates="learn", rng=1, early_reduces=early
            ).summary["auto"]["mean_response"]
            for early in (True, False)
        ]
        ratios.append(found[0] / found[1])
    assert np.exp(np.log(ratios).mean()) < 1.0
    assert max(ratios) < 1.05
