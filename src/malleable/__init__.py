"""malleable: which job gets how many slots now, and how good that is."""

from malleable import kernels
from malleable.epoch import Decision, Epoch
from malleable.objectives import KINDS
from malleable.planning import DEFAULT_EFFORT, POLICIES, Plan, plan
from malleable.tables import ALL_SLOTS, Jobs

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
]

__version__ = "0.1.0"
