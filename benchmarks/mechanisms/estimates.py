"""What estimates of tasks' times are worth: real traces with nothing known, and families nothing was chosen on.

The policy is `auto` with its defaults; users say nothing of times, except where a name has "said". `p` is the
exponent of a speed-up (s tasks of a job together do s^p of one), sigma a standard deviation of logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

import malleable as mb
from benchmarks.instances import hawk_jobs, traces
from benchmarks.mechanisms import Instance, instances
from benchmarks.rivals.table import SkippedError

_SLOTS = 32

Table = tuple[mb.ClusterJobs, Any, dict[str, Any]]
"""Jobs, what is said of their seconds, and options."""


def _table(
    rng: np.random.Generator,
    tasks: Any,
    seconds: list[Any],
    load: float = 0.8,
    arrival: Any = None,
    said: Any = "learn",
    speedup: float = 1.0,
    p: Any = None,
    **columns: Any,
) -> Table:
    """Jobs of maps; gaps are exponential, unless ``arrival`` says else, and give the load."""
    work = sum(float(each.sum()) for each in seconds)
    if arrival is None:
        arrival = np.cumsum(rng.exponential(size=len(tasks)))
    arrival = np.asarray(arrival) / arrival[-1] * work / (_SLOTS * load)
    for name in ("program", "user"):
        if name in columns:
            columns[name] = [f"{name}{k}" for k in columns[name].tolist()]
    if p is not None:
        columns["speedup"] = p.tolist()
    jobs = mb.ClusterJobs(tasks, [each.tolist() for each in seconds], arrival=arrival, **columns)
    options = {} if speedup == 1.0 else {"speedup": speedup}
    return jobs, said, options


def _counts(rng: np.random.Generator, jobs: int, mean: float = 25.0) -> Any:
    return np.minimum(rng.geometric(1 / mean, jobs), 250)


def _drawn(rng: np.random.Generator, mean: Any, sigma: float, tasks: Any) -> list[Any]:
    """Of each job: tasks' seconds, lognormal around its mean."""
    return [
        each * rng.lognormal(-(sigma**2) / 2, sigma, count)
        for each, count in zip(np.broadcast_to(mean, tasks.shape), tasks, strict=True)
    ]


