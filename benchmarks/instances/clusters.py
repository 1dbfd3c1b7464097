"""Jobs of tasks on nodes.

Times of tasks are lognormal with mean m and sigma s as m exp(s Z - s^2 / 2). Poisson streams have the mean
gap that gives the load, by the work that was drawn. p is not part of a table: say ``speedup=p`` to the
simulation.

small_run(seed, kind): six jobs at time 0 of U{6..60} tasks each (about 200), on SMALL_SLOTS slots of
    single-slot nodes. A job's mean second is lognormal(mean 2.5, 0.4). Kinds: "even": tasks U(0.8, 1.2) of
    that; "heavy": sigma 1.5; "drift": the first half short, the second half eight times as long; "wrong":
    even, but what is said is ten times too large or too small, at random. Returns what is said, too (0:
    nothing).
batch(seed, jobs=100): the same at time 0 with tasks of sigma 0.5 and U{6..60} tasks a job, on 24 slots.
stream(seed, jobs=1000, load=0.8): geometric(1 / 33) tasks a job (at most 300), a job's mean second
    lognormal(mean 2.5, 1), tasks of sigma 0.3, Poisson, on 24 slots.
mixed_stream(seed, jobs=1000, speedups=(1.0, 0.5)): that stream at load 0.7 with ten programs. Programs of even
    number have the first p, the others the second.
two_phase(seed, sigma, jobs=900): maps geometric(0.06), at most 200, a quarter as many reduces (at least one),
    mean seconds of a map lognormal(exp(2.5), 0.6) and of a reduce lognormal(exp(3), 0.6) for each job, each
    task's times exp(sigma Z - sigma^2 / 2), 15 nodes of 4 map and 2 reduce slots, load 0.8 of the busier
    kind.
copying_world(number, jobs=300): number 0 to 89: such jobs with sigma 0, 0.5, 1, 1.5 or 2, reduces that copy 0.3
    or 3 times 12.2 s (a map's mean of all jobs), 60 + 30, 60 + 60 slots of both kinds or 90 of any, load 0.5,
    0.8 or 0.95 of the busier kind; the number is the seed.
traced_phases(name, load=0.8): jobs with maps and reduces of a real trace by its name in TRACED_PHASES, on a
    cluster with that load (`Cluster.for_load`). They need the traces' folder.
short_history(seed): U{17..46} such jobs, tasks of sigma 0.3, mean seconds of jobs of sigma 1.2, on 5 nodes.
mixed_speeds(seed, fast=4.0, jobs=400, tasks=30, load=0.8): geometric(1 / ``tasks``) tasks a job, mean seconds
    lognormal(mean 20, 0.8), tasks of sigma 0.3, eight nodes of rate 1 and eight of rate ``fast``, four slots
    each, the load of all rates.
single_tasks(jobs, seed=1): one task a job, seconds lognormal(3, 1.5), twenty programs whose means differ by
    sigma 1, on 20 slots at load 0.95.
changing_times(seed, jobs=600): ten programs, geometric(1 / 30) tasks a job, mean seconds of a program
    lognormal(mean 20, 0.8), tasks of sigma 0.3; at half of the jobs each program becomes five times slower or
    faster, at random; 40 slots at load 0.7.
program_bursts(seed, alike=1.0, jobs=300): U{2..12} jobs of a new program come at once, geometric(1 / 20)
    tasks each, mean seconds of a program lognormal(mean 10, 1), of its jobs times lognormal(mean 1,
    0.3 / ``alike``), tasks of sigma 0.3; bursts Poisson, 24 slots at load 0.7.
late_stream(seed, pools, load, jobs=300): geometric(0.05) maps a job (at most 100) of lognormal(2.5, 1) seconds
    each, the same for all of a job, and with two pools a quarter as many reduces (at least one) of such
    seconds; ten nodes of 4 slots, or of 3 map slots and 1 reduce slot; arrivals uniform, at this load of the
    busier kind; weights U{1..9}, deadlines arrival + time alone + U(0.8, 12) x E[work] / 40.
operator_week(jobs=200_000, seed=1): a week of such a table as a file: arrivals Poisson, ten maps a job in the
    mean (lognormal, sigma 1.5) of 20 s, a reduce of 60 s for each ten maps, forty users; about 0.9 of 110
    slots.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from benchmarks.instances.workflows import traces
from malleable import Cluster, ClusterJobs, generate_cluster_jobs, read

__all__ = [
    "SMALL_SLOTS",
    "TRACED_PHASES",
    "batch",
    "changing_times",
    "copying_world",
    "late_stream",
    "mixed_speeds",
    "mixed_stream",
    "operator_week",
    "program_bursts",
    "short_history",
    "single_tasks",
    "small_run",
    "stream",
    "traced_phases",
    "two_phase",
]

TRACED_PHASES = {
    "Facebook 2010, 400 jobs": "swim-facebook/FB-2010_withInputPaths_first400.tsv.gz",
    "Rumen 3m": "hadoop-rumen/trace_3m.json.gz",
    "Rumen 5m": "hadoop-rumen/trace_5m.json.gz",
    "Rumen 7m": "hadoop-rumen/trace_7m.json.gz",
    "Rumen stream": "hadoop-rumen/5m_stream_trace.json.gz",
    "Rumen folder": "hadoop-rumen/folder-input-trace.json.gz",
}

SMALL_SLOTS = 24


def _times(
    rng: np.random.Generator, mean: float, sigma: float, count: int
) -> npt.NDArray[np.float64]:
    """Lognormal with that mean."""
    return rng.lognormal(math.log(mean) - sigma**2 / 2, sigma, count)


def _arrivals(rng: np.random.Generator, count: int, span: float) -> npt.NDArray[np.float64]:
    """Poisson: ``count`` jobs in about ``span`` seconds."""
    return np.cumsum(rng.exponential(size=count)) * span / count


def _split(values: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> list[list[float]]:
    return [part.tolist() for part in np.split(values, np.cumsum(counts)[:-1])]


def small_run(
    seed: int, kind: str = "even"
) -> tuple[ClusterJobs, Cluster, npt.NDArray[np.float64]]:
    """Six jobs at once, and what is said of their tasks' seconds, shape (6, 2)."""
    rng = np.random.default_rng(seed)
    tasks = rng.integers(6, 61, 6)
    mean = _times(rng, 2.5, 0.4, 6)
    wrong = 10.0 ** rng.choice([-1.0, 1.0], 6)
    said = np.zeros((6, 2))
    seconds = []
    for count, each, factor in zip(tasks.tolist(), mean.tolist(), wrong.tolist(), strict=True):
        if kind == "heavy":
            own = _times(rng, each, 1.5, count)
        elif kind == "drift":
            own = each * np.where(np.arange(count) < count // 2, 1.0, 8.0) / 4.5
        else:
            own = each * rng.uniform(0.8, 1.2, count)
        if kind == "wrong":
            said[len(seconds), 0] = each * factor
        seconds.append(own.tolist())
    jobs = ClusterJobs(tasks, seconds)
    return jobs, Cluster([{"slots": 1, "count": SMALL_SLOTS}]), said


def batch(seed: int, jobs: int = 100) -> tuple[ClusterJobs, Cluster]:
    """Many jobs at once."""
    rng = np.random.default_rng(seed)
    tasks = rng.integers(6, 61, jobs)
    mean = _times(rng, 2.5, 0.4, jobs)
    seconds = _split(np.repeat(mean, tasks) * _times(rng, 1.0, 0.5, int(tasks.sum())), tasks)
    return ClusterJobs(tasks, seconds), Cluster([{"slots": 1, "count": SMALL_SLOTS}])


def _stream(seed: int, jobs: int, load: float) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    tasks = np.minimum(rng.geometric(1 / 33, jobs), 300)
    times = np.repeat(_times(rng, 2.5, 1.0, jobs), tasks) * _times(rng, 1.0, 0.3, int(tasks.sum()))
    arrival = _arrivals(rng, jobs, times.sum() / (SMALL_SLOTS * load))
    return {"maps": tasks, "map_seconds": _split(times, tasks), "arrival": arrival}


def stream(seed: int, jobs: int = 1000, load: float = 0.8) -> tuple[ClusterJobs, Cluster]:
    """Jobs that come one after the other."""
    table = ClusterJobs(**_stream(seed, jobs, load))  # type: ignore[arg-type]
    return table, Cluster([{"slots": 1, "count": SMALL_SLOTS}])


def mixed_stream(
    seed: int, jobs: int = 1000, speedups: tuple[float, float] = (1.0, 0.5)
) -> tuple[ClusterJobs, Cluster]:
    """The same with programs half of which speed up in full and half by the root."""
    program = np.random.default_rng([seed, 1]).integers(10, size=jobs).tolist()
    columns = _stream(seed, jobs, 0.7)
    table = ClusterJobs(
        **columns,  # type: ignore[arg-type]
        program=[f"program{k}" for k in program],
        speedup=[speedups[k % 2] for k in program],
    )
    return table, Cluster([{"slots": 1, "count": SMALL_SLOTS}])


def _two_phase(
    rng: np.random.Generator,
    jobs: int,
    sigma: float,
    unlike: float,
    nodes: int,
    per_node: tuple[int, int] = (4, 2),
    load: float = 0.8,
    copying: float = 0.0,
) -> tuple[ClusterJobs, Cluster]:
    """Slots of both kinds on a node; no reduce slots: all are of any kind."""
    maps = np.minimum(rng.geometric(0.06, jobs), 200)
    reduces = np.maximum(maps // 4, 1)
    each = rng.lognormal(2.5, unlike, jobs), rng.lognormal(3.0, unlike, jobs)
    times = [
        np.repeat(mean, count) * _times(rng, 1.0, sigma, int(count.sum()))
        for mean, count in zip(each, (maps, reduces), strict=True)
    ]
    busy = times[0].sum(), times[1].sum() + copying * reduces.sum()
    if per_node[1]:
        span = max(own / (nodes * slots) for own, slots in zip(busy, per_node, strict=True)) / load
    else:
        span = sum(busy) / (nodes * per_node[0] * load)
    table = ClusterJobs(
        maps,
        _split(times[0], maps),
        reduces,
        _split(times[1], reduces),
        shuffle=copying,
        arrival=_arrivals(rng, jobs, span),
    )
    kinds = {"map_slots": per_node[0], "reduce_slots": per_node[1]}
    return table, Cluster([(kinds if per_node[1] else {"slots": per_node[0]}) | {"count": nodes}])


def two_phase(seed: int, sigma: float, jobs: int = 900) -> tuple[ClusterJobs, Cluster]:
    """Map and reduce jobs whose tasks differ within each job."""
    return _two_phase(np.random.default_rng(seed), jobs, sigma, 0.6, 15)


def copying_world(number: int, jobs: int = 300) -> tuple[ClusterJobs, Cluster]:
    """Reduce tasks that copy, where starting them early may pay."""
    rest, load = divmod(number, 3)
    rest, slots = divmod(rest, 3)
    sigma, copying = divmod(rest, 2)
    return _two_phase(
        np.random.default_rng([number, 3]),
        jobs,
        0.5 * sigma,
        0.6,
        15,
        ((4, 2), (4, 4), (6, 0))[slots],
        (0.5, 0.8, 0.95)[load],
        (0.3, 3.0)[copying] * math.exp(2.5),
    )


@lru_cache(maxsize=1)
def late_stream(seed: int, pools: int, load: float, jobs: int = 300) -> tuple[ClusterJobs, Cluster]:
    """Jobs with weights and deadlines; with two pools they have reduces, with slots of their own."""
    rng = np.random.default_rng([seed, 5])
    maps = np.minimum(rng.geometric(0.05, jobs), 100)
    reduces = np.maximum(maps // 4, 1) * (pools - 1)
    counts, slots = np.stack([maps, reduces]), np.array([30, 10] if pools == 2 else [40, 40])
    each = rng.lognormal(2.5, 1.0, (2, jobs))
    busy = (counts * each).sum(axis=1) / slots
    arrival = np.sort(rng.uniform(0.0, busy.max() / load, jobs))
    alone = (each * np.ceil(counts / slots[:, None])).sum(axis=0)
    mean = (counts * each).sum() / jobs / 40
    times = [_split(np.repeat(*own), own[1]) for own in zip(each, counts, strict=True)]
    table = ClusterJobs(
        maps,
        times[0],
        reduces=reduces,
        reduce_seconds=times[1],
        arrival=arrival,
        weight=rng.integers(1, 10, jobs),
        deadline=arrival + alone + rng.uniform(0.8, 12.0, jobs) * mean,
    )
    node = {"map_slots": 3, "reduce_slots": 1} if pools == 2 else {"slots": 4}
    return table, Cluster([{**node, "count": 10}])


def _traced(name: str) -> ClusterJobs:
    folder = traces()
    assert folder is not None, "no folder of traces"
    return read(folder / TRACED_PHASES[name]).tasks()


def traced_phases(name: str, load: float = 0.8) -> tuple[ClusterJobs, Cluster]:
    """See the module."""
    jobs = _traced(name)
    return jobs, Cluster.for_load(jobs, load)


def short_history(seed: int) -> tuple[ClusterJobs, Cluster]:
    """So few jobs that little can be learnt from those before."""
    rng = np.random.default_rng([seed, 2])
    return _two_phase(rng, int(rng.integers(17, 47)), 0.3, 1.2, 5)


def mixed_speeds(
    seed: int, fast: float = 4.0, jobs: int = 400, tasks: int = 30, load: float = 0.8
) -> tuple[ClusterJobs, Cluster]:
    """Half of the nodes are faster; ``fast=1``: none is."""
    rng = np.random.default_rng(seed)
    count = np.minimum(rng.geometric(1 / tasks, jobs), 300)
    times = np.repeat(_times(rng, 20.0, 0.8, jobs), count) * _times(rng, 1.0, 0.3, int(count.sum()))
    arrival = _arrivals(rng, jobs, times.sum() / (32 * (1 + fast) * load))
    nodes = [{"slots": 4, "rate": rate, "count": 8} for rate in (1.0, fast)]
    return ClusterJobs(count, _split(times, count), arrival=arrival), Cluster(nodes)


def single_tasks(jobs: int, seed: int = 1) -> tuple[ClusterJobs, Cluster]:
    """Nothing to share out: the order is all."""
    rng = np.random.default_rng(seed)
    program = rng.integers(20, size=jobs)
    seconds = (
        rng.lognormal(3.0, math.sqrt(1.5**2 - 1.0), jobs) * rng.lognormal(0.0, 1.0, 20)[program]
    )
    arrival = _arrivals(rng, jobs, seconds.sum() / (20 * 0.95))
    names = [f"program{k}" for k in program.tolist()]
    table = ClusterJobs(np.ones(jobs, dtype=np.int64), seconds, arrival=arrival, program=names)
    return table, Cluster([{"slots": 10, "count": 2}])


def changing_times(seed: int, jobs: int = 600) -> tuple[ClusterJobs, Cluster]:
    """What was learnt of programs is wrong from the middle on."""
    rng = np.random.default_rng(seed)
    program = rng.integers(10, size=jobs)
    tasks = np.minimum(rng.geometric(1 / 30, jobs), 300)
    mean = _times(rng, 20.0, 0.8, 10)
    later = mean * 5.0 ** rng.choice([-1.0, 1.0], 10)
    each = np.where(np.arange(jobs) < jobs // 2, mean[program], later[program])
    times = np.repeat(each, tasks) * _times(rng, 1.0, 0.3, int(tasks.sum()))
    table = ClusterJobs(
        tasks,
        _split(times, tasks),
        arrival=_arrivals(rng, jobs, times.sum() / (40 * 0.7)),
        program=[f"program{k}" for k in program.tolist()],
    )
    return table, Cluster([{"slots": 4, "count": 10}])


def program_bursts(
    seed: int, alike: float = 1.0, jobs: int = 300
) -> tuple[ClusterJobs, Cluster, npt.NDArray[np.int64]]:
    """Bursts of jobs of new programs; and the program of each job."""
    rng = np.random.default_rng(seed)
    program = np.repeat(np.arange(jobs), rng.integers(2, 13, jobs))[:jobs]
    tasks = np.minimum(rng.geometric(1 / 20, jobs), 200)
    mean = _times(rng, 10.0, 1.0, jobs)[program] * _times(rng, 1.0, 0.3 / alike, jobs)
    times = np.repeat(mean, tasks) * _times(rng, 1.0, 0.3, int(tasks.sum()))
    bursts = program[-1] + 1
    arrival = _arrivals(rng, bursts, times.sum() / (SMALL_SLOTS * 0.7))[program]
    names = [f"program{k}" for k in program.tolist()]
    table = ClusterJobs(tasks, _split(times, tasks), arrival=arrival, program=names)
    return table, Cluster([{"slots": 1, "count": SMALL_SLOTS}]), program


def operator_week(jobs: int = 200_000, seed: int = 1) -> str:
    """A table of jobs as its file's text (CSV), what `malleable report` is given."""
    week = 7 * 86400.0
    table = generate_cluster_jobs(
        jobs, seed, gap=week / jobs, mean_maps=10.0, shuffle=0.0, users=40
    )
    columns = {
        "user": table.user,
        "arrival": np.round(table.arrival, 3).tolist(),
        "maps": table.maps.tolist(),
        "map_seconds": [20.0] * jobs,
        "reduces": table.reduces.tolist(),
        "reduce_seconds": [60.0] * jobs,
    }
    rows = [columns, *zip(*columns.values(), strict=True)]
    return "".join(",".join(map(str, row)) + "\n" for row in rows)
