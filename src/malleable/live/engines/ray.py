"""Python calls as tasks of a Ray cluster.

A task of Ray is a bundle of short calls, or one call; it returns what became of them, and large results of its
calls as objects of their own, which stay where they were made until somebody asks. The slots are the
cluster's CPUs, or another resource, as nodes come and go. Ray starts tasks in an order of its own, so that no
more bundles are handed over than there are slots, and a few more where calls are so short that a
worker would wait for the next. A thread waits for bundles, as Ray tells nobody. A bundle costs some
0.5 ms here, a call some 40 us.
"""

from __future__ import annotations

import math
import pickle
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import Any

from malleable.domain import check_slots
from malleable.files.advice import library
from malleable.live.engines.remote import Outcome, by_value, run_bundle, worded
from malleable.live.protocol import Abilities, Event, RemoteValue, Task, heard

_GRAIN = 0.05  # seconds of calls that are sent together
_TOGETHER = 200  # calls at most
_TOLD = 1 << 16  # bytes of results that a bundle tells at once; what is larger stays in Ray's store
_LARGEST = 1 << 30  # bytes of a call
_SETTLE = 0.01  # seconds without another call before the first of an idle pool start
_SHARED = 1 << 16  # bytes from which on a function goes to the store, once for all its calls
_LOOK = 1.0  # seconds between two looks at the cluster
_PATIENCE = 3.0  # seconds without anybody to run calls before this is said
_TURN = 0.05  # seconds that the waiting thread waits for bundles before it looks for new ones
_UNGOVERNED = (
    "what others submit to the cluster is started as Ray decides, whatever the objective says"
)


def _run(packed: bytes, function: bytes = b"") -> tuple[list[Any], ...]:
    """On a worker: run a bundle. Returns outcomes that travel at once, and large results as objects."""
    import ray

    calls = pickle.loads(packed)
    found: list[Outcome] = run_bundle(
        [(own or function, rest) for own, rest in calls], 2.0 * _GRAIN
    )
    left, told = _TOLD, []
    for good, result, took in found:
        left -= len(result)
        kept = result if left >= 0 or not good else ray.put(result)
        told.append((good, kept, took))
    return (told,)


