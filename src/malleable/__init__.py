"""malleable: which job gets how many slots now, and how good that is.

Each public name is imported once it is asked for. The stub beside this file shows the same names to
type checkers.
"""

import importlib
import sys
from typing import Any

# The public names of each module.
_NAMES = {
    "malleable.jobs.table": "Jobs",
    "malleable.flows.table": "Flows",
    "malleable.planning": "plan",
    "malleable.jobs.plan": "Plan",
    "malleable.flows.plan": "FlowPlan",
    "malleable.jobs.epoch": "Epoch Decision",
    "malleable.flows.epoch": "FlowEpoch",
    "malleable.tandem.epoch": "TandemEpoch",
    "malleable.slotted.epoch": "SlottedEpoch",
    "malleable.cluster.scheduler": "Scheduler",
    "malleable.cluster.policy": "AdaptiveLiteral",
    "malleable.cluster.matching": "match_classes",
    "malleable.simulation": "simulate",
    "malleable.results": "SimulationResult",
    "malleable.cluster.nodes": "Cluster read_cluster",
    "malleable.cluster.table": "ClusterJobs cluster_flows",
    "malleable.cluster.generate": "generate_cluster_jobs",
    "malleable.tandem.table": "MapShuffleJobs MapShuffleStream",
    "malleable.slotted.table": "MapReduceJobs",
    "malleable.slotted.generate": "MapReduceStream",
    "malleable.traces": "read Trace",
    "malleable.traces.job_table": "read_jobs write_jobs",
    "malleable.traces.flow_files": "read_flows write_flows",
    "malleable.live.executor": "Executor",
    "malleable.live": "engines",
    "malleable.live.joblib": "joblib_backend",
    "malleable.live.spark.govern": "govern_spark",
    "malleable.replications": "replicate Replications",
    "malleable.cluster.replay": "replay Replay",
    "malleable.embed": "get_include",
}

_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name == "__version__":  # only pyproject.toml has the version
        from importlib.metadata import version

        return globals().setdefault(name, version("malleable"))
    if name not in _HOMES:
        raise AttributeError(f"module 'malleable' has no attribute {name!r}")
    # The core refuses a subinterpreter before NumPy is loaded in it.
    importlib.import_module("malleable._core")
    home = __import__(_HOMES[name], fromlist=[name])
    return globals().setdefault(name, getattr(home, name))


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


if "joblib.parallel" in sys.modules:
    sys.modules["joblib.parallel"].EXTERNAL_BACKENDS["malleable"] = lambda: importlib.import_module(
        "malleable.live.joblib"
    )._register()
