"""How far a run is, from its journal alone."""

from __future__ import annotations

from typing import NamedTuple

from malleable.live.expected import Left, expected_ends
from malleable.live.jobs_file import parse_jobs
from malleable.live.journal import Decided, Journal

__all__ = ["JobStatus", "RunStatus", "run_status"]


class JobStatus(NamedTuple):
    """How far a job is.

    ``end`` is when it is expected to end [s of the run], NaN if none of its tasks has ended and nobody
    said what they take; ``at_risk``: that is after its deadline.
    """

    name: str
    user: str
    slots: int
    why: str
    done: int
    failed: int
    left: int
    seconds: float
    end: float
    at_risk: bool


class RunStatus(NamedTuple):
    """How far a run is."""

    number: int
    status: str
    now: float
    slots: int
    jobs: list[JobStatus]


def run_status(journal: Journal, number: int | None = None) -> RunStatus:
    """How far a run is, the last one by default; O(attempts + decisions), and a plan."""
    run = journal.run(number)
    jobs = parse_jobs(run.jobs, run.folder)
    done, failed = [0] * len(jobs), [0] * len(jobs)
    seconds = [0.0] * len(jobs)  # of those that are done
    for (row, _), task in journal.tried(run.id).items():
        if task.last.status == 0:
            done[row] += 1
            seconds[row] += task.last.seconds
        elif task.over(jobs[row].retries):
            failed[row] += 1
    place = {job.name: row for row, job in enumerate(jobs)}
    dropped = _dropped([[place[name] for name in job.after] for job in jobs], failed)
    for row in range(len(jobs)) if run.status == "done" else dropped:
        failed[row] = len(jobs[row]) - done[row]
    mean = [seconds[row] / done[row] if done[row] else job.seconds for row, job in enumerate(jobs)]
    left = [len(job) - done[row] - failed[row] for row, job in enumerate(jobs)]
    ends = expected_ends(
        [
            Left(
                left[row], mean[row], job.weight, job.deadline, job.min_slots, job.max_slots,
                [place[name] for name in job.after],
            )
            for row, job in enumerate(jobs)
        ],
        run.slots, run.objective, run.policy, run.lasted,
    )  # fmt: skip
    held: dict[int, Decided] = {each.job: each for each in journal.decisions(run.id)}
    rows = []
    for row, job in enumerate(jobs):
        own = held.get(row) if left[row] and run.status == "running" else None
        rows.append(
            JobStatus(
                job.name,
                job.user,
                own.slots if own else 0,
                own.why if own else "",
                done[row],
                failed[row],
                left[row],
                mean[row],
                ends[row],
                left[row] > 0 and ends[row] > job.deadline,
            )
        )
    return RunStatus(run.id, run.status, run.lasted, run.slots, rows)


def _dropped(after: list[list[int]], failed: list[int]) -> list[int]:
    """Jobs that never run, as a job that they wait for failed; O(jobs + edges)."""
    children: list[list[int]] = [[] for _ in after]
    for row, parents in enumerate(after):
        for parent in parents:
            children[parent].append(row)
    found: dict[int, None] = {}
    reached = [child for row, count in enumerate(failed) if count for child in children[row]]
    for row in reached:  # grows while it is read; every job's children are appended once
        if row not in found:
            found[row] = None
            reached += children[row]
    return list(found)
