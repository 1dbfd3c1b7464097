"""Large results: `mb.Executor` against `ProcessPoolExecutor`, in turns.

    python -m benchmarks.live.results [--megabytes 300] [--seeds 5]

A call returns so many bytes, or an array of so many, and the time is that from its submit to its result;
workers are there. Each seed makes the call in both pools, in an order of its own. Printed: the median of both,
and of the ratio over the seeds.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import Any

import numpy as np

import malleable as mb


def array(size: int) -> Any:
    """An array of so many bytes."""
    return np.ones(size // 8)


def seconds(pool: Executor, function: Any, size: int) -> float:
    """From the submit to the result."""
    began = time.perf_counter()
    found = pool.submit(function, size).result()
    took = time.perf_counter() - began
    assert len(found) * getattr(found, "itemsize", 1) == size
    return took


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    size = asked.megabytes * 1_000_000
    with ProcessPoolExecutor(1) as theirs, mb.Executor(1) as ours:
        for function in (bytes, array):
            pairs = []
            for pool in (theirs, ours):
                seconds(pool, function, 8_000_000)
            for seed in range(asked.seeds):
                pools = [theirs, ours]
                random.Random(seed).shuffle(pools)
                took = {pool: seconds(pool, function, size) for pool in pools}
                pairs.append((took[theirs], took[ours]))
            told = {
                "result": function.__name__,
                "megabytes": asked.megabytes,
                "process_pool_s": round(statistics.median(a for a, _ in pairs), 3),
                "executor_s": round(statistics.median(b for _, b in pairs), 3),
                "ratio": round(statistics.median(b / a for a, b in pairs), 3),
                "ratios": [round(b / a, 2) for a, b in pairs],
            }
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
