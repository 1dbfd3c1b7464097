"""Jobs of a real Spark, governed: on this machine, and on a master with two workers, some of which die."""

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import malleable as mb
from malleable.live.journal import Journal
from malleable.live.status import run_status
from tests.full import part
from tests.live.waiting import PATIENCE, gone, until

pyspark = pytest.importorskip("pyspark", reason="needs malleable[spark]: make full installs it")
ROUNDS = part(20, 1)
LATE = 4 * PATIENCE  # a JVM takes long to begin


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[4]")
    for name, value in {
        "spark.scheduler.mode": "FAIR", "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1",
        "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "4",
    }.items():  # fmt: skip
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    yield made
    made.stop()


class Gate:
    """Tasks in the JVM that run until it is opened: a file that is there."""

    def __init__(self, spark, path):
        self._spark, self._path = spark, path
        path.touch()

    def job(self, tasks):
        path = str(self._path)

        def wait(_):
            import time
            from pathlib import Path

            while Path(path).exists():
                time.sleep(0.05)

        self._spark.sparkContext.parallelize(range(tasks), tasks).foreach(wait)

    def open(self):
        self._path.unlink()


def minimum(spark, pool):
    found = spark.sparkContext._jsc.sc().getPoolForName(pool)
    return found.get().minShare() if found.isDefined() else None


def started(*calls):
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    return threads


def ended(threads):
    for thread in threads:
        thread.join(LATE)
        assert not thread.is_alive()


def test_pools_have_minima_while_jobs_run_and_what_they_had_afterwards(spark, tmp_path):
    gate, path = Gate(spark, tmp_path / "gate"), tmp_path / "journal"
    with mb.govern_spark(spark, every=0.05, journal=path) as governed:

        def run(pool, tasks, **settings):
            with governed.pool(pool, **settings):
                gate.job(tasks)

        threads = started(lambda: run("long", 40), lambda: run("short", 6, min_slots=1))
        seen = until(lambda: len(governed.minima) == 2 and governed.minima)
        assert sum(seen.values()) == 4
        assert {pool: minimum(spark, pool) for pool in seen} == seen
        with pytest.raises(ValueError, match="already governs"):
            mb.govern_spark(spark)
        gate.open()
        ended(threads)
        until(lambda: not governed.minima)
    assert (minimum(spark, "long"), minimum(spark, "short")) == (0, 0)
    with Journal(path, write=False) as journal:
        status = run_status(journal)
    assert sorted((job.done, job.left) for job in status.jobs) == [(6, 0), (40, 0)]
    assert all(job.seconds > 0.0 for job in status.jobs)


def test_stages_of_a_job_and_of_sql_are_seen(spark, tmp_path):
    path = tmp_path / "journal"
    with mb.govern_spark(spark, every=0.02, journal=path) as governed:
        with governed.pool("etl"):
            pairs = spark.sparkContext.parallelize(range(40), 8).map(lambda n: (n % 3, n))
            assert len(pairs.groupByKey(4).collect()) == 3
        with governed.pool("sql"):
            frame = spark.range(0, 1000, 1, 8).selectExpr("id % 7 as k", "id")
            assert frame.join(frame.groupBy("k").count(), "k").count() == 1000
    with Journal(path, write=False) as journal:
        status = run_status(journal)
        after = [row.described.get("after") for row in journal.jobs(status.number)]
    assert status.status == "done"
    assert all(job.left == 0 for job in status.jobs)
    assert any(after)


def test_a_barrier_stage_ends_beside_others(spark, tmp_path):
    gate = Gate(spark, tmp_path / "gate")
    with mb.govern_spark(spark, every=0.02) as governed:

        def together():
            with governed.pool("barrier"):
                rows = spark.sparkContext.parallelize(range(3), 3)
                assert rows.barrier().mapPartitions(lambda part: part).count() == 3

        def long():
            with governed.pool("long"):
                gate.job(2)

        threads = started(long)
        until(lambda: governed.minima)
        threads += started(together)
        until(lambda: "barrier" in governed.minima or governed.looks > 200)
        gate.open()
        ended(threads)
        assert not governed.trouble


