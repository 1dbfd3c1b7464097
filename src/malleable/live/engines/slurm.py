"""Job arrays of a Slurm: what its commands are asked, and what their answers mean.

All that is known of Slurm stands in one table, `COMMANDS`: what reads the queue and the nodes, what changes
an array. Answers are taken whole or not at all; what a command returns after a change is not believed,
the next look shows what came of it. Names and comments are other people's text: fields are cut at a
random word of each call, so that no name can look like a field. Formats are those of Slurm 22.05 and later.

A look costs one call of squeue and one of scontrol, O(lines): one for each task that runs and each
array that waits.
"""

from __future__ import annotations

import math
import os
import re
import secrets
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from malleable.live.engine import Abilities, Event, Task

__all__ = ["Array", "Change", "Look", "Others", "Reply", "Slurm", "SlurmError", "tasks_in"]

LEASE = "malleable-lease"
"""Name of the job that restores what a dead governor left."""

_FIELDS = ("F", "A", "K", "t", "C", "P", "y", "Q", "r", "E", "V", "S", "u", "k", "j")
_RUNNING = ("R", "CF", "S", "SI", "SO", "RS")
_FAILED = ("F", "NF", "TO", "OOM", "BF", "DL", "CA")  # shown for some minutes
_STATES = ",".join(("PD", "CG", "RQ", *_RUNNING, *_FAILED))
COMMANDS: Mapping[str, Sequence[str]] = {
    "own": ("squeue", "-h", "--me", "-t", _STATES, "-o"),
    "all": ("squeue", "-h", "-a", "-t", _STATES, "-o"),
    "waiting": ("squeue", "-h", "-a", "-t", "PD", "-o"),
    "memory": ("squeue", "-h", "-a", "-O", "ArrayJobID:20,tres-alloc:400", "-j"),
    "nodes": ("scontrol", "-o", "show", "nodes"),
    "config": ("scontrol", "show", "config"),
    "change": ("scontrol",),
    "script": ("scontrol", "write", "batch_script"),
    "submit": ("sbatch", "--parsable"),
    "cancel": ("scancel",),
    "ended": ("sacct", "-X", "-n", "-P", "-o", "JobID,State,ElapsedRaw"),
}
"""What each question and change is called; a system with other words is another table."""

TIMEOUT = 10.0  # seconds that a command may take
_SHARE = 10.0  # a look that takes s seconds is made every 10 s seconds at most
_SLOWEST = 300.0
_OTHERS = 30.0  # seconds between two looks at what other people wait for
_BLOCKED = (
    "Dependency", "JobHeld", "BeginTime", "PartitionDown", "PartitionInactive", "ReqNodeNotAvail",
    "Reservation", "BadConstraints", "Invalid", "PartitionNodeLimit", "PartitionTimeLimit",
    "JobLaunchFailure", "AccountNotAllowed", "QOSNotAllowed",
)  # fmt: skip
_LIMITED = ("QOS", "Assoc", "MaxCpu")
_UNUSABLE = frozenset((
    "DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING", "NOT_RESPONDING", "NO_RESPOND",
    "FUTURE", "UNKNOWN", "MAINT", "RESERVED", "POWERING_DOWN", "POWER_DOWN", "REBOOT", "REBOOT_ISSUED",
    "REBOOT_REQUESTED", "INVALID", "INVALID_REG",
))  # fmt: skip
_INHERITED = re.compile(r"^(SQUEUE|SBATCH|SCONTROL|SACCT|SCANCEL|SLURM)_")
_KEPT = ("SLURM_CONF", "SLURM_JWT")
_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")
_PARENTS = re.compile(r"after(?:ok|any|notok|corr|burstbuffer)?:(\d+)")
_MEMORY = re.compile(r"\bmem=(\d+(?:\.\d+)?)([KMGTP]?)")
_MEBIBYTES = {"K": 2.0**-10, "": 1.0, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}


class SlurmError(ValueError):
    """Slurm did not do what it was asked, and what it said."""


class Reply(NamedTuple):
    """What a command answered.

    ``why`` is empty if it ended well and had nothing to say.
    """

    text: str
    why: str
    took: float


