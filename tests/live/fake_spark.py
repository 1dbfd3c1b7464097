"""A Spark in one process, without a JVM: its FAIR scheduler in virtual time, and the objects that py4j would
show of it."""

import heapq
import json
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace as Named


class Py4JJavaError(Exception):
    """As py4j calls what Java throws."""


class Pool:
    def __init__(self, name, mode="FAIR", least=0, weight=1):
        self.name, self.least, self.weight = name, least, weight
        self.jobs = []

    def minShare(self):  # noqa: N802
        return self.least

    def toString(self):  # noqa: N802
        return f"org.apache.spark.scheduler.Pool@{id(self):x}"

    @property
    def running(self):
        return sum(stage.running for job in self.jobs for stage in job.stages)

    @property
    def before(self):
        """Spark's FairSchedulingAlgorithm: the least goes first."""
        needy = self.running < self.least
        ratio = self.running / max(self.least, 1) if needy else self.running / self.weight
        return not needy, ratio, self.name


@dataclass
class Stage:
    number: int
    tasks: int
    seconds: float
    after: tuple["Stage", ...] = ()
    barrier: bool = False
    attempt: int = 0
    status: str = "PENDING"
    running: int = 0
    done: int = 0

    @property
    def waiting(self):
        return self.tasks - self.running - self.done if self.status == "ACTIVE" else 0

    def shown(self, pool):
        took = int(1000 * self.seconds * self.done)
        return {
            "status": self.status, "stageId": self.number, "attemptId": self.attempt,
            "numTasks": self.tasks, "numActiveTasks": self.running,
            "numCompleteTasks": self.done, "executorRunTime": took,
            "executorDeserializeTime": 0, "resultSerializationTime": 0,
            "schedulingPool": pool if self.status != "PENDING" else "default",
            "rddIds": [10 * self.number],
        }  # fmt: skip


@dataclass
class Job:
    number: int
    pool: Pool
    stages: list
    submitted: float
    description: str = ""
    status: str = "RUNNING"
    ended: float = field(default=float("nan"))


