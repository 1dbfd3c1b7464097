"""Every instance that a measurement names: its generator, its parameters and its seeds.

Generators draw with NumPy's default generator (PCG64) from the seed alone, so an instance is the same
wherever it is drawn with the same NumPy. Each returns the jobs and the number of slots.

instance_a(J): 2 J slots, minima 1, maxima U{1..64}, work lognormal(3, 1.5), seed 1.
instance_b(J): J / 10 slots, minima 0, maxima all slots, work lognormal(3, 1.5), seed 1.
decision_stream("a" or "b", J): 1 % of the jobs of (a) or (b) leave, arrive or change before a decision.
section41_base(seed): 10 jobs on 100 slots, 80 % small, 75 % slack, maxima all slots.
section41_tight(seed): the same with 300 tasks in all, which cut the maxima.
section41_larger(J, seed): the base case with J jobs on 10 J slots.
objectives_instance(J): the same with weights U(0, 1), seed 1; it has what every objective needs.
step_instance(): 1,000 jobs on 10,000 slots, weights U(0, 1), 3 SLA steps a job, seed 1.
section51_base(seed): the FlowFlex paper's section 5.1 on 25 slots, times in units of the mean Q.
flows_instance(F): F flows of 20 jobs each from that generator on 25 slots, seed 1.
cluster_stream(): 20,000 jobs of log-normal map counts (mean 50, 1.5), 20 s a map, one reduce task for ten maps
    (10 s copying, 60 s), 5 a second, on slots that give load 0.7, seed 7; times vary by 30 %, so that no two
    tasks end together.
cell_network(F, T, kind): F flows of work U{1..99} in T equal cells of 25 slots, ceil(work / 25 T) long, H in
    all; earliest completions U(0, H / 5), weights U{1..10}, deadlines U(0, H / 2) later, 1 to 5 SLA steps
    U(0, H / 3) apart, seed 1.
matching_instance(F, M, G): arrival rates U(0, 1) of F classes; execution rates lognormal(0, 1) by class and
    type; M nodes, node j of type j mod G; seed 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from malleable import Cluster, ClusterJobs, Flows, Jobs, generate_cluster_jobs
from malleable.report.latency import DecisionStream, instance_a, instance_b
from malleable.workloads import section41, section51_flows

__all__ = [
    "LARGER",
    "SEEDS",
    "SIZES",
    "cell_network",
    "cluster_stream",
    "decision_stream",
    "flows_instance",
    "instance_a",
    "instance_b",
    "matching_instance",
    "objectives_instance",
    "section41_base",
    "section41_larger",
    "section41_tight",
    "section51_base",
    "step_instance",
]

SIZES = (1_000, 10_000, 100_000, 1_000_000)
"""Numbers of jobs of instances (a) and (b)."""

LARGER = (100, 1_000)
"""Numbers of jobs of the larger experiments of the FLEX paper's section 4.1."""

SEEDS = range(100)
"""Seeds of the simulations of section 4.1; `malleable reproduce flex-fig5` has the same."""


def section41_base(seed: int, *, weighted: bool = False) -> tuple[Jobs, int]:
    """Base case of the FLEX paper's section 4.1: weight 1 unless ``weighted`` (then U(0, 1))."""
    return section41(10, 100, small=0.8, slack=0.75, weighted=weighted, rng=seed), 100


def section41_tight(seed: int, *, weighted: bool = False) -> tuple[Jobs, int]:
    """The base case with 300 tasks in all, so that most maxima are far below the slots."""
    jobs = section41(10, 100, small=0.8, slack=0.75, tasks=300, weighted=weighted, rng=seed)
    return jobs, 100


def section41_larger(jobs: int, seed: int, *, weighted: bool = False) -> tuple[Jobs, int]:
    """The base case with more jobs and ten slots a job."""
    slots = 10 * jobs
    return section41(jobs, slots, small=0.8, slack=0.75, weighted=weighted, rng=seed), slots


