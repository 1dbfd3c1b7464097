# The public names, grouped as the guide lists them. `__init__.py` has the same names, and a test compares both.
# ruff: noqa: I001 (an alias of its own name says that a name is passed on)

__version__: str

# plan
from malleable.jobs.table import Jobs as Jobs
from malleable.flows.table import Flows as Flows
from malleable.planning import plan as plan
from malleable.jobs.plan import Plan as Plan
from malleable.flows.plan import FlowPlan as FlowPlan

# decide
from malleable.jobs.epoch import Epoch as Epoch, Decision as Decision
from malleable.flows.epoch import FlowEpoch as FlowEpoch
from malleable.tandem.epoch import TandemEpoch as TandemEpoch
from malleable.slotted.epoch import SlottedEpoch as SlottedEpoch
from malleable.cluster.scheduler import Scheduler as Scheduler
from malleable.cluster.policy import AdaptiveLiteral as AdaptiveLiteral
from malleable.cluster.matching import match_classes as match_classes

# simulate
from malleable.simulation import simulate as simulate
from malleable.results import SimulationResult as SimulationResult
from malleable.cluster.nodes import Cluster as Cluster
from malleable.cluster.table import ClusterJobs as ClusterJobs, cluster_flows as cluster_flows
from malleable.cluster.generate import generate_cluster_jobs as generate_cluster_jobs
from malleable.tandem.table import (
    MapShuffleJobs as MapShuffleJobs,
    MapShuffleStream as MapShuffleStream,
)
from malleable.slotted.table import MapReduceJobs as MapReduceJobs
from malleable.slotted.generate import MapReduceStream as MapReduceStream

# read
from malleable.traces import read as read, Trace as Trace
from malleable.traces.job_table import read_jobs as read_jobs, write_jobs as write_jobs
from malleable.traces.flow_files import read_flows as read_flows, write_flows as write_flows
from malleable.cluster.nodes import read_cluster as read_cluster

# run
from malleable.live.executor import Executor as Executor
from malleable.live import engines as engines
from malleable.live.joblib import joblib_backend as joblib_backend
from malleable.live.spark.govern import govern_spark as govern_spark

# compare
from malleable.replications import replicate as replicate, Replications as Replications
from malleable.cluster.replay import (
    replay as replay,
    Replay as Replay,
)

# embed
from malleable.embed import get_include as get_include
