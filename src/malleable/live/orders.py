"""Orders to a run from another terminal: pause, resume, cancel or set a job, more jobs, other slots. An order
is in the journal before it is carried out, so it also holds for later sessions (processes that continue the
run), and ``status`` shows it. A job is known by its row: its place in the run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import count
from typing import Any

from malleable.display import printable
from malleable.live import jobs_file
from malleable.live.decider import SchedulerDecider
from malleable.live.engines.process.local import Local
from malleable.live.ledger import JobState
from malleable.live.loop import Loop
from malleable.live.run import CommandRun
from malleable.validation import check_slots, near, shown

VERBS = ("pause", "resume", "cancel", "set")
SETTINGS = ("weight", "deadline", "min_slots", "max_slots")
# values that may be unset, and what they then are
_UNSET = {"deadline": math.inf, "max_slots": None}


def obey(run: CommandRun, loop: Loop, decider: SchedulerDecider, order: Mapping[str, Any]) -> str:
    """Carry out an order: ``do`` (of `VERBS`), ``job``, and for ``set`` ``settings`` by name; or "add" with
    ``rows`` and ``folder``, or "slots" with ``slots``. ValueError, and nothing changed: there is no such
    job or setting, or the job has ended."""
    if order.get("do") == "add":
        return _add(run, loop, decider, order)
    if order.get("do") == "slots":
        return _resize(run, loop, decider, order.get("slots"))
    verb, name = order.get("do"), order.get("job")
    names = [job.name for job in run.jobs]
    if verb not in VERBS:
        raise ValueError(f"do = {shown(verb)}: expected one of {', '.join(VERBS)}")
    if name not in names:
        raise ValueError(f"no job is called {shown(name)}{near(name, names)}")
    row = names.index(name)
    work = loop.jobs[row]
    if not math.isnan(work.ended) or work.cancelled:
        raise ValueError(f"job {printable(work.name)} has ended")
    if verb == "set":
        return _set(run, loop, decider, row, order.get("settings"))
    run.hold(row, {"pause": jobs_file.PAUSED, "cancel": jobs_file.CANCELLED}.get(verb, ""))
    if verb == "cancel":
        loop.cancel(row)
        return f"{printable(work.name)} is cancelled"
    work.paused = verb == "pause"
    # tells the scheduler the changed limit: no slots while the job is paused
    decider.update_terms(row, loop.now)
    loop.decide_soon()
    if not work.paused:
        return f"{printable(work.name)} goes on"
    running = f"; its {work.running:,} running tasks end by themselves" if work.running else ""
    return f"{printable(work.name)} is paused{running}"


def _add(run: CommandRun, loop: Loop, decider: SchedulerDecider, order: Mapping[str, Any]) -> str:
    rows = [dict(row) for row in order.get("rows", ())]
    names = {job.name for job in run.jobs}
    if len(rows) == 1 and rows[0].get("name") in names:
        name = rows[0]["name"]
        rows[0]["name"] = next(n for n in (f"{name}-{k}" for k in count(2)) if n not in names)
    jobs = jobs_file.parse_jobs(rows, str(order.get("folder", "")), run.jobs)
    # the memory and the resources that tasks may hold together
    jobs_file.check_fits(jobs, run.run.slots, decider.capacity)
    run.add(loop, jobs, rows)
    loop.decide_soon()
    told = ", ".join(f"{printable(job.name)} ({len(job):,} tasks)" for job in jobs)
    return f"added to run {run.number}: {told}"


def _resize(run: CommandRun, loop: Loop, decider: SchedulerDecider, slots: Any) -> str:
    if not isinstance(loop.engine, Local):
        raise ValueError("slots: only on this machine")
    jobs_file.check_fits(run.jobs, check_slots(slots), decider.capacity)
    run.resize(slots)
    loop.engine.resize(slots)
    decider.resize(slots, loop.now)
    loop.decide_soon()
    return f"run {run.number} has {slots:,} slots"


def _set(run: CommandRun, loop: Loop, decider: SchedulerDecider, row: int, settings: Any) -> str:
    work = loop.jobs[row]
    if not isinstance(settings, dict) or not settings:
        raise ValueError("set: nothing to set; write weight=3 or the like")
    found = _checked(work, settings)
    if found.get("min_slots", 0) > run.run.slots:
        told = f"min_slots = {found['min_slots']}: above the {run.run.slots} slots of the run"
        raise ValueError(told)
    run.change(row, {key: found.get(key) for key in settings})
    words = []
    for key in settings:
        setattr(work, key, found.get(key, _UNSET.get(key)))
        unit = " s" if key == "deadline" else ""
        words.append(f"{key} = {found[key]:g}{unit}" if key in found else f"{key} = none")
    # tells the scheduler the changed weight, deadline or limits
    decider.update_terms(row, loop.now)
    loop.decide_soon()
    return f"{printable(work.name)}: {', '.join(words)}"


def _checked(work: JobState, settings: Mapping[str, Any]) -> dict[str, Any]:
    # New settings of a job, without settings that become none, beside the limits that it keeps.
    given = {key: value for key, value in settings.items() if value is not None}
    for key in (key for key in settings if key not in given and key not in _UNSET):
        raise ValueError(f"{key} = none: expected a number")
    limits = {key: getattr(work, key) for key in ("min_slots", "max_slots") if key not in settings}
    kept = {key: value for key, value in limits.items() if value}
    return jobs_file.checked_settings({**kept, **given}, SETTINGS)
