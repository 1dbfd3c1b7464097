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
"""

from __future__ import annotations

from malleable import Jobs
from malleable.report.latency import DecisionStream, instance_a, instance_b
from malleable.workloads import section41

__all__ = [
    "LARGER",
    "SEEDS",
    "SIZES",
    "decision_stream",
    "instance_a",
    "instance_b",
    "objectives_instance",
    "section41_base",
    "section41_larger",
    "section41_tight",
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
