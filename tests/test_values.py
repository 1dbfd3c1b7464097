"""Tables, plans, decisions and results: equal by content, after a pickle or a copy as well."""

import copy
import io
import pickle

import numpy as np
import pytest

import malleable as mb
from malleable import checkpoints
from malleable.cluster.matching import AdaptiveMatching, ClassMatching
from malleable.cluster.scheduler_decision import SchedulerDecision, TaskStarts
from malleable.epoch import AssessedDecision, BaseDecision, ExplainedDecision
from malleable.flows.epoch import FlowDecision, FlowIds
from malleable.objective import Objective, parse_objective
from malleable.replications import Replications, replicate
from malleable.slotted.epoch import SlottedDecision
from malleable.tandem.epoch import TandemDecision
from tests.oracles.class_matching import EAGER


def flows(work=4.0):
    jobs = [{"name": "a", "work": work, "max_slots": 2}, {"work": 2.0, "after": ["a"]}]
    return mb.Flows([jobs, [{"work": 3}]], weight=[1, 2], sla=[[(3.0, 1.0)], None])


def cluster_jobs(seconds=3.0):
    return mb.ClusterJobs(
        [2, 3], [[1.0, seconds], [1, 2, 3]], [1, 0], user=["a", "b"], after=[[], [0]]
    )


def cluster(rate=1.0):
    return mb.Cluster(
        [{"count": 2, "slots": 2, "rate": rate}], [{"name": "a"}], options={"replicas": 2}
    )


def flow_epoch(work):
    epoch = mb.FlowEpoch(3)
    return epoch, epoch.add(flows(work))


def adaptive(maps):
    scheduler = mb.Scheduler(cluster(), mb.AdaptiveLiteral(**EAGER))
    scheduler.add(mb.ClusterJobs([maps], 2.0, user=["a"]), 0.0)
    return scheduler


def epoch_decision(slots):
    epoch = mb.Epoch(int(slots))
    epoch.add([1.0, 3.0])
    return epoch.decide(0.0)


def tandem_decision(slots):
    epoch = mb.TandemEpoch((int(slots), 1))
    epoch.add([1.0, 2.0], [2.0, 1.0])
    return epoch.decide(0.0)


def slotted_decision(maps):
    epoch = mb.SlottedEpoch(9)
    epoch.add([maps, 1], [1.0, 2.0])
    return epoch.decide(0.0)


def scheduler_decision(maps):
    scheduler = mb.Scheduler(cluster(), "fair")
    scheduler.add(mb.ClusterJobs([int(maps), 1], 2.0))
    return scheduler.decide(0.0)


# For each class how to make one, from a number that its content depends on.
MAKERS = {
    mb.Jobs: lambda x: mb.Jobs([x, 3.0], max_slots=2, deadline=[4, None], sla=[[(1, x)], None]),
    mb.Flows: flows,
    mb.MapShuffleJobs: lambda x: mb.MapShuffleJobs([x, 2.0], [3.0, 1.0], name=["p", "q"]),
    mb.Trace: lambda x: mb.read(io.StringIO(f"a\t0\t0\t{x}\t4\t0\nb\t5\t5\t1\t2\t0\n")),
    mb.MapShuffleStream: lambda x: mb.MapShuffleStream(int(x), 0.5),
    mb.MapReduceJobs: lambda x: mb.MapReduceJobs([3, 1], [[1, int(x)], []]),
    mb.MapReduceStream: lambda x: mb.MapReduceStream(steps=int(x)),
    mb.ClusterJobs: cluster_jobs,
    mb.Cluster: cluster,
    mb.AdaptiveLiteral: lambda x: mb.AdaptiveLiteral(patience=x),
    mb.Plan: lambda x: mb.plan(mb.Jobs([x, 3.0], deadline=9.0), 3, "sum:tardiness"),
    mb.FlowPlan: lambda x: mb.plan(flows(x), 3),
    mb.Decision: epoch_decision,
    FlowDecision: lambda x: flow_epoch(2.0)[0].decide(now=x),
    FlowIds: lambda x: flow_epoch(2.0)[0].add(mb.Flows([[{"work": 1}]] * int(x))),
    TandemDecision: tandem_decision,
    SlottedDecision: lambda x: slotted_decision(int(x)),
    TaskStarts: lambda x: adaptive(int(x)).assign(0.0, 2),
    AdaptiveMatching: lambda x: adaptive(int(x)).matching(),
    SchedulerDecision: scheduler_decision,
    mb.Replay: lambda x: mb.Replay("fair", "fifo", 2, 3, 4, True, 1, x),
    ClassMatching: lambda x: mb.match_classes([1.0, x], [[1.0, 2.0], [3.0, 1.0]]),
    mb.SimulationResult: lambda x: mb.simulate(
        cluster_jobs(x), ["fair", "fifo"], cluster=cluster(), trace=True
    ),
    Objective: lambda x: parse_objective(["sum:tardy", "sum:sla", "max:sla"][int(x) - 2]),
    Replications: lambda x: replicate(
        lambda seed: cluster_jobs(x), [1, 2], ["fair"], cluster=cluster()
    ),
}


