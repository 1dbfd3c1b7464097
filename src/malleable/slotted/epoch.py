"""Map and reduce tasks, step by step: which job runs now, decided by a policy that a scheduler's loop calls."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.display import counted
from malleable.epoch import BaseEpoch, ExplainedDecision
from malleable.jobs.table import Floats, Integers, check_time
from malleable.policies import SlottedPolicy, policy_of
from malleable.validation import RATE, WEIGHT, WORK, check_amount, check_whole, floats


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
        step: how many machines begin with map tasks of the job, and how many with reduce tasks. Such a
        machine runs waiting tasks of the job, one after the other.
    order : ndarray of int64
        With a period: ids of the jobs whose tasks wait. The first of them should get the first machine that
        becomes idle before the next decision. Empty without a period.
    overloaded : bool
        With a period: whether the jobs that keep coming need more machines than there are, if each machine
        is held for whole periods.
    rule : str
        The rule that decided: the policy.

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

    __slots__ = ("maps", "order", "overloaded", "reduces", "rule")
    _more = ("maps", "reduces", "order", "overloaded", "_bound", "rule")
    maps: Integers
    reduces: Integers
    order: Integers
    overloaded: bool


def bounce_left(estimate: npt.ArrayLike, done: npt.ArrayLike) -> Floats:
    """The work left that you should tell for each job, so that no job holds up others by overrunning.

    Parameters
    ----------
    estimate, done : array_like of float, shape (J,)
        The estimated work of each job, and the work that it has done. Give both in slots: an estimate below
        one step counts as one step.

    Returns
    -------
    ndarray of float64, shape (J,)
        If the job has done at most its estimate: the rest of the estimate. If it has overrun the estimate:
        as much as it has overrun, but at most the estimate.

    Notes
    -----
    Source: SRPT with bounce, Scully, Grosof, Mitzenmacher, "Uniform bounds for scheduling with job
    size estimates" (2022). O(J).
    """
    z, a = floats("estimate", estimate, WORK), floats("done", done, WORK)
    left: Floats = np.where(a <= z, z - a, np.minimum(a - z, np.maximum(z, 1.0)))
    return left


class SlottedEpoch(BaseEpoch):
    """Decides, step by step, which jobs' map and reduce tasks get the idle machines.

    Time is divided into slots of equal length. The policies are those of `malleable.simulate`, but here they
    know only estimates of work, and you tell them what happens.

    Parameters
    ----------
    slots : int
        Machines, that is, tasks that can run at once, from 0 to 2^40; `decide` can change it.
    policy : {"asrpt", "unlock", "srpt", "lrpt", "fifo", "fair"}
        ``srpt`` and ``lrpt``: the job with the least or most work left goes first. ``fifo``: the oldest job.
        ``fair``: equal shares. ``asrpt``: first the map tasks that a virtual SRPT runs in this step (see
        Notes), then reduce tasks, then other map tasks. ``unlock``: as ``asrpt``, but these map tasks go
        first only if at least as much reduce work can start after them.
    step_seconds : float
        Length of a step [s]: about as long as a map task takes.
    period : float
        Seconds for which the loop holds a decision, unless `decide` gives another period: 0, or from 1e-12
        to 1e12. 0: the loop asks in every step.

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
    The *virtual SRPT* of ``asrpt`` and ``unlock`` is a simulated cluster in which the job with the least work
    left goes first, and in which reduce work does not wait for map work. The first decision in a step
    simulates this step. Further decisions in the same step only give tasks to machines that have become
    idle. The virtual SRPT knows the work of a job as it was estimated when the job came. (`update` changes
    only the order in which waiting tasks start.) So a job that has finished may still have work in the
    virtual SRPT, and goes on there. If you `remove` a job, the virtual SRPT forgets it. While there are no
    machines, the virtual SRPT stands still.

    Only one thread at a time may use an object; a second one gets a RuntimeError. Ids are never used twice.
    A wrong call changes nothing. Copies and pickles go on as the original would (a pickle loads in the same
    version only). Epochs are equal if their state is equal. A change takes O(log n) with n jobs. A decision
    takes O(g log n + h) if g jobs get machines and h jobs hold machines (``fair``: O(n log N) with N
    machines). Source: Zheng, Shroff, Sinha 2013, algorithm 1.

    Examples
    --------
    >>> import malleable as mb
    >>> epoch = mb.SlottedEpoch(10, policy="asrpt")
    >>> ids = epoch.add(maps=[8, 3], reduce_left=[4.0, 2.0])
    >>> decision = epoch.decide(now=0)
    >>> decision.ids, decision.maps
    (array([1, 0]), array([3, 7]))
    """

    _optional = ("arrival", "map_left")

    def __init__(
        self,
        slots: int,
        policy: SlottedPolicy | str = "asrpt",
        *,
        step_seconds: float = 1.0,
        period: float = 0.0,
    ) -> None:
        policy_of("slotted", policy, in_loop=True)
        self._policy = policy
        count = check_whole("slots", slots, 0, 2**40)
        length = check_amount("step_seconds", step_seconds, RATE)
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
        arrival: npt.ArrayLike | None = None,
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
        arrival : array_like of float, optional
            When jobs come [s]. The epoch's time moves on to the arrival, if it is later. By default the
            epoch's time, or the time of the first decision if there was none yet.
        map_left : array_like of float, optional
            Map work as estimated [machine seconds]; by default every waiting task takes one step.
        reduces : array_like of int
            Reduce tasks that wait and may start: 0 as long as some map task has not ended.
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
            ``map_left``, the map work left is the number of waiting tasks times the work of a task. The work
            of a task follows from the last ``map_left``; if there was none, a task takes one step.
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
            runs waiting tasks of its job one after the other, for as many whole slots of time as fit into
            the period. So a job needs fewer machines. Machines that are left over go to jobs whose tasks end
            earlier with them. A period that is shorter than two slots changes nothing.
        """
        moment = check_time("now", now)
        new = None if slots is None else check_whole("slots", slots, 0, 2**40)
        held = None if period is None else check_amount("period", period, WEIGHT)
        return SlottedDecision(moment, *self._core.decide(moment, new, held), self._policy)
