"""An execution time for any pair of job and resource (adaptive, sections 4 and 6.2)."""

import copy
import math
import pickle

import numpy as np
import pytest

import malleable as mb
from tests.cluster.cluster_runs import completions, run
from tests.oracles.class_matching import EAGER

pytest.importorskip("highspy", reason="needs a library for linear programs")

PAIR = mb.Cluster([{"slots": 1, "name": "R1"}, {"slots": 1, "name": "R2"}])
GROUPED = mb.AdaptiveLiteral(**EAGER)
SINGLE = mb.AdaptiveLiteral(**EAGER | {"grouped": False})


def classes(count, **more):
    """Jobs of classes C1 and C2 in turn, of one map task of a second at rate 1."""
    programs = [f"C{k % 2 + 1}" for k in range(count)]
    return mb.ClusterJobs([1] * count, 1.0, program=programs, **more)


def worked_example(count):
    """Rates of the worked example of Rasooli and Down 2011: C1 has 9 and 5, C2 has 2 and 1."""
    of = {"R1": (9.0, 2.0), "R2": (5.0, 1.0)}
    return {name: np.resize(rates, count) for name, rates in of.items()}


def scheduler_of(policy=SINGLE, cluster=PAIR):
    """The class's estimates are the policy's own, so what the scheduler learns is left out."""
    return mb.Scheduler(cluster, policy, learn=False)


def test_the_worked_example():
    """Section 4: SC_1 = {C2}, SC_2 = {C1, C2}; a node's one rate could not say these rates."""
    scheduler = scheduler_of()
    scheduler.add(classes(2, rate=worked_example(2)), 0.0)
    found = scheduler.matching()
    assert found.classes == ((1.0, "C1"), (1.0, "C2"))
    assert found.execution_rates == pytest.approx(np.array([[9.0, 5.0], [2.0, 1.0]]))
    assert found.arrival_rates[0] == found.arrival_rates[1]
    assert (found.share > 0).tolist() == [[False, True], [True, True]]
    printed = mb.match_classes([2.45, 2.45], [[9, 5], [2, 1]])  # the rates of arrivals in the paper
    assert found.share == pytest.approx(printed.share)
    # R1 runs C2 alone, although a job of C1 came first; R2 runs that one.
    starts = copy.copy(scheduler).assign(0.0, [1, 0])
    assert (starts.ids.tolist(), starts.node.tolist()) == ([1], [0])
    starts = scheduler.assign(0.0, [1, 1])
    assert (starts.ids.tolist(), starts.node.tolist()) == ([1, 0], [0, 1])
    plain = scheduler_of()
    plain.add(classes(2), 0.0)
    rates = plain.matching().execution_rates
    assert rates[0] / rates[1] == pytest.approx([1.0, 1.0])
    for again in (copy.copy(scheduler), pickle.loads(pickle.dumps(scheduler))):
        assert again == scheduler


def test_jobs_without_rates_beside_jobs_with_rates():
    scheduler = scheduler_of()
    scheduler.add(classes(1), 0.0)
    scheduler.add(classes(2, rate=worked_example(2)), 0.0)
    scheduler.add(classes(1), 0.0)
    # Of three jobs of C1 one does 9 and 5 a second on the nodes, two do the nodes' own 1.
    mean = [1 / ((1 / 9 + 2) / 3), 1 / ((1 / 5 + 2) / 3)]
    assert scheduler.matching().execution_rates == pytest.approx(np.array([mean, [2.0, 1.0]]))


def test_seconds_said_later_keep_the_rates():
    scheduler = scheduler_of()
    ids = scheduler.add(classes(2, rate=worked_example(2)), 0.0)
    scheduler.update(ids, map_seconds=[2.0, 2.0])
    rates = scheduler.matching().execution_rates
    assert rates == pytest.approx(np.array([[4.5, 2.5], [1.0, 0.5]]))


