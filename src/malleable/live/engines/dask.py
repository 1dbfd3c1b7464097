"""Python calls as tasks of a Dask cluster that is there: ``distributed.Client``.

A task of the cluster is a bundle of short calls, or one call. It tells the client what became of them while
its own end still travels; large results stay where they are. The slots are the threads of all workers, as
these come and go. Each job has as many bundles on the cluster as it has slots, and a few more where calls are
so short that a worker would wait for the next. A call costs some 40 us here, a bundle some 0.5 ms here
and in Dask's scheduler.
"""

from __future__ import annotations

import pickle
import queue
import secrets
import time
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from malleable.domain import check_slots
from malleable.files.advice import library
from malleable.live.engines.remote import Outcome, by_value, run_bundle, worded
from malleable.live.protocol import Abilities, Event, RemoteValue, Task, heard

_GRAIN = 0.05  # seconds of calls that are sent together
_TOGETHER = 100  # calls at most
_TOLD = 1 << 16  # bytes of results that a bundle tells at once; what is larger stays on its worker
_LARGEST = 1 << 27  # bytes of a call: it passes through the scheduler
_SETTLE = 0.01  # seconds without another call before the first of an idle pool start
# Bytes from which on a function goes to the workers by itself, once for all its calls.
_SHARED = 1 << 16
_LOOK = 1.0  # seconds between two looks at the workers
_PATIENCE = 3.0  # seconds without anybody to run calls before this is said
_UNGOVERNED = (
    "what others submit to the cluster is started as Dask decides, whatever the objective says"
)


class _Kept:
    """Outcomes of a bundle that lie on a worker as long as somebody may ask for one of them."""

    def __init__(self, future: Any) -> None:
        self._future, self._found = future, None

    def bring(self, place: int) -> bytes:
        """The pickled result of one call; all of the bundle come together, once."""
        found, future = self._found, self._future
        if found is None:
            found = self._found = future.result()
            self._future = None
        packed: bytes = found[place][1]
        return packed


@dataclass(slots=True)
class _Bundle:
    keys: list[str]  # of its calls; none: all is known of them
    future: Any


def _run(packed: bytes, function: bytes = b"") -> list[Outcome]:
    """On a worker: run a bundle, and tell the client what came of it. Calls may have one large function."""
    from distributed import get_worker

    topic, key, calls = pickle.loads(packed)
    found = run_bundle([(own or function, rest) for own, rest in calls], 2.0 * _GRAIN)
    left, told = _TOLD, []
    for good, result, took in found:
        left -= len(result)
        told.append((good, result if left >= 0 or not good else None, took))
    with suppress(ValueError):  # no thread of a worker's own: the client asks for it
        get_worker().log_event(topic, [key, pickle.dumps(told)])
    return found