class Change(NamedTuple):
    """What is to be changed of a job: ``Nice``, ``ArrayTaskThrottle``, ``StartTime``."""

    number: int
    key: str
    value: int | str


@dataclass(slots=True)
class Array:
    """An array as one look shows it.

    Attributes
    ----------
    number : int
    name, user, place, comment, reason : str
        ``place`` is the partition, the first one that it may run in.
    pending, running, ending : int
        Tasks that wait, run, and give their slots back.
    width : int
        Slots of a task: its CPUs.
    memory : float
        [MiB] of a task, where Slurm shares memory out; else 0.
    nice, priority : int
    throttle : int
        Tasks at once; 0: any.
    after : tuple of int
        Numbers of the jobs that it is after.
    submitted : float
        [s since 1970]
    elapsed : float
        Seconds that the tasks that run have run, added up.
    failed : mapping
        Tasks that lately failed or were cancelled, by the job that they were.
    """

    number: int
    name: str = ""
    user: str = ""
    place: str = ""
    comment: str = ""
    reason: str = ""
    pending: int = 0
    running: int = 0
    ending: int = 0
    width: int = 1
    memory: float = 0.0
    nice: int = 0
    priority: int = 0
    throttle: int = 0
    after: tuple[int, ...] = ()
    submitted: float = math.nan
    elapsed: float = 0.0
    failed: dict[int, int] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        """None of its tasks is there any more."""
        return self.pending + self.running + self.ending == 0

    @property
    def dead(self) -> bool:
        """It waits for what will never be."""
        return self.reason.startswith("DependencyNeverSatisfied")

    @property
    def blocked(self) -> bool:
        """Its tasks would not start though slots were free."""
        return self.reason.startswith(_BLOCKED) or (self.pending > 0 and self.priority == 0)


class Usable(NamedTuple):
    """Slots and memory [MiB] of a partition's nodes that work, and what of them is free."""

    slots: int = 0
    free: int = 0
    memory: int = 0
    free_memory: int = 0


class Others(NamedTuple):
    """What people wait for whose arrays are not governed: tasks, and how long they have waited [s]."""

    tasks: int = 0
    mean: float = 0.0
    longest: float = 0.0


_NOBODY = Others()


@dataclass(frozen=True)
class Look:
    """How the queue stood.

    Attributes
    ----------
    at : float
        [s since 1970]
    arrays : dict of Array
        By number.
    leases : dict of str
        Comments of lease jobs by their numbers.
    usable : dict of Usable
        By partition.
    others : Others
    took : float
        Seconds that Slurm took to answer.
    """

    at: float
    arrays: Mapping[int, Array] = field(default_factory=dict)
    leases: Mapping[int, str] = field(default_factory=dict)
    usable: Mapping[str, Usable] = field(default_factory=dict)
    others: Others = _NOBODY
    took: float = 0.0

    def slots(self, place: str) -> int:
        """What arrays that were seen hold of a partition, and what is free for them.

        Nothing is where Slurm says of all that wait there that a limit of theirs is reached.
        """
        here = [array for array in self.arrays.values() if array.place == place]
        held = sum((array.running + array.ending) * array.width for array in here)
        wait = [array for array in here if array.pending and not array.blocked]
        if wait and all(array.reason.startswith(_LIMITED) for array in wait):
            return held
        there = self.usable.get(place, Usable())
        return max(held, min(held + there.free, there.slots))  # the nodes were asked a moment later

    def memory(self, place: str) -> float:
        """The same of memory [MiB]."""
        here = [array for array in self.arrays.values() if array.place == place]
        held = sum((array.running + array.ending) * array.memory for array in here)
        there = self.usable.get(place, Usable())
        return max(held, min(held + there.free_memory, there.memory))


