"""Response over load.

The more a cluster has to do, the more the order of jobs matters. Map and shuffle phases that overlap, 50,000
jobs a point.
"""

import matplotlib.pyplot as plt

import malleable as mb

loads, policies = [0.5, 0.6, 0.7, 0.8, 0.9], ["max-srpt", "fcfs", "k-lps"]
found = [mb.simulate(mb.MapShuffleStream(20_000, load), policies, rng=1).summary for load in loads]
for policy in policies:
    plt.plot(loads, [each[policy]["mean_response"] for each in found], label=policy)
plt.gca().set(title="Mean response over load", xlabel="load", ylabel="seconds", yscale="log")
plt.legend()
plt.savefig("load.png")
