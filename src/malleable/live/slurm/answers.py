"""Readers of the answers of Slurm's commands: arrays of tasks, nodes, memory. Names and comments are texts of
other users, so answers of squeue are cut at a word that cannot be guessed. O(lines)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

# Name of the job that restores what a dead governor (the program that orders the arrays) left.
LEASE = "malleable-lease"

# Letters of squeue: array, job, tasks, state, CPUs, partition, nice, priority, reason, dependency, times of
# submission and start, user, comment, name.
FIELDS = ("F", "A", "K", "t", "C", "P", "y", "Q", "r", "E", "V", "S", "u", "k", "j")
_RUNNING = ("R", "CF", "S", "SI", "SO", "RS")
# states that Slurm shows for some minutes after the end
_FAILED = ("F", "NF", "TO", "OOM", "BF", "DL", "CA")
ALIVE = ("PD", "RQ", *_RUNNING)
STATES = ",".join(("CG", *ALIVE, *_FAILED))
# reasons why a task waits: it could not start even if slots were free; a limit of its user is reached
_BLOCKED = (
    "Dependency", "JobHeld", "BeginTime", "PartitionDown", "PartitionInactive", "ReqNodeNotAvail",
    "Reservation", "BadConstraints", "Invalid", "PartitionNodeLimit", "PartitionTimeLimit",
    "JobLaunchFailure", "AccountNotAllowed", "QOSNotAllowed",
)  # fmt: skip
_NEVER = "DependencyNeverSatisfied"
_LIMITED = ("QOS", "Assoc", "MaxCpu")  # how reasons begin that name a limit of Slurm's accounts
_UNUSABLE = frozenset((
    "DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING", "NOT_RESPONDING", "NO_RESPOND",
    "FUTURE", "UNKNOWN", "MAINT", "RESERVED", "POWERING_DOWN", "POWER_DOWN", "REBOOT", "REBOOT_ISSUED",
    "REBOOT_REQUESTED", "INVALID", "INVALID_REG",
))  # fmt: skip
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?")
_PARENTS = re.compile(r"after(?:ok|any|notok|corr|burstbuffer)?:(\d+)")
_MEMORY = re.compile(r"\bmem=(\d+(?:\.\d+)?)([KMGTP]?)")
_MEBIBYTES = {"K": 2.0**-10, "": 1.0, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}


@dataclass(slots=True)
class Array:
    """A job array as one look at the queue shows it.

    Attributes
    ----------
    place : str
        The partition, the first one that it may run in.
    pending, running, ending : int
        Tasks that wait, run, and give their slots back.
    width : int
        Slots of a task: its CPUs.
    memory : float
        Of a task [MiB], if Slurm allocates memory; else 0.
    throttle : int
        Tasks at once; 0: any.
    after : tuple of int
        Numbers of the jobs that must end first, all of them.
    submitted : float
        [s since 1970]
    elapsed : float
        Seconds of all running tasks together.
    failed : mapping
        Tasks that lately failed or were cancelled, by job.
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
        return self.pending + self.running + self.ending == 0

    @property
    def dead(self) -> bool:
        """It waits for what will never happen."""
        return self.reason.startswith(_NEVER)

    @property
    def blocked(self) -> bool:
        """Its tasks would not start even if slots were free."""
        return self.reason.startswith(_BLOCKED) or (self.pending > 0 and self.priority == 0)


class Usable(NamedTuple):
    """Slots and memory [MiB] of a partition's working nodes, and what of them is free."""

    slots: int = 0
    free: int = 0
    memory: int = 0
    free_memory: int = 0


@dataclass(frozen=True)
class Look:
    """How the queue stood ``at`` a time [s since 1970]: ``arrays`` by number, comments of waiting or running
    ``leases`` by number, ``usable`` capacity by partition; Slurm ``took`` this many seconds to answer."""

    at: float
    arrays: Mapping[int, Array] = field(default_factory=dict)
    leases: Mapping[int, str] = field(default_factory=dict)
    usable: Mapping[str, Usable] = field(default_factory=dict)
    took: float = 0.0

    def earliest(self, otherwise: float) -> float:
        every = (array.submitted for array in self.arrays.values())
        return min((at for at in every if not math.isnan(at)), default=otherwise)

    def slots(self, place: str) -> int:
        """Slots of a partition that seen arrays hold, and slots that are free for them: none if Slurm says
        that all waiting arrays have reached a limit."""
        here = [array for array in self.arrays.values() if array.place == place]
        held = sum((array.running + array.ending) * array.width for array in here)
        wait = [array for array in here if array.pending and not array.blocked]
        if wait and all(array.reason.startswith(_LIMITED) for array in wait):
            return held
        there = self.usable.get(place, Usable())
        # the nodes were listed a moment later
        return max(held, min(held + there.free, there.slots))

    def memory(self, place: str) -> float:
        here = [array for array in self.arrays.values() if array.place == place]
        held = sum((array.running + array.ending) * array.memory for array in here)
        there = self.usable.get(place, Usable())
        return max(held, min(held + there.free_memory, there.memory))


