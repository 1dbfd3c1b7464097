"""Mean response and dissatisfaction on unlike nodes, against a plain rule in Python.

    python -m benchmarks.unlike --seeds 1 2 > benchmarks/results/unlike.md

``min+eft``: users below their minimum first, by lack x priority; else the shortest remaining work at best
rates. A kind k is refused unless t / r_k <= t / r_k' + (W_k' + t / r_k') / c_k' for all other kinds k', W being
the work there of jobs that refused.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import malleable as mb
from benchmarks.instances.unlike import UNLIKE_WORLDS, unlike_world

RULES = ("fair", "adaptive-literal", "greedy", "adaptive")


class Eft:
    """min+eft as a policy of one's own, which chooses for a node."""

    style, name = "node", "min+eft"

    def __init__(self, jobs: mb.ClusterJobs, cluster: mb.Cluster) -> None:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2])
    asked = parser.parse_args()
    print("# Mean response over that of min+eft, and dissatisfaction of minima, on unlike nodes\n")
    print(
        "| world | "
        + " | ".join(RULES)
        + " | dissatisfaction, min+eft | "
        + " | ".join(RULES)
        + " |"
    )
    print("|---" * (2 * len(RULES) + 2) + "|")
    every = []
    for name in UNLIKE_WORLDS:
        rows = []
        for seed in asked.seeds:
            jobs, cluster, said = unlike_world(name, seed)
            rules = [Eft(jobs, cluster), *RULES]
            rules[3] = Greedy(jobs, cluster)
            found = mb.simulate(jobs, rules, cluster=cluster, estimates=said, records=False, rng=1)
            summaries = list(found.summary.values())
            rows.append([[one["mean_response"], one["dissatisfaction"]] for one in summaries])
        mean, lacks = np.array(rows).transpose(2, 1, 0)
        over = np.exp(np.log(mean[1:] / mean[0]).mean(axis=1))
        every.append([*over, *lacks.mean(axis=1)])
        print(f"| {name} | " + " | ".join(f"{one:.3f}" for one in every[-1]) + " |", flush=True)
    table = np.array(every)
    last = [*np.exp(np.log(table[:, : len(RULES)]).mean(0)), *table[:, len(RULES) :].mean(0)]
    print("| mean | " + " | ".join(f"{one:.3f}" for one in last) + " |")


if __name__ == "__main__":
    main()