def objectives_instance(jobs: int) -> tuple[Jobs, int]:
    """Jobs with weights, deadlines and SLA steps, for every objective there is."""
    return section41_larger(jobs, 1, weighted=True)


def decision_stream(instance: str, jobs: int) -> DecisionStream:
    """An epoch on instance "a" or "b" with methods `change` and `decide`."""
    return DecisionStream(instance, jobs)


def step_instance(seed: int = 1, *, jobs: int = 1_000, slots: int = 10_000) -> tuple[Jobs, int]:
    """For resource allocation with steps (SLA costs, tardy jobs): weights U(0, 1), 3 steps a job.

    Deadlines and step times are U(0, 100 s); a job of mean work has 100 s of it on ten slots.
    """
    return section41(jobs, slots, small=0.8, slack=0.75, sla_steps=3, rng=seed), slots


def section51_base(seed: int, *, weighted: bool = True) -> tuple[Flows, int]:
    """5 to 20 flows of 2 to 20 jobs, as figures 10 and 11 of the FlowFlex paper have them."""
    return section51_flows(seed, slots=25, weighted=weighted), 25


def flows_instance(flows: int, *, jobs: int = 20, seed: int = 1) -> tuple[Flows, int]:
    """Many flows of equally many jobs."""
    return section51_flows(seed, slots=25, flows=flows, jobs=jobs), 25


def cell_network(flows: int, cells: int, kind: str, seed: int = 1) -> dict[str, list[float]]:
    """Columns of `malleable.flow_kernels.min_cost_flow` for "completion", "tardiness" or "sla"."""
    rng = np.random.default_rng(seed)
    volume = rng.integers(1, 100, flows).astype(float)
    step = float(np.ceil(volume.sum() / 25 / cells))
    horizon = step * cells
    earliest = rng.uniform(0.0, horizon / 5, flows)
    weight = rng.integers(1, 11, flows).astype(float)
    due = earliest + rng.uniform(0.0, horizon / 2, flows)
    time = step * np.arange(cells)
    columns: dict[str, list[float]] = {
        "volume": volume.tolist(),
        "time": time.tolist(),
        "room": [25.0 * step] * cells,
        "offset": [0],
        "from_cell": [],
        "value": [],
        "slope": [],
    }

    def row(at: float, value: float, slope: float) -> None:
        cell = int(np.searchsorted(time, at))
        if cell >= cells:
            return
        if len(columns["from_cell"]) > columns["offset"][-1] and columns["from_cell"][-1] == cell:
            for field in ("from_cell", "value", "slope"):
                columns[field].pop()
        columns["from_cell"].append(cell)
        columns["value"].append(value + slope * (time[cell] - at))
        columns["slope"].append(slope)

    for j in range(flows):
        unit = weight[j] / volume[j]
        if kind == "completion":
            row(0.0, unit * earliest[j], 0.0)
            row(earliest[j], unit * earliest[j], unit)
        elif kind == "tardiness":
            row(0.0, 0.0, 0.0)
            row(due[j], 0.0, unit)
        else:
            row(0.0, 0.0, 0.0)
            at, paid = earliest[j], 0.0
            for _ in range(int(rng.integers(1, 6))):
                at += rng.uniform(0.0, horizon / 3)
                paid += unit
                row(at, paid, 0.0)
        columns["offset"].append(len(columns["from_cell"]))
    return columns


def matching_instance(
    classes: int, nodes: int, types: int, seed: int = 1
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Arrival rates, execution rates by node and types of nodes, for the adaptive scheduler."""
    generator = np.random.default_rng(seed)
    arrival = generator.random(classes)
    member = np.arange(nodes) % types
    return arrival, generator.lognormal(0.0, 1.0, (classes, types))[:, member], member


def cluster_stream() -> tuple[ClusterJobs, Cluster]:
    """About a million map and reduce tasks; simulate with ``noise=0.3, rng=7``."""
    jobs = generate_cluster_jobs(20_000, 7, gap=0.2)
    return jobs, Cluster.for_load(jobs, 0.7)
