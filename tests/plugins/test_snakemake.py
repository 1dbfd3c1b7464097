"""Snakemake with `--scheduler malleable`: real workflows, local executor, and loops on a clock of their own."""

import logging
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from benchmarks.instances.samples import Loop, StandIn, StandInDag, samples

pytest.importorskip("snakemake", reason="needs snakemake and plugins/: make full installs them")
plugin = pytest.importorskip(
    "snakemake_scheduler_plugin_malleable", reason="needs plugins/: make full installs it"
)
WorkflowError = pytest.importorskip("snakemake_interface_common.exceptions").WorkflowError

theirs = pytest.importorskip("snakemake_interface_scheduler_plugins.tests")


class TestTheirs(theirs.TestSchedulerBase):
    __test__ = True

    def get_scheduler_cls(self):
        return plugin.Scheduler

    def get_scheduler_settings(self):
        return plugin.SchedulerSettings()


@pytest.fixture(autouse=True)
def every_look(monkeypatch):
    """Decisions do not depend on how long others took."""
    monkeypatch.setattr(plugin.order, "SHARE", 1e9)


def scheduler(**settings):
    def make(dag):
        made = plugin.Scheduler(dag, plugin.SchedulerSettings(**settings), logging.getLogger("it"))
        made.logger.warning = pytest.fail  # Snakemake's own would decide
        return made

    return make


def means(jobs, end):
    last = {}
    for job in jobs:
        if "name" in job.wildcards_dict:
            name = job.wildcards_dict["name"]
            last[name] = max(last.get(name, 0.0), end[job])
    return sum(last.values()) / len(last)


def test_samples_end_one_after_the_other():
    jobs, sizes = samples(20, seed=3)
    ends = []
    for known in (sizes, {}):
        loop = Loop(StandInDag(jobs), {"_cores": 4}, known).run(scheduler())
        assert len(loop.end) == len(jobs)
        ends.append((means(jobs, loop.end), max(loop.end.values())))
    blind = Loop(StandInDag(jobs), {"_cores": 4}, {}).run(lambda dag: _Blind())
    mean, last = means(jobs, blind.end), max(blind.end.values())
    assert ends[0][0] < 0.75 * mean and ends[1][0] < 0.95 * mean
    assert ends[0][1] < 1.1 * last and ends[1][1] < 1.15 * last


def test_flows_are_told_from_rules_that_only_long_flows_have_reached():
    """The truth is a sum of logarithms; half of the flows, the longer ones, have done the second step."""
    draw = random.Random(4)
    size = sorted(draw.lognormvariate(0.0, 1.0) for _ in range(40))
    times, pace = plugin.times.Times(), plugin.times.Pace(40)
    for flow in range(40):
        for rule, seconds in (("first", 3.0), ("second", 1.0))[: 1 + (flow >= 20)]:
            taken = seconds * size[flow] * draw.lognormvariate(0.0, 0.1)
            times.add(rule, 1.0, taken)
            pace.add(flow, rule, 1.0, taken)
    for _ in range(20):
        pace.look(times.estimate)
    found = {}
    for rule in ("first", "second"):
        of_rule = times.estimate(rule, np.ones(1))[0] * pace.rule(rule)
        found[rule] = [of_rule * pace.flow[flow] / size[flow] for flow in range(40)]
    assert all(2.4 < ratio < 4.0 for ratio in found["first"])
    assert all(0.8 < ratio < 1.4 for ratio in found["second"])  # their mean is 2.3
    assert pace.flow[40] == 1.0
    turned = pace.moved(np.arange(40)[::-1], 40)
    for _ in range(20):
        turned.look(times.estimate)
    assert turned.flow[:40] == pytest.approx(pace.flow[39::-1], rel=1e-6)


