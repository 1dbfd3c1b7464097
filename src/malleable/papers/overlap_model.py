"""Figures 2 to 4 of the overlap paper (sections 2.1 and 2.2): what is left of three jobs over time.

Figures 2 and 3 are the paper's example, served in the order of arrival, with and without overlap. Figure 4
compares both models with a Hadoop cluster, whose measured curves are in the picture only; the model's jobs
are printed. Its FIFO maps with a shared shuffle are ``k-lps`` with ``k = 1``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from malleable.columns import Floats
from malleable.papers.claim import Claim, observed
from malleable.papers.figure import Axes, Figure, Panel, Run, Series
from malleable.simulation import simulate
from malleable.tandem.table import MapShuffleJobs

# Seconds in figures 2 and 3, minutes in figure 4. The third job of figure 4 is "the same configuration
# and similar input" as the first, but printed as (10, 3).
_EXAMPLE = ((1.0, 2.0), (3.0, 1.0), (2.0, 2.0))
_CLUSTER = ((7.0, 11.0), (10.0, 3.0), (7.0, 11.0))
_COLOURS = ("tab:blue", "tab:green", "tab:red")
_STEP = 0.125
_EXACT = 1e-9


class Progress:
    """What is left of jobs that arrive together, at every step of a simulation."""

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
        """The columns at one time."""
        row = round(time / _STEP)
        return {name: column[row] for name, column in self.left.items()}

    def rate(self, first: float, last: float) -> Floats:
        """At which the shuffle station worked from step to step."""
        rows = slice(round(first / _STEP), round(last / _STEP) + 1)
        return np.asarray(-np.diff(self.left["shuffle_left"][rows].sum(axis=1)) / _STEP)

    def rows(self) -> list[dict[str, Any]]:
        """What is left each second or minute, until all is done."""
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
        """Left and done at both stations; black: all jobs, at the shuffle what waits there."""
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


def figure(run: Run, number: int) -> Figure:
    """Figure 2, 3 or 4."""
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
