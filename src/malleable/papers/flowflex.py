"""Figures 10 to 12 of Nagarajan et al. 2013 ("the paper"): FlowFlex against FAIR and FIFO, beside its printed
values.

Figures 10 and 11: 25 generated instances (section 5.1), 9 sums and 8 maxima over flows; average and worst
ratio (value + 1) / (bound + 1) to the best bound, with times in units of Q, the mean time of a job. Policy
`flowflex` is improved here, `flowflex-literal` does only what the paper describes.

Figure 12, on a cluster. The paper (section 5.2): 10 flows of 2 to 10 Gridmix2 jobs of random sizes, wired at
random (a pair of jobs with probability 0.5); all at once, or at exponential gaps; three random sets of each;
epochs of about 2 s; reduce tasks are ready after a fixed part of the maps. Ours: 10 nodes of 8 slots; a
log-uniform number of maps from 8 to 400 of 10, 20 or 40 s and a reduce task for each 10 maps that copies 5 s
and works 30 s; task times vary by 20 %; reduces are ready after half of the maps; gaps of 60 s; guesses of 20
s a task. FlowFlex is run once for each metric.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from malleable.cluster.nodes import Cluster
from malleable.cluster.table import ClusterJobs
from malleable.flows.generate import section51_flows
from malleable.papers.claim import Claim, judged, observed, paired
from malleable.papers.figure import Figure, Panel, Range, Run, picture, shown
from malleable.planning import plan
from malleable.replications import Interval, interval

SLOTS = 25
RIVALS = ("fair", "fifo")
_POLICIES = ("flowflex", "flowflex-literal", "fair", "fifo")
_METRICS = ("completion", "weighted completion", "stretch", "tardy", "weighted tardy", "tardiness",
    "weighted tardiness", "SLA", "weighted SLA")  # fmt: skip
_CLEARLY, _NEAR = 1.5, 1.1  # ratios from which a policy is "clearly" worse, up to which it is near


def _ratios(objective: str, weighted: bool, seed: int) -> list[float]:
    # By policy; FlowFlex first, because its bound is the best one.
    flows = section51_flows(seed, slots=SLOTS, weighted=weighted)
    plans = [plan(flows, SLOTS, objective, policy) for policy in _POLICIES]
    for own in plans:
        own.validate()
    return [(own.value + 1.0) / (plans[0].lower_bound + 1.0) for own in plans]


def bounds(run: Run, aggregate: str) -> Figure:
    # With weight 1 the largest tardy penalty is 1 or 0, so the paper leaves it out.
    metrics = [each for each in _METRICS if (aggregate, each) != ("max", "tardy")]
    cases = [(f"{aggregate}:{each.split()[-1].lower()}", "weighted" in each) for each in metrics]
    named = zip(metrics, cases, strict=True)
    work = ((metric, _ratios(*case, seed)) for metric, case in named for seed in run.seeds)
    found = run.steps(work, run.count * len(cases))
    rows, samples = [], {}
    for k in range(len(found) // run.count):
        own = np.array(found[k * run.count : (k + 1) * run.count])
        ranges = map(Range, own.mean(axis=0).tolist(), own.max(axis=0).tolist())
        name = "makespan" if cases[k] == ("max:completion", False) else metrics[k]
        samples[name] = dict(zip(_POLICIES, own.T, strict=True))
        row = {"metric": name, "objective": cases[k][0], "weighted": cases[k][1]}
        rows.append({**row, **dict(zip(_POLICIES, ranges, strict=True))})
    panel = Panel("metrics", {"metric": "", **dict.fromkeys(_POLICIES, ".3f")}, rows)
    return run.figure(
        "(value + 1) / (bound + 1), mean / worst",
        [panel],
        claims=list(_CLAIMS[aggregate](samples)) if run.complete else [],
        axes=[[picture(panel, _POLICIES, "(value + 1) / (bound + 1); bar: mean", yscale="log")]],
        facts={"slots": SLOTS},
    )


# By metric and policy: one ratio per simulation.
_Samples = dict[str, dict[str, Any]]


def _claim(
    text: str, criterion: str, margins: list[Interval], ours: Iterable[float], samples: _Samples
) -> Claim:
    count = len(next(iter(samples.values()))["fifo"])
    told = ", ".join(f"{each:.3f}" for each in ours)
    return Claim(text, "", criterion, told, judged(margins, count))


def _better(
    policy: str, text: str, factor: float, metrics: Iterable[str], samples: _Samples
) -> Claim:
    # The claim holds for a metric if both FAIR and FIFO are above FlowFlex by the factor.
    margins, ours = [], []
    for metric in metrics:
        own = samples[metric]
        margins += [paired((1.0, own[rival]), (-factor, own[policy])) for rival in RIVALS]
        ours.append(min(own[rival].mean() for rival in RIVALS) / own[policy].mean())
    criterion = f"FAIR's and FIFO's means above {factor:g} times FlowFlex's, metric by metric"
    return _claim(text, criterion, margins, ours, samples)


def _at_most(most: float, text: str, ratios: Collection[Any], samples: _Samples) -> Claim:
    margins = [paired((-1.0, own), constant=most) for own in ratios]
    criterion, means = f"all means at most {most:g}", (own.mean() for own in ratios)
    return _claim(text, criterion, margins, means, samples)


def _claims10(samples: _Samples) -> Iterator[Claim]:
    for policy in _POLICIES[:2]:
        text = f'{policy} "performs significantly better than either Fair or FIFO"'
        yield _better(policy, text, 1.0, samples, samples)
        means = [own[policy].mean() for own in samples.values()]
        text, criterion = f'{policy} "often is close to optimal"', "half of the means at most 1.1"
        verdict = observed(np.median(means) <= _NEAR)
        yield Claim(text, "", criterion, f"median of the means {np.median(means):.3f}", verdict)
        text = f'{policy} "dramatically better ... on the tardiness metrics"'
        late = ("tardiness", "weighted tardiness")
        yield _better(policy, text, 2.0, late, samples)
    times = ("completion", "weighted completion", "stretch")
    *others, stretch = (samples[metric]["fifo"] for metric in times)
    text = '"FIFO performs particularly poorly on average stretch"'
    criterion = "its mean there above 1.5 times those of completion"
    margins = [paired((1.0, stretch), (-_CLEARLY, own)) for own in others]
    yield _claim(text, criterion, margins, (own.mean() for own in (*others, stretch)), samples)


def _claims11(samples: _Samples) -> Iterator[Claim]:
    makespan = samples["makespan"].values()
    yield _at_most(_NEAR, '"makespan is fine for all schemes"', makespan, samples)
    for policy in _POLICIES[:2]:
        text = f'{policy} "does far better than either Fair or FIFO on all the others"'
        others = [metric for metric in samples if metric != "makespan"]
        yield _better(policy, text, _CLEARLY, others, samples)
        text = f'"In all 8 sets of experiments, {policy} is within 1.26 of optimal on average"'
        yield _at_most(1.26, text, [own[policy] for own in samples.values()], samples)


_CLAIMS = {"sum": _claims10, "max": _claims11}


FLOWS, GAP = 10, 60.0  # GAP: mean time between flows [s]
# Metric, FlowFlex's objective, and the metric's name in summaries of the simulation.
METRICS = (
    ("average completion time", "sum:response", "flow_response"),
    ("makespan", "max:completion", "makespan"),
    ("average stretch", "sum:stretch", "flow_stretch"),
    ("maximum stretch", "max:stretch", "flow_max_stretch"),
)
ARRIVALS = {"all at once": 0.0, "exponential gaps": GAP}


def gridmix_flows(seed: int, gap: float) -> ClusterJobs:
    # The flows of one simulation, as the head of this file says; ``gap`` 0: all at once.
    rng = np.random.default_rng(seed)
    after: list[list[int]] = []
    flow: list[str] = []
    arrival: list[float] = []
    now = 0.0
    for k in range(FLOWS):
        if k and gap:
            now += float(rng.standard_exponential()) * gap
        size = int(rng.integers(2, 11))
        above = np.triu(rng.random((size, size)) < 0.5, 1)
        above[:-1, -1] |= ~above[:-1].any(axis=1)
        first = len(after)
        after += [(first + np.flatnonzero(above[:, row])).tolist() for row in range(size)]
        flow += [f"flow{k}"] * size
        arrival += [now] * size
    count = len(after)
    maps = np.rint(np.exp(rng.uniform(math.log(8), math.log(400), count))).astype(np.int64)
    seconds = rng.choice([10.0, 20.0, 40.0], count)
    extra: dict[str, Any] = {"arrival": arrival, "shuffle": 5.0, "after": after, "flow": flow}
    return ClusterJobs(maps, seconds, -(-maps // 10), 30.0, **extra)


def figure12(run: Run) -> Figure:
    """By arrivals, metric and rival, by what part FlowFlex is lower (paired over simulations)."""
    cases = [(arrivals, metric) for arrivals in ARRIVALS for metric in METRICS]
    points = [
        (metric, partial(gridmix_flows, gap=ARRIVALS[arrivals]), {"objective": objective})
        for arrivals, (metric, objective, _) in cases
    ]
    learning = {"estimates": "learn", "prior": 20.0, "slow_start": 0.5, "noise": 0.2, "ageing": 0.0}
    rounds = {"epoch": 2.0, "heartbeat": 1.0, "cluster": Cluster([{"count": 10, "slots": 8}])}
    found = run.replicate(points, ("flowflex", *RIVALS), **learning, **rounds)
    gains: dict[str, list[dict[str, Any]]] = {arrivals: [] for arrivals in ARRIVALS}
    for (arrivals, (metric, _, where)), one in zip(cases, found, strict=False):
        ours, *others = ([own[where] for own in runs] for runs in one.runs.values())
        parts = ([1 - a / b for a, b in zip(ours, own, strict=True)] for own in others)
        row = dict(zip(RIVALS, map(interval, parts), strict=True))
        gains[arrivals].append({"metric": metric, **row})
    return figure12_of(run, gains)


def figure12_of(run: Run, gains: dict[str, list[dict[str, Any]]]) -> Figure:
    columns = {"metric": "", **dict.fromkeys(RIVALS, ".1%")}
    panels = [Panel(arrivals, columns, rows) for arrivals, rows in gains.items() if rows]
    cases = [(panel.name, row, rival) for panel in panels for row in panel.rows for rival in RIVALS]
    claims = []
    for name, row, rival in cases:
        text = f'"superiority of FlowFlex" to {rival.upper()}, {row["metric"]}, {name}'
        verdict = judged([row[rival]], run.count, strict=True)
        claims.append(Claim(text, "", "lower in the mean", shown(row[rival], ".1%"), verdict))
    axes = [picture(panel, RIVALS, "by what part FlowFlex is lower") for panel in panels]
    what = "by what part FlowFlex is lower, 95 % intervals"
    return run.figure(what, panels, claims=claims, axes=[axes])