@pytest.mark.parametrize("cls", MAKERS, ids=lambda cls: cls.__name__)
def test_equal_by_content(cls):
    one, again, other = MAKERS[cls](2.0), MAKERS[cls](2.0), MAKERS[cls](3.0)
    assert type(one) is cls
    for twin in (again, pickle.loads(pickle.dumps(one)), copy.deepcopy(one), copy.copy(one)):
        assert (one == twin) is True and (one != twin) is False
    assert (one == other) is False and (one != other) is True
    assert (one == "text") is False and (one != None) is True  # noqa: E711
    if cls is not mb.AdaptiveLiteral:  # which is frozen and made of plain numbers
        with pytest.raises(TypeError, match="unhashable"):
            hash(one)


def test_no_public_class_is_left_out():
    kept = {
        mb.Epoch,
        mb.FlowEpoch,
        mb.TandemEpoch,
        mb.SlottedEpoch,
        mb.Scheduler,
        mb.Executor,
    }
    public = {getattr(mb, name) for name in mb.__all__ if isinstance(getattr(mb, name), type)}
    assert public - kept <= set(MAKERS)
    bases = {AssessedDecision, ExplainedDecision}
    decisions = {kind for base in (BaseDecision, *bases) for kind in base.__subclasses__()}
    assert decisions - bases <= set(MAKERS)


def test_wall_clock_times_do_not_count():
    one, two = MAKERS[mb.Plan](2.0), MAKERS[mb.Plan](2.0)
    two.timing["seconds"] = 99.0
    assert one == two
    result = MAKERS[mb.SimulationResult](2.0)
    assert result == pickle.loads(pickle.dumps(result))
    other = copy.deepcopy(result)
    other.timing["fair"] = 99.0
    assert result == other
    other.records["completion"][0] += 1.0
    assert result != other


def test_names_count():
    assert mb.Jobs([1.0, 2.0]) == mb.Jobs([1.0, 2.0], name=["job0", "job1"])
    assert mb.Jobs([1.0, 2.0]) != mb.Jobs([1.0, 2.0], name=["job0", "x"])
    one = mb.MapReduceJobs([1], [[2]])
    assert (
        one
        == mb.MapReduceJobs([1], [[2]], name=["job0"])
        != mb.MapReduceJobs([1], [[2]], name=["x"])
    )


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ([np.nan, 1.0], [np.nan, 1.0], True),
        (np.array([np.nan, 1.0]), np.array([np.nan, 1.0]), True),
        (np.array([1.0]), np.array([1]), False),
        (np.array([[1.0]]), np.array([1.0]), False),
        (np.array([1.0]), [1.0], False),
        (np.array([None, 2.0], dtype=object), np.array([None, 2.0], dtype=object), True),
        ({"a": np.ones(2), "b": 1}, {"b": 1, "a": np.ones(2)}, True),
        ({"a": np.ones(2)}, {"b": np.ones(2)}, False),
        ((1, "x"), [1, "x"], False),
        (("x", "y"), ("x", "y"), True),
        ((np.ones(2), "x"), (np.ones(2), "x"), True),
        ((np.ones(2), "x"), (np.zeros(2), "x"), False),
        (float("nan"), float("nan"), True),
    ],
)
def test_same(a, b, equal):
    assert checkpoints.same(a, b) is equal and checkpoints.same(b, a) is equal


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: mb.Flows([[{"work": 8, "max_slot": 1}]]),
            "unknown field 'max_slot'; did you mean 'max_slots'",
        ),
        (lambda: mb.Flows([[{"wrok": 8}]]), "unknown field 'wrok'; did you mean 'work'"),
        (lambda: mb.Cluster([{"slot": 1}]), "unknown key 'slot'; did you mean 'slots'"),
        (
            lambda: mb.Cluster([{"slots": 1}], [{"name": "a", "minimun": 1}]),
            "did you mean 'minimum'",
        ),
        (lambda: mb.Cluster([{"slots": 1}], changes=[{"tme": 1}]), "did you mean 'time'"),
        (lambda: mb.Cluster([{"slots": 1}], users=[{"nam": 1}]), "did you mean 'name'"),
        (lambda: mb.read_cluster({"nodes": []}), "did you mean 'node'"),
    ],
)
def test_misspelt_keys_are_refused_with_the_nearest_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_plan_of_flows_as_a_frame():
    pytest.importorskip("pandas")
    plan = mb.plan(flows(), 3)
    jobs = plan.to_frame()
    assert jobs["name"].tolist() == ["flow0/a", "flow0/job1", "flow1/job0"]
    assert jobs["completion"].tolist() == plan.completion.tolist()
    of_flows = plan.to_frame("flows")
    assert of_flows["completion"].tolist() == plan.flow_completion.tolist()
    assert of_flows["penalty"].sum() == pytest.approx(plan.value)
    with pytest.raises(ValueError, match="rows = 'x'"):
        plan.to_frame("x")
