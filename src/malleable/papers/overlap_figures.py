"""Figures 7 and 9 of the overlap paper (sections 5.2 and 5.3), beside what its text prints.

Figure 7: mean response over the lower bound at several loads, on jobs of a trace, with their own
sizes and with the cube root of their ratios of sizes. Figure 9: mean slowdown by size in 400
buckets, on generated jobs at loads 0.75 and 0.90. Single points of both figures are not printed;
the text is quoted, and for sentences in words the criterion is ours.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from malleable.papers.flex_figure5_claims import Claim
from malleable.papers.verdict import observed
from malleable.replications import replicate
from malleable.simulation import simulate
from malleable.tandem.simulate import capacities_at
from malleable.tandem.table import MapShuffleJobs, MapShuffleStream
from malleable.view.drawing import check_drawing, new_figure, save_figure
from malleable.view.simulation_pictures import plot_ratios, plot_slowdowns
from malleable.view.text import counted, table

__all__ = [
    "FIGURES",
    "JOBS",
    "PRINTED",
    "OverlapFigure",
    "cube_root_jobs",
    "draw_overlap_figure",
    "generated_jobs",
    "overlap_claims",
    "overlap_figure_dict",
    "overlap_figure_report",
    "run_overlap_figure",
]

FIGURES = ("overlap-fig7", "overlap-fig9")
JOBS = {"overlap-fig7": 30_000, "overlap-fig9": 10_000_000}
"""Generated jobs a point; the paper has 5 x 10^7 in figure 9 and a trace of 80,000 in figure 7."""

PRINTED = {
    0.75: {"k-lps": 6.50, "max-srpt": 3.32, "split-srpt": 3.55},
    0.90: {"k-lps": 16.28, "max-srpt": 5.58, "split-srpt": 5.66},
}
"""Mean responses by load, as section 5.3 prints them."""

_POLICIES = ("k-lps", "max-srpt", "split-srpt", "two-srpt")
_LOADS = (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75)
_PANELS = ("sizes of the trace", "cube root of the ratios")
_BUCKETS, _WIDTH = 400, 0.25
_FEWEST = 1000  # jobs in a bucket that a claim looks at
# How near a mean must be to the printed one, by load and policy.
_NEAR = {0.75: {"k-lps": 0.05}, 0.90: {"k-lps": 0.10, "max-srpt": 0.04, "split-srpt": 0.04}}
_NEAR_ELSE = 0.03


class OverlapFigure(NamedTuple):
    """One figure; not ``complete`` where it was interrupted.

    ``rows`` are those of `Replications`, with ``panel`` (figure 7: 0 and 1) or without; ``slowdown`` is by
    load (figure 9).
    """

    name: str
    source: str
    jobs: int
    seed: int
    rows: list[dict[str, Any]]
    slowdown: dict[float, dict[str, tuple[Any, Any]]]
    complete: bool


def cube_root_jobs(jobs: MapShuffleJobs) -> MapShuffleJobs:
    """The same map sizes; ratios of sizes are the cube roots of what they were, shuffle sizes of
    mean 1 (section 5.2). Jobs without map work keep their shuffle size before scaling."""
    some = jobs.map > 0.0
    ratio = np.divide(jobs.shuffle, jobs.map, out=np.ones(len(jobs)), where=some)
    shuffle = np.where(some, jobs.map * np.cbrt(ratio), jobs.shuffle)
    mean = float(shuffle.mean()) if len(jobs) else 0.0
    if not mean > 0.0:
        raise ValueError("shuffle: no job has any")
    return MapShuffleJobs(jobs.map, shuffle / mean, arrival=jobs.arrival, weight=jobs.weight)


def generated_jobs(jobs: int, seed: int) -> MapShuffleJobs:
    """A table of section 5.3's jobs: Poisson arrivals, log-normal sizes."""
    parts = list(MapShuffleStream(jobs, 0.5).chunks(seed))
    arrival, maps, shuffles = (np.concatenate([part[k] for part in parts]) for k in range(3))
    return MapShuffleJobs(maps, shuffles, arrival=arrival)


def _at_load(jobs: MapShuffleJobs, load: float) -> MapShuffleJobs:
    """Sizes in seconds at the capacities that make this the load."""
    capacity = capacities_at(jobs, load)
    return MapShuffleJobs(
        jobs.map / capacity[0], jobs.shuffle / capacity[1], arrival=jobs.arrival, weight=jobs.weight
    )


def _figure7(
    source: MapShuffleJobs, seed: int, progress: Callable[[str, int], None] | None
) -> tuple[list[dict[str, Any]], bool]:
    rows: list[dict[str, Any]] = []
    for panel, jobs in enumerate((source, cube_root_jobs(source))):

        def make(_: int, load: float, jobs: MapShuffleJobs = jobs) -> MapShuffleJobs:
            return _at_load(jobs, load)

        def advance(done: int, total: int, panel: int = panel) -> None:
            if progress is not None:
                progress(_PANELS[panel], 2 * total)

        found = replicate(
            make,
            [seed],
            _POLICIES,
            grid={"load": _LOADS},
            workers=os.cpu_count(),
            progress=advance,
        )
        rows += [{"panel": panel, **row} for row in found.rows]
        if not found.complete:
            return rows, False
    return rows, True


