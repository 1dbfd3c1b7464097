"""The epoch of the model *tandem* (map and shuffle phases that overlap): an object that decides in a loop which
jobs map and shuffle now, with how many slots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.arrays import arguments
from malleable.display import counted, html_of
from malleable.epoch import BaseEpoch, ExplainedDecision
from malleable.jobs.table import Floats, Integers, check_slots, check_time
from malleable.policies import TandemPolicy, policy_of
from malleable.validation import WEIGHT, check_amount, shown


class TandemDecision(ExplainedDecision):
    """Slots of each job at the map and the shuffle station (all map slots, all shuffle slots) from now on.
    ``now`` and ``changed`` are as of all decisions (`BaseDecision`).

    Attributes
    ----------
    ids : ndarray of int64, shape (n,)
        First the jobs with map slots, in the policy's order, then jobs that only shuffle, then jobs that have
        lost their slots.
    slots : ndarray of int64, shape (n, 2)
        Map and shuffle slots: `share` rounded down, and the rest to the largest fractions. The sum of a station
        is rounded up.
    share : ndarray of float64, shape (n, 2)
        Parts of both stations that each job gets; those of a station add up to 1 at most.
    order : (ndarray of int64, ndarray of int64)
        One order for each station.
    overloaded : bool
        With a period: a station gets more work, in whole slot-periods, than its slots can do.
    rule : str
        The rule that decided: the policy.

    See Also
    --------
    malleable.TandemEpoch.decide : Returns it.

    Examples
    --------
    >>> import malleable as mb
    >>> epoch = mb.TandemEpoch((10, 5))
    >>> ids = epoch.add(map=[40.0, 8.0], shuffle=[10.0, 5.0])
    >>> decision = epoch.decide(now=0.0)
    >>> decision.ids, decision.slots, decision.share
    (array([1]), array([[10,  4]]), array([[1.   , 0.625]]))
    """

    __slots__ = ("order", "overloaded", "rule", "share")
    _more = ("share", "order", "overloaded", "_bound", "rule")
    kinds = ("map slot", "shuffle slot")
    share: Floats
    order: tuple[Integers, Integers]
    overloaded: bool
    _repr_html_ = html_of("ids slots share changed")


class TandemEpoch(BaseEpoch):
    """Decides which jobs map and which jobs shuffle, from the work left of every job.

    There are two stations: all map slots, and all shuffle slots. The phases of a job overlap, because a job
    can shuffle what it has mapped.

    Parameters
    ----------
    slots : (int, int)
        Map and shuffle slots, each from 0 to 2^50; `decide` can change them.
    policy : {"max-srpt", "split-srpt", "two-srpt", "fcfs"}
        Which job goes first. ``max-srpt``: at both stations the job whose larger phase has the least work
        left. ``split-srpt``: each station is divided between jobs with more map work and jobs with more
        shuffle work, each part by work left. ``two-srpt``: at the map station the least map work and a
        sixteenth of the shuffle work left, at the shuffle station as ``max-srpt``. ``fcfs``: the oldest job.
    conserving : bool
        True: slots that a job cannot use go to other jobs. False: they idle, as in Lin et al. 2013 (for
        ``max-srpt``, ``split-srpt`` and ``fcfs``).
    period : float
        As for `malleable.Epoch`.

    Raises
    ------
    ValueError
        Here and in all methods for wrong input, naming field, row and value, before anything changes.

    See Also
    --------
    malleable.MapShuffleJobs : Such jobs as a table.

    Notes
    -----
    A change takes O(1) for each job. `decide` takes O(J + R log J) if R of J jobs get slots.
    `malleable.epoch.BaseEpoch` says what holds for all epochs. Source: Lin, Wierman, Zhang, Tan 2013, section
    4.

    Examples
    --------
    >>> import malleable as mb
    >>> epoch = mb.TandemEpoch((10, 5), policy="max-srpt")
    >>> ids = epoch.add(map=[40.0, 8.0], shuffle=[10.0, 5.0])
    >>> decision = epoch.decide(now=0.0)
    >>> decision.ids, decision.slots
    (array([1]), array([[10,  4]]))
    """

    _optional = ("arrival", "ready", "max_map_slots", "max_shuffle_slots")

    def __init__(
        self,
        slots: Sequence[int],
        policy: TandemPolicy | str = "max-srpt",
        *,
        conserving: bool = True,
        period: float = 0.0,
    ) -> None:
        row = policy_of("tandem", policy, in_loop=True)
        self.policy = policy
        passes_on = bool(conserving) or not row.may_idle
        self._core: _core.TandemEpoch = _core.TandemEpoch(
            policy, passes_on, *_both(slots), check_amount("period", period, WEIGHT)
        )

    def __repr__(self) -> str:
        nouns = ("job", "map slot", "shuffle slot")
        parts = map(counted, (len(self), *self.slots), nouns)
        return f"TandemEpoch({self.policy}: {', '.join(parts)})"

    @property
    def slots(self) -> tuple[int, int]:
        """Map and shuffle slots."""
        return self._core.slots

    def add(
        self,
        map: npt.ArrayLike,
        shuffle: npt.ArrayLike,
        *,
        arrival: npt.ArrayLike | None = None,
        ready: npt.ArrayLike | None = None,
        max_map_slots: npt.ArrayLike | None = None,
        max_shuffle_slots: npt.ArrayLike | None = None,
    ) -> Integers:
        """Add jobs. Returns their ids, shape (J,).

        Parameters
        ----------
        map, shuffle : array_like, shape (J,)
            True or estimated work of the phases, in seconds of the whole station: 0, or from 1e-12 to 1e15.
        arrival : array_like or float, optional
            When jobs came [s], not after the next decision, for ``fcfs``. By default the time of the last
            decision, or of the first one if there was none yet.
        ready : array_like, optional
            Shuffle work that can be done now, in seconds of the whole station; by default by the progress of
            maps.
        max_map_slots, max_shuffle_slots : array_like, optional
            The most slots that a job can use; no limit by default.
        """
        return self._add(arguments(locals()))

    def update(
        self,
        ids: npt.ArrayLike,
        *,
        map: npt.ArrayLike | None = None,
        shuffle: npt.ArrayLike | None = None,
        ready: npt.ArrayLike | None = None,
        max_map_slots: npt.ArrayLike | None = None,
        max_shuffle_slots: npt.ArrayLike | None = None,
    ) -> None:
        """Tell the work left of jobs, by ``ids``, in seconds of the whole station; columns that you leave out
        stay.

        Parameters
        ----------
        ids : array_like of int, shape (n,)
            As `add` returned them.
        map, shuffle : array_like, optional
            Work left. ``map=0`` says that the map phase has ended. A number below 0 says that a phase still
            runs, and by how much it has overrun its estimate.
        ready, max_map_slots, max_shuffle_slots : array_like, optional
            As in `add`.
        """
        self._update(ids, arguments(locals(), "ids"))

    def decide(
        self, now: float, *, slots: Sequence[int] | None = None, period: float | None = None
    ) -> TandemDecision:
        """Slots of each job at both stations now.

        Parameters
        ----------
        now : float
            Absolute time [s], never before the time of an earlier decision; no job may arrive later.
        slots : (int, int), optional
            New map and shuffle slots, kept from now on; they may be 0.
        period : float, optional
            Seconds for which this decision is held (default: the epoch's ``period``). A job gets slots beyond
            what it can use for the whole period only if no other job can use them. Shuffle work counts that
            is ready or becomes ready within the period. For a phase that has overrun its estimate, a quarter
            of the work done so far is taken to be left. Shares are whole slots.
        """
        moment = check_time("now", now)
        new = None if slots is None else _both(slots)
        held = None if period is None else check_amount("period", period, WEIGHT)
        return TandemDecision(moment, *self._core.decide(moment, new, held), self.policy)


def _both(slots: Sequence[int]) -> tuple[int, int]:
    if not isinstance(slots, (tuple, list, np.ndarray)) or len(slots) != 2:
        raise ValueError(f"slots = {shown(slots)}: expected two numbers, (map, shuffle)")
    map_slots, shuffle_slots = (check_slots(n, f"slots[{k}]", 0) for k, n in enumerate(slots))
    return map_slots, shuffle_slots
