"""The scheduler of a cluster: an engine tells it what happened, and it says how many slots each job gets, and
which tasks start where."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.arrays import array_of, floats_of, given, ids_of, integers_of
from malleable.checkpoints import Checkpointed, by_value, guarded
from malleable.cluster.events import EventWriter, checksum, cluster_header, plain_options
from malleable.cluster.history import History, read_history
from malleable.cluster.matching import AdaptiveMatching
from malleable.cluster.named_policies import (
    check_generic,
    checked_options,
    core_policy,
    exponents_of,
    goal_of,
    partitions_of,
    policy_name,
    policy_settings,
    programs_of,
)
from malleable.cluster.nodes import Cluster, read_cluster
from malleable.cluster.table import ClusterJobs
from malleable.display import as_html, counted
from malleable.epoch import AssessedDecision, ExplainedDecision
from malleable.jobs.plan import plan_jobs
from malleable.jobs.table import Floats, Integers, Jobs, check_time
from malleable.objective import of_deadlines
from malleable.policies import ClusterPolicy, ObjectiveName, policy_names
from malleable.traces.job_table import table_of
from malleable.validation import WEIGHT, check_amount, check_whole, checked_choice

_PROCESSORS = ("own", "unknown", "beyond")
_MOST_COPIES = 1 << 28  # of blocks placed at once
_Name = TypeVar("_Name", str, tuple[str, str])


@by_value()
class TaskStarts(NamedTuple):
    """Tasks that start now, one row for each task; arrays of int64, shape (T,).

    Attributes
    ----------
    ids : ndarray
        The job of the task.
    phase : ndarray
        0: a map task; 1: a reduce task.
    task : ndarray
        If the job has blocks: number of the map task. Otherwise -1: start any waiting task of the job.
    node : ndarray
        The node on which the task starts.
    """

    ids: Integers
    phase: Integers
    task: Integers
    node: Integers


@by_value(without=("_assessment", "_calls", "_scheduler"))
class SchedulerDecision(ExplainedDecision, AssessedDecision):
    """How many slots each job should have; `malleable.epoch.BaseDecision` has the other attributes.

    Attributes
    ----------
    value, lower_bound : float or None
        The objective of the present jobs, and a number that no schedule can beat. Both take jobs for
        divisible: the estimated work of all unfinished tasks, on at most as many slots as such tasks, without
        minima. They are worked out when you first ask, which must be before you tell the scheduler more. None
        if maps and reduces have separate slots, or for policies without plans (``auto flex fair fifo wdeq
        hesrpt`` have them).
    gap : float or None
        As `malleable.Plan` has it.
    """

    __slots__ = ("_assessment", "_calls", "_key", "_scheduler")
    _more = ("_bound", "_key", "_scheduler", "_calls", "_assessment")
    _key: Floats
    _scheduler: Scheduler | None
    _calls: int

    def _assess(self) -> tuple[float, float] | tuple[None, None]:
        return self._scheduler._assess(self) if self._scheduler else (None, None)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy keeps value and bound only if they were asked for."""
        own = (self.now, self.ids, self.slots, self.changed, self._bound, self._key)
        return type(self), (*own, None, self._calls, self._assessment)

    @property
    def order(self) -> Integers:
        """Ids; the first job gets the next slot. O(n log n)."""
        return self.ids[np.argsort(self._key, kind="stable")]

    @property
    def kinds(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("slot",) if self.slots.ndim == 1 else ("map slot", "reduce slot")


class Scheduler(Checkpointed):
    """Decides which job gets how many slots, and which tasks start where, for any engine that tells what
    happened.

    Parameters
    ----------
    cluster : Cluster, mapping or path
        Nodes and users.
    policy : str, Adaptive or function, optional
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
    O(jobs) and the time of the policy. Source: FLEX, sections 1, 2 and 4.2; FlowFlex, section 5.2.

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

    def __init__(
        self,
        cluster: Any,
        policy: ClusterPolicy | str | Any = "auto",
        objective: ObjectiveName | str = "sum:response",
        *,
        hysteresis: float = 0.0,
        effort: int | None = None,
        at_least_one: bool = False,
        by_user: bool | None = None,
        learn: bool = True,
        history: Mapping[str, Any] | str | PathLike[str] | None = None,
        record: str | PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        place = cluster if isinstance(cluster, Cluster) else read_cluster(cluster)
        name = policy_name(policy)
        check_generic(policy, place.generic)
        self._cluster = place
        self._policy, self._objective = policy, objective
        shared = bool(place.users) if by_user is None else bool(by_user)
        self._settings = {
            "take_back": False,
            **checked_options(options, simulated=False),
            **policy_settings(hysteresis, effort, at_least_one, shared),
            "learn": bool(learn),
        }
        known = None if history is None else read_history(history)
        people = dict.fromkeys([*place.users, *(() if known is None else known.users)])
        self._users: dict[str, int] = {user: k for k, user in enumerate(people)}
        self._programs: dict[tuple[str, str], int] = {}
        self._core = self._made()
        self._calls = 0  # that told something
        if known is not None:
            self._programs = {name: row for row, name in enumerate(known.names)}
            self._core.recall(known.numbers(people))
        self._writer: EventWriter | None = None
        if record is not None:
            header = {
                "cluster": cluster_header(place),
                "policy": name,
                "objective": objective,
                "options": plain_options(_core.scheduler_options(self._settings)),
            }
            if known is not None:
                header["history"] = known.plain()
            self._writer = EventWriter(record, header)

    def _log(self, call: str, **columns: Any) -> None:
        self._calls += 1
        if self._writer is not None:
            self._writer.write(call, columns)

    @guarded
    def close(self) -> None:
        """End the file of recorded calls."""
        if self._writer is not None:
            self._writer.close()
        self._writer = None

    def _made(self) -> _core.Scheduler:
        place = self._cluster
        asked = core_policy(
            self._policy,
            goal_of(self._objective),
            self._settings["by_user"],
            self._settings,
            place.generic,
        )
        return _core.Scheduler(place.columns(), self._people(self._users), self._settings, asked)

    def __getstate__(self) -> dict[str, Any]:
        with self._guard:
            left_out = ("_guard", "_core", "_writer", "_calls")
            kept = {k: copy.copy(v) for k, v in vars(self).items() if k not in left_out}
            return {"version": _core.__version__, **kept, "state": self._core.save()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        saved: bytes = self.__dict__.pop("state")
        self._core = self._made()
        self._core.load(saved)
        self._writer = None
        self._calls = 0

    @guarded
    def __len__(self) -> int:
        return len(self._core)

    def __repr__(self) -> str:
        name = policy_name(self._policy)
        return f"Scheduler({counted(len(self), 'job')}, {name}, {self._cluster!r})"

    _repr_html_ = as_html

    @property
    def cluster(self) -> Cluster:
        """The nodes and users at the beginning."""
        return self._cluster

    @property
    def objective(self) -> str:
        """The objective of the policy."""
        return self._objective

    @property
    def now(self) -> float:
        """The latest time told [s]."""
        return self._core.now

    @property
    def next_time(self) -> float:
        """When to ask again although nothing happens, because a job has waited long enough [s] (options
        ``delay``, ``ageing``); infinity: never."""
        return self._core.next

    @guarded
    def add(
        self,
        jobs: ClusterJobs,
        now: float | None = None,
        *,
        max_slots: npt.ArrayLike | None = None,
        parents: Sequence[npt.ArrayLike] | None = None,
    ) -> Integers:
        """Add jobs at the time ``now``. Returns their ids, which are never used twice.

        Parameters
        ----------
        jobs : ClusterJobs
            Of its columns ``maps``, ``reduces``, their estimated seconds on nodes of rate 1 (the mean counts;
            copying is a part of reduce tasks), ``arrival`` (at most ``now``), ``weight``, ``deadline``,
            minima, ``min_mode``, ``width``, ``requested``, ``user``, ``program`` (empty: not known), ``flow``
            and ``after``. Adaptive policies also use ``rate`` and ``block``; others refuse ``rate``, and learn
            it. Add all jobs of a flow in one call. A job comes when the jobs in its ``after`` have finished.
        max_slots : array_like of int, shape (J,), optional
            Slots that a job may hold at once (of each kind, if kinds are separate), at least 1 and its
            minima; by default any number.
        parents : sequence of array_like of int, J entries, optional
            For each job, ids of earlier jobs for which it waits, too.
        """
        jobs, moment = table_of(jobs, ClusterJobs), self._moment(now)
        count = len(jobs)
        mean = np.zeros((2, count))
        np.divide(jobs.map_work, jobs.maps, out=mean[0], where=jobs.maps > 0)
        np.divide(jobs.reduce_work, jobs.reduces, out=mean[1], where=jobs.reduces > 0)
        users, new_users = _numbered(self._users, jobs.user or ("",) * count)
        runs = programs_of(jobs, self._policy)
        named = [k for k, (program, _) in enumerate(runs) if program]
        groups = np.full(count, -1, dtype=np.int64)
        groups[named], new_programs = _numbered(self._programs, [runs[k] for k in named])
        flows, _ = _numbered({}, jobs.flow or tuple(map(str, range(count))))
        after = jobs.after is not None
        people = self._people(new_users)
        columns = jobs.told() | {
            "map_seconds": mean[0],
            "reduce_seconds": mean[1],
            "user": users,
            "group": groups,
            "flow": flows,
            "after_offset": jobs.after_offset if after else np.zeros(count + 1, np.int64),
            "after": jobs.after if after else np.zeros(0, np.int64),
        }
        columns |= partitions_of(jobs, self._cluster)
        types = self._cluster.type_names
        rates = jobs.rates_on(np.full(len(types), np.nan), types)
        if rates is not None:
            columns["node_rates"] = np.ascontiguousarray(rates).reshape(-1)
        if max_slots is not None:
            columns["max_slots"] = integers_of("max_slots", max_slots, count, least=1)
        if parents is not None:
            columns |= _parents(parents, count)
        exponents = exponents_of(jobs.speedup, self._settings, count)
        if exponents is not None:
            columns["speedup"] = exponents
        ids = self._core.add(people, columns, moment)
        self._log("add", now=[moment], ids=ids, new_users=np.array(people).reshape(-1), **columns)
        self._users |= new_users
        self._programs |= new_programs
        return ids

    def _people(self, names: Iterable[str]) -> list[tuple[float, float]]:
        return [self._cluster.users.get(name, (0.0, 1.0)) for name in names]

    def _moment(self, now: float | None) -> float:
        return self._core.now if now is None else check_time("now", now)

    def _report(self, what: str, ids: npt.ArrayLike, now: float | None, **columns: Any) -> int:
        rows = ids_of(ids)
        count = len(rows)
        told: dict[str, Any] = {"ids": rows}
        for name, values in columns.items():
            if values is None:
                continue
            real = name in ("seconds", "copying")
            kind = np.float64 if real else np.int64
            if type(values) is np.ndarray and values.dtype == kind and values.shape == (count,):
                told[name] = np.ascontiguousarray(values)  # the core checks what they are
                continue
            least = -1 if name in ("node", "task") else 0
            told[name] = (
                floats_of(name, values, count)
                if real
                else integers_of(name, values, count, least=least)
            )
        moment = self._moment(now)
        ignored = self._core.tell(what, told, moment)
        self._log(what, now=[moment], **told)
        return ignored

    @guarded
    def started(
        self,
        ids: npt.ArrayLike,
        phase: npt.ArrayLike = 0,
        *,
        count: npt.ArrayLike | None = None,
        now: float | None = None,
    ) -> int:
        """Tell tasks that started without `assign`. Returns how many were ignored: none waited, or the job
        had left.

        Parameters
        ----------
        ids : array_like of int, shape (n,)
            Jobs of the tasks; a job may be named several times.
        phase : array_like of int, optional
            0 map, 1 reduce.
        count : array_like of int, optional
            Number of tasks of each entry; by default one.
        now : float, optional
            Absolute time [s].
        """
        return self._report("started", ids, now, phase=phase, count=count)

    @guarded
    def ended(
        self,
        ids: npt.ArrayLike,
        phase: npt.ArrayLike = 0,
        *,
        seconds: npt.ArrayLike | None = None,
        node: npt.ArrayLike | None = None,
        count: npt.ArrayLike | None = None,
        copying: npt.ArrayLike | None = None,
        now: float | None = None,
    ) -> int:
        """Tell tasks that have ended well. Returns how many were ignored.

        Parameters
        ----------
        ids, phase, count, now
            As in `started`.
        seconds : array_like of float, optional
            How long each task took [s]; unknown by default.
        node : array_like of int, optional
            Where each task ran; -1: unknown.
        copying : array_like of float, optional
            For reduce tasks: for how many of their ``seconds`` they copied, without waiting for maps [s];
            NaN: unknown. With it, and without ``slow_start``, reduce tasks may start before all maps have
            ended. See `take_back`.
        """
        columns = {"count": count, "node": node, "seconds": seconds, "copying": copying}
        return self._report("ended", ids, now, phase=phase, **columns)

    @guarded
    def failed(
        self,
        ids: npt.ArrayLike,
        phase: npt.ArrayLike = 0,
        *,
        task: npt.ArrayLike | None = None,
        count: npt.ArrayLike | None = None,
        now: float | None = None,
    ) -> int:
        """Tell tasks that failed or were killed and will run again. Returns how many were ignored.

        ``task`` are numbers of the tasks as `assign` gave them, only needed for tasks with blocks; ``ids``,
        ``phase``, ``count`` and ``now`` are as in `started`."""
        return self._report("failed", ids, now, phase=phase, count=count, task=task)

    @guarded
    def lost(
        self,
        ids: npt.ArrayLike,
        phase: npt.ArrayLike = 0,
        *,
        task: npt.ArrayLike | None = None,
        count: npt.ArrayLike | None = None,
        now: float | None = None,
    ) -> int:
        """Tell finished maps that will run again because their output is gone: ``ids``, ``phase``, ``task``,
        ``count``, ``now`` and result as in `failed`."""
        return self._report("lost", ids, now, phase=phase, count=count, task=task)

    @guarded
    def ready(
        self, ids: npt.ArrayLike, phase: npt.ArrayLike = 1, *, now: float | None = None
    ) -> None:
        """Let tasks of a phase (by default 1, reduce) start now, also if ``slow_start`` does not allow it
        yet; ``ids``, ``phase`` and ``now`` as in `started`."""
        self._report("ready", ids, now, phase=phase)

    @guarded
    def observe(
        self,
        ids: npt.ArrayLike,
        *,
        pending: npt.ArrayLike = 0,
        running: npt.ArrayLike = 0,
        done: npt.ArrayLike = 0,
        failed: npt.ArrayLike = 0,
        elapsed: npt.ArrayLike | None = None,
        seconds: npt.ArrayLike | None = None,
        now: float | None = None,
    ) -> None:
        """Set counts of tasks at the time ``now``; they replace all that was told before.

        Parameters
        ----------
        ids : array_like of int, shape (n,)
        pending, running, done, failed : array_like of int, shape (n, 2), (n,) or a number
            How many tasks wait, run, ended well, and failed for good. One column or number is for maps only.
        elapsed : array_like of float, shape as above, optional
            How long all running tasks together have run [s]; it makes estimates from counts more exact.
        seconds : array_like of float, shape as above, optional
            The mean time of the ended tasks [s]. NaN, the default: it is estimated from the counts.
        """
        rows = ids_of(ids)
        counts = {"pending": pending, "running": running, "done": done, "failed": failed}
        columns: dict[str, npt.NDArray[Any]] = {}
        for name, values in counts.items():
            columns |= _by_phase(name, name, values, len(rows), integers_of)
        for name, key, times in (("elapsed", "elapsed", elapsed), ("seconds", "mean", seconds)):
            if times is not None:
                columns |= _by_phase(name, key, times, len(rows), floats_of)
        moment = self._moment(now)
        self._core.observe(rows, columns, moment)
        self._log("observe", now=[moment], ids=rows, **columns)

    @guarded
    def update(
        self,
        ids: npt.ArrayLike,
        *,
        weight: npt.ArrayLike | None = None,
        deadline: npt.ArrayLike | None = None,
        map_seconds: npt.ArrayLike | None = None,
        reduce_seconds: npt.ArrayLike | None = None,
        min_map_slots: npt.ArrayLike | None = None,
        min_reduce_slots: npt.ArrayLike | None = None,
        max_slots: npt.ArrayLike | None = None,
        user: str | Sequence[str] | None = None,
        now: float | None = None,
    ) -> None:
        """Change jobs, by ``ids``, at the time ``now``; columns that you leave out stay.

        Parameters
        ----------
        weight, deadline, map_seconds, reduce_seconds, min_map_slots, min_reduce_slots : array_like, optional
            As in `malleable.ClusterJobs`.
        max_slots : array_like of int, optional
            As in `add`; it may be 0: no task of the job starts.
        user : str or sequence of str, optional
            Names, one for each job or one for all.
        """
        rows = ids_of(ids)
        names = (user,) * len(rows) if isinstance(user, str) else tuple(user or ())
        amounts = {
            "weight": weight,
            "deadline": deadline,
            "map_seconds": map_seconds,
            "reduce_seconds": reduce_seconds,
        }
        counts = {"min_map_slots": min_map_slots, "min_reduce_slots": min_reduce_slots}
        columns: dict[str, Any] = {
            k: floats_of(k, v, len(rows)) for k, v in amounts.items() if v is not None
        }
        columns |= {k: integers_of(k, v, len(rows)) for k, v in counts.items() if v is not None}
        if max_slots is not None:
            columns["max_slots"] = integers_of("max_slots", max_slots, len(rows))
        numbers, new_users = _numbered(self._users, names)
        if user is not None:
            columns["user"] = numbers
        people = self._people(new_users)
        moment = self._moment(now)
        self._core.update(rows, people, columns, moment)
        told = {"new_users": np.array(people).reshape(-1)} if people else {}
        self._log("update", now=[moment], ids=rows, **told, **columns)
        self._users |= new_users

    @guarded
    def set_users(
        self, users: Mapping[str, tuple[float, float]], *, now: float | None = None
    ) -> None:
        """Set (minimum [slots], priority) of ``users`` by name, at the time ``now``. Users must be of the
        cluster, or of a job so far."""
        numbers, people = [], []
        for name, (minimum, priority) in users.items():
            if name not in self._users or self._users[name] >= self._core.users:
                raise ValueError(f"users: no user is called {name!r}")
            numbers.append(self._users[name])
            people.append(
                (
                    check_amount(f"users[{name!r}].minimum", minimum, WEIGHT),
                    check_amount(f"users[{name!r}].priority", priority, WEIGHT),
                )
            )
        moment, rows = self._moment(now), np.array(numbers, dtype=np.int64)
        self._core.set_users(rows, people, moment)
        self._log("set_users", now=[moment], users=rows, people=np.array(people).reshape(-1))

    @guarded
    def set_slots(
        self, nodes: npt.ArrayLike, slots: npt.ArrayLike, *, now: float | None = None
    ) -> None:
        """Set slots of nodes at the time ``now``. If a node leaves, set 0, and report its tasks by `failed`.

        Parameters
        ----------
        nodes : array_like of int, shape (n,)
            Numbers from 0.
        slots : array_like of int, shape (n, 2), (n,) or a number
            Map slots and reduce slots of each node. One column or number counts for both. If slots run both
            maps and reduces, the first column counts.
        """
        rows = ids_of(nodes, "nodes")
        moment = self._moment(now)
        maps, reduces = self._by_pool("slots", slots, len(rows))
        self._core.set_slots(rows, maps, reduces, moment)
        self._log("set_slots", now=[moment], nodes=rows, map_slots=maps, reduce_slots=reduces)

    def _by_pool(
        self, name: str, slots: npt.ArrayLike, nodes: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        array = array_of(name, given(name, slots))
        if array.ndim == 2 and array.shape != (nodes, 2):
            raise ValueError(f"{name} has shape {array.shape}, expected ({nodes}, 2)")
        maps = integers_of(name, array[:, 0] if array.ndim == 2 else array, nodes)
        if self._cluster.generic:
            return maps, np.zeros(nodes, dtype=np.int64)
        return maps, integers_of(name, array[:, 1] if array.ndim == 2 else array, nodes)

    @guarded
    def set_processors(self, processors: str, *, now: float | None = None) -> None:
        """Change the option ``processors`` (``unknown``, ``own`` or ``beyond``) at the time ``now``. What was
        learnt stays."""
        which = _PROCESSORS.index(checked_choice("processors", processors, _PROCESSORS))
        moment = self._moment(now)
        self._core.set_processors(which, moment)
        self._log("set_processors", now=[moment], count=[which])

    @guarded
    def set_blocks(self, job_id: int, nodes: npt.ArrayLike) -> None:
        """Say on which ``nodes``, shape (maps, copies), the blocks of job ``job_id`` are, before its first
        map task starts. The option ``replicas`` must be above 0."""
        places = array_of("nodes", nodes)
        if places.ndim != 2 or places.dtype.kind not in "iu":
            raise ValueError("nodes: whole numbers of shape (maps, copies) are needed")
        own = np.ascontiguousarray(places, dtype=np.int64)
        self._core.set_blocks(int(job_id), own)
        self._log("set_blocks", ids=[int(job_id)], nodes=own.reshape(-1), copies=[own.shape[1]])

    @guarded
    def place(self, job_id: int, copies: int = 3, blocks: int | None = None) -> Integers:
        """Nodes for copies of a job's blocks, shape (blocks, copies), for `set_blocks`.

        An adaptive policy takes the nodes that are suggested to the job's class, in turn; nodes that will
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
            Also if the policy is not adaptive.
        """
        row = ids_of([job_id], "job_id")
        number = check_whole("copies", copies, 1, len(self._cluster))
        if blocks is None:
            known = self._core.counts(row)
            blocks = int(sum(known[state][0, 0] for state in ("waiting", "running", "finished")))
        wanted = check_whole("blocks", blocks, 0, _MOST_COPIES // number)
        return self._core.place(int(row[0]), wanted, number)

    @guarded
    def finish(self, ids: npt.ArrayLike, now: float | None = None) -> None:
        """Tell jobs, by ``ids``, that are done at the time ``now``; jobs that waited for them come."""
        moment, rows = self._moment(now), ids_of(ids)
        self._core.finish(rows, moment)
        self._log("finish", now=[moment], ids=rows)

    @guarded
    def remove(self, ids: npt.ArrayLike, now: float | None = None) -> None:
        """Cancel jobs, by ``ids``, and all jobs that wait for them, at the time ``now``."""
        moment, rows = self._moment(now), ids_of(ids)
        self._core.remove(rows, moment)
        self._log("remove", now=[moment], ids=rows)

    @guarded
    def decide(self, now: float) -> SchedulerDecision:
        """How many slots each job should have from ``now`` on.

        A policy that chooses a job for each free slot (``adaptive``) counts the held slots, and the free ones
        as it would give them now. `assign` chooses nodes, too."""
        moment = check_time("now", now)
        ids, slots, changed, bound, key = self._core.decide(moment)
        if self._writer is not None:
            self._log("decide", now=[moment], count=[checksum(ids, slots)])
        if self._cluster.generic:
            slots, bound = slots[:, 0].copy(), bound[:, 0].copy()
        told = (bound, key, self, self._calls, None)
        return SchedulerDecision(moment, ids, slots, changed, *told)

    @guarded
    def _assess(self, decision: SchedulerDecision) -> tuple[float, float] | tuple[None, None]:
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
        plan = plan_jobs(jobs, slots, self._objective, policy, 0, now=decision.now)
        return plan.value, plan.lower_bound

    @guarded
    def assign(self, now: float, free: npt.ArrayLike) -> TaskStarts:
        """Choose tasks for free slots, as `TaskStarts`. The tasks count as started.

        Parameters
        ----------
        now : float
            Absolute time [s].
        free : array_like of int, shape (N, 2), (N,) or a number
            Free map slots and free reduce slots of each node, as in `set_slots`.
        """
        moment = check_time("now", now)
        maps, reduces = self._by_pool("free", free, len(self._cluster))
        starts = TaskStarts(*self._core.assign(moment, maps, reduces))
        self._log(
            "assign",
            now=[moment],
            free_maps=maps,
            free_reduces=reduces,
            start_ids=starts.ids,
            start_phase=starts.phase,
            start_node=starts.node,
        )
        return starts

    @guarded
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
        moment = check_time("now", now)
        maps, reduces = self._by_pool("free", free, len(self._cluster))
        ids = self._core.take_back(moment, maps, reduces)
        self._log(
            "take_back",
            now=[moment],
            free_maps=maps,
            free_reduces=reduces,
            ids=ids,
            phase=np.ones(len(ids), dtype=np.int64),
        )
        return ids

    def preview(self, now: float, free: npt.ArrayLike) -> TaskStarts:
        """The tasks that `assign` would start at ``now`` on these ``free`` slots. Nothing starts or changes.
        O(jobs)."""
        return copy.copy(self).assign(now, free)

    @guarded
    def counts(self, ids: npt.ArrayLike) -> dict[str, npt.NDArray[Any]]:
        """What is known of jobs, by ``ids``: a dict of arrays.

        By phase, shape (n, 2): the numbers of tasks ``waiting``, ``running`` and ``finished``; ``ready``, 1
        if tasks may start; ``estimate``, the mean seconds of a task that runs alone; ``spread``, its standard
        deviation; ``slowed``, how many times slower the ended tasks were because they ran beside each other.
        ``speedup``, shape (n,), is the learnt p of the job's program: s tasks together do as much as s^p
        tasks alone.
        """
        return self._core.counts(ids_of(ids))

    @guarded
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

    @guarded
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
        name, (rule, *_) = policy_name(self._policy), self._core.rule
        orders = {"fifo": 1, "fair": 2, "wdeq": 2, "equally": 2, "by size": 4}
        order = orders.get(rule or name, 3 if of_deadlines(self._objective) else 0)
        ids, ends = self._core.expected_ends(order, draws, seed)
        return ids, *ends.T.copy()

    @guarded
    def matching(self, now: float | None = None) -> AdaptiveMatching:
        """The classes of jobs, and the nodes that an adaptive policy suggests to them, by arrival rates at
        ``now``.

        Raises
        ------
        ValueError
            Also if the policy is not adaptive.

        Examples
        --------
        >>> import malleable as mb
        >>> cluster = mb.Cluster([{"slots": 2}, {"slots": 2, "rate": 4.0}])
        >>> scheduler = mb.Scheduler(cluster, "adaptive")  # needs malleable[lp]
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
            nodes=[np.flatnonzero(resource == r) for r in range(resource.max() + 1)],
            **found,
        )

    @property
    def history(self) -> dict[str, Any]:
        """All that was learnt, in JSON's types: for ``Scheduler(history=)``.

        ``common`` has sums over all phases. ``programs`` and ``users`` have a row for each program and each
        user (`malleable.cluster.history.History`).
        """
        return History.of(self._programs, self._users, self._core.history()).plain()

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
            "flow by flow": "a flow of several jobs is here",
            "flex": f"no order by size serves {self._objective}, gangs, minima of pools or an effort",
        }
        return f"{rule}: {reasons[rule]}" if rule else ""


