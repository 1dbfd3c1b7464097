"""An objective of your own: Numba compiles the function, the core calls it by its address."""

import numba

import malleable as mb

GRACE = 20.0  # seconds that cost nothing


@numba.cfunc("float64(int64, float64)")
def patience(job, completion):
    """Nothing at first, then the square of the waiting; must never fall as time goes on."""
    return max(0.0, completion - GRACE) ** 2


jobs = mb.Jobs(work=[900.0, 500.0, 400.0, 100.0], min_slots=1, max_slots=30)
plan = mb.plan(jobs, slots=40, objective="sum:custom", penalty=patience)
plan.validate()
print(plan)
print("\n".join(plan.explain()))
