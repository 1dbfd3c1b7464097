"""Overlapping map and shuffle: a batch, wrong sizes, and a scheduler's loop."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import malleable as mb
from malleable.replications import replicate

# Jobs that arrive together: the best plan, what it promises, and how good anything could be.
rng = np.random.default_rng(1)
batch = mb.MapShuffleJobs(rng.lognormal(0, 1.5, 50), rng.lognormal(0, 1.5, 50))
for policy, s in mb.simulate(batch, policy=["max-srpt", "split-srpt", "best"]).summary.items():
    print(
        f"{policy:10} {s['mean_response'] / s['lower_bound']:.3f} x the bound, "
        f"at most {s['guarantee']:.2f} x the optimum"
    )


# Sizes with log-normal errors (standard deviations in `estimates`): all combinations on all cores.
def jobs_of(seed, load):
    return mb.MapShuffleStream(20_000, load)


with ThreadPoolExecutor() as pool:
    found = replicate(
        jobs_of,
        [1],
        ["two-srpt"],
        grid={"load": [0.75], "estimates": [0.0, 0.5]},
        executor=pool,
    )
    print([f"sigma {row['estimates']}: {row['mean_response']:.2f} s" for row in found.rows])

# The same policy in a scheduler's loop.
epoch = mb.TandemEpoch(slots=(800, 200), policy="two-srpt")
ids = epoch.add(map=[7, 10], shuffle=[11, 3], max_map_slots=[352, 427])
epoch.update(ids[:1], map=[3.5], shuffle=[8.0])
decision = epoch.decide(now=4.0)
print("map and shuffle slots", decision.slots.tolist())
