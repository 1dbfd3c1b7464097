"""Speed of the cluster simulation: a million tasks that all end at times of their own.

`extra_info` has the tasks a second of the best round and the 99th percentile of a decision [s].
"""

import pytest

import malleable as mb
from benchmarks.instances import (
    NETWORK_OPTIONS,
    cluster_flow_stream,
    cluster_overload,
    cluster_stream,
    network_stream,
)


@pytest.mark.parametrize("policy", ["fifo", "fair", "flex", "asrpt"])
def test_tasks(benchmark, policy):
    jobs, cluster = cluster_stream()
    result = benchmark(
        mb.simulate, jobs, "cluster", policy, cluster=cluster, noise=0.3, rng=7, records=False
    )
    summary = result.summary[policy]
    assert summary["jobs"] == len(jobs)
    if benchmark.stats is not None:
        benchmark.extra_info["tasks_per_second"] = summary["tasks"] / benchmark.stats.stats.min
        benchmark.extra_info["decision_p99"] = result.timing.get(f"{policy} decision p99", 0.0)


def test_batches(benchmark):
    """The same with equal times: tasks that start together end together."""
    jobs, cluster = cluster_stream()
    result = benchmark(mb.simulate, jobs, "cluster", "flex", cluster=cluster, rng=7, records=False)
    if benchmark.stats is not None:
        tasks = result.summary["flex"]["tasks"]
        benchmark.extra_info["tasks_per_second"] = tasks / benchmark.stats.stats.min


@pytest.mark.parametrize(
    ("policy", "count", "steps", "epoch"),
    [("fair", 250, 0, 0), ("fair", 250, 64, 0), ("flex", 1000, 64, 0.5), ("flex", 1000, 8, 0.5)],
)
def test_network(benchmark, policy, count, steps, epoch):
    """Blocks and shuffles over racks that send an eighth of what their nodes could."""
    jobs, cluster = network_stream(count)
    result = benchmark.pedantic(
        mb.simulate,
        (jobs, "cluster", policy),
        {"cluster": cluster, "records": False, "shuffle_steps": steps, "network_epoch": epoch}
        | NETWORK_OPTIONS,
        rounds=3,
    )
    summary = result.summary[policy]
    assert summary["jobs"] == len(jobs)
    if benchmark.stats is not None:
        benchmark.extra_info["tasks_per_second"] = summary["tasks"] / benchmark.stats.stats.min
        benchmark.extra_info["rack_utilisation"] = summary["rack_utilisation"]
        benchmark.extra_info["mean_response"] = summary["mean_response"]


@pytest.mark.parametrize("policy", ["fair", "flex", "hesrpt"])
def test_sublinear_overload(benchmark, policy):
    """Below linear speed-up, with hundreds of jobs that wait."""
    jobs, cluster = cluster_overload()
    options = {"cluster": cluster, "speedup": 0.5, "rng": 1, "records": False}
    result = benchmark(mb.simulate, jobs, "cluster", policy, **options)
    if benchmark.stats is not None:
        tasks = result.summary[policy]["tasks"]
        benchmark.extra_info["tasks_per_second"] = tasks / benchmark.stats.stats.min


def test_flows(benchmark):
    """FlowFlex, a plan of all flows in every decision."""
    jobs, cluster = cluster_flow_stream()
    result = benchmark(mb.simulate, jobs, "cluster", "flowflex", cluster=cluster, rng=1)
    assert result.summary["flowflex"]["jobs"] == len(jobs)
