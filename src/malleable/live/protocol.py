"""The interface between a loop and an engine, and what an engine can do.

An engine runs tasks somewhere: processes of this machine, array jobs of a batch system. It says what
it can (`Abilities`); the loop uses what is there and tells its user what is lost. ``start``, ``cancel`` and
``poll`` never wait for a task. What an engine reports may come late, twice or not at all: the loop
counts each task once, whatever it hears.
"""

from __future__ import annotations

import math
import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol


@dataclass(frozen=True)
class Abilities:
    """What an engine can do.

    Attributes
    ----------
    kill : bool
        Whether a task that runs can be ended, so that its slot is free soon (`KillingEngine`).
    withdraw : bool
        Whether the engine says which calls run, and takes back the others at once (`WithdrawingEngine`).
    grain : float
        About how many seconds of short tasks a slot is given at once; see ``together``.
    ahead : float
        So that slots do not wait for the loop, the engine gets more tasks than it has slots: as many more as
        slots become free within so many seconds. It holds them until a slot is free. 0: none.
    short : float
        Only where tasks take less than so many seconds on average.
    together : int
        The most tasks that a slot is given at once. The engine runs them one after the other.
    calls : {"none", "pickled", "by value", "plain"}
        Whether it runs Python calls, and what it takes: a pickled (function, arguments, named arguments), what
        `malleable.live.engines.remote` packs, functions that workers cannot import with it, or these
        objects themselves. Else it runs commands.
    """

    kill: bool = False
    withdraw: bool = False
    grain: float = 0.0
    ahead: float = 0.0
    short: float = math.inf
    together: int = 1
    calls: Literal["none", "pickled", "by value", "plain"] = "none"


@dataclass(slots=True, eq=False)
class Task:
    """One task to be run.

    Attributes
    ----------
    key : str
        Its name, one attempt of one task; used again only if the task was returned.
    argv : sequence of str
        The program and its arguments; for engines of Python calls the call itself in `call`.
    environment : mapping
        Added to the loop's own.
    folder, output, errors : str
        Where it runs; files of its two streams. Empty: the loop's folder, and nowhere.
    seconds : float
        It is ended after so long; 0: never.
    slot : int
        Tasks of one slot run one after the other; a number is never used twice.
    holder : object
        For the engine: who was given it.
    withdrawn : bool
        For the engine: it must not begin.
    """

    key: str
    argv: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    output: str = ""
    errors: str = ""
    seconds: float = 0.0
    call: Any = None
    slot: int = 0
    holder: Any = None
    withdrawn: bool = False

    def command(self) -> tuple[Any, ...]:
        """What a process needs to start the task, in types that marshal knows."""
        where = self.folder, self.output, self.errors
        return list(self.argv), dict(self.environment), *where, float(self.seconds)


@dataclass(slots=True)
class RemoteValue:
    """What a call returned, pickled, and left where it was made until somebody asks for it.

    Attributes
    ----------
    bring : callable
        ``bring()`` gives the pickled bytes; from any thread.
    """

    bring: Callable[[], bytes]


@dataclass(slots=True)
class Event:
    """What an engine reports of a task.

    Attributes
    ----------
    kind : {"ended", "refused", "lost", "returned"}
        ``refused``: it could not be started, `text` says why. ``lost``: it was running and nobody
        knows what became of it. ``returned``: it was handed over, but surely never started; `text` says what
        the machine was short of, if that is why.
    key : str
    status : int
        Exit status; below 0 the signal that ended it.
    seconds : float
        How long it ran.
    cpu, memory : float
        Seconds of processor time and most bytes at once, 0 where not known.
    late : bool
        It was ended because its time was over.
    result : object
        What was seen, or of a Python call: what it returned (status 0) or raised; where calls are pickled,
        pickled bytes (what was returned may be a `RemoteValue`), of what was raised and the text of its
        traceback. None for a call that ended in another way: `text` says how.
    waited : float
        How long its slot was free before it began [s]; 0 where not known.
    """

    kind: Literal["ended", "refused", "lost", "returned"]
    key: str = ""
    status: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0
    late: bool = False
    text: str = ""
    result: Any = None
    waited: float = 0.0

    @property
    def how(self) -> str:
        """How its task ended, as journals say it; empty: by itself."""
        return "late" if self.late else "" if self.kind == "ended" else self.kind


def heard(said: queue.SimpleQueue[Any], seconds: float) -> Iterator[Any]:
    """What is said: waits at most so long for the first, and takes what else is there."""
    with suppress(queue.Empty):
        yield said.get(timeout=max(seconds, 1e-4))
        while True:
            yield said.get_nowait()


class Engine(Protocol):
    """What the loop calls."""

    slots: int
    abilities: Abilities

    def start(self, tasks: Sequence[Task]) -> None:
        """Hand tasks over; ``poll`` reports each of them."""

    def cancel(self, keys: Sequence[str]) -> None:
        """End tasks, or take them out of the queue. Tasks that have ended already stay as they are."""

    def poll(self, seconds: float) -> list[Event]:
        """What happened; waits at most so long for the first."""

    def close(self, grace: float) -> int:
        """End everything, after ``grace`` seconds by force; how many processes would not go."""


class KillingEngine(Engine, Protocol):
    """An engine that can ``kill``."""

    def kill(self, keys: Sequence[str]) -> None:
        """End these tasks and no others, also calls that run; ``poll`` reports each as ended. What they
        return meanwhile may be reported, too. Tasks that have ended already stay as they are."""


class WithdrawingEngine(Engine, Protocol):
    """An engine of calls that knows which of them have begun. Any thread may call these methods, perhaps before
    ``start`` is called with the task."""

    def runs(self, task: Task) -> bool:
        """Whether this call runs."""

    def withdraw(self, task: Task) -> bool:
        """Let this call never begin; False: it may have begun. ``poll`` reports it as returned."""


class CallEngine(Engine, Protocol):
    """An engine of Python calls, for `malleable.Executor`.

    ``slots`` may change at any time.

    Attributes
    ----------
    broken : str
        Why it can run nothing any more; empty: it can.
    waits : str
        Why nothing runs now, such as missing workers; empty: nothing is missing. Optional, for engines
        whose slots may go away.
    error : type
        Of what calls raise that it could not run to their ends.
    """

    broken: str

    @property
    def error(self) -> type[BrokenExecutor]: ...

    def wake(self) -> None:
        """Let ``poll`` return now; from any thread."""
