"""The commands of Slurm that are called, all in one table, `COMMANDS` (``answers.py`` reads the answers).

Answers are taken whole or not at all; an answer to a change is not believed: the next look, which lists the
queue and the nodes, shows the effect. Formats are those of Slurm 22.05 and later. A look costs one squeue and
one scontrol (every 30 s one more).
"""

from __future__ import annotations

import math
import os
import re
import secrets
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from malleable.live.slurm import answers

# The command of each question and change, by our name for it.
COMMANDS: Mapping[str, Sequence[str]] = {
    "own": ("squeue", "-h", "--me", "-t", answers.STATES, "-o"),
    "all": ("squeue", "-h", "-a", "-t", answers.STATES, "-o"),
    "left": ("squeue", "-h", "--me", "-t", ",".join(("CG", *answers.ALIVE)), "-o", "%F %K"),
    "memory": ("squeue", "-h", "-a", "-O", "ArrayJobID:20,tres-alloc:400", "-j"),
    "nodes": ("scontrol", "-o", "show", "nodes"),
    "places": ("scontrol", "-o", "show", "partitions"),
    "config": ("scontrol", "show", "config"),
    "change": ("scontrol",),
    "script": ("scontrol", "write", "batch_script"),
    "submit": ("sbatch", "--parsable"),
    "cancel": ("scancel",),
}

TIMEOUT = 10.0  # most seconds of a command
_SHARE = 10.0  # a look that takes s seconds is repeated after 10 s seconds at the earliest
_SLOWEST = 300.0  # most seconds between two looks, unless the user asks for more
_PLACES = 30.0  # seconds between two looks at partitions
_INHERITED = re.compile(r"^(SQUEUE|SBATCH|SCONTROL|SACCT|SCANCEL|SLURM)_")
_KEPT = ("SLURM_CONF", "SLURM_JWT")  # variables that commands need


class SlurmError(ValueError):
    """Slurm did not carry out a request; the text has its answer."""


class Reply(NamedTuple):
    """The answer of a command, which ``took`` some seconds. ``why`` says why it failed; empty: it did not."""

    text: str
    why: str
    took: float


class Change(NamedTuple):
    """A change of a job: ``Nice``, ``ArrayTaskThrottle``, ``StartTime``."""

    number: int
    key: str
    value: int | str


