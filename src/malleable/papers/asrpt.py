"""Figures 5 to 13 of Zheng, Shroff, Sinha 2013 ("the paper"): flow times (arrival to end) over a lower bound
(the efficiency ratio), how that converges, distributions of flow times.

100 machines, Poisson arrivals of 2 jobs a step (load 0.9), 500 steps, then the queue drains; four workloads,
preemptive and non-preemptive reduce tasks. The paper prints no numbers, so the claims of its text are
checked. Policy ``unlock`` is this project's, ``dsrpt`` is from the paper's proofs; the other four are its
own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from malleable.jobs.table import Floats
from malleable.papers.claim import Claim, judged, observed, paired
from malleable.papers.figure import Axes, Figure, Panel, Range, Run, Series, picture
from malleable.simulation import simulate
from malleable.slotted.generate import section7
from malleable.slotted.simulate import efficiency_over_time
from malleable.view.text import counted

MACHINES, STEPS, RATE = 100, 500, 2.0  # RATE: mean arrivals a step
_LONG = 5000  # steps of figure 9
_TIMES = (50, 100, 200, 500, 1000, 2000, 5000)  # steps of its table
_FLOWS = (1, 2, 5, 10, 20, 50, 100)  # axis of the paper's distributions
_PAPERS = ("asrpt", "fifo", "fair", "lrpt")
_SCENARIOS = {"preemptive": (*_PAPERS, "dsrpt", "unlock"), "non-preemptive": (*_PAPERS, "unlock")}


class Curve(NamedTuple):
    """One policy in one of the two scenarios, an entry a simulation: total flow time over the SRPT bound
    (``ratio``) and over our larger bound (``tight``), ``flows`` [steps], and for figure 9 ``series``,
    shape (S, steps), the ratio up to every step."""

    scenario: str
    policy: str
    ratio: Floats
    tight: Floats
    flows: list[Floats]
    series: Floats

    @property
    def pooled(self) -> Floats:
        # flow times of all simulations
        return np.concatenate(self.flows)

    @property
    def tail(self) -> Floats:
        # 99th percentile of each simulation
        return np.array([np.quantile(own, 0.99) for own in self.flows])

    def drawn(self, kind: str) -> tuple[Any, Floats]:
        """Steps and mean ratios up to them, or flow times and the share of jobs with at most that."""
        if kind == "convergence":
            return np.arange(1, self.series.shape[1] + 1), self.series.mean(axis=0)
        flows, places = np.sort(self.pooled), np.arange(_FLOWS[-1] + 1)
        return places, np.searchsorted(flows, places, side="right") / len(flows)

    def row(self, kind: str, places: tuple[int, ...]) -> dict[str, Any]:
        x, y = self.drawn(kind) if places else (np.empty(0), np.empty(0))
        return {
            "policy": self.policy,
            "ratio": Range(float(self.ratio.mean()), float(self.ratio.max())),
            "std. error": _error(self.ratio),
            "/ our bound": float(self.tight.mean()),
            "p99": float(np.quantile(self.pooled, 0.99)),
            "longest": float(self.pooled.max()),
            **{str(place): float(y[np.searchsorted(x, place)]) for place in places},
        }


def _error(values: Floats) -> float | None:
    # standard error of the mean
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None


def _simulated(setting: str, kind: str, seed: int) -> dict[tuple[str, str], Any]:
    steps = _LONG if kind == "convergence" else STEPS
    jobs = section7(setting, steps=steps, rate=RATE, rng=seed)
    found: dict[tuple[str, str], Any] = {}
    for scenario, policies in _SCENARIOS.items():
        preemptive = scenario == "preemptive"
        result = simulate(jobs, policies, machines=MACHINES, preemptive=preemptive)
        if not result.complete:
            raise KeyboardInterrupt
        assert result.records is not None
        series: dict[str, Any] = {}
        if kind == "convergence":
            series = efficiency_over_time(result, jobs, MACHINES, steps=steps)
        for policy, own in result.summary.items():
            times = result.records["turnaround_time"][result.records["policy"] == policy]
            values = own["ratio"], own["tight_ratio"], times, series.get(policy, [])
            found[scenario, policy] = values
    return found


def run_curves(run: Run, kind: str, setting: str) -> list[Curve]:
    """The experiments of one figure; Ctrl-C keeps the finished simulations. Figure 9 has a tenth of the
    simulations, each ten times as long, because it is about the long run."""
    if kind == "convergence":
        run.count = max(1, run.count // 10)
    work = ((run.name, _simulated(setting, kind, seed)) for seed in run.seeds)
    found = run.steps(work, run.count)
    run.count = len(found)
    curves = []
    for scenario, policy in found[0] if found else ():
        ratio, tight, flows, series = zip(*(own[scenario, policy] for own in found), strict=True)
        arrays = np.array(ratio), np.array(tight)
        curves.append(Curve(scenario, policy, *arrays, list(flows), np.array(series)))
    return curves


Curves = dict[str, dict[str, Curve]]  # by scenario and policy


def figure(run: Run, kind: str, setting: str) -> Figure:
    curves: Curves = {scenario: {} for scenario in _SCENARIOS}
    for curve in run_curves(run, kind, setting):
        curves[curve.scenario][curve.policy] = curve
    places, xlabel, ylabel, claims = _KINDS[kind]
    values = dict.fromkeys(("ratio", "std. error", "/ our bound"), ".3f")
    samples = dict.fromkeys(map(str, places), ".3f") or {"p99": ".0f", "longest": ".0f"}
    columns = {"policy": "", **values, **samples}
    panels, axes = [], []
    for scenario, own in curves.items():
        panel = Panel(scenario, columns, [curve.row(kind, places) for curve in own.values()])
        panels.append(panel)
        if places:
            look = {"marker": "", "drawstyle": "steps-post"}
            drawn = [(policy, *curve.drawn(kind)) for policy, curve in own.items()]
            series = [Series(policy, y.tolist(), x.tolist(), look) for policy, x, y in drawn]
            options = {"xscale": "log"} if kind == "distribution" else {}
            axes.append(Axes(scenario, xlabel, ylabel, series, options=options))
        else:
            axes.append(picture(panel, ["ratio"], "flow time / SRPT bound (bar: mean)"))
    steps = _LONG if kind == "convergence" else STEPS
    return run.figure(
        f"flow time / SRPT bound, mean / worst{ylabel and ', ' + ylabel}",
        panels,
        claims=list(claims(curves)) if run.count else [],
        notes=["The paper prints no numbers for this figure.", *_ours(curves)],
        axes=[axes],
        facts={"setting": setting, "machines": MACHINES, "steps": steps, "rate": RATE},
    )


def _ours(curves: Curves) -> Iterator[str]:
    for scenario, by in curves.items():
        if not by:
            return
        less = by["asrpt"].ratio - by["unlock"].ratio
        error = _error(less)
        spread = "" if error is None else f" (std. error {error:.4f})"
        yield (
            f"ours, {scenario}: unlock is {less.mean():.4f}{spread} below asrpt, and below it in "
            f"{int(np.sum(less > 0))} of {len(less)} simulations"
        )


def _ratio_claims(curves: Curves) -> Iterator[Claim]:
    for scenario, by in curves.items():
        mean = {policy: float(by[policy].ratio.mean()) for policy in _PAPERS}
        rival = min(_PAPERS[1:], key=lambda policy: mean[policy])
        own = by["asrpt"].ratio
        margins = (paired((0.9, by[other].ratio), (-1.0, own)) for other in _PAPERS[1:])
        text = '"the total flow-time of ASRPT is much smaller than all the other schedulers"'
        less = 100 * (1 - mean["asrpt"] / mean[rival])
        what = f"{mean['asrpt']:.3f} against {mean[rival]:.3f} of {rival}, {less:.1f} % less"
        verdict = judged(margins, len(own))
        yield Claim(f"{text}, {scenario}", "", "by a tenth or more", what, verdict)
    ours = curves["preemptive"]["asrpt"]
    worst, tight, count = float(ours.ratio.max()), float(ours.tight.max()), len(ours.ratio)
    never = int(np.sum(ours.ratio <= curves["preemptive"]["dsrpt"].ratio))
    rule = "in all simulations"
    text = 'preemptive ASRPT "is not greater than 3 times of the lower bound"'
    yield Claim(text, "", rule, f"{worst:.3f} at worst", observed(worst <= 3.0))
    text = "preemptive ASRPT has an efficiency ratio of 2 (corollary 2)"
    what = f"{tight:.3f} times our bound at worst, so no more against the optimum"
    yield Claim(text, "", rule, what, observed(tight <= 2.0))
    text = '"the total flow-time of ASRPT will not be greater than DSRPT" (proof of corollary 2)'
    what = f"in {never} of {counted(count, 'simulation')}"
    yield Claim(text, "", rule, what, observed(never == count))


def _convergence_claims(curves: Curves) -> Iterator[Claim]:
    for scenario, by in curves.items():
        for policy in ("asrpt", "lrpt"):
            series = by[policy].series
            middle = series.shape[1] // 2
            early, late = series[:, middle - 1], series[:, -1]
            margins = [paired((1.1, early), (-1.0, late)), paired((-0.9, early), (1.0, late))]
            text = '"has a constant (maybe relative large) efficiency ratio"'
            found = (
                f"{early.mean():.3f} after {middle:,} steps, {late.mean():.3f} after {2 * middle:,}"
            )
            criterion = "it moves by less than a tenth over the second half"
            name = f"{policy.upper()} {text}, {scenario}"
            yield Claim(name, "", criterion, found, judged(margins, len(early)))


def _distribution_claims(curves: Curves) -> Iterator[Claim]:
    light = 'ASRPT "has a very light tail ... compared to the FIFO and Fair schedulers"'
    long = '"the LRPT scheduler has a long tail"'
    for scenario, by in curves.items():
        p99 = {policy: np.quantile(by[policy].pooled, 0.99) for policy in _PAPERS}
        ours = ", ".join(f"{policy} {steps:.0f}" for policy, steps in p99.items())
        asrpt, fifo, fair, lrpt = (by[policy].tail for policy in _PAPERS)
        margins = (paired((1.0, other), (-1.0, asrpt)) for other in (fifo, fair))
        verdict, criterion = judged(margins, len(asrpt)), "its 99th percentile is at most theirs"
        yield Claim(f"{light}, {scenario}", "", criterion, ours, verdict)
        margins = (paired((1.0, lrpt), (-1.0, other)) for other in (asrpt, fifo, fair))
        verdict, criterion = judged(margins, len(asrpt), strict=True), "the largest 99th percentile"
        yield Claim(f"{long}, {scenario}", "", criterion, ours, verdict)


# The points at which a table samples its curves, their axes, and the claims.
_KINDS: dict[str, tuple[tuple[int, ...], str, str, Callable[[Curves], Iterator[Claim]]]] = {
    "ratio": ((), "", "", _ratio_claims),
    "convergence": (_TIMES, "step", "flow time so far / SRPT bound", _convergence_claims),
    "distribution": (_FLOWS, "flow time [steps]", "share of jobs", _distribution_claims),
}
