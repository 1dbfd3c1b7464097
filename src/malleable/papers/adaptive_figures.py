"""Figures 4 to 9 and tables 6 and 7 of the adaptive paper: nine benchmarks, four metrics.

Table 3's cluster of six nodes and tables 4 and 5's mixes are the paper's. It does not print users,
arrival rates and task times; ours are the constants below (users after its table 1). All metrics but
the completion time are averages over the time of a run. Every policy sees the same jobs, replication
k has seed ``seed + k``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from malleable.cluster.nodes import Cluster
from malleable.cluster.policy import Adaptive
from malleable.cluster.table import ClusterJobs
from malleable.papers.verdict import judged, margin
from malleable.replications import Interval, replicate
from malleable.view.drawing import check_drawing, new_figure, save_figure
from malleable.view.text import counted, table

__all__ = [
    "ADAPTIVE_FIGURES",
    "ADAPTIVE_REPLICATIONS",
    "AdaptiveFigure",
    "adaptive_figure_dict",
    "adaptive_figure_tables",
    "benchmark_jobs",
    "draw_adaptive_figure",
    "run_adaptive_figure",
    "table3_cluster",
]

ADAPTIVE_REPLICATIONS = 30
JOBS = 100
POLICIES: tuple[str | Adaptive, ...] = (
    "fifo",
    "fair",
    "adaptive",
    Adaptive(guard=2.0, name="adaptive-guard"),
    "adaptive-literal",
)
NAMES = ("fifo", "fair", "adaptive", "adaptive-guard", "adaptive-literal")

# From here to `table3_cluster`: ours, the paper does not say.
MAP_SECONDS = 10.0  # on a slot of 500 MHz, besides reading 64 MB
REDUCE_SECONDS = 40.0
SHUFFLE_SECONDS = 1.0  # that each reduce task copies
LOAD = 0.7  # mean work at 500 MHz an hour by what all slots do in it
SKEW = 2.0  # tables 4 and 5: arrival rates of neighbouring sizes where they are not equal
# The users of the paper's example (table 1), whose minimum shares of 140 slots in all are scaled to
# this cluster's 27. The experiments' own users are not printed.
USERS = tuple(
    {"name": f"user{k + 1}", "minimum": minimum, "priority": priority}
    for k, (minimum, priority) in enumerate(((9, 3), (4, 2), (8, 3), (6, 2), (0, 1), (0, 2)))
)

_MHZ = 500.0
_MEGABIT = 1e6 / 8
_BLOCK = 64 * 2.0**20
# Maps, reduces and rank by size.
_TYPES = {"small": (1, 1, 0), "io": (10, 1, 1), "cpu": (1, 10, 1), "large": (10, 10, 2)}
_WORKLOADS = (("small", "io"), ("small", "cpu"), ("small", "io", "cpu", "large"))


def table3_cluster() -> Cluster:
    """Six nodes: slots, MHz and retrieval rates of table 3, 100 Mbps between them; our users."""
    slow, fast = 40 * _MEGABIT, 100_000 * _MEGABIT
    rows = ((1, 1, 500, slow), (2, 1, 500, fast), (2, 8, 500, slow), (1, 8, 4200, fast))
    nodes = [
        {
            "count": count,
            "slots": slots,
            "rate": mhz / _MHZ,
            "storage": storage,
            "link": 100 * _MEGABIT,
        }
        for count, slots, mhz, storage in rows
    ]
    return Cluster(nodes, USERS)


def benchmark_jobs(workload: int, ordering: int, seed: int) -> ClusterJobs:
    """100 jobs of benchmark ``BM_{workload,ordering}``: Poisson arrivals, users at random."""
    kinds = _WORKLOADS[workload - 1]
    maps, reduces, rank = np.array([_TYPES[kind] for kind in kinds]).T
    weight = SKEW ** (rank * {1: -1.0, 2: 0.0, 3: 1.0}[ordering])
    share = weight / weight.sum()
    work = maps * MAP_SECONDS + reduces * (REDUCE_SECONDS + SHUFFLE_SECONDS)
    cluster = table3_cluster()
    gap = float(share @ work) / (LOAD * float(cluster.map_slots @ cluster.rate))
    generator = np.random.default_rng([workload, ordering, seed])
    kind = generator.choice(len(kinds), size=JOBS, p=share)
    owner = generator.integers(len(USERS), size=JOBS)
    return ClusterJobs(
        maps[kind],
        MAP_SECONDS,
        reduces[kind],
        REDUCE_SECONDS,
        arrival=np.cumsum(generator.standard_exponential(JOBS)) * gap,
        shuffle=SHUFFLE_SECONDS,
        block=_BLOCK,
        user=[f"user{u + 1}" for u in owner.tolist()],
        program=[kinds[k] for k in kind.tolist()],
    )


class _Experiment(NamedTuple):
    workloads: tuple[int, ...]
    metric: str
    title: str
    least: bool  # best
    claim: str


def _figures() -> dict[str, _Experiment]:
    found = {}
    for k, (workload, name) in enumerate(((1, "I/O"), (2, "CPU"), (3, "mixed"))):
        found[f"adaptive-fig{4 + k}"] = _Experiment(
            (workload,),
            "dissatisfaction",
            f"dissatisfaction with minimum shares, {name} workload",
            True,
            'Section 7.2: "our proposed algorithm can lead to considerable improvement in the'
            ' Dissatisfaction performance metric"',
        )
    for k, (workload, name) in enumerate(((1, "I/O"), (2, "CPU"), (3, "mixed"))):
        found[f"adaptive-fig{7 + k}"] = _Experiment(
            (workload,),
            "mean_response",
            f"mean completion time [s], {name} workload",
            True,
            'Section 7.2: "our proposed algorithm achieves the best mean completion time in all the'
            ' benchmarks"',
        )
    found["adaptive-table6"] = _Experiment(
        (1, 2, 3),
        "user_fairness",
        "distance from equal additional shares (fairness)",
        True,
        'Section 7.2: "the Fair-sharing algorithm has the best Fairness"',
    )
    found["adaptive-table7"] = _Experiment(
        (1, 2, 3),
        "locality",
        "map tasks that run where their block is [%]",
        False,
        'Section 7.2: "close to, and in some cases is better than the Fair-sharing algorithm"',
    )
    return found


ADAPTIVE_FIGURES = _figures()

# The paper's 95 % intervals: FIFO, FAIR, "MyALG".
_PRINTED = {
    "adaptive-table6": (
        ((14.88, 15.05), (11.59, 11.65), (14.68, 16.08)),
        ((14.93, 15.00), (11.57, 11.72), (12.68, 14.60)),
        ((14.63, 15.26), (11.59, 11.76), (17.23, 17.65)),
        ((14.77, 15.22), (11.63, 11.98), (11.99, 12.34)),
        ((14.83, 15.09), (11.81, 12.12), (13.99, 14.36)),
        ((14.42, 15.73), (11.81, 11.94), (17.37, 17.72)),
        ((14.94, 15.37), (11.47, 12.71), (14.11, 15.05)),
        ((14.73, 15.62), (11.72, 12.46), (14.41, 14.98)),
        ((15.00, 15.44), (11.89, 12.07), (12.11, 13.31)),
    ),
    "adaptive-table7": (
        ((96.60, 98.03), (98.12, 99.08), (98.62, 99.98)),
        ((47.39, 57.81), (89.84, 91.76), (93.82, 95.38)),
        ((62.93, 65.07), (71.43, 74.57), (66.44, 71.55)),
        ((90.38, 94.42), (97.12, 98.08), (98.56, 99.87)),
        ((68.65, 82.15), (93.93, 96.87), (91.78, 95.42)),
        ((78.73, 84.07), (94.14, 97.86), (93.78, 97.42)),
        ((73.48, 86.92), (78.77, 83.63), (99.12, 100.00)),
        ((92.36, 95.24), (81.27, 87.13), (95.11, 99.69)),
        ((79.23, 88.37), (78.02, 86.37), (66.86, 76.73)),
    ),
}
# "Close to": not lower by more than the paper's own largest gap between the middles, BM_{3,3}.
CLOSE = 10.4


_IS = {"holds": "", "fails": "", "open": "is "}


class AdaptiveFigure(NamedTuple):
    """One figure or table; not ``complete`` where it was interrupted.

    ``values``: by benchmark (workload, ordering) and policy an `Interval`.
    """

    name: str
    replications: int
    seed: int
    values: dict[tuple[int, int], dict[str, Interval]]
    complete: bool


def run_adaptive_figure(
    name: str,
    replications: int = ADAPTIVE_REPLICATIONS,
    *,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> AdaptiveFigure:
    """Run the benchmarks of one figure or table; Ctrl-C keeps those that are finished."""
    experiment = ADAPTIVE_FIGURES[name]
    values: dict[tuple[int, int], dict[str, Interval]] = {}
    points = [(workload, ordering) for workload in experiment.workloads for ordering in (1, 2, 3)]
    scale = 100.0 if experiment.metric == "locality" else 1.0
    for point in points:
        label = f"BM{point[0]},{point[1]}"
        found = replicate(
            partial(benchmark_jobs, *point),
            range(seed, seed + replications),
            POLICIES,
            executor=executor,
            progress=None
            if progress is None
            else lambda *_, label=label: progress(label, replications * len(points)),
            model="cluster",
            cluster=table3_cluster(),
            replicas=3,
            slow_start=1.0,
        )
        if not found.complete:
            return AdaptiveFigure(name, replications, seed, values, False)
        values[point] = {
            policy: Interval(
                scale * found.summary[policy][experiment.metric].mean,
                scale * found.summary[policy][experiment.metric].half,
            )
            for policy in NAMES
        }
    return AdaptiveFigure(name, replications, seed, values, True)


def _label(point: tuple[int, int]) -> str:
    return f"BM {point[0]}.{point[1]}"


def _margins(name: str, row: dict[str, Interval], policy: str) -> list[Interval]:
    """How far above 0 is what the claim says of a policy on one benchmark."""
    own, fair, fifo = row[policy], row["fair"], row["fifo"]
    if name == "adaptive-table7":
        return [margin(CLOSE, (1.0, own), (-1.0, fair))]
    if name == "adaptive-table6":
        own, fair = fair, own  # the claim is FAIR's
    return [margin(0.0, (1.0, other), (-1.0, own)) for other in (fair, fifo)]


def verdict(figure: AdaptiveFigure, policy: str = "adaptive") -> str:
    """One line: whether the paper's claim holds for a policy, and in which benchmarks."""
    margins = {point: _margins(figure.name, row, policy) for point, row in figure.values.items()}
    single = {
        point: judged(own, figure.replications, strict=True) for point, own in margins.items()
    }
    every = (each for own in margins.values() for each in own)
    claim = judged(every, figure.replications, strict=True)
    good = sum(each.holds is True for each in single.values())
    parts = [f"it holds in {good} of {counted(len(single), 'benchmark')}"]
    for word in ("fails", "open"):
        there = [_label(point) for point, each in single.items() if each.word == word]
        if there:
            parts.append(f"{word} in {', '.join(there)}")
    if ADAPTIVE_FIGURES[figure.name].metric == "dissatisfaction":
        below = sum(row[policy].mean < row["fifo"].mean for row in figure.values.values())
        parts.append(f"below FIFO in {below} by means")
    return f"{policy}: the claim {_IS[claim.word]}{claim.told()}: {'; '.join(parts)}"