def test_flows_that_do_not_differ_are_not_told_apart():
    draw = random.Random(5)
    times, pace = plugin.times.Times(), plugin.times.Pace(200)
    for flow in range(200):
        for rule in "abc":
            taken = draw.lognormvariate(0.0, 0.6)
            times.add(rule, 1.0, taken)
            pace.add(flow, rule, 1.0, taken)
    for _ in range(20):
        pace.look(times.estimate)
    assert np.log(pace.flow).std() < 0.2  # of means of three: 0.35


def test_with_nothing_known_samples_are_complete_sooner_than_greedys():
    greedy = pytest.importorskip("snakemake.scheduling.greedy")
    ratios = []
    for seed in range(10):
        jobs, _ = samples(20, seed=seed)
        mine = Loop(StandInDag(jobs), {"_cores": 4}, {}).run(scheduler())

        def make(dag):
            return greedy.Scheduler(dag, greedy.SchedulerSettings(), logging.getLogger("it"))

        theirs = Loop(StandInDag(jobs), {"_cores": 4}, {}).run(make)
        ratios.append(means(jobs, mine.end) / means(jobs, theirs.end))
    assert sum(ratios) / len(ratios) < 0.78


def test_the_data_behind_jobs():
    """What most jobs of a rule read says nothing of one; what a job makes is not counted again."""
    jobs = []
    for k in range(4):
        jobs.append(StandIn("map", {"s": str(k)}, ["index", f"in{k}"], [f"m{k}", f"log{k}"], 1.0))
        read = [f"m{k}", f"log{k}", f"list{k}"] if k % 2 else [f"m{k}"]
        jobs.append(StandIn("call", {"s": str(k)}, read, [f"c{k}"], 1.0))
    jobs.append(StandIn("report", {}, [f"c{k}" for k in range(4)], ["report"], 1.0))
    sizes = {"index": 10**6, "m1": 77, "log1": 77, "list1": 500, "list3": 500}
    sizes |= {f"in{k}": 10 + k for k in range(4)}
    dag = StandInDag(jobs)
    table = plugin.workflow.Jobs(dag.needrun_jobs(), dag.job_dependencies)
    found = plugin.records.data_behind(table, sizes)
    assert found.tolist() == [10, 10, 11, 511, 12, 12, 13, 513, 1046]


class _Blind:
    """Breadth first, as much as fits."""

    def select_jobs(self, ready, remaining, free, sizes):
        return sorted(ready, key=lambda job: (job.rule.name, repr(job)))[: free["_cores"]]


def _random_dag(draw):
    jobs, files = [], []
    for k in range(draw.randint(2, 60)):
        above = draw.sample(files, min(len(files), draw.choice([0, 1, 1, 2, 5])))
        needs = {"_cores": draw.choice([1, 1, 2, 4]), "mem_mb": draw.choice([0, 100, 900])}
        wildcards = draw.choice([{}, {"a": str(draw.randint(0, 3))}, {"a": "1", "b": str(k)}])
        seconds = draw.choice([0.0, 1.0, draw.expovariate(1.0)])
        rule = f"r{draw.randint(0, 5)}"
        jobs.append(
            StandIn(rule, wildcards, above, [f"f{k}"], seconds, needs, draw.choice([0, 0, 0, 7]))
        )
        files.append(f"f{k}")
    return jobs


@pytest.mark.parametrize("seed", range(60))
def test_any_workflow_ends_within_its_resources(seed):
    draw = random.Random(seed)
    jobs = _random_dag(draw)
    free = {"_cores": draw.choice([4, 5, 8]), "mem_mb": draw.choice([900, 1000, 2000])}
    settings = draw.choice(
        [{}, {"flow": "a"}, {"flow": "b,a"}, {"objective": "max:response"}, {"weights": "1=5"},
         {"objective": "sum:tardiness", "deadlines": "1=3,2=1m"}, {"objective": "sum:completion"}]
    )  # fmt: skip
    subsample = draw.choice([0, 0, 3])
    loop = Loop(StandInDag(jobs), free, {}).run(scheduler(**settings), subsample=subsample)
    assert len(loop.end) == len(jobs)