def _by_phase(
    name: str, key: str, values: npt.ArrayLike, count: int, read: Callable[..., npt.NDArray[Any]]
) -> dict[str, npt.NDArray[Any]]:
    """Columns ``key_maps`` and ``key_reduces`` of values of shape (n, 2), or (n,) or a number for maps."""
    array = array_of(name, values)
    if array.ndim == 2 and array.shape != (count, 2):
        raise ValueError(f"{name} has shape {array.shape}, expected ({count}, 2)")
    maps, reduces = (array[:, 0], array[:, 1]) if array.ndim == 2 else (array, 0)
    return {f"{key}_maps": read(name, maps, count), f"{key}_reduces": read(name, reduces, count)}


def _parents(parents: Sequence[npt.ArrayLike], count: int) -> dict[str, Integers]:
    """Ids that jobs wait for, joined, and where each job's ids begin."""
    if len(parents) != count:
        raise ValueError(f"parents has {len(parents)} entries, expected {count}")
    rows = [ids_of(own, f"parents[{k}]") for k, own in enumerate(parents)]
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
    return {"parents": flat, "parents_offset": offsets}


def _numbered(known: dict[_Name, int], names: Sequence[_Name]) -> tuple[Integers, dict[_Name, int]]:
    new: dict[_Name, int] = {}
    numbers = [
        known[name] if name in known else new.setdefault(name, len(known) + len(new))
        for name in names
    ]
    return np.array(numbers, dtype=np.int64), new
