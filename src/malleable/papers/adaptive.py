"""Figures 4 to 9 and tables 6 and 7 of Rasooli and Down 2011 ("the paper"): nine benchmarks, four metrics.

A benchmark "BM w.o" is workload w (kinds of jobs, `_WORKLOADS`) with ordering o (1: small jobs arrive most
often, 2: all alike, 3: large ones). The cluster (table 3) and the mixes (tables 4 and 5) are the paper's. It
does not print users, arrival rates and task times; ours are the constants below (users after its table 1)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from malleable.cluster.nodes import Cluster
from malleable.cluster.table import ClusterJobs
from malleable.papers.claim import Claim, judged, margin
from malleable.papers.figure import Figure, Panel, Run, Series, bar_place, picture
from malleable.replications import Interval
from malleable.view.text import counted

JOBS = 100  # of a simulation
# `adaptive` is the paper's policy with mended formulas, `adaptive-literal` the formulas as it prints them.
NAMES = ("fifo", "fair", "adaptive", "adaptive-literal")

# Values from here to `table3_cluster` are ours; the paper does not give them.
MAP_SECONDS = 10.0  # on a slot of 500 MHz, besides reading 64 MB
REDUCE_SECONDS = 40.0  # on a slot of 500 MHz
SHUFFLE_SECONDS = 1.0  # seconds that each reduce task copies
LOAD = 0.7  # mean work an hour at 500 MHz, over the capacity of all slots
SKEW = 2.0  # tables 4 and 5: ratio of the arrival rates of neighbouring sizes, if they differ
# The users of the paper's example (table 1), whose minimum shares of 140 slots in all are scaled to
# this cluster's 27. The experiments' own users are not printed.
USERS = tuple(
    {"name": f"user{k + 1}", "minimum": minimum, "priority": priority}
    for k, (minimum, priority) in enumerate(((9, 3), (4, 2), (8, 3), (6, 2), (0, 1), (0, 2)))
)

_MHZ = 500.0  # clock of a slot of rate 1
_MEGABIT = 1e6 / 8  # bytes
_BLOCK = 64 * 2.0**20  # bytes that a map task reads
# By kind of job: map tasks, reduce tasks, and its rank by size.
_TYPES = {"small": (1, 1, 0), "io": (10, 1, 1), "cpu": (1, 10, 1), "large": (10, 10, 2)}
_WORKLOADS = (("small", "io"), ("small", "cpu"), ("small", "io", "cpu", "large"))


def table3_cluster() -> Cluster:
    """Six nodes with the slots, MHz and retrieval rates of table 3, 100 Mbps between them; our users."""
    slow, fast = 40 * _MEGABIT, 100_000 * _MEGABIT
    rows = ((1, 1, 500, slow), (2, 1, 500, fast), (2, 8, 500, slow), (1, 8, 4200, fast))
    names = ("count", "slots", "rate", "storage", "link")
    nodes = [
        dict(zip(names, (count, slots, mhz / _MHZ, storage, 100 * _MEGABIT), strict=True))
        for count, slots, mhz, storage in rows
    ]
    return Cluster(nodes, USERS)


def benchmark_jobs(workload: int, ordering: int, seed: int) -> ClusterJobs:
    # Jobs of one simulation of benchmark "BM workload.ordering".
    kinds = _WORKLOADS[workload - 1]
    maps, reduces, rank = np.array([_TYPES[kind] for kind in kinds]).T
    weight = SKEW ** (rank * {1: -1.0, 2: 0.0, 3: 1.0}[ordering])
    share = weight / weight.sum()
    work = maps * MAP_SECONDS + reduces * (REDUCE_SECONDS + SHUFFLE_SECONDS)
    cluster = table3_cluster()
    # Mean seconds between two arrivals.
    gap = float(share @ work) / (LOAD * float(cluster.map_slots @ cluster.rate))
    generator = np.random.default_rng([workload, ordering, seed])
    kind = generator.choice(len(kinds), size=JOBS, p=share)
    owner = generator.integers(len(USERS), size=JOBS)
    arrival = np.cumsum(generator.standard_exponential(JOBS)) * gap
    tasks = maps[kind], MAP_SECONDS, reduces[kind], REDUCE_SECONDS
    copying: dict[str, Any] = {"shuffle": SHUFFLE_SECONDS, "block": _BLOCK}
    user, program = [f"user{u + 1}" for u in owner.tolist()], [kinds[k] for k in kind.tolist()]
    return ClusterJobs(*tasks, arrival=arrival, user=user, program=program, **copying)


# Quotes from section 7.2, by metric.
_QUOTES = {
    "dissatisfaction": '"our proposed algorithm can lead to considerable improvement in the Dissatisfaction'
    ' performance metric"',
    "mean_response": '"our proposed algorithm achieves the best mean completion time in all the benchmarks"',
    "user_fairness": '"the Fair-sharing algorithm has the best Fairness"',
    "locality": '"close to, and in some cases is better than the Fair-sharing algorithm"',
}

# The paper's 95 % intervals: FIFO, FAIR, "MyALG".
_PRINTED = {
    "user_fairness": {
        "BM 1.1": ((14.88, 15.05), (11.59, 11.65), (14.68, 16.08)),
        "BM 1.2": ((14.93, 15.00), (11.57, 11.72), (12.68, 14.60)),
        "BM 1.3": ((14.63, 15.26), (11.59, 11.76), (17.23, 17.65)),
        "BM 2.1": ((14.77, 15.22), (11.63, 11.98), (11.99, 12.34)),
        "BM 2.2": ((14.83, 15.09), (11.81, 12.12), (13.99, 14.36)),
        "BM 2.3": ((14.42, 15.73), (11.81, 11.94), (17.37, 17.72)),
        "BM 3.1": ((14.94, 15.37), (11.47, 12.71), (14.11, 15.05)),
        "BM 3.2": ((14.73, 15.62), (11.72, 12.46), (14.41, 14.98)),
        "BM 3.3": ((15.00, 15.44), (11.89, 12.07), (12.11, 13.31)),
    },
    "locality": {
        "BM 1.1": ((96.60, 98.03), (98.12, 99.08), (98.62, 99.98)),
        "BM 1.2": ((47.39, 57.81), (89.84, 91.76), (93.82, 95.38)),
        "BM 1.3": ((62.93, 65.07), (71.43, 74.57), (66.44, 71.55)),
        "BM 2.1": ((90.38, 94.42), (97.12, 98.08), (98.56, 99.87)),
        "BM 2.2": ((68.65, 82.15), (93.93, 96.87), (91.78, 95.42)),
        "BM 2.3": ((78.73, 84.07), (94.14, 97.86), (93.78, 97.42)),
        "BM 3.1": ((73.48, 86.92), (78.77, 83.63), (99.12, 100.00)),
        "BM 3.2": ((92.36, 95.24), (81.27, 87.13), (95.11, 99.69)),
        "BM 3.3": ((79.23, 88.37), (78.02, 86.37), (66.86, 76.73)),
    },
}
# "Close to": not lower by more than the paper's own largest gap between the middles (BM 3.3) [% of maps].
CLOSE = 10.4
_BENCHMARK = "benchmark: workload.ordering"


def figure(run: Run, metric: str, *workloads: int) -> Figure:
    points = [(workload, ordering) for workload in workloads for ordering in (1, 2, 3)]
    labels = [f"BM {workload}.{ordering}" for workload, ordering in points]
    made = zip(labels, (partial(benchmark_jobs, *point) for point in points), strict=True)
    how = {"cluster": table3_cluster(), "replicas": 3, "slow_start": 1.0, "ageing": 0.0}
    found = run.replicate([(*one, {}) for one in made], NAMES, **how)
    scale = 100.0 if metric == "locality" else 1.0
    rows = []
    for label, one in zip(labels, found, strict=False):
        ours = {policy: margin(0.0, (scale, one.summary[policy][metric])) for policy in NAMES}
        rows.append({"benchmark": label, **ours})
    return figure_of(run, metric, rows)


def figure_of(run: Run, metric: str, rows: list[dict[str, Any]]) -> Figure:
    known = _PRINTED.get(metric, {})
    printed = [
        {"benchmark": row["benchmark"], **dict(zip(NAMES, known[row["benchmark"]], strict=False))}
        for row in rows
        if known
    ]
    panels = [
        Panel("benchmarks", {"benchmark": "", **dict.fromkeys(NAMES, ".4g .2g")}, rows),
        Panel("the paper's", {"benchmark": "", **dict.fromkeys(NAMES[:3], ".2f")}, printed),
    ]
    pairs = [own[name] for own in printed for name in NAMES[:3]]
    middles = [Interval((low + high) / 2, (high - low) / 2) for low, high in pairs]
    at = [bar_place(group, bar, len(NAMES)) for group in range(len(printed)) for bar in range(3)]
    look = {"color": "black", "marker": "_", "markersize": 9, "linestyle": ""}
    marks = [Series("the paper's", middles, at, look)] if printed else []
    names = ("load", "skew", "map_seconds", "reduce_seconds", "shuffle_seconds")
    values = LOAD, SKEW, MAP_SECONDS, REDUCE_SECONDS, SHUFFLE_SECONDS
    constants = dict(zip(names, values, strict=True))
    users = (f"{user['name']} {user['minimum']}, {user['priority']}" for user in USERS)
    listed = ", ".join(f"{name} {value:g}" for name, value in constants.items())
    note = f"Ours, not in the paper: {listed}; minima and priorities of users: {'; '.join(users)}."
    only = "The paper shows this in a figure only, without numbers."
    return run.figure(
        "95 % intervals",
        panels,
        claims=list(_claims(run, metric, rows)),
        notes=[note] if printed else [only, note],
        axes=[[picture(panels[0], NAMES, run.shows, more=marks, xlabel=_BENCHMARK)]],
        facts={"metric": metric, "ours": {**constants, "users": list(USERS)}},
    )


def _margins(metric: str, row: dict[str, Any], policy: str) -> list[Interval]:
    # How far above 0 the difference of the claim is for a policy on one benchmark.
    own, fair, fifo = row[policy], row["fair"], row["fifo"]
    if metric == "locality":
        return [margin(CLOSE, (1.0, own), (-1.0, fair))]
    if metric == "user_fairness":
        own, fair = fair, own  # the claim is about FAIR
    return [margin(0.0, (1.0, other), (-1.0, own)) for other in (fair, fifo)]


def _claims(run: Run, metric: str, rows: list[dict[str, Any]]) -> Iterator[Claim]:
    for policy in NAMES[2:] if rows else ():
        margins = {row["benchmark"]: _margins(metric, row, policy) for row in rows}
        words = {at: judged(own, run.count, strict=True).word for at, own in margins.items()}
        good = list(words.values()).count("holds")
        parts = [f"holds in {good} of {counted(len(rows), 'benchmark')}"]
        for word in ("fails", "open"):
            there = ", ".join(at for at, each in words.items() if each == word)
            parts += [f"{word} in {there}"] * bool(there)
        if metric == "dissatisfaction":
            below = sum(row[policy].mean < row["fifo"].mean for row in rows)
            parts.append(f"below FIFO in {below} by means")
        every = (each for own in margins.values() for each in own)
        verdict = judged(every, run.count, strict=True)
        yield Claim(policy, _QUOTES[metric], "", "; ".join(parts), verdict)
