"""The order of job arrays in Slurm's queue of priorities, by ``Nice`` alone. O(arrays) for each look at it.

Nice n takes n from an array's priority. Wanted are priorities that fall along the order, each as high as
possible, so that arrays of others overtake as few as possible. If priorities do not move as asked, nothing is
asked for a while.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from malleable.live.slurm.answers import Array

# Arrays that are moved at one look: what Slurm does in a tenth of a second.
MOST_CHANGES = 100

_EXACT = 8  # first places, which get the highest possible priorities
_SLACK = 16  # steps by which other places may be lower than needed
_TRIES = 3  # looks in a row without an effect after which changes have failed
_PAUSE = 60  # looks until a failed change is tried again
_LEAST = 1  # the lowest priority of a job that is not held


@dataclass
class _Known:
    """What is known of an array."""

    nice: int
    priority: int
    top: int  # its own priority, without our changes
    asked: int  # the Nice that we have asked for


class NiceOrder:
    """Order within one partition. ``trouble`` says why nothing is asked; empty: it works, as far as is
    known."""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}  # by number of an array
        self._strikes = 0  # looks in a row in which no change had an effect
        self._pause = 0  # looks until a change is tried again
        self.trouble = ""

    def see(self, arrays: Sequence[Array], own: Mapping[int, int]) -> None:
        """The present order of waiting arrays; ``own``: the Nice values of their owners."""
        moved = stuck = 0
        known: dict[int, _Known] = {}
        for array in arrays:
            number, nice, priority = array.number, array.nice, array.priority
            before = self._known.get(number)
            if before is None:
                taken = max(0, nice - own.get(number, nice))
                known[number] = _Known(nice, priority, priority + taken, nice)
                continue
            step, fell = nice - before.nice, before.priority - priority
            follows = step * fell > 0
            if before.asked != before.nice:
                moved, stuck = moved + follows, stuck + (not follows)
            top = before.top
            # at the least priority a change cannot be seen
            if min(priority, before.priority) > _LEAST:
                top += (step if follows else 0) - fell
            known[number] = _Known(nice, priority, max(top, priority), nice)
        self._known = known
        if moved:
            self._strikes, self.trouble = 0, ""
        elif stuck:
            self._strikes += 1
        self._pause = max(0, self._pause - 1)
        if self._strikes >= _TRIES:
            self._strikes, self._pause = 0, _PAUSE
            self.trouble = "Nice does not change priorities here; Slurm's own order holds"

    def moves(
        self, front: Sequence[Array], rest: Sequence[Array], own: Mapping[int, int]
    ) -> dict[int, int]:
        """New Nice by array, where it changes. ``front``: arrays whose tasks start next, in order; ``rest``:
        others that wait; ``own``: Nice values of the owners."""
        found: dict[int, int] = {}
        if self._pause:
            return found
        limit, last = max((known.top for known in self._known.values()), default=0), -1
        for place, array in enumerate(front):
            # Slurm starts arrays of equal priority by number.
            ceiling = limit if array.number > last else limit - 1
            top = min(self._known[array.number].top, ceiling)
            if top < _LEAST:
                self.trouble = "priorities are too low to separate arrays; Slurm's own order holds"
                break
            slack = 0 if place < _EXACT else _SLACK
            level = array.priority if top - slack <= array.priority <= ceiling else top
            self._move(array, level, own, found)
            limit, last = level, array.number
        if not front:
            return found
        # Many arrays that must move back go behind all others at once, so that they need not move
        # again.
        bottom = min(known.top for known in self._known.values())
        far = bottom if len(rest) > MOST_CHANGES else limit
        for array in sorted(rest, key=lambda array: -array.priority):
            ceiling = limit if array.number > last else limit - 1
            if array.priority > ceiling >= _LEAST:
                self._move(array, max(_LEAST, min(far, ceiling)), own, found)
        return dict(list(found.items())[:MOST_CHANGES])

    def asked(self, moves: Mapping[int, int]) -> None:
        """These changes were asked for; the next look shows their effect."""
        for number, nice in moves.items():
            self._known[number].asked = nice

    def _move(
        self, array: Array, level: int, own: Mapping[int, int], found: dict[int, int]
    ) -> None:
        # Note the Nice that gives an array this priority, where it changes; at least its owner's.
        least = own.get(array.number, 0)
        stands = level >= self._known[array.number].top
        nice = least if stands else max(least, array.nice + array.priority - level)
        if nice != array.nice:
            found[array.number] = nice
