"""Readers and generators of workloads: whatever becomes a `malleable.tables.Jobs`."""

from malleable.workloads.detect import read_workload
from malleable.workloads.generate import lognormal_jobs, section41
from malleable.workloads.job_table import read_jobs, write_jobs
from malleable.workloads.rumen import read_rumen
from malleable.workloads.swim import read_swim

__all__ = [
    "lognormal_jobs",
    "read_jobs",
    "read_rumen",
    "read_swim",
    "read_workload",
    "section41",
    "write_jobs",
]
