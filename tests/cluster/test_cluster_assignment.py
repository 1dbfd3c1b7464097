"""Which of the jobs below their targets gets a free slot: FLEX, sections 1 and 4.2."""

import copy
import pickle

import numpy as np
import pytest

import malleable as mb
from malleable.cluster.named_policies import OPTIONS
from tests.cluster.cluster_runs import nodes, run

TARGETS = np.array([5.0, 3.0])


def goals(state, now):
    """The first job should have five slots, the second three; there are four."""
    return np.column_stack([TARGETS[state.ids], np.zeros(len(state.ids))])


def starts(jobs, **options):
    """By time, how many tasks of each job start."""
    trace = run(jobs, goals, nodes(4), trace=True, **options).trace["goals"]
    begun = trace["kind"] == 0
    found = {}
    for time, job in zip(trace["time"][begun].tolist(), trace["job"][begun].tolist(), strict=True):
        found.setdefault(time, [0, 0])[job] += 1
    return found


@pytest.mark.parametrize(
    ("assignment", "first", "second"),
    [
        # running / target: 0, 0, 1/5, 1/3 -> two each, always.
        ("ratio", [2, 2], [2, 2]),
        # "subtracted from the job allocation goals": 5, 4, 3 = 3, 2 -> three and one.
        ("difference", [3, 1], [3, 1]),
        # Nobody is owed anything at first; at 10 s the first job lacks 10 slot-seconds, the other 30.
        ("deficit", [4, 0], [1, 3]),
    ],
)
@pytest.mark.parametrize("heartbeat", [0, 10])
def test_by_hand(assignment, first, second, heartbeat):
    jobs = mb.ClusterJobs([20, 20], 10)
    found = starts(jobs, assignment=assignment, heartbeat=heartbeat)
    assert (found[0.0], found[10.0]) == (first, second)
    if assignment == "ratio":
        assert found == starts(jobs, heartbeat=heartbeat)


def test_deficits_even_out_in_proportion_to_targets():
    """Over time what is lacking is shared: both are 1 / 8 of the four slots below their targets."""
    found = starts(mb.ClusterJobs([200, 200], 10), assignment="deficit")
    given = np.cumsum([found[10.0 * k] for k in range(40)], axis=0)
    lacks = TARGETS * np.arange(1, 41)[:, None] - given
    assert np.abs(lacks[:, 0] - lacks[:, 1]).max() <= 4


@pytest.mark.parametrize("assignment", OPTIONS["assignment"]["words"])
def test_every_task_runs_and_no_slot_idles(assignment):
    jobs = mb.generate_cluster_jobs(30, 4, gap=5.0, mean_maps=8)
    for cluster in (nodes(3, 2), mb.Cluster([{"slots": 5}])):
        for policy in ("flex", "fair"):
            found = run(jobs, policy, cluster, assignment=assignment, in_order=policy == "fair")
            summary = found.summary[policy]
            assert summary["jobs"] == 30
            assert summary["idle_slots"] == 0


def test_a_scheduler_remembers_what_it_owes():
    def told(scheduler):
        made = scheduler.assign(20.0, [[4, 0]])
        return np.bincount(made.ids, minlength=2).tolist()

    scheduler = mb.Scheduler(nodes(4), goals, assignment="deficit")
    ids = scheduler.add(mb.ClusterJobs([20, 20], 10), 0.0)
    scheduler.decide(0.0)
    assert scheduler.assign(0.0, [[4, 0]]).ids.tolist() == [0] * 4
    scheduler.finished(ids[:1], count=4, now=10.0)
    scheduler.decide(10.0)
    for again in (copy.copy(scheduler), pickle.loads(pickle.dumps(scheduler)), scheduler):
        # At the last decision the first job had lacked 10 slot-seconds, the second one 30.
        assert told(again) == [1, 3]


def test_wrong_assignment():
    for wrong in ("goal", 1, None):
        with pytest.raises(ValueError, match="assignment = .*: must be one of ratio, difference"):
            run(mb.ClusterJobs([1], 1), assignment=wrong)