def lines_of(changes: Iterable[Change]) -> str:
    # Lines for scontrol that ask for changes.
    return "".join(f"update JobId={n} {key}={value}\n" for n, key, value in changes)


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without variables that change answers; times in seconds since 1970, lists in full."""
    kept = [name for name in environment if name in _KEPT or not _INHERITED.match(name)]
    ours = {"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0", "LC_ALL": "C"}
    return {name: environment[name] for name in kept} | ours


def call(words: Sequence[str], lines: str = "") -> Reply:
    # Run a command with these lines as its input.
    began = time.monotonic()
    try:
        done = subprocess.run(
            words, input=lines, capture_output=True, timeout=TIMEOUT, check=False,
            env=clean(os.environ), encoding="utf-8", errors="replace",
        )  # fmt: skip
    except (subprocess.TimeoutExpired, OSError) as error:
        why = getattr(error, "strerror", f"no answer within {TIMEOUT:g} s")
        return Reply(text="", why=f"{words[0]}: {why}", took=time.monotonic() - began)
    said = " ".join(done.stderr.split())[:300]
    why = f"{words[0]}: {said or f'status {done.returncode}'}" if said or done.returncode else ""
    return Reply(done.stdout, why, time.monotonic() - began)


class Slurm:
    """The job arrays of a Slurm, looked at every few seconds, and changes of them.

    Parameters
    ----------
    every : float
        Seconds between two looks; less if the governor wants it, more if answers are slow or missing.
    everybody : bool
        Other users' arrays, too; changing them takes an operator's rights.
    ask, clock, sleep, wall : callable
        How commands are called, and time.
    """

    def __init__(
        self,
        every: float = 5.0,
        everybody: bool = False,
        *,
        ask: Callable[..., Reply] = call,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.every, self.everybody = every, everybody
        self._ask, self._clock, self._sleep, self._wall = ask, clock, sleep, wall
        self._next = self._began = -math.inf
        self._took = 0.0  # seconds that the last look took
        self._silent = 0  # looks in a row without an answer
        self._most: dict[str, int] = {}  # by partition: most CPUs of a node
        self._places_at = -math.inf  # time at which partitions were listed
        self._shares_memory: bool | None = None  # None: not known yet
        self._memory_of: dict[int, float] = {}  # by number of an array
        # Seconds between looks that the governor wants now.
        self.soon = every
        # Seconds until the next look.
        self.pace = every

    def watch(self, seconds: float) -> answers.Look | None:
        """A look at the queue, when it is time; waits at most this long. SlurmError if Slurm does not answer;
        the next look then comes later each time."""
        if self._silent == 0 and self._began > -math.inf:
            self.pace = min(max(self.soon, _SHARE * self._took), max(self.every, _SLOWEST))
            self._next = self._began + self.pace
        wait = self._next - self._clock()
        if wait > 0.0:
            self._sleep(min(wait, max(seconds, 0.0)))
        if self._clock() < self._next:
            return None
        try:
            look = self.look()
        except SlurmError:
            self._silent = min(self._silent + 1, 20)  # 2 to this power is longer than any pause
            self.pace = min(self.every * 2**self._silent, max(self.every, _SLOWEST))
            self._next = self._clock() + self.pace
            raise
        self._silent = 0
        self._took, self._began = look.took, self._clock() - look.took
        return look

    # Looks.

    def _told(self, name: str, *words: str) -> Reply:
        reply = self._ask([*COMMANDS[name], *words], "")
        if reply.why:
            raise SlurmError(reply.why)
        return reply

    def look(self) -> answers.Look:
        """How the queue and the nodes stand. SlurmError if an answer is missing or incomplete."""
        mark = f"~{secrets.token_hex(6)}~"
        asked = mark + mark.join(f"%{letter}" for letter in answers.FIELDS)
        reply = self._told("all" if self.everybody else "own", asked)
        at = self._wall()
        queue = answers.Queue(at)
        try:
            for row in answers.rows_in(reply.text, mark, len(answers.FIELDS)):
                queue.line(dict(zip(answers.FIELDS, row, strict=True)))
        except ValueError as error:
            raise SlurmError(f"squeue: {error}") from None
        answers.bury(queue.arrays)
        nodes = self._told("nodes")
        took = reply.took + nodes.took
        if self._clock() >= self._places_at + _PLACES:
            places = self._ask(COMMANDS["places"])
            if not places.why:
                self._most = answers.most_in(places.text)
            self._places_at = self._clock()
            took += places.took
        usable = answers.usable_in(nodes.text, self._most)
        took += self._look_at_memory(queue.arrays)
        self._next = self._clock() + self.soon
        return answers.Look(at, queue.arrays, queue.leases, usable, took)

    def _look_at_memory(self, arrays: Mapping[int, answers.Array]) -> float:
        # Set the memory of a task of each array; returns the seconds that Slurm took.
        if self._shares_memory is None:
            how = self.ask_config().get("SelectTypeParameters", "")
            self._shares_memory = "MEMORY" in how.upper()
        took = 0.0
        known = {n: size for n, size in self._memory_of.items() if n in arrays}
        new = [number for number in arrays if number not in known]
        if self._shares_memory and new:
            reply = self._ask([*COMMANDS["memory"], ",".join(map(str, new))])
            took = reply.took
            known |= answers.memory_in(reply.text)
        self._memory_of = known
        for array in arrays.values():
            array.memory = known.get(array.number, 0.0)
        return took

    def left(self) -> dict[int, set[int]]:
        """Tasks of own arrays that wait or run, by array. SlurmError if there is no answer."""
        found: dict[int, set[int]] = {}
        for line in self._told("left").text.splitlines():
            number, _, listed = line.partition(" ")
            with suppress(ValueError):  # a single job
                found.setdefault(int(number), set()).update(answers.numbers_in(listed))
        return found

    # Changes.

    def change(self, changes: Sequence[Change]) -> str:
        """Ask for changes, in this order; returns Slurm's messages, which prove nothing."""
        if not changes:
            return ""
        return self._ask(COMMANDS["change"], lines_of(changes)).why

    def submit(self, words: Sequence[str], script: str) -> int:
        reply = self._ask([*COMMANDS["submit"], *words], script)
        number = reply.text.strip().partition(";")[0]
        if not number.isdecimal():
            raise SlurmError(reply.why or "sbatch: gave no number")
        return int(number)

    def drop(self, number: int) -> None:
        self._ask([*COMMANDS["cancel"], str(number)])

    def script(self, number: int) -> str:
        return self._ask([*COMMANDS["script"], str(number), "-"]).text

    def ask_config(self) -> dict[str, str]:
        lines = (line.partition("=") for line in self._told("config").text.splitlines())
        return {name.strip(): value.strip() for name, equals, value in lines if equals}
