"""Rigid jobs: FCFS, EASY and conservative backfill against an independent simulator, and AUTO against them."""

from __future__ import annotations

import copy
import csv
import os
from pathlib import Path

import numpy as np
import pytest

import malleable as mb
from benchmarks.instances import rigid_log
from tests.oracles import backfill as oracle

ORDERS = {
    "arrival": oracle.arrival,
    "sjf": oracle.shortest,
    "area": oracle.smallest,
    "wfp3": oracle.wfp3,
    "unicef": oracle.unicef,
}


def table(jobs: list[oracle.Job], **columns: object) -> mb.ClusterJobs:
    width = [job.width for job in jobs]
    return mb.ClusterJobs(
        maps=width,
        map_seconds=[job.run for job in jobs],
        arrival=[job.arrival for job in jobs],
        width=width,
        requested=[job.requested for job in jobs],
        user=[f"u{job.user}" for job in jobs],
        **columns,
    )


def cluster(slots: int) -> mb.Cluster:
    return mb.Cluster([{"slots": slots}])


def starts(jobs: list[oracle.Job], slots: int, policy: str, **options: object) -> list[float]:
    result = mb.simulate(table(jobs), policy, cluster=cluster(slots), **options)
    return result.records["starting_time"].tolist()


def wrong(jobs: list[oracle.Job], seed: int) -> list[oracle.Job]:
    """Users ask for more, and some for less."""
    factor = np.random.default_rng(seed).choice([0.5, 1.0, 1.5, 3.0, 10.0], len(jobs))
    return [
        job._replace(requested=job.requested * part)
        for job, part in zip(jobs, factor.tolist(), strict=True)
    ]


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
@pytest.mark.parametrize("order", ORDERS)
def test_job_for_job(policy: str, order: str) -> None:
    for seed in range(6):
        jobs = oracle.jobs_of(rigid_log(seed))
        if seed % 2:
            jobs = wrong(jobs, seed)
        expected = oracle.backfill(jobs, 16, policy, ORDERS[order])
        assert starts(jobs, 16, policy, order=order) == expected, seed


def test_f1_counts_submit_times_from_the_logs_start() -> None:
    jobs = oracle.jobs_of(rigid_log(7))
    expected = oracle.backfill(jobs, 16, "easy", oracle.f1(jobs[0].arrival))
    assert starts(jobs, 16, "easy", order="f1") == expected
    assert starts(jobs, 16, "easy-sjf") == oracle.backfill(jobs, 16, "easy", oracle.shortest)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_multifactor_goes_by_what_users_have_used(policy: str) -> None:
    for seed in range(4):
        jobs = wrong(oracle.jobs_of(rigid_log(seed, gap=120.0)), seed)
        users = np.random.default_rng(seed).choice(4, len(jobs), p=[0.55, 0.25, 0.15, 0.05])
        jobs = [job._replace(user=user) for job, user in zip(jobs, users.tolist(), strict=True)]
        expected = oracle.backfill(jobs, 16, policy, oracle.Multifactor(jobs, 16))
        assert starts(jobs, 16, policy, order="multifactor") == expected, seed


def test_a_recorded_job_set() -> None:
    folder = os.environ.get("MALLEABLE_TRACES")
    path = Path(folder or "") / "rigid" / "jobset250.csv"
    if folder is None or not path.is_file():
        pytest.skip("MALLEABLE_TRACES does not name a folder with rigid/jobset250.csv")
    rows = list(csv.DictReader(path.open()))
    rows.sort(key=lambda row: (float(row["submission_time"]), int(row["jobID"])))
    first = float(rows[0]["submission_time"])
    jobs = [
        oracle.Job(
            float(row["submission_time"]) - first,
            int(row["requested_number_of_resources"]),
            float(row["execution_time"]),
            float(row["requested_time"]),
        )
        for row in rows
    ]
    own = starts(jobs, 128, "easy")
    assert own == oracle.backfill(jobs, 128, "easy")
    mean = np.mean([at + job.run - job.arrival for at, job in zip(own, jobs, strict=True)])
    recorded = np.mean([float(row["turnaround_time"]) for row in rows])
    assert abs(mean / recorded - 1.0) <= 0.025


SEEDS = range(8)


def mean_response(jobs: list[oracle.Job], policy: str, **options: object) -> float:
    result = mb.simulate(table(jobs), policy, cluster=cluster(16), **options)
    return result.summary[policy]["mean_response"]


def test_auto_is_never_worse_than_backfill() -> None:
    logs = [oracle.jobs_of(rigid_log(seed)) for seed in SEEDS]
    ratios = [mean_response(jobs, "auto") / mean_response(jobs, "easy") for jobs in logs]
    assert np.mean(ratios) <= 0.85 and max(ratios) <= 1.0


