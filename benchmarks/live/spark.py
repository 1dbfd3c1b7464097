"""Jobs of a real Spark under FIFO, FAIR, `govern_spark` and two plain rivals.

    python -m benchmarks.live.spark

Tasks sleep, so that a machine with two cores runs eight at once. Jobs come one after another at random
(Poisson), load 0.85. All rules have the same context (``local[8]``, mode FAIR); FIFO is one pool for all jobs,
which serves them by arrival. ``--queries``: SQL queries of two to four stages, and shuffles between them.

- ``fair``: a pool a job, equal pools.
- ``shortest``: ten lines. The pool with fewest tasks left has all slots as its ``minShare``.
- ``prototype``: tasks left by the status tracker every 50 ms, and a `malleable.Epoch` decides.
- ``flex``: `malleable.govern_spark`, nothing said of sizes.

``--tardy``: jobs have deadlines that can all be met. A job may take two seconds, and one and a half times as
long as it takes if all slots serve the job with least work left. ``flex`` has the objective ``sum:tardy``, and
``edf`` gives all slots to the job that is due first.
"""

from __future__ import annotations

import argparse
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

import malleable as mb
from malleable.view.drawing import new_figure, save_figure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLOTS, LOAD, JOBS = 8, 0.85, 14
RULES = ("fifo", "fair", "shortest", "prototype", "flex")
NAMES = {"fifo": "FIFO", "fair": "FAIR", "flex": "FLEX (govern_spark)"}


def drawn(seed: int, queries: bool) -> tuple[list[float], list[list[tuple[int, float]]]]:
    """Arrivals [s], and for each job its stages: tasks, and the seconds of one.

    Work is log-normal, 20 slot-seconds in the median. Jobs come at random, in the time in which the slots
    could do all of it at the load.
    """
    rng = np.random.default_rng(seed)
    jobs = []
    for _ in range(JOBS):
        stages = int(rng.integers(2, 5)) if queries else 1
        size = rng.lognormal(np.log(20.0), 1.2) / stages
        jobs.append([])
        for _ in range(stages):
            seconds = round(float(rng.uniform(0.2, 0.8)), 2)
            tasks = int(np.clip(size * rng.uniform(0.5, 1.5) / seconds, 2, 400))
            jobs[-1].append((tasks, seconds))
    work = sum(tasks * seconds for stages in jobs for tasks, seconds in stages)
    arrivals = np.sort(rng.uniform(0.0, work / SLOTS / LOAD, JOBS))
    return (arrivals - arrivals[0]).tolist(), jobs


def shortest_first(arrivals: list[float], jobs: list[list[tuple[int, float]]]) -> Any:
    """When jobs end if all slots serve the job with least work left, and work is divisible."""
    left = {k: sum(tasks * seconds for tasks, seconds in own) for k, own in enumerate(jobs)}
    ends, at = np.zeros(len(jobs)), 0.0
    while left:
        here = [k for k in left if arrivals[k] <= at]
        coming = min((arrivals[k] for k in left if arrivals[k] > at), default=np.inf)
        if not here:
            at = coming
            continue
        k = min(here, key=left.__getitem__)
        span = min(left[k] / SLOTS, coming - at)
        left[k] -= span * SLOTS
        at += span
        if left[k] <= 1e-9:
            ends[k] = at
            del left[k]
    return ends


def query(spark: SparkSession, stages: list[tuple[int, float]]) -> Callable[[], Any]:
    """A query whose tasks sleep in the JVM, a row after the other; of several stages its rows are counted."""
    rows = 10 * max(tasks for tasks, _ in stages)
    frame = spark.range(0, rows, 1, stages[0][0])
    for k, (tasks, seconds) in enumerate(stages):
        nap = int(1e9 * seconds * tasks / rows)
        sleeps = f"java_method('java.util.concurrent.locks.LockSupport', 'parkNanos', {nap}L)"
        frame = (frame.repartition(tasks) if k else frame).where(f"{sleeps} is null or id >= 0")
    if len(stages) == 1:
        return lambda: frame.write.format("noop").mode("overwrite").save()
    return lambda: frame.groupBy((frame.id % 7).alias("group")).count().collect()


