"""What the FLEX paper says in print about its simulations, against ours.

Only the text of section 4.1 is quoted; what is only in figure 5 is not. The text gives numbers for
the base case alone; for sentences in words the criterion is ours, and part of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from malleable.papers.flex_figure5 import PRAISED, Figure5, Point
from malleable.papers.verdict import Verdict, between, judged, observed, paired
from malleable.replications import Interval, interval

__all__ = ["PRINTED", "Claim", "check_claims"]

PRINTED = {"fifo": (2.07, 3.24), "fair": (1.54, 1.61)}
"""Average and worst ratio of the base case, as section 4.1 prints them."""

_NEAR_AVERAGE, _NEAR_WORST = 0.10, 0.20  # the worst of 100 draws varies more than their mean
_CLEARLY = 1.5


@dataclass(frozen=True)
class Claim:
    """A printed claim, what we found, and whether it holds by the stated criterion."""

    claim: str
    paper: str
    ours: str
    criterion: str
    verdict: Verdict

    def as_dict(self) -> dict[str, Any]:
        """The claim in JSON types."""
        words = {"claim": self.claim, "paper": self.paper, "ours": self.ours}
        return {**words, "criterion": self.criterion, **self.verdict.as_dict()}


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.1f} %"


def _of(point: Point, series: str) -> tuple[float, float]:
    """Average and worst; only for points with ratios."""
    average, worst = point.average(series), point.worst(series)
    assert average is not None and worst is not None
    return average, worst


def check_claims(result: Figure5) -> list[Claim]:
    """Check every claim for which the points are there."""
    claims = list(_base_case(result))
    for check in (_slack, _small_jobs, _metrics, _larger):
        claims += check(result)
    return claims


def _base_case(result: Figure5) -> Iterator[Claim]:
    base = result.base
    if base is None or not base.ratios["flex"]:
        return
    for series, numbers in PRINTED.items():
        kinds = (("average", _NEAR_AVERAGE), ("worst", _NEAR_WORST))
        for (kind, near), paper, ours in zip(kinds, numbers, _of(base, series), strict=True):
            ratios, low, high = base.ratios[series], paper * (1.0 - near), paper * (1.0 + near)
            yield Claim(
                f"base case: {series.upper()}, {kind}",
                f"{100 * paper:.0f} %",
                _percent(ours),
                f"within {100 * near:.0f} % of it",
                judged(between(low, interval(ratios), high), len(ratios))
                if kind == "average"
                else observed(low <= ours <= high),
            )
    for series, name in (("flex", "FLEX"), ("flex-orders", "FLEX, fixed orders only")):
        worst = _of(base, series)[1]
        yield Claim(
            f"base case: {name}, worst",
            "less than .1 % higher",
            f"{100 * worst:.2f} %",
            "below 100.1 %",
            observed(worst < 1.001),
        )


def _range(points: list[Point], series: str) -> str:
    values = [_of(point, series)[0] for point in points]
    return f"{_percent(min(values))} to {_percent(max(values))}"


def _slack(result: Figure5) -> Iterator[Claim]:
    points = [point for point in result.panel("slack") if point.ratios["flex"]]
    if len(points) < 2:
        return
    for series in ("fifo", "fair"):
        yield Claim(
            f"{series.upper()} increases with slack",
            "curves increase",
            f"average {_range(points, series)}",
            "average never falls from one slack to the next",
            _judged(points, (_above(b, a, series) for a, b in pairwise(points))),
        )
    worst = max(_of(point, "flex")[1] for point in points)
    yield Claim(
        "FLEX is very close to the optimum at every slack",
        "curves overlay 1.0",
        f"worst {100 * worst:.2f} %",
        "below 100.1 %",
        observed(worst < 1.001),
    )
    spread = {
        series: [_of(point, series)[1] / _of(point, series)[0] - 1.0 for point in points]
        for series in ("fifo", "fair")
    }
    yield Claim(
        "FIFO is not robust, FAIR is",
        "worst far from average, close to it",
        f"worst above average by at least {100 * min(spread['fifo']):.0f} % "
        f"and at most {100 * max(spread['fair']):.0f} %",
        "FIFO's least distance above FAIR's largest",
        observed(min(spread["fifo"]) > max(spread["fair"])),
    )


def _small_jobs(result: Figure5) -> Iterator[Claim]:
    points = [point for point in result.panel("small") if point.ratios["flex"]]
    if len(points) < 2:
        return
    by_fifo = sorted(points, key=lambda point: _of(point, "fifo")[0])
    around = [point for point in by_fifo if 0.65 < point.small < 0.95]
    apart = [point for point in points if point not in around]
    yield Claim(
        "FIFO is poorest at about 80 % small jobs",
        "80 %",
        f"{100 * by_fifo[-1].small:.0f} %",
        "70 to 90 %",
        _judged(points, (_above(around[-1], other, "fifo") for other in apart))
        if around
        else observed(False),
    )
    yield Claim(
        "FIFO is at its best with jobs of one kind",
        "at both ends",
        f"{100 * by_fifo[0].small:.0f} %",
        "0 % (100 % is the same as 0 %)",
        _judged(points, (_above(other, points[0], "fifo") for other in points[1:]))
        if points[0].small == 0.0
        else observed(False),
    )
    yield Claim(
        "FAIR is flat",
        "basically flat",
        f"average {_range(points, 'fair')}",
        "largest at most 10 % above least",
        _judged(points, (_above(a, b, "fair", 1.1) for a in points for b in points if a is not b)),
    )
    over = [_of(point, "fair")[0] / _of(point, "flex")[0] for point in points]
    yield Claim(
        "FAIR is about 50 % above FLEX throughout",
        "about 50 %",
        f"{100 * min(over) - 100:.0f} to {100 * max(over) - 100:.0f} %",
        "40 to 60 %",
        _judged(
            points,
            (
                paired((sign, point.ratios["fair"]), (-sign * factor, point.ratios["flex"]))
                for point in points
                for sign, factor in ((1.0, 1.4), (-1.0, 1.6))
            ),
        ),
    )


def _judged(points: list[Point], margins: Iterable[Interval]) -> Verdict:
    """The verdict on a claim about averages at several points."""
    return judged(margins, min(point.simulations for point in points))


def _above(high: Point, low: Point, series: str, factor: float = 1.0) -> Interval:
    """The margin of a series' average, times a factor, being at least that of another point."""
    return paired((factor, high.ratios[series]), (-1.0, low.ratios[series]))


