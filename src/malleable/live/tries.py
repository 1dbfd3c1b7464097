"""What became of a task, from all of its attempts: two attempts beside each other count as one.

An attempt and the backup tasks that began beside it, one after the other, are a group. The group has ended well
if one of its attempts did, and has failed if all of them have ended and none did. An attempt without an end, as
the run was stopped or killed, is no failure, and neither is a group with one. O(attempts of the task).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from malleable.live.recorded import IN_VAIN, LOST_AGAIN, Attempt, Backups, Begun, Tried


def _groups(attempts: Mapping[int, Attempt], begun: Iterable[Begun]) -> list[list[int]]:
    """Numbers of attempts that ran beside each other, of all groups of more than one."""
    both: Iterator[Begun | Attempt] = chain(begun, attempts.values())
    beside = {each.attempt: each.backup_of for each in both if each.backup_of is not None}
    found: dict[int, list[int]] = {}
    first: dict[int, int] = {}
    for attempt, other in sorted(beside.items()):  # the other one is older
        first[attempt] = first.get(other, other)
        found.setdefault(first[attempt], [first[attempt]]).append(attempt)
    return list(found.values())


def first_good(attempts: Iterable[Attempt]) -> Attempt | None:
    """The attempt that ended well before all others did."""
    good = (each for each in attempts if each.status == 0)
    return min(good, key=lambda each: each.began + each.seconds, default=None)


def _failed(group: Sequence[int], of: Mapping[int, Attempt]) -> Attempt | None:
    """The attempt with which a group failed; None: the group has not failed."""
    if any(k not in of or of[k].status == 0 for k in group):
        return None
    ended = [of[k] for k in group if of[k].how != IN_VAIN]
    return max(ended, key=lambda each: each.began + each.seconds, default=None)


def _last(attempts: Sequence[Attempt], begun: Sequence[Begun], made: int) -> Attempt:
    """The last attempt that did not end in vain; if all did, one whose end is unknown."""
    for each in reversed(attempts):
        if each.how != IN_VAIN:
            return each
    job, task, *_ = (attempts or begun)[-1]
    return Attempt(job, task, made - 1, 1, 0.0, 0.0, how="lost")


def _seconds(good: Attempt | None, of: Mapping[int, Attempt]) -> float:
    """Since the older of two attempts began; NaN: no attempt was good."""
    if good is None:
        return math.nan
    other = of.get(good.backup_of) if good.backup_of is not None else None
    since = other.began if other and other.how == IN_VAIN else good.began
    return good.began + good.seconds - since


def _is_first(attempt: Attempt, begun: Iterable[Begun]) -> bool:
    """Whether it is the only one that has begun."""
    return attempt.attempt == 0 and all(each.attempt == 0 for each in begun)


def what_became(attempts: Sequence[Attempt], begun: Sequence[Begun] = ()) -> Tried:
    """Of one task, with its attempts that have ended, and those that have begun, by number; there is one."""
    if len(attempts) == 1 and _is_first(attempts[0], begun):  # as most are
        (one,) = attempts
        seconds = math.nan if one.status else one.seconds
        return Tried(one, int(one.how == "lost"), not one.status, seconds, one.attempt + 1)
    of = {each.attempt: each for each in attempts}
    groups = _groups(of, begun)
    grouped = {k for group in groups for k in group}
    grouped |= {each.attempt for each in begun} - of.keys()
    ends = [end for group in groups if (end := _failed(group, of))]
    failed = ends + [own for k, own in of.items() if own.status and k not in grouped]
    lost = min(sum(each.how == "lost" for each in failed), LOST_AGAIN)
    made = 1 + max(grouped | of.keys())
    good = first_good(attempts)
    beside = len(grouped) - len(ends)
    last = _last(attempts, begun, made)
    return Tried(last, lost, good is not None, _seconds(good, of), made, beside)


def backups_of(attempts: Sequence[Attempt], begun: Sequence[Begun]) -> Backups:
    """What backup tasks have brought to one task, and cost."""
    of = {each.attempt: each for each in attempts}
    good = first_good(attempts)
    won = good is not None and good.backup_of is not None
    if good and good.backup_of in of:
        won = of[good.backup_of].how == IN_VAIN
    wasted = 0.0
    for group in _groups(of, begun):
        counts = good if good and good.attempt in group else _failed(group, of)
        wasted += math.fsum(of[k].seconds for k in group if k in of and of[k] is not counts)
    return Backups(sum(each.backup_of is not None for each in begun), int(won), wasted)
