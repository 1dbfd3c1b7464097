"""malleable: which job gets how many slots now, and how good that is."""

from malleable import kernels, report, workloads
from malleable.epoch import Decision, Epoch
from malleable.objectives import KINDS
from malleable.planning import DEFAULT_EFFORT, POLICIES, Plan, plan
from malleable.tables import ALL_SLOTS, Jobs
from malleable.workloads import read_jobs, read_rumen, read_swim, read_workload, write_jobs

__all__ = [
    "ALL_SLOTS",
    "DEFAULT_EFFORT",
    "KINDS",
    "POLICIES",
    "Decision",
    "Epoch",
    "Jobs",
    "Plan",
    "kernels",
    "plan",
    "read_jobs",
    "read_rumen",
    "read_swim",
    "read_workload",
    "report",
    "workloads",
    "write_jobs",
]

__version__ = "0.1.0"
