"""Shares under sublinear speed-up.

Four jobs of 100 to 900 slot-seconds on 40 slots, where s slots do s^p. With p = 1 the shortest job takes all
slots; the smaller p is, the more evenly slots are shared.
"""

import matplotlib.pyplot as plt
import numpy as np

import malleable as mb

exponents, works = [1.0, 0.9, 0.7, 0.5], [100, 400, 500, 900]
plans = [mb.plan(mb.Jobs(works, speedup=p), 40, policy="flex") for p in exponents]
for k, work in enumerate(works):
    slots = [plan.allocation[k] for plan in plans]
    plt.bar(
        np.arange(4) + 0.2 * k,
        slots,
        0.2,
        label=f"{work} slot-seconds",
        hatch=["", "//", "..", "xx"][k],
    )
plt.xticks(np.arange(4) + 0.3, [f"p = {p}" for p in exponents])
plt.gca().set(title="Slots of each job at first", ylabel="slots")
plt.legend()
plt.savefig("shares.png")
