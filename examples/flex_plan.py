"""Plan a table of jobs: who gets how many slots now, when each job ends, and how good that is."""

import malleable as mb

jobs = mb.Jobs(
    name=["nightly", "report", "adhoc"],
    work=[4000.0, 400.0, 300.0],  # slot-seconds
    min_slots=1,  # guaranteed while a job has work
    max_slots=[100, 20, 20],
    deadline=[120.0, 30.0, 20.0],  # seconds
)

for objective in ("sum:response", "max:tardiness"):
    plan = mb.plan(jobs, slots=50, objective=objective)
    plan.validate()
    print(f"{objective}: {plan.value:.6g}, no schedule is below {plan.lower_bound:.6g}")
    print("\n".join(plan.explain()))

for policy in ("flex", "fair", "fifo"):
    print(f"{policy}: total response {mb.plan(jobs, slots=50, policy=policy).value:.6g} s")