class Ray:
    """An engine that runs Python calls on a Ray cluster.

    Parameters
    ----------
    address : str, optional
        Address of a cluster, as for ``ray.init``. By default the cluster to which this process is connected.
        If it is connected to none, the engine starts a node on this machine and ends it with the pool.
    slots : int, optional
        Calls at once; by default as many as the cluster has room for (`resource`, `amount`).
    resource : str
        What a call takes: ``CPU``, ``GPU``, or a resource of your own.
    amount : float
        How much of the resource a call takes.
    **options
        More options of ``ray.remote``, such as ``runtime_env``, ``memory``, ``scheduling_strategy``.

    Raises
    ------
    ImportError
        ``ray`` is not installed.
    ValueError
        The engine itself sets this option, or a number is out of its range.
    OSError
        No cluster answers.

    Notes
    -----
    If a worker dies, the pool makes the calls that the worker had again, up to three times for each call.
    After that the call fails with ``BrokenExecutor``. If the cluster goes away, all calls fail. If a call in a
    bundle takes longer than expected, another worker makes the calls behind it.
    """

    abilities = Abilities(
        order="at submit", take_back="cancel", grain=_GRAIN, ahead=_GRAIN, together=_TOGETHER,
        calls="by value", settle=_SETTLE, largest=_LARGEST, ungoverned=(_UNGOVERNED,),
    )  # fmt: skip
    error = BrokenExecutor

    def __init__(
        self,
        address: str | None = None,
        *,
        slots: int | None = None,
        resource: str = "CPU",
        amount: float = 1.0,
        **options: Any,
    ) -> None:
        own = {"num_cpus", "num_gpus", "num_returns", "name"} & options.keys()
        if own:
            raise ValueError(f"{min(own)}: the engine's own; see resource and amount")
        if not (isinstance(amount, (int, float)) and 0.0 < amount < math.inf):
            raise ValueError(f"amount = {amount!r}: expected a number above 0")
        self._fixed = None if slots is None else check_slots(slots)
        self._ray = library("ray", "the Ray engine", "'malleable[ray]'")
        self._resource, self._amount = resource, float(amount)
        self._began = not self._ray.is_initialized()
        if self._began:
            try:
                self._ray.init(
                    address=address, log_to_driver=False, logging_level="ERROR",
                    include_dashboard=False if address is None else None,
                )  # fmt: skip
            except Exception as error:
                raise OSError(f"address = {address!r}: {worded(error)}") from error
        needs: dict[str, Any] = {"num_cpus": 0}
        if resource == "CPU":
            needs = {"num_cpus": amount}
        elif resource == "GPU":
            needs["num_gpus"] = amount
        else:
            needs["resources"] = {resource: amount}
        more = {"max_retries": 0, **options}
        self._remote = self._ray.remote(_run).options(num_returns=1, **needs, **more)
        self.broken, self.waits = "", ""
        self._bundles: dict[Any, list[str]] = {}  # by reference: calls of which nothing is known
        self._ref_of: dict[str, Any] = {}
        self._shared: tuple[bytes, Any] = b"", None  # the last large function, and its object
        self._said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._fresh: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._there = 0
        self._count_slots(self._total())
        self._well, self._closed = time.monotonic(), False
        self._thread = threading.Thread(target=self._wait, name="malleable-ray", daemon=True)
        self._thread.start()

    def _total(self) -> Mapping[str, float]:
        try:
            found: Mapping[str, float] = self._ray.cluster_resources()
        except Exception as error:
            raise OSError(f"Ray does not answer: {worded(error)}") from error
        return found

    def _count_slots(self, total: Mapping[str, float]) -> None:
        self._there = int(total.get(self._resource, 0.0) / self._amount + 1e-9)
        self.slots = self._there if self._fixed is None else self._fixed

    def wake(self) -> None:
        """Let `poll` return now; from any thread."""
        self._said.put(None)

    def start(self, tasks: Sequence[Task]) -> None:
        """Hand calls over: ``task.call`` is a packed one."""
        for _, same in groupby(tasks, lambda task: task.slot):
            bundle = list(same)
            keys = [task.key for task in bundle]
            try:
                ref = self._remote.remote(*self._packed([task.call for task in bundle]))
            except Exception as error:
                self._break(worded(error))
                return
            self._bundles[ref] = keys
            self._ref_of |= dict.fromkeys(keys, ref)
            self._fresh.put(ref)

    def _packed(self, calls: list[Any]) -> tuple[Any, ...]:
        """Arguments of `_run`."""
        function = calls[0][0]
        if len(function) < _SHARED or any(other is not function for other, _ in calls):
            return (pickle.dumps(calls),)
        if self._shared[0] is not function:
            self._shared = function, self._ray.put(function)
        return pickle.dumps([(b"", rest) for _, rest in calls]), self._shared[1]

    def cancel(self, keys: Sequence[str]) -> None:
        """Take back bundles with these calls. A call that runs may go on; its result is dropped."""
        for ref in {self._ref_of[key] for key in keys if key in self._ref_of}:
            for key in self._close_bundle(ref):
                self._said.put(Event("returned", key))
            with suppress(Exception):
                self._ray.cancel(ref, force=False)

    def _close_bundle(self, ref: Any) -> list[str]:
        keys = self._bundles.pop(ref, [])
        for key in keys:
            del self._ref_of[key]
        return keys

    def _wait(self) -> None:
        """In a separate thread: references of bundles that have ended, and the number of slots."""
        flying: list[Any] = []
        looked = time.monotonic()
        while not self._closed:
            with suppress(queue.Empty):
                if not flying:
                    flying.append(self._fresh.get(timeout=_TURN))
                while True:
                    flying.append(self._fresh.get_nowait())
            try:
                if flying:
                    # New bundles are seen when an old one ends, or after a moment.
                    ended, flying = self._ray.wait(
                        flying, num_returns=1, timeout=_TURN, fetch_local=False
                    )
                    if ended and flying:
                        more, flying = self._ray.wait(
                            flying, num_returns=len(flying), timeout=0, fetch_local=False
                        )
                        ended += more
                    if ended:
                        self._said.put(ended)
                if time.monotonic() - looked >= _LOOK:
                    looked = time.monotonic()
                    self._said.put(dict(self._ray.cluster_resources()))
            except BaseException as error:
                if not self._closed:
                    self._said.put(error)
                return

    def poll(self, seconds: float) -> list[Event]:
        """What happened; waits at most so long for the first."""
        until = time.monotonic() + seconds
        slots, waits, found = self.slots, self.waits, list[Event]()
        while not found and not self.broken:
            self._see_what_is_missing()
            if self.slots != slots or self.waits != waits:
                break
            for said in heard(self._said, min(_LOOK, until - time.monotonic())):
                if said is None:
                    return found  # somebody wants the loop
                found += self._heard(said)
            if time.monotonic() >= until:
                break
        return found

    def _see_what_is_missing(self) -> None:
        """If no worker can run calls for some seconds, say what is missing."""
        if self._there > 0:
            self.waits, self._well = "", time.monotonic()
        elif time.monotonic() - self._well >= _PATIENCE:
            self.waits = f"no node of Ray has {self._amount:g} {self._resource}"

    def _heard(self, said: Any) -> list[Event]:
        if isinstance(said, Event):
            return [said]
        if isinstance(said, dict):
            self._count_slots(said)
            return []
        if isinstance(said, BaseException):
            self._break(worded(said))
            return []
        return [event for ref in said for event in self._ended(ref)]

    def _ended(self, ref: Any) -> list[Event]:
        """Events of a bundle: outcomes of its first calls, and the calls that were not begun."""
        if ref not in self._bundles:
            return []
        try:
            (told,) = self._ray.get(ref)
        except BaseException as error:
            return self._failed(self._close_bundle(ref), error)
        keys, events = self._close_bundle(ref), []
        for key, (good, result, took) in zip(keys, told, strict=False):
            large = not isinstance(result, bytes)
            found = RemoteValue(partial(self._ray.get, result)) if large else result
            events.append(Event("ended", key, 0 if good else 1, took, result=found))
        return events + [Event("returned", key) for key in keys[len(told) :]]

    def _failed(self, keys: list[str], error: BaseException) -> list[Event]:
        """Events of a bundle that has no answer."""
        errors = self._ray.exceptions
        lost = (errors.WorkerCrashedError, errors.NodeDiedError, errors.ObjectLostError,
                errors.OutOfMemoryError, errors.TaskCancelledError)  # fmt: skip
        if isinstance(error, lost):
            return [Event("lost", key, text=f"Ray lost it: {worded(error)}") for key in keys]
        text = f"Ray could not run it: {worded(error)}"
        try:
            result = by_value((error, text))
        except BaseException:  # whatever its class does
            result = by_value((RuntimeError(text), text))
        return [Event("ended", key, 1, result=result) for key in keys]

    def _break(self, why: str) -> None:
        told = f"Ray takes no more calls: {why}; with a journal, resume=True goes on"
        self.broken = self.broken or told

    def close(self, grace: float = 5.0) -> int:
        """Give up calls that have not ended. Results stay where they are as long as their futures do."""
        self._closed = True
        with suppress(Exception):
            self.cancel(list(self._ref_of))
        self._bundles.clear()
        self._ref_of.clear()
        self._shared = b"", None
        self._thread.join(2.0 * _TURN + 1.0)
        if self._began:
            with suppress(Exception):
                self._ray.shutdown()
        return 0
