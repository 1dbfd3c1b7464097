"""What wrong sizes and speed-up below linear cost: policies on whole traces against FAIR at its best.

    python -m benchmarks.robust --traces FOLDER --loads 0.5,0.7,0.9 --draws 8 --cells cells.tsv
    python -m benchmarks.robust --table cells.tsv
    python -m benchmarks.robust --loads 0.9 --speedups 1,0.8 --tasks --draws 4 --rules flex auto gittins \\
        --picture docs/estimates.png

Each line is a cell: a trace, a load, p (s tasks of a phase do s^p of what one does), what is said of sizes
(sigma: the truth times exp(sigma Z), drawn anew for every draw; ``tasks``: nothing but their number), a rule
(RULES), the mean over draws of its mean response over FAIR's on the same draw, the upper end of that mean's
95 % interval, and the worst draw; the rule's mean response, 95th percentile and longest wait [s], the last
two over FAIR's as well; and which FAIR that is. FAIR is run with reduce tasks started after 0.05, 0.8 and
all of the maps, and counts with the setting that has the least mean response over the draws. The seeds are
0, 1 ...; one attempt in a hundred fails. Without traces: instances.shortest_first(1). With ``--cells`` what
is in that file already is not measured again, so that an interrupted run goes on. A table has the worst
trace and load of each setting; a picture what a rule gives by what is said, at the loads and speed-ups that
are asked for.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cached_property
from itertools import cycle
from pathlib import Path
from typing import Any

import malleable as mb
from benchmarks.instances import hawk_jobs, shortest_first
from malleable.replications import interval
from malleable.view.drawing import new_figure, plain_numbers, policy_look, save_figure

RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "flex": ("flex", {}),
    "auto, not learning": ("auto", {"learn": False}),
    "hesrpt": ("hesrpt", {}),
    "hesrpt, learning": ("hesrpt", {"learn": True}),
    "auto": ("auto", {"learn": True}),
    "gittins": ("gittins", {}),
}
TRACES = (
    "swim-facebook/FB-2009_samples_24_times_1hr_0.tsv.gz",
    "swim-facebook/FB-2010_samples_24_times_1hr_0.tsv.gz",
    "yahoo-hawk/YH1_sub.tr.gz",
    "hadoop-rumen/folder-input-trace.json.gz",
    "hadoop-rumen/trace_3m.json.gz",
    "google2011/task_events_part-00011-of-00500.csv.gz",
    "swf/NASA-iPSC-1993-3.1-cln.swf.gz",
)
HEADER = (
    *("trace", "load", "p", "said", "rule", "mean", "upper", "worst"),
    *("response", "p95", "p95 / FAIR", "longest wait", "wait / FAIR", "FAIR", "draws", "seconds"),
)
FAIR_STARTS = (0.05, 0.8, 1.0)
METRICS = ("mean_response", "p95", "longest_wait")


def workloads(folder: Path | None, only: str) -> Iterator[tuple[str, mb.ClusterJobs]]:
    """Names and jobs."""
    if folder is None:
        yield "shortest_first(1)", shortest_first(1, False)[0]
    for name in TRACES if folder is not None else ():
        if only in name:
            yield (
                name.split("/")[0] + " " + Path(name).name.split(".")[0],
                hawk_jobs(folder / name) if "hawk" in name else mb.read(folder / name).tasks(),
            )


class Case:
    """A trace at a load and a p."""

    def __init__(self, jobs: mb.ClusterJobs, load: float, p: float, draws: int) -> None:
        self.jobs, self.load, self.p, self.draws = jobs, load, p, draws

    def runs(self, policy: str, said: Any, **options: Any) -> list[tuple[float, ...]]:
        """METRICS by draw."""
        found = []
        for seed in range(self.draws):
            result = mb.simulate(
                self.jobs, policy, load=self.load, rng=seed, estimates=said, speedup=self.p,
                failure=0.01, records=False, **options,
            )  # fmt: skip
            found.append(tuple(float(result.summary[policy][metric]) for metric in METRICS))
        return found

    @cached_property
    def fair(self) -> tuple[float, list[tuple[float, ...]]]:
        """FAIR's best setting, and its runs."""
        starts = FAIR_STARTS if self.jobs.reduces.any() else FAIR_STARTS[-1:]
        every = {start: self.runs("fair", None, slow_start=start) for start in starts}
        best = min(every, key=lambda start: sum(mean for mean, *_ in every[start]))
        return best, every[best]

    def cell(self, rule: str, said: Any) -> tuple[str, ...]:
        """A line from the mean over FAIR's on."""
        began = time.perf_counter()
        policy, options = RULES[rule]
        start, base = self.fair
        own = self.runs(policy, said, **options)
        ratios = [mine[0] / theirs[0] for mine, theirs in zip(own, base, strict=True)]
        mean, half = interval(ratios)
        upper = mean if math.isnan(half) else mean + half
        means = [sum(column) / self.draws for column in zip(*own, strict=True)]
        fairs = [sum(column) / self.draws for column in zip(*base, strict=True)]
        over = [
            mine / theirs if theirs else math.nan for mine, theirs in zip(means, fairs, strict=True)
        ]
        tails = (means[1], over[1], means[2], over[2])
        figures = (mean, upper, max(ratios))
        each = (time.perf_counter() - began) / self.draws
        return (
            *(f"{x:.4f}" for x in figures),
            f"{means[0]:.6g}",
            *(f"{x:.4g}" for x in tails),
            f"{start:g}",
            str(self.draws),
            f"{each:.2f}",
        )