def _clearly_better(points: list[Point]) -> tuple[str, Verdict]:
    """How far FIFO and FAIR are above FLEX on these points at least."""
    rivals = [(point, series) for point in points for series in ("fifo", "fair")]
    least = min(_of(point, series)[0] / _of(point, "flex")[0] for point, series in rivals)
    verdict = _judged(
        points,
        (
            paired((1.0, point.ratios[series]), (-_CLEARLY, point.ratios["flex"]))
            for point, series in rivals
        ),
    )
    return f"FIFO and FAIR at least {least:.2f} times FLEX", verdict


def _metrics(result: Figure5) -> Iterator[Claim]:
    points = [
        point
        for point in result.panel("metric")
        if point.metric.name in PRAISED and point.ratios["flex"]
    ]
    if points:
        found, verdict = _clearly_better(points)
        yield Claim(
            f"FLEX does very well on {len(points)} named metrics",
            "very well compared to the others",
            found,
            f"average at least {_CLEARLY} times",
            verdict,
        )


def _larger(result: Figure5) -> Iterator[Claim]:
    for jobs in sorted({point.jobs for point in result.panel("larger")}):
        points = [
            point for point in result.panel("larger") if point.jobs == jobs and point.ratios["flex"]
        ]
        if points:
            found, verdict = _clearly_better(points)
            yield Claim(
                f"much larger experiments, {jobs:,} jobs",
                "conclusions remain intact",
                found,
                f"average at least {_CLEARLY} times",
                verdict,
            )
