"""The governor: a program that orders job arrays which wait in somebody's Slurm, without running them.

Slurm starts the tasks. Every few seconds the governor looks at the queue, records what happened (`Ledger`),
asks our scheduler, and puts the arrays into the scheduler's order by ``Nice``; minima and limits become caps
on tasks at once (``ArrayTaskThrottle``). Each look starts from the actual state, because requests may fail.
Changes are set back at the end, or by a lease (a process and a job that outlive the governor) if it dies. A
look costs O(arrays), and the schedulers' time. A *place* is a partition of Slurm; a *row* is the number of an
array in our ledger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from malleable.live.jobs_file import Terms, checked_settings
from malleable.live.journal import Journal
from malleable.live.ledger import LOOK, JobState, Ledger
from malleable.live.slurm.answers import Array, Look
from malleable.live.slurm.commands import Change, Slurm, SlurmError
from malleable.live.slurm.lease import Lease, set_back
from malleable.live.slurm.nice import NiceOrder
from malleable.live.slurm.place_deciders import PlaceDeciders

# First word of the comment of an array that says what it wants.
COMMENT = "malleable"

_AHEAD = 3.0  # the order names all tasks that may start within this many looks
_SOONEST = 1.0  # default seconds between two looks
_FRESH = 10.0  # seconds after the arrival of an array in which more may come
_PART = 0.05  # look again after this part of the time until an array ends
_SHORTEST = 0.1  # seconds of a task are taken as at least these
_MOST_AHEAD = 1_000_000  # most tasks that the order names


# Words of such a comment, and the terms of a job that they are.
_WISHES = {
    "weight": "weight", "deadline": "deadline", "min": "min_slots", "max": "max_slots",
    "seconds": "seconds",
}  # fmt: skip


def wishes_of(comment: str) -> Terms:
    """What the owner of an array asks for, as ``"malleable weight=2 min=1 ..."``; the deadline is in seconds
    since 1970. Parts that are not understood are skipped."""
    words = comment.split()
    found: dict[str, Any] = {}
    for word in words[1:] if words[:1] == [COMMENT] else ():
        name, _, value = word.partition("=")
        with suppress(ValueError, KeyError):
            key = _WISHES[name]
            found |= checked_settings({key: float(value)}, [key])
    return Terms(**found)


@dataclass(frozen=True)
class Planned:
    """An array as Slurm has it, and what is planned: the slots that the scheduler gives, why no more, and the
    new ``nice`` and ``throttle`` (tasks at once)."""

    array: Array
    slots: int
    why: str
    nice: int
    throttle: int


@dataclass
class _Seen:
    """What the last look showed of an array."""

    number: int
    waits: int = 0  # tasks that wait
    failed: dict[int, int] = field(default_factory=dict)  # failed tasks, by number of the job
    limit: int = 0  # the owner's limit of tasks at once; 0: any
    absent: int = 0  # looks in a row that did not show it
    outlook: Literal["free", "waits"] = "waits"  # "free": the job may come, as the ledger asks


class Governor(Ledger):
    """Arrays of a Slurm, governed.

    Parameters
    ----------
    chosen : callable
        Says whether an array is governed.
    lease : Lease, optional
        None: nothing is changed, `planned` says what would be.
    until_done : bool
        Whether it ends when no array is left.
    queue, places, journal, run, progress, clock, start
        A `Slurm`, its `PlaceDeciders`, and as of `Ledger`.
    """

    def __init__(
        self,
        queue: Slurm,
        places: PlaceDeciders,
        chosen: Callable[[Array], bool],
        lease: Lease | None = None,
        journal: Journal | None = None,
        run: int = 0,
        *,
        lease_seconds: float = 60.0,
        until_done: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(places, journal, run, **options)
        self.queue, self._places, self._chosen = queue, places, chosen
        self._lease, self._lease_seconds = lease, lease_seconds
        self.apply = lease is not None
        self._until_done = until_done
        self._row_of: dict[int, int] = {}  # by number of an array
        self._seen: dict[int, _Seen] = {}  # by row
        # Nice and limit of tasks at once that the owner gave, of arrays that we have changed.
        self._changed: dict[int, tuple[int, int]] = {}
        self._orders: dict[str, NiceOrder] = {}  # by place
        self._memory: dict[str, float] = {}  # [MiB] by place, as slots are
        # Times of the last look, and of the last arrival of an array.
        self._looked = self._came = -math.inf
        self._fresh = False  # whether changes for the last look are not planned yet
        # Tasks that have ended since the last look: row, first task, number of tasks, number of failed ones.
        self._gone: list[tuple[int, int, int, int]] = []
        # Seconds of tasks of ended arrays that were corrected; the journal has older estimates.
        self._restated: dict[int, float] = {}
        self.look = Look(0.0)
        self.looks = 0
        self.planned: list[Planned] = []
        self.changes = 0
        self.trouble: dict[str, str] = {}  # errors, by subject

    @property
    def finished(self) -> bool:
        """Whether no array is left that can ever start, if the run ends then."""
        left = self._row_of.keys() - {array.number for array in self.never}
        return self._until_done and self.looks > 1 and not left

    @property
    def never(self) -> list[Array]:
        # Arrays that can never start.
        arrays = self.look.arrays.values()
        return [array for array in arrays if array.dead and not array.running + array.ending]

    # Looks.

    def step(self, most: float = 1.0) -> None:
        # Decide, change what is to be changed, and wait at most this long [s] for the next look.
        self._settle_jobs()
        if self.finished:
            self.record()
            return
        if self._due:
            self._decide()
        self._stand()
        self.record()
        try:
            look = self.queue.watch(most)
        except SlurmError as error:
            self._trouble("answers", f"{error}; asked again after {self.queue.pace:g} s")
        else:
            if look:
                self._trouble("answers", "")
                self.take(look)
        self.record()
        self.tell(LOOK)

    def _trouble(self, about: str, text: str) -> None:
        if text:
            self.trouble[about] = text
        else:
            self.trouble.pop(about, None)

    def take(self, look: Look) -> None:
        # Record what a look shows.
        now = self.now
        self._looked, self.looks = now, self.looks + 1
        chosen = {number: each for number, each in look.arrays.items() if self._chosen(each)}
        own = {number: each for number, each in chosen.items() if not each.over}
        self.look = replace(look, arrays=own)
        self._memory = {place: self.look.memory(place) for place in look.usable}
        self._hear(own, chosen)
        self._time()
        for place in {array.place for array in own.values()}:
            self._places.resize(place, self.look.slots(place), now)
        for number in self._changed.keys() - self._row_of.keys():
            del self._changed[number]
        self.queue.soon = self._rest()
        self._due = self._fresh = True

    def _hear(self, own: Mapping[int, Array], chosen: Mapping[int, Array]) -> None:
        # Count the tasks of arrays that are in the queue, and of arrays that have left it.
        for number, array in own.items():
            row = self._row_of.get(number)
            if row is None or (self._back(row, array) and not array.dead):
                row = self._come(array)  # also an ended array, if its tasks were put back
            self._count(row, array)
        for number, row in list(self._row_of.items()):
            if number not in own:
                failed = chosen[number].failed if number in chosen else {}
                self._miss(number, row, failed)

    def _rest(self) -> float:
        # Seconds until the next look: few while arrays come or one ends soon.
        if not self._row_of:
            return self.queue.every
        if self.now < self._came + _FRESH:
            return min(self.queue.every, _SOONEST)
        self.look_ahead()
        ends = [self.expected[row].at for row in self._row_of.values() if row in self.expected]
        soon = min((end for end in ends if not math.isnan(end)), default=math.inf) - self.now
        return min(self.queue.every, max(_SOONEST, _PART * soon))

    def _back(self, row: int, array: Array) -> bool:
        # Whether an array that had ended has tasks again.
        return not math.isnan(self.jobs[row].ended) and array.pending + array.running > 0

    def _come(self, array: Array) -> int:
        # Add an array as a job; returns its row.
        self._came = self.now
        wishes = wishes_of(array.comment)
        zero = self.look.at - self.now
        row = self.add(
            JobState(
                f"{array.number} {array.name}"[:200],
                array.pending + array.running,
                weight=wishes.weight,
                deadline=max(0.0, wishes.deadline - zero),
                min_slots=wishes.min_slots,
                user=array.user,
                program=array.name,
                after=[self._row_of[n] for n in array.after if n in self._row_of],
                seconds=wishes.seconds,
                arrival=max(0.0, array.submitted - zero),
                width=array.width,
                place=array.place,
            )
        )
        self._row_of[array.number] = row
        self._seen[row] = _Seen(array.number, array.pending + array.running)
        return row

    def _count(self, row: int, array: Array) -> None:
        work, seen = self.jobs[row], self._seen[row]
        seen.outlook = "waits" if array.blocked else "free"
        if not array.blocked:
            self._touched.add(row)  # the ledger looks whether it may come or end
        waits = array.pending + array.running
        work.tasks += max(0, waits - seen.waits)  # tasks that were put back
        seen.absent = 0
        self._end(row, max(0, seen.waits - waits), array.failed)
        seen.waits = waits
        work.running, work.since = array.running, array.running * self._looked - array.elapsed
        work.next = work.tasks - (0 if array.blocked and not array.dead else array.pending)
        _, throttle = self._own(array)
        most = wishes_of(array.comment).max_slots
        caps = [cap for cap in (throttle, most and max(1, most // array.width)) if cap]
        seen.limit = min(caps, default=0)
        if array.memory > 0.0:  # the number of tasks that fit into memory together
            caps.append(max(1, int(self._memory.get(array.place, 0.0) // array.memory)))
        work.max_slots = min(caps) * array.width if caps else None
        self._places.changed(row)
        if array.dead:  # also a task that could have run until now, as far as Slurm shows
            self.cancel(row)

    def _own(self, array: Array) -> tuple[int, int]:
        # Nice and limit of tasks at once that the owner gave.
        return self._changed.get(array.number, (array.nice, array.throttle))

    def _end(self, row: int, count: int, failed: Mapping[int, int]) -> None:
        # So many tasks have ended; ``failed``: failed tasks by number of Slurm's job, as the look shows.
        work, seen = self.jobs[row], self._seen[row]
        if count == 0:
            return
        new = sum(tasks for job, tasks in failed.items() if job not in seen.failed)
        seen.failed.update(failed)
        bad = min(count, new)
        self._gone.append((row, work.done + work.failed, count, bad))
        work.failed += bad
        work.done += count - bad

    def _time(self) -> None:
        # Records of ended tasks, each with the estimated seconds of its array's tasks.
        rows = {row for row, *_ in self._gone}
        seconds = self._places.seconds(rows, self.now)
        for row in rows:
            work = self.jobs[row]
            seconds.setdefault(row, work.seconds or _SHORTEST)  # it came and went between two looks
            work.sums.seconds = work.done * seconds[row]
        for row, first, count, bad in self._gone:
            self._count_ended(row, first, count, bad, seconds[row])
        self._gone = []
        self._restated |= {row: s for row, s in seconds.items() if self.jobs[row].left == 0}

    def _miss(self, number: int, row: int, failed: Mapping[int, int]) -> None:
        # An array is not in the queue; after the second such look it has ended.
        work, seen = self.jobs[row], self._seen[row]
        work.running = 0
        work.since = 0.0
        work.next = work.tasks
        seen.absent += 1
        self._places.changed(row)
        if seen.absent < 2:
            return
        if math.isnan(work.ended):
            self._end(row, seen.waits, failed)
            seen.waits = 0
            self._touched.add(row)
            seen.outlook = "free"  # it came and went between two looks
        del self._row_of[number]

    def _outlook(self, row: int) -> Literal["free", "waits", "dead"]:
        return self._seen[row].outlook

    # Wanted changes.

    def _stand(self) -> None:
        # Plan, and ask for, the changes after a new look.
        if not self._fresh:
            return
        self._fresh = False
        self.planned = []
        moves: dict[int, int] = {}
        for place in sorted({array.place for array in self.look.arrays.values()}):
            order = self._orders.setdefault(place, NiceOrder())
            moves |= self._plan(place, order)
            self._trouble(place, order.trouble and f"{place}: {order.trouble}")
        self.describe()
        if self.apply:
            self._apply(moves)

    def _plan(self, place: str, order: NiceOrder) -> dict[int, int]:
        # Append the plans of a partition's arrays; returns their new Nice values, where they change.
        arrays = self.look.arrays
        here = [array for array in arrays.values() if array.place == place]
        free = [array for array in here if array.pending and not array.blocked]
        nices = {array.number: self._own(array)[0] for array in here}
        order.see(free, nices)
        known = {array.number for array in free}
        front, rest = self._ranked(place, free)
        moves = order.moves(front, rest, nices)
        ordered = front + sorted(rest, key=lambda array: -array.priority)
        others = [array for array in here if array.number not in known]
        for array in [*ordered, *others]:
            row = self._row_of[array.number]
            work = self.jobs[row]
            throttle = self._cap(work, array, len(free))
            why = "dead" if array.dead else array.reason if array.blocked else work.why
            nice = moves.get(array.number, array.nice)
            self.planned.append(Planned(array, work.slots, why, nice, throttle))
        return moves

    def _ranked(self, place: str, free: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        # Arrays whose tasks would start next, in that order, and all others of these.
        turnover = self._turnover(self.look.slots(place))
        ahead = self._places.ahead(place, self.now, turnover)
        ranked = [self._seen[row].number for row in ahead]
        known = {array.number: array for array in free}
        front = [known[number] for number in ranked if number in known]
        # An array keeps its minimum by standing first, with a cap at the slots that the scheduler
        # gives.
        front.sort(key=lambda array: not self._capped(array, len(free)))
        return front, [array for array in free if array.number not in ranked]

    def _turnover(self, slots: int) -> int:
        # Tasks that may start before the order is asked for again.
        known = self._places.seconds(self._row_of.values(), self.now).values()
        shortest = max(min(known, default=1.0), _SHORTEST)
        return min(_MOST_AHEAD, int(slots * (1.0 + _AHEAD * self.queue.pace / shortest)) + 1)

    def _cap(self, work: JobState, array: Array, waiting: int) -> int:
        # Tasks at once, at most what the array is given.
        if array.blocked or not array.pending:
            return array.throttle
        caps = [self._own(array)[1], self._seen[self._row_of[array.number]].limit]
        if self._capped(array, waiting):
            caps.append(max(1, -(-max(work.slots, work.min_slots) // work.width)))
        return min(filter(None, caps), default=0)

    def _capped(self, array: Array, waiting: int) -> bool:
        # Whether an array gets a cap because of its minimum.
        return waiting > 1 and self.jobs[self._row_of[array.number]].min_slots > 0

    # Applying changes.

    def _apply(self, moves: Mapping[int, int]) -> None:
        changes = self._wanted(moves)
        for number in {change.number for change in changes}:
            self._changed[number] = self._own(self.look.arrays[number])
        saved = self._saved()
        pushed: list[Change] = []
        if saved and self._lease is not None:
            try:
                seconds = max(self._lease_seconds, 4.0 * self.queue.pace)
                pushed = self._lease.keep(saved, self.look, seconds)
                self._trouble("lease", "")
            except (SlurmError, OSError) as error:
                # Nice values that stay do no harm, but caps would.
                self._trouble("lease", f"no lease, so no caps: {error}")
                changes = [change for change in changes if change.key == "Nice"]
        self.changes += len(changes)
        said = self.queue.change([*pushed, *changes])
        for place, order in self._orders.items():
            here = {n: nice for n, nice in moves.items() if self.look.arrays[n].place == place}
            order.asked(here)
        # Slurm prints errors about arrays with ended tasks, but makes the change.
        meant = "No error" in said or "already finished" in said
        self._trouble("changes", "" if meant else said)

    def _wanted(self, moves: Mapping[int, int]) -> list[Change]:
        # Moves, in order: caps that fall, arrays that go back, arrays that come forward, caps that rise.
        falls, rises = [], []
        for planned in self.planned:
            array, cap = planned.array, planned.throttle
            change = Change(array.number, "ArrayTaskThrottle", cap)
            if (cap or math.inf) < (array.throttle or math.inf):
                falls.append(change)
            elif cap != array.throttle:
                rises.append(change)
        nices = [Change(number, "Nice", nice) for number, nice in moves.items()]
        nices.sort(key=lambda change: moves[change.number] < self.look.arrays[change.number].nice)
        return falls + nices + rises

    def restore(self) -> bool:
        """Set everything back as its owners left it; returns whether that was seen."""
        saved = self._saved()
        restored = not saved or set_back(self.queue, saved)
        if restored and self._lease is not None:
            self._lease.release()
        return restored

    def _saved(self) -> list[Change]:
        return [
            Change(number, key, value)
            for number, values in sorted(self._changed.items())
            for key, value in zip(("Nice", "ArrayTaskThrottle"), values, strict=True)
        ]

    # Records.

    def record(self) -> None:
        super().record()
        if self._journal and self._restated:
            for row, seconds in self._restated.items():
                self._journal.restate(self._run, row, seconds)
            self._journal.commit()
            self._restated = {}

    def end(self, status: str) -> None:
        """Close the run in the journal, with what its arrays' tasks took."""
        self._settle_jobs()  # jobs that the last look showed
        seconds = lambda: self._places.seconds(self._row_of.values(), self.now)  # noqa: E731
        self._restated |= self.guard("the seconds of tasks", seconds) or {}
        self.end_run(status)

    @property
    def slots(self) -> int:
        places = {array.place for array in self.look.arrays.values()}
        return sum(self.look.slots(place) for place in places)