def swapping(rng: np.random.Generator) -> Table:
    """Two programs, one ten times as long as the other, that swap after each 60 jobs."""
    program, tasks = rng.integers(2, size=240), _counts(rng, 240)
    mean = np.where((program + np.arange(240) // 60) % 2 == 0, 3.0, 30.0)
    return _table(rng, tasks, _drawn(rng, mean, 0.4, tasks), program=program)


def drifting(rng: np.random.Generator) -> Table:
    """Six programs that become slower from run to run, fifteen times in all."""
    program, tasks = rng.integers(6, size=240), _counts(rng, 240)
    mean = rng.lognormal(1.0, 1.0, 6)[program] * 15.0 ** (np.arange(240) / 240)
    return _table(rng, tasks, _drawn(rng, mean, 0.4, tasks), program=program)


def bimodal(rng: np.random.Generator) -> Table:
    """One task in ten takes twelve times as long as the others of its job."""
    tasks = _counts(rng, 240)
    base = rng.lognormal(1.0, 0.8, 240)
    seconds = [
        each * np.where(rng.random(count) < 0.1, 12.0, 1.0) * rng.uniform(0.9, 1.1, count)
        for each, count in zip(base, tasks, strict=True)
    ]
    return _table(rng, tasks, seconds)


def heavy(rng: np.random.Generator) -> Table:
    """Pareto (1.3) tasks, and Pareto (1.5) means of jobs, cut at a thousand times the least."""
    tasks = _counts(rng, 240)
    mean = np.minimum((1.0 - rng.random(240)) ** (-1 / 1.5), 1e3)
    seconds = [
        each * np.minimum((1.0 - rng.random(count)) ** (-1 / 1.3), 1e3)
        for each, count in zip(mean, tasks, strict=True)
    ]
    return _table(rng, tasks, seconds, 0.7)


def light(rng: np.random.Generator) -> Table:
    """Tasks that all take as long as those of their job; few tasks a job, and more slots than tasks."""
    tasks = rng.integers(1, 9, 400)
    return _table(rng, tasks, _drawn(rng, rng.lognormal(2.0, 1.5, 400), 0.0, tasks), 0.9)


def bursts(rng: np.random.Generator) -> Table:
    """Twelve jobs of a program come at once, twenty times; fifty programs."""
    program = np.repeat(rng.integers(50, size=20), 12)
    tasks = _counts(rng, 240)
    mean = rng.lognormal(1.5, 1.2, 50)[program]
    arrival = np.repeat(np.cumsum(rng.exponential(size=20)), 12)
    return _table(rng, tasks, _drawn(rng, mean, 0.5, tasks), 0.8, arrival=arrival, program=program)


def correlated(rng: np.random.Generator) -> Table:
    """Jobs of many tasks have long ones, and jobs of few tasks have short ones."""
    tasks = _counts(rng, 240)
    mean = 0.5 * tasks**0.8 * rng.lognormal(0.0, 0.4, 240)
    return _table(rng, tasks, _drawn(rng, mean, 0.5, tasks))


def _of_users(rng: np.random.Generator, constant: float, scatter: float) -> Table:
    user, tasks = rng.integers(30, size=240), _counts(rng, 240)
    mean = rng.lognormal(1.5, 1.0, 240)
    seconds = _drawn(rng, mean, 0.5, tasks)
    wrong = rng.normal(0.0, constant, 30)[user] + rng.normal(0.0, scatter, 240)
    said = np.stack([mean * np.exp(wrong), np.zeros(240)], axis=1)
    return _table(rng, tasks, seconds, user=user, said=said)


def users_apart(rng: np.random.Generator) -> Table:
    """Thirty users, each wrong by a factor of the own (sigma 1.2) in what is said, and by 0.3 more."""
    return _of_users(rng, 1.2, 0.3)


def users_alike(rng: np.random.Generator) -> Table:
    """Thirty users, whose statements scatter by sigma 1, the same for all."""
    return _of_users(rng, 0.0, 1.0)


def one_wave(rng: np.random.Generator) -> Table:
    """Two users in turn; jobs of 40 programs have few tasks, which all run at once."""
    program, tasks = rng.integers(40, size=300), rng.integers(1, 13, 300)
    mean = rng.lognormal(2.0, 1.5, 40)[program]
    return _table(rng, tasks, _drawn(rng, mean, 0.2, tasks), 0.9, program=program)


def slowed(rng: np.random.Generator, p: float, sigma: float) -> Table:
    """s tasks of a job do s^p of one; tasks of a job differ by sigma."""
    tasks = _counts(rng, 200)
    mean = rng.lognormal(1.0, 1.0, 200)
    return _table(rng, tasks, _drawn(rng, mean, sigma, tasks), 0.6, speedup=p)


def two_kinds(rng: np.random.Generator) -> Table:
    """Eight programs, tasks of every other of which slow each other down (p = 0.5)."""
    program, tasks = rng.integers(8, size=200), _counts(rng, 200)
    mean = rng.lognormal(1.0, 0.7, 8)[program]
    p = np.where(program % 2 == 0, 1.0, 0.5)
    seconds = _drawn(rng, mean, 0.5, tasks)
    return _table(rng, tasks, seconds, 0.6, program=program, p=p)


def growing(rng: np.random.Generator) -> Table:
    """Twenty jobs at once, s tasks of which do s^0.7; a job's later tasks are up to six times as long."""
    tasks = rng.integers(10, 80, 20)
    seconds = [
        each * 6.0 ** (np.arange(count) / count) * rng.uniform(0.8, 1.2, count)
        for each, count in zip(rng.lognormal(1.0, 0.6, 20), tasks, strict=True)
    ]
    return _table(rng, tasks, seconds, 1e6, speedup=0.7)


FAMILIES: dict[str, Callable[[np.random.Generator], Table]] = {
    each.__name__.replace("_", " "): each
    for each in (
        swapping,
        drifting,
        bimodal,
        heavy,
        light,
        bursts,
        correlated,
        one_wave,
        two_kinds,
        growing,
    )
} | {
    "users apart, said": users_apart,
    "users alike, said": users_alike,
    "slowed, p = 0.8, sigma 1": partial(slowed, p=0.8, sigma=1.0),
    "slowed, p = 0.6, sigma 0.3": partial(slowed, p=0.6, sigma=0.3),
    "slowed, p = 1, sigma 1.5": partial(slowed, p=1.0, sigma=1.5),
}


def _response(
    jobs: mb.ClusterJobs, cluster: Any, said: Any, seed: int = 1, **options: Any
) -> float:
    said = {"estimates": said} if not isinstance(said, str) else {"estimates": "learn"}
    result = mb.simulate(jobs, "auto", cluster=cluster, records=False, rng=seed, **said, **options)
    return float(result.summary["auto"]["mean_response"])


def _family(name: str, seed: int) -> float:
    jobs, said, options = FAMILIES[name](np.random.default_rng([seed, 56]))
    nodes = mb.Cluster([{"slots": 4, "count": _SLOTS // 4}])
    return _response(jobs, nodes, said, **options)


@instances("estimates", "families")
def families() -> Iterator[Instance]:
    """240 jobs or so each, on 32 slots."""
    for name in FAMILIES:
        yield Instance(f"estimates: {name}", "mean response [s]", partial(_family, name))


_TRACES = {
    "Facebook 2009": "swim-facebook/FB-2009_samples_24_times_1hr_0.tsv.gz",
    "Yahoo": "yahoo-hawk/YH1_sub.tr.gz",
    "Rumen, 59 jobs": "hadoop-rumen/folder-input-trace.json.gz",
    "Rumen, Gridmix": "hadoop-rumen/trace_3m.json.gz",
    "Google": "google2011/task_events_part-00011-of-00500.csv.gz",
    "NASA": "swf/NASA-iPSC-1993-3.1-cln.swf.gz",
}


@lru_cache(maxsize=1)
def _traced(name: str) -> mb.ClusterJobs:
    folder = traces()
    assert folder is not None
    path = folder / _TRACES[name]
    # Malleable, also where the log's own jobs were rigid.
    return hawk_jobs(path) if "hawk" in str(path) else replace(mb.read(path), width=None).tasks()


def _of_trace(name: str, p: float, load: float, seed: int) -> float:
    return _response(_traced(name), None, "learn", seed, load=load, speedup=p, failure=0.01)


@instances("estimates-traces", "traces")
def of_traces() -> Iterator[Instance]:
    """Whole traces; only the number of tasks is known."""
    if traces() is None:
        raise SkippedError("no folder of traces: MALLEABLE_TRACES names none")
    for name in _TRACES:
        short = "Rumen" in name
        for p in (1.0, 0.8, 0.5):
            for load in (0.5, 0.7, 0.9):
                yield Instance(
                    f"{name}, p = {p:g}, load {load:g}, nothing known",
                    "mean response [s]",
                    partial(_of_trace, name, p, load),
                    range(8 if short else 1),
                )