class Run:
    """One rule on the jobs of one seed."""

    def __init__(self, spark: SparkSession, rule: str, number: int, due: Any = None) -> None:
        self.spark, self.rule, self.number, self.due = spark, rule, number, due
        self.pools: dict[int, str] = {}
        self.active: dict[int, int] = {}  # jobs that have not ended, and all their tasks
        self.ends: list[float] = []
        self.over, self.zero = threading.Event(), 0.0
        self.mean = math.nan
        self.seen: list[tuple[float, dict[int, int]]] = []  # tasks that ran, by job

    def go(self, arrivals: list[float], jobs: list[list[tuple[int, float]]]) -> dict[str, float]:
        """Mean and largest response, and the makespan."""
        self.ends = [0.0] * len(jobs)
        self.zero = zero = time.monotonic()
        watching = threading.Thread(target=self._watch, args=(zero,))
        watching.start()
        with self._governed() as pool_of:
            threads = []
            for k, (at, stages) in enumerate(zip(arrivals, jobs, strict=True)):
                call = query(self.spark, stages)
                time.sleep(max(0.0, zero + at - time.monotonic()))
                threads.append(threading.Thread(target=self._one, args=(k, zero, call, pool_of)))
                self.active[k] = sum(tasks for tasks, _ in stages)
                threads[-1].start()
            for thread in threads:
                thread.join()
            self.over.set()
        watching.join()
        responses = np.array(self.ends) - arrivals
        self.mean = float(responses.mean())
        late = 0 if self.due is None else int((np.array(self.ends) > self.due).sum())
        found = {"mean": self.mean, "most": float(responses.max()), "makespan": max(self.ends)}
        return found | {"late": late}

    def _one(self, k: int, zero: float, call: Callable[[], Any], pool_of: Any) -> None:
        with pool_of(k):
            self.pools[k] = self.spark.sparkContext.getLocalProperty("spark.scheduler.pool")
            self.spark.sparkContext.setJobGroup(f"{self.number}.{k}", f"job {k}")
            call()
        self.ends[k] = time.monotonic() - zero
        self.active.pop(k)

    def _stages(self, k: int) -> list[Any]:
        """Stages of a job that are left, as the status tracker has them."""
        tracker = self.spark.sparkContext.statusTracker()
        stages = [
            tracker.getStageInfo(stage)
            for job in tracker.getJobIdsForGroup(f"{self.number}.{k}")
            if tracker.getJobInfo(job).status == "RUNNING"
            for stage in tracker.getJobInfo(job).stageIds
        ]
        return [stage for stage in stages if stage]

    def _watch(self, zero: float) -> None:
        while not self.over.wait(0.5):
            at = time.monotonic() - zero
            now = {k: sum(one.numActiveTasks for one in self._stages(k)) for k in list(self.active)}
            self.seen.append((at, now))

    @contextmanager
    def _plain(self, k: int) -> Iterator[None]:
        pool = f"{self.number}" if self.rule == "fifo" else f"{self.number}.{k}"
        self.spark.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
        yield

    @contextmanager
    def _governed(self) -> Iterator[Any]:
        if self.rule == "flex":
            goal = "sum:response" if self.due is None else "sum:tardy"
            with mb.govern_spark(self.spark, goal) as governed:
                yield lambda k: governed.pool(**self._wanted(k))
            return
        looking = {
            "shortest": (self._shortest, 0.2), "edf": (self._edf, 0.2),
            "prototype": (self._prototype, 0.05),
        }  # fmt: skip
        thread = None
        if self.rule in looking:
            thread = threading.Thread(target=self._look, args=looking[self.rule])
            thread.start()
        yield self._plain
        self.over.set()
        if thread:
            thread.join()

    def _wanted(self, k: int) -> dict[str, float]:
        """A deadline counts from now on."""
        if self.due is None:
            return {}
        return {"deadline": float(self.due[k]) - (time.monotonic() - self.zero)}

    def _look(self, rule: Callable[[dict[int, int]], dict[int, int]], every: float) -> None:
        """Sets minima of pools by the tasks that their jobs have left, as the status tracker has them."""
        context = self.spark.sparkContext
        java = context._jvm.java.lang.Class.forName("org.apache.spark.scheduler.Pool")
        field = java.getDeclaredField("minShare")
        field.setAccessible(True)
        while not self.over.wait(every):
            left = {}
            for k in sorted(self.active):
                left[k] = sum(one.numTasks - one.numCompletedTasks for one in self._stages(k))
            minima = rule({k: tasks for k, tasks in left.items() if tasks})
            for k in left:
                pool = context._jsc.sc().getPoolForName(self.pools.get(k, ""))
                if pool.isDefined():
                    field.setInt(pool.get(), minima.get(k, 0))

    def _shortest(self, left: dict[int, int]) -> dict[int, int]:
        return {min(left, key=left.__getitem__): SLOTS} if left else {}

    def _edf(self, left: dict[int, int]) -> dict[int, int]:
        return {min(left, key=self.due.__getitem__): SLOTS} if left else {}

    def _prototype(self, left: dict[int, int]) -> dict[int, int]:
        if not left:
            return {}
        epoch = mb.Epoch(SLOTS)
        tasks = list(left.values())
        epoch.add(mb.Jobs(tasks, max_slots=tasks))
        return dict(zip(left, epoch.decide(0.0).slots.tolist(), strict=True))


