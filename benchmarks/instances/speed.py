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
KindStream(J, which, aggregate, own): an epoch with objectives_instance(J); penalties all of one kind, or of the
    caller's function that copies it (own), or mixed: in turns response, stretch, tardiness and SLA; steady:
    response, stretch and lateness. A second passes and 1 % of the jobs change before a decision.
step_instance(): 1,000 jobs on 10,000 slots, weights U(0, 1), 3 SLA steps a job, seed 1.
section51_base(seed): section 5.1 of Nagarajan et al. 2013 (FlowFlex) on 25 slots, times in units of the mean Q.
flows_instance(F): F flows of 20 jobs each from that generator on 25 slots, seed 1.
flow_epoch_instance(F): the same, drawn for F / 2 slots and on as many.
cluster_stream(): 20,000 jobs of log-normal map counts (mean 50, 1.5), 20 s a map, one reduce task for ten maps
    (10 s copying, 60 s), 5 a second, on slots that give load 0.7, seed 7; times vary by 30 %, so that no
    two tasks end together.
cluster_overload(): 4,000 such jobs, one in 1.5 s, on 60 nodes of 5 map and 2 reduce slots, seed 3: hundreds
    wait.
shortest_first(seed, generic): 800 jobs of log-normal map counts (mean 50, 1), three reduce tasks for ten maps,
    20 s apart; a job's map tasks take lognormal(mean 20 s, 1), its reduce tasks three times another such
    draw and 10 s copying; on map and reduce or on generic slots that give load 0.9.
cluster_flow_stream(): 60 flows of five map and reduce jobs each, 20 s apart, on 30 generic slots, seed 2.
cluster_section51(): 20 flows of that section's generator without its scaling, as map jobs of as many tasks as
    they have slots at most, on 25 generic slots, seed 1.
m_m_1(J, seed): J jobs with map work Exp(1) and nothing to shuffle, Poisson arrivals of M_M_1's load.
TandemStream(policy, J, most): a TandemEpoch with J jobs, both sizes lognormal(0, 1.5), 10,000 slots a
    station, at most ``most`` a job; 1 % of the jobs leave and as many come, and 1 % change, seed 1.
slotted_cluster(): section VII of Zheng et al. 2013 (ASRPT), Exp(5) map and Exp(40) reduce work, on 10,000
    machines with 200 arrivals a step for 5,000 steps, seed 1.
slotted_loop(J, policy): a SlottedEpoch on 10,000 machines with J live jobs of U{1..9} map tasks and U{1..80}
    units of reduce work; 200 more arrive every step; seed 1.
busy_scheduler(policy): a Scheduler with 10,000 jobs of U{1000..2000} map tasks of U(1, 100) s, 20 of each
    running, on 2,000 nodes of 100 generic slots.
matching_instance(F, M, G): arrival rates U(0, 1) of F classes; execution rates lognormal(0, 1) by class and
    type; M nodes, node j of type j mod G; seed 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from malleable import (
    Cluster,
    ClusterJobs,
    Decision,
    Epoch,
    Flows,
    Jobs,
    MapReduceJobs,
    MapShuffleJobs,
    Scheduler,
    SlottedEpoch,
    TandemEpoch,
    generate_cluster_jobs,
)
from malleable.cluster.table import cluster_flows
from malleable.flows.generate import section51_flows
from malleable.jobs.generate import bimodal_jobs
from malleable.slotted.epoch import SlottedDecision
from malleable.slotted.generate import section7
from malleable.tandem.epoch import TandemDecision
from malleable.view.latency import DecisionStream, instance_a, instance_b

__all__ = [
    "KINDS_IN_TURN",
    "LARGER",
    "M_M_1",
    "SEEDS",
    "SIZES",
    "KindStream",
    "TandemStream",
    "busy_scheduler",
    "cluster_flow_stream",
    "cluster_overload",
    "cluster_section51",
    "cluster_stream",
    "curved_instance",
    "decision_stream",
    "flow_epoch_instance",
    "flows_instance",
    "instance_a",
    "instance_b",
    "m_m_1",
    "matching_instance",
    "objectives_instance",
    "own_penalty",
    "section41_base",
    "section41_larger",
    "section41_tight",
    "section51_base",
    "shortest_first",
    "slotted_cluster",
    "slotted_loop",
    "step_instance",
]

SIZES = (1_000, 10_000, 100_000, 1_000_000)
"""Numbers of jobs of instances (a) and (b)."""

LARGER = (100, 1_000)
"""Numbers of jobs of the larger experiments of section 4.1 of Wolf et al. 2010 (FLEX)."""