def tasks_in(text: str) -> tuple[int, int]:
    """Tasks and throttle in squeue's notation, ``"1-9:2,12%3"``; ValueError for others."""
    throttle = text.strip("[]").partition("%")[2]
    return sum(map(len, _ranges(text))), int(throttle) if throttle else 0


def numbers_in(text: str) -> Iterator[int]:
    return chain.from_iterable(_ranges(text))


def _ranges(text: str) -> Iterator[range]:
    for part in text.strip("[]").partition("%")[0].split(","):
        found = _RANGE.fullmatch(part)
        if found is None:
            raise ValueError(f"tasks {text[:40]!r}: expected numbers and ranges")
        first, last, step = found.groups()
        yield range(int(first), int(last or first) + 1, max(1, int(step or 1)))


def _seconds(text: str) -> float:
    return float(text) if text.isdecimal() else math.nan


def _whole(text: str) -> int:
    return int(text) if text.lstrip("-").isdecimal() else 0


class Queue:
    """Arrays and leases from the lines of squeue, read ``at`` a time [s since 1970]."""

    def __init__(self, at: float) -> None:
        self.at = at
        self.arrays: dict[int, Array] = {}
        self.leases: dict[int, str] = {}
        self._counts: dict[int, int] = {}  # tasks of the line that describes the array

    def line(self, values: Mapping[str, str]) -> None:
        # Count one line; values by letter of `FIELDS`.
        number, job = int(values["F"]), int(values["A"])
        if values["j"] == LEASE:
            if values["t"] in ALIVE:  # Slurm shows ended tasks for some minutes
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
        # The array gets the values of most of its waiting tasks.
        weight = count if state == "PD" else 0
        if weight >= self._counts.get(number, 0):
            self._counts[number] = weight
            array.place, array.comment = values["P"].partition(",")[0], values["k"]
            array.width, array.nice = width, _whole(values["y"])
            array.priority = _whole(values["Q"])
            array.reason = values["r"] if state == "PD" else ""
            array.throttle, array.submitted = throttle, _seconds(values["V"])
            # If an array waits for one of several ("?"), its parents are unknown.
            parents = "" if "?" in values["E"] else values["E"]
            array.after = tuple(map(int, _PARENTS.findall(parents)))
        if state == "PD":
            array.pending += count
        elif state == "CG":
            array.ending += 1
        elif state in _FAILED:
            array.failed[job] = count
        elif state in _RUNNING:
            since = _seconds(values["S"])
            array.running += 1
            # Slurm's times are whole seconds; on average a task began half a second later.
            array.elapsed += 0.0 if math.isnan(since) else max(0.0, self.at - since - 0.5)


def bury(arrays: Mapping[int, Array]) -> None:
    """Arrays that are after an array that will never start will not start, either; Slurm does not say so."""
    dead = [array.number for array in arrays.values() if array.dead]
    children: dict[int, list[Array]] = {}
    for array in arrays.values():
        for parent in array.after:
            children.setdefault(parent, []).append(array)
    while dead:
        for array in children.get(dead.pop(), ()):
            if array.pending and not array.dead:
                array.reason = _NEVER
                dead.append(array.number)


def rows_in(text: str, mark: str, fields: int) -> Iterator[list[str]]:
    """Lines of squeue, in which ``mark`` precedes each field; ValueError if the last line is incomplete."""
    words = text.split(mark)[1:]
    if len(words) % fields:
        raise ValueError("its answer is not complete")
    for first in range(0, len(words), fields):
        yield [*words[first : first + fields - 1], words[first + fields - 1].removesuffix("\n")]


def _values(line: str) -> dict[str, str]:
    # Words NAME=VALUE of a line of scontrol; the first of each name counts.
    return dict(reversed(re.findall(r"(?:^|\s)([A-Za-z]\w*)=(\S*)", line)))


def memory_in(text: str) -> dict[int, float]:
    """Memory of a task [MiB] by array, from lines with the array's number and its memory."""
    found: dict[int, float] = {}
    for line in text.splitlines():
        number, _, takes = line.partition(" ")
        size = _MEMORY.search(takes)
        if number.isdecimal() and size:
            found[int(number)] = float(size[1]) * _MEBIBYTES[size[2]]
    return found


def most_in(text: str) -> dict[str, int]:
    """CPUs of a node that a partition's jobs may have together, of partitions that state it."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        values = _values(line)
        if values.get("MaxCPUsPerNode", "").isdecimal():
            found[values.get("PartitionName", "")] = int(values["MaxCPUsPerNode"])
    return found


def usable_in(text: str, most: Mapping[str, int]) -> dict[str, Usable]:
    """Capacity of working nodes by partition; ``most``: CPUs of a node for a partition (`most_in`)."""
    found: dict[str, Usable] = {}
    for line in text.splitlines():
        values = _values(line.partition("Reason=")[0])
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
                limit = most.get(place, total)
                own = (min(total, limit), min(free, limit), memory, free_memory)
                found[place] = Usable(*(a + b for a, b in zip(before, own, strict=True)))
    return found
