"""Readers of traces: files that become tables of jobs."""

from malleable.traces.alibaba import read_alibaba
from malleable.traces.cluster_tables import read_cluster_jobs
from malleable.traces.cluster_traces import (
    read_cluster_alibaba,
    read_cluster_flows,
    read_cluster_google2011,
    read_cluster_hawk,
    read_cluster_rumen,
    read_cluster_swim,
    read_cluster_tpch,
    read_cluster_workload,
)
from malleable.traces.detect import read_workload
from malleable.traces.flow_files import flows_dict, read_flows, write_flows
from malleable.traces.job_table import read_jobs, write_jobs
from malleable.traces.map_reduce_traces import (
    read_map_reduce_google2011,
    read_map_reduce_jobs,
    read_map_reduce_rumen,
    read_map_reduce_swim,
    write_map_reduce_jobs,
)
from malleable.traces.map_shuffle_traces import (
    read_map_shuffle_google2011,
    read_map_shuffle_jobs,
    read_map_shuffle_rumen,
    read_map_shuffle_swim,
)
from malleable.traces.rumen import read_rumen
from malleable.traces.swim import read_swim
from malleable.traces.tpch import read_tpch
from malleable.traces.wfformat import read_wfformat

__all__ = [
    "flows_dict",
    "read_alibaba",
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
    "read_wfformat",
    "read_workload",
    "write_flows",
    "write_jobs",
    "write_map_reduce_jobs",
]
