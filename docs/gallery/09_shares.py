"""Shares under sublinear speed-up.

Four jobs of 100 to 900 slot-seconds share 40 slots. For each of them s slots are s^p times as fast as one slot.
If p is 1, the shortest job gets all slots. If p is smaller, the jobs have more equal shares.
"""

import matplotlib.pyplot as plt
import numpy as np

import malleable as mb

exponents, works = [1.0, 0.9, 0.7, 0.5], [100, 400, 500, 900]
plans = [mb.plan(mb.Jobs(works, speedup=p), 40, policy="flex") for p in exponents]
for k, work in enumerate(works):
    slots = [plan.slots[k] for plan in plans]
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
