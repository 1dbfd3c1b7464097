"""The epoch of the slotted model, in which time goes in steps: an object that decides in a loop which jobs' map
and reduce tasks start now."""

from __future__ import annotations

import numpy.typing as npt

from malleable import _core
from malleable.arrays import arguments
from malleable.display import counted, html_of
from malleable.epoch import BaseEpoch, ExplainedDecision
from malleable.jobs.table import Integers, check_time
from malleable.policies import SlottedPolicy, policy_of
from malleable.validation import RATE, WEIGHT, check_amount, check_whole


class SlottedDecision(ExplainedDecision):
    """Which waiting tasks start now, on how many machines.

    ``slots`` are the machines that a job holds after these tasks have started; ``now`` and ``changed`` are as
    of all decisions (`BaseDecision`).

    Attributes
    ----------
    ids : ndarray of int64, shape (n,)
        First the jobs whose tasks start, in the policy's order, then other jobs that hold machines, or held
        some until now.
    maps, reduces : ndarray of int64, shape (n,)
        How many map and reduce tasks of the job start. With a period longer than one step: how many machines
        begin with them; such a machine runs waiting tasks of the job one after the other.
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
    _repr_html_ = html_of("ids slots maps reduces changed")


class SlottedEpoch(BaseEpoch):
    """Decides, step by step, which jobs' map and reduce tasks get the idle machines.

    Parameters
    ----------
    slots : int
        Machines, that is, tasks that can run at once, from 0 to 2^40; `decide` can change it.
    policy : {"asrpt", "unlock", "srpt", "lrpt", "fifo", "fair"}
        ``srpt`` and ``lrpt``: the job with the least or most work left goes first. ``fifo``: the oldest job.
        ``fair``: equal shares. ``asrpt``: first the map tasks that a virtual SRPT runs in this step (see
        Notes), then reduce tasks, then other map tasks. ``unlock``: as ``asrpt``, but these map tasks go
        first only if at least twice as much reduce work can start after them.
    step_seconds : float
        Length of a step [s]: about as long as a map task takes.
    period : float
        As for `malleable.Epoch`; 0: the loop asks in every step.

    Raises
    ------
    ValueError
        A parameter out of its range, an unknown policy.

    See Also
    --------
    malleable.MapReduceJobs : Such jobs as a table.

    Notes
    -----
    The *virtual SRPT* is a simulated cluster in which the job with the least work left goes first, and reduce
    work does not wait for map work. The first decision in a step simulates this step; further ones only give
    tasks to machines that have become idle. It uses the work that was estimated when the job came (`update`
    changes only the order of waiting tasks), so a finished job may go on there; `remove` takes it out.
    Without machines it stands still.

    A change takes O(log n) with n jobs. A decision takes O(g log n + h) if g jobs get and h jobs hold
    machines (``fair``: O(n log N) with N machines). `malleable.epoch.BaseEpoch` says what holds for all
    epochs. Source: Zheng, Shroff, Sinha 2013, algorithm 1.

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
        """Add jobs; scalars are for as many jobs as ``maps`` has entries. Returns their ids, shape (K,).

        Parameters
        ----------
        maps : array_like of int, shape (K,)
            Map tasks that wait.
        reduce_left, map_left : array_like of float
            Estimated work [machine seconds]; by default every waiting map task takes one step.
        arrival : array_like of float, optional
            When jobs come [s]; a later arrival moves the epoch's time. By default the epoch's time, or that
            of the first decision if there was none yet.
        reduces : array_like of int
            Reduce tasks that wait and may start: 0 until all map tasks have ended.
        running : array_like of int
            Machines that the job holds and keeps.
        """
        return self._add(arguments(locals()))

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
        """Change jobs, by ``ids``; columns that you leave out stay.

        Call this after each decision: tasks that started no longer wait, and hold machines until they end.
        ``maps``, ``reduces``, ``running``, ``map_left`` and ``reduce_left`` are as in `add`. Without
        ``map_left``, the map work left is the number of waiting tasks times the work of a task by the last
        ``map_left``, or one step."""
        self._update(ids, arguments(locals(), "ids"))

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
            Seconds for which this decision is held (default: the epoch's ``period``). A machine then runs
            waiting tasks of its job one after the other, as many as fit, so a job needs fewer machines. Other
            machines go to jobs whose tasks end earlier with them. Less than two steps change nothing.
        """
        moment = check_time("now", now)
        new = None if slots is None else check_whole("slots", slots, 0, 2**40)
        held = None if period is None else check_amount("period", period, WEIGHT)
        return SlottedDecision(moment, *self._core.decide(moment, new, held), self._policy)
