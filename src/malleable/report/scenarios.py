"""The simulations of a page, independent of each other, in threads: policies at today's load, FAIR with all its
settings, loads from 0.5 to 1.1 by the rate of arrivals, and rigid jobs of which a share is malleable."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

from malleable.cluster.nodes import Cluster
from malleable.cluster.table import ClusterJobs
from malleable.report.study import Study, at_times, reshaped
from malleable.report.units import Schedule, Units, metrics
from malleable.report.words import NAMES
from malleable.simulation import FAIR, is_fair, other_fairs, own_options, simulate

LOADS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1)
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of malleable jobs

Key = tuple[Any, ...]  # ("base", policy), ("load", load, policy) or ("share", share)
Tell = Callable[[int, int], None]  # called with the number of simulated jobs, and of all


class Scenario(NamedTuple):
    """A simulation of the page, by its ``key``; ``units``: jobs as the log has them; ``whole``: its schedule
    is kept, too."""

    key: Key
    jobs: ClusterJobs
    units: Units
    policy: str
    whole: bool = False


class Found(NamedTuple):
    """Results of a simulation: figures, means of slots over time, and its schedule if kept."""

    metrics: dict[str, float]
    series: Mapping[str, Any]
    schedule: Schedule | None
    complete: bool


def fairs(jobs: ClusterJobs, cluster: Cluster, policies: Sequence[str]) -> list[str]:
    """FAIR as it is among the policies, and its other settings if jobs have both phases."""
    own = [name for name in policies if is_fair(name)]
    return own + other_fairs(jobs, [*policies, "fifo"], {"cluster": cluster}) if own else []


def base_scenarios(study: Study, policies: Sequence[str]) -> list[Scenario]:
    # These policies at today's load.
    names = dict.fromkeys([*policies, *fairs(study.jobs, study.cluster, policies)])
    jobs, units = study.jobs, study.units
    return [Scenario(("base", name), jobs, units, name, whole=True) for name in names]


def share_scenarios(study: Study, shares: Sequence[float], seed: int) -> list[Scenario]:
    # Policy ``auto``, if a share of the jobs (drawn at random) were malleable.
    jobs = {share: reshaped(study.jobs, False, share, seed) for share in shares}
    return [Scenario(("share", share), own, study.units, "auto") for share, own in jobs.items()]


def load_scenarios(study: Study, policies: Sequence[str], loads: Sequence[float]) -> list[Scenario]:
    """The same jobs and cluster with arrivals that are closer or farther apart."""
    found = []
    for load in loads:
        jobs, units, pace = study.jobs, study.units, study.load / load
        if pace != 1.0:
            first = float(jobs.arrival.min(initial=0.0))
            arrival = first + (units.arrival - first) * pace
            due = units.deadline + (arrival - units.arrival)
            units = replace(units, arrival=arrival, deadline=due)
            jobs = at_times(jobs, first + (jobs.arrival - first) * pace)
        found += [Scenario(("load", load, name), jobs, units, name) for name in policies]
    return found


def _sim(of: Scenario) -> Key:
    # What a simulation depends on.
    return id(of.jobs), of.policy


def run_all(
    scenarios: Sequence[Scenario],
    cluster: Cluster,
    *,
    seed: int = 0,
    workers: int = 1,
    progress: Tell | None = None,
) -> tuple[dict[Key, Found], bool]:
    """Run all scenarios, equal ones once; False after Ctrl-C, with the scenarios that had ended. Raises as
    `malleable.simulate`."""
    stop = threading.Event()
    alike: dict[Key, Scenario] = {}
    for each in scenarios:
        known = alike.setdefault(_sim(each), each)
        alike[_sim(each)] = known._replace(whole=known.whole or each.whole)
    runs = list(alike.values())
    done = dict.fromkeys(range(len(runs)), 0)
    total = sum(len(each.jobs) for each in runs)

    def one(k: int) -> Found:
        def tell(entered: int, _: int) -> None:
            if stop.is_set():
                raise KeyboardInterrupt
            done[k] = entered
            if progress is not None:
                progress(sum(done.values()), total)

        return _run(runs[k], cluster, seed, tell)

    found: dict[Key, Found] = {}
    with ThreadPoolExecutor(max(1, workers)) as pool:
        futures = {key: pool.submit(one, k) for k, key in enumerate(alike)}
        try:
            for each in scenarios:
                own = futures[_sim(each)].result()
                if not own.complete:
                    raise KeyboardInterrupt
                found[each.key] = own
        except BaseException as error:
            stop.set()
            for future in futures.values():
                future.cancel()
            if not isinstance(error, KeyboardInterrupt):
                raise
            return found, False
    return found, True


def _run(asked: Scenario, cluster: Cluster, seed: int, tell: Tell) -> Found:
    result = simulate(asked.jobs, asked.policy, cluster=cluster, progress=tell, rng=seed)
    records = result.records or {}
    schedule = asked.units.schedule(
        records["job_id"], records["starting_time"], records["finish_time"]
    )
    figures = metrics(asked.units, schedule)
    (series,) = (result.series or {asked.policy: {}}).values()
    return Found(figures, series, schedule if asked.whole else None, result.complete)


def label(policy: str) -> str:
    """``Backfill (EASY by wfp3)``: a name for people, and the policy's own."""
    base, own = own_options(policy)
    if own.pop("estimates", None):
        return f"{NAMES[base]}, sizes unknown ({base})"
    told = () if base == FAIR else map(str, own.values())
    shown = " by ".join([base if base == "auto" else base.upper(), *told])
    return f"{NAMES[base]} ({shown})" if base in NAMES else shown
