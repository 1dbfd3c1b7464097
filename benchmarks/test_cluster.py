"""Speed of the cluster simulation: a million tasks that all end at times of their own.

`extra_info` has the tasks a second of the best round and the 99th percentile of a decision [s].
"""

import csv
import gzip
import os
from pathlib import Path
from statistics import geometric_mean

import numpy as np
import pytest

import malleable as mb
from benchmarks.instances import (
    cluster_flow_stream,
    cluster_overload,
    cluster_section51,
    cluster_stream,
    hawk_jobs,
    shortest_first,
)

TRACES = {
    "facebook-2009": "swim-facebook/FB-2009_samples_24_times_1hr_0.tsv.gz",
    "facebook-2010": "swim-facebook/FB-2010_samples_24_times_1hr_0.tsv.gz",
    "yahoo": "yahoo-hawk/YH1_sub.tr.gz",
    "google-2011": "google2011/jobs_dev.csv.gz",
    "hadoop-59": "hadoop-rumen/folder-input-trace.json.gz",
    "hadoop-7m": "hadoop-rumen/trace_7m.json.gz",
}


@pytest.mark.parametrize("policy", ["fifo", "fair", "flex", "asrpt"])
def test_tasks(benchmark, policy):
    jobs, cluster = cluster_stream()
    result = benchmark(mb.simulate, jobs, policy, cluster=cluster, noise=0.3, rng=7, records=False)
    summary = result.summary[policy]
    assert summary["jobs"] == len(jobs)
    if benchmark.stats is not None:
        benchmark.extra_info["tasks_per_second"] = summary["tasks"] / benchmark.stats.stats.min
        benchmark.extra_info["decision_p99"] = result.timing.get((policy, "decision p99"), 0.0)


def test_batches(benchmark):
    """The same with equal times: tasks that start together end together."""
    jobs, cluster = cluster_stream()
    result = benchmark(mb.simulate, jobs, "flex", cluster=cluster, rng=7, records=False)
    if benchmark.stats is not None:
        tasks = result.summary["flex"]["tasks"]
        benchmark.extra_info["tasks_per_second"] = tasks / benchmark.stats.stats.min


@pytest.mark.parametrize("policy", ["fair", "flex", "hesrpt"])
def test_sublinear_overload(benchmark, policy):
    """Below linear speed-up, with hundreds of jobs that wait."""
    jobs, cluster = cluster_overload()
    options = {"cluster": cluster, "speedup": 0.5, "rng": 1, "records": False}
    result = benchmark(mb.simulate, jobs, policy, **options)
    if benchmark.stats is not None:
        tasks = result.summary[policy]["tasks"]
        benchmark.extra_info["tasks_per_second"] = tasks / benchmark.stats.stats.min


def test_flows(benchmark):
    """FlowFlex, a plan of all flows in every decision."""
    jobs, cluster = cluster_flow_stream()
    result = benchmark(mb.simulate, jobs, "flowflex", cluster=cluster, rng=1)
    assert result.summary["flowflex"]["jobs"] == len(jobs)


def test_flows_of_section51(benchmark):
    jobs, cluster = cluster_section51()
    options = {"cluster": cluster, "rng": 1, "epoch": 1.0, "objective": "sum:completion"}
    result = benchmark(mb.simulate, jobs, "flowflex", **options)
    benchmark.extra_info["decisions"] = result.summary["flowflex"]["decisions"]


@pytest.mark.parametrize(
    "options",
    [{}, {"noise": 0.5}, {"speedup": 0.8}, {"speedup": 0.5}],
    ids=["equal-times", "noise-0.5", "p-0.8", "p-0.5"],
)
@pytest.mark.parametrize("policy", ["flex", "fair"])
def test_facebook(benchmark, policy, options):
    """A day of Facebook's cluster at load 0.7, decisions every 500 ms."""
    folder = Path(os.environ.get("MALLEABLE_TRACES", "")) / "swim-facebook"
    if not folder.exists():
        pytest.skip("set MALLEABLE_TRACES to the folder that has swim-facebook")
    jobs = mb.read(folder / "FB-2010_samples_24_times_1hr_0.tsv.gz").tasks()
    options = {"load": 0.7, "epoch": 0.5, "rng": 0, "records": False} | options
    result = benchmark.pedantic(mb.simulate, (jobs, policy), options, rounds=1)
    benchmark.extra_info["decision_p99"] = result.timing[policy, "decision p99"]
    assert result.summary[policy]["jobs"] == len(jobs)


@pytest.mark.parametrize("generic", [False, True], ids=["two-kinds", "generic"])
def test_order_instance(benchmark, generic):
    """Mean response of policies that go by work left over FAIR's: geometric mean, worst of 8 draws."""
    ratios = []

    def run():
        for seed in range(8):
            jobs, cluster = shortest_first(seed, generic)
            ratios.append(_over_fair(jobs, cluster))

    benchmark.pedantic(run, rounds=1)
    for policy in ratios[0]:
        column = [draw[policy] for draw in ratios]
        benchmark.extra_info[policy] = round(geometric_mean(column), 3), round(max(column), 3)


@pytest.mark.parametrize("generic", [False, True], ids=["two-kinds", "generic"])
@pytest.mark.parametrize("trace", TRACES)
def test_order_traces(benchmark, trace, generic):
    """The same of a whole trace, by load."""
    path = Path(os.environ.get("MALLEABLE_TRACES", "")) / TRACES[trace]
    if not path.exists():
        pytest.skip("set MALLEABLE_TRACES to the folder that has swim-facebook and others")
    own = {"yahoo": hawk_jobs, "google-2011": google_jobs}
    jobs = own[trace](path) if trace in own else mb.read(path).tasks()

    def run():
        for load in (0.5, 0.7, 0.9):
            cluster = mb.Cluster.for_load(jobs, load, generic=generic)
            for policy, ratio in _over_fair(jobs, cluster).items():
                benchmark.extra_info[f"{policy} at {load}"] = round(ratio, 3)

    benchmark.pedantic(run, rounds=1)


def google_jobs(path):
    """Jobs of Google's table of 2011 that ended: as many tasks as it says, each of the mean time."""
    with gzip.open(path, "rt") as text:
        rows = [row for row in csv.DictReader(text) if float(row["complete"] or 0)]
    names = ("submit_us", "n_tasks", "n_finish", "sum_finished_runtime_s")
    come, tasks, ended, seconds = np.array(
        [[float(row[name] or 0) for name in names] for row in rows]
    ).T
    some = (tasks > 0) & (ended > 0)
    arrival = (come[some] - come[some].min()) / 1e6
    return mb.ClusterJobs(tasks[some], seconds[some] / ended[some], arrival=arrival)


def _over_fair(jobs, cluster):
    names = ["asrpt", "srpt", "fifo", "fair"]
    found = mb.simulate(jobs, names, cluster=cluster, rng=1, records=False).summary
    fair = found.pop("fair")["mean_response"]
    return {name: summary["mean_response"] / fair for name, summary in found.items()}