SEEDS = range(100)
"""Seeds of the simulations of section 4.1; `malleable reproduce flex-fig5` has the same."""

M_M_1 = (0.7, 1)
"""Load and seed of the comparison with other simulators."""


def m_m_1(jobs: int, seed: int) -> MapShuffleJobs:
    """A lone map station: exponential sizes, Poisson arrivals."""
    rng = np.random.default_rng(seed)
    arrival = np.cumsum(rng.exponential(1 / M_M_1[0], jobs))
    return MapShuffleJobs(rng.exponential(size=jobs), 0.0, arrival=arrival)


KINDS_IN_TURN = {
    "mixed": ("response", "stretch", "tardiness", "sla"),
    "steady": ("response", "stretch", "lateness"),
}


def own_penalty(kind: str, table: Jobs) -> Callable[[int, float], float]:
    """A kind of penalty as the caller's function of (row of the table, completion)."""
    weight, due, arrival, size = table.weight, table.deadline, table.arrival, table.size
    offset, time, penalty = table.sla_offset, table.sla_time, table.sla_penalty

    def response(job: int, completion: float) -> float:
        return weight[job] * (completion - arrival[job])

    def stretch(job: int, completion: float) -> float:
        return weight[job] / size[job] * (completion - arrival[job])

    def lateness(job: int, completion: float) -> float:
        return weight[job] * (completion - due[job])

    def tardiness(job: int, completion: float) -> float:
        return weight[job] * max(0.0, completion - due[job])

    def tardy(job: int, completion: float) -> float:
        return weight[job] if completion > due[job] + 1e-9 * max(1.0, abs(due[job])) else 0.0

    def sla(job: int, completion: float) -> float:
        paid = 0.0
        for step in range(offset[job], offset[job + 1]):
            if completion > time[step] + 1e-9 * max(1.0, abs(time[step])):
                paid = penalty[step]
        return weight[job] * paid

    functions = (response, stretch, lateness, tardiness, tardy, sla)
    return {each.__name__: each for each in functions}[kind]


