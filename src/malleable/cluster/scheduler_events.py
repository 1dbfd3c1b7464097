"""The calls by which an engine (the program that runs tasks) reports to a scheduler: jobs, starts and ends of
tasks, changes of jobs, users and nodes. Each call checks its columns, tells the core, and is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from malleable.arrays import (
    arguments,
    array_of,
    column_of,
    columns_of,
    floats_of,
    id_lists,
    ids_of,
    integers_of,
    quotient,
)
from malleable.cluster.named_policies import placed_columns, programs_of
from malleable.cluster.scheduler_state import SchedulerState
from malleable.cluster.table import ClusterJobs
from malleable.jobs.table import Integers
from malleable.traces.job_table import table_of
from malleable.validation import WEIGHT, check_amount, checked_choice

# Values of the option, by the core's number: each task has its own processor; unknown; more tasks run than
# there are processors.
_PROCESSORS = ("own", "unknown", "beyond")
_Name = TypeVar("_Name", str, tuple[str, str])


class SchedulerEvents(SchedulerState):
    """The calls of a `malleable.Scheduler` that tell it what happened."""

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
            minima, ``min_mode``, ``width``, ``requested``, ``restart``, ``user``, ``program`` (empty: not
            known), ``flow`` and ``after``. ``auto`` (which is ``adaptive`` from then on) and adaptive policies
            also use ``rate`` and ``block``; others refuse ``rate``, and learn it. Add all jobs of a
            flow in one call. A job comes when the jobs in its ``after`` have finished.
        max_slots : array_like of int, shape (J,), optional
            Slots that a job may hold at once (of each kind, if kinds are separate), at least 1 and its
            minima; by default any number.
        parents : sequence of array_like of int, J entries, optional
            For each job, ids of earlier jobs for which it waits, too.
        """
        jobs, moment = table_of(jobs, ClusterJobs), self._moment(now)
        count = len(jobs)
        users, new_users = _numbered(self._users, jobs.user or ("",) * count)
        runs = programs_of(jobs, self._policy)
        named = [k for k, (program, _) in enumerate(runs) if program]
        groups = np.full(count, -1, dtype=np.int64)
        groups[named], new_programs = _numbered(self._programs, [runs[k] for k in named])
        flows, _ = _numbered({}, jobs.flow or tuple(map(str, range(count))))
        after = jobs.after is not None
        people = self._people(new_users)
        columns = jobs.told() | {
            "map_seconds": quotient(jobs.map_work, jobs.maps),
            "reduce_seconds": quotient(jobs.reduce_work, jobs.reduces),
            "user": users,
            "group": groups,
            "flow": flows,
            "after_offset": jobs.after_offset if after else np.zeros(count + 1, np.int64),
            "after": jobs.after if after else np.zeros(0, np.int64),
        }
        columns |= placed_columns(jobs, self._cluster, self._settings)
        if max_slots is not None:
            columns["max_slots"] = integers_of("max_slots", max_slots, count, least=1)
        if parents is not None:
            columns["parents_offset"], columns["parents"] = id_lists("parents", parents, count)
        ids = self._core.add(people, columns, moment)
        self._log("add", now=[moment], ids=ids, new_users=np.array(people).reshape(-1), **columns)
        self._users |= new_users
        self._programs |= new_programs
        return ids

    def _report(self, what: str, ids: npt.ArrayLike, now: float | None, **columns: Any) -> int:
        # Tell the core an event of tasks; returns how many tasks were ignored.
        rows = ids_of(ids)
        told: dict[str, Any] = {"ids": rows}
        for name, values in columns.items():
            kind = np.float64 if name in ("seconds", "copying") else np.int64
            if type(values) is np.ndarray and values.dtype == kind and values.shape == rows.shape:
                told[name] = np.ascontiguousarray(values)  # the core checks the values
            elif values is not None:
                told[name] = column_of(name, values, len(rows))
        moment = self._moment(now)
        ignored = self._core.tell(what, told, moment)
        self._log(what, now=[moment], **told)
        return ignored

    def started(
        self,
        ids: npt.ArrayLike,
        phase: npt.ArrayLike = 0,
        *,
        count: npt.ArrayLike | None = None,
        now: float | None = None,
    ) -> int:
        """Tell tasks that started without `malleable.Scheduler.assign`. Returns how many were ignored:
        none waited, or the job had left.

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
            ended. See `malleable.Scheduler.take_back`.
        """
        columns = {"count": count, "node": node, "seconds": seconds, "copying": copying}
        return self._report("ended", ids, now, phase=phase, **columns)

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

        ``task`` are numbers of the tasks as `malleable.Scheduler.assign` gave them, only needed for tasks
        with blocks; ``ids``, ``phase``, ``count`` and ``now`` are as in `started`."""
        return self._report("failed", ids, now, phase=phase, count=count, task=task)

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

    def ready(
        self, ids: npt.ArrayLike, phase: npt.ArrayLike = 1, *, now: float | None = None
    ) -> None:
        """Let tasks of a phase (by default 1, reduce) start now, also if ``slow_start`` does not allow it
        yet; ``ids``, ``phase`` and ``now`` as in `started`."""
        self._report("ready", ids, now, phase=phase)

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
        restart: npt.ArrayLike | None = None,
        user: str | Sequence[str] | None = None,
        now: float | None = None,
    ) -> None:
        """Change jobs, by ``ids``, at the time ``now``; columns that you leave out stay.

        Parameters
        ----------
        weight, deadline, map_seconds, reduce_seconds, min_map_slots, min_reduce_slots, restart : optional
            As in `malleable.ClusterJobs`.
        max_slots : array_like of int, optional
            As in `add`; it may be 0: no task of the job starts.
        user : str or sequence of str, optional
            Names, one for each job or one for all.
        """
        told = arguments(locals(), "ids", "max_slots", "user", "now")
        given = {name: values for name, values in told.items() if values is not None}
        rows = ids_of(ids)
        names = (user,) * len(rows) if isinstance(user, str) else tuple(user or ())
        columns = columns_of(given, len(rows))
        if max_slots is not None:
            columns["max_slots"] = integers_of("max_slots", max_slots, len(rows))
        numbers, new_users = _numbered(self._users, names)
        if user is not None:
            columns["user"] = numbers
        people = self._people(new_users)
        moment = self._moment(now)
        self._core.update(rows, people, columns, moment)
        new = {"new_users": np.array(people).reshape(-1)} if people else {}
        self._log("update", now=[moment], ids=rows, **new, **columns)
        self._users |= new_users

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

    def set_processors(self, processors: str, *, now: float | None = None) -> None:
        """Change the option ``processors`` (``unknown``, ``own`` or ``beyond``) at the time ``now``. What was
        learnt stays."""
        which = _PROCESSORS.index(checked_choice("processors", processors, _PROCESSORS))
        moment = self._moment(now)
        self._core.set_processors(which, moment)
        self._log("set_processors", now=[moment], count=[which])

    def set_blocks(self, job_id: int, nodes: npt.ArrayLike) -> None:
        """Say on which ``nodes``, shape (maps, copies), the blocks of job ``job_id`` are, before its first
        map task starts. The option ``replicas`` must be above 0."""
        places = array_of("nodes", nodes)
        if places.ndim != 2 or places.dtype.kind not in "iu":
            raise ValueError("nodes: whole numbers of shape (maps, copies) are needed")
        own = np.ascontiguousarray(places, dtype=np.int64)
        self._core.set_blocks(int(job_id), own)
        self._log("set_blocks", ids=[int(job_id)], nodes=own.reshape(-1), copies=[own.shape[1]])

    def finish(self, ids: npt.ArrayLike, now: float | None = None) -> None:
        """Tell jobs, by ``ids``, that are done at the time ``now``; jobs that waited for them come."""
        self._end("finish", ids, now)

    def remove(self, ids: npt.ArrayLike, now: float | None = None) -> None:
        """Cancel jobs, by ``ids``, and all jobs that wait for them, at the time ``now``."""
        self._end("remove", ids, now)

    def _end(self, how: str, ids: npt.ArrayLike, now: float | None) -> None:
        moment, rows = self._moment(now), ids_of(ids)
        getattr(self._core, how)(rows, moment)
        self._log(how, now=[moment], ids=rows)


def _by_phase(
    name: str, key: str, values: npt.ArrayLike, count: int, read: Callable[..., npt.NDArray[Any]]
) -> dict[str, npt.NDArray[Any]]:
    # Columns ``key_maps`` and ``key_reduces`` of values of shape (n, 2), or (n,) or a number for maps.
    array = array_of(name, values)
    if array.ndim == 2 and array.shape != (count, 2):
        raise ValueError(f"{name} has shape {array.shape}, expected ({count}, 2)")
    maps, reduces = (array[:, 0], array[:, 1]) if array.ndim == 2 else (array, 0)
    return {f"{key}_maps": read(name, maps, count), f"{key}_reduces": read(name, reduces, count)}


def _numbered(known: dict[_Name, int], names: Sequence[_Name]) -> tuple[Integers, dict[_Name, int]]:
    # The number of each name, and the numbers of names that were not known.
    new: dict[_Name, int] = {}
    numbers = [
        known[name] if name in known else new.setdefault(name, len(known) + len(new))
        for name in names
    ]
    return np.array(numbers, dtype=np.int64), new
