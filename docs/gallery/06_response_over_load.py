"""Response over load.

If the load of a cluster is high, the order of jobs matters more than if the load is low. The jobs have a map
phase and a shuffle phase, which overlap. Each point of the picture is a simulation of 20,000 jobs.
"""

import matplotlib.pyplot as plt

import malleable as mb
from malleable.view.drawing import plain_numbers, policy_look

loads, policies = [0.5, 0.6, 0.7, 0.8, 0.9], ["max-srpt", "fcfs", "k-lps"]
found = [mb.simulate(mb.MapShuffleStream(20_000, load), policies, rng=1).summary for load in loads]
for policy in policies:
    plt.plot(
        loads,
        [each[policy]["mean_response"] for each in found],
        label=policy,
        **policy_look(policy),
    )
plt.gca().set(
    title="Mean response over load", xlabel="load", ylabel="mean response [s]", yscale="log"
)
plain_numbers(plt.gca().yaxis)
plt.legend()
plt.savefig("load.png")