def test_a_pool_that_is_taken_away_hurts_nothing(spark, tmp_path):
    root = spark.sparkContext._jsc.sc().taskScheduler().rootPool()
    with mb.govern_spark(spark, every=0.02) as governed:
        for turn in range(ROUNDS):
            gate = Gate(spark, tmp_path / f"gate{turn}")

            def run(gate=gate):
                with governed.pool("taken"):
                    gate.job(12)

            threads = started(run)
            until(lambda: governed.minima.get("taken"))
            pool = spark.sparkContext._jsc.sc().getPoolForName("taken").get()
            root.removeSchedulable(pool)
            until(lambda pool=pool: pool.minShare() == 0)
            root.addSchedulable(pool)  # else Spark forgets the tasks that wait in it
            gate.open()
            ended(threads)
        assert not governed.trouble


DRIVER = """
import os, sys, threading, time
from pyspark.sql import SparkSession
import malleable as mb
spark = (SparkSession.builder.master(sys.argv[1]).config("spark.scheduler.mode", "FAIR")
    .config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
    .config("spark.ui.showConsoleProgress", "false").config("spark.executor.memory", "512m")
    .config("spark.driver.bindAddress", "127.0.0.1").getOrCreate())
def job(pool, tasks, seconds):
    with governed.pool(pool):
        spark.range(0, tasks, 1, tasks).selectExpr(
            f"java_method('java.lang.Thread', 'sleep', {int(1000 * seconds)}L)").collect()
with mb.govern_spark(spark, every=0.05) as governed:
    threads = [threading.Thread(target=job, args=each, daemon=True)
        for each in (("long", int(sys.argv[2]), 0.5), ("short", 8, 0.5))]
    for thread in threads: thread.start()
    while not governed.minima: time.sleep(0.02)
    print("governs", spark.sparkContext._gateway.proc.pid, flush=True)
    if sys.argv[3] == "stop": spark.stop()
    if sys.argv[3] == "wait":
        for thread in threads: thread.join()
print("done", governed.alive, governed.trouble, flush=True)
"""


def driver(*arguments):
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )


def test_nothing_outlives_a_driver_that_is_killed():
    for _ in range(ROUNDS):
        process = driver("local[4]", 400, "wait")
        words = process.stdout.readline().split()
        assert words[:1] == ["governs"]
        process.kill()
        process.wait(LATE)
        until(lambda words=words: gone(int(words[1])))
        process.stdout.close()


def test_a_context_that_is_stopped_in_the_block_ends_it():
    for _ in range(ROUNDS):
        process = driver("local[4]", 400, "stop")
        told = process.communicate(timeout=LATE)[0].splitlines()
        assert process.returncode == 0
        assert told[-1].split()[:2] == ["done", "False"]


@pytest.fixture
def master(tmp_path):
    """A master on this machine alone, with two workers of two slots."""
    home = Path(pyspark.__file__).parent
    environment = os.environ | {
        "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(tmp_path),
    }  # fmt: skip
    log = tmp_path / "master.log"
    running = []

    def begin(name, *arguments):
        command = [home / "bin/spark-class", f"org.apache.spark.deploy.{name}", *arguments]
        with log.open("a") as out:
            running.append(
                subprocess.Popen(
                    command, env=environment, stdout=out, stderr=out, start_new_session=True
                )
            )

    here = ("--host", "127.0.0.1", "--webui-port", "0")
    try:
        begin("master.Master", *here, "--port", "0")
        told = re.compile(r"Starting Spark master at (spark://\S+)")
        address = until(lambda: told.search(log.read_text()), LATE)[1]
        for _ in range(2):
            begin("worker.Worker", *here, "--cores", "2", "--memory", "1g", address)
        until(lambda: log.read_text().count("Registering worker") == 2, LATE)
        yield address
    finally:
        for process in running:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def executors():
    """Processes of executors on this machine."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
            found.append(int(folder.name))
    return found


def test_executors_that_are_lost_change_the_slots_and_stop_nothing(master):
    before = set(executors())
    process = driver(master, 40 * ROUNDS, "wait")
    assert process.stdout.readline().startswith("governs")
    for _ in range(ROUNDS):
        own = until(lambda: set(executors()) - before, LATE)
        os.kill(min(own), signal.SIGKILL)
        until(lambda own=own: gone(min(own)))
        if process.poll() is not None:
            break
    told = process.communicate(timeout=LATE)[0].splitlines()
    assert process.returncode == 0
    assert told[-1].split()[:2] == ["done", "False"]
