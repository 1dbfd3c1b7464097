"""Several jobs of Python calls in one pool: short ones do not wait behind long ones."""

import time
from concurrent.futures import as_completed

import malleable as mb


def work(job, seconds):
    time.sleep(seconds)
    return job


def main():
    with mb.Executor(slots=4, objective="sum:response") as pool:
        began = time.monotonic()
        sizes = {"long": 120, "short": 12, "urgent": 24}
        futures = []
        for name, calls in sizes.items():
            job = pool.job(name, weight=3.0 if name == "urgent" else 1.0, seconds=0.01)
            futures += job.map(work, [name] * calls, [0.01] * calls)
        left = dict(sizes)
        ends = {}
        for future in as_completed(futures):
            name = future.result()
            left[name] -= 1
            if left[name] == 0:
                ends[name] = time.monotonic() - began
        for name in sorted(ends, key=ends.__getitem__):
            print(f"{name}: {sizes[name]} calls, all done after {ends[name]:.2f} s")


if __name__ == "__main__":
    main()
