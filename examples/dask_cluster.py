"""Two jobs on a Dask cluster (here: threads of this process); `mb.engines.Dask` takes any client."""

import time
from concurrent.futures import as_completed

import malleable as mb


def work(job, seconds):
    time.sleep(seconds)
    return job


def main():
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 2, "processes": False}
    with (
        LocalCluster(**options, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        mb.Executor(engine=mb.engines.Dask(client)) as pool,
    ):
        began = time.monotonic()
        long = pool.job("long").map(work, ["long"] * 40, [0.05] * 40)
        short = pool.job("short").map(work, ["short"] * 8, [0.05] * 8)
        ends = {}
        for future in as_completed(long + short):
            ends[future.result()] = time.monotonic() - began
        for name, end in sorted(ends.items(), key=lambda item: item[1]):
            print(f"{name}: all done after {end:.2f} s")


if __name__ == "__main__":
    main()
