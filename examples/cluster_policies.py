"""FLEX, FAIR, FIFO and your own policy on a cluster of two kinds of nodes, task by task."""

import numpy as np

import malleable as mb


def shortest(view):
    """All slots that it can use to the job with the least work left, then to the next."""
    slots, free = np.zeros(len(view["job"])), view["slots"]
    for row in np.argsort(view["work"], kind="stable"):
        slots[row] = min(free, view["most"][row])
        free -= slots[row]
    return slots


jobs = mb.generate_cluster_jobs(200, rng=7, gap=9.0)
cluster = mb.Cluster(
    [
        {"count": 13, "map_slots": 3, "reduce_slots": 2},
        {"count": 13, "map_slots": 6, "reduce_slots": 3, "name": "big"},
    ]
)
for sigma in (0.0, 1.0):
    result = mb.simulate(
        jobs, ["flex", "fair", "fifo", shortest], cluster=cluster, estimates=sigma, rng=7
    )
    for policy, summary in result.summary.items():
        print(f"sigma {sigma:.0f} {policy:9} {summary['mean_response']:8.1f} s")
