"""FLEX beside FAIR.

The pictures show fifteen generated jobs on 100 slots. Each job has a colour. FAIR gives all jobs the same
number of slots at every moment, so all jobs end late. FLEX gives most slots to a few jobs at a time, so
the jobs end one after the other. A triangle is a deadline.
"""

import malleable as mb
from malleable.jobs.generate import bimodal_jobs

jobs = bimodal_jobs(15, rng=3)
for policy in ("flex", "fair"):
    plan = mb.plan(jobs, slots=100, policy=policy)
    plan.plot(f"{policy}.png")
    print(f"{policy}: {plan.value:.0f} s, no schedule is below {plan.lower_bound:.0f} s")
