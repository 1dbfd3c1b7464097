"""How the adaptive scheduler decides: its options, by default and as printed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from malleable.arrays import Floats
from malleable.cluster.matching import check_solver, resource_shares
from malleable.validation import RATE, WEIGHT, check_amount, shown

_FLAGS = ("grouped", "by_slots", "fallback", "placement")
_NUMBERS = ("guard", "threshold", "memory", "max_wait", "patience")
_ENDLESS = ("memory", "max_wait")  # may be infinite


@dataclass(frozen=True)
class Adaptive:
    """The adaptive scheduler of 2011 for heterogeneous clusters.

    Parameters
    ----------
    grouped : bool
        Match classes with groups of nodes that are alike; False: with single nodes.
    by_slots : bool
        A node's execution rate for a class is slots / execution time; False: 1 / execution time.
    fallback : bool
        If no suggested class can use a slot, any class may, so no slot idles while a task waits.
    guard : float
        Above 0: a class does not get a slot if its tasks take more than ``guard`` x (wait + run) on other
        nodes, as estimated. Slots may then idle while tasks wait.
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
    `Adaptive.literal` is the policy as printed in section 6.2 of the paper. The rules of job selection,
    which the paper leaves out, are in docs/internals/deviations.md. A choice takes O(users x suggested
    classes), and the linear programs are those of `malleable.match_classes`.

    Examples
    --------
    >>> import malleable as mb
    >>> jobs = mb.generate_cluster_jobs(20, rng=1)
    >>> cluster = mb.Cluster([{"count": 4, "slots": 2}, {"count": 2, "slots": 2, "rate": 3.0}])
    >>> guarded = mb.Adaptive(guard=2.0, name="guarded")
    >>> result = mb.simulate(jobs, ["fair", guarded], cluster=cluster, rng=1)  # needs malleable[lp]
    >>> list(result.summary)
    ['fair', 'guarded']
    """

    grouped: bool = True
    by_slots: bool = True
    fallback: bool = True
    guard: float = 0.0
    threshold: float = 0.2
    memory: float = 3600.0
    max_wait: float = 3600.0
    patience: float = 10.0
    placement: bool = True
    name: str = "adaptive"

    def __post_init__(self) -> None:
        for field in _NUMBERS:
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError(f"{field} = {shown(value)}: not a number")
            if field not in _ENDLESS or value != math.inf:
                check_amount(field, value, RATE if field == "memory" else WEIGHT)

    @classmethod
    def literal(cls, max_wait: float = math.inf) -> Adaptive:
        """As the paper prints it: nodes one by one, no fallback, solved at every arrival, nothing forgotten.
        Jobs can starve. ``max_wait`` [s], which is not in the paper, limits their wait."""
        return cls(
            grouped=False,
            by_slots=False,
            fallback=False,
            threshold=0.0,
            memory=math.inf,
            max_wait=max_wait,
            patience=0.0,
            name="adaptive-literal",
        )

    def core_options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*_FLAGS, *_NUMBERS)}

    def matcher(self) -> Callable[[Floats, Floats, Floats], Floats]:
        check_solver()
        return resource_shares
