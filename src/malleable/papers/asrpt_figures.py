"""Figures 5 to 13 of the ASRPT paper: efficiency ratios, their convergence, flow-time distributions.

100 machines, Poisson arrivals of 2 jobs a slot (load 0.9), 500 slots, then the queue drains; four
workloads, preemptive and non-preemptive reduce tasks. The paper prints no numbers for its bars and
curves; what its text claims of them is checked one by one. ``unlock`` is ours, ``dsrpt`` is from the
paper's proofs; both are beside the paper's four.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from malleable.jobs.table import Floats
from malleable.papers.verdict import Verdict, judged, observed, paired
from malleable.replications import Interval
from malleable.simulation import simulate
from malleable.slotted.generate import section7
from malleable.slotted.simulate import efficiency_over_time
from malleable.view.drawing import check_drawing, new_figure, save_figure
from malleable.view.text import counted, table

__all__ = [
    "FIGURES",
    "AsrptCurve",
    "AsrptFigure",
    "Claim",
    "asrpt_figure_dict",
    "asrpt_figure_report",
    "draw_asrpt_figure",
    "run_asrpt_figure",
]

MACHINES, SLOTS, RATE = 100, 500, 2.0
SIMULATIONS = 200
_LONG = 5000  # slots of figure 9
_MOST_FLOW = 100  # the paper draws distributions up to there
_TIMES = (50, 100, 200, 500, 1000, 2000, 5000)
_FLOWS = (1, 2, 5, 10, 20, 50, 100)
_PREEMPTIVE = ("asrpt", "fifo", "fair", "lrpt", "dsrpt", "unlock")
_BLOCKED = ("asrpt", "fifo", "fair", "lrpt", "unlock")
_PAPERS = ("asrpt", "fifo", "fair", "lrpt")

FIGURES = {
    "asrpt-fig5": ("exp-large", "ratio"),
    "asrpt-fig6": ("exp-small", "ratio"),
    "asrpt-fig7": ("uniform-large", "ratio"),
    "asrpt-fig8": ("uniform-small", "ratio"),
    "asrpt-fig9": ("uniform-small", "convergence"),
    "asrpt-fig10": ("exp-large", "distribution"),
    "asrpt-fig11": ("exp-small", "distribution"),
    "asrpt-fig12": ("uniform-large", "distribution"),
    "asrpt-fig13": ("uniform-small", "distribution"),
}


class AsrptCurve(NamedTuple):
    """One policy in one of the two scenarios.

    Attributes
    ----------
    ratio : ndarray, shape (S,)
        Total flow time over the SRPT bound, per simulation.
    tight : ndarray, shape (S,)
        The same over our larger bound.
    series : ndarray
        Figure 9: mean ratio up to every slot. Figures 10 to 13: share of jobs with a flow time of at
        most 0, 1, ... 100 slots. Figures 5 to 8: empty.
    p99, longest : float
        99th percentile and maximum of the flow times of all simulations [slots].
    tail : ndarray, shape (S,)
        99th percentile of the flow times, per simulation [slots].
    late : ndarray, shape (S, 2)
        Figure 9: ratio up to the middle and up to the end, per simulation.
    """

    policy: str
    preemptive: bool
    ratio: Floats
    tight: Floats
    series: Floats
    p99: float
    longest: float
    tail: Floats
    late: Floats


class Claim(NamedTuple):
    """A sentence of the paper, whether it holds here, and by what."""

    text: str
    verdict: Verdict
    because: str


class AsrptFigure(NamedTuple):
    """One figure; not ``complete`` where it was interrupted."""

    name: str
    simulations: int
    seed: int
    curves: list[AsrptCurve]
    claims: list[Claim]
    complete: bool


class _Collected:
    """What the simulations of one policy add up to."""

    def __init__(self) -> None:
        self.ratio: list[float] = []
        self.tight: list[float] = []
        self.series: list[Floats] = []
        self.flows: list[Floats] = []


def run_asrpt_figure(
    name: str,
    simulations: int = SIMULATIONS,
    *,
    seed: int = 0,
    progress: Callable[[str, int], None] | None = None,
) -> AsrptFigure:
    """Run the experiments of one figure; Ctrl-C keeps the simulations that are finished.

    Simulation k has seed ``seed + k``. Figure 9 has a tenth of the simulations, each ten times as
    long, because it is about the long run.
    """
    setting, kind = FIGURES[name]
    slots = SLOTS
    if kind == "convergence":
        simulations, slots = max(1, simulations // 10), _LONG
    found = {
        (policy, preemptive): _Collected()
        for preemptive in (True, False)
        for policy in (_PREEMPTIVE if preemptive else _BLOCKED)
    }
    done = 0
    complete = True
    try:
        for k in range(simulations):
            jobs = section7(setting, slots=slots, rate=RATE, rng=seed + k)
            results = []
            for preemptive in (True, False):
                policies = _PREEMPTIVE if preemptive else _BLOCKED
                result = simulate(
                    jobs, "slotted", policies, machines=MACHINES, preemptive=preemptive
                )
                if not result.complete:
                    raise KeyboardInterrupt
                results.append((preemptive, result))
            for preemptive, result in results:
                assert result.records is not None
                over_time = {}
                if kind == "convergence":
                    over_time = efficiency_over_time(result, jobs, MACHINES, slots=slots)
                for policy, summary in result.summary.items():
                    into = found[policy, preemptive]
                    into.ratio.append(summary["ratio"])
                    into.tight.append(summary["tight_ratio"])
                    chosen = result.records["policy"] == policy
                    into.flows.append(result.records["turnaround_time"][chosen])
                    if over_time:
                        into.series.append(over_time[policy])
            done += 1
            if progress is not None:
                progress(name, simulations)
    except KeyboardInterrupt:
        complete = False
    curves = []
    if done:
        for (policy, preemptive), each in found.items():
            flows = np.concatenate(each.flows)
            series = np.empty(0)
            if kind == "convergence":
                series = np.mean(each.series, axis=0)
            elif kind == "distribution":
                within = np.bincount(
                    np.minimum(flows, _MOST_FLOW + 1).astype(np.int64), minlength=_MOST_FLOW + 2
                )
                series = np.cumsum(within)[: _MOST_FLOW + 1] / len(flows)
            curves.append(
                AsrptCurve(
                    policy,
                    preemptive,
                    np.array(each.ratio),
                    np.array(each.tight),
                    series,
                    float(np.quantile(flows, 0.99)),
                    float(flows.max()),
                    np.array([np.quantile(own, 0.99) for own in each.flows]),
                    np.array([(own[len(own) // 2 - 1], own[-1]) for own in each.series]),
                )
            )
    claims = _CLAIMS[kind](curves) if curves else []
    return AsrptFigure(name, done, seed, curves, claims, complete)


def _by_policy(curves: list[AsrptCurve], preemptive: bool) -> dict[str, AsrptCurve]:
    return {curve.policy: curve for curve in curves if curve.preemptive == preemptive}


def _scenario(preemptive: bool) -> str:
    return "preemptive" if preemptive else "non-preemptive"


def _ratio_claims(curves: list[AsrptCurve]) -> list[Claim]:
    claims = []
    for preemptive in (True, False):
        by = _by_policy(curves, preemptive)
        mean = {policy: float(by[policy].ratio.mean()) for policy in _PAPERS}
        rival = min(_PAPERS[1:], key=lambda policy: mean[policy])
        own = by["asrpt"].ratio
        claims.append(
            Claim(
                '"the total flow-time of ASRPT is much smaller than all the other schedulers" (read:'
                f" by a tenth or more), {_scenario(preemptive)}",
                judged(
                    (paired((0.9, by[other].ratio), (-1.0, own)) for other in _PAPERS[1:]), len(own)
                ),
                f"{mean['asrpt']:.3f} against {mean[rival]:.3f} of {rival}, "
                f"{100 * (1 - mean['asrpt'] / mean[rival]):.1f} % less",
            )
        )
    by = _by_policy(curves, True)
    worst = float(by["asrpt"].ratio.max())
    claims.append(
        Claim(
            'preemptive ASRPT "is not greater than 3 times of the lower bound"',
            observed(worst <= 3.0),
            f"{worst:.3f} at worst",
        )
    )
    claims.append(
        Claim(
            "preemptive ASRPT has an efficiency ratio of 2 (corollary 2)",
            observed(float(by["asrpt"].tight.max()) <= 2.0),
            f"{by['asrpt'].tight.max():.3f} times our bound at worst, so no more against the optimum",
        )
    )
    less = int(np.sum(by["asrpt"].ratio <= by["dsrpt"].ratio))
    claims.append(
        Claim(
            '"the total flow-time of ASRPT will not be greater than DSRPT" (proof of corollary 2)',
            observed(less == len(by["asrpt"].ratio)),
            f"in {less} of {counted(len(by['asrpt'].ratio), 'simulation')}",
        )
    )
    return claims


def _convergence_claims(curves: list[AsrptCurve]) -> list[Claim]:
    claims = []
    for preemptive in (True, False):
        for policy in ("asrpt", "lrpt"):
            curve = _by_policy(curves, preemptive)[policy]
            series, (early, late) = curve.series, curve.late.T
            middle = len(series) // 2
            claims.append(
                Claim(
                    f'{policy.upper()} "has a constant (maybe relative large) efficiency ratio": it moves'
                    f" by less than a tenth over the second half, {_scenario(preemptive)}",
                    judged(
                        [paired((1.1, early), (-1.0, late)), paired((-0.9, early), (1.0, late))],
                        len(early),
                    ),
                    f"{series[middle - 1]:.3f} after {middle:,} slots, {series[-1]:.3f} after "
                    f"{len(series):,}",
                )
            )
    return claims


def _distribution_claims(curves: list[AsrptCurve]) -> list[Claim]:
    claims = []
    for preemptive in (True, False):
        by = _by_policy(curves, preemptive)
        listed = ", ".join(f"{policy} {by[policy].p99:.0f}" for policy in _PAPERS)

        def shorter(one: str, other: str, by: dict[str, AsrptCurve] = by) -> Interval:
            return paired((1.0, by[other].tail), (-1.0, by[one].tail))

        claims.append(
            Claim(
                'ASRPT "has a very light tail ... compared to the FIFO and Fair schedulers": its 99th'
                f" percentile is at most theirs, {_scenario(preemptive)}",
                judged(
                    [shorter("asrpt", other) for other in ("fifo", "fair")], len(by["asrpt"].tail)
                ),
                listed,
            )
        )
        claims.append(
            Claim(
                '"the LRPT scheduler has a long tail": the largest 99th percentile,'
                f" {_scenario(preemptive)}",
                judged(
                    [shorter(other, "lrpt") for other in _PAPERS[:3]],
                    len(by["lrpt"].tail),
                    strict=True,
                ),
                listed,
            )
        )
    return claims


_CLAIMS: dict[str, Callable[[list[AsrptCurve]], list[Claim]]] = {
    "ratio": _ratio_claims,
    "convergence": _convergence_claims,
    "distribution": _distribution_claims,
}


def _samples(figure: AsrptFigure) -> tuple[int, ...]:
    """Where the table and JSON show a curve of this figure: slots or flow times."""
    return {"ratio": (), "convergence": _TIMES, "distribution": _FLOWS}[FIGURES[figure.name][1]]


def _at(figure: AsrptFigure, curve: AsrptCurve, place: int) -> float:
    first = 1 if FIGURES[figure.name][1] == "convergence" else 0
    return float(curve.series[place - first])


def asrpt_figure_dict(figure: AsrptFigure) -> dict[str, Any]:
    """The figure in JSON types."""
    setting, kind = FIGURES[figure.name]
    return {
        "figure": figure.name,
        "setting": setting,
        "machines": MACHINES,
        "slots": _LONG if kind == "convergence" else SLOTS,
        "rate": RATE,
        "simulations": figure.simulations,
        "seed": figure.seed,
        "complete": figure.complete,
        "curves": [
            {
                "policy": curve.policy,
                "preemptive": curve.preemptive,
                "mean_ratio": float(curve.ratio.mean()),
                "standard_error": _error(curve.ratio),
                "worst_ratio": float(curve.ratio.max()),
                "mean_tight_ratio": float(curve.tight.mean()),
                "p99": curve.p99,
                "longest": curve.longest,
                "series": {str(place): _at(figure, curve, place) for place in _samples(figure)},
            }
            for curve in figure.curves
        ],
        "claims": [
            {"text": claim.text, "because": claim.because, **claim.verdict.as_dict()}
            for claim in figure.claims
        ],
    }


def _error(values: Floats) -> float | None:
    if len(values) < 2:
        return None
    return float(values.std(ddof=1) / math.sqrt(len(values)))


def asrpt_figure_report(figure: AsrptFigure) -> list[Any]:
    """Tables of both scenarios, and a line for each claim."""
    setting, kind = FIGURES[figure.name]
    parts: list[Any] = []
    for preemptive in (True, False):
        rows = []
        for curve in _by_policy(figure.curves, preemptive).values():
            error = _error(curve.ratio)
            row = [
                curve.policy,
                f"{curve.ratio.mean():.3f}",
                "-" if error is None else f"{error:.3f}",
                f"{curve.ratio.max():.3f}",
                f"{curve.tight.mean():.3f}",
            ]
            if kind == "ratio":
                row += [f"{curve.p99:.0f}", f"{curve.longest:.0f}"]
            row += [f"{_at(figure, curve, place):.3f}" for place in _samples(figure)]
            rows.append(row)
        heads = ["policy", "ratio", "std. error", "worst", "/ our bound"]
        if kind == "ratio":
            heads += ["p99", "longest"]
        heads += [f"{place}" for place in _samples(figure)]
        title = f"{figure.name}: {setting}, {_scenario(preemptive)}, " + counted(
            figure.simulations, "simulation"
        )
        title += {
            "ratio": "",
            "convergence": "; ratio up to slot 50, 100, ...",
            "distribution": "; share of jobs with a flow time of at most 1, 2, ... slots",
        }[kind]
        parts.append(table(title, heads, rows))
    parts.append("The paper prints no numbers for this figure, only what follows.")
    parts += [
        f"{claim.verdict.told('simulation')}: {claim.text}: {claim.because}"
        for claim in figure.claims
    ]
    return parts + _ours(figure)


def _ours(figure: AsrptFigure) -> list[str]:
    """What unlock gains on ASRPT, simulation by simulation."""
    lines = []
    for preemptive in (True, False) if figure.curves else ():
        by = _by_policy(figure.curves, preemptive)
        less = by["asrpt"].ratio - by["unlock"].ratio
        error = _error(less)
        lines.append(
            f"ours, {_scenario(preemptive)}: unlock is {less.mean():.4f}"
            f"{'' if error is None else f' (std. error {error:.4f})'} below asrpt, and below it in"
            f" {int(np.sum(less > 0))} of {figure.simulations} simulations"
        )
    return lines


def draw_asrpt_figure(
    figure: AsrptFigure, path: str | os.PathLike[str] | None = None, force: bool = True
) -> Any:
    """Bars of ratios, curves of ratios over time, or distributions of flow times."""
    check_drawing(path)
    setting, kind = FIGURES[figure.name]
    drawn = new_figure(9.0, 4.0)
    for panel, preemptive in zip(drawn.subplots(1, 2), (True, False), strict=True):
        by = _by_policy(figure.curves, preemptive)
        if kind == "ratio":
            panel.bar(list(by), [curve.ratio.mean() for curve in by.values()])
            panel.plot(list(by), [curve.ratio.max() for curve in by.values()], "k_", markersize=14)
            panel.set_ylabel("flow time / SRPT bound: mean, worst")
            panel.tick_params(axis="x", labelrotation=20)
        for policy, curve in by.items():
            if kind == "convergence":
                panel.plot(np.arange(1, len(curve.series) + 1), curve.series, label=policy)
            elif kind == "distribution":
                panel.step(np.arange(len(curve.series)), curve.series, where="post", label=policy)
        if kind == "convergence":
            panel.set(xlabel="slot", ylabel="flow time so far / SRPT bound", ylim=(0.0, None))
        elif kind == "distribution":
            panel.set(xlabel="flow time [slots]", ylabel="share of jobs", ylim=(0.0, 1.0))
        if kind != "ratio":
            panel.legend(fontsize=8)
        panel.set_title(_scenario(preemptive), fontsize=10)
    drawn.suptitle(f"{figure.name}: {setting}", fontsize=10)
    if path is not None:
        save_figure(drawn, path, force)
    return drawn
