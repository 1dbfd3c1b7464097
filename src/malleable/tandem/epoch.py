"""Overlapping phases in a scheduler's loop: which jobs map and shuffle now, with how many slots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.display import counted
from malleable.epoch import BaseEpoch, ExplainedDecision
from malleable.jobs.table import Floats, Integers, check_slots, check_time
from malleable.policies import TandemPolicy, policy_of
from malleable.validation import WEIGHT, check_amount, checked_choice, shown


class TandemDecision(ExplainedDecision):
    """Slots of each job at the map and the shuffle station from now on; `TandemEpoch.decide` returns it.

    Attributes
    ----------
    ids : ndarray of int64, shape (n,)
        Jobs that have slots, and jobs that had slots until now. First come the jobs with map slots, in the
        policy's order, then jobs that only shuffle, then jobs that have lost their slots.
    slots : ndarray of int64, shape (n, 2)
        Map slots and shuffle slots of each job: its shares, rounded to whole slots. Slots that remain after
        rounding down go to the jobs with the largest fractions. The sum of a station is rounded up.
    changed : ndarray of bool, shape (n,)
        Whether the slots of the job differ from those of the decision before (a new job had 0).
    now : float
        Time of the decision [s].
    share : ndarray of float64, shape (n, 2)
        Parts of the map station and of the shuffle station that each job gets. The parts of a station add
        up to 1 at most.
    order : (ndarray of int64, ndarray of int64)
        With a period: for each station, ids of the jobs that wait there. The first of them should get the
        first slot that becomes free before the next decision. Empty without a period.
    overloaded : bool
        With a period: whether the jobs that keep coming need more whole slot-periods of a station than
        there are. (A slot-period is one slot, held for one period.)
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


class TandemEpoch(BaseEpoch):
    """Decides which jobs map and which jobs shuffle, from the work left of every job.

    There are two stations: all map slots, and all shuffle slots. The two phases of a job overlap, because a
    job can shuffle what it has mapped. The decisions are those of the tandem queue in `malleable.simulate`,
    in which a job can use a whole station. If a job cannot, slots that it leaves go to the next jobs in the
    order.

    Parameters
    ----------
    slots : (int, int)
        Map and shuffle slots, each from 0 to 2^50; `decide` can change them.
    policy : {"max-srpt", "split-srpt", "two-srpt", "fcfs"}
        Which job goes first. ``max-srpt``: at both stations the job whose larger phase has the least work
        left. ``split-srpt``: each station is divided between jobs with more map work and jobs with more
        shuffle work, and each part goes by work left. ``two-srpt``: at the map station the job with the
        least map work and a sixteenth of the shuffle work left, at the shuffle station as ``max-srpt``.
        ``fcfs``: the oldest job.
    conserving : bool
        True: slots that a job cannot use go to other jobs. False: they stay idle, as in the paper (for
        ``max-srpt``, ``split-srpt`` and ``fcfs``).
    underestimates : {"first", "bounce"}
        How a job ranks that has done more of a phase than was estimated. ``first``: nothing of the phase is
        left, so the job goes first. ``bounce``: as much is left as the job has overrun, at most the
        estimate, so other jobs may pass.
    period : float
        Seconds for which the loop holds a decision, unless `decide` gives another period: 0, or from 1e-12
        to 1e12. 0: the loop asks again whenever something changes.

    Raises
    ------
    ValueError
        Here and in all methods for wrong input, naming field, row and value, before anything changes.

    See Also
    --------
    malleable.MapShuffleJobs : Such jobs as a table.
    malleable.Epoch : Jobs of one phase.
    malleable.Scheduler : Map and reduce tasks on nodes.

    Notes
    -----
    Only one thread at a time may use an object; a second one gets a RuntimeError. Ids are never used twice.
    A wrong call changes nothing. Copies and pickles go on as the original would (a pickle loads in the same
    version only). Epochs are equal if their state is equal. A change takes O(1) for each job. `decide` takes
    O(J + R log J) if R of J jobs get slots. Source: Lin, Wierman, Zhang, Tan 2013, section 4.

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
        underestimates: str = "first",
        period: float = 0.0,
    ) -> None:
        row = policy_of("tandem", policy, in_loop=True)
        checked_choice("underestimates", underestimates, ("first", "bounce"))
        self.policy = policy
        hands_on = bool(conserving) or not row.may_idle
        bounce, both = underestimates == "bounce", _both(slots)
        self._core: _core.TandemEpoch = _core.TandemEpoch(
            policy, hands_on, bounce, *both, check_amount("period", period, WEIGHT)
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
        """Add jobs.

        Parameters
        ----------
        map, shuffle : array_like, shape (J,)
            Work of the two phases, true or estimated: how many seconds the whole station needs for it. 0, or
            from 1e-12 to 1e15.
        arrival : array_like or float, optional
            When jobs came [s], not after the next decision. ``fcfs`` goes by the arrival. By default the time
            of the last decision, or of the first one if there was none yet.
        ready : array_like, optional
            The shuffle work that can be done now, in seconds of the whole station. By default it follows from
            the progress of the map phase.
        max_map_slots, max_shuffle_slots : array_like, optional
            The most slots that a job can use; no limit by default.

        Returns
        -------
        ndarray of int64, shape (J,)
            Ids.

        Raises
        ------
        ValueError
            Names the field, the first bad row and its value. Nothing has changed then.
        """
        return self._add(
            {
                "map": map,
                "shuffle": shuffle,
                "arrival": arrival,
                "ready": ready,
                "max_map_slots": max_map_slots,
                "max_shuffle_slots": max_shuffle_slots,
            }
        )

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
        """Tell the work left of jobs, in seconds of the whole station.

        Columns that you leave out stay as they were.

        Parameters
        ----------
        ids : array_like of int, shape (n,)
            As `add` returned them.
        map, shuffle : array_like, optional
            Work left. ``map=0`` says that the map phase has ended. With estimates, a number below 0 says that a
            phase still runs and by how much it has overrun its estimate.
        ready, max_map_slots, max_shuffle_slots : array_like, optional
            As in `add`.
        """
        self._update(
            ids,
            {
                "map": map,
                "shuffle": shuffle,
                "ready": ready,
                "max_map_slots": max_map_slots,
                "max_shuffle_slots": max_shuffle_slots,
            },
        )

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
            Seconds for which this decision is held (the epoch's ``period`` by default). A job then gets no
            more slots than it can use for the whole period, unless no other job can use them. At the
            shuffle station the work counts that is ready or becomes ready within the period. If a phase has
            overrun its estimate, the work left is taken to be a quarter of the work done so far. With a
            period, shares are whole slots.
        """
        moment = check_time("now", now)
        new = None if slots is None else _both(slots)
        held = None if period is None else check_amount("period", period, WEIGHT)
        return TandemDecision(moment, *self._core.decide(moment, new, held), self.policy)


def _both(slots: Sequence[int]) -> tuple[int, int]:
    """Slots of both stations; ValueError for anything else."""
    if not isinstance(slots, (tuple, list, np.ndarray)) or len(slots) != 2:
        raise ValueError(f"slots = {shown(slots)}: expected two numbers, (map, shuffle)")
    map_slots, shuffle_slots = (check_slots(n, f"slots[{k}]", 0) for k, n in enumerate(slots))
    return map_slots, shuffle_slots
