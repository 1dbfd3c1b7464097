"""Options of the adaptive scheduler of Rasooli and Down (2011), by default as their paper prints it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from malleable.arrays import Floats
from malleable.cluster.matching import check_solver, resource_shares
from malleable.validation import RATE, WEIGHT, check_amount, shown

_NUMBERS = ("threshold", "memory", "max_wait", "patience")  # fields of the policy
_ENDLESS = ("memory", "max_wait")  # columns that may be infinite


@dataclass(frozen=True)
class AdaptiveLiteral:
    """The adaptive scheduler (Rasooli and Down 2011) for heterogeneous clusters, by default as they print it.

    Parameters
    ----------
    grouped : bool
        Match classes with groups of nodes that are alike; False: with single nodes.
    by_slots : bool
        A node's execution rate for a class is slots / execution time; False: 1 / execution time.
    fallback : bool
        If no suggested class can use a slot, any class may, so no slot idles while a task waits.
    threshold : float
        Solve the programs again when a rate moved by more than this part of itself; 0: at every arrival.
    memory : float
        Arrivals of this age [s] count 1 / e in arrival rates; infinity: the plain average.
    max_wait : float
        If no task of a job was started for so long [s] although some could start, the job goes first;
        infinity: never.
    patience : float
        How long [s] after a task of a job was started another job of its user and class may go before the
        job because it has a block on the node; 0: never.
    placement : bool
        Copies of blocks go to the suggested nodes of the job's class.
    name : str
        What records and summaries call it.

    Raises
    ------
    ValueError
        An option out of its range; names the option and its value.

    See Also
    --------
    malleable.match_classes : The pairs of job and node classes that the policy follows.

    Notes
    -----
    Classes of jobs are suggested to nodes by linear programs (`malleable.match_classes`); a free slot goes to a
    suggested class. In the paper (section 6.2) nodes are matched one by one, there is no fallback, the programs
    are solved at every arrival, and nothing is forgotten. Jobs can starve; ``max_wait``, which is ours, limits
    their wait. The paper does not print the rules of job selection; ours are in docs/internals/deviations.md. A
    choice takes O(users x suggested classes).

    Examples
    --------
    >>> import malleable as mb
    >>> jobs = mb.generate_cluster_jobs(20, rng=1)
    >>> cluster = mb.Cluster([{"count": 4, "slots": 2}, {"count": 2, "slots": 2, "rate": 3.0}])
    >>> never_idle = mb.AdaptiveLiteral(fallback=True, name="never idle")
    >>> result = mb.simulate(jobs, ["fair", never_idle], cluster=cluster, rng=1)  # needs malleable[lp]
    >>> list(result.summary)
    ['fair', 'never idle']
    """

    grouped: bool = False
    by_slots: bool = False
    fallback: bool = False
    threshold: float = 0.0
    memory: float = math.inf
    max_wait: float = math.inf
    patience: float = 0.0
    placement: bool = True
    name: str = "adaptive-literal"

    def __post_init__(self) -> None:
        for field in _NUMBERS:
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError(f"{field} = {shown(value)}: not a number")
            if field not in _ENDLESS or value != math.inf:
                check_amount(field, value, RATE if field == "memory" else WEIGHT)

    def core_options(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "name"}

    def matcher(self) -> Callable[[Floats, Floats, Floats], Floats]:
        check_solver()
        return resource_shares