def test_auto_keeps_reservations_of_wide_jobs() -> None:
    """Jobs want one slot or all: slots that idle for a wide job would idle in vain if it lost its turn."""
    ratios = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        width = rng.choice([1, 16], 200, p=[0.7, 0.3])
        run = np.round(rng.uniform(60.0, 3600.0, 200))
        come = np.round(np.cumsum(rng.exponential(float((width * run).mean()) / 10.4, 200)))
        jobs = [
            oracle.Job(*own)
            for own in zip(come.tolist(), width.tolist(), run.tolist(), run.tolist(), strict=True)
        ]
        ratios.append(mean_response(jobs, "auto") / mean_response(jobs, "easy"))
    assert np.mean(ratios) <= 1.05 and max(ratios) <= 1.5


def test_auto_and_fifo_are_policies_of_the_queue_if_jobs_are_rigid() -> None:
    jobs = oracle.jobs_of(rigid_log(3))
    assert starts(jobs, 16, "auto") == starts(jobs, 16, "easy-auto")
    assert starts(jobs, 16, "fifo") == starts(jobs, 16, "fcfs")


@pytest.mark.parametrize("policy", ["flex", "fair", "srpt", "wdeq"])
def test_under_other_policies_tasks_start_together(policy: str) -> None:
    jobs = oracle.jobs_of(rigid_log(3, count=40))
    result = mb.simulate(table(jobs), policy, cluster=cluster(16), trace=True)
    trace = result.trace[policy]
    begun = trace["kind"] == 0
    for row in range(len(jobs)):
        assert len(set(trace["time"][begun & (trace["job"] == row)].tolist())) == 1


def test_jobs_wait_for_others() -> None:
    jobs = mb.ClusterJobs(maps=[2, 2], map_seconds=[10.0, 5.0], width=[2, 2], after=[[1], []])
    found = mb.simulate(jobs, "easy", cluster=cluster(4)).records
    assert found["starting_time"].tolist() == [5.0, 0.0]


def test_the_scheduler_queues_too() -> None:
    """The same starts as the simulation, as events are told."""
    jobs = oracle.jobs_of(rigid_log(5, count=40))
    expected = oracle.backfill(jobs, 16, "easy")
    scheduler = mb.Scheduler(cluster(16), policy="easy")
    ends: list[tuple[float, int]] = []
    coming, found = list(range(len(jobs))), [0.0] * len(jobs)
    ids: dict[int, int] = {}
    while coming or ends:
        now = min([*(end for end, _ in ends), *(jobs[j].arrival for j in coming[:1])])
        for end, row in [own for own in ends if own[0] == now]:
            ends.remove((end, row))
            own, width = [ids[row]], jobs[row].width
            scheduler.ended(own, seconds=jobs[row].run, node=[0], count=[width], now=now)
            scheduler.finish(own, now=now)
        while coming and jobs[coming[0]].arrival == now:
            row = coming.pop(0)
            (ids[row],) = scheduler.add(table([jobs[row]]), now).tolist()
        scheduler.decide(now)
        begun = set(
            scheduler.assign(now, [16 - sum(jobs[row].width for _, row in ends)]).ids.tolist()
        )
        for row, number in ids.items():
            if number in begun:
                found[row] = now
                ends.append((now + jobs[row].run, row))
    assert found == expected


QUEUES = ("easy", "fcfs", "conservative", "auto")


def places(
    jobs: mb.ClusterJobs, nodes: mb.Cluster, policy: str
) -> tuple[list[float], set[tuple[int, int]]]:
    """When jobs start, and pairs of a job and a node on which tasks of it ran."""
    result = mb.simulate(jobs, policy, cluster=nodes, trace=True)
    trace = result.trace[policy]
    ran = set(zip(trace["job"].tolist(), trace["node"].tolist(), strict=True))
    return result.records["starting_time"].tolist(), ran


@pytest.mark.parametrize("policy", QUEUES)
def test_partitions_are_pools(policy: str) -> None:
    """Two nodes of one partition, and one of two: the job that may run only there finds it free."""
    nodes = mb.Cluster(
        [{"count": 2, "slots": 4, "partition": "a"}, {"slots": 8, "partition": ["a", "b"]}]
    )
    jobs = mb.ClusterJobs([8, 8, 8], 10.0, width=8, partition=["a", "b", "a"])
    starts, ran = places(jobs, nodes, policy)
    assert starts == [0.0, 0.0, 10.0]
    assert {(0, 0), (0, 1), (1, 2)} <= ran and (1, 0) not in ran


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
@pytest.mark.parametrize("order", ["arrival", "sjf"])
def test_apart_partitions_are_queues_apart(policy: str, order: str) -> None:
    """Each has its own first job, whatever waits in the other."""
    nodes = mb.Cluster([{"slots": 16, "partition": "a"}, {"slots": 16, "partition": "b"}])
    for seed in range(4):
        jobs = oracle.jobs_of(rigid_log(seed, gap=80.0, exact=False))
        own = ["ab"[k] for k in np.random.default_rng(seed).integers(0, 2, len(jobs))]
        both = table(jobs, partition=own)
        found = mb.simulate(both, policy, cluster=nodes, order=order).records["starting_time"]
        for name in "ab":
            rows = [row for row, of in enumerate(own) if of == name]
            expected = oracle.backfill([jobs[row] for row in rows], 16, policy, ORDERS[order])
            assert found[rows].tolist() == expected, seed