class KindStream:
    """An epoch whose jobs have kinds of penalties, with methods `change` and `decide`.

    ``own``: the caller's function takes the kind's place.
    """

    def __init__(self, jobs: int, which: str, aggregate: str = "sum", own: bool = False) -> None:
        table, slots = objectives_instance(jobs)
        kinds = ("custom",) if own else KINDS_IN_TURN.get(which, (which,))
        penalty = own_penalty(which, table) if own else None
        self.epoch = Epoch(slots, f"{aggregate}:response", penalty=penalty)
        each = [kinds[row % len(kinds)] for row in range(jobs)]
        self._ids = self.epoch.add(table, kind=each)
        self._work = table.work.copy()
        self._rng = np.random.default_rng(1)
        self._now = 0.0
        self.epoch.decide(self._now)

    def change(self) -> None:
        """Some of the work of 1 % of the jobs is done."""
        self._now += 1.0
        few = self._rng.choice(len(self._ids), max(1, len(self._ids) // 100), replace=False)
        self._work[few] *= self._rng.uniform(0.5, 1.0, len(few))
        self.epoch.update(self._ids[few], work=self._work[few])

    def decide(self) -> Decision:
        """The decision now."""
        return self.epoch.decide(self._now)


class TandemStream:
    """An epoch of overlapping phases with methods `change` and `decide`."""

    def __init__(self, policy: str, jobs: int, most: int | None, seed: int = 1) -> None:
        self.slots = 10_000
        self.epoch = TandemEpoch((self.slots, self.slots), policy)
        self._rng = np.random.default_rng(seed)
        self._most = most
        self._few = max(1, jobs // 100)
        self._ids = self._add(jobs)

    def _add(self, count: int) -> np.ndarray:
        sizes = self._rng.lognormal(0.0, 1.5, (2, count))
        return self.epoch.add(*sizes, max_map_slots=self._most, max_shuffle_slots=self._most)

    def change(self) -> None:
        """The oldest leave, others come, and of some others half of the map phase is done."""
        self.epoch.remove(self._ids[: self._few])
        self._ids = np.concatenate([self._ids[self._few :], self._add(self._few)])
        chosen = self._rng.choice(self._ids, self._few, replace=False)
        left = self._rng.lognormal(0.0, 1.5, (2, self._few))
        self.epoch.update(chosen, map=left[0], shuffle=left[1], ready=left[1] / 2)

    def decide(self) -> TandemDecision:
        """The decision now."""
        return self.epoch.decide(0.0)


def section41_base(seed: int, *, weighted: bool = False) -> tuple[Jobs, int]:
    """Base case of section 4.1 of Wolf et al. 2010 (FLEX): weight 1 unless ``weighted`` (then U(0, 1))."""
    return bimodal_jobs(10, 100, small=0.8, slack=0.75, weighted=weighted, rng=seed), 100


def section41_tight(seed: int, *, weighted: bool = False) -> tuple[Jobs, int]:
    """The base case with 300 tasks in all, so that most maxima are far below the slots."""
    jobs = bimodal_jobs(10, 100, small=0.8, slack=0.75, tasks=300, weighted=weighted, rng=seed)
    return jobs, 100


def section41_larger(jobs: int, seed: int, *, weighted: bool = False) -> tuple[Jobs, int]:
    """The base case with more jobs and ten slots a job."""
    slots = 10 * jobs
    return bimodal_jobs(jobs, slots, small=0.8, slack=0.75, weighted=weighted, rng=seed), slots


def objectives_instance(jobs: int) -> tuple[Jobs, int]:
    """Jobs with weights, deadlines and SLA steps, for every objective there is."""
    return section41_larger(jobs, 1, weighted=True)


def curved_instance(jobs: int, p: float, seed: int = 1) -> tuple[Jobs, int]:
    """Jobs of log-normal work (mean log 3, sigma 1.5) whose speed-up is s^p, on 100 slots.

    Maxima U{1..100}; deadlines U(0.2, 2) of the time that all work takes where all run side by side.
    """
    rng, slots = np.random.default_rng(seed), 100
    work = rng.lognormal(3.0, 1.5, jobs)
    due = rng.uniform(0.2, 2.0, jobs) * work.sum() / slots**p / jobs ** (1 - p)
    return Jobs(work, max_slots=rng.integers(1, slots + 1, jobs), deadline=due, speedup=p), slots


def decision_stream(instance: str, jobs: int) -> DecisionStream:
    """An epoch on instance "a" or "b" with methods `change` and `decide`."""
    return DecisionStream(instance, jobs)


def step_instance(seed: int = 1, *, jobs: int = 1_000, slots: int = 10_000) -> tuple[Jobs, int]:
    """For resource allocation with steps (SLA costs, tardy jobs): weights U(0, 1), 3 steps a job.

    Deadlines and step times are U(0, 100 s); a job of mean work has 100 s of it on ten slots.
    """
    return bimodal_jobs(jobs, slots, small=0.8, slack=0.75, rng=seed), slots


def section51_base(seed: int, *, weighted: bool = True) -> tuple[Flows, int]:
    """5 to 20 flows of 2 to 20 jobs, as figures 10 and 11 of Nagarajan et al. 2013 (FlowFlex) have them."""
    return section51_flows(seed, slots=25, weighted=weighted), 25


def flows_instance(flows: int, *, jobs: int = 20, seed: int = 1) -> tuple[Flows, int]:
    """Many flows of equally many jobs."""
    return section51_flows(seed, slots=25, flows=flows, jobs=jobs), 25


def flow_epoch_instance(flows: int) -> tuple[Flows, int]:
    """Flows of 20 jobs, two for every slot, for the epoch object."""
    slots = flows // 2
    return section51_flows(1, flows=flows, jobs=20, slots=slots), slots


def slotted_cluster() -> tuple[MapReduceJobs, int]:
    """A million jobs on 10,000 machines at load 0.9."""
    return section7("exp-large", steps=5_000, rate=200.0, rng=1), 10_000


class SlottedLoop:
    """Keeps what a scheduler knows of its jobs: waiting map tasks, and reduce units left."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(1)
        self.now = 0.0
        self.decision: SlottedDecision | None = None
        self.row: dict[int, list[int]] = {}

    def drawn(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Map tasks and reduce work of new jobs."""
        work = self.rng.integers(1, 80, count, endpoint=True)
        return self.rng.integers(1, 9, count, endpoint=True), work.astype(np.float64)

    def arrivals(self) -> tuple[float, np.ndarray, np.ndarray]:
        """The next slot and who comes in it."""
        self.now += 1.0
        return (self.now, *self.drawn(200))

    def admit(self, ids: np.ndarray, maps: np.ndarray, work: np.ndarray) -> None:
        """Remember new jobs."""
        self.row.update(
            zip(
                ids.tolist(), map(list, zip(maps.tolist(), work.tolist(), strict=True)), strict=True
            )
        )

    def follow(self, epoch: SlottedEpoch) -> None:
        """Do what was decided, by the unit, and tell the epoch."""
        assert self.decision is not None
        found = self.decision
        columns = (column.tolist() for column in (found.ids, found.maps, found.reduces))
        left, done = [], []
        for name, maps, reduces in zip(*columns, strict=True):
            if maps + reduces == 0:
                continue
            row = self.row[name]
            row[0] -= maps
            row[1] -= reduces
            if row[0] + row[1] == 0:
                done.append(name)
                del self.row[name]
            else:
                left.append(name)
        epoch.finish(done)
        rows = [self.row[name] for name in left]
        epoch.update(
            left,
            maps=[maps for maps, _ in rows],
            reduces=[0 if maps else int(work) for maps, work in rows],
            map_left=[float(maps) for maps, _ in rows],
            reduce_left=[work for _, work in rows],
        )
        self.decision = None


def slotted_loop(jobs: int, policy: str) -> tuple[SlottedEpoch, SlottedLoop]:
    """An epoch with so many live jobs, and what keeps it going slot by slot."""
    epoch, loop = SlottedEpoch(10_000, policy), SlottedLoop()
    maps, work = loop.drawn(jobs)
    loop.admit(epoch.add(maps, work), maps, work)
    return epoch, loop


def cluster_stream() -> tuple[ClusterJobs, Cluster]:
    """About a million map and reduce tasks; simulate with ``noise=0.3, rng=7``."""
    jobs = generate_cluster_jobs(20_000, 7, gap=0.2)
    return jobs, Cluster.for_load(jobs, 0.7)


def cluster_overload() -> tuple[ClusterJobs, Cluster]:
    """Jobs come faster than 300 map slots can serve them: hundreds wait; simulate with ``speedup=0.5``."""
    jobs = generate_cluster_jobs(4_000, 3, gap=1.5)
    return jobs, Cluster([{"map_slots": 5, "reduce_slots": 2, "count": 60}])


def shortest_first(seed: int, generic: bool) -> tuple[ClusterJobs, Cluster]:
    """Jobs as unlike in their tasks' times as in their number, so that the order is what counts."""
    rng = np.random.default_rng(seed)
    drawn = generate_cluster_jobs(800, rng, gap=20.0, spread=1.0, reduce_share=0.3)
    seconds = rng.lognormal(np.log(20.0) - 0.5, 1.0, (2, len(drawn)))
    jobs = ClusterJobs(
        drawn.maps,
        seconds[0],
        drawn.reduces,
        3.0 * seconds[1],
        arrival=drawn.arrival,
        shuffle=drawn.shuffle,
    )
    return jobs, Cluster.for_load(jobs, 0.9, generic=generic)


def cluster_flow_stream() -> tuple[ClusterJobs, Cluster]:
    """60 flows of five map and reduce jobs each, one after the other, on 30 generic slots."""
    rng = np.random.default_rng(2)
    count = 300
    jobs = ClusterJobs(
        rng.integers(1, 30, count),
        5,
        rng.integers(0, 5, count),
        8,
        arrival=np.repeat(np.arange(count // 5) * 20.0, 5),
        after=[[] if k % 5 == 0 else [k - 1] for k in range(count)],
        flow=[str(k // 5) for k in range(count)],
    )
    return jobs, Cluster([{"slots": 5, "count": 6}])


def cluster_section51() -> tuple[ClusterJobs, Cluster]:
    """Flows of section 5.1 of Nagarajan et al. 2013 (FlowFlex) as tasks; simulate with ``epoch=1``."""
    flows = section51_flows(1, slots=25, flows=20, scaled=False)
    return cluster_flows(flows), Cluster([{"slots": 25}])


def matching_instance(
    classes: int, nodes: int, types: int, seed: int = 1
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Arrival rates, execution rates by node and types of nodes, for the adaptive scheduler."""
    generator = np.random.default_rng(seed)
    arrival = generator.random(classes)
    member = np.arange(nodes) % types
    return arrival, generator.lognormal(0.0, 1.0, (classes, types))[:, member], member


def busy_scheduler(
    policy: str, jobs: int = 10_000, running: int = 200_000
) -> tuple[Scheduler, npt.NDArray[np.int64]]:
    """Jobs that wait for work of any size, with as many tasks running as there are slots."""
    cluster = Cluster([{"count": 2000, "slots": running // 2000}])
    scheduler = Scheduler(cluster, policy)
    rng = np.random.default_rng(jobs)
    table = ClusterJobs(
        rng.integers(1_000, 2_000, jobs),
        rng.uniform(1, 100, jobs),
        arrival=np.arange(float(jobs)) / jobs,
    )
    ids = scheduler.add(table, 1.0)
    scheduler.started(ids, count=running // jobs)
    scheduler.decide(1.0)
    return scheduler, ids
