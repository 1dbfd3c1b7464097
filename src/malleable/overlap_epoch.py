"""Overlapping phases in a scheduler's loop: who maps and who shuffles now, with how many slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from malleable import _core, views
from malleable.columns import count_of, floats_of, given, ids_of
from malleable.policies import policy_names, policy_of
from malleable.tables import Floats, Integers, check_slots, check_time
from malleable.values import Kept, by_value
from malleable.workloads.files import checked_choice

__all__ = ["OVERLAP_POLICIES", "OverlapDecision", "OverlapEpoch"]

OVERLAP_POLICIES = policy_names("tandem", in_loop=True)
"""Policies of the overlapping tandem queue that rank jobs."""


@by_value()
@dataclass(frozen=True, eq=False)
class OverlapDecision:
    """Who runs now; only jobs that do.

    Attributes
    ----------
    ids : ndarray of int64, shape (R,)
        By rank at the map station, then those that only shuffle.
    map, shuffle : ndarray of float64, shape (R,)
        Share of each station, at most 1 in all.
    map_slots, shuffle_slots : ndarray of int64, shape (R,)
        The shares in whole slots (largest remainder; each station's sum is rounded up).
    now : float
        Time of the decision [s].
    """

    ids: Integers
    map: Floats
    shuffle: Floats
    map_slots: Integers
    shuffle_slots: Integers
    now: float

    __repr__ = views.brief
    _repr_html_ = views.as_html


class OverlapEpoch(Kept):
    """Decides who maps and who shuffles, from what is left of every job.

    Given the state of `simulate`'s tandem queue it decides as that does. Real jobs differ in that they
    may be unable to use a whole station: what the first cannot use goes down the order.

    Parameters
    ----------
    policy : {"max-srpt", "split-srpt", "two-srpt", "fcfs"}
    map_slots, shuffle_slots : int
        Slots of each station; `decide` can change them.
    conserving : bool
        False: MaxSRPT, SplitSRPT and FCFS as printed, which hand nothing on.
    underestimates : {"first", "bounce"}
        How a job ranks that has done more than was estimated: see `simulate`.

    Notes
    -----
    One thread at a time per object. Changes are O(1) a job. `decide` is one pass over the jobs, O(J),
    where the first few can use the stations, and O(J + R log J) if R run because each takes few
    slots. Source: Lin, Wierman, Zhang, Tan 2013, section 4.
    """

    def __init__(
        self,
        policy: str = "max-srpt",
        map_slots: int = 1,
        shuffle_slots: int = 1,
        *,
        conserving: bool = True,
        underestimates: str = "first",
    ) -> None:
        row = policy_of("tandem", policy, in_loop=True)
        checked_choice("underestimates", underestimates, ("first", "bounce"))
        self.policy = policy
        self._core = _core.OverlapEpoch(
            policy,
            bool(conserving) or not row.may_idle,
            underestimates == "bounce",
            check_slots(map_slots, "map_slots"),
            check_slots(shuffle_slots, "shuffle_slots"),
        )

    def __len__(self) -> int:
        return len(self._core)

    def __repr__(self) -> str:
        map_slots, shuffle_slots = self._core.slots
        return (
            f"OverlapEpoch({self.policy}: {views.counted(len(self), 'job')}, "
            f"{views.counted(map_slots, 'map slot')}, "
            f"{views.counted(shuffle_slots, 'shuffle slot')})"
        )

    _repr_html_ = views.as_html

    def add(
        self,
        map: npt.ArrayLike,
        shuffle: npt.ArrayLike,
        *,
        arrival: npt.ArrayLike = 0.0,
        ready: npt.ArrayLike | None = None,
        max_map_slots: npt.ArrayLike | None = None,
        max_shuffle_slots: npt.ArrayLike | None = None,
    ) -> Integers:
        """Add jobs.

        Parameters
        ----------
        map, shuffle : array_like, shape (J,)
            Sizes, true or estimated, in seconds of the whole station: 0, or from 1e-12 to 1e15.
        arrival : array_like or float
            [s]; FCFS goes by it.
        ready : array_like, optional
            What of the shuffle work can be done now; by default none before the map phase moves, then
            as much as its progress says.
        max_map_slots, max_shuffle_slots : array_like, optional
            The most slots that a job can use; no limit by default.

        Returns
        -------
        ndarray of int64, shape (J,)
            Ids, which stay theirs until they are removed.

        Raises
        ------
        ValueError
            Names the field, the first bad row and its value; nothing has changed then.
        """
        count = count_of("map", map)
        return self._core.add(
            floats_of("arrival", given("arrival", arrival), count),
            floats_of("map", given("map", map), count),
            floats_of("shuffle", given("shuffle", shuffle), count),
            floats_of("ready", ready, count),
            floats_of("max_map_slots", max_map_slots, count),
            floats_of("max_shuffle_slots", max_shuffle_slots, count),
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
        """Say what is left of jobs, in seconds of the whole station.

        ``map=0`` says that the map phase has ended. With estimates, a number below 0 says that a phase
        still runs and has overrun its estimate by as much. What is not given stays as it was.
        """
        rows = ids_of(ids)
        count = len(rows)
        self._core.update(
            rows,
            floats_of("map", map, count),
            floats_of("shuffle", shuffle, count),
            floats_of("ready", ready, count),
            floats_of("max_map_slots", max_map_slots, count),
            floats_of("max_shuffle_slots", max_shuffle_slots, count),
        )

    def remove(self, ids: npt.ArrayLike) -> None:
        """Forget jobs, finished or not. Nothing changes if an id is unknown or named twice."""
        self._core.remove(ids_of(ids))

    def decide(
        self,
        now: float = 0.0,
        *,
        map_slots: int | None = None,
        shuffle_slots: int | None = None,
    ) -> OverlapDecision:
        """Who runs now.

        Parameters
        ----------
        now : float
            Absolute time [s]; no job may arrive later.
        map_slots, shuffle_slots : int, optional
            New capacities, kept from now on.
        """
        moment = check_time("now", now)
        new = [
            None if slots is None else check_slots(slots, field)
            for field, slots in (("map_slots", map_slots), ("shuffle_slots", shuffle_slots))
        ]
        return OverlapDecision(*self._core.decide(moment, *new), now=moment)
