"""Plan flows of jobs, and check the plans."""

import malleable as mb

flows = mb.Flows(
    [
        [
            {"name": "extract", "work": 60, "max_slots": 20},
            {"name": "clean", "work": 40, "max_slots": 10, "after": ["extract"]},
            {"name": "stats", "work": 30, "max_slots": 5, "after": ["extract"]},
            {"name": "report", "work": 4, "max_slots": 1, "after": ["clean", "stats"]},
        ],
        [
            {"name": "scan", "work": 50, "max_slots": 25},
            {"name": "top", "work": 2, "after": ["scan"]},
        ],
    ],
    name=["nightly", "query"],
    deadline=[20.0, 4.0],
)
for objective in ("sum:response", "max:tardiness"):
    plan = mb.plan(flows, slots=25, objective=objective)
    plan.validate()
    print(f"{objective}: {plan.value:.6g}, no schedule is below {plan.lower_bound:.6g}")
    print("\n".join(plan.explain()))
