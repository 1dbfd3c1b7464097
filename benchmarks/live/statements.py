"""Six jobs of 6 to 60 sleeps on 12 slots, with right, wrong and no statements of their seconds.

    python benchmarks/live/statements.py --seeds 6

A job's tasks sleep 0.3 to 1.2 s on average, give or take a fifth. The jobs come together, in random order, as
calls of a pool (`malleable.Executor`, threads). ``right``: each says its mean; ``wrong``: a tenth or ten times
of that; ``none``: nothing is said. Printed are mean responses, and the geometric means of their ratios to
those of ``right``. The three runs of a seed are made side by side, and so are ``--together`` seeds: a sleep
takes no processor.
"""

from __future__ import annotations

import argparse
import math
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import malleable as mb

SLOTS = 12
SAID = ("right", "wrong", "none")


def jobs_of(seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Seconds of each task of each job, and the factor of a wrong statement."""
    rng = np.random.default_rng(seed)
    counts = rng.permutation(np.linspace(6, 60, 6).round().astype(int))
    means = rng.uniform(0.3, 1.2, len(counts))
    work = [m * rng.uniform(0.8, 1.2, n) for m, n in zip(means, counts, strict=True)]
    return work, 10.0 ** rng.choice([-1.0, 1.0], len(counts))


def response(seed: int, said: str) -> float:
    """Mean seconds until a job has ended."""
    work, wrong = jobs_of(seed)
    ends = [0.0] * len(work)
    lock = threading.Lock()
    with mb.Executor(SLOTS, threads=True) as pool:
        begin = time.monotonic()

        def call(job: int, seconds: float) -> None:
            time.sleep(seconds)
            with lock:
                ends[job] = max(ends[job], time.monotonic() - begin)

        for k, own in enumerate(work):
            factor = wrong[k] if said == "wrong" else 1.0
            settings = {} if said == "none" else {"seconds": float(own.mean() * factor)}
            pool.job(f"job {k}", **settings).map(call, [k] * len(own), own.tolist())
    return statistics.fmean(ends)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--together", type=int, default=4)
    asked = parser.parse_args()
    runs = [(seed, said) for seed in range(asked.seeds) for said in SAID]
    with ThreadPoolExecutor(len(SAID) * asked.together) as pool:
        found = dict(zip(runs, pool.map(lambda run: response(*run), runs), strict=True))
    ratios: dict[str, list[float]] = {said: [] for said in SAID}
    for seed in range(asked.seeds):
        own = [found[seed, said] for said in SAID]
        print(
            f"seed {seed}: " + ", ".join(f"{s} {t:.3f} s" for s, t in zip(SAID, own, strict=True))
        )
        for said, mean in zip(SAID, own, strict=True):
            ratios[said].append(mean / own[0])
    for said, each in ratios.items():
        mean = math.exp(statistics.fmean(map(math.log, each)))
        print(f"{said}: {mean:.3f} of right, at worst {max(each):.3f}")


if __name__ == "__main__":
    main()
