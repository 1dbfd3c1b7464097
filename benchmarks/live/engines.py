"""The same jobs through `malleable` and as Dask, HyperQueue or Ray order them, on the same slots, paired.

    python benchmarks/live/engines.py dask --seeds 3
    python benchmarks/live/engines.py hyperqueue --seeds 3
    python benchmarks/live/engines.py ray --slots 24 --only "at once" arrivals rate
    python benchmarks/live/engines.py dask --only rate late

`at once`: ten jobs with a number of tasks each (exponential, at least 1, 700 in all), each task sleeps 2 to
3 s (uniform), 48 slots; all are submitted at the start, in random order, and the times of tasks are not known.
`arrivals`: the same jobs come one after the other, after gaps (exponential) in which the slots could do a
job of mean size. The engine's own order: each job is handed over whole when it comes (`client.map`, a job
of HyperQueue), and the engine is left alone. A response ends with the last task of its job, by the clock of
the task. `late`: four jobs of 150 such tasks, and after 5 s one of 24; its response. `rate`: calls that do
nothing and whose results are all taken, a second, under a cap of half the slots; against `client.map` and
`client.gather`, in turns. ``--scale`` shortens all sleeps. Dask: two workers of this machine with half the
threads each; HyperQueue: a server and a worker of this machine, commands (`sleep`); Ray: a node of this
machine, workers being there, and calls of 1 ms for `rate`, all slots.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from sleeping import fluid, tasks_of

import malleable as mb
from malleable.live.decider import SchedulerDecider
from malleable.live.ledger import JobState
from malleable.live.loop import Loop
from malleable.live.protocol import Task

PARTS = ("at once", "arrivals", "late", "rate")


def nap(seconds):
    time.sleep(seconds)
    return time.time()


def same(value):
    return value


def as_they_come(arrivals, submit):
    """Hand each job over when it comes; the time at which the first one did."""
    start = time.time()
    for row, arrival in enumerate(arrivals):
        time.sleep(max(0.0, start + arrival - time.time()))
        submit(row)
    return start


class Dask:
    """Jobs on a cluster of this machine."""

    parts = PARTS

    def __init__(self, slots):
        import distributed

        self.cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=slots // 2, dashboard_address=None
        )
        self.client, self.slots = distributed.Client(self.cluster), slots

    def close(self):
        self.client.close()
        self.cluster.close()

    def engine(self):
        return mb.engines.Dask(self.client)

    def ours(self, work, arrivals):
        futures = {}
        with mb.Executor(engine=self.engine()) as pool:

            def submit(row):
                futures[row] = pool.job(f"job {row}").map(nap, work[row])

            start = as_they_come(arrivals, submit)
            ends = {row: max(each.result() for each in own) for row, own in futures.items()}
        return [ends[row] - start - arrival for row, arrival in enumerate(arrivals)]

    def alone(self, work, arrivals):
        futures = {}

        def submit(row):
            futures[row] = self.client.map(nap, list(work[row]), pure=False)

        start = as_they_come(arrivals, submit)
        ends = {row: max(self.client.gather(own)) for row, own in futures.items()}
        return [ends[row] - start - arrival for row, arrival in enumerate(arrivals)]

    def rates(self, calls):
        """Calls a second, ours and theirs."""
        with mb.Executor(engine=mb.engines.Dask(self.client)) as pool:
            began = time.perf_counter()
            futures = pool.job("many", max_slots=self.slots // 2).map(same, range(calls))
            assert [each.result() for each in futures] == list(range(calls))
            ours = calls / (time.perf_counter() - began)
        began = time.perf_counter()
        futures = self.client.map(same, range(calls), pure=False)
        assert self.client.gather(futures) == list(range(calls))
        return ours, calls / (time.perf_counter() - began)


def nap_1_ms(value):
    time.sleep(0.001)
    return value


class Ray(Dask):
    """Jobs on a node of this machine."""

    def __init__(self, slots):
        import ray

        ray.init(num_cpus=slots, include_dashboard=False, log_to_driver=False)
        self.ray, self.slots = ray, slots
        self.nap, self.short = ray.remote(nap), ray.remote(nap_1_ms)
        ray.get([self.nap.remote(1.0) for _ in range(2 * slots)])  # workers are there

    def close(self):
        self.ray.shutdown()

    def engine(self):
        return mb.engines.Ray()

    def alone(self, work, arrivals):
        futures = {}

        def submit(row):
            futures[row] = [self.nap.remote(seconds) for seconds in work[row]]

        start = as_they_come(arrivals, submit)
        ends = {row: max(self.ray.get(own)) for row, own in futures.items()}
        return [ends[row] - start - arrival for row, arrival in enumerate(arrivals)]

    def rates(self, calls):
        """Calls of 1 ms a second, ours and theirs."""
        with mb.Executor(engine=self.engine()) as pool:
            began = time.perf_counter()
            futures = pool.job("many").map(nap_1_ms, range(calls))
            assert [each.result() for each in futures] == list(range(calls))
            ours = calls / (time.perf_counter() - began)
        began = time.perf_counter()
        assert self.ray.get([self.short.remote(k) for k in range(calls)]) == list(range(calls))
        return ours, calls / (time.perf_counter() - began)


class HyperQueue:
    """Jobs of a server of this machine; tasks write when they ended."""

    parts = PARTS[:3]

    def __init__(self, slots):
        self.slots = slots

    def close(self):
        """Servers end with their runs."""

    @staticmethod
    def command(seconds, path):
        return ["sh", "-c", f"sleep {seconds:.3f}; date +%s.%N > {path}"]

    @staticmethod
    def responses(folder, work, arrivals, start):
        ends = [
            max(float((folder / f"{row}.{k}").read_text()) for k in range(len(own)))
            for row, own in enumerate(work)
        ]
        return [end - start - arrival for end, arrival in zip(ends, arrivals, strict=True)]

    def ours(self, work, arrivals):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            engine = mb.engines.HyperQueue(self.slots)
            loop = Loop(engine, SchedulerDecider(self.slots))
            try:
                start, row = time.time(), 0
                while row < len(work) or not loop.finished:
                    while row < len(work) and time.time() >= start + arrivals[row]:
                        loop.add(
                            JobState(f"job {row}", len(work[row]), self.maker(folder, row, work))
                        )
                        row += 1
                    more = start + arrivals[row] - time.time() if row < len(work) else 1.0
                    if loop.finished:
                        time.sleep(max(0.0, more))
                    else:
                        loop.step(max(0.0, more))
                return self.responses(folder, work, arrivals, start)
            finally:
                loop.stop(0.0)

    def maker(self, folder, row, work):
        def make(number, attempt):
            return Task("", self.command(work[row][number], folder / f"{row}.{number}"))

        return make

    def alone(self, work, arrivals):
        import hyperqueue

        with tempfile.TemporaryDirectory() as name:
            engine = mb.engines.HyperQueue(self.slots)  # for its server
            client, folder, jobs = hyperqueue.Client(engine.server), Path(name), []

            def submit(row):
                job = hyperqueue.Job(max_fails=None)
                for k, seconds in enumerate(work[row]):
                    command = self.command(seconds, folder / f"{row}.{k}")
                    job.program(command, stdout=None, stderr=None)
                jobs.append(client.submit(job).id)

            try:
                start = as_they_come(arrivals, submit)
                client.connection.wait_for_jobs(jobs, lambda status: None)
                return self.responses(folder, work, arrivals, start)
            finally:
                engine.close()


def shown(name, found, ours, theirs):
    """One line a run, and what stands in it is kept."""
    found.setdefault(name, []).append(ours / theirs)
    print(
        json.dumps(
            {name: round(ours / theirs, 3), "ours": round(ours, 2), "engine's": round(theirs, 2)}
        ),
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=("dask", "hyperqueue", "ray"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--tasks", type=int, default=700)
    parser.add_argument("--slots", type=int, default=48)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    asked = parser.parse_args()
    engine = {"dask": Dask, "hyperqueue": HyperQueue, "ray": Ray}[asked.engine](asked.slots)
    parts = [part for part in engine.parts if part in asked.only]
    found: dict[str, list[float]] = {}
    try:
        for seed in range(asked.first, asked.first + asked.seeds):
            rng = np.random.default_rng([seed, 1])
            work = tasks_of(seed, asked.jobs, asked.tasks, asked.scale)
            gap = sum(own.sum() for own in work) / asked.slots / asked.jobs
            gaps = rng.exponential(gap, asked.jobs)
            late = [asked.scale * rng.uniform(2.0, 3.0, n) for n in (150, 150, 150, 150, 24)]
            cases = {
                "at once": (work, [0.0] * asked.jobs),
                "arrivals": (work, (gaps.cumsum() - gaps[0]).tolist()),
                "late": (late, [0.0] * 4 + [5.0 * asked.scale]),
            }
            for part in parts:
                turns = [engine.ours, engine.alone][:: 1 if seed % 2 else -1]
                if part == "rate":
                    shown("rate", found, *engine.rates(asked.calls))
                    continue
                told = {turn.__name__: turn(*cases[part]) for turn in turns}
                last = slice(-1, None) if part == "late" else slice(None)
                ours = statistics.mean(told["ours"][last])
                shown(part, found, ours, statistics.mean(told["alone"][last]))
                if part == "at once":
                    found.setdefault("at once, over the fluid optimum", []).append(
                        ours / fluid(work, asked.slots)
                    )
    finally:
        engine.close()
    for name, ratios in found.items():
        print(f"{name}: {statistics.mean(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
