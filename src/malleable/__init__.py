"""malleable: which job gets how many slots now, and how good that is.

Tables, plans and epochs of jobs are here from the start, everything else once it is asked for.
"""

import importlib
from typing import TYPE_CHECKING, Any

from malleable import views
from malleable.flows.plan import FLOW_POLICIES, FlowPlan
from malleable.flows.table import Flows
from malleable.jobs.epoch import Decision, Epoch
from malleable.jobs.plan import DEFAULT_EFFORT, POLICIES, Plan, plan
from malleable.jobs.table import ALL_SLOTS, Jobs
from malleable.objective import KINDS

if TYPE_CHECKING:
    from malleable.cluster.epoch import (
        AdaptiveDecision,
        AdaptiveEpoch,
        AdaptiveMatching,
        TaskStarts,
    )
    from malleable.cluster.matching import ClassMatching, match_classes
    from malleable.cluster.nodes import Cluster, read_cluster
    from malleable.cluster.policy import Adaptive
    from malleable.cluster.replay import Replay, record_simulation, replay
    from malleable.cluster.scheduler import Scheduler, SchedulerDecision
    from malleable.cluster.simulate import CLUSTER_POLICIES
    from malleable.cluster.table import ClusterJobs, cluster_flows, generate_cluster_jobs
    from malleable.flows.epoch import FlowDecision, FlowEpoch
    from malleable.result import SimulationResult
    from malleable.simulation import simulate
    from malleable.slotted.epoch import SlottedDecision, SlottedEpoch
    from malleable.slotted.generate import MapReduceStream
    from malleable.slotted.table import MapReduceJobs
    from malleable.tandem.epoch import OverlapDecision, OverlapEpoch
    from malleable.tandem.table import MapShuffleJobs, MapShuffleStream
    from malleable.traces import (
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
    "Replay",
    "Scheduler",
    "SchedulerDecision",
    "SimulationResult",
    "SlottedDecision",
    "SlottedEpoch",
    "TaskStarts",
    "cluster_flows",
    "generate_cluster_jobs",
    "match_classes",
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
    "record_simulation",
    "replay",
    "simulate",
    "write_flows",
    "write_jobs",
    "write_map_reduce_jobs",
]

__version__ = "0.1.0"

_HOMES = {
    "malleable.cluster.epoch": (
        "AdaptiveDecision",
        "AdaptiveEpoch",
        "AdaptiveMatching",
        "TaskStarts",
    ),
    "malleable.cluster.matching": (
        "ClassMatching",
        "match_classes",
    ),
    "malleable.cluster.nodes": (
        "Cluster",
        "read_cluster",
    ),
    "malleable.cluster.policy": ("Adaptive",),
    "malleable.cluster.replay": (
        "Replay",
        "record_simulation",
        "replay",
    ),
    "malleable.cluster.scheduler": (
        "Scheduler",
        "SchedulerDecision",
    ),
    "malleable.cluster.simulate": ("CLUSTER_POLICIES",),
    "malleable.cluster.table": (
        "ClusterJobs",
        "cluster_flows",
        "generate_cluster_jobs",
    ),
    "malleable.flows.epoch": (
        "FlowDecision",
        "FlowEpoch",
    ),
    "malleable.result": ("SimulationResult",),
    "malleable.simulation": ("simulate",),
    "malleable.slotted.epoch": (
        "SlottedDecision",
        "SlottedEpoch",
    ),
    "malleable.slotted.generate": ("MapReduceStream",),
    "malleable.slotted.table": ("MapReduceJobs",),
    "malleable.tandem.epoch": (
        "OverlapDecision",
        "OverlapEpoch",
    ),
    "malleable.tandem.table": (
        "MapShuffleJobs",
        "MapShuffleStream",
    ),
    "malleable.traces": (
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
        "write_flows",
        "write_jobs",
        "write_map_reduce_jobs",
    ),
}
"""Modules of public names that are imported once one of them is asked for."""

_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'malleable' has no attribute {name!r}")
    return globals().setdefault(name, getattr(importlib.import_module(home), name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


views.present_from(lambda: importlib.import_module("malleable.view"))
