"""Reads the jobs of a Spark context, and sets the minima of its pools, by calls of its JVM (py4j).

Spark runs jobs; a job is a graph of stages, a stage a set of tasks. Each job belongs to a pool; Spark serves a
pool first until so many of its tasks run as its minimum (``minShare``) says. A call of the JVM costs a good
part of a millisecond. A look is six of them: running jobs and their stages, both as JSON of Spark's own REST
service, the slots, the names of pools. The JVM writes the JSON into a file, because a py4j answer of more than
8 KB takes 40 ms. A new job costs two more calls, a stage that is gone two.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, NamedTuple

from malleable.files.advice import library

_MARK = "malleable governor"  # property of the JVM that names the governor of the context
_POOL = "org.apache.spark.scheduler.Pool"
_UNTOLD = "NativeMethodAccessorImpl"  # Spark's text for an unknown call site in Python
_LIVE = ("ACTIVE", "PENDING")


class Key(NamedTuple):
    """A stage, and the attempt at it."""

    stage: int
    attempt: int


@dataclass
class Stage:
    """A stage of a job as one look shows it.

    ``name`` is for people; ``program`` is the same for stages that do the same, so that their task times are
    learnt together. ``mean`` are the seconds of a task that ended well; NaN: none has. ``after`` are remaining
    stages of the job that must end first.
    ``waits``: Spark has not begun it. ``barrier``: its tasks start all at once or not at all."""

    key: Key
    job: int
    name: str
    program: str
    tasks: int
    running: int
    done: int
    mean: float
    after: tuple[Key, ...]
    waits: bool
    barrier: bool

    @property
    def pending(self) -> int:
        return max(0, self.tasks - self.running - self.done)


@dataclass
class Job:
    """A job of Spark: its pool, when it was submitted [s since 1970], and its remaining stages."""

    number: int
    pool: str
    submitted: float
    stages: list[Stage] = field(default_factory=list)


class Look(NamedTuple):
    """The state of a context: tasks that can run at once, and running jobs."""

    slots: int
    jobs: list[Job]


@dataclass
class _Pool:
    """A pool in the JVM, and its minimum: by its owner, and now; ``named``: how a list of all shows it."""

    java: Any
    named: str
    own: int
    now: int


class _Shape(NamedTuple):
    """What stays as a job runs: the RDDs (data sets of Spark) that each stage reads, stages whose tasks start
    together, and by RDD the stages that make it."""

    comes_from: Mapping[int, set[int]]
    barriers: frozenset[int]
    makes: dict[int, set[int]]


def governable_context(sc: Any) -> Any:
    """The ``SparkContext`` of a ``SparkContext`` or a ``SparkSession``. TypeError or ValueError: it cannot be
    governed."""
    if ".connect." in f"{type(sc).__module__}.":
        raise ValueError(
            "sc: a Spark Connect session has no JVM that can be reached; govern in the program that runs"
            " the Connect server"
        )
    sc = getattr(sc, "sparkContext", sc)
    if not hasattr(sc, "_jsc"):
        library("pyspark", "govern_spark", "'malleable[spark]'")
        raise TypeError(f"sc: expected a SparkContext or SparkSession, not {type(sc).__name__}")
    if sc._jsc is None:
        raise ValueError("sc: the context has been stopped")
    mode = sc.getConf().get("spark.scheduler.mode", "FIFO")
    if mode.upper() != "FAIR":
        raise ValueError(
            f"sc: spark.scheduler.mode is {mode}; start the context with"
            " .config('spark.scheduler.mode', 'FAIR')"
        )
    return sc


class Context:
    """A context of Spark, ``sc``. TypeError or ValueError, and nothing changed: it cannot be governed."""

    def __init__(self, sc: Any) -> None:
        self._python = governable_context(sc)
        self._jvm = self._python._jvm
        self._context = self._python._jsc.sc()
        self._store = self._context.statusStore()
        self._profile = self._context.resourceProfileManager().defaultResourceProfile()
        self._java_pools = self._context.taskScheduler().rootPool().schedulableNameToSchedulable()
        self._field = self._jvm.java.lang.Class.forName(_POOL).getDeclaredField("minShare")
        self._prepare_looks()
        self._try_out()
        self._shapes: dict[int, _Shape] = {}  # by job
        self._pool_of: dict[int, str] = {}  # by job
        self._pools: dict[str, _Pool] = {}  # by name

    def _prepare_looks(self) -> None:
        self._page = tempfile.NamedTemporaryFile(prefix="malleable-spark-")  # noqa: SIM115
        self._file = self._jvm.java.io.File(self._page.name)
        self._file.deleteOnExit()  # if this process is killed, its JVM ends
        java, v1 = self._jvm.java, self._jvm.org.apache.spark.status.api.v1
        self._mapper = v1.JacksonMessageWriter().mapper()
        self._running = java.util.ArrayList()
        self._running.add(self._jvm.org.apache.spark.JobExecutionStatus.RUNNING)
        self._live = java.util.ArrayList()
        for name in _LIVE:
            self._live.add(v1.StageStatus.valueOf(name))
        self._all = java.util.ArrayList(), self._python._gateway.new_array(self._jvm.double, 0)

    def _try_out(self) -> None:
        mode = self._context.taskScheduler().rootPool().schedulingMode()
        pool = self._jvm.org.apache.spark.scheduler.Pool("malleable", mode, 0, 1)
        told = ""
        try:
            self._field.setAccessible(True)
            self._field.setInt(pool, 7)
        except Exception as error:
            told = ": " + str(error).strip().partition("\n")[0]
        if pool.minShare() != 7:
            raise ValueError(f"sc: this Spark does not let minShare of a pool be set{told}")

    # One governor.

    def claim(self, name: str) -> None:
        # Become the only governor of this context; ValueError: it has one.
        owner = self._jvm.java.lang.System.getProperties().putIfAbsent(_MARK, name)
        if owner is not None:
            raise ValueError(f"sc: {owner} already governs this context")

    def release(self) -> None:
        self._page.close()
        self._jvm.java.lang.System.clearProperty(_MARK)

    @property
    def over(self) -> bool:
        """Whether it has been stopped, or its JVM is gone."""
        process = getattr(self._python._gateway, "proc", None)
        return self._python._jsc is None or (process is not None and process.poll() is not None)

    # Called by any thread.

    def local(self, name: str) -> str | None:
        found: str | None = self._python.getLocalProperty(name)
        return found

    def set_local(self, name: str, value: str | None) -> None:
        self._python.setLocalProperty(name, value)

    # Looks.

    def _read(self, value: Any) -> Any:
        self._mapper.writeValue(self._file, value)
        self._page.seek(0)
        return json.loads(self._page.read())

    def look(self) -> Look:
        # Running jobs and slots now.
        slots = self._context.maxNumConcurrentTasks(self._profile)
        told = self._read(self._store.jobsList(self._running))
        if not told:
            return Look(slots, [])
        there = self._java_pools.toString()
        for name in [name for name, pool in self._pools.items() if pool.named not in there]:
            self.set_minimum(name, 0)  # the pool was removed; another of the same name may come
            del self._pools[name]
        none, quantiles = self._all
        stages: dict[int, dict[str, Any]] = {}
        for stage in self._read(self._store.stageList(self._live, False, False, quantiles, none)):
            stages[stage["stageId"]] = stage
        jobs, taken = [], set[int]()
        for job in sorted(told, key=lambda job: job["jobId"]):
            own = {k: stages[k] for k in sorted(job["stageIds"]) if k in stages and k not in taken}
            taken |= own.keys()
            found = self._job(job, own)
            if found.stages:
                jobs.append(found)
        for known in (self._shapes, self._pool_of):
            for number in known.keys() - {job["jobId"] for job in told}:
                del known[number]
        return Look(slots, jobs)

    def _job(self, job: Mapping[str, Any], stages: Mapping[int, Mapping[str, Any]]) -> Job:
        # A job with stages that run, or wait for these; stages that Spark will skip are none of its work.
        number = job["jobId"]
        active = {k for k, stage in stages.items() if stage["status"] == "ACTIVE"}
        if active:
            self._pool_of[number] = stages[min(active)]["schedulingPool"]
        pool = self._pool_of.get(number, "default")
        found = Job(number, pool, _moment(job["submissionTime"]))
        parents, barriers = self._parents(number, stages)
        left: set[int] = set()
        label, places = _label(job, pool), sorted(job["stageIds"])
        for k, stage in stages.items():  # a stage has a larger number than its parents
            before = parents[k] & left
            if k not in active and not before:
                continue
            left.add(k)
            attempt = f".{stage['attemptId']}" if stage["attemptId"] else ""
            found.stages.append(
                Stage(
                    Key(k, stage["attemptId"]),
                    number,
                    f"{label}, stage {k}{attempt}"[-200:],
                    f"{label} {places.index(k)}"[-200:],
                    stage["numTasks"],
                    stage["numActiveTasks"],
                    *_ended(stage),
                    tuple(Key(p, stages[p]["attemptId"]) for p in sorted(before)),
                    k not in active,
                    k in barriers,
                )
            )
        return found

    def _parents(
        self, job: int, stages: Mapping[int, Mapping[str, Any]]
    ) -> tuple[dict[int, set[int]], frozenset[int]]:
        # By stage the stages whose output it reads, and the stages whose tasks start together.
        if job not in self._shapes:
            comes_from, barriers = {}, set()
            for graph in self._read(self._store.operationGraphForJob(job)):
                number = int(graph["rootCluster"]["id"].rpartition("_")[2])
                comes_from[number] = {edge["fromId"] for edge in graph["incomingEdges"]}
                if graph["rootCluster"]["barrier"] or graph["rootCluster"]["barrierClusters"]:
                    barriers.add(number)
            self._shapes[job] = _Shape(comes_from, frozenset(barriers), {})
        shape = self._shapes[job]
        for k, stage in stages.items():
            shape.makes.setdefault(stage["rddIds"][0], set()).add(k)
        makers = {
            k: set().union(*(shape.makes.get(rdd, ()) for rdd in shape.comes_from.get(k, ())))
            for k in stages
        }
        return makers, shape.barriers

    def ended(self, key: Key) -> tuple[int, float, bool] | None:
        """Tasks of a stage that is gone that ended well, their mean seconds, and whether no others are
        wanted. None: Spark has forgotten it."""
        try:
            stage = self._read(self._store.lastStageAttempt(key.stage))
        except Exception as error:
            if type(error).__name__ != "Py4JJavaError":  # it is no Java exception
                raise
            return None
        if stage["attemptId"] != key.attempt:
            return 0, math.nan, False
        return *_ended(stage), stage["status"] in ("COMPLETE", "SKIPPED", "PENDING")

    # Minima.

    def _pool(self, name: str) -> _Pool | None:
        if name not in self._pools:
            found = self._context.getPoolForName(name)
            if not found.isDefined():
                return None
            java = found.get()
            own = java.minShare()
            self._pools[name] = _Pool(java, f"{name}={java.toString()}", own, own)
        return self._pools[name]

    def own_minimum(self, name: str) -> int:
        pool = self._pool(name)
        return pool.own if pool else 0

    def set_minimum(self, name: str, tasks: int) -> None:
        """Spark serves a pool first until this many of its tasks run; never fewer than its owner's minimum."""
        pool = self._pool(name)
        wanted = max(pool.own, tasks) if pool else 0
        if pool and pool.now != wanted:
            self._field.setInt(pool.java, wanted)
            pool.now = wanted

    @property
    def changed(self) -> dict[str, int]:
        # Minima by pool, where they are not the owner's.
        return {name: pool.now for name, pool in self._pools.items() if pool.now != pool.own}

    def restore(self) -> None:
        for name in self.changed:
            self.set_minimum(name, 0)


def _ended(stage: Mapping[str, Any]) -> tuple[int, float]:
    # Tasks of a stage that ended well, and their mean seconds.
    done = min(stage["numCompleteTasks"], stage["numTasks"])
    parts = ("executorDeserializeTime", "executorRunTime", "resultSerializationTime")
    took = sum(stage[part] for part in parts) / 1e3
    return done, took / done if done else math.nan


def _moment(text: str) -> float:
    told = datetime.strptime(text.removesuffix("GMT"), "%Y-%m-%dT%H:%M:%S.%f")
    return told.replace(tzinfo=timezone.utc).timestamp()


def _label(job: Mapping[str, Any], pool: str) -> str:
    told = (job.get("description"), job["name"], job.get("jobGroup"), pool)
    return next((text for text in told if text and _UNTOLD not in text), pool)
