"""Simulations: what a policy would have done with these jobs."""

from malleable.simulation.cluster import CLUSTER_POLICIES
from malleable.simulation.face import simulate
from malleable.simulation.replications import replicate
from malleable.simulation.result import SimulationResult
from malleable.simulation.sweeps import sweep
from malleable.simulation.tandem import POLICIES as SIMULATED_POLICIES

__all__ = [
    "CLUSTER_POLICIES",
    "SIMULATED_POLICIES",
    "SimulationResult",
    "replicate",
    "simulate",
    "sweep",
]
