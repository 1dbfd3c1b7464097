"""An execution time for any pair of job and resource (adaptive, sections 4 and 6.2)."""

import copy
import math
import pickle

import numpy as np
import pytest

import malleable as mb
from tests.cluster.cluster_runs import completions, run

pytest.importorskip("scipy", reason="needs a library for linear programs")

PAIR = mb.Cluster([{"slots": 1, "name": "R1"}, {"slots": 1, "name": "R2"}])
SINGLE = mb.Adaptive(grouped=False)


def classes(count, **more):
    """Jobs of classes C1 and C2 in turn, of one map task of a second at rate 1."""
    programs = [f"C{k % 2 + 1}" for k in range(count)]
    return mb.ClusterJobs([1] * count, 1.0, program=programs, **more)


def worked_example(count):
    """Rates of the paper's worked example: C1 has 9 and 5, C2 has 2 and 1."""
    of = {"R1": (9.0, 2.0), "R2": (5.0, 1.0)}
    return {name: np.resize(rates, count) for name, rates in of.items()}


def test_the_worked_example():
    """Section 4: SC_1 = {C2}, SC_2 = {C1, C2}; a node's one rate could not say these rates."""
    epoch = mb.AdaptiveEpoch(PAIR, SINGLE)
    epoch.add(classes(2, rate=worked_example(2)), arrival=[0.0, 0.0])
    found = epoch.matching()
    assert found.execution_rates == pytest.approx(np.array([[9.0, 5.0], [2.0, 1.0]]))
    assert found.arrival_rates[0] == found.arrival_rates[1]
    assert (found.share > 0).tolist() == [[False, True], [True, True]]
    plain = mb.AdaptiveEpoch(PAIR, SINGLE)
    plain.add(classes(2), arrival=[0.0, 0.0])
    rates = plain.matching().execution_rates
    assert rates[0] / rates[1] == pytest.approx([1.0, 1.0])
    for again in (copy.copy(epoch), pickle.loads(pickle.dumps(epoch))):
        assert again == epoch


def test_seconds_said_later_keep_the_rates():
    epoch = mb.AdaptiveEpoch(PAIR, SINGLE)
    ids = epoch.add(classes(2, rate=worked_example(2)), arrival=[0.0, 0.0])
    epoch.update(ids, map_seconds=[2.0, 2.0])
    epoch.decide(0.0, slots=[0, 0])
    assert epoch.matching().execution_rates == pytest.approx(np.array([[4.5, 2.5], [1.0, 0.5]]))


def test_both_phases():
    cluster = mb.Cluster([{"map_slots": 1, "reduce_slots": 1, "name": "R1", "rate": 2.0}])
    jobs = mb.ClusterJobs([1, 1], 12, [1, 1], 12, rate={"R1": [[3, 4], [6, 1]]}, arrival=[0, 100])
    assert completions(jobs, "fifo", cluster) == [4 + 3, 100 + 2 + 12]
    epoch = mb.AdaptiveEpoch(cluster)
    epoch.add(jobs, arrival=[0, 0])
    # One class, whose maps take 4 and 2 s and whose reduces 3 and 12 s; the scarcer slots count.
    assert epoch.matching().execution_rates == pytest.approx(np.array([[1 / 7.5]]))
    assert jobs.rates.tolist() == [[[3], [4]], [[6], [1]]]


def test_the_simulator_runs_each_pair_at_its_time_and_adaptive_knows_it():
    count = 400
    jobs = classes(count, arrival=np.arange(count) * 0.2, rate=worked_example(count))
    trace = run(jobs, "fifo", PAIR, trace=True).tasks
    rate = np.array([[9.0, 5.0], [2.0, 1.0]])
    took = trace["finish_time"] - trace["starting_time"]
    assert took == pytest.approx(1.0 / rate[trace["job"] % 2, trace["node"]])
    alone = run(jobs, SINGLE, PAIR).summary["adaptive"]["mean_response"]
    blind = run(jobs, "fair", PAIR).summary["fair"]["mean_response"]
    assert alone < 0.8 * blind
    # Classes whose nodes are told apart by jobs' rates alone are no group.
    assert run(jobs, "adaptive", PAIR).summary["adaptive"]["mean_response"] == alone
    # A name that is not said keeps the nodes' own rate.
    half = mb.ClusterJobs([1], 6, rate={"R2": 2.0})
    assert completions(half, "fifo", PAIR) == [6]
    same = dict.fromkeys(("R1", "R2"), 1.0)
    with_rates, without = (
        run(classes(count, **more), "adaptive", PAIR) for more in ({"rate": same}, {})
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


def test_nodes_that_are_one_and_schedulers():
    jobs = classes(2, rate={"R1": 3.0})
    epoch = mb.AdaptiveEpoch(PAIR)
    with pytest.raises(ValueError, match=r"rate\['R2'\]: these nodes are one with 'R1'"):
        epoch.add(jobs)
    assert len(epoch) == 0
    assert len(epoch.add(classes(2, rate={"R1": 3.0, "R2": 3.0}))) == 2
    with pytest.raises(ValueError, match="rate: a scheduler takes none"):
        mb.Scheduler(PAIR).add(jobs, 0.0)
    for other in (copy.copy(jobs), pickle.loads(pickle.dumps(jobs))):
        assert other == jobs
        with pytest.raises(ValueError, match="read-only"):
            other.rates[0, 0, 0] = 1.0
