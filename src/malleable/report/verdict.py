"""The verdict: the summary for a boss, what the policy would do to the mean job, and what it costs whom. The
*record* is what really happened. If a simulation of what ran is far from the record, the headline compares
simulations with each other.

``facts`` are the figures of the page: ``subject`` names the policy that the page is about, ``baseline`` what it
is compared with, ``fair`` the best FAIR; ``trust`` says how near simulations come to the record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from malleable.report.scenarios import label
from malleable.report.words import change, count, share
from malleable.simulation import is_fair
from malleable.view.text import duration

_SAME = 0.01  # relative difference of mean responses below which two policies are equal
_SHORT = 1.0  # difference of mean responses that is too small to notice [s]
_Row = Mapping[str, Any]


def _row(facts: Mapping[str, Any], policy: str | None) -> _Row | None:
    return next((row for row in facts["table"]["rows"] if row["policy"] == policy), None)


def named(policy: str) -> str:
    return f"{label(policy)} with its best setting" if is_fair(policy) else label(policy)


def under(policy: str) -> str:
    return "in the record" if policy == "recorded" else f"under {named(policy)}"


def near(facts: Mapping[str, Any]) -> bool:
    # Whether a simulation of what ran comes near to the record.
    trust = facts["trust"]
    return bool(trust["rows"]) and trust["doubt"] is None


def verdict(facts: Mapping[str, Any]) -> list[str]:
    # The sentences of the summary.
    if not facts["compared"]:
        return ["There is only one job, so there are no policies to compare."]
    told = _told(facts)
    if facts["slots_told"] is not None:
        told.append(facts["slots_told"])
    return told


def _told(facts: Mapping[str, Any]) -> list[str]:
    subject = _row(facts, facts["subject"])
    base, fair = _row(facts, facts["baseline"]), _row(facts, facts["fair"])
    if subject is None or subject["jobs"] == 0 or base is None:
        return ["There is nothing to compare: no job has ended under two policies."]
    if facts["rigid"]:
        own = [_best(subject, base)]
        if subject is not base:
            own.append(_waits(facts, subject, base, None))
        return [*own, _own(facts)] if facts["trust"]["rows"] else own
    if fair is subject:
        fair = None
    told = []
    if base["policy"] != "recorded" or fair is None:
        told = [_headline(subject, base)]
    elif near(facts):
        told = [f"{_headline(subject, base)} {_against_fair(subject, fair)}"]
    else:
        told = [_headline(subject, fair), _far(facts, base)]
    told.append(_waits(facts, subject, base, fair))
    if base["policy"] == "recorded":
        return [*told, _distance(facts)] if near(facts) else told
    return [*told, _own(facts)] if facts["trust"]["rows"] and facts["trust"]["waits_tell"] else told


def _best(subject: _Row, base: _Row) -> str:
    # Rigid jobs: the best policy against what ran, both simulated.
    if subject is base:
        mean = duration(base["mean_response"])
        return (
            f"No policy here does better than {named(base['policy'])}: the mean job takes {mean}."
        )
    return f"{_headline(subject, base)} In both, each job runs on as many slots as in the log."


def _against_fair(subject: _Row, fair: _Row) -> str:
    name = label(subject["policy"])
    own, other = subject["mean_response"], fair["mean_response"]
    less = change(other, own)
    return (
        f"{named(fair['policy'])} would have needed {duration(other)} ({name} against it: {less})."
    )


def _headline(subject: _Row, base: _Row) -> str:
    own, other = subject["mean_response"], base["mean_response"]
    name, recorded = label(subject["policy"]), base["policy"] == "recorded"
    than = "it really took" if recorded else f"under {named(base['policy'])}"
    takes = "would have taken" if recorded else "takes"
    if other is None or own is None or not other > 0.0:
        return f"Jobs end as soon as they come, under {name} and {named(base['policy'])} alike."
    both = f"the mean job {takes} {duration(own)}, {than} {duration(other)}"
    if abs(own - other) < max(_SAME * other, _SHORT):
        return f"{name} makes no difference: {both}."
    if own < other:
        return f"Under {name} {both} ({change(other, own)})."
    return f"{name} does not help: {both} ({change(other, own)})."


def _waits(facts: Mapping[str, Any], subject: _Row, base: _Row, fair: _Row | None) -> str:
    rows = [subject, base] + ([fair] if fair is not None and fair is not base else [])
    each = [f"{duration(row['longest_wait'])} {under(row['policy'])}" for row in rows]
    text = f"The longest wait is {', '.join(each[:-1])} and {each[-1]}"
    jobs = facts.get("changes")
    if jobs and jobs["jobs"]:
        parts = {name: share(jobs[name] / jobs["jobs"]) for name in ("faster", "slower")}
        slower = f"{count(jobs['slower'])} ({parts['slower']})" if jobs["slower"] else "none"
        text += f". {count(jobs['faster'])} of {count(jobs['jobs'])} jobs ({parts['faster']}) end at least a"
        text += f" tenth sooner than {under(base['policy'])}, {slower} at"
        text += " least a tenth later"
    return f"{text}{_worst(facts)}."


def _simulated(facts: Mapping[str, Any]) -> tuple[str, _Row]:
    nearest = facts["trust"]["rows"][0]
    name = label(nearest["policy"])
    which = "which ran" if facts["trust"]["recorded_policy"] else "the nearest to the record"
    return f"a simulation of {name}, {which},", nearest


def _distance(facts: Mapping[str, Any]) -> str:
    words, row = _simulated(facts)
    made, real = row["mean_response"], row["recorded_mean_response"]
    difference = change(real, made)
    return (
        f"So far simulations are close to the record here: {words} has a mean of {duration(made)}, the record"
        f" {duration(real)} ({difference})."
    )


def _own(facts: Mapping[str, Any]) -> str:
    # How far the simulation of the subject is from the record of the subject.
    if near(facts):
        return _distance(facts)
    words, row = _simulated(facts)
    made, real = duration(row["mean_response"]), duration(row["recorded_mean_response"])
    return (
        f"These simulations cannot be relied on: {facts['trust']['doubt']}. In the record the mean job took"
        f" {real}; {words} gives {made}."
    )


def _far(facts: Mapping[str, Any], base: _Row) -> str:
    told = f"In the record the mean job took {duration(base['mean_response'])}."
    if not facts["trust"]["rows"]:
        return told
    words, row = _simulated(facts)
    return (
        f"{told} But {words} gives {duration(row['mean_response'])}: a large part of the difference from the"
        " record comes from the simulation, not from the policy."
    )


def _worst(facts: Mapping[str, Any]) -> str:
    sizes = [
        (row["ratio"], row["name"])
        for kind in facts.get("groups", ())
        for row in kind["rows"]
        if kind["kind"].startswith("size") and row["ratio"] is not None and row["jobs"] >= 3
    ]
    if not sizes:
        return ""
    ratio, name = max(sizes)
    if ratio <= 1.0 + _SAME:
        return ". No size of job loses on average"
    return f". Jobs with {name} of slot time lose most on average ({change(1.0, ratio)})"
