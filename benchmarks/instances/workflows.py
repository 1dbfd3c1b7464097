"""DAGs of real workflows that come one after the other; they need the traces' folder (MALLEABLE_TRACES).

tpch_stream(seed, load, slots, flows=100): queries of ``tpch-cloudlab`` at random (`tpch_flows`),
    as cluster jobs of as many tasks as stages have; Poisson at the load on so many generic slots.
tpch_arrivals(seed, load, slots, flows=100): such queries as a table of flows, each stage malleable, Poisson.
wf_stream(seed, load, slots, flows=60): like `tpch_stream`, of ``wfinstances``: workflows of at most 2,000 jobs.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.instances.research import tpch_flows
from malleable import Cluster, ClusterJobs, Flows, cluster_flows, read_flows

__all__ = ["tpch_arrivals", "tpch_stream", "traces", "wf_stream"]

_MOST_JOBS = 2_000


def traces() -> Path | None:
    """The folder of the traces, if there is one."""
    named = os.environ.get("MALLEABLE_TRACES")
    folder = Path(named) if named else Path(__file__).parents[3] / "shared" / "traces"
    return folder if folder.is_dir() else None


@lru_cache(maxsize=1)
def _tpch() -> Flows:
    folder = traces()
    assert folder is not None, "no folder of traces"
    return tpch_flows(folder / "tpch-cloudlab")


@lru_cache(maxsize=1)
def _workflows() -> list[Flows]:
    folder = traces()
    assert folder is not None, "no folder of traces"
    found = [read_flows(path) for path in sorted((folder / "wfinstances").glob("*/*.json.gz"))]
    return [flows for flows in found if 1 < len(flows.work) <= _MOST_JOBS]


def _joined(tables: list[Flows], arrival: Any) -> ClusterJobs:
    """Flows after one another in one table."""
    maps, seconds, after, flow, comes = [], [], [], [], []
    for number, flows in enumerate(tables):
        jobs, base = cluster_flows(flows), len(maps)
        maps += jobs.maps.tolist()
        seconds += jobs.map_seconds.tolist()
        after += [[base + parent for parent in flows.after(row)] for row in range(len(jobs))]
        flow += [f"flow{number}"] * len(jobs)
        comes += [arrival[number]] * len(jobs)
    return ClusterJobs(maps, seconds, arrival=comes, after=after, flow=flow)


def _stream(
    pool: list[Flows], rng: Any, load: float, slots: int, flows: int
) -> tuple[ClusterJobs, Cluster]:
    chosen = [pool[k] for k in rng.integers(len(pool), size=flows).tolist()]
    work = sum(float(one.work.sum()) for one in chosen)
    arrival = np.cumsum(rng.exponential(size=flows)) * work / (slots * load * flows)
    return _joined(chosen, arrival), Cluster([{"slots": slots}])


def tpch_stream(
    seed: int, load: float, slots: int, flows: int = 100
) -> tuple[ClusterJobs, Cluster]:
    """Queries on generic slots."""
    table = _tpch()
    pool = [table.take([k]) for k in range(len(table))]
    return _stream(pool, np.random.default_rng(seed), load, slots, flows)


def tpch_arrivals(seed: int, load: float, slots: int, flows: int = 100) -> Flows:
    """Queries as flows of malleable jobs."""
    rng, pool = np.random.default_rng(seed), _tpch()
    table = []
    for k in rng.integers(len(pool), size=flows).tolist():
        rows = range(pool.job_offset[k], pool.job_offset[k + 1])
        table.append(
            [
                {
                    "name": str(row),
                    "work": float(pool.work[row]),
                    "max_slots": int(pool.max_slots[row]),
                    "after": [str(parent) for parent in pool.after(row)],
                }
                for row in rows
            ]
        )
    work = sum(job["work"] for flow in table for job in flow)
    arrival = np.cumsum(rng.exponential(size=flows)) * work / (slots * load * flows)
    return Flows(table, arrival=arrival)


def wf_stream(seed: int, load: float, slots: int, flows: int = 60) -> tuple[ClusterJobs, Cluster]:
    """Scientific workflows on generic slots."""
    return _stream(_workflows(), np.random.default_rng(seed), load, slots, flows)