def _figure9(
    jobs: int, seed: int, progress: Callable[[str, int], None] | None
) -> tuple[list[dict[str, Any]], dict[float, dict[str, tuple[Any, Any]]], bool]:
    rows: list[dict[str, Any]] = []
    slowdown: dict[float, dict[str, tuple[Any, Any]]] = {}
    for load in PRINTED:
        for policy in _POLICIES:
            found = simulate(
                MapShuffleStream(jobs, load),
                policy=policy,
                rng=seed,
                buckets=_BUCKETS,
                bucket_width=_WIDTH,
            )
            if not found.complete:
                return rows, slowdown, False
            rows.append({"load": load, "seed": seed, "policy": policy, **found.summary[policy]})
            slowdown.setdefault(load, {})[policy] = found.slowdown[policy]
            if progress is not None:
                progress(f"load {load}", len(PRINTED) * len(_POLICIES))
    return rows, slowdown, True


def run_overlap_figure(
    name: str,
    *,
    jobs: int | None = None,
    trace: MapShuffleJobs | None = None,
    seed: int = 0,
    progress: Callable[[str, int], None] | None = None,
) -> OverlapFigure:
    """Run the experiments of one figure; Ctrl-C keeps the points that are finished.

    Parameters
    ----------
    name : {"overlap-fig7", "overlap-fig9"}
    jobs : int, optional
        Generated jobs a point; default: `JOBS`.
    trace : MapShuffleJobs, optional
        Figure 7: its jobs instead of generated ones, with their arrivals.
    seed : int
        Of generated jobs.
    progress : callable, optional
        Called with (label, all points) after each point.
    """
    count = JOBS[name] if jobs is None else jobs
    if isinstance(count, bool) or count < 2:
        raise ValueError(f"jobs = {count!r}: must be at least 2")
    if name == "overlap-fig9":
        if trace is not None:
            raise ValueError("overlap-fig9: its jobs are generated, it takes no trace")
        rows, slowdown, complete = _figure9(count, seed, progress)
        return OverlapFigure(name, "generated", count, seed, rows, slowdown, complete)
    source = generated_jobs(count, seed) if trace is None else trace
    rows, complete = _figure7(source, seed, progress)
    kind = "generated" if trace is None else "trace"
    return OverlapFigure(name, kind, len(source), seed, rows, {}, complete)


def overlap_claims(figure: OverlapFigure) -> list[Claim]:
    """What the text says, against ours; only where the points are there."""
    if not figure.complete:
        return []
    return list(_claims7(figure) if figure.name == "overlap-fig7" else _claims9(figure))


def _ratio(figure: OverlapFigure, panel: int, load: float, policy: str) -> float:
    for row in figure.rows:
        if (row["panel"], row["load"], row["policy"]) == (panel, load, policy):
            return float(row["mean_response"] / row["lower_bound"])
    raise KeyError(policy)


def _claims7(figure: OverlapFigure) -> Iterator[Claim]:
    for panel, where in enumerate(_PANELS):
        gains = [
            _ratio(figure, panel, load, "k-lps") / _ratio(figure, panel, load, policy)
            for load in _LOADS
            for policy in ("max-srpt", "split-srpt")
        ]
        yield Claim(
            f"MaxSRPT and SplitSRPT against k-LPS, {where}",
            '"perform much better than the k-LPS policy"',
            f"k-LPS needs {min(gains):.3g} to {max(gains):.3g} times as long",
            "better at every load",
            observed(min(gains) > 1.0),
        )
    top = _LOADS[-1]
    for panel, (better, other) in enumerate(
        (("split-srpt", "max-srpt"), ("max-srpt", "split-srpt"))
    ):
        a, b = (_ratio(figure, panel, top, policy) for policy in (better, other))
        yield Claim(
            f"{better} against {other}, {_PANELS[panel]}",
            '"SplitSRPT outperforms MaxSRPT when the load is high"'
            if panel == 0
            else '"MaxSRPT now has better performance than SplitSRPT"',
            f"{a:.3f} and {b:.3f} at load {top}",
            f"better at load {top}",
            observed(a < b),
        )