class FakeSpark:
    """Stands for a ``SparkContext``; `submit` jobs, and let time pass by `until`."""

    def __init__(self, slots=8, mode="FAIR"):
        self.slots, self.mode = slots, mode
        self.now, self._zero = 0.0, time.time()
        self.pools = {"default": Pool("default")}
        self.jobs, self.properties, self.claims = [], {}, {}
        self._ends = []  # when tasks end: time, order, job, stage, its attempt
        self._count = self._stages = 0
        self.failing = ""
        self.calls = 0
        self.settable = True
        self._gateway = Named(new_array=lambda kind, size: [None] * size)
        self._jvm = self._java()
        self._jsc = Named(sc=self._context)

    def clock(self):
        return self.now

    # What people do.

    def getConf(self):  # noqa: N802
        return Named(get=lambda name, otherwise: self.mode)

    def getLocalProperty(self, name):  # noqa: N802
        return self.properties.get(name)

    def setLocalProperty(self, name, value):  # noqa: N802
        self.properties[name] = value

    def stop(self):
        self._jsc = None

    def submit(self, pool, *stages, description="", barrier=False):
        """A job: for each stage its tasks and their seconds, and numbers of stages of the job that it is after;
        without, the one before."""
        made = []
        for k, (tasks, seconds, *after) in enumerate(stages):
            parents = after[0] if after else range(max(0, k - 1), k)
            own = tuple(made[p] for p in parents)
            made.append(Stage(self._stages + k, tasks, seconds, own, barrier))
        self._stages += len(made)
        own = self.pools.setdefault(pool, Pool(pool))
        job = Job(len(self.jobs), own, made, self.now, description)
        self.jobs.append(job)
        own.jobs.append(job)
        self._submit_stages(job)
        self._start()
        return job

    def cancel(self, job):
        job.status, job.ended = "FAILED", self.now
        for stage in job.stages:
            if stage.status != "COMPLETE":
                stage.status = "FAILED" if stage.status == "ACTIVE" else "SKIPPED"
                stage.running, stage.attempt = 0, stage.attempt
        job.pool.jobs.remove(job)
        self._start()

    def remove_pool(self, name):
        return self.pools.pop(name)

    def until(self, moment):
        while self._ends and self._ends[0][0] <= moment:
            self.now, _, job, stage = heapq.heappop(self._ends)
            if stage.status != "ACTIVE":
                continue
            stage.running -= 1
            stage.done += 1
            if stage.done == stage.tasks:
                stage.status = "COMPLETE"
                self._submit_stages(job)
            self._start()
        self.now = moment

    # Its scheduler.

    def _submit_stages(self, job):
        for stage in job.stages:
            if stage.status == "PENDING" and all(p.status == "COMPLETE" for p in stage.after):
                stage.status = "ACTIVE"
        if all(stage.status == "COMPLETE" for stage in job.stages):
            job.status, job.ended = "SUCCEEDED", self.now
            job.pool.jobs.remove(job)

    def _start(self):
        def first(pool):
            free = self.slots - sum(own.running for own in pools)
            return next(
                (
                    (job, stage)
                    for job in pool.jobs
                    for stage in job.stages
                    if stage.waiting and (not stage.barrier or stage.waiting <= free)
                ),
                None,
            )

        pools = {id(job.pool): job.pool for job in self.jobs if job.status == "RUNNING"}.values()
        while sum(pool.running for pool in pools) < self.slots:
            ready = [pool for pool in pools if first(pool)]
            if not ready:
                break
            job, stage = first(min(ready, key=lambda pool: pool.before))
            count = stage.waiting if stage.barrier else 1
            stage.running += count
            for _ in range(count):
                self._count += 1
                heapq.heappush(self._ends, (self.now + stage.seconds, self._count, job, stage))

    # What py4j shows.

    def _context(self):
        if self.failing:
            raise Py4JJavaError(self.failing)
        root = Named(
            schedulingMode=lambda: "FAIR",
            schedulableNameToSchedulable=lambda: Named(toString=self._all_pools),
        )
        return Named(
            statusStore=lambda: Named(
                jobsList=self._jobs, stageList=self._live_stages,
                operationGraphForJob=self._graphs, lastStageAttempt=self._last,
            ),
            resourceProfileManager=lambda: Named(defaultResourceProfile=lambda: None),
            taskScheduler=lambda: Named(rootPool=lambda: root),
            maxNumConcurrentTasks=lambda profile: self._called(self.slots),
            getPoolForName=self._option,
        )  # fmt: skip

    def _called(self, value):
        self.calls += 1
        if self.failing or self._jsc is None:
            raise RuntimeError(self.failing or "stopped")
        return value

    def _all_pools(self):
        return f"{{{', '.join(f'{name}={own.toString()}' for name, own in self.pools.items())}}}"

    def _option(self, name):
        found = self._called(self.pools.get(name))
        return Named(isDefined=lambda: found is not None, get=lambda: found)

    def _running(self):
        return [job for job in self.jobs if job.status == "RUNNING"]

    def _jobs(self, statuses):
        def moment(at):
            told = datetime.fromtimestamp(self._zero + at, timezone.utc)
            return told.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "GMT"

        return self._called([
            {
                "jobId": job.number, "name": "count at NativeMethodAccessorImpl.java:0",
                "description": job.description, "submissionTime": moment(job.submitted),
                "stageIds": [stage.number for stage in job.stages],
            }
            for job in self._running()
        ])  # fmt: skip

    def _live_stages(self, statuses, *more):
        return self._called(
            [
                stage.shown(job.pool.name)
                for job in self._running()
                for stage in job.stages
                if stage.status in ("ACTIVE", "PENDING")
            ]
        )

    def _graphs(self, number):
        return self._called([
            {
                "incomingEdges": [{"fromId": 10 * p.number, "toId": 0} for p in stage.after],
                "rootCluster": {
                    "id": f"stage_{stage.number}", "barrier": stage.barrier, "barrierClusters": [],
                },
            }
            for stage in self.jobs[number].stages
        ])  # fmt: skip

    def _last(self, number):
        for job in self.jobs:
            for stage in job.stages:
                if stage.number == number:
                    return self._called(stage.shown(job.pool.name))
        raise Py4JJavaError("NoSuchElementException")

    def _java(self):
        def set_minimum(pool, least):
            self._called(None)
            if not self.settable:
                raise Py4JJavaError("InaccessibleObjectException: no")
            pool.least = least

        named = Named(setAccessible=lambda yes: None, setInt=set_minimum)
        java_class = Named(getDeclaredField=lambda name: named)
        properties = Named(
            putIfAbsent=lambda name, who: (
                self.claims[name] if name in self.claims else self.claims.update({name: who})
            )
        )
        mapper = Named(
            writeValue=lambda file, value: self._called(
                Path(file.name).write_text(json.dumps(value))
            )
        )
        lang = Named(
            Class=Named(forName=lambda name: java_class),
            System=Named(
                getProperties=lambda: properties,
                clearProperty=lambda name: self.claims.pop(name, None),
            ),
        )  # fmt: skip
        arrays = Named(ArrayList=lambda: Named(add=lambda value: None))
        v1 = Named(
            JacksonMessageWriter=lambda: Named(mapper=lambda: mapper),
            StageStatus=Named(valueOf=lambda name: name),
        )
        spark = Named(
            scheduler=Named(Pool=Pool), JobExecutionStatus=Named(RUNNING="RUNNING"),
            status=Named(api=Named(v1=v1)),
        )  # fmt: skip
        apache = Named(spark=spark)
        io = Named(File=lambda name: Named(name=name, deleteOnExit=lambda: None))
        return Named(
            java=Named(io=io, lang=lang, util=arrays), org=Named(apache=apache), double=float
        )
