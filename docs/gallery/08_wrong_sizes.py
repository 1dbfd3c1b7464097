"""The gain when sizes are wrong.

The scheduler is told wrong sizes: the true size of each job times exp(sigma Z), Z standard normal. FLEX
believes the wrong sizes. `auto` corrects the sizes while jobs run.
"""

import matplotlib.pyplot as plt

import malleable as mb
from malleable.view.drawing import policy_look

jobs, sigmas = mb.generate_cluster_jobs(300, rng=1), [0.0, 0.5, 1.0, 2.0]
cluster = mb.Cluster.for_load(jobs, 0.9)
runs = [
    mb.simulate(jobs, ["flex", "auto", "fair"], cluster=cluster, rng=1, estimates=s).summary
    for s in sigmas
]
for policy in ("flex", "auto"):
    ratio = [run[policy]["mean_response"] / run["fair"]["mean_response"] for run in runs]
    plt.plot(sigmas, ratio, label=policy, **policy_look(policy))
plt.axhline(1.0, label="fair", **policy_look("fair"))
plt.gca().set(
    title="Mean response over FAIR's",
    xlabel="sigma: how wrong sizes are",
    ylabel="ratio (less is better)",
)
plt.legend()
plt.savefig("sizes.png")
