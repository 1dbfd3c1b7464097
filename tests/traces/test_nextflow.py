"""Nextflow's trace."""

from __future__ import annotations

import io

import pytest

import malleable as mb

NEXTFLOW = """task_id\thash\tnative_id\tname\tstatus\texit\tsubmit\tduration\trealtime\t%cpu
1\taa/1\t7\tALIGN (one)\tCOMPLETED\t0\t2024-05-01 08:00:00.000\t1m 10s\t1m\t99%
2\taa/2\t8\tALIGN (two)\tCOMPLETED\t0\t2024-05-01 08:00:05.000\t30s\t20s\t99%
3\taa/3\t9\tMERGE\tCACHED\t0\t-\t-\t-\t-
4\taa/4\t9\tMERGE\tCOMPLETED\t0\t2024-05-01 08:02:00.000\t500ms\t400ms\t99%
"""


def test_processes_are_jobs() -> None:
    trace = mb.read(io.StringIO(NEXTFLOW))
    jobs = trace.tasks()
    assert jobs.name == ("ALIGN", "MERGE") and jobs.maps.tolist() == [2, 1]
    assert jobs.map_work == pytest.approx([80.0, 0.4], abs=1e-5)


def test_other_columns() -> None:
    text = (
        "process\ttag\tcpus\tsubmit\tstart\tcomplete\trealtime\n"
        "QC\ta\t2\t1714550400000\t1714550410000\t1714550470000\t60000\n"
        "QC\tb\t2\t1714550400000\t1714550470000\t1714550500000\t30000\n"
    )
    jobs = mb.read(io.StringIO(text)).tasks()
    assert jobs.map_work.tolist() == [2 * 90.0] and jobs.width.tolist() == [2]


def test_tasks_that_did_not_run() -> None:
    lines = NEXTFLOW.splitlines()[:2]
    lines += [f"{k}\taa\t9\t{s}\t{s}\t-\t2024-05-01 08:03:00.000\t-\t-\t-" for k, s in
              enumerate(["ABORTED", "SUBMITTED"])]  # fmt: skip
    trace = mb.read(io.StringIO("\n".join(lines)))
    assert trace.lacking == ["", "cancelled before it started", "pending"]