def picture(runs: list[Run], path: Path) -> None:
    """Slots of each job over time, a panel a rule."""
    from matplotlib import colormaps

    figure = new_figure(9.0, 1.9 * len(runs) + 0.4)
    panels = figure.subplots(len(runs), 1, sharex=True, squeeze=False)[:, 0]
    last = max(at for run in runs for at, _ in run.seen)
    for run, panel in zip(runs, panels, strict=True):
        times = [at for at, _ in run.seen]
        layers = [[now.get(k, 0) for _, now in run.seen] for k in range(len(run.ends))]
        names = [f"job {k}" for k in range(len(layers))]
        colors = colormaps["tab20"](np.linspace(0.0, 1.0, 20))
        panel.stackplot(times, layers, colors=colors, step="post", labels=names)
        panel.set(ylabel="slots", xlim=(0.0, last), ylim=(0, SLOTS))
        panel.spines[["top", "right"]].set_visible(False)
        told = f"{NAMES[run.rule]}: mean response {run.mean:.1f} s"
        panel.set_title(told, loc="left", fontsize=10)
    panels[-1].set_xlabel("time [s]", loc="left")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside right upper", fontsize=7, frameon=False
    )
    save_figure(figure, path)


def looks(spark: SparkSession, counts: list[int]) -> None:
    """Milliseconds of a look, while so many jobs of two stages run."""
    from malleable.live.decider import SchedulerDecider
    from malleable.live.spark.context import Context
    from malleable.live.spark.governor import Governor

    context = spark.sparkContext
    for count in counts:

        def job(k: int) -> None:
            context.setLocalProperty("spark.scheduler.pool", f"looks {k}")
            context.setJobGroup("looks", f"job {k}", interruptOnCancel=True)
            with suppress(Exception):  # cancelled
                query(spark, [(400, 5.0), (40, 1.0)])()

        threads = [threading.Thread(target=job, args=(k,)) for k in range(count)]
        for thread in threads:
            thread.start()
        decider = SchedulerDecider(SLOTS, counted=True, processors="own")
        governor = Governor(Context(spark), decider)
        while len(governor.spark.look().jobs) < count:
            time.sleep(0.5)
        took = []
        for _ in range(40):
            began, cpu = time.perf_counter(), time.thread_time()
            governor.look()
            took.append((time.perf_counter() - began, time.thread_time() - cpu))
            time.sleep(0.1)
        wall, cpu = (1e3 * np.sort(values) for values in np.array(took).T)
        told = f"least {wall[0]:.1f}, median {wall[20]:.1f} ms; of it {np.median(cpu):.1f} ms in Python"
        print(f"a look with {count} jobs: {told}", flush=True)
        governor.spark.restore()
        context.cancelJobGroup("looks")
        for thread in threads:
            thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", action="store_true")
    parser.add_argument("--tardy", action="store_true")
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--rules", nargs="*", default=RULES)
    parser.add_argument("--scale", type=float, default=1.0, help="of all sleeps and gaps")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path, help="of the last seed")
    parser.add_argument("--conf", nargs="*", default=[], metavar="NAME=VALUE", help="of Spark")
    parser.add_argument("--looks", type=int, nargs="*", help="time looks with so many jobs instead")
    asked = parser.parse_args()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{SLOTS}]").config("spark.scheduler.mode", "FAIR")
    for name, value in {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1", "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "8",
    }.items():  # fmt: skip
        builder = builder.config(name, value)
    for setting in asked.conf:
        builder = builder.config(*setting.split("=", 1))
    spark = builder.getOrCreate()
    Run(spark, "fair", 0).go([0.0, 0.0], [[(8, 0.1)], [(8, 0.1), (8, 0.1)]])  # which compiles
    if asked.looks:
        looks(spark, asked.looks)
        return
    found, number = [], 0
    for seed in asked.seeds:
        arrivals, jobs = drawn(seed, asked.queries)
        arrivals = [asked.scale * at for at in arrivals]
        jobs = [[(tasks, asked.scale * seconds) for tasks, seconds in own] for own in jobs]
        due = None
        if asked.tardy:
            alone = shortest_first(arrivals, jobs) - arrivals
            due = np.array(arrivals) + 1.5 * alone + 2.0
        runs = []
        for rule in asked.rules:
            number += 1
            runs.append(Run(spark, rule, number, due))
            took = runs[-1].go(arrivals, jobs)
            found.append({"seed": seed, "rule": rule, "queries": asked.queries, **took})
            print(found[-1], flush=True)
    if asked.picture:
        picture(runs, asked.picture)
    if asked.json:
        asked.json.write_text("".join(json.dumps(row) + "\n" for row in found))
    print("| rule | " + " | ".join(f"seed {seed}" for seed in asked.seeds) + " | mean | makespan |")
    print("|---" * (len(asked.seeds) + 3) + "|")
    base = {row["seed"]: row for row in found if row["rule"] == "fair"}
    for rule in asked.rules if base else ():
        own = [row for row in found if row["rule"] == rule]
        over = [row["mean"] / base[row["seed"]]["mean"] for row in own]
        span = mean(row["makespan"] / base[row["seed"]]["makespan"] for row in own)
        print(f"| {rule} | " + " | ".join(f"{one:.2f}" for one in [*over, mean(over), span]) + " |")


if __name__ == "__main__":
    main()
