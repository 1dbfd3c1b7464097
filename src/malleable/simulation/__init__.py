"""Simulations: what a policy would have done with these jobs."""

from malleable.simulation.cluster import CLUSTER_POLICIES
from malleable.simulation.face import simulate
from malleable.simulation.replications import replicate
from malleable.simulation.result import SimulationResult
from malleable.simulation.snapshot import snapshot
from malleable.simulation.sweeps import SweepRows, sweep
from malleable.simulation.tandem import BATCH_POLICIES
from malleable.simulation.tandem import POLICIES as SIMULATED_POLICIES
from malleable.simulation.tandem_adversary import OverlapAdversary, overlap_adversary

__all__ = [
    "BATCH_POLICIES",
    "CLUSTER_POLICIES",
    "SIMULATED_POLICIES",
    "OverlapAdversary",
    "SimulationResult",
    "SweepRows",
    "overlap_adversary",
    "replicate",
    "simulate",
    "snapshot",
    "sweep",
]
