"""Readers and generators of workloads: whatever becomes `Jobs` or `Flows`."""

from malleable.workloads.alibaba import read_alibaba
from malleable.workloads.cluster_jobs import (
    ClusterJobs,
    cluster_flows,
    generate_cluster_jobs,
)
from malleable.workloads.cluster_nodes import Cluster, read_cluster
from malleable.workloads.cluster_tables import read_cluster_jobs
from malleable.workloads.cluster_traces import (
    read_cluster_alibaba,
    read_cluster_flows,
    read_cluster_google2011,
    read_cluster_hawk,
    read_cluster_rumen,
    read_cluster_swim,
    read_cluster_tpch,
    read_cluster_workload,
)
from malleable.workloads.detect import read_workload
from malleable.workloads.flow_files import flows_dict, read_flows, write_flows
from malleable.workloads.generate import lognormal_jobs, section41
from malleable.workloads.generate_flows import section51_flows
from malleable.workloads.generate_map_reduce import MapReduceStream, section7
from malleable.workloads.generate_overlap import (
    HardBatch,
    corollary4_jobs,
    corollary6_jobs,
    theorem1_jobs,
    theorem2_jobs,
)
from malleable.workloads.job_table import read_jobs, write_jobs
from malleable.workloads.map_reduce import MapReduceJobs
from malleable.workloads.map_reduce_traces import (
    read_map_reduce_google2011,
    read_map_reduce_jobs,
    read_map_reduce_rumen,
    read_map_reduce_swim,
    write_map_reduce_jobs,
)
from malleable.workloads.map_shuffle import (
    MapShuffleJobs,
    MapShuffleStream,
    read_map_shuffle_google2011,
    read_map_shuffle_jobs,
    read_map_shuffle_rumen,
    read_map_shuffle_swim,
)
from malleable.workloads.rumen import read_rumen
from malleable.workloads.swim import read_swim
from malleable.workloads.tpch import read_tpch
from malleable.workloads.wfformat import read_wfformat

__all__ = [
    "Cluster",
    "ClusterJobs",
    "HardBatch",
    "MapReduceJobs",
    "MapReduceStream",
    "MapShuffleJobs",
    "MapShuffleStream",
    "cluster_flows",
    "corollary4_jobs",
    "corollary6_jobs",
    "flows_dict",
    "generate_cluster_jobs",
    "lognormal_jobs",
    "read_alibaba",
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
    "read_wfformat",
    "read_workload",
    "section7",
    "section41",
    "section51_flows",
    "theorem1_jobs",
    "theorem2_jobs",
    "write_flows",
    "write_jobs",
    "write_map_reduce_jobs",
]
