"""The interface between a loop, which decides which tasks start, and an engine, which runs them; and what
engines can do. ``start``, ``cancel`` and ``poll`` never wait for a task. An engine may report late, twice or
not at all: the loop counts each task once."""

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
        Running tasks can be ended, so that their slots are free soon (`KillingEngine`).
    withdraw : bool
        It says which calls run, and takes back the others at once (`WithdrawingEngine`).
    grain : float
        About how many seconds of short tasks a slot is given at once, at most `together` tasks.
    ahead : float
        The engine gets as many tasks beyond its slots as slots become free within this time [s], so that
        slots do not wait for the loop. It holds them until a slot is free.
    short : float
        `ahead` counts only if tasks take less than this on average [s].
    together : int
        The most tasks that a slot is given at once; the engine runs them one after the other.
    calls : {"none", "pickled", "by value", "plain"}
        ``none``: it runs commands. Otherwise calls (function, arguments, named arguments): pickled, pickled
        with functions that workers cannot import, or the objects themselves.
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
        Names one attempt of one task; used again only if the task was returned.
    argv : sequence of str
        The program and its arguments; engines of calls use `call` instead.
    environment : mapping
        Added to the loop's own.
    folder, output, errors : str
        Where it runs, and files of its streams. Empty: the loop's folder, and no files.
    seconds : float
        Time limit; 0: none.
    bundle : int
        Number of the tasks that a slot is given at once (`Abilities.together`): they run one after the other.
        Each bundle has a new number.
    holder : object
        The engine's own: where the task is.
    withdrawn : bool
        The engine's own: the task must not begin.
    """

    key: str
    argv: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    output: str = ""
    errors: str = ""
    seconds: float = 0.0
    call: Any = None
    bundle: int = 0
    holder: Any = None
    withdrawn: bool = False

    def command(self) -> tuple[Any, ...]:
        """What a process needs to start the task, in types that marshal knows."""
        where = self.folder, self.output, self.errors
        return list(self.argv), dict(self.environment), *where, float(self.seconds)


@dataclass(slots=True)
class RemoteValue:
    """A pickled result that stays where it was made until ``bring()`` fetches the bytes, in any thread."""

    bring: Callable[[], bytes]


@dataclass(slots=True)
class Event:
    """What an engine reports of a task.

    Attributes
    ----------
    kind : {"ended", "refused", "lost", "returned"}
        ``refused``: it could not be started, `text` says why. ``lost``: it ran, and its end is unknown.
        ``returned``: it surely never started; `text` says what the machine lacked, if that is why.
    status : int
        Exit status; below 0 the signal that ended it.
    seconds : float
        How long it ran.
    waited : float
        How long its slot was free before it began [s]; 0 if unknown.
    cpu, memory : float
        Processor seconds and most bytes at once, 0 if unknown.
    late : bool
        Its time limit ended it.
    result : object
        The result (status 0) or error of a call. If calls are pickled: pickled bytes or a `RemoteValue`, and
        for an error also the text of its traceback. None for a call that ended in another way: `text` says how.
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
    def attempt(self) -> int:
        return int(self.key.rpartition(".")[2])

    @property
    def how(self) -> str:
        """How its task ended, in the journal's words; empty: by itself."""
        return "late" if self.late else "" if self.kind == "ended" else self.kind


def heard(said: queue.SimpleQueue[Any], seconds: float) -> Iterator[Any]:
    """Items of a queue: waits at most this long for the first, and takes the others that are there."""
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
        """End tasks, or take them out of the queue. Tasks that have ended already do not change."""

    def poll(self, seconds: float) -> list[Event]:
        """What happened; waits at most this long for the first event."""

    def close(self, grace: float) -> int:
        """End everything, after ``grace`` seconds by force; returns how many processes would not end."""


class KillingEngine(Engine, Protocol):
    """An engine that can ``kill``."""

    def kill(self, keys: Sequence[str]) -> None:
        """End exactly these tasks, also running calls; ``poll`` reports each as ended, or its result if that
        was faster."""


class WithdrawingEngine(Engine, Protocol):
    """An engine of calls that knows which of them have begun. Any thread may call these methods, even before
    ``start`` is called with the task."""

    def runs(self, task: Task) -> bool:
        """Whether this call runs."""

    def withdraw(self, task: Task) -> bool:
        """Keep this call from starting, so that ``poll`` reports it as returned; False: it may have begun."""


class CallEngine(Engine, Protocol):
    """An engine of Python calls, for `malleable.Executor`. ``slots`` may change at any time.

    Attributes
    ----------
    broken : str
        Why it can run nothing any more; empty: it can.
    waits : str
        Optional: why nothing runs now, such as missing workers; empty: nothing is missing.
    error : type
        Raised for calls that it could not complete.
    """

    broken: str

    @property
    def error(self) -> type[BrokenExecutor]: ...

    def wake(self) -> None:
        """Let ``poll`` return now; from any thread."""
