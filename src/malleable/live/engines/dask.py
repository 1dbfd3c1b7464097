"""Python calls as tasks of a running Dask cluster: ``distributed.Client``.

A Dask task is a bundle of short calls, or one call. Large results stay on workers. Each job has as many
bundles on the cluster as it has slots, and a few more if calls are so short that workers would wait. A call
costs some 40 us here, a bundle some 0.5 ms here and in Dask's scheduler.
"""

from __future__ import annotations

import pickle
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache, partial
from itertools import count
from typing import Any

from malleable.files.advice import library
from malleable.live.engines.cluster import LOOK, Cluster
from malleable.live.engines.remote import GRAIN, Call, Outcome, run_bundle
from malleable.live.protocol import Abilities, Event, heard


def _run(packed: bytes, function: bytes = b"") -> list[Outcome]:
    # On a worker: run a bundle and send its outcomes to the client, as a message of a topic that the client has
    # subscribed to. All calls may share one large function.
    from distributed import get_worker

    topic, key, calls = pickle.loads(packed)
    found, told = run_bundle(calls, function, lambda result: None)
    with suppress(ValueError):  # not in a worker's own thread: use the client
        get_worker().log_event(topic, [key, pickle.dumps(told)])
    return found


class Dask(Cluster):
    """An engine that runs Python calls on a Dask cluster.

    Parameters
    ----------
    client : distributed.Client or str
        A client, or the address of a scheduler. Workers and the scheduler need this package and your own.
    slots : int, optional
        Calls at once; by default the threads of all present workers. If the cluster grows with the waiting
        work, give the number to which it may grow.
    priority : float
        Priority of all calls of the pool against tasks of others. A higher priority goes first; equal
        priorities go in the order of submission.
    **submit
        More arguments of ``Client.submit``, such as ``workers`` and ``resources``. With these also give
        ``slots``: how many calls the chosen workers can run at once.

    Raises
    ------
    ImportError
        ``distributed`` is not installed.
    ValueError
        The client is asynchronous or closed, or ``slots`` is missing.
    OSError
        No scheduler answers.

    Notes
    -----
    If a worker dies, other workers repeat its calls, as often as Dask allows; then a call fails with
    ``KilledWorker``. If the client reconnects to the scheduler, unfinished calls are submitted again; if it
    gives up, all calls fail. A running call cannot be ended.
    """

    # A slot gets `GRAIN` seconds of calls at once, at most 100, and as many more as end within that time.
    abilities = Abilities(grain=GRAIN, ahead=GRAIN, together=100, calls="by value")

    def __init__(
        self, client: Any, *, slots: int | None = None, priority: float = 0.0, **submit: Any
    ) -> None:
        distributed = library("distributed", "the Dask engine", "'malleable[dask]'")
        if slots is None and submit:
            raise ValueError(f"slots: how many calls can run with {', '.join(submit)}?")
        super().__init__("Dask", slots)
        self._own = isinstance(client, str)
        self._client = distributed.Client(client, set_as_default=False) if self._own else client
        if not isinstance(self._client, distributed.Client) or self._client.asynchronous:
            raise ValueError(f"client = {client!r}: expected a distributed.Client of threads")
        if self._client.status != "running":
            raise ValueError(f"client = {client!r}: {self._client.status}")
        self._submit = {**submit, "priority": priority, "pure": False, "fifo_timeout": "0 ms"}
        self._name = f"malleable-{secrets.token_hex(8)}"
        self._numbers = count()  # of bundles
        self._futures: dict[str, Any] = {}  # by bundle, until it has ended
        self._comm: Any = None  # the connection on which bundles report
        # Whether the scheduler is being asked for its threads, and when it was asked last.
        self._looking, self._looked = False, time.monotonic()
        self._threads = sum(self._client.nthreads().values())
        self.slots = self._threads if self._fixed is None else self._fixed
        self._stuck = False  # whether none of the bundles runs, although slots were given
        self._listen()

    def _listen(self) -> None:
        # Subscribe to the messages of bundles; again if the client has connected again.
        comm = self._client.scheduler_comm
        if comm is not None and comm is not self._comm:
            self._comm = comm
            self._client.subscribe_topic(self._name, self._said.put)

    def _send(self, calls: list[Call]) -> Any:
        if self._shared[1] is not None and self._shared[1].status != "finished":
            self._shared = b"", None  # the shared function was lost
        name = f"{self._name}-{next(self._numbers)}"
        scatter = partial(self._client.scatter, hash=False)
        packed, function = self._with_function(calls, scatter)
        message = pickle.dumps((self._name, name, packed))
        future = self._client.submit(_run, message, function, key=name, **self._submit)
        self._futures[name] = future
        future.add_done_callback(lambda ended: self._said.put(ended.key))
        return name

    def _give_up(self, bundle: str) -> None:
        self._futures.pop(bundle).release()

    def _look(self) -> None:
        client = self._client
        if client.status in ("closing", "closed"):
            self._break(f"the client is {client.status}")
        self.slots = self._threads if self._fixed is None else self._fixed
        due = not self._looking and time.monotonic() - self._looked >= LOOK
        if due and client.status == "running":
            self._looking = True
            self._listen()
            client.loop.add_callback(self._count_threads)
        super()._look()

    async def _count_threads(self) -> None:
        with suppress(OSError, AttributeError):  # the client notices, too, and connects again
            self._threads = sum((await self._client.scheduler.ncores()).values())
            self._stuck = False
            if self._fixed is not None and self._bundles:
                processing = await self._client.scheduler.processing(workers=None)
                running = {key for keys in processing.values() for key in keys}
                self._stuck = running.isdisjoint(self._bundles)
        self._looking, self._looked = False, time.monotonic()

    def _missing(self) -> str:
        if self._client.status == "connecting":
            return f"the scheduler at {self._address()} does not answer; the client tries again"
        if self._threads == 0:
            return f"the scheduler at {self._address()} has no workers"
        return (
            "other tasks hold all workers of Dask, or no worker has the requested resources"
            * self._stuck
        )

    def _address(self) -> str:
        scheduler = self._client.scheduler
        return str(getattr(scheduler, "address", None) or getattr(scheduler, "addr", "its address"))

    def _heard(self, said: Any) -> list[Event]:
        if isinstance(said, tuple):  # a message of a bundle: (time, message)
            name, told = said[1]
            return self._outcomes(name, pickle.loads(told)) if name in self._bundles else []
        future = self._futures.get(said)
        found = self._ended(said, future) if said in self._bundles else []
        self._futures.pop(said, None)
        return found

    def _ended(self, name: str, future: Any) -> list[Event]:
        error = None
        # The connection may be lost, or the result cannot be unpickled.
        with suppress(BaseException):
            if future.status == "finished":
                return self._outcomes(name, future.result())
            if future.status == "error":
                error = future.exception()
        lost = len(self._bundles[name]) > 1 and type(error).__name__ == "KilledWorker"
        return self._failed(name, error or future.status, lost)

    def _outcomes(self, name: str, told: Sequence[Any]) -> list[Event]:
        # All large results of a bundle are fetched together, once.
        found = lru_cache(1)(self._futures[name].result)
        return self._told(name, told, lambda place, _: found()[place][1])

    def close(self, grace: float = 5.0) -> int:
        super().close(grace)
        until = time.monotonic() + min(grace, LOOK)
        while (
            self._futures and time.monotonic() < until
        ):  # bundles that have reported all calls, but not ended
            for said in heard(self._said, LOOK / 20.0):
                self._futures.pop(said if isinstance(said, str) else "", None)
        self._futures.clear()
        with suppress(Exception):
            self._client.unsubscribe_topic(self._name)
        if self._own:
            self._client.close()
        return 0
