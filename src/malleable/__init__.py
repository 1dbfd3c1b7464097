"""malleable: which job gets how many slots now, and how good that is.

Everything is imported once it is asked for.
"""

# ruff: noqa: I001 (an alias of its own name says that a name is passed on)

import importlib
from typing import TYPE_CHECKING, Any

from malleable import views

if TYPE_CHECKING:
    from malleable.cluster.epoch import (
        AdaptiveDecision as AdaptiveDecision,
        AdaptiveEpoch as AdaptiveEpoch,
        AdaptiveMatching as AdaptiveMatching,
        TaskStarts as TaskStarts,
    )
    from malleable.cluster.matching import (
        ClassMatching as ClassMatching,
        match_classes as match_classes,
    )
    from malleable.cluster.nodes import Cluster as Cluster, read_cluster as read_cluster
    from malleable.cluster.policy import Adaptive as Adaptive
    from malleable.cluster.replay import (
        Replay as Replay,
        record_simulation as record_simulation,
        replay as replay,
    )
    from malleable.cluster.scheduler import (
        Scheduler as Scheduler,
        SchedulerDecision as SchedulerDecision,
    )
    from malleable.cluster.simulate import CLUSTER_POLICIES as CLUSTER_POLICIES
    from malleable.cluster.table import (
        ClusterJobs as ClusterJobs,
        cluster_flows as cluster_flows,
        generate_cluster_jobs as generate_cluster_jobs,
    )
    from malleable.flows.epoch import FlowDecision as FlowDecision, FlowEpoch as FlowEpoch
    from malleable.flows.plan import FLOW_POLICIES as FLOW_POLICIES, FlowPlan as FlowPlan
    from malleable.flows.table import Flows as Flows
    from malleable.jobs.epoch import Decision as Decision, Epoch as Epoch
    from malleable.jobs.plan import (
        DEFAULT_EFFORT as DEFAULT_EFFORT,
        POLICIES as POLICIES,
        Plan as Plan,
        plan as plan,
    )
    from malleable.jobs.table import ALL_SLOTS as ALL_SLOTS, Jobs as Jobs
    from malleable.objective import KINDS as KINDS
    from malleable.replications import Replications as Replications, replicate as replicate
    from malleable.result import SimulationResult as SimulationResult
    from malleable.simulation import simulate as simulate
    from malleable.slotted.epoch import (
        SlottedDecision as SlottedDecision,
        SlottedEpoch as SlottedEpoch,
    )
    from malleable.slotted.generate import MapReduceStream as MapReduceStream
    from malleable.slotted.table import MapReduceJobs as MapReduceJobs
    from malleable.tandem.epoch import (
        OverlapDecision as OverlapDecision,
        OverlapEpoch as OverlapEpoch,
    )
    from malleable.tandem.table import (
        MapShuffleJobs as MapShuffleJobs,
        MapShuffleStream as MapShuffleStream,
    )
    from malleable.traces import Trace as Trace, read as read
    from malleable.traces.flow_files import read_flows as read_flows, write_flows as write_flows
    from malleable.traces.job_table import read_jobs as read_jobs, write_jobs as write_jobs

__version__ = "0.1.0"

_HOMES = {
    "malleable.cluster.epoch": (
        "AdaptiveDecision",
        "AdaptiveEpoch",
        "AdaptiveMatching",
        "TaskStarts",
    ),
    "malleable.cluster.matching": ("ClassMatching", "match_classes"),
    "malleable.cluster.nodes": ("Cluster", "read_cluster"),
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
    "malleable.cluster.table": ("ClusterJobs", "cluster_flows", "generate_cluster_jobs"),
    "malleable.flows.epoch": ("FlowDecision", "FlowEpoch"),
    "malleable.flows.plan": ("FLOW_POLICIES", "FlowPlan"),
    "malleable.flows.table": ("Flows",),
    "malleable.jobs.epoch": ("Decision", "Epoch"),
    "malleable.jobs.plan": ("DEFAULT_EFFORT", "POLICIES", "Plan", "plan"),
    "malleable.jobs.table": ("ALL_SLOTS", "Jobs"),
    "malleable.objective": ("KINDS",),
    "malleable.replications": ("Replications", "replicate"),
    "malleable.result": ("SimulationResult",),
    "malleable.simulation": ("simulate",),
    "malleable.slotted.epoch": ("SlottedDecision", "SlottedEpoch"),
    "malleable.slotted.generate": ("MapReduceStream",),
    "malleable.slotted.table": ("MapReduceJobs",),
    "malleable.tandem.epoch": ("OverlapDecision", "OverlapEpoch"),
    "malleable.tandem.table": ("MapShuffleJobs", "MapShuffleStream"),
    "malleable.traces": ("Trace", "read"),
    "malleable.traces.flow_files": ("read_flows", "write_flows"),
    "malleable.traces.job_table": ("read_jobs", "write_jobs"),
}
"""Modules of the public names."""

_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'malleable' has no attribute {name!r}")
    return globals().setdefault(name, getattr(importlib.import_module(home), name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


views.present_from(lambda: importlib.import_module("malleable.view"))
