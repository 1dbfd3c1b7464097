"""Readers and generators of workloads: whatever becomes a `malleable.tables.Jobs`."""

from malleable.workloads.detect import read_workload
from malleable.workloads.generate import lognormal_jobs, section41
from malleable.workloads.job_table import read_jobs, write_jobs
from malleable.workloads.map_reduce import (
    MapReduceJobs,
    MapReduceStream,
    read_map_reduce_google2011,
    read_map_reduce_jobs,
    read_map_reduce_rumen,
    read_map_reduce_swim,
    section7,
    write_map_reduce_jobs,
)
from malleable.workloads.map_shuffle import (
    MapShuffleJobs,
    MapShuffleStream,
    read_map_shuffle_google2011,
    read_map_shuffle_jobs,
    read_map_shuffle_swim,
)
from malleable.workloads.rumen import read_rumen
from malleable.workloads.swim import read_swim

__all__ = [
    "MapReduceJobs",
    "MapReduceStream",
    "MapShuffleJobs",
    "MapShuffleStream",
    "lognormal_jobs",
    "read_jobs",
    "read_map_reduce_google2011",
    "read_map_reduce_jobs",
    "read_map_reduce_rumen",
    "read_map_reduce_swim",
    "read_map_shuffle_google2011",
    "read_map_shuffle_jobs",
    "read_map_shuffle_swim",
    "read_rumen",
    "read_swim",
    "read_workload",
    "section7",
    "section41",
    "write_jobs",
    "write_map_reduce_jobs",
]
