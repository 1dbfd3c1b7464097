"""The outcome of a task, from all of its attempts. An attempt and the backup tasks (second attempts beside it)
are a group: it has ended well if one attempt did, and has failed if all have ended and none did. An attempt
that was ended because the other one counts was *in vain*. O(attempts of the task)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from malleable.live.journal_rows import IN_VAIN, LOST_AGAIN, Attempt


class TaskOutcome(NamedTuple):
    """The outcome of a task so far. ``last`` is its last needed attempt, ``good`` the first one that ended
    well, if any. ``made`` attempts have begun. ``failed`` of them failed, without the ``lost`` ones, which are
    tried again; two attempts beside each other are one. ``wasted`` are slot-seconds of unneeded attempts."""

    last: Attempt
    attempts: Sequence[Attempt]
    good: Attempt | None
    made: int
    failed: int = 0
    lost: int = 0
    wasted: float = 0.0

    def over(self, retries: int) -> bool:
        # Whether the task has ended for good, if it is tried again so often.
        return self.good is not None or self.failed > retries

    @property
    def seconds(self) -> float:
        """How long a task took that ended well: since the older of two attempts began."""
        assert self.good
        older = [each.began for each in self.attempts if each.attempt == self.good.backup_of]
        return self.good.end - min(older if self.backup_won else (), default=self.good.began)

    @property
    def backup_won(self) -> bool:
        if self.good is None or self.good.backup_of is None:
            return False
        older = (each for each in self.attempts if each.attempt == self.good.backup_of)
        return all(each.status is None or each.how == IN_VAIN for each in older)


def outcome_of(attempts: Sequence[Attempt]) -> TaskOutcome:
    """The outcome of a task with these attempts, at least one, in order."""
    first = attempts[0]
    if len(attempts) == 1 and first.status == 0:  # the usual case
        return TaskOutcome(first, attempts, first, first.attempt + 1)
    groups = _groups(attempts)
    good = min((each for each in attempts if each.status == 0), key=_end, default=None)
    failed = [each for each in map(_failure, groups) if each]
    # The task runs again after so many lost attempts; further ones count as failures.
    lost = min(sum(each.how == "lost" for each in failed), LOST_AGAIN)
    counts = {each.attempt for each in (good, *failed) if each}
    two = chain.from_iterable(group for group in groups if group[-1].backup_of is not None)
    wasted = math.fsum(each.seconds for each in two if each.attempt not in counts)
    made = attempts[-1].attempt + 1
    return TaskOutcome(_last(attempts), attempts, good, made, len(failed) - lost, lost, wasted)


def _last(attempts: Sequence[Attempt]) -> Attempt:
    ended = (each for each in reversed(attempts) if each.status is not None)
    return next((each for each in ended if each.how != IN_VAIN), attempts[-1])


def _groups(attempts: Sequence[Attempt]) -> list[list[Attempt]]:
    found: dict[int, list[Attempt]] = {}  # by the first attempt of a group
    first: dict[int | None, int] = {}  # by attempt
    for each in attempts:
        first[each.attempt] = first.get(each.backup_of, each.attempt)
        found.setdefault(first[each.attempt], []).append(each)
    return list(found.values())


def _end(attempt: Attempt) -> float:
    return attempt.end


def _failure(group: Sequence[Attempt]) -> Attempt | None:
    # The attempt with which a group failed; None: one ended well, or its end is unknown.
    if group[0].backup_of is not None or not all(each.status for each in group):
        return None
    return max((each for each in group if each.how != IN_VAIN), key=_end, default=None)


@dataclass
class Counted:
    """Tasks of a job: how many ended well, the sums of their seconds and of the squares; first start and last
    end of any attempt; attempts beyond each task's first; what backup tasks gained."""

    done: int = 0
    seconds: float = 0.0
    squares: float = 0.0
    began: float = math.nan
    ended: float = math.nan
    retried: int = 0
    backup_tasks: int = 0
    backups_won: int = 0
    wasted_slot_seconds: float = 0.0
    last: int = -1  # largest number of a task

    def add(self, tried: TaskOutcome) -> None:
        for each in tried.attempts:
            self.began = min(each.began, self.began)
            # An attempt that was ended in vain does not prolong its job.
            self.ended = max(each.began if each.how == IN_VAIN else each.end, self.ended)
            self.retried += each.attempt > 0 and each.backup_of is None
            self.backup_tasks += each.backup_of is not None
        self.last = max(self.last, tried.last.task)
        if tried.good:
            self.done += 1
            self.seconds += tried.good.seconds
            self.squares += tried.good.seconds**2
        self.backups_won += tried.backup_won
        self.wasted_slot_seconds += tried.wasted
