"""A Dask cluster of two workers with two threads each, which tests share, and a client of it."""

from contextlib import contextmanager

from tests.live.waiting import until


@contextmanager
def two_workers():
    """The cluster; the caller has looked whether Dask is there."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=None, silence_logs=50
    ) as made:
        yield made


@contextmanager
def client_of(cluster):
    """A client, once all workers are there."""
    from distributed import Client

    with Client(cluster, set_as_default=False) as made:
        until(lambda: sum(made.nthreads().values()) == 4)
        yield made
