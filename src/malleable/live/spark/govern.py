"""``govern_spark``: jobs of a Spark context under an objective, for as long as a ``with`` block lasts. A thread
looks at the jobs, asks our scheduler, and sets the minima of Spark's pools (groups of jobs)."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malleable.live.decider import SchedulerDecider
from malleable.live.guard import Guard
from malleable.live.jobs_file import checked_settings
from malleable.live.journal import Journal
from malleable.live.spark.context import Context
from malleable.live.spark.governor import Governor, Wishes
from malleable.policies import ClusterPolicy, ObjectiveName

if TYPE_CHECKING:
    from typing_extensions import Self

_SETTINGS = ("weight", "deadline", "min_slots", "user")  # of a pool
_PROPERTY = "spark.scheduler.pool"  # Spark's: the pool of the jobs that a thread submits
_LONGEST_PAUSE = 5.0  # most seconds between looks while they fail

_log = logging.getLogger("malleable")

# Settings by name of the pool; None: the defaults.
Pools = Mapping[str, Mapping[str, Any]] | Callable[[str], Mapping[str, Any] | None]


class GovernedSpark:
    """A Spark context whose pools are governed. `malleable.govern_spark` makes it.

    Attributes
    ----------
    alive : bool
        Whether it governs: it has not been closed, and the context has not been stopped.
    looks : int
        How often it has looked at the jobs that run.
    minima : dict of int
        By name of the pool: minima that the governor has set, where they are others than the pool's own.
    trouble : str
        Why the last look failed; empty: it did not.

    See Also
    --------
    malleable.govern_spark : With all settings.
    """

    def __init__(
        self,
        spark: Context,
        decider: SchedulerDecider,
        every: float,
        pools: Pools,
        people: Sequence[str],
        journal: Journal | None,
        run: int,
    ) -> None:
        self._spark, self._every, self._rule, self._people = spark, every, pools, people
        self._decider, self._journal = decider, journal
        self._guard = Guard(_log.warning)
        # By pool the settings of nested blocks; the innermost counts.
        self._blocks: dict[str, list[Wishes]] = {}
        # Names of unused pools, which are used again because Spark keeps all pools.
        self._free: list[str] = []
        self._names = (f"malleable-{k}" for k in count(1))  # of pools with a name of ours
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self.trouble = ""
        self._governor = Governor(spark, decider, self._wishes, journal, run, guard=self._guard)
        self._thread = threading.Thread(target=self._go, name="malleable-spark", daemon=True)
        atexit.register(self.close)
        self._thread.start()

    @property
    def looks(self) -> int:
        return self._governor.looks

    @property
    def minima(self) -> dict[str, int]:
        return self._spark.changed

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Set back all that was changed, and end. Jobs go on as Spark's own scheduler has it."""
        self._stop.set()
        self._thread.join()
        atexit.unregister(self.close)

    @contextmanager
    def pool(self, name: str | None = None, **settings: Any) -> Iterator[str]:
        """Jobs that this thread submits within the block are in a pool of their own.

        Parameters
        ----------
        name : str, optional
            Name of the pool, for example of a job group or a user. By default a pool that no other block
            uses, as for one query. If the name is the same each time, task times are remembered for it.
        weight : float
            Weight of each of the pool's jobs in the objective [1].
        deadline : float
            When the jobs should end: seconds from now on [none].
        min_slots : int
            Tasks that the pool is guaranteed while it has work [0].
        user : str
            Whose jobs they are [none].

        Yields
        ------
        str
            Name of the pool.

        Raises
        ------
        ValueError
            Names the setting and what is wrong.
        """
        wishes = Wishes(**checked_settings(settings, _SETTINGS), name=name or "", since=time.time())
        with self._lock:
            own = name or (self._free.pop() if self._free else next(self._names))
            self._blocks.setdefault(own, []).append(wishes)
        before = self._spark.local(_PROPERTY)
        self._spark.set_local(_PROPERTY, own)
        try:
            yield own
        finally:
            with self._lock:
                self._blocks[own].remove(wishes)
                if not name:
                    self._free.append(own)
            with suppress(Exception):  # the context has been stopped
                self._spark.set_local(_PROPERTY, before)

    def _wishes(self, pool: str) -> Wishes:
        with self._lock:
            blocks = self._blocks.get(pool)
            found = blocks[-1] if blocks else None
        about = f"what is wanted of pool {pool!r}"
        found = found or self._guard(about, lambda: self._asked(pool)) or Wishes()
        return found if found.user or pool not in self._people else replace(found, user=pool)

    def _asked(self, pool: str) -> Wishes:
        rule = self._rule
        found = rule(pool) if callable(rule) else rule.get(pool)
        return Wishes(**checked_settings(found or {}, _SETTINGS))

    # The thread that looks.

    def _go(self) -> None:
        pause = 0.0
        while not self._stop.wait(pause):
            pause = self._every
            try:
                self._governor.look()
                self.trouble = ""
            except Exception as error:
                if self._spark.over:
                    break
                told = f"{type(error).__name__}: {error}".partition("\n")[0]
                if not self.trouble:
                    _log.warning("a look at Spark's jobs failed, it is tried again: %s", told)
                self.trouble = told
                pause = min(_LONGEST_PAUSE, 2.0 * pause)
        with suppress(Exception):  # jobs may have ended since the last look
            self._governor.look()
        with suppress(Exception):  # the JVM is gone, and its changes with it
            self._spark.restore()
        with suppress(Exception):
            self._spark.release()
        self._guard("the end of the run's journal", self._end)

    def _end(self) -> None:
        self._governor.end_run("stopped" if self._governor.busy else "done")
        self._decider.close()
        if self._journal:
            self._journal.close()


