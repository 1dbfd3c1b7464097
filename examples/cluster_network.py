"""Racks that send less than their nodes could: what crosses them, and what that costs."""

import malleable as mb

jobs = mb.generate_cluster_jobs(60, rng=7, gap=6.0, shuffle=0.0, block=64e6, map_output=64e6)
for oversubscribed in (1, 8, 32):
    node = {"count": 40, "map_slots": 4, "reduce_slots": 2, "link": 1.25e8}
    cluster = mb.Cluster(
        [{**node, "rack": ["a", "b", "c", "d"]}],
        racks=[{"name": name, "link": 10 * 1.25e8 / oversubscribed} for name in "abcd"],
    )
    for delay in (0, 5):
        result = mb.simulate(jobs, "fair", cluster=cluster, rng=7, replicas=3, delay=delay)
        summary = result.summary["fair"]
        print(
            f"racks 1:{oversubscribed:<2} delay {delay} s  mean {summary['mean_response']:6.1f} s  "
            f"local {summary['locality']:4.0%}  in rack {summary['rack_locality']:4.0%}  "
            f"across racks {summary['rack_bytes'] / 1e9:5.1f} GB  "
            f"rack links {summary['rack_utilisation']:4.0%}"
        )
