"""Speed of the cluster simulation: a million tasks that all end at times of their own.

`extra_info` has the tasks a second of the best round and the 99th percentile of a decision [s].
"""

import pytest

import malleable as mb
from benchmarks.instances import cluster_stream


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
