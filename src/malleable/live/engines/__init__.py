"""Engines run tasks: one file for each kind of cluster. An engine is imported when you ask for it.

See Also
--------
malleable.Executor : Takes an engine; without one, calls run on this machine.

Examples
--------
>>> import malleable as mb
>>> from distributed import Client, LocalCluster  # needs malleable[dask]
>>> with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster:
...     with Client(cluster) as client, mb.Executor(engine=mb.engines.Dask(client)) as pool:
...         print(pool.submit(pow, 2, 10).result())
1024
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from malleable.live.engines.dask import Dask as Dask
    from malleable.live.engines.hyperqueue import HyperQueue as HyperQueue
    from malleable.live.engines.ray import Ray as Ray

__all__ = ["Dask", "HyperQueue", "Ray"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'malleable.live.engines' has no attribute {name!r}")
    home = importlib.import_module(f"{__name__}.{name.lower()}")
    return globals().setdefault(name, getattr(home, name))
