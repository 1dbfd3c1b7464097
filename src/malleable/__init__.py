"""malleable: which job gets how many slots now, and how good that is.

Tables, plans and epochs of jobs are here from the start, everything else once it is asked for.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from malleable import views
from malleable.epoch import Decision, Epoch
from malleable.flow_planning import FLOW_POLICIES, FlowPlan
from malleable.flow_tables import Flows
from malleable.objectives import KINDS
from malleable.planning import DEFAULT_EFFORT, POLICIES, Plan, plan
from malleable.tables import ALL_SLOTS, Jobs

if TYPE_CHECKING:
    from malleable import flow_kernels, kernels, overlap_kernels, report, workloads
    from malleable.adaptive_epoch import (
        AdaptiveDecision,
        AdaptiveEpoch,
        AdaptiveMatching,
        TaskStarts,
    )
    from malleable.adaptive_policy import Adaptive
    from malleable.class_matching import ClassMatching, match_classes
    from malleable.flow_epoch import FlowDecision, FlowEpoch
    from malleable.overlap_epoch import OverlapDecision, OverlapEpoch
    from malleable.simulation import (
        CLUSTER_POLICIES,
        SIMULATED_POLICIES,
        SimulationResult,
        simulate,
    )
    from malleable.slotted_epoch import SlottedDecision, SlottedEpoch
    from malleable.workloads import (
        Cluster,
        ClusterJobs,
        MapReduceJobs,
        MapReduceStream,
        MapShuffleJobs,
        MapShuffleStream,
        cluster_flows,
        generate_cluster_jobs,
        read_cluster,
        read_cluster_alibaba,
        read_cluster_flows,
        read_cluster_google2011,
        read_cluster_hawk,
        read_cluster_jobs,
        read_cluster_rumen,
        read_cluster_swim,
        read_cluster_tpch,
        read_cluster_workload,
        read_flows,
        read_jobs,
        read_map_reduce_google2011,
        read_map_reduce_jobs,
        read_map_reduce_rumen,
        read_map_reduce_swim,
        read_map_shuffle_google2011,
        read_map_shuffle_jobs,
        read_map_shuffle_rumen,
        read_map_shuffle_swim,
        read_rumen,
        read_swim,
        read_tpch,
        read_workload,
        write_flows,
        write_jobs,
        write_map_reduce_jobs,
    )

__all__ = [
    "ALL_SLOTS",
    "CLUSTER_POLICIES",
    "DEFAULT_EFFORT",
    "FLOW_POLICIES",
    "KINDS",
    "POLICIES",
    "SIMULATED_POLICIES",
    "Adaptive",
    "AdaptiveDecision",
    "AdaptiveEpoch",
    "AdaptiveMatching",
    "ClassMatching",
    "Cluster",
    "ClusterJobs",
    "Decision",
    "Epoch",
    "FlowDecision",
    "FlowEpoch",
    "FlowPlan",
    "Flows",
    "Jobs",
    "MapReduceJobs",
    "MapReduceStream",
    "MapShuffleJobs",
    "MapShuffleStream",
    "OverlapDecision",
    "OverlapEpoch",
    "Plan",
    "SimulationResult",
    "SlottedDecision",
    "SlottedEpoch",
    "TaskStarts",
    "cluster_flows",
    "flow_kernels",
    "generate_cluster_jobs",
    "kernels",
    "match_classes",
    "overlap_kernels",
    "plan",
    "read_cluster",
    "read_cluster_alibaba",
    "read_cluster_flows",
    "read_cluster_google2011",
    "read_cluster_hawk",
    "read_cluster_jobs",
    "read_cluster_rumen",
    "read_cluster_swim",
    "read_cluster_tpch",
    "read_cluster_workload",
    "read_flows",
    "read_jobs",
    "read_map_reduce_google2011",
    "read_map_reduce_jobs",
    "read_map_reduce_rumen",
    "read_map_reduce_swim",
    "read_map_shuffle_google2011",
    "read_map_shuffle_jobs",
    "read_map_shuffle_rumen",
    "read_map_shuffle_swim",
    "read_rumen",
    "read_swim",
    "read_tpch",
    "read_workload",
    "report",
    "simulate",
    "workloads",
    "write_flows",
    "write_jobs",
    "write_map_reduce_jobs",
]

__version__ = "0.1.0"

_HOMES = {
    "malleable.adaptive_epoch": (
        "AdaptiveDecision",
        "AdaptiveEpoch",
        "AdaptiveMatching",
        "TaskStarts",
    ),
    "malleable.adaptive_policy": ("Adaptive",),
    "malleable.class_matching": ("ClassMatching", "match_classes"),
    "malleable.flow_epoch": ("FlowDecision", "FlowEpoch"),
    "malleable.overlap_epoch": ("OverlapDecision", "OverlapEpoch"),
    "malleable.simulation": (
        "CLUSTER_POLICIES",
        "SIMULATED_POLICIES",
        "SimulationResult",
        "simulate",
    ),
    "malleable.slotted_epoch": ("SlottedDecision", "SlottedEpoch"),
}
"""Modules of public names that are imported once one of them is asked for; all others are workloads."""

_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None and not name.startswith("_"):
        if importlib.util.find_spec(f"malleable.{name}") is not None:
            return importlib.import_module(f"malleable.{name}")
        if name in __all__:
            home = "malleable.workloads"
    if home is None:
        raise AttributeError(f"module 'malleable' has no attribute {name!r}")
    return globals().setdefault(name, getattr(importlib.import_module(home), name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


views.present_from(lambda: importlib.import_module("malleable.report"))