def tasks_in(text: str) -> tuple[int, int]:
    """Tasks and throttle of what squeue shows of an array: ``"1-9:2,12%3"``.

    Raises
    ------
    ValueError
        It shows something else.
    """
    listed, _, throttle = text.strip("[]").partition("%")
    count = 0
    for part in listed.split(","):
        found = _RANGE.fullmatch(part)
        if found is None:
            raise ValueError(f"tasks {text[:40]!r}: expected numbers and ranges")
        first, last, step = found.groups()
        count += (int(last) - int(first)) // max(1, int(step or 1)) + 1 if last else 1
    return count, int(throttle) if throttle else 0


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what would change formats; times as seconds since 1970, lists of tasks in full."""
    kept = {
        name: value
        for name, value in environment.items()
        if name in _KEPT or not _INHERITED.match(name)
    }
    return kept | {"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0", "LC_ALL": "C"}


def call(words: Sequence[str], lines: str = "") -> Reply:
    """What a command says within `TIMEOUT` seconds."""
    began = time.monotonic()
    try:
        done = subprocess.run(
            words, input=lines, capture_output=True, timeout=TIMEOUT, check=False,
            env=_clean(os.environ), encoding="utf-8", errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Reply("", f"{words[0]}: no answer within {TIMEOUT:g} s", time.monotonic() - began)
    except OSError as error:
        return Reply("", f"{words[0]}: {error.strerror}", time.monotonic() - began)
    said = " ".join(done.stderr.split())[:300]
    why = f"{words[0]}: {said or f'status {done.returncode}'}" if said or done.returncode else ""
    return Reply(done.stdout, why, time.monotonic() - began)


def _seconds(text: str) -> float:
    return float(text) if text.isdecimal() else math.nan


def _whole(text: str) -> int:
    return int(text) if text.lstrip("-").isdecimal() else 0


class _Queue:
    """Lines of squeue, gathered by array."""

    def __init__(self, at: float) -> None:
        self.at = at
        self.arrays: dict[int, Array] = {}
        self.leases: dict[int, str] = {}
        self._counts: dict[int, int] = {}  # tasks of the line that says what an array is

    def line(self, values: Mapping[str, str]) -> None:
        number, job = int(values["F"]), int(values["A"])
        if values["j"] == LEASE:
            self.leases[job] = values["k"]
            return
        if not values["K"].strip("[]")[:1].isdecimal():
            return  # a single job
        state = values["t"]
        count, throttle = tasks_in(values["K"])
        width = max(1, int(values["C"]))
        array = self.arrays.get(number)
        if array is None:
            array = self.arrays[number] = Array(number, values["j"], values["u"])
        # What most tasks that wait say of themselves is said of the array.
        weight = count if state == "PD" else 0
        if weight >= self._counts.get(number, 0):
            self._counts[number] = weight
            array.place, array.comment = values["P"].partition(",")[0], values["k"]
            array.width, array.nice, array.priority = (
                width,
                _whole(values["y"]),
                _whole(values["Q"]),
            )
            array.reason = values["r"] if state == "PD" else ""
            array.throttle, array.submitted = throttle, _seconds(values["V"])
            array.after = tuple(map(int, _PARENTS.findall(values["E"])))
        if state == "PD":
            array.pending += count
        elif state == "CG":
            array.ending += 1
        elif state in _FAILED:
            array.failed[job] = count
        elif state in _RUNNING:
            since = _seconds(values["S"])
            array.running += 1
            # Slurm's seconds are whole; a task began half of one later on average.
            array.elapsed += 0.0 if math.isnan(since) else max(0.0, self.at - since - 0.5)


class Slurm:
    """Arrays of a Slurm, looked at every few seconds.

    Parameters
    ----------
    every : float
        Seconds between two looks; more where answers are slow or do not come.
    everybody : bool
        Other people's arrays, too; changing them takes an operator's rights.
    ask, clock, sleep, wall : callable
        How commands are called, and time.
    """

    abilities = Abilities(cap="live", order="both ways", take_back="requeue", grain=1.0)

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
        self.slots = 0
        self._ask, self._clock, self._sleep, self._wall = ask, clock, sleep, wall
        self._next = -math.inf
        self._silent = 0
        self._others, self._others_at = _NOBODY, -math.inf
        self._shares_memory: bool | None = None  # not known yet
        self._memory_of: dict[int, float] = {}  # by number of the array
        self.accounts = True
        """Whether there is accounting, as far as is known."""
        self.pace = every
        """Seconds until the next look."""

    # What a loop calls.

    def start(self, tasks: Sequence[Task]) -> None:
        """Tasks wait in Slurm's own queue."""
        raise RuntimeError("tasks of a Slurm are handed over by malleable submit")

    def cancel(self, keys: Sequence[str]) -> None:
        """Nothing is cancelled: arrays are their owner's."""

    def close(self, grace: float) -> int:
        """Nothing was started here."""
        return 0

    def poll(self, seconds: float) -> list[Event]:
        """How the queue stands, where it is time to look; waits at most so long."""
        wait = self._next - self._clock()
        if wait > 0.0:
            self._sleep(min(wait, max(seconds, 0.0)))
        if self._clock() < self._next:
            return []
        try:
            look = self.look()
        except SlurmError as error:
            self._silent = min(self._silent + 1, 20)  # 2 to that power is beyond any pause
            self.pace = min(self.every * 2**self._silent, max(self.every, _SLOWEST))
            self._next = self._clock() + self.pace
            return [Event("silent", text=str(error))]
        self._silent = 0
        self.pace = min(max(self.every, _SHARE * look.took), max(self.every, _SLOWEST))
        self._next = self._clock() + self.pace - look.took
        return [Event("seen", result=look)]

    # Looks.

    def _told(self, name: str, *words: str, lines: str = "") -> Reply:
        reply = self._ask([*COMMANDS[name], *words], lines)
        if reply.why:
            raise SlurmError(reply.why)
        return reply

    def look(self) -> Look:
        """How the queue and the nodes stand.

        Raises
        ------
        SlurmError
            A command did not answer, or not in full.
        """
        mark = f"~{secrets.token_hex(6)}~"
        asked = mark + mark.join(f"%{letter}" for letter in _FIELDS)
        reply = self._told("all" if self.everybody else "own", asked)
        at = self._wall()
        queue = _Queue(at)
        words = reply.text.split(mark)[1:]
        if len(words) % len(_FIELDS):
            raise SlurmError("squeue: its answer is not complete")
        for first in range(0, len(words), len(_FIELDS)):
            values = words[first : first + len(_FIELDS)]
            values[-1] = values[-1].removesuffix("\n")
            try:
                queue.line(dict(zip(_FIELDS, values, strict=True)))
            except ValueError as error:
                raise SlurmError(f"squeue: {error}") from None
        nodes = self._told("nodes")
        took = reply.took + nodes.took
        usable = _usable(nodes.text)
        if self._clock() >= self._others_at + _OTHERS:
            took += self._look_at_others(set(queue.arrays), at)
        took += self._look_at_memory(queue.arrays)
        self.slots = sum(each.slots for each in usable.values())
        self._next = self._clock() + self.every
        return Look(at, queue.arrays, queue.leases, usable, self._others, took)

    def _look_at_memory(self, arrays: Mapping[int, Array]) -> float:
        """Memory of tasks, which stays what it was when their array came."""
        if self._shares_memory is None:
            how = self.ask_config().get("SelectTypeParameters", "")
            self._shares_memory = "MEMORY" in how.upper()
        took = 0.0
        known = {n: size for n, size in self._memory_of.items() if n in arrays}
        new = [number for number in arrays if number not in known]
        if self._shares_memory and new:
            reply = self._ask([*COMMANDS["memory"], ",".join(map(str, new))])
            took = reply.took
            for line in reply.text.splitlines():
                listed, _, tres = line.partition(" ")
                found = _MEMORY.search(tres)
                if listed.isdecimal() and found:
                    known[int(listed)] = float(found[1]) * _MEBIBYTES[found[2]]
        self._memory_of = known
        for array in arrays.values():
            array.memory = known.get(array.number, 0.0)
        return took

    def _look_at_others(self, own: set[int], at: float) -> float:
        mark = f"~{secrets.token_hex(6)}~"
        reply = self._ask([*COMMANDS["waiting"], mark + mark.join(("%F", "%K", "%r", "%V"))])
        self._others_at = self._clock() + _SHARE * reply.took
        if reply.why:
            return reply.took  # they may be hidden from us
        words = [word.strip() for word in reply.text.split(mark)[1:]]
        count, total, longest = 0, 0.0, 0.0
        for first in range(0, len(words) - 3, 4):
            number, listed, reason, since = words[first : first + 4]
            if not number.isdecimal() or int(number) in own or reason.startswith(_BLOCKED):
                continue
            tasks = 1
            with suppress(ValueError):
                tasks, _ = tasks_in(listed)
            waited = max(0.0, at - _seconds(since)) if since.isdecimal() else 0.0
            count, total, longest = count + tasks, total + tasks * waited, max(longest, waited)
        self._others = Others(count, total / count if count else 0.0, longest)
        return reply.took

    # Changes.

    def change(self, changes: Sequence[Change]) -> str:
        """Asks for changes, in this order; what Slurm had to say, which proves nothing."""
        if not changes:
            return ""
        lines = "".join(f"update JobId={n} {key}={value}\n" for n, key, value in changes)
        return self._ask(COMMANDS["change"], lines).why

    def submit(self, words: Sequence[str], script: str) -> int:
        """A job; its number."""
        reply = self._ask([*COMMANDS["submit"], *words], script)
        number = reply.text.strip().partition(";")[0]
        if not number.isdecimal():
            raise SlurmError(reply.why or "sbatch: gave no number")
        return int(number)

    def drop(self, number: int) -> None:
        """Takes a job of ours out of the queue."""
        self._ask([*COMMANDS["cancel"], str(number)])

    def script(self, number: int) -> str:
        """The script of a job of ours; empty where it cannot be had."""
        reply = self._ask([*COMMANDS["script"], str(number), "-"])
        return reply.text

    def ask_config(self) -> dict[str, str]:
        """What the configuration says, by name."""
        found = {}
        for line in self._told("config").text.splitlines():
            name, equals, value = line.partition("=")
            if equals:
                found[name.strip()] = value.strip()
        return found

    def ended(self, numbers: Sequence[int], since: float) -> dict[int, tuple[int, float]]:
        """Tasks of arrays that ended well, and seconds of them, from accounting; empty without one."""
        if not numbers or not self.accounts:
            return {}
        listed = ",".join(map(str, numbers))
        began = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(since))
        reply = self._ask([*COMMANDS["ended"], "-j", listed, "-S", began])
        if reply.why:
            self.accounts = False
            return {}
        return _accounted(reply.text)