def adaptive_figure_dict(figure: AdaptiveFigure) -> dict[str, Any]:
    """The figure in JSON types."""
    experiment = ADAPTIVE_FIGURES[figure.name]
    return {
        "figure": figure.name,
        "metric": experiment.metric,
        "replications": figure.replications,
        "seed": figure.seed,
        "complete": figure.complete,
        "claim": experiment.claim,
        "verdict": [verdict(figure, name) for name in NAMES[2:]] if figure.values else [],
        "ours": {
            "map_seconds": MAP_SECONDS,
            "reduce_seconds": REDUCE_SECONDS,
            "shuffle_seconds": SHUFFLE_SECONDS,
            "load": LOAD,
            "skew": SKEW,
            "users": [dict(user) for user in USERS],
        },
        "benchmarks": [
            {
                "benchmark": _label(point),
                "mean": {name: row[name].mean for name in NAMES},
                "half_width": {name: row[name].half for name in NAMES},
                "paper": _paper(figure.name, point),
            }
            for point, row in figure.values.items()
        ],
    }


def _paper(name: str, point: tuple[int, int]) -> dict[str, list[float]] | None:
    if name not in _PRINTED:
        return None
    row = _PRINTED[name][3 * (point[0] - 1) + point[1] - 1]
    return dict(zip(("fifo", "fair", "adaptive"), map(list, row), strict=True))


