"""What Nagarajan et al. 2013 prove of their algorithm FlowFlex, as a check against a bound."""

import numpy as np

from malleable.objective import parse_objective


def objective_at(flows, objective, completion):
    """Value of an objective (text) at completions of flows."""
    goal = parse_objective(objective)
    paid = goal.penalties(flows).of_jobs(np.ascontiguousarray(completion))
    if not len(paid):
        return 0.0
    return paid.max() if goal.is_max else paid.sum()


def keeps_the_theorems(flows, objective, literal, bound):
    """Theorems 1 to 4 and corollaries 1 and 2 against a bound, which is no more than the optimum.

    All flows are there at time 0. Nothing is allowed for but rounding.
    """
    is_max = objective.startswith("max")
    margin = 1e-8 * (1.0 + abs(bound))
    speed, factor = (2.0, 1.0) if is_max else (3.0, 2.0)
    fast = objective_at(flows, objective, literal.flow_completion / speed)
    assert fast <= factor * bound + margin
    if objective.split(":")[1] in ("completion", "response", "stretch"):
        assert literal.value <= (2.0 if is_max else 6.0) * bound + margin
