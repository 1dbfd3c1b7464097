"""The scheduler of a cluster. Here are its decisions and answers: how many slots each job gets, which tasks
start where, and when jobs are expected to end. Its base classes take reports of what happened
(`SchedulerEvents`) and keep its state (class ``SchedulerState``)."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.arrays import floats_of, ids_of, integers_of
from malleable.checkpoints import guarded
from malleable.cluster.events import checksum
from malleable.cluster.history import history_of
from malleable.cluster.matching import AdaptiveMatching
from malleable.cluster.named_policies import (
    policy_name,
)
from malleable.cluster.scheduler_decision import SchedulerDecision, TaskStarts
from malleable.cluster.scheduler_events import SchedulerEvents
from malleable.jobs.plan import plan_jobs
from malleable.jobs.table import Floats, Integers, Jobs, check_time
from malleable.objective import of_deadlines
from malleable.plan_results import Request
from malleable.policies import policy_names
from malleable.validation import check_whole

_MOST_COPIES = 1 << 28  # copies of blocks placed at once


class Scheduler(SchedulerEvents):
    """Decides which job gets how many slots, and which tasks start where, for any engine that tells what
    happened.

    Parameters
    ----------
    cluster : Cluster, mapping or path
        Nodes and users.
    policy : str, AdaptiveLiteral or function, optional
        A name, as for a simulated cluster (``auto``: the property `rule` says what it does now), or a
        function ``policy(state, now) -> slots`` of your own (see Notes).
    objective : str
        ``sum:KIND`` or ``max:KIND``, as for `malleable.Epoch`.
    hysteresis, effort, at_least_one, by_user, **options
        Options of policies and of the scheduler by name: ``docs/options.md``, ``malleable simulate
        --options``.
    learn : bool
        True: improve the given seconds of tasks (0: not known) by the times of the job's own tasks, by how
        wrong statements for finished jobs were, and by earlier jobs of the same program and user. False: only
        `update` changes the seconds.
    history : mapping or path, optional
        What another scheduler has learnt: its `history`, or a JSON file of it.
    record : path, optional
        A file to which all calls are written, for `malleable.replay`; `close` ends it.

    Raises
    ------
    ValueError
        Here and in all methods for wrong input, naming field, row and value, before anything changes.

    See Also
    --------
    malleable.Epoch : Jobs that are divisible, without nodes and tasks.

    Notes
    -----
    All methods take ``now``, the absolute time [s], by default the latest time told; times never fall, and an
    event that you tell late counts from the latest time. ``ids`` are the ids that `add` returned.

    Events may come late, twice or never. A task that ends without a reported start is taken to have started.
    Impossible events are ignored, and calls return how many tasks were ignored. Only `finish` and `remove`
    end a job. If your engine shows only how many tasks wait and run, use `observe`; task times then follow
    from slot-seconds.

    A policy of your own gets ``state``, whose entries are attributes and keys (``state.work``,
    ``state["work"]``), and arrays:

    - One entry for each present job: ``ids``, ``arrival``, ``weight``, ``deadline``, ``user``, ``size`` (the
      work at arrival), ``attained`` (slot-seconds of its ended tasks), ``speedup`` (p, if s slots are s^p
      times as fast).
    - By phase, shape (n, 2): the numbers of tasks ``waiting``, ``running`` and ``finished``, and ``ready`` (1
      if tasks of the phase may start).
    - ``work`` (estimated work left), ``spread`` (its standard deviation; infinity: not known), ``min_slots``
      and ``max_slots``: one entry for each job, or two columns if maps and reduces have separate slots.
    - ``capacity`` and ``free``: all slots, and the free ones.

    It returns slots: one number for each job, or two columns; it also runs in `malleable.simulate`. If it may
    return other slots only because time has passed, set ``policy.depends_on_time = True``. A compiled
    function runs without the interpreter's lock: of ``numba.njit`` (extra ``custom``; entries as attributes
    only), a ``numba.cfunc``, or an object with the ``address`` of a C function ``malleable_policy``
    (``malleable/scheduler/policy_state.h``). If your policy raises an error in a call, the events before the
    error count.

    Only one thread at a time may use an object; a second one gets a RuntimeError. Copies and pickles go on as
    the original would (a pickle loads in the same version only). An event takes O(log jobs), a decision
    O(jobs) and the time of the policy. Source: Wolf et al. 2010, sections 1, 2 and
    4.2; Nagarajan et al. 2013, section 5.2.

    Examples
    --------
    >>> import malleable as mb
    >>> scheduler = mb.Scheduler(mb.Cluster([{"count": 2, "slots": 3}]), policy="flex")
    >>> ids = scheduler.add(mb.ClusterJobs([8, 3], [20.0, 5.0]), now=0.0)
    >>> scheduler.decide(now=0.0).slots
    array([3, 3])
    >>> starts = scheduler.assign(now=0.0, free=3)
    >>> scheduler.ended(starts.ids, starts.phase, seconds=4.0, now=4.0)
    0
    >>> scheduler.decide(now=4.0).slots
    array([5, 0])
    """

    def place(self, job_id: int, copies: int = 3, blocks: int | None = None) -> Integers:
        """Nodes for copies of a job's blocks, shape (blocks, copies), for `set_blocks`.

        ``adaptive-literal`` takes the nodes that are suggested to the job's class, in turn; nodes that will
        serve more of the class get more copies. If these are too few, other nodes get the rest.

        Parameters
        ----------
        job_id : int
            The job, which must have come.
        copies : int
            Copies of each block, at most the number of nodes.
        blocks : int, optional
            Number of blocks; the number of map tasks by default.

        Raises
        ------
        ValueError
            Also if the policy is another one.
        """
        row = ids_of([job_id], "job_id")
        number = check_whole("copies", copies, 1, len(self._cluster))
        if blocks is None:
            known = self._core.counts(row)
            blocks = int(sum(known[state][0, 0] for state in ("waiting", "running", "finished")))
        wanted = check_whole("blocks", blocks, 0, _MOST_COPIES // number)
        return self._core.place(int(row[0]), wanted, number)

    def decide(self, now: float) -> SchedulerDecision:
        """How many slots each job should have from ``now`` on.

        A policy that chooses a job for each free slot (``adaptive``) counts the held slots, and the free ones
        as it would give them now. `assign` chooses nodes, too."""
        moment = check_time("now", now)
        ids, slots, changed, bound, key = self._core.decide(moment)
        if self._writer is not None:
            self._log("decide", now=[moment], count=[checksum(ids, slots)])
        # Generic slots run maps and reduces, so that they are one pool.
        if self._cluster.generic:
            slots, bound = slots[:, 0].copy(), bound[:, 0].copy()
        told = (bound, key, self, self._calls, None)
        return SchedulerDecision(moment, ids, slots, changed, *told)

    @guarded
    def _assess(self, decision: SchedulerDecision) -> tuple[float, float] | tuple[None, None]:
        # Value and lower bound of a decision, by a plan of the present jobs as divisible ones.
        if decision._calls != self._calls:
            raise RuntimeError(
                "the scheduler has moved on since this decision; ask for the value first"
            )
        policy = policy_name(self._policy)
        policy = "flex" if policy == "auto" else policy
        state = self._core.state()
        slots = int(np.sum(state["capacity"]))
        plans = self._cluster.generic and policy in policy_names("jobs") and slots > 0
        if not plans:
            return None, None
        tasks = (state["waiting"] + state["running"]).sum(axis=1)
        most = np.maximum(tasks, 1)
        jobs = Jobs(
            state["work"],
            arrival=np.minimum(state["arrival"], decision.now),
            max_slots=most,
            size=np.maximum(state["size"], state["work"]),
            speedup=None if np.all(state["speedup"] == 1.0) else state["speedup"],
            **{name: state[name] for name in ("weight", "deadline")},
        )
        asked = Request("jobs", jobs, slots, self._objective, policy, effort=0, now=decision.now)
        plan = plan_jobs(asked)
        return plan.value, plan.lower_bound

    def assign(self, now: float, free: npt.ArrayLike) -> TaskStarts:
        """Choose tasks for free slots, as `TaskStarts`. The tasks count as started.

        Parameters
        ----------
        now : float
            Absolute time [s].
        free : array_like of int, shape (N, 2), (N,) or a number
            Free map slots and free reduce slots of each node, as in `set_slots`.
        """
        asked, told = self._free(now, free)
        starts = TaskStarts(*self._core.assign(*asked))
        came = {"start_ids": starts.ids, "start_phase": starts.phase, "start_node": starts.node}
        self._log("assign", **told, **came)
        return starts

    def _free(self, now: float, free: npt.ArrayLike) -> tuple[tuple[Any, ...], dict[str, Any]]:
        # The moment and the free slots of nodes by pool, for the core and for the record.
        moment = check_time("now", now)
        maps, reduces = self._by_pool("free", free, len(self._cluster))
        told = {"now": [moment], "free_maps": maps, "free_reduces": reduces}
        return (moment, maps, reduces), told

    def take_back(self, now: float, free: npt.ArrayLike) -> Integers:
        """Say which reduce tasks your engine should end, because other tasks need their slots.

        Call this before `assign`, if the scheduler has ``take_back=True`` because your engine can end tasks.
        Reduce tasks may then start in slots that no ready task wants while maps of their job still run. If a
        map, or a reduce task whose maps have ended, finds no slot, a reduce task that still waits for maps,
        and so has only copied, is taken back.

        Returns an array of jobs, one entry for each task: end the reduce task of this job that started last,
        do not report it as failed (it waits again), and give its slot to `assign`. If reduce tasks copy
        nothing in your engine, tell `ended` so (``copying=0``). ``now`` and ``free`` are as in `assign`.

        Examples
        --------
        >>> import malleable as mb
        >>> scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), take_back=True)
        >>> scheduler.take_back(now=0.0, free=4)
        array([], dtype=int64)
        """
        asked, told = self._free(now, free)
        ids = self._core.take_back(*asked)
        self._log("take_back", **told, ids=ids, phase=np.ones(len(ids), dtype=np.int64))
        return ids

    def preview(self, now: float, free: npt.ArrayLike) -> TaskStarts:
        """The tasks that `assign` would start at ``now`` on these ``free`` slots. Nothing starts or changes.
        O(jobs)."""
        return copy.copy(self).assign(now, free)

    def counts(self, ids: npt.ArrayLike) -> dict[str, npt.NDArray[Any]]:
        """What is known of jobs, by ``ids``: a dict of arrays.

        By phase, shape (n, 2): the numbers of tasks ``waiting``, ``running`` and ``finished``; ``ready``, 1
        if tasks may start; ``estimate``, the mean seconds of a task that runs alone; ``spread``, its standard
        deviation; ``slowed``, how many times slower the ended tasks were because they ran beside each other.
        ``speedup``, shape (n,), is the learnt p of the job's program: s tasks together do as much as s^p
        tasks alone.
        """
        return self._core.counts(ids_of(ids))

    def backup_gains(
        self, ids: npt.ArrayLike, phase: npt.ArrayLike, seconds: npt.ArrayLike
    ) -> Floats:
        """How much it would gain to start a backup task, a second attempt, beside each running task.

        Use slots that no ready task wants: start a second attempt of the task with the largest gain above
        0.22, at most one for each task. When an attempt ends, end the other one, and report the task by
        `ended`, with the seconds since the first attempt began. Give slots of backup tasks to `assign` as
        free ones.

        Parameters
        ----------
        ids : array_like of int, shape (n,)
            Jobs of running tasks without a second attempt; a job may be named several times.
        phase : array_like of int
            0 map, 1 reduce.
        seconds : array_like of float
            How long each task has run [s]; a reduce task since all maps of its job had ended.

        Returns
        -------
        ndarray of float, shape (n,)
            The seconds by which the task is expected to end earlier, over the seconds that the second attempt
            is expected to run. 0: start none, because a task of the phase waits, none has ended, the job has
            left, or nothing is learnt (``learn``).

        Examples
        --------
        >>> import malleable as mb
        >>> scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]))
        >>> ids = scheduler.add(mb.ClusterJobs([4], [0.0]), now=0.0)
        >>> _ = scheduler.decide(now=0.0), scheduler.assign(now=0.0, free=4)
        >>> scheduler.ended(ids.repeat(3), seconds=[5.0, 10.0, 20.0], now=20.0)
        0
        >>> (scheduler.backup_gains(ids.repeat(2), [0, 0], [1.0, 60.0]) > 0.22).tolist()
        [False, True]
        """
        rows = ids_of(ids)
        phases = integers_of("phase", phase, len(rows))
        return self._core.backup_gains(rows, phases, floats_of("seconds", seconds, len(rows)))

    def expected_ends(self, *, draws: int = 64, seed: int = 0) -> dict[str, npt.NDArray[Any]]:
        """When each job is expected to end, and between which times it ends in 80 of 100 cases.

        Parameters
        ----------
        draws : int
            How often the times of the tasks that are left are drawn and simulated, at least 2.
        seed : int
            The same calls with the same seed give the same ends.

        Returns
        -------
        dict of ndarray
            ``ids`` of all jobs that are here or wait for others; ``at``, ``early`` and ``late``, the median
            and the 10 % and 90 % quantiles [s]. Infinite if the cluster has no slot for its tasks.

        Raises
        ------
        ValueError
            Without ``learn``, or for ``draws`` below 2.

        Notes
        -----
        Task times are log-normal; mean and scatter are drawn from what the tasks of the job, also running
        ones, and of other jobs have shown. All tasks then run: by arrival for ``fifo``, equally for ``fair``
        and ``wdeq``, as `rule` says while that shares slots, by deadline for objectives of deadlines, and
        otherwise by work left over weight. Later jobs and failures do not count. O(draws steps log jobs),
        with at most min(tasks, 8 slots log(tasks)) steps a job: 64 draws of 1,000 tasks take about 25 ms.

        Examples
        --------
        >>> import malleable as mb
        >>> scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]))
        >>> ids = scheduler.add(mb.ClusterJobs([12], 0.0), now=0.0)
        >>> scheduler.started(ids, count=4, now=0.0)
        0
        >>> for _ in range(4):
        ...     _ = scheduler.ended(ids, seconds=10.0, now=10.0)
        >>> ends = scheduler.expected_ends()
        >>> bool(ends["early"][0] < 30.0 < ends["late"][0])
        True
        """
        most = check_whole("draws", draws, 2)
        return dict(zip(("ids", "at", "early", "late"), self._expected(most, seed), strict=True))

    def _expected(self, draws: int, seed: int) -> tuple[npt.NDArray[Any], ...]:
        # By number: how the core's simulation orders jobs.
        name, (rule, *_) = policy_name(self._policy), self._core.rule
        orders = {"fifo": 1, "fair": 2, "wdeq": 2, "equally": 2, "by size": 4}
        order = orders.get(rule or name, 3 if of_deadlines(self._objective) else 0)
        ids, ends = self._core.expected_ends(order, draws, seed)
        return ids, *ends.T.copy()

    def matching(self, now: float | None = None) -> AdaptiveMatching:
        """The classes of jobs, and the nodes that ``adaptive-literal`` suggests to them, by arrival
        rates at ``now``.

        Raises
        ------
        ValueError
            Also if the policy is another one.

        Examples
        --------
        >>> import malleable as mb
        >>> cluster = mb.Cluster([{"slots": 2}, {"slots": 2, "rate": 4.0}])
        >>> scheduler = mb.Scheduler(cluster, "adaptive-literal")  # needs malleable[lp]
        >>> ids = scheduler.add(mb.ClusterJobs([6], 20.0, program=["etl"]), now=0.0)
        >>> scheduler.matching().classes
        ((1.0, 'etl'),)
        """
        policy = self._core.policy
        if not isinstance(policy, _core.ClusterAdaptive):
            raise ValueError(f"policy = {policy_name(self._policy)!r}: it matches no classes")
        found = policy.matching(self._moment(now))
        programs = [program for program, _ in self._programs]
        resource = found.pop("resource")
        return AdaptiveMatching(
            classes=tuple(
                (priority, tuple(shape) if program < 0 else programs[program])
                for priority, program, shape in found.pop("classes")
            ),
            nodes=[np.flatnonzero(resource == r) for r in range(found["share"].shape[1])],
            **found,
        )

    @property
    def history(self) -> dict[str, Any]:
        """All that was learnt, in JSON's types: for ``Scheduler(history=)``.

        ``common`` has sums over all phases. ``programs`` and ``users`` have a row for each program and each
        user (`malleable.cluster.history`).
        """
        return history_of(self._programs, self._users, self._core.history())

    @property
    def learned(self) -> dict[str, float]:
        """What tasks have shown: ``speedup``, the p of s^p that s tasks of a phase do together, and
        ``speedup_low``, p less its standard deviation; 1 without ``learn``."""
        return dict(zip(("speedup", "speedup_low"), self._core.learned, strict=True))

    @property
    def rule(self) -> str:
        """The rule that ``auto`` follows now, and why; "" for other policies."""
        rule, speedup = self._core.rule
        shown = f"p = {speedup:.2f}"
        reasons = {
            "in order": f"tasks hardly slow each other down ({shown})",
            "one by one": "no job that is here can use two slots, so its speed-up does not matter",
            "by size": f"tasks may slow each other down ({shown})",
            "equally": f"work keeps coming, and tasks slow each other down ({shown})",
            "by urgency": "it matters when the last task of a job must start",
            "flow by flow": "a flow of several jobs is here",
            "flex": f"no order by size serves {self._objective}, gangs, minima of pools or an effort",
        }
        return f"{rule}: {reasons[rule]}" if rule else ""
