"""The part that engines share which send bundles of Python calls to a cluster (Dask, Ray). A bundle
is a list of short calls, or one call, that a worker of the cluster runs one after the other. A subclass says
how a bundle is sent, what it hears of bundles, and why none can run."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any

from malleable.live.engines.remote import Call, Reply, by_value, worded
from malleable.live.protocol import Event, RemoteValue, Task, heard
from malleable.validation import check_slots

LOOK = 1.0  # seconds between two looks at the cluster
# The end of a message about a cluster that is gone.
RESUMES = "with a journal, resume=True continues the run"
PATIENCE = 3.0  # seconds without a worker before a message says so
_SHARED = 1 << 16  # bytes from which a function is sent to the workers separately


class Cluster:
    """An engine of bundles. ``name`` is the cluster's, for messages; ``slots`` are calls at once, by default
    as many as the cluster has room for."""

    error = BrokenExecutor

    def __init__(self, name: str, slots: int | None) -> None:
        self._cluster = name
        self._fixed = None if slots is None else check_slots(slots)  # None: as many as there are
        self.slots = self._fixed or 0
        # Why it can run nothing any more; why nothing runs now.
        self.broken = self.waits = ""
        self._bundles: dict[Any, list[str]] = {}  # by bundle: calls without a result yet
        self._bundle_of: dict[str, Any] = {}  # by key of a call
        self._shared: tuple[bytes, Any] = b"", None  # the last large function, and its place
        # Events and other messages; None wakes the loop.
        self._said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._well = time.monotonic()  # the last time at which nothing was missing

    def wake(self) -> None:
        self._said.put(None)

    def start(self, tasks: Sequence[Task]) -> None:
        for _, same in groupby(tasks, attrgetter("bundle")):
            bundle = list(same)
            try:
                sent = self._send([task.call for task in bundle])
            except Exception as error:
                self._break(worded(error))
                return
            self._open(sent, [task.key for task in bundle])

    def _send(self, calls: list[Call]) -> Any:
        # Send a bundle to the cluster; returns its name there.
        raise NotImplementedError

    def _open(self, bundle: Any, keys: list[str]) -> None:
        self._bundles[bundle] = keys
        self._bundle_of |= dict.fromkeys(keys, bundle)

    def _close(self, bundle: Any) -> list[str]:
        keys = self._bundles.pop(bundle, [])
        for key in keys:
            del self._bundle_of[key]
        return keys

    def _with_function(
        self, calls: list[Call], send: Callable[[bytes], Any]
    ) -> tuple[list[Call], Any]:
        # Calls (pickled function, pickled arguments), and their function if it is large and is sent by itself,
        # once for all calls.
        function = calls[0][0]
        if len(function) < _SHARED or any(other is not function for other, _ in calls):
            return calls, b""
        if self._shared[0] is not function:
            self._shared = function, send(function)
        return [(b"", rest) for _, rest in calls], self._shared[1]

    def cancel(self, keys: Sequence[str]) -> None:
        for bundle in {self._bundle_of[key] for key in keys if key in self._bundle_of}:
            for key in self._close(bundle):
                self._said.put(Event("returned", key))
            self._give_up(bundle)

    def _give_up(self, bundle: Any) -> None:
        # Take a bundle back from the cluster.
        raise NotImplementedError

    def poll(self, seconds: float) -> list[Event]:
        found: list[Event] = []
        for said in heard(self._said, min(LOOK, seconds)):
            if said is not None:  # the loop was woken
                found += [said] if isinstance(said, Event) else self._heard(said)
        self._look()
        return found

    def _look(self) -> None:
        # Asks the cluster for its state: sets ``slots``, ``waits`` and ``broken``.
        missing = self._missing()
        if not missing:
            self._well = time.monotonic()
        # Workers that are missing only for a moment are not reported.
        if not missing or self.waits or time.monotonic() - self._well >= PATIENCE:
            self.waits = missing

    def _missing(self) -> str:
        # Why nothing can run now, such as missing workers; empty: nothing is missing.
        return ""

    def _heard(self, said: Any) -> list[Event]:
        # Events of a message that the subclass has put into ``_said``.
        raise NotImplementedError

    def _told(
        self, bundle: Any, told: Sequence[Reply], bring: Callable[[int, Any], bytes]
    ) -> list[Event]:
        # Events of a bundle: the outcomes of its first calls, and the calls that were not begun. ``bring``
        # fetches the result of a call (by its place in the bundle) that stayed on its worker.
        keys, events = self._close(bundle), []
        for place, (key, (good, result, took)) in enumerate(zip(keys, told, strict=False)):
            here = isinstance(result, bytes)
            found = result if here else RemoteValue(partial(bring, place, result))
            events.append(Event("ended", key, 0 if good else 1, took, result=found))
        return events + [Event("returned", key) for key in keys[len(told) :]]

    def _failed(self, bundle: Any, error: object, lost: bool) -> list[Event]:
        # Events of a bundle that has no answer; ``lost``: its calls can be made again.
        keys, why = self._close(bundle), self._cluster
        if lost or not isinstance(error, BaseException):
            return [Event("lost", key, text=f"{why} lost it: {error}") for key in keys]
        text = f"{why} could not run it: {worded(error)}"
        try:
            result = by_value((error, text))
        except BaseException:  # any error of its class
            result = by_value((RuntimeError(text), text))
        return [Event("ended", key, 1, result=result) for key in keys]

    def _break(self, why: str) -> None:
        self.broken = self.broken or f"{self._cluster} takes no more calls: {why}; {RESUMES}"

    def close(self, grace: float = 5.0) -> int:
        with suppress(Exception):  # the cluster may be gone
            self.cancel(list(self._bundle_of))
        self._bundles.clear()
        self._bundle_of.clear()
        self._shared = b"", None
        return 0