def test_both_phases():
    cluster = mb.Cluster([{"map_slots": 1, "reduce_slots": 1, "name": "R1", "rate": 2.0}])
    jobs = mb.ClusterJobs([1, 1], 12, [1, 1], 12, rate={"R1": [[3, 4], [6, 1]]}, arrival=[0, 100])
    assert completions(jobs, "fifo", cluster) == [4 + 3, 100 + 2 + 12]
    scheduler = scheduler_of(GROUPED, cluster)
    scheduler.add(jobs, 100.0)
    # One class, whose maps take 4 and 2 s and whose reduces 3 and 12 s; the scarcer slots count.
    assert scheduler.matching().execution_rates == pytest.approx(np.array([[1 / 7.5]]))
    assert jobs.rates.tolist() == [[[3], [4]], [[6], [1]]]


def test_a_record_has_the_rates(tmp_path):
    events = tmp_path / "events"
    scheduler = mb.Scheduler(PAIR, "adaptive-literal", learn=False, record=events)
    scheduler.add(classes(2, rate=worked_example(2), block=3.0), 0.0)
    assert scheduler.assign(0.0, [1, 1]).ids.tolist() == [1, 0]
    scheduler.close()
    assert mb.replay(events).same


def test_the_simulator_runs_each_pair_at_its_time_and_adaptive_knows_it():
    count = 400
    jobs = classes(count, arrival=np.arange(count) * 0.2, rate=worked_example(count))
    trace = run(jobs, "fifo", PAIR, trace=True).tasks
    rate = np.array([[9.0, 5.0], [2.0, 1.0]])
    took = trace["finish_time"] - trace["starting_time"]
    assert took == pytest.approx(1.0 / rate[trace["job"] % 2, trace["node"]])
    alone = run(jobs, SINGLE, PAIR).summary["adaptive-literal"]["mean_response"]
    blind = run(jobs, "fair", PAIR).summary["fair"]["mean_response"]
    assert alone < 0.8 * blind
    # Classes whose nodes are told apart by jobs' rates alone are no group.
    assert run(jobs, GROUPED, PAIR).summary["adaptive-literal"]["mean_response"] == alone
    # A name that is not said keeps the nodes' own rate.
    half = mb.ClusterJobs([1], 6, rate={"R2": 2.0})
    assert completions(half, "fifo", PAIR) == [6]
    same = dict.fromkeys(("R1", "R2"), 1.0)
    with_rates, without = (
        run(classes(count, **more), GROUPED, PAIR) for more in ({"rate": same}, {})
    )
    assert with_rates.records["completion"].max() == without.records["completion"].max()


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        ({"R1": 0.0}, r"rate\['R1'\]"),
        ({"R1": [1.0, math.nan]}, r"rate\['R1'\]\[1\] = nan"),
        ({"R1": [1.0, 2.0, 3.0]}, r"rate\['R1'\] has shape \(3, 1\), expected one or two a job"),
        ({"R1": np.ones((2, 3))}, "expected one or two a job"),
        ({"R11": 2.0}, r"rate\['R11'\]: no node has that name; did you mean 'R1'\?"),
    ],
)
def test_wrong_rates(rate, message):
    with pytest.raises(ValueError, match=message):
        run(classes(2, rate=rate), "fifo", PAIR)


def test_nodes_that_are_one_and_policies_that_read_no_rates():
    jobs = classes(2, rate={"R1": 3.0})
    scheduler = scheduler_of(GROUPED)
    with pytest.raises(
        ValueError, match=r"node_rates\[0\] = 1: nodes 0 and 1 are alike but for this rate"
    ):
        scheduler.add(jobs, 0.0)
    assert len(scheduler) == 0
    assert len(scheduler.add(classes(2, rate={"R1": 3.0, "R2": 3.0}), 0.0)) == 2
    for policy in ("fair", lambda state, now: state.ids):
        with pytest.raises(ValueError, match="node_rates: the policy learns how fast nodes are"):
            mb.Scheduler(PAIR, policy).add(jobs, 0.0)
    with pytest.raises(ValueError, match=r"rate\['R11'\]: no node has that name"):
        scheduler.add(classes(2, rate={"R11": 2.0}), 0.0)
    for other in (copy.copy(jobs), pickle.loads(pickle.dumps(jobs))):
        assert other == jobs
        with pytest.raises(ValueError, match="read-only"):
            other.rates[0, 0, 0] = 1.0