def _claims9(figure: OverlapFigure) -> Iterator[Claim]:
    for row in figure.rows:
        printed = PRINTED[row["load"]].get(row["policy"])
        if printed is None:
            continue
        near = _NEAR[row["load"]].get(row["policy"], _NEAR_ELSE)
        yield Claim(
            f"mean response of {row['policy']} at load {row['load']}",
            f"{printed:.2f}",
            f"{row['mean_response']:.3f}",
            f"within {100 * near:.0f} %",
            observed(abs(row["mean_response"] / printed - 1.0) <= near),
        )
    for load, slowdown in figure.slowdown.items():
        count = np.asarray(slowdown["k-lps"][0])
        seen = count >= _FEWEST
        means = {policy: np.asarray(slowdown[policy][1])[seen] for policy in slowdown}
        if not seen.any():
            continue
        for policy in ("max-srpt", "split-srpt"):
            part = float((means[policy] < means["k-lps"]).mean())
            yield Claim(
                f"slowdown of {policy} at load {load}",
                '"all job sizes have better expected performance ... than they do under k-LPS"',
                f"below k-LPS in {100 * part:.0f} % of {counted(int(seen.sum()), 'bucket')}",
                f"all buckets with {_FEWEST} jobs",
                observed(part == 1.0),
            )
        half = _BUCKETS // 2
        large = {
            policy: float(np.nansum((found[0] * found[1])[half:]) / np.sum(found[0][half:]))
            for policy, found in slowdown.items()
            if np.sum(found[0][half:]) >= _FEWEST
        }
        if len(large) < len(slowdown):
            continue
        split, largest = means["split-srpt"][0], means["max-srpt"][0]
        yield Claim(
            f"SplitSRPT fairer than MaxSRPT at load {load}",
            '"slowdowns for small jobs under SplitSRPT are bigger ... for big jobs ... smaller"',
            f"first bucket {split:.3g} and {largest:.3g}, sizes of 50 s to 100 s "
            f"{large['split-srpt']:.3g} and {large['max-srpt']:.3g}",
            "larger in the first bucket, smaller from 50 s to 100 s",
            observed(split > largest and large["split-srpt"] < large["max-srpt"]),
        )


def overlap_figure_dict(figure: OverlapFigure) -> dict[str, Any]:
    """The figure in JSON types."""
    return {
        "figure": figure.name,
        "jobs": figure.jobs,
        "source": figure.source,
        "seed": figure.seed,
        "complete": figure.complete,
        "points": figure.rows,
        "slowdown": {
            str(load): {
                policy: {
                    "jobs": np.asarray(count).tolist(),
                    "mean": [None if np.isnan(x) else float(x) for x in np.asarray(mean)],
                }
                for policy, (count, mean) in found.items()
            }
            for load, found in figure.slowdown.items()
        },
        "printed": {str(load): means for load, means in PRINTED.items()}
        if figure.name == "overlap-fig9"
        else {},
        "claims": [claim.as_dict() for claim in overlap_claims(figure)],
    }


def overlap_figure_report(figure: OverlapFigure) -> list[Any]:
    """Tables, and what the text says beside ours."""
    parts: list[Any] = []
    jobs = counted(figure.jobs, "job")
    if figure.name == "overlap-fig9":
        heads = ["load"]
        for policy in _POLICIES:
            heads += [policy, "paper"] if policy in PRINTED[0.75] else [policy]
        heads.append("bound")
        rows = []
        for load, printed in PRINTED.items():
            found = {row["policy"]: row for row in figure.rows if row["load"] == load}
            if len(found) < len(_POLICIES):
                continue
            line = [f"{load}"]
            for policy in _POLICIES:
                line.append(f"{found[policy]['mean_response']:.3f}")
                line += [f"{printed[policy]:.2f}"] if policy in printed else []
            rows.append([*line, f"{found['k-lps']['lower_bound']:.3f}"])
        parts.append(table(f"mean response [s], {jobs} a point", heads, rows))
    else:
        for panel, where in enumerate(_PANELS):
            rows = []
            for load in _LOADS:
                found = {
                    row["policy"]: row
                    for row in figure.rows
                    if row["panel"] == panel and row["load"] == load
                }
                if len(found) == len(_POLICIES):
                    rows.append(
                        [f"{load}", *(f"{_ratio(figure, panel, load, p):.3f}" for p in _POLICIES)]
                    )
            if rows:
                title = f"mean response / bound, {jobs} ({figure.source}), {where}"
                parts.append(table(title, ["load", *_POLICIES], rows))
        if figure.source == "generated":
            parts.append(
                "Generated jobs in place of Google's trace: --trace FILE reads google2011."
            )
    claims = overlap_claims(figure)
    if claims:
        cells = [[c.claim, c.paper, c.ours, c.verdict.word] for c in claims]
        parts.append(table("", ("claim", "the paper", "ours", "in this run"), cells, left=3))
    return parts


def draw_overlap_figure(
    figure: OverlapFigure, path: str | os.PathLike[str] | None = None, force: bool = True
) -> Any:
    """Both panels, with the paper's axes."""
    check_drawing(path)
    drawn = new_figure(11.0, 4.5)
    axes = drawn.subplots(1, 2)
    if figure.name == "overlap-fig7":
        for panel, where in enumerate(_PANELS):
            plot_ratios(axes[panel], [row for row in figure.rows if row["panel"] == panel])
            axes[panel].set_title(where, loc="left", fontsize=10)
    else:
        for panel, (load, slowdown) in enumerate(figure.slowdown.items()):
            plot_slowdowns(axes[panel], slowdown, _WIDTH)
            axes[panel].set_title(f"load {load}", loc="left", fontsize=10)
    if path is not None:
        save_figure(drawn, path, force)
    return drawn