def _cell(value: Interval) -> str:
    half = "" if math.isnan(value.half) else f" +- {value.half:.2g}"
    return f"{value.mean:.4g}{half}"


def adaptive_figure_tables(figure: AdaptiveFigure) -> list[Any]:
    """Tables of ours and of the paper, the claim and whether it holds."""
    experiment = ADAPTIVE_FIGURES[figure.name]
    rows = [
        [_label(point)] + [_cell(row[name]) for name in NAMES]
        for point, row in figure.values.items()
    ]
    count = counted(figure.replications, "replication")
    title = f"{figure.name}: {experiment.title}, {count}, 95 %"
    parts: list[Any] = [table(title, ["benchmark", *NAMES], rows)]
    if figure.name in _PRINTED:
        printed = [
            [_label(point)] + [f"{low:.2f} to {high:.2f}" for low, high in paper.values()]
            for point in figure.values
            if (paper := _paper(figure.name, point)) is not None
        ]
        heads = ["the paper's", "FIFO", "FAIR", "MyALG"]
        parts.append(table("", heads, printed))
    else:
        parts.append("The paper shows this in a figure only, without numbers.")
    parts.append(experiment.claim)
    parts += [verdict(figure, name) for name in NAMES[2:]]
    users = "; ".join(
        f"{user['name']} minimum {user['minimum']}, priority {user['priority']}" for user in USERS
    )
    parts.append(
        f"Ours, not in the paper: load {LOAD}, rates of sizes in steps of {SKEW:g}, map "
        f"{MAP_SECONDS:g} s and reduce {REDUCE_SECONDS:g} s at 500 MHz, users {users}."
    )
    return parts


