"""Two searches of unlike size submitted together, and the cost of a call: joblib in a pool against loky.

    python benchmarks/live/searches.py [--seeds 5] [--workers 2] [--calls 20000]

A search is a call of `Parallel` from a thread of its own whose calls sleep, the short one an eighth of the long
one's 64; the long one is first by a moment. loky runs them in three ways: side by side in processes, each with
half of the workers; one after the other in the order of arrival; and in threads of one process, which share its
workers. The best of each seed counts. Then calls that do nothing, in turn. Workers are there before.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import statistics
import threading
import time
from contextlib import nullcontext
from functools import partial

from joblib import Parallel, delayed

import malleable as mb

LONG, SHORT = 64, 8


def nap(seconds):
    time.sleep(seconds)


def same(value):
    return value


def calls(count, rng):
    return [delayed(nap)(rng.uniform(0.1, 0.3)) for _ in range(count)]


def searches(seed):
    rng = random.Random(seed)
    return calls(LONG, rng), calls(SHORT, rng)


def in_threads(seed, workers, backend=nullcontext):
    """Each search in a thread of this process; without a backend, loky's one pool has the calls of both."""
    with backend():
        Parallel(n_jobs=workers)(delayed(nap)(0.01) for _ in range(2 * workers))
    ends = []

    def search(own):
        with backend():
            Parallel(n_jobs=workers)(own)
        ends.append(time.perf_counter() - began)

    threads = [threading.Thread(target=search, args=(own,)) for own in searches(seed)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    return statistics.fmean(ends)


def pooled(seed, workers):
    with mb.Executor(workers) as pool:
        return in_threads(seed, workers, partial(mb.joblib_backend, pool))


def _in_process(own, workers, ready, go, ends):
    Parallel(n_jobs=workers)(delayed(nap)(0.01) for _ in range(2 * workers))
    ready.release()
    go.wait()
    began = time.perf_counter()
    Parallel(n_jobs=workers)(own)
    ends.put(time.perf_counter() - began)


def side_by_side(seed, workers):
    """Each search has half of the workers, so that no more calls run at once than in the pool."""
    context = multiprocessing.get_context("spawn")
    ready, go, ends = context.Semaphore(0), context.Event(), context.Queue()
    each = max(1, workers // 2)
    made = [
        context.Process(target=_in_process, args=(own, each, ready, go, ends))
        for own in searches(seed)
    ]
    for process in made:
        process.start()
    for _ in made:
        ready.acquire()
    go.set()
    found = [ends.get() for _ in made]
    for process in made:
        process.join()
    return statistics.fmean(found)


def guarded(seed, workers):
    Parallel(n_jobs=workers)(delayed(nap)(0.01) for _ in range(2 * workers))
    began, ends = time.perf_counter(), []
    for own in searches(seed):
        Parallel(n_jobs=workers)(own)
        ends.append(time.perf_counter() - began)
    return statistics.fmean(ends)


def cost(workers, count, seeds):
    ratios = []
    with mb.Executor(workers) as pool:
        for turn in range(seeds + 1):
            took = {}
            for name in ("malleable", "loky"):
                began = time.perf_counter()
                if name == "loky":
                    Parallel(n_jobs=workers)(delayed(same)(k) for k in range(count))
                else:
                    with mb.joblib_backend(pool):
                        Parallel(n_jobs=workers)(delayed(same)(k) for k in range(count))
                took[name] = time.perf_counter() - began
            if turn:  # workers are there
                ratios.append(took["malleable"] / took["loky"])
                told = ", ".join(f"{name} {1e6 * t / count:.0f} us" for name, t in took.items())
                print(f"{count:,} calls: {told}", flush=True)
    print(f"{count:,} calls, over loky: median {statistics.median(ratios):.2f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--calls", type=int, default=20_000)
    options = parser.parse_args()
    ratios = []
    for seed in range(options.seeds):
        ways = pooled, side_by_side, guarded, in_threads
        found = [each(seed, options.workers) for each in ways]
        ratios.append(found[0] / min(found[1:]))
        told = zip(("pool", "side by side", "in turn", "in threads"), found, strict=True)
        print(", ".join(f"{name} {took:.2f} s" for name, took in told), flush=True)
    print(f"mean response over the best of loky's: {statistics.fmean(ratios):.2f}")
    for count in (options.calls // 10, options.calls):
        cost(options.workers, count, options.seeds)


if __name__ == "__main__":
    main()