def numbers(text: str) -> list[float]:
    """``0.5,0.7``"""
    return [float(word) for word in text.split(",")]


def cells(asked: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """As HEADER has them; those that are in the file already are left out."""
    known: set[tuple[str, ...]] = set()
    if asked.cells is not None and asked.cells.exists():
        known = {tuple(line.split("\t")[:5]) for line in asked.cells.read_text().splitlines()}
    sayings = [*asked.sigmas, *(["learn"] if asked.tasks else [])]
    for name, jobs in workloads(asked.traces, asked.only):
        for load in asked.loads:
            for p in asked.speedups:
                case = Case(jobs, load, p, asked.draws)
                for said in sayings:
                    words = "tasks" if said == "learn" else f"{said:g}"
                    for rule in asked.rules:
                        where = (name, f"{load:g}", f"{p:g}", words, rule)
                        if where not in known:
                            yield *where, *case.cell(rule, said)


def measure(asked: argparse.Namespace) -> None:
    """One line a cell, as soon as it is measured."""
    with nullcontext(sys.stdout) if asked.cells is None else asked.cells.open("a") as file:
        if asked.cells is None or asked.cells.stat().st_size == 0:
            print(*HEADER, sep="\t", file=file)
        for cell in cells(asked):
            print(*cell, sep="\t", flush=True, file=file)


def draw(asked: argparse.Namespace) -> None:
    """A panel for each load and p, a curve for each rule."""
    found = [dict(zip(HEADER, cell, strict=True)) for cell in cells(asked)]
    panels = sorted({(row["load"], row["p"]) for row in found}, reverse=True)
    figure = new_figure(4.0 * len(panels), 3.6)
    grid = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, (load, p) in zip(grid, panels, strict=True):
        axes.axhline(1.0, label="fair at its best", **policy_look("fair"))
        for rule, mark in zip(asked.rules, cycle("os^D"), strict=False):
            rows = [row for row in found if (row["load"], row["p"], row["rule"]) == (load, p, rule)]
            means = [float(row["mean"]) for row in rows]
            look = {"marker": mark, "markersize": 5, **policy_look(rule)}
            said = [row["said"].replace("tasks", "no sizes") for row in rows]
            axes.plot(said, means, label=rule, **look)
        slow = "do not slow each other down" if float(p) == 1.0 else "slow each other down"
        axes.set_title(f"Tasks {slow} (p = {p}), load {load}", fontsize=9, loc="left")
        axes.set(xlabel="how wrong sizes are: sigma, or no sizes at all", yscale="log")
    grid[0].set_ylabel("mean response over FAIR's")
    plain_numbers(grid[0].yaxis)
    grid[0].legend(fontsize="small")
    save_figure(figure, asked.picture)


def tabulate(files: list[Path]) -> None:
    """Of each setting and rule the worst trace and load, by the upper end."""
    worst: dict[tuple[str, str, str], tuple[float, float, float, str, int]] = {}
    for file in files:
        for line in file.read_text().splitlines():
            row = dict(zip(HEADER, line.split("\t"), strict=True))
            if row["trace"] == HEADER[0]:
                continue
            key = (row["rule"], row["p"], row["said"])
            upper, single, cells = float(row["upper"]), float(row["worst"]), 1
            where = f"{row['trace']} at {row['load']}"
            if key in worst:
                before = worst[key]
                single, cells = max(single, before[2]), before[4] + 1
                if before[0] >= upper:
                    worst[key] = (*before[:2], single, before[3], cells)
                    continue
            worst[key] = (upper, float(row["mean"]), single, where, cells)
    print("rule\tp\tsaid\tmean over FAIR\tupper\tworst draw of all\tcells\twhere")
    for (rule, p, said), (upper, mean, single, where, cells) in sorted(worst.items()):
        print(rule, p, said, f"{mean:.3f}", f"{upper:.3f}", f"{single:.3f}", cells, where, sep="\t")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--traces", type=Path, help="folder of the traces")
    parser.add_argument("--only", default="", help="a part of a trace's name")
    parser.add_argument("--loads", type=numbers, default=[0.5, 0.7, 0.9])
    parser.add_argument("--speedups", type=numbers, default=[1.0, 0.8, 0.5])
    parser.add_argument("--sigmas", type=numbers, default=[0.0, 0.5, 1.0, 2.0])
    parser.add_argument("--tasks", action="store_true", help="also: only their number is known")
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--rules", nargs="+", default=list(RULES), choices=RULES)
    parser.add_argument("--picture", help="draw it into this file instead")
    parser.add_argument("--cells", type=Path, help="add the cells that it lacks to this file")
    parser.add_argument("--table", type=Path, nargs="+", help="cells that were measured before")
    asked = parser.parse_args()
    if asked.table:
        tabulate(asked.table)
    elif asked.picture:
        draw(asked)
    else:
        measure(asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