class Dask:
    """An engine that runs Python calls on a Dask cluster.

    Parameters
    ----------
    client : distributed.Client or str
        A client, or the address of a scheduler. Workers and the scheduler need this package and your own.
    slots : int, optional
        Calls at once; by default the threads of all workers that are there. If the cluster grows with the
        work that waits, give the number of slots to which it may grow.
    priority : float
        Priority of all calls of the pool against tasks that others submit to the cluster. A higher priority
        goes first; equal priorities go in the order of submission.
    **submit
        More arguments of ``Client.map``, such as ``workers`` and ``resources``. If you give one of these, also
        give ``slots``: how many calls the chosen workers can run at once.

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
    If a worker dies, Dask makes the calls that the worker had again on other workers, as often as Dask
    allows. After that the call fails with Dask's ``KilledWorker``. If the connection to the scheduler breaks
    and the client connects again, calls that had not ended are submitted again. If the client gives up, all
    calls fail. If a call in a bundle takes longer than expected, another worker makes the calls behind it.
    A call that runs cannot be ended.
    """

    abilities = Abilities(
        order="at submit", take_back="cancel", grain=_GRAIN, ahead=_GRAIN, together=_TOGETHER,
        calls="by value", settle=_SETTLE, largest=_LARGEST, ungoverned=(_UNGOVERNED,),
    )  # fmt: skip
    error = BrokenExecutor

    def __init__(
        self, client: Any, *, slots: int | None = None, priority: float = 0.0, **submit: Any
    ) -> None:
        distributed = library("distributed", "the Dask engine", "'malleable[dask]'")
        if slots is None and submit:
            raise ValueError(f"slots: how many calls can run with {', '.join(submit)}?")
        self._fixed = None if slots is None else check_slots(slots)
        self._own = isinstance(client, str)
        self._client = distributed.Client(client, set_as_default=False) if self._own else client
        if not isinstance(self._client, distributed.Client) or self._client.asynchronous:
            raise ValueError(f"client = {client!r}: expected a distributed.Client of threads")
        if self._client.status != "running":
            raise ValueError(f"client = {client!r}: {self._client.status}")
        self._submit = {**submit, "priority": priority, "pure": False, "fifo_timeout": "0 ms"}
        self._name = f"malleable-{secrets.token_hex(8)}"
        self._count = 0
        self.broken = ""
        self._bundles: dict[str, _Bundle] = {}
        self._bundle_of: dict[str, str] = {}  # by call
        self._shared: tuple[bytes, Any] = b"", None  # the last large function, and its future
        # What a bundle told, the name of one that has ended, an event, or None: somebody wakes the loop.
        self._said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._comm: Any = None  # the connection that bundles tell over
        self._looking, self._looked = False, time.monotonic()
        self._threads = sum(self._client.nthreads().values())
        self.slots = self._threads if self._fixed is None else self._fixed
        self.waits = ""
        self._well, self._stuck = time.monotonic(), False
        self._listen()

    def wake(self) -> None:
        """Let `poll` return now; from any thread."""
        self._said.put(None)

    def _listen(self) -> None:
        comm = self._client.scheduler_comm
        if comm is not None and comm is not self._comm:
            self._comm = comm
            self._client.subscribe_topic(self._name, self._said.put)

    def start(self, tasks: Sequence[Task]) -> None:
        """Hand calls over: ``task.call`` is a packed one."""
        bundles = [list(same) for _, same in groupby(tasks, lambda task: task.slot)]
        names = [f"{self._name}-{self._count + k}" for k in range(len(bundles))]
        self._count += len(bundles)
        try:
            packed = [self._packed(*each) for each in zip(names, bundles, strict=True)]
            futures = self._client.map(
                _run, *map(list, zip(*packed, strict=True)), key=names, **self._submit
            )
        except Exception as error:
            self._break(str(error))
            return
        for name, bundle, future in zip(names, bundles, futures, strict=True):
            keys = [task.key for task in bundle]
            self._bundles[name] = _Bundle(keys, future)
            self._bundle_of |= dict.fromkeys(keys, name)
            future.add_done_callback(self._say_key)

    def _say_key(self, future: Any) -> None:
        self._said.put(future.key)

    def _packed(self, name: str, bundle: Sequence[Task]) -> tuple[bytes, Any]:
        """Arguments of `_run`."""
        calls = [task.call for task in bundle]
        head, function = (self._name, name), calls[0][0]
        if len(function) < _SHARED or any(other is not function for other, _ in calls):
            return pickle.dumps((*head, calls)), b""
        known, future = self._shared
        if known is not function or future.status != "finished":
            future = self._client.scatter(function, hash=False)
            self._shared = function, future
        return pickle.dumps((*head, [(b"", rest) for _, rest in calls])), future

    def cancel(self, keys: Sequence[str]) -> None:
        """Take back bundles with these calls. A call that runs goes on, and its result is dropped."""
        for name in {self._bundle_of[key] for key in keys if key in self._bundle_of}:
            bundle = self._bundles.pop(name)
            for key in self._closed(bundle):
                self._said.put(Event("returned", key))
            bundle.future.release()

    def poll(self, seconds: float) -> list[Event]:
        """What happened; waits at most so long for the first."""
        until = time.monotonic() + seconds
        slots, waits, found = self.slots, self.waits, list[Event]()
        while not found and not self.broken:
            self._look()
            if self.slots != slots or self.waits != waits:
                break
            for said in heard(self._said, min(_LOOK, until - time.monotonic())):
                if said is None:
                    return found  # somebody wants the loop
                found += self._heard(said)
            if time.monotonic() >= until:
                break
        return found

    def _look(self) -> None:
        """Who is there: once a second, asked for by the client's own thread."""
        client = self._client
        if client.status in ("closing", "closed"):
            self._break(f"the client is {client.status}")
        self.slots = self._threads if self._fixed is None else self._fixed
        self._see_what_is_missing()
        if self._looking or time.monotonic() - self._looked < _LOOK or client.status != "running":
            return
        self._looking = True
        self._listen()
        client.loop.add_callback(self._count_threads)

    async def _count_threads(self) -> None:
        with suppress(OSError, AttributeError):  # the client finds out, too, and connects again
            self._threads = sum((await self._client.scheduler.ncores()).values())
            self._stuck = False
            if self._fixed is not None and self._bundles:
                processing = await self._client.scheduler.processing(workers=None)
                running = {key for keys in processing.values() for key in keys}
                self._stuck = running.isdisjoint(self._bundles)
        self._looking, self._looked = False, time.monotonic()

    def _see_what_is_missing(self) -> None:
        """If no worker can run calls for some seconds, say what is missing."""
        if self._client.status == "connecting":
            waits = f"the scheduler at {self._address()} does not answer; the client tries again"
        elif self._threads == 0:
            waits = f"the scheduler at {self._address()} has no workers"
        elif self._stuck:
            waits = "other tasks hold all workers of Dask, or none is as asked for"
        else:
            waits, self._well = "", time.monotonic()
        if not waits or self.waits or time.monotonic() - self._well >= _PATIENCE:
            self.waits = waits

    def _address(self) -> str:
        scheduler = self._client.scheduler
        return str(getattr(scheduler, "address", None) or getattr(scheduler, "addr", "its address"))

    def _heard(self, said: Any) -> list[Event]:
        if isinstance(said, Event):
            return [said]
        if isinstance(said, tuple):  # a bundle told it: (time, message)
            name, told = said[1]
            known = self._bundles.get(name)
            return self._told(known, pickle.loads(told)) if known else []
        bundle = self._bundles.pop(said, None)
        return self._ended(bundle) if bundle and bundle.keys else []

    def _closed(self, bundle: _Bundle) -> list[str]:
        """Calls of a bundle of which all is known now."""
        keys, bundle.keys = bundle.keys, []
        for key in keys:
            del self._bundle_of[key]
        return keys

    def _told(self, bundle: _Bundle, told: Sequence[Any]) -> list[Event]:
        """Events of a bundle: the outcomes of its first calls, and the calls that were not begun."""
        kept = _Kept(bundle.future)
        keys = self._closed(bundle)
        events = []
        for place, (key, (good, result, took)) in enumerate(zip(keys, told, strict=False)):
            found = RemoteValue(partial(kept.bring, place)) if result is None else result
            events.append(Event("ended", key, 0 if good else 1, took, result=found))
        return events + [Event("returned", key) for key in keys[len(told) :]]

    def _ended(self, bundle: _Bundle) -> list[Event]:
        """Events of a bundle that has ended and told nothing."""
        future, error = bundle.future, None
        with suppress(
            BaseException
        ):  # the connection is lost, or what is there cannot be unpickled
            if future.status == "finished":
                return self._told(bundle, future.result())
            if future.status == "error":
                error = future.exception()
        keys = self._closed(bundle)
        if error is None or (len(keys) > 1 and type(error).__name__ == "KilledWorker"):
            text = f"Dask lost it: {error or future.status}"
            return [Event("lost", key, text=text) for key in keys]
        text = f"Dask could not run it: {worded(error)}"
        try:
            result = by_value((error, text))
        except BaseException:  # whatever its class does
            result = by_value((RuntimeError(worded(error)), text))
        return [Event("ended", key, 1, result=result) for key in keys]

    def _break(self, why: str) -> None:
        told = f"Dask takes no more calls: {why}; with a journal, resume=True goes on"
        self.broken = self.broken or told

    def close(self, grace: float = 5.0) -> int:
        """Give up calls that have not ended. Results stay where they are as long as their futures do."""
        with suppress(Exception):  # the client is closed
            self.cancel(list(self._bundle_of))
        self._bundles.clear()
        self._bundle_of.clear()
        self._shared = b"", None
        with suppress(Exception):
            self._client.unsubscribe_topic(self._name)
        if self._own:
            self._client.close()
        return 0
