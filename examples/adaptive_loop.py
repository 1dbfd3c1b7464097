"""A loop of your own on nodes of unlike speeds: the adaptive scheduler of Rasooli and Down 2011 decides."""

import heapq

import numpy as np

import malleable as mb

# The example of that paper: two classes of jobs (arrivals a second), and how many jobs of each class (row) each
# of two nodes (column) can do in a second.
found = mb.match_classes([2.45, 2.45], [[9, 5], [2, 1]])
print(f"lambda {found.growth:.4f}, suggested by node {[own.tolist() for own in found.sets()]}")

# Two slow nodes and a fast one; "etl" is no faster on the fast one, as the loop finds out.
cluster = mb.Cluster(
    [{"name": "slow", "count": 2, "map_slots": 2}, {"name": "fast", "map_slots": 2, "rate": 4.0}],
    users=[{"name": "ann", "minimum": 1, "priority": 2}],
)
scheduler = mb.Scheduler(cluster, mb.AdaptiveLiteral(grouped=True, fallback=True, threshold=0.2))
rng = np.random.default_rng(1)
queue = [(float(at), 0, k) for k, at in enumerate(np.cumsum(rng.exponential(12.0, 60)))]
program = ["train" if k % 2 else "etl" for k in range(len(queue))]
owner = ["ann" if k % 5 == 0 else "ben" for k in range(len(queue))]
free, arrived, waits = cluster.map_slots.copy(), {}, []
while queue:
    now, kind, what = heapq.heappop(queue)
    if kind == 0:
        table = mb.ClusterJobs([2], 20.0, user=[owner[what]], program=[program[what]])
        arrived[int(scheduler.add(table, now)[0])] = (now, program[what])
    else:
        job, node, seconds = what
        scheduler.ended([job], seconds=seconds, node=node, now=now)
        free[node] += 1
        if scheduler.counts([job])["finished"][0, 0] == 2:
            waits.append((arrived[job][1], now - arrived[job][0]))
            scheduler.finish([job])
    starts = scheduler.assign(now, np.stack([free, 0 * free], axis=1))
    for job, node in zip(starts.ids.tolist(), starts.node.tolist(), strict=True):
        slow = cluster.rate[node] == 1.0 or arrived[job][1] == "etl"
        seconds = 20.0 if slow else 5.0
        heapq.heappush(queue, (now + seconds, 1, (job, node, seconds)))
        free[node] -= 1

for name in ("etl", "train"):
    print(f"{name}: mean response {np.mean([wait for own, wait in waits if own == name]):.1f} s")
matching = scheduler.matching()
for row, (priority, name) in enumerate(matching.classes):
    rates = ", ".join(f"{rate:.3f}" for rate in matching.execution_rates[row])
    where = [cluster.type_names[cluster.type[own[0]]] for own in matching.nodes]
    share = ", ".join(f"{n} {s:.2f}" for n, s in zip(where, matching.share[row], strict=True))
    print(f"{name} (priority {priority:g}): jobs a second and node {rates}; share {share}")
print(f"linear programs solved {matching.solves} times")
