"""What a period costs.

A loop asks for a decision every few seconds, and keeps the slots until the next decision. If the loop tells
FLEX this period, FLEX gives no job more slots than the job can use for the whole period, unless no other
job can use them better.
"""

import matplotlib.pyplot as plt
import numpy as np

import malleable as mb
from malleable.view.drawing import plain_numbers, policy_look

rng, periods = np.random.default_rng(1), [0.2, 0.5, 1.0, 2.0]
most, come = rng.integers(1, 65, 2000), np.cumsum(rng.exponential(0.77, 2000))
jobs = mb.Jobs(rng.lognormal(3.0, 1.5, 2000), max_slots=most, arrival=come)
for policy, told in (("flex", True), ("fair", True), ("flex", False)):
    runs = [mb.simulate(jobs, policy, slots=100, period=p, knows_period=told) for p in periods]
    means = [run.summary[policy]["mean_response"] for run in runs]
    name = policy if told else f"{policy}, not told its period"
    plt.plot(periods, means, label=name, **policy_look(name))
plt.gca().set(
    title="What a period costs", xlabel="period [s]", ylabel="mean response [s]", yscale="log"
)
plain_numbers(plt.gca().yaxis)
plt.legend()
plt.savefig("period.png")
