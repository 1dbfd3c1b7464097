"""What cluster jobs pay for: objectives job by job, SLA steps, deadlines, and the terms of flows."""

import copy
import io
import pickle

import pytest

import malleable as mb
from tests.cluster.cluster_runs import completions, nodes, run

ONE = nodes(1, 1)
GENERIC = mb.Cluster([{"slots": 1}])
TWO = {"maps": [1, 1], "map_seconds": 10.0}


def test_sla_steps_decide_and_cost():
    jobs = mb.ClusterJobs(**TWO, weight=[3, 2], sla=[[(15, 1)], [(5, 1), (15, 4)]])
    assert jobs.sla == [[(15.0, 1.0)], [(5.0, 1.0), (15.0, 4.0)]]
    assert completions(jobs, "flex", cluster=ONE) == [10, 20]
    result = run(jobs, "flex", cluster=ONE, objective="sum:sla")
    # The second job's step of 3 x 2 at 15 s outweighs the first one's of 3; its step at 5 s is lost.
    assert result.records["completion"].tolist() == [20, 10]
    assert result.summary["flex"]["sla_cost"] == 3 * 1 + 2 * 1
    assert run(jobs, "fifo", cluster=ONE).summary["fifo"]["sla_cost"] == 2 * 4
    # What has not ended by then has cost what has passed by then.
    assert run(jobs, "fifo", cluster=ONE, horizon=12).summary["fifo"]["sla_cost"] == 2 * 1
    for other in (copy.copy(jobs), pickle.loads(pickle.dumps(jobs))):
        assert other == jobs
        assert other.sla == jobs.sla
    assert mb.ClusterJobs(**TWO).sla == [[], []]


def test_lateness_and_tardiness():
    jobs = mb.ClusterJobs([1, 1, 1], 10, deadline=[12, 13, float("inf")], weight=5)
    summary = run(jobs, "fifo", cluster=ONE).summary["fifo"]
    assert (summary["mean_lateness"], summary["max_lateness"]) == (2.5, 7)
    assert (summary["mean_tardiness"], summary["max_tardiness"]) == (3.5, 7)
    assert summary["missed_deadlines"] == 1
    none = run(mb.ClusterJobs(**TWO), "fifo", cluster=ONE).summary["fifo"]
    assert not {"mean_lateness", "max_tardiness", "sla_cost"} & set(none)


def test_urgent_jobs_start_all_their_tasks_first():
    two = mb.Cluster([{"slots": 2}])
    jobs = mb.ClusterJobs([4, 4], 10, deadline=[45, 20])
    for objective in ("sum:tardy", "sum:tardiness", "sum:strict", "max:strict"):
        assert completions(jobs, "auto", cluster=two, objective=objective) == [40, 20]
    # The first job cannot be in time; the others can, in one order.
    jobs = mb.ClusterJobs([1, 1, 1], 10, deadline=[5, 20, 10], weight=[9, 1, 1])
    for objective in ("sum:tardy", "sum:strict"):
        assert completions(jobs, "auto", cluster=ONE, objective=objective) == [30, 20, 10]
    # Its reduces need 10 s after its maps.
    jobs = mb.ClusterJobs(**TWO, reduces=[0, 1], reduce_seconds=10, deadline=[20, 20])
    assert completions(jobs, "auto", cluster=ONE, objective="sum:tardy") == [20, 20]
    steps = [[(15, 1)], [(5, 1), (15, 4)]]
    jobs = mb.ClusterJobs(**TWO, weight=[3, 2], sla=steps)
    assert completions(jobs, "auto", cluster=ONE, objective="sum:sla") == [20, 10]
    scheduler = mb.Scheduler(ONE, objective="sum:tardy")
    assert scheduler.rule.startswith("by urgency")


def test_the_largest_response_goes_by_the_last_start():
    two = mb.Cluster([{"slots": 2}])
    jobs = mb.ClusterJobs([2, 1], [10, 30])
    assert completions(jobs, "auto", cluster=two, objective="max:response") == [20, 30]
    # Its reduces need 10 s after its maps.
    jobs = mb.ClusterJobs(**TWO, reduces=[0, 1], reduce_seconds=10)
    assert completions(jobs, "auto", cluster=ONE, objective="max:response") == [20, 20]
    assert mb.Scheduler(ONE, objective="max:response").rule.startswith("by urgency")
    assert mb.Scheduler(ONE, objective="max:stretch").rule.startswith("flex")


