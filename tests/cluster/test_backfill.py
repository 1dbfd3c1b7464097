"""Rigid jobs: FCFS, EASY and conservative backfill against an independent simulator, and AUTO against them."""

from __future__ import annotations

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


def table(jobs: list[oracle.Job]) -> mb.ClusterJobs:
    width = [job.width for job in jobs]
    return mb.ClusterJobs(
        maps=width,
        map_seconds=[job.run for job in jobs],
        arrival=[job.arrival for job in jobs],
        width=width,
        requested=[job.requested for job in jobs],
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


def test_wrong_input() -> None:
    with pytest.raises(ValueError, match=r"width\[1\] = 0: must be from 1"):
        mb.ClusterJobs(maps=[2, 2], map_seconds=1.0, width=[1, 0])
    with pytest.raises(ValueError, match="never fits on 4 slots"):
        mb.simulate(mb.ClusterJobs(maps=[8], map_seconds=1.0, width=8), "easy", cluster=cluster(4))
    with pytest.raises(ValueError, match="heartbeat"):
        starts(oracle.jobs_of(rigid_log(1, count=3)), 16, "easy", heartbeat=1.0)