def govern_spark(
    sc: Any,
    objective: ObjectiveName | str = "sum:response",
    *,
    every: float = 0.1,
    pools: Pools | None = None,
    users: Sequence[Mapping[str, Any]] = (),
    policy: ClusterPolicy | str = "auto",
    journal: str | PathLike[str] | None = None,
    **options: Any,
) -> GovernedSpark:
    """Let the jobs of a Spark context share its slots by an objective.

    Spark's FAIR scheduler starts the tasks. It serves pools first that hold fewer tasks than their
    ``minShare``. While the block lasts, a thread looks at the jobs that run, decides how many slots each one
    should have, and sets the ``minShare`` of their pools. Afterwards all pools have what they had.

    Parameters
    ----------
    sc : SparkContext or SparkSession
        A context with ``spark.scheduler.mode`` FAIR. Each job that should count on its own needs a pool of
        its own: `GovernedSpark.pool`, or ``sc.setLocalProperty("spark.scheduler.pool", NAME)``.
    objective : str
        ``sum:KIND`` or ``max:KIND``, as for `malleable.Scheduler`.
    every : float
        Seconds between two looks, from 0.02 to 60.
    pools : mapping or function, optional
        What is wanted of pools: by the pool's name, ``weight``, ``deadline`` (seconds after a job was
        submitted), ``min_slots`` and ``user``. A function gets the name and returns the same, or None.
    users : sequence of mapping
        Minima and priorities of users, as for `malleable.Cluster`.
    policy : str
        As for `malleable.Scheduler`.
    journal : path, optional
        A file for `malleable status`, `malleable watch` and `malleable report`. It also keeps what tasks
        took, for the next run.
    **options
        As for `malleable.Scheduler`.

    Returns
    -------
    GovernedSpark
        To be used in a ``with`` block, or until its ``close``.

    Raises
    ------
    ValueError
        The context is not FAIR, is governed by somebody else, has no JVM that can be reached (Spark Connect),
        or is of a Spark that does not let ``minShare`` be set; or an argument is wrong. Nothing is changed
        then.
    ImportError
        ``pyspark`` is not installed.

    See Also
    --------
    malleable.Executor : Runs Python calls under an objective, without Spark.

    Notes
    -----
    A slot is what one task takes (``spark.task.cpus``). The ``minShare`` that you gave a pool stays its
    floor. A look that fails is reported once and tried again. A look takes O(stages), and the time of the
    policy. Source: Wolf et al. 2010 (FLEX), sections 1 and 2.

    Examples
    --------
    >>> import malleable as mb
    >>> from pyspark.sql import SparkSession  # needs malleable[spark]
    >>> builder = SparkSession.builder.master("local[2]").config("spark.scheduler.mode", "FAIR")
    >>> spark = builder.config("spark.ui.enabled", "false").getOrCreate()
    >>> with mb.govern_spark(spark) as governed, governed.pool():
    ...     print(spark.range(8).count())
    8
    >>> spark.stop()
    """
    if not 0.02 <= every <= 60.0:
        raise ValueError(f"every = {every!r}: must be from 0.02 to 60 seconds")
    if not callable(pools):
        for name, wanted in (pools or {}).items():
            checked_settings(wanted, _SETTINGS, f"pools[{name!r}].")
    # One slot until Spark says how many there are; Spark shows counts of tasks; each task has a processor.
    how = {"users": users, "counted": True, "processors": "own", **options}
    spark = Context(sc)
    spark.claim(f"process {os.getpid()}")
    try:
        kept = None if journal is None else Journal(Path(journal))
        known = kept.history if kept else lambda: None
        history = Guard(_log.warning)("the history of programs", known)
        decider = SchedulerDecider(1, policy, objective, history=history, **how)
        run = kept.begin(1, objective, policy, kind="stages") if kept else 0
    except BaseException:
        spark.release()
        raise
    people = [user["name"] for user in users]
    return GovernedSpark(spark, decider, every, pools or {}, people, kept, run)
