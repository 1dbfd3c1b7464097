"""What a period costs: the same jobs in loops that ask every so many seconds, told so or not."""

import numpy as np

import malleable as mb

rng = np.random.default_rng(1)
work = rng.lognormal(3.0, 1.5, 1000)  # slot-seconds
most = rng.integers(1, 65, len(work))
slots, load = 100, 0.8
arrival = np.cumsum(rng.exponential(np.exp(3.0 + 1.5**2 / 2) / (slots * load), len(work)))
jobs = mb.Jobs(
    work=work,
    max_slots=most,
    arrival=arrival,
    deadline=arrival + work / most * rng.uniform(1.5, 6.0, len(work)) + 4.0,
)

print("mean response [s]   FLEX, told   FLEX, not told   FAIR, told")
for period in (0.0, 0.2, 1.0, 5.0):
    told = mb.simulate(jobs, ["flex", "fair"], slots=slots, period=period).summary
    untold = mb.simulate(jobs, "flex", slots=slots, period=period, knows_period=False).summary
    row = told["flex"], untold["flex"], told["fair"]
    print(f"every {period:3g} s       ", *(f"{own['mean_response']:13.2f}" for own in row))

# The whole schedule of such a loop, and what no loop of that period can beat.
batch = jobs.take(np.arange(100))
batch = mb.Jobs(work=batch.work, max_slots=batch.max_slots)
for period in (0.0, 1.0, 5.0):
    plan = mb.plan(batch, slots, period=period)
    plan.validate()
    print(
        f"100 jobs at once, period {period:g}: {plan.value:.1f} s, bound {plan.lower_bound:.1f} s"
    )