def test_memory_of_a_single_node() -> None:
    """Two jobs would have slots at once, but not memory; a third, short one needs little of both."""
    nodes = mb.Cluster([{"slots": 4, "memory": 4e9}])
    jobs = mb.ClusterJobs(
        [2, 2, 1], [10.0, 10.0, 5.0], width=[2, 2, 1], memory=[1.5e9, 1.5e9, 0.5e9]
    )
    for policy in QUEUES:
        assert places(jobs, nodes, policy)[0] == [0.0, 10.0, 10.0 if policy == "fcfs" else 0.0]


@pytest.mark.parametrize("policy", QUEUES)
def test_memory_and_gpus_of_nodes(policy: str) -> None:
    """The first job takes all memory, the second all GPUs of a node, the third those of the other."""
    nodes = mb.Cluster([{"count": 2, "slots": 4, "memory": 8e9, "gpus": 2}])
    jobs = mb.ClusterJobs(
        [4, 4, 2],
        10.0,
        width=[4, 4, 2],
        memory=[4e9, 1e9, 1e9],
        gpus=[0, 0.5, 1],
        arrival=[0, 0, 1],
    )
    starts, ran = places(jobs, nodes, policy)
    assert starts == [0.0, 10.0, 10.0]
    on = {job: {node for other, node in ran if other == job} for job in (1, 2)}
    assert len(on[1]) == len(on[2]) == 1 and on[1] != on[2]


def test_jobs_that_never_fit() -> None:
    nodes = mb.Cluster([{"slots": 4, "partition": "a", "memory": 8e9}])
    with pytest.raises(ValueError, match=r"partition\[0\] = 'x': no node is in it"):
        mb.simulate(mb.ClusterJobs([1], 1.0, partition=["x"]), "easy", cluster=nodes)
    with pytest.raises(ValueError, match="room for 0 of its tasks"):
        mb.simulate(mb.ClusterJobs([4], 1.0, width=4, memory=9e9), "easy", cluster=nodes)


def test_auto_of_a_scheduler_queues_rigid_jobs() -> None:
    """From the first rigid job on: four tasks of a malleable job run, and no later job delays the rigid one."""
    scheduler = mb.Scheduler(cluster(4))
    (first,) = scheduler.add(mb.ClusterJobs([4], [10.0]), 0.0).tolist()
    scheduler.decide(0.0)
    assert len(scheduler.assign(0.0, 4).ids) == 4
    rigid, _, short = scheduler.add(
        mb.ClusterJobs([4, 1, 1], [20.0, 50.0, 5.0], width=[4, 1, 1], requested=[20.0, 50.0, 5.0]),
        1.0,
    ).tolist()
    scheduler = copy.deepcopy(scheduler)
    scheduler.ended([first, first], seconds=5.0, node=[0, 0], now=5.0)
    scheduler.decide(5.0)
    begun = scheduler.assign(5.0, 2).ids.tolist()
    assert rigid not in begun and short in begun


@pytest.mark.parametrize(
    ("policy", "option"),
    [
        ("easy", {"ageing": 5.0}),
        ("easy-sjf", {"order": "area"}),
        ("flex", {"order": "area"}),
        ("adaptive", {"delay": 5.0}),
        ("adaptive", {"by_user": True}),
    ],
)
def test_options_without_an_effect_say_so(policy: str, option: dict[str, object]) -> None:
    with pytest.warns(UserWarning, match=f"option {next(iter(option))} has no effect on {policy}"):
        starts(oracle.jobs_of(rigid_log(1, count=3)), 16, policy, **option)


def test_auto_lets_no_job_wait_for_long() -> None:
    """Users ask for several times what jobs take: the longest wait stays within some times that of EASY."""
    logs = [oracle.jobs_of(rigid_log(seed, exact=False)) for seed in SEEDS]
    wait = [
        [max(np.subtract(starts(jobs, 16, policy), [job.arrival for job in jobs])) for jobs in logs]
        for policy in ("auto", "easy")
    ]
    ratios = np.divide(*wait)
    assert ratios.mean() <= 2.5 and ratios.max() <= 4.0


def test_wrong_input() -> None:
    with pytest.raises(ValueError, match=r"width\[1\] = 0: must be from 1"):
        mb.ClusterJobs(maps=[2, 2], map_seconds=1.0, width=[1, 0])
    with pytest.raises(ValueError, match="never fits on 4 slots"):
        mb.simulate(mb.ClusterJobs(maps=[8], map_seconds=1.0, width=8), "easy", cluster=cluster(4))
    with pytest.raises(ValueError, match="heartbeat"):
        starts(oracle.jobs_of(rigid_log(1, count=3)), 16, "easy", heartbeat=1.0)