def draw_adaptive_figure(
    figure: AdaptiveFigure, path: str | os.PathLike[str] | None = None, force: bool = True
) -> Any:
    """Bars with intervals, one group a benchmark; short black lines where the paper prints numbers."""
    check_drawing(path)
    drawn = new_figure(5.0 + 1.2 * len(figure.values), 4.0)
    axes = drawn.add_subplot()
    places = np.arange(len(figure.values))
    width = 0.8 / len(NAMES)
    for k, name in enumerate(NAMES):
        own = [row[name] for row in figure.values.values()]
        axes.bar(
            places + (k - (len(NAMES) - 1) / 2) * width,
            [each.mean for each in own],
            width,
            yerr=[each.half for each in own],
            capsize=2,
            error_kw={"elinewidth": 1.0, "ecolor": "0.4"},
            label=name,
        )
    axes.set_xticks(places, [_label(point) for point in figure.values])
    axes.set_ylabel(ADAPTIVE_FIGURES[figure.name].title, fontsize=8)
    for place, point in zip(places, figure.values, strict=True):
        for name, (low, high) in (_paper(figure.name, point) or {}).items():
            at = place + (NAMES.index(name) - (len(NAMES) - 1) / 2) * width
            first = place == 0 and name == NAMES[0]
            axes.errorbar(
                [at],
                [(low + high) / 2],
                yerr=(high - low) / 2,
                fmt="k_",
                markersize=9,
                capsize=0,
                label="the paper's" if first else None,
            )
    drawn.legend(loc="outside right upper", fontsize=8)
    axes.set_title(figure.name, loc="left", fontsize=10)
    if path is not None:
        save_figure(drawn, path, force)
    return drawn
