"""A table of deadlines.

The script prints which jobs are late under three objectives, and by how many seconds. With `sum:tardy` one job
is very late, and all other jobs are on time. With `max:tardiness` more jobs are late, but each of them less.
"""

import malleable as mb

names = ["nightly", "report", "adhoc", "backup"]
jobs = mb.Jobs([4000, 900, 800, 700], max_slots=50, deadline=[110, 20, 25, 30], name=names)
for objective in ("sum:response", "sum:tardy", "max:tardiness"):
    plan = mb.plan(jobs, slots=50, objective=objective)
    late = [
        f"{name} {end - due:.0f} s"
        for name, end, due in zip(names, plan.completion, jobs.deadline, strict=True)
        if end > due
    ]
    print(f"{objective:14} late: {', '.join(late)}")
