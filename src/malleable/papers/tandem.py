"""Figures 2 to 4, 7 and 9 of Lin et al. 2013 ("the paper"; sections 2.1, 2.2, 5.2, 5.3), beside its printed
values.

Jobs pass two stations, map and shuffle (a tandem queue), in which a job's phases may overlap. Figures 2 and 3:
the paper's three jobs, with and without overlap. Figure 4: both models; the Hadoop cluster's curves are in the
picture only. Figure 7: mean response over the lower bound at several loads, on jobs of a trace, with their own
sizes and with the cube root of their ratios of sizes. Figure 9: mean slowdown by size in 400 buckets, on
generated jobs at loads 0.75 and 0.90. For sentences in words the criterion is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from malleable.arrays import Floats
from malleable.papers.claim import Claim, observed
from malleable.papers.figure import Axes, Figure, Panel, Run, Series, picture
from malleable.replications import replicate
from malleable.simulation import simulate
from malleable.tandem.simulate import BUCKET_WIDTH, BUCKETS, capacities_at
from malleable.tandem.table import MapShuffleJobs, MapShuffleStream
from malleable.view.text import counted

# Mean responses [s] of figure 9, by load and policy.
PRINTED = {
    0.75: {"k-lps": 6.50, "max-srpt": 3.32, "split-srpt": 3.55},
    0.90: {"k-lps": 16.28, "max-srpt": 5.58, "split-srpt": 5.66},
}

_POLICIES = ("k-lps", "max-srpt", "split-srpt", "two-srpt")
_LOADS = (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75)
_FEWEST, _DRAWN = 1000, 30  # least jobs in a bucket: for claims, for pictures
# How near a mean must be to the printed one, by load and policy.
_NEAR = {0.75: {"k-lps": 0.05}, 0.90: {"k-lps": 0.10, "max-srpt": 0.04, "split-srpt": 0.04}}
_NEAR_ELSE = 0.03  # other loads and policies
# Seconds in figures 2 and 3, minutes in figure 4. The third job of figure 4 is "the same configuration
# and similar input" as the first, but printed as (10, 3).
_EXAMPLE = ((1.0, 2.0), (3.0, 1.0), (2.0, 2.0))
_CLUSTER = ((7.0, 11.0), (10.0, 3.0), (7.0, 11.0))
_COLOURS = ("tab:blue", "tab:green", "tab:red")
_STEP = 0.125  # time between two points of a curve
_EXACT = 1e-9  # tolerance of numbers that should be equal


def cube_root_jobs(jobs: MapShuffleJobs) -> MapShuffleJobs:
    """The same map sizes; ratios of sizes become their cube roots, shuffle sizes of mean 1 (section 5.2).
    Jobs without map work keep their shuffle size before scaling."""
    some = jobs.map > 0.0
    ratio = np.divide(jobs.shuffle, jobs.map, out=np.ones(len(jobs)), where=some)
    shuffle = np.where(some, jobs.map * np.cbrt(ratio), jobs.shuffle)
    mean = float(shuffle.mean()) if len(jobs) else 0.0
    if not mean > 0.0:
        raise ValueError("shuffle: no job has any")
    return MapShuffleJobs(jobs.map, shuffle / mean, arrival=jobs.arrival, weight=jobs.weight)


def generated_jobs(jobs: int, seed: int) -> MapShuffleJobs:
    # in place of a trace; `_at_load` replaces the load 0.5
    parts = list(MapShuffleStream(jobs, 0.5).chunks(seed))
    fields = ("map", "shuffle", "arrival")
    maps, shuffles, arrival = (np.concatenate([getattr(p, f) for p in parts]) for f in fields)
    return MapShuffleJobs(maps, shuffles, arrival=arrival)


def _at_load(jobs: MapShuffleJobs, _: int, load: float) -> MapShuffleJobs:
    maps, shuffles = capacities_at(jobs, load)
    sizes = jobs.map / maps, jobs.shuffle / shuffles
    return MapShuffleJobs(*sizes, arrival=jobs.arrival, weight=jobs.weight)


def _by_load(points: list[dict[str, Any]]) -> Iterator[tuple[float, dict[str, dict[str, Any]]]]:
    # the loads that all policies have finished, with a point for each policy
    for load in dict.fromkeys(point["load"] for point in points):
        by = {point["policy"]: point for point in points if point["load"] == load}
        if len(by) == len(_POLICIES):
            yield load, by


def _advanced(run: Run, name: str, tables: int, _: int, total: int) -> None:
    run.advance(name, tables * total)


def figure7(run: Run) -> Figure:
    source = generated_jobs(run.count, run.seed) if run.trace is None else run.trace
    run.count = len(source)
    tables = {"sizes of the trace": source, "cube root of the ratios": cube_root_jobs(source)}
    points: dict[str, list[dict[str, Any]]] = {}
    panels = []
    for name, jobs in tables.items():
        progress = partial(_advanced, run, name, len(tables))
        how: dict[str, Any] = {"grid": {"load": _LOADS}, "progress": progress}
        found = replicate(
            partial(_at_load, jobs), [run.seed], _POLICIES, executor=run.executor, **how
        )
        points[name] = found.rows
        rows = []
        for load, by in _by_load(found.rows):
            ratio = {name: own["mean_response"] / own["lower_bound"] for name, own in by.items()}
            rows.append({"load": load, **ratio})
        panels.append(Panel(name, {"load": "g", **dict.fromkeys(_POLICIES, ".3f")}, rows))
        run.complete = found.complete
        if not run.complete:
            break
    kind = "generated" if run.trace is None else "trace"
    note = "Generated jobs in place of a trace: --trace FILE reads one."
    return run.figure(
        f"mean response / bound, {kind} jobs",
        panels,
        claims=list(_claims7(panels)) if run.complete else [],
        notes=[note] if run.trace is None else [],
        axes=[[picture(panel, _POLICIES, "mean response / bound", "load") for panel in panels]],
        facts={"source": kind, "points": points},
    )


def _claims7(panels: list[Panel]) -> Iterator[Claim]:
    for panel in panels:
        gains = [row["k-lps"] / row[own] for row in panel.rows for own in _POLICIES[1:3]]
        name = f"MaxSRPT and SplitSRPT against k-LPS, {panel.name}"
        words = name, '"perform much better than the k-LPS policy"', "better at every load"
        ours = f"k-LPS needs {min(gains):.3g} to {max(gains):.3g} times as long"
        yield Claim(*words, ours, observed(min(gains) > 1.0))
    quotes = (
        ("split-srpt", "max-srpt", '"SplitSRPT outperforms MaxSRPT when the load is high"'),
        ("max-srpt", "split-srpt", '"MaxSRPT now has better performance than SplitSRPT"'),
    )
    for panel, (better, other, quote) in zip(panels, quotes, strict=True):
        top = panel.rows[-1]
        where = f"at load {top['load']}"
        words = f"{better} against {other}, {panel.name}", quote, f"better {where}"
        ours = f"{top[better]:.3f} and {top[other]:.3f} {where}"
        yield Claim(*words, ours, observed(top[better] < top[other]))


def _streamed(run: Run, load: float, policy: str) -> tuple[dict[str, Any], Any]:
    stream = MapShuffleStream(run.count, load)
    found = simulate(stream, policy=policy, rng=run.seed)
    if not found.complete:
        raise KeyboardInterrupt
    point = {"load": load, "seed": run.seed, "policy": policy, **found.summary[policy]}
    return point, dict(zip(("jobs", "mean"), map(np.asarray, found.slowdown[policy]), strict=True))


def figure9(run: Run) -> Figure:
    cases = [(load, policy) for load in PRINTED for policy in _POLICIES]
    work = ((f"load {load}", _streamed(run, load, policy)) for load, policy in cases)
    found = run.steps(work, len(cases))
    points = [point for point, _ in found]
    slowdown: dict[float, dict[str, Any]] = {}
    for point, buckets in found:
        slowdown.setdefault(point["load"], {})[point["policy"]] = buckets
    rows = []
    for load, by in _by_load(points):
        row = {"load": load}
        for policy, point in by.items():
            row[policy] = point["mean_response"]
            if policy in PRINTED[load]:
                row[f"{policy}, paper"] = PRINTED[load][policy]
        rows.append({**row, "bound": by["k-lps"]["lower_bound"]})
    columns = {**dict.fromkeys(rows[0] if rows else (), ".3f"), "load": "g"}
    return run.figure(
        "mean response [s]",
        [Panel("mean response", columns, rows)],
        claims=[*_claims9(points), *_fairness(slowdown)] if run.complete else [],
        axes=[[_buckets(load, own) for load, own in slowdown.items()]],
        facts={"source": "generated", "points": points, "slowdown": slowdown, "printed": PRINTED},
    )


def _buckets(load: float, slowdown: dict[str, Any]) -> Axes:
    series, look = [], {"marker": "", "linewidth": 1.0}
    for policy, own in slowdown.items():
        at = np.flatnonzero(own["jobs"] >= _DRAWN)
        series.append(Series(policy, own["mean"][at].tolist(), (at + 0.5) * BUCKET_WIDTH, look))
    xlabel, options = "size max(map, shuffle) [s]", {"yscale": "log"}
    return Axes(f"load {load}", xlabel, "mean slowdown", series, options=options)


def _claims9(points: list[dict[str, Any]]) -> Iterator[Claim]:
    for point in points:
        load, policy, mean = point["load"], point["policy"], point["mean_response"]
        if policy in PRINTED[load]:
            printed, near = PRINTED[load][policy], _NEAR[load].get(policy, _NEAR_ELSE)
            name = f"mean response of {policy} at load {load}"
            words = name, f"{printed:.2f}", f"within {100 * near:.0f} %"
            yield Claim(*words, f"{mean:.3f}", observed(abs(mean / printed - 1.0) <= near))


_BETTER = '"all job sizes have better expected performance ... than they do under k-LPS"'
_FAIRER = (
    '"slowdowns for small jobs under SplitSRPT are bigger ... for big jobs ... smaller"',
    "larger in the first bucket, smaller from 50 s to 100 s",
)


def _fairness(slowdown: dict[float, dict[str, Any]]) -> Iterator[Claim]:
    for load, by in slowdown.items():
        seen = by["k-lps"]["jobs"] >= _FEWEST
        if not seen.any():
            continue
        means = {policy: own["mean"][seen] for policy, own in by.items()}
        buckets, criterion = counted(int(seen.sum()), "bucket"), f"all buckets with {_FEWEST} jobs"
        for policy in ("max-srpt", "split-srpt"):
            part = float((means[policy] < means["k-lps"]).mean())
            words = f"slowdown of {policy} at load {load}", _BETTER, criterion
            ours = f"below k-LPS in {100 * part:.0f} % of {buckets}"
            yield Claim(*words, ours, observed(part == 1.0))
        if min(own["jobs"][BUCKETS // 2 :].sum() for own in by.values()) < _FEWEST:
            continue
        small, large = [], []
        for policy in ("split-srpt", "max-srpt"):
            count, mean = (by[policy][part][BUCKETS // 2 :] for part in ("jobs", "mean"))
            small.append(means[policy][0])
            large.append(float(np.nansum(count * mean) / count.sum()))
        ours = "first bucket {:.3g} and {:.3g}, sizes of 50 s to 100 s {:.3g} and {:.3g}"
        verdict = observed(small[0] > small[1] and large[0] < large[1])
        name = f"SplitSRPT fairer than MaxSRPT at load {load}"
        yield Claim(name, *_FAIRER, ours.format(*small, *large), verdict)


class Progress:
    """What is left of jobs that arrive together, at every `_STEP` of a simulation."""

    def __init__(self, sizes: tuple[tuple[float, float], ...], **how: Any) -> None:
        self.map, self.shuffle = np.array(sizes).T
        self.jobs = MapShuffleJobs(self.map, self.shuffle)
        end = float(self.map.sum() + self.shuffle.sum())
        times = np.arange(0.0, end + _STEP, _STEP)
        found = simulate(self.jobs, times=times, **how)
        (self.left,) = (found.series or {}).values()
        done = self.left["shuffle_left"].sum(axis=1) <= _EXACT
        self.end = int(np.flatnonzero(done)[0]) + 1

    def at(self, time: float) -> dict[str, Floats]:
        row = round(time / _STEP)
        return {name: column[row] for name, column in self.left.items()}

    def rate(self, first: float, last: float) -> Floats:
        # shuffle work that is done in a unit of time, step by step
        rows = slice(round(first / _STEP), round(last / _STEP) + 1)
        return np.asarray(-np.diff(self.left["shuffle_left"][rows].sum(axis=1)) / _STEP)

    def rows(self) -> list[dict[str, Any]]:
        every = round(1.0 / _STEP)
        found = []
        for row in range(0, self.end + every - 1, every):
            own: dict[str, Any] = {"time": float(self.left["time"][row])}
            for phase in ("map", "shuffle"):
                left = self.left[f"{phase}_left"][row].tolist()
                own |= {f"{phase} {k + 1}": value for k, value in enumerate(left)}
            found.append({**own, "ready": float(self.left["ready"][row].sum())})
        return found

    def pictures(self, unit: str) -> list[Axes]:
        time = self.left["time"][: self.end].tolist()
        pictures = []
        for phase in ("map", "shuffle"):
            left = self.left[f"{phase}_left"][: self.end]
            size = getattr(self, phase)
            buffer = left if phase == "map" else self.left["ready"][: self.end]
            black = Series("in all" if phase == "map" else "ready", buffer.sum(axis=1), time)
            title = f"{phase} workload"
            pictures.append(_picture(f"{title} left per job", unit, time, left, black))
            pictures.append(_picture(f"{title} completed per job", unit, time, size - left))
        return pictures


def _picture(title: str, unit: str, time: Any, columns: Floats, *more: Series) -> Axes:
    thin: dict[str, Any] = {"marker": ""}
    own = [
        Series(f"J{k + 1}", column, time, {**thin, "color": _COLOURS[k]})
        for k, column in enumerate(columns.T)
    ]
    black = [each._replace(look={**thin, "color": "black", "linewidth": 2.0}) for each in more]
    return Axes(title, f"time [{unit}]", "workload", [*own, *black])


def figure_of_model(run: Run, number: int) -> Figure:
    overlaps, sizes, unit, how, claims = _FIGURES[number]
    parts = [Progress(sizes, overlap=overlap, **how) for overlap in overlaps]
    panels, axes, notes = [], [], []
    for overlap, progress in zip(overlaps, parts, strict=True):
        rows = progress.rows()
        name = "overlapping tandem queue" if overlap else "tandem queue"
        panels.append(Panel(name, dict.fromkeys(rows[0], ".3g"), rows))
        pictures = progress.pictures(unit)
        axes += [pictures] if number == 4 else [pictures[:2], pictures[2:]]
    if number == 4:
        notes = ["The cluster's own curves are in the paper's picture only."]
    what = f"workload left per job [{unit}]"
    return run.figure(what, panels, claims=list(claims(*parts)), notes=notes, axes=axes)


def _said(text: str, ours: str, holds: object) -> Claim:
    return Claim(f'"{text}"', "", "", ours, observed(holds))


def _close(values: Any, wanted: Any) -> bool:
    return bool(np.allclose(values, wanted, rtol=0.0, atol=_EXACT))


def _claims2(own: Progress) -> Iterator[Claim]:
    now = own.at(1.0)
    yield _said(
        "At t = 1, J1 is done at the map phase and has 1 unit of workload left at the shuffle phase",
        f"{now['map_left'][0]:g} and {now['shuffle_left'][0]:g} left",
        _close((now["map_left"][0], now["shuffle_left"][0]), (0.0, 1.0)),
    )
    now = own.at(2.5)
    done = own.map[1] - now["map_left"][1], own.shuffle[1] - now["shuffle_left"][1]
    yield _said(
        "finally drained out at t = 2.5, when J2 has 1.5 units ... done at the map phase and 0.5 units ..."
        " at the shuffle phase",
        f"{now['ready'].sum():.3g} ready, {done[0]:g} and {done[1]:g} done",
        _close((*done, now["ready"].sum()), (1.5, 0.5, 0.0)) and own.at(2.375)["ready"].sum() > 0,
    )
    for text, first, last, rate in (
        ("t in [1, 2.5] ... drained at rate 1", 1.0, 2.5, 1.0),
        ("After t = 2.5 ... only be drained at rate 1/3 ... until t = 4", 2.5, 4.0, 1.0 / 3.0),
        ("During t in [4, 6], the shuffle phase is draining ... at maximum rate 1", 4.0, 6.0, 1.0),
    ):
        rates = own.rate(first, last)
        yield _said(text, f"{rates.min():.4g} to {rates.max():.4g}", _close(rates, rate))


def _claims3(own: Progress) -> Iterator[Claim]:
    early = (own.left["map_left"] > _EXACT) & (own.left["shuffle_left"] < own.shuffle - _EXACT)
    yield _said(
        "a job cannot be processed at the shuffle queue until it completes at the map queue",
        f"{int(early.sum())} times of a job with both begun and map work left",
        not early.any(),
    )


def _claims4(own: Progress, other: Progress) -> Iterator[Claim]:
    rates = own.rate(0.0, own.left["time"][own.end - 1])
    falls, rises = (np.flatnonzero(sign * np.diff(rates) > _EXACT) for sign in (-1.0, 1.0))
    kink = len(falls) > 0 and len(rises) > 0 and falls[0] < rises[-1]
    yield _said(
        "the kink in the service rate of the shuffle queue",
        f"the rate falls from {rates.max():.3g} to {rates[:-1].min():.3g} and rises again",
        kink,
    )
    idle = int(np.argmax(other.rate(0.0, own.left["time"][own.end - 1]) > _EXACT)) * _STEP
    yield _said(
        "the evolution in the traditional tandem queue model is quite different",
        f"its shuffle station idles for the first {idle:g} min, the other one never at first",
        idle > 0.0 and rates[0] > _EXACT,
    )


# With or without overlap, sizes, their unit, the policy, and what the paper says.
_FIGURES: dict[int, Any] = {
    2: ([True], _EXAMPLE, "s", {"policy": "fcfs"}, _claims2),
    3: ([False], _EXAMPLE, "s", {"policy": "fcfs"}, _claims3),
    4: ([True, False], _CLUSTER, "min", {"policy": "k-lps", "k": 1}, _claims4),
}