def test_the_same_workflow_is_run_in_the_same_order():
    jobs, sizes = samples(8, seed=5, threads=(1, 3))
    order = []
    for _ in range(2):
        loop = Loop(StandInDag(jobs), {"_cores": 4}, sizes).run(scheduler())
        order.append([repr(job) for job in loop.started])
    assert order[0] == order[1]


def test_a_priority_goes_first_whatever_its_flow():
    jobs = [StandIn("r", {"s": str(k)}, [], [f"f{k}"], 1.0, priority=k == 7) for k in range(9)]
    loop = Loop(StandInDag(jobs), {"_cores": 1}, {}).run(scheduler())
    assert loop.started[0] is jobs[7]


def test_a_job_of_many_threads_is_not_passed_by_forever():
    wide = StandIn("wide", {"s": "w"}, [], ["w"], 1.0, {"_cores": 4}, priority=1)
    small = [StandIn("r", {"s": str(k)}, [], [f"f{k}"], 1.0 + k % 3) for k in range(200)]
    first = StandIn("first", {"s": "x"}, [], ["x"], 0.5, priority=2)
    loop = Loop(StandInDag([wide, first, *small]), {"_cores": 4}, {}).run(scheduler())
    assert loop.end[wide] < 10.0


def test_weights_and_deadlines():
    def named(name):
        return [StandIn("r", {"s": name}, [], [f"{name}{k}"], 1.0) for k in range(4)]

    jobs = [job for name in "abc" for job in named(name)]
    heavy = Loop(StandInDag(jobs), {"_cores": 1}, {}).run(scheduler(weights="c=9"))
    assert {job.wildcards_dict["s"] for job in heavy.started[:4]} == {"c"}
    due = Loop(StandInDag(jobs), {"_cores": 1}, {}).run(
        scheduler(objective="sum:tardiness", deadlines="b=4s")
    )
    assert {job.wildcards_dict["s"] for job in due.started[:4]} == {"b"}


@pytest.mark.parametrize(
    "settings, told",
    [({"weights": "a"}, "'a'"), ({"deadlines": "a=soon"}, "a=soon"), ({"objective": "sum:joy"}, "joy"),
     ({"weights": "a=-1"}, "a=-1"), ({"objective": "sum:lateness"}, "deadline")],
)  # fmt: skip
def test_wrong_settings_are_named(settings, told):
    with pytest.raises(WorkflowError, match=told):
        plugin.SchedulerSettings(**settings)


def test_an_index_that_all_samples_wait_for_joins_none_of_them():
    index = StandIn("index", {}, [], ["i"], 1.0)
    jobs = [index]
    for k in range(6):
        jobs.append(StandIn("map", {"s": str(k)}, ["i"], [f"m{k}"], 1.0))
        jobs.append(StandIn("call", {"s": str(k)}, [f"m{k}"], [f"c{k}"], 1.0))
    jobs.append(StandIn("report", {}, [f"c{k}" for k in range(6)], ["report"], 1.0))
    dag = StandInDag(jobs)
    flows = plugin.workflow.Workflow(dag.needrun_jobs(), dag.job_dependencies, dag.finished)
    assert flows.flows == 7 and flows.flow[0] == -1
    assert len({flows.flow[flows.row[job]] for job in jobs[1:-1]}) == 6
    loop = Loop(dag, {"_cores": 2}, {}).run(scheduler())
    assert loop.started[0] is index


# Real workflows.

