"""malleable: which job gets how many slots now, and how good that is."""

from malleable import kernels, report, workloads
from malleable.epoch import Decision, Epoch
from malleable.objectives import KINDS
from malleable.planning import DEFAULT_EFFORT, POLICIES, Plan, plan
from malleable.simulation import SIMULATED_POLICIES, SimulationResult, simulate
from malleable.tables import ALL_SLOTS, Jobs
from malleable.workloads import (
    MapReduceJobs,
    MapReduceStream,
    MapShuffleJobs,
    MapShuffleStream,
    read_jobs,
    read_map_reduce_google2011,
    read_map_reduce_jobs,
    read_map_reduce_rumen,
    read_map_reduce_swim,
    read_map_shuffle_google2011,
    read_map_shuffle_jobs,
    read_map_shuffle_swim,
    read_rumen,
    read_swim,
    read_workload,
    write_jobs,
    write_map_reduce_jobs,
)

__all__ = [
    "ALL_SLOTS",
    "DEFAULT_EFFORT",
    "KINDS",
    "POLICIES",
    "SIMULATED_POLICIES",
    "Decision",
    "Epoch",
    "Jobs",
    "MapReduceJobs",
    "MapReduceStream",
    "MapShuffleJobs",
    "MapShuffleStream",
    "Plan",
    "SimulationResult",
    "kernels",
    "plan",
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
    "report",
    "simulate",
    "workloads",
    "write_jobs",
    "write_map_reduce_jobs",
]

__version__ = "0.1.0"