def _usable(text: str) -> dict[str, Usable]:
    """What nodes that work have, by partition."""
    found: dict[str, Usable] = {}
    for line in text.splitlines():
        values: dict[str, str] = {}
        for name, value in re.findall(r"(?:^|\s)([A-Za-z]\w*)=(\S*)", line.partition("Reason=")[0]):
            values.setdefault(name, value)
        state = values.get("State", "*")
        if state.endswith("*") or not _UNUSABLE.isdisjoint(state.split("+")):
            continue
        total = _whole(values.get("CPUEfctv", values.get("CPUTot", "")))
        free = max(0, total - _whole(values.get("CPUAlloc", "")))
        memory = _whole(values.get("RealMemory", ""))
        free_memory = max(0, memory - _whole(values.get("AllocMem", "")))
        if memory > 0 and free_memory == 0:
            free = 0
        for place in values.get("Partitions", "").split(","):
            if place:
                before = found.get(place, Usable())
                own = (total, free, memory, free_memory)
                found[place] = Usable(*(a + b for a, b in zip(before, own, strict=True)))
    return found


def _accounted(text: str) -> dict[int, tuple[int, float]]:
    found: dict[int, tuple[int, float]] = {}
    for line in text.splitlines():
        number, state, elapsed = (*line.split("|"), "", "")[:3]
        array, _, task = number.partition("_")
        if state == "COMPLETED" and array.isdecimal() and task.isdecimal():
            count, seconds = found.get(int(array), (0, 0.0))
            found[int(array)] = count + 1, seconds + _whole(elapsed)
    return found
