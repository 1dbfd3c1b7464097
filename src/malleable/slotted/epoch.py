"""Map and reduce tasks, slot by slot: which job runs now, decided by a policy that a scheduler's loop calls."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.domain import RATE, WEIGHT, WORK, check_amount, check_whole, floats
from malleable.epoch import BaseEpoch, ExplainedDecision
from malleable.jobs.table import Floats, Integers, check_time
from malleable.lines import counted
from malleable.names import SlottedPolicy
from malleable.policies import policy_names, policy_of

LOOP_POLICIES = policy_names("slotted", in_loop=True)


class SlottedDecision(ExplainedDecision):
    """Which waiting tasks start now, on how many machines; `SlottedEpoch.decide` returns it.

    Attributes
    ----------
    ids : ndarray of int64, shape (n,)
        Jobs. First come the jobs whose tasks start, in the policy's order, then other jobs that hold
        machines, or held machines until now.
    slots : ndarray of int64, shape (n,)
        Machines that the job holds after these tasks have started.
    changed : ndarray of bool, shape (n,)
        Whether the machines of the job differ from those of the decision before (a new job had 0).
    now : float
        Time of the decision [s].
    maps, reduces : ndarray of int64, shape (n,)
        How many map tasks and how many reduce tasks of the job start. If the period is longer than one
        slot: how many machines begin with map tasks of the job, and how many with reduce tasks. Such a
        machine runs waiting tasks of the job, one after the other.
    order : ndarray of int64
        With a period: ids of the jobs whose tasks wait. The first of them should get the first machine that
        becomes idle before the next decision. Empty without a period.
    overloaded : bool
        With a period: whether the jobs that keep coming need more machines than there are, if each machine
        is held for whole periods.

    See Also
    --------
    malleable.SlottedEpoch.decide : Returns it.

    Examples
    --------
    >>> import malleable as mb
    >>> epoch = mb.SlottedEpoch(10, policy="asrpt")
    >>> ids = epoch.add(maps=[8, 3], reduce_left=[4.0, 2.0])
    >>> decision = epoch.decide(now=0)
    >>> decision.ids, decision.maps, decision.slots
    (array([1, 0]), array([3, 7]), array([3, 7]))
    """

    __slots__ = ("maps", "order", "overloaded", "reduces")
    _more = ("maps", "reduces", "order", "overloaded", "_bound")
    maps: Integers
    reduces: Integers
    order: Integers
    overloaded: bool


def bounce_left(estimate: npt.ArrayLike, done: npt.ArrayLike) -> Floats:
    """Work that a job should show so that it does not hold up the others once it overruns.

    Parameters
    ----------
    estimate, done : array_like of float, shape (J,)
        Estimated work, and how much of it has been done, in the same unit (a slot is the least
        estimate that counts as overrun, so let it be slots).

    Returns
    -------
    ndarray of float64, shape (J,)
        What is left of the estimate; beyond it as much as the job has overrun, up to the estimate.

    Notes
    -----
    Source: SRPT with bounce, Scully, Grosof, Mitzenmacher, "Uniform bounds for scheduling with job
    size estimates" (2022). O(J).
    """
    z, a = floats("estimate", estimate, WORK), floats("done", done, WORK)
    left: Floats = np.where(a <= z, z - a, np.minimum(a - z, np.maximum(z, 1.0)))
    return left


class SlottedEpoch(BaseEpoch):
    """Decides, slot by slot, which jobs' map and reduce tasks get the idle machines.

    The policy objects are those of `malleable.simulate`. They get real times and estimates of work.

    Parameters
    ----------
    slots : int
        Machines, that is, tasks that can run at once, from 0 to 2^40; `decide` can change it.
    policy : {"asrpt", "unlock", "srpt", "lrpt", "fifo", "fair"}
        As in `malleable.slotted.simulate.run`.
    slot_seconds : float
        Length of a slot, about the time of a map task [s].
    period : float
        Seconds for which the loop holds a decision, unless `decide` gives another period: 0, or from 1e-12
        to 1e12. 0: the loop asks in every slot.

    Raises
    ------
    ValueError
        A parameter out of its range, an unknown policy.

    See Also
    --------
    malleable.MapReduceJobs : Such jobs as a table.
    malleable.Scheduler : Map and reduce tasks on nodes.

    Notes
    -----
    The first decision in a slot moves the virtual SRPT of ``asrpt`` and ``unlock`` on. Further decisions in
    the same slot give tasks to machines that have become idle. The virtual SRPT uses the work as estimated
    when the job came; the order in which waiting tasks start follows `update`. If a job finishes before it
    is done in the virtual SRPT, it stays there; if you `remove` a job, it leaves. Without machines the
    virtual SRPT stands still. One thread at a time per object, RuntimeError for a second one. Ids are never
    used twice, a wrong call changes nothing. Copies and pickles go on as the original would (a pickle loads
    in the same version only); epochs are equal if their state is. O(log n) a change with n jobs; a decision
    O(g log n + h) for g jobs that get machines and h jobs that hold machines (``fair``: O(n log N)).
    Source: Zheng, Shroff, Sinha 2013, algorithm 1.

    Examples
    --------
    >>> import malleable as mb
    >>> epoch = mb.SlottedEpoch(10, policy="asrpt")
    >>> ids = epoch.add(maps=[8, 3], reduce_left=[4.0, 2.0])
    >>> decision = epoch.decide(now=0)
    >>> decision.ids, decision.maps
    (array([1, 0]), array([3, 7]))
    """

    _optional = ("map_left",)

    def __init__(
        self,
        slots: int,
        policy: SlottedPolicy | str = "asrpt",
        *,
        slot_seconds: float = 1.0,
        period: float = 0.0,
    ) -> None:
        policy_of("slotted", policy, in_loop=True)
        self._policy = policy
        count = check_whole("slots", slots, 0, 2**40)
        length = check_amount("slot_seconds", slot_seconds, RATE)
        held = check_amount("period", period, WEIGHT)
        self._core: _core.SlottedEpoch = _core.SlottedEpoch(count, length, policy, held)

    def __repr__(self) -> str:
        jobs, slots = counted(len(self), "job"), counted(self.slots, "slot")
        return f"SlottedEpoch({self._policy}: {jobs}, {slots})"

    @property
    def slots(self) -> int:
        """Machines: tasks that can run at once."""
        return self._core.slots

    def add(
        self,
        maps: npt.ArrayLike,
        reduce_left: npt.ArrayLike,
        *,
        arrival: npt.ArrayLike = 0.0,
        map_left: npt.ArrayLike | None = None,
        reduces: npt.ArrayLike = 0,
        running: npt.ArrayLike = 0,
    ) -> Integers:
        """Add jobs; scalars are spread over as many jobs as ``maps`` has entries.

        Parameters
        ----------
        maps : array_like of int, shape (K,)
            Map tasks that wait.
        reduce_left : array_like of float
            Reduce work as estimated [machine seconds].
        arrival : array_like of float
            When jobs come [s]. The epoch's time moves on to the arrival, if it is later.
        map_left : array_like of float, optional
            Map work as estimated [machine seconds]; a slot for every waiting task by default.
        reduces : array_like of int
            Reduce tasks that wait and may start: 0 while map tasks are not done.
        running : array_like of int
            Machines that the job holds and keeps.

        Returns
        -------
        ndarray of int64, shape (K,)
            Ids.
        """
        return self._add(
            {
                "maps": maps,
                "reduces": reduces,
                "running": running,
                "arrival": arrival,
                "map_left": map_left,
                "reduce_left": reduce_left,
            }
        )

    def update(
        self,
        ids: npt.ArrayLike,
        *,
        maps: npt.ArrayLike | None = None,
        reduces: npt.ArrayLike | None = None,
        running: npt.ArrayLike | None = None,
        map_left: npt.ArrayLike | None = None,
        reduce_left: npt.ArrayLike | None = None,
    ) -> None:
        """Change jobs; nothing changes if anything is wrong.

        Call this after each decision: tasks that started no longer wait, and hold machines until they end.

        Parameters
        ----------
        ids : array_like of int, shape (n,)
            As `add` returned them.
        maps, reduces, running, map_left, reduce_left : array_like, optional
            As in `add`; columns that you leave out stay as they were. If you give ``maps`` without
            ``map_left``, the map work left is the number of waiting tasks times the work of a task, as the
            last ``map_left`` said it; by default a task takes a slot.
        """
        self._update(
            ids,
            {
                "maps": maps,
                "reduces": reduces,
                "running": running,
                "map_left": map_left,
                "reduce_left": reduce_left,
            },
        )

    def decide(
        self, now: float, *, slots: int | None = None, period: float | None = None
    ) -> SlottedDecision:
        """Which waiting tasks start now, on the idle machines.

        Parameters
        ----------
        now : float
            Time [s]; never before the time of an earlier decision or arrival.
        slots : int, optional
            New number of machines, kept from now on; it may be 0.
        period : float, optional
            Seconds for which this decision is held (the epoch's ``period`` by default). A machine then
            runs waiting tasks of its job one after the other for as many whole slots as fit into it, so a
            job gets fewer machines. Machines that are left over go to jobs whose tasks end earlier with
            them. A period below two slots changes nothing.
        """
        moment = check_time("now", now)
        new = None if slots is None else check_whole("slots", slots, 0, 2**40)
        held = None if period is None else check_amount("period", period, WEIGHT)
        return SlottedDecision(moment, *self._core.decide(moment, new, held))