@pytest.mark.parametrize("aggregate", ["sum", "max"])
def test_an_objective_for_each_job(aggregate):
    jobs = mb.ClusterJobs([1, 1, 1], 10, deadline=[40, 10, 20], weight=[0.1, 9, 9])
    mixed = [f"{aggregate}:{kind}" for kind in ("response", "tardy", "tardiness")]
    # All deadlines can be met if the first job, which has none to miss, goes last.
    assert completions(jobs, "flex", cluster=ONE, objective=mixed, effort=10) == [30, 10, 20]
    alike = [f"{aggregate}:stretch"] * 3
    apart = run(jobs, "flex", cluster=ONE, objective=alike)
    assert apart.summary == run(jobs, "flex", cluster=ONE, objective=alike[0]).summary
    assert completions(jobs, "fair", cluster=ONE, objective=mixed) == [10, 20, 30]


@pytest.mark.parametrize("policy", ["flex", "flowflex"])
def test_kinds_that_are_one_line_need_no_time(policy):
    """Lines keep Smith's order: nothing is decided while nothing happens."""
    jobs = mb.ClusterJobs([3, 3], 10, deadline=50)
    mixed = ["sum:lateness", "sum:completion"]
    found = run(jobs, policy, cluster=GENERIC, objective=mixed, epoch=1)
    plain = run(jobs, policy, cluster=GENERIC, epoch=1)
    assert found.summary[policy]["decisions"] == plain.summary[policy]["decisions"]
    assert found.records["completion"].tolist() == plain.records["completion"].tolist()


def test_a_flow_weighs_as_its_heaviest_job_and_is_due_with_its_latest():
    after = [[], [0], [], [2]]
    flow = ["a", "a", "b", "b"]

    def ends(objective, **terms):
        jobs = mb.ClusterJobs([1] * 4, 10.0, after=after, flow=flow, **terms)
        return completions(jobs, "flowflex", cluster=GENERIC, objective=objective)

    b_first = [30, 40, 10, 20]
    assert ends("sum:response") == [10, 20, 30, 40]
    assert ends("sum:response", weight=[1, 1, 1, 5]) == b_first
    assert ends("sum:response", weight=[5, 1, 1, 4]) == [10, 20, 30, 40]
    # Due with its latest job, at 45, the first flow can wait, though its first job is late then.
    assert ends("sum:tardy", deadline=[10, 45, 20, 20]) == b_first
    assert ends("sum:sla", sla=[[], [], [], [(25, 1)]]) == b_first
    kinds = ["sum:response"] * 2 + ["sum:tardy"] * 2
    assert ends(kinds, weight=[1, 1, 50, 50], deadline=[90, 90, 25, 25]) == b_first


def test_steps_in_files_and_of_flows():
    text = "maps,map_seconds,sla\n1,10,15:1\n1,10,\n"
    assert mb.read(io.StringIO(text)).tasks().sla == [[(15.0, 1.0)], []]
    flows = mb.Flows([[{"name": "x", "work": 10, "max_slots": 2}]] * 2, sla=[[(3, 1)], []])
    jobs = mb.cluster_flows(flows)
    assert jobs.sla == [[(3.0, 1.0)], []]
    trace = mb.read(io.StringIO("name,work,max_slots,sla\na,10,2,5:1\n"))
    assert trace.tasks().sla == [[(5.0, 1.0)]]


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"sla": [[(5, 1), (4, 2)], []]}, {}, r"sla\[0\] = 4"),
        ({"sla": [[(5, 1)]]}, {}, "sla has 1 entry but maps has 2"),
        ({"sla": [[], [(5,)]]}, {}, r"sla\[1\] = \(5,\): not a \(time, penalty\) pair"),
        ({}, {"objective": ["sum:tardy"]}, "objective has 1 entry but there are 2 jobs"),
        ({}, {"objective": ["sum:tardy", "max:tardy"]}, "sum and max cannot be mixed"),
        ({}, {"objective": ["sum:tardy", "sum:lateness"]}, r"deadline\[1\] = inf"),
        ({}, {"objective": ["sum:tardy", "sum:custom"]}, "not one that cluster jobs"),
        (
            {"flow": ["f", "f"]},
            {"objective": ["sum:tardy", "sum:sla"]},
            r"objective\[1\] = sum:sla: job 0 of the same flow has sum:tardy",
        ),
    ],
)
def test_wrong_terms(table, options, message):
    with pytest.raises(ValueError, match=message):
        run(mb.ClusterJobs(**TWO, **table), "flex", cluster=ONE, **options)


def test_a_scheduler_has_one_objective_without_steps():
    for objective in ("sum:sla", ["sum:tardy", "sum:response"]):
        with pytest.raises(ValueError, match="not one that cluster jobs have data for"):
            mb.Scheduler(ONE, objective=objective)