HEAD = 'names = [f"s{k}" for k in range(6)]\nrule all:\n    input: expand("{n}.c", n=names), "report"\n'
CHAIN = (
    HEAD
    + """
rule a:
    output: "{n}.a"
    shell: "sleep 0.0{wildcards.n[1]}; touch {output}"
rule b:
    input: "{n}.a"
    output: "{n}.b"
    benchmark: "{n}.bench"
    threads: 2
    resources: mem_mb=300
    shell: "touch {output}"
rule c:
    input: "{n}.b"
    output: "{n}.c"
    priority: 5
    shell: "touch {output}"
rule report:
    input: expand("{n}.c", n=names)
    output: "report"
    shell: "cat {input} > {output}"
"""
)


def run(folder, text, *more, cores=2, good=True):
    (folder / "Snakefile").write_text(text)
    found = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", str(cores), "--scheduler", "malleable", *more],
        check=False, cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    told = found.stdout + found.stderr
    assert (found.returncode == 0) == good, told
    assert "Scheduler malleable" not in told, told
    return told


def test_a_workflow_and_then_the_same_anew(tmp_path):
    run(tmp_path, CHAIN, "--resources", "mem_mb=500")
    assert (tmp_path / "report").exists()
    run(
        tmp_path,
        CHAIN,
        "--forceall",
        "--scheduler-malleable-flow",
        "n",
        "--scheduler-subsample",
        "2",
    )
    assert "Nothing to be done" in run(tmp_path, CHAIN)


def test_failed_jobs(tmp_path):
    text = CHAIN.replace("sleep 0.0{wildcards.n[1]};", "test {wildcards.n} != s3;")
    run(tmp_path, text, "--keep-going", good=False)
    assert len(list(tmp_path.glob("s*.c"))) == 5
    run(tmp_path, CHAIN)
    again = "test -e {wildcards.n}.tried || (touch {wildcards.n}.tried; false);"
    run(
        tmp_path, CHAIN.replace("sleep 0.0{wildcards.n[1]};", again), "--forceall", "--retries", "1"
    )


def test_a_killed_run_goes_on(tmp_path):
    (tmp_path / "Snakefile").write_text(CHAIN.replace("sleep 0.0", "sleep 1.0"))
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--scheduler", "malleable"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + 120
    while not list(tmp_path.glob("s*.a")) and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    run(tmp_path, CHAIN, "--unlock")
    run(tmp_path, CHAIN, "--rerun-incomplete")
    assert (tmp_path / "report").exists()


def test_checkpoints(tmp_path):
    text = """
rule all:
    input: "all.txt"
checkpoint split:
    output: directory("parts/{n}")
    shell: "mkdir -p {output}; for k in 1 2 3; do touch {output}/$k; done"
rule work:
    input: "parts/{n}/{k}"
    output: "done/{n}.{k}"
    shell: "touch {output}"
def parts(wildcards):
    folder = checkpoints.split.get(n=wildcards.n).output[0]
    return [f"done/{wildcards.n}.{k}" for k in sorted(os.listdir(folder))]
rule gather:
    input: parts
    output: "gathered/{n}"
    shell: "touch {output}"
rule collect:
    input: expand("gathered/{n}", n=list("abcd"))
    output: "all.txt"
    shell: "touch {output}"
"""
    run(tmp_path, text, cores=3)
    assert len(list((tmp_path / "done").glob("[a-d].[1-3]"))) == 12


def test_groups_of_a_pipe(tmp_path):
    text = """
rule all:
    input: expand("{n}.out", n=list("abc"))
rule make:
    output: pipe("{n}.pipe")
    shell: "echo {wildcards.n} > {output}"
rule take:
    input: "{n}.pipe"
    output: "{n}.out"
    shell: "cat {input} > {output}"
"""
    run(tmp_path, text, cores=2)
    assert [(tmp_path / f"{n}.out").read_text().strip() for n in "abc"] == list("abc")


def test_wrong_settings_end_the_command(tmp_path):
    (tmp_path / "Snakefile").write_text(CHAIN)
    told = run(tmp_path, CHAIN, "--scheduler-malleable-objective", "sum:joy", good=False)
    assert "sum:joy" in told
