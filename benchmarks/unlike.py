"""Objectives and dissatisfaction of minima on unlike nodes, against a plain rule in Python.

    python -m benchmarks.unlike > benchmarks/results/unlike.md
    python -m benchmarks.unlike --rules fair fifo adaptive-literal greedy adaptive

``min+eft``: users below their minimum first, by lack x priority; else the shortest remaining work at best
rates (times the size for stretch; the earliest deadline for deadlines). A kind k is refused unless t / r_k <=
t / r_k' + (W_k' + t / r_k') / c_k' for all other kinds k', W being the work there of jobs that refused.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

import malleable as mb
from benchmarks.instances.unlike import HELD_BACK, UNLIKE_WORLDS, unlike_objective, unlike_world

FIGURES = {
    "sum:response": "mean_response",
    "sum:stretch": "mean_stretch",
    "sum:tardiness": "mean_tardiness",
    "sum:tardy": "missed_deadlines",
}


class Eft:
    """min+eft as a policy of one's own, which chooses for a node."""

    style, name = "node", "min+eft"

    def __init__(self, jobs: mb.ClusterJobs, cluster: mb.Cluster, objective: str) -> None:
        count = len(cluster.type_names)
        own = np.array([cluster.rate[cluster.type == k][0] for k in range(count)])
        rates = jobs.rates_on(own, cluster.type_names)
        self.rate = np.broadcast_to(own, (len(jobs), 2, count)) if rates is None else rates
        self.kind, self.generic = cluster.type, cluster.generic
        self.own = np.stack([cluster.map_slots, cluster.reduce_slots])
        self.up = np.ones(len(cluster), dtype=bool)
        self.changes = sorted(cluster.changes)
        self.user = np.array([list(cluster.users).index(user) for user in jobs.user or ()])
        self.minimum, self.priority = np.array(list(cluster.users.values())).T
        self.objective, self.deadline = objective, jobs.deadline

    def choose(self, state: Any, node: int, pool: int) -> tuple[int, int] | None:
        while self.changes and self.changes[0][0] <= state.now:
            _, changed, self.up[changed] = self.changes.pop(0)
        slots = np.bincount(self.kind, self.own[pool] * self.up, self.rate.shape[2])
        here, live = self.kind[node], slots > 0
        jobs = state.present
        wait = (state.waiting * state.ready)[jobs]
        if not self.generic:
            wait[:, 1 - pool] = 0
        task, left = state.estimate[jobs], (state.total - state.finished)[jobs]
        work = (left * task / np.where(live, self.rate[jobs], 0).max(2)).sum(1)
        if self.objective == "sum:stretch":
            work = work * state.size[jobs]
        elif self.objective != "sum:response":
            work = self.deadline[jobs]
        order = [k for k in np.argsort(work, kind="stable") if wait[k].any()]
        running = state.user_running[: len(self.minimum)]
        lack = ((self.minimum - running) * self.priority)[self.user[jobs]]
        if needy := [k for k in order if lack[k] > 0]:
            k = max(needy, key=lambda k: lack[k])
            return int(jobs[k]), int(wait[k, 0] == 0)
        ahead = np.zeros(len(slots))
        for k in order:
            phase = int(wait[k, 0] == 0)
            took = task[k, phase] / self.rate[jobs[k], phase]
            ends = np.where(live, took + (ahead + took) / np.maximum(slots, 1), np.inf)
            ends[here] = np.inf
            if took[here] <= ends.min():
                return int(jobs[k]), phase
            other = np.argmin(np.where(live, took + ahead / np.maximum(slots, 1), np.inf))
            ahead[other] += wait[k, phase] * took[other]
        return None


class Greedy(Eft):
    """The largest (rate here / best rate) / work left."""

    name = "greedy"

    def choose(self, state: Any, node: int, pool: int) -> tuple[int, int] | None:
        jobs = state.present
        wait = (state.waiting * state.ready)[jobs]
        if not self.generic:
            wait[:, 1 - pool] = 0
        left = (state.total - state.finished)[jobs] * state.estimate[jobs]
        best = self.rate[jobs].max(2)
        phase = (wait[:, 0] == 0).astype(int)
        row = np.arange(len(jobs))
        fit = self.rate[jobs, phase, self.kind[node]] / best[row, phase]
        value = np.where(wait.any(1), fit / (left / best).sum(1), -1.0)
        k = int(np.argmax(value))
        return (int(jobs[k]), int(phase[k])) if value[k] >= 0.0 else None


def measured(name: str, seed: int, rules: list[str]) -> list[list[float]]:
    """What the world's objective comes to and the dissatisfaction of minima, of min+eft and of the rules."""
    jobs, cluster, said = unlike_world(name, seed)
    objective = unlike_objective(name)
    own = {"min+eft": Eft(jobs, cluster, objective), "greedy": Greedy(jobs, cluster, objective)}
    found = mb.simulate(
        jobs, [own.get(rule, rule) for rule in ("min+eft", *rules)], objective=objective,
        cluster=cluster, estimates=said, records=False, rng=1,
    )  # fmt: skip
    figure = FIGURES[objective]
    return [[one[figure], one["dissatisfaction"]] for one in found.summary.values()]


def row(title: str, cells: Sequence[float | str]) -> str:
    shown = [one if isinstance(one, str) else f"{one:.3f}" for one in cells]
    return f"| {title} | " + " | ".join(shown) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--rules", nargs="*", default=["fair", "fifo", "adaptive"])
    parser.add_argument("--worlds", nargs="*", default=list(UNLIKE_WORLDS))
    asked = parser.parse_args()
    rules, count = asked.rules, len(asked.rules)
    print("# The objective over that of min+eft, and dissatisfaction of minima, on unlike nodes\n")
    print(row("world", [*rules, "dissatisfaction, min+eft", *rules]))
    print("|---" * (2 * count + 2) + "|")
    every = {}
    for name in asked.worlds:
        found = np.array([measured(name, seed, rules) for seed in asked.seeds])
        value, lacks = found.mean(axis=0).T
        every[name] = [*(value[1:] / value[0]), *lacks]
        print(row(name, every[name]), flush=True)
    for title, names in (("mean", UNLIKE_WORLDS), ("mean, held back", HELD_BACK)):
        table = np.array([every[name] for name in names if name in every])
        if not len(table):
            continue
        ratios = np.exp(np.log(table[:, :count]).mean(axis=0))
        print(row(title, [*ratios, *table[:, count:].mean(axis=0)]))


if __name__ == "__main__":
    main()
