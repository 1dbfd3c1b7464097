"""Rumen traces: Hadoop job histories down to single task attempts.

Format: JSON objects one after another, one a job, as written by Hadoop's Rumen (TraceBuilder);
times are Unix milliseconds and -1 means unknown.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from malleable import views
from malleable.domain import checked_choice, shown
from malleable.files.bad_records import BadRecords
from malleable.files.json import STRICT_DECODER, is_number, text_of
from malleable.files.reading import MAX_SIZE, Source, one_line, open_text, telling_of
from malleable.jobs.table import Jobs

_CHUNK = 1 << 16
_LATEST = 2.0**60  # ms
_LONGEST_TOKEN = 32  # a JSON error so near the end of the buffer may be a token cut in two
_MOST_UNLISTED = 1 << 20  # tasks that a job counts without listing them
_SUCCESS = ("SUCCESS", "SUCCEEDED")
_TASKS = {"map": ("mapTasks", "totalMaps"), "reduce": ("reduceTasks", "totalReduces")}
_STEPS = {
    "map": ("startTime", "finishTime"),
    "reduce": ("startTime", "shuffleFinished", "sortFinished", "finishTime"),
}


_Parsed = TypeVar("_Parsed")


class _Readable(Protocol):
    def read(self, size: int, /) -> str: ...


class _MalformedJobError(ValueError):
    """A job that contradicts itself; the message names the job, not the file."""

    def __init__(self, told: str) -> None:
        super().__init__(one_line(told))


@dataclass(frozen=True)
class _Job:
    """One phase of one job; times in Unix ms, NaN where unknown, one entry per attempt."""

    name: str
    user: str
    submit: float
    finish: float
    tasks: int
    task: npt.NDArray[np.int64]
    begin: npt.NDArray[np.float64]
    end: npt.NDArray[np.float64]


def _objects(text: _Readable, where: str) -> Iterator[tuple[int, Any]]:
    """JSON values one after another, each with the number of its first line.

    Holds one value and at most as much again in memory; a value that does not fit is read in
    parts that double, so that the repeated parsing stays linear.
    """
    buffer = ""
    line = 1
    while True:
        rest = buffer.lstrip()
        line += buffer.count("\n", 0, len(buffer) - len(rest))
        buffer = rest or text.read(_CHUNK)
        if not buffer:
            return
        if not rest:
            continue
        try:
            value, end = STRICT_DECODER.raw_decode(buffer)
        except json.JSONDecodeError as error:
            open_ended = error.msg.startswith("Unterminated string")
            if open_ended or error.pos >= len(buffer) - _LONGEST_TOKEN:
                more = text.read(max(_CHUNK, len(buffer)))
                if more:
                    buffer += more
                    continue
            line += error.lineno - 1
            raise ValueError(
                f"{where}: line {line}: broken or truncated JSON ({error.msg})"
            ) from None
        except ValueError as error:
            raise ValueError(f"{where}: line {line}: {error}") from None
        except RecursionError:
            raise ValueError(f"{where}: line {line}: JSON nested too deeply") from None
        yield line, value
        line += buffer.count("\n", 0, end)
        buffer = buffer[end:]


def _time(record: dict[str, Any], key: str, owner: str) -> float:
    """A time in ms, NaN where unknown (-1, null or absent)."""
    value = record.get(key)
    if value is None or value == -1:
        return math.nan
    if not is_number(value) or not 0 <= value < _LATEST:
        raise _MalformedJobError(f"{owner}: {key} = {shown(value)}: not a time in ms")
    return float(value)


def _list(record: dict[str, Any], key: str, owner: str) -> list[dict[str, Any]]:
    value = record.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise _MalformedJobError(f"{owner}: {key}: not a list of objects")
    return value


def _span(
    attempt: dict[str, Any], steps: tuple[str, ...], first: str, owner: str
) -> tuple[float, float]:
    """When an attempt passed the step ``first`` and when it ended; its steps must not go back."""
    last_key, last = "", math.nan
    times = {}
    for key in steps:
        times[key] = time = _time(attempt, key, owner)
        if time < last:
            raise _MalformedJobError(
                f"{owner}: negative duration: {key} is {last - time:.0f} ms before {last_key}"
            )
        if not math.isnan(time):
            last_key, last = key, time
    return times[first], times["finishTime"]


def _job_name(record: dict[str, Any]) -> str:
    return _text(record["jobID"], "jobID")


def _text(value: object, field: str) -> str:
    try:
        return text_of(value, field)
    except ValueError as error:
        raise _MalformedJobError(str(error)) from None


def _task_owner(job: str, task: dict[str, Any], index: int) -> str:
    return f"job {job}, task {_text(task.get('taskID', index), 'taskID')}"


def _phase_spans(
    record: dict[str, Any], phase: str, first: str, job: str
) -> tuple[int, list[tuple[int, float, float]]]:
    """Number of tasks in a phase, and (task, begin, end) of every successful attempt.

    A task without one (failed, killed, or counted but not listed) has a single unknown attempt.
    """
    tasks_key, total_key = _TASKS[phase]
    tasks = _list(record, tasks_key, f"job {job}")
    spans: list[tuple[int, float, float]] = []
    for index, task in enumerate(tasks):
        owner = _task_owner(job, task, index)
        found = [
            (index, *_span(attempt, _STEPS[phase], first, owner))
            for attempt in _list(task, "attempts", owner)
            if attempt.get("result") in _SUCCESS
        ]
        spans += found or [(index, math.nan, math.nan)]
    total = record.get(total_key)
    count = int(total) if is_number(total) else 0
    if count > len(tasks) + _MOST_UNLISTED:
        raise _MalformedJobError(
            f"job {job}: {total_key} = {shown(total)}, but {len(tasks)} tasks are listed"
        )
    count = max(len(tasks), count)
    spans += [(index, math.nan, math.nan) for index in range(len(tasks), count)]
    return count, spans


def _parse(record: dict[str, Any], phase: str, reduce_from: str) -> _Job:
    job = _job_name(record)
    submit = _time(record, "submitTime", f"job {job}")
    if math.isnan(submit):
        raise _MalformedJobError(f"job {job}: submitTime is unknown")
    # Both phases are checked whichever is wanted, so that both readings have the same jobs.
    phases = {
        "map": _phase_spans(record, "map", "startTime", job),
        "reduce": _phase_spans(record, "reduce", reduce_from, job),
    }
    count, spans = phases[phase]
    task, begin, end = zip(*spans, strict=True) if spans else ((), (), ())
    if spans and not any(e - b >= 0 for b, e in zip(begin, end, strict=True)):
        raise _MalformedJobError(f"job {job}: no {phase} task with a known time")
    return _Job(
        name=job,
        user=_text(record.get("user") or "", "user"),
        submit=submit,
        finish=_time(record, "finishTime", f"job {job}"),
        tasks=count,
        task=np.array(task, dtype=np.int64),
        begin=np.array(begin, dtype=np.float64),
        end=np.array(end, dtype=np.float64),
    )


def _work_left(job: _Job, now: float | None) -> tuple[float, int]:
    """Slot-seconds still to do at ``now`` [Unix ms] (None: all) and the tasks they belong to."""
    if not len(job.task):
        return 0.0, 0
    duration = job.end - job.begin
    mean = float(np.nanmean(duration))
    duration = np.where(np.isnan(duration), mean, duration)
    if now is None:
        return float(duration.sum()) / 1000, job.tasks
    end = np.where(np.isnan(job.end), job.begin + mean, job.end)
    # An attempt about whose times nothing is known has not run yet.
    left = np.where(np.isnan(end), duration, np.clip(end - now, 0.0, duration))
    return float(left.sum()) / 1000, len(np.unique(job.task[left > 0]))


def _read_records(
    source: Source, parse: Callable[[dict[str, Any]], _Parsed], errors: str, max_size: int | None
) -> tuple[list[_Parsed], str]:
    """What ``parse`` makes of every job, and the file's name."""
    jobs: list[_Parsed] = []
    bad = BadRecords(errors)
    empty = True
    with open_text(source, max_size) as (text, where):
        for line, record in _objects(text, where):
            empty = False
            if not isinstance(record, dict) or "jobID" not in record:
                raise ValueError(
                    f"{where}: line {line}: an object without jobID; not a Rumen job trace"
                )
            try:
                jobs.append(parse(record))
            except _MalformedJobError as error:
                bad.add(str(error))
    bad.settle(where, len(jobs), 5)
    if empty:
        raise ValueError(f"{where}: empty; a Rumen trace has one JSON object a job")
    return jobs, where


def _read_jobs(
    source: Source, phase: str, reduce_from: str, errors: str, max_size: int | None
) -> tuple[list[_Job], str]:
    return _read_records(
        source, lambda record: _parse(record, phase, reduce_from), errors, max_size
    )


def _shuffle_bytes(record: dict[str, Any]) -> float:
    """Bytes that the successful reduce attempts fetched; the job's mean where unknown."""
    job = _job_name(record)
    amounts: list[float] = []
    for index, task in enumerate(_list(record, "reduceTasks", f"job {job}")):
        owner = _task_owner(job, task, index)
        for attempt in _list(task, "attempts", owner):
            if attempt.get("result") not in _SUCCESS:
                continue
            amount = attempt.get("reduceShuffleBytes", -1)
            if amount is not None and not (is_number(amount) and -1 <= amount < 2.0**60):
                raise _MalformedJobError(
                    f"{owner}: reduceShuffleBytes = {shown(amount)}: not a number of bytes"
                )
            amounts.append(math.nan if amount is None or amount == -1 else float(amount))
    if not amounts:
        return 0.0
    known = [amount for amount in amounts if not math.isnan(amount)]
    if not known:
        raise _MalformedJobError(f"job {job}: no reduce attempt with known reduceShuffleBytes")
    return sum(known) / len(known) * len(amounts)


def read_rumen_phases(
    source: Source, *, errors: str, max_size: int | None
) -> tuple[list[tuple[str, float, float, float]], str]:
    """Name, arrival [s], map work [slot-seconds] and shuffled bytes of every job, by arrival.

    Names, arrivals, map work and ``errors`` are those of `read_rumen`. The second part of the result
    is the file's name.
    """

    def parse(record: dict[str, Any]) -> tuple[_Job, float]:
        return _parse(record, "map", "startTime"), _shuffle_bytes(record)

    jobs, where = _read_records(source, parse, errors, max_size)
    maps = [job for job, _ in jobs]
    origin = min((job.submit for job in maps), default=0.0)
    rows = [
        (name, (job.submit - origin) / 1000, _work_left(job, None)[0], amount)
        for (job, amount), name in zip(jobs, _names(maps), strict=True)
    ]
    return sorted(rows, key=lambda row: row[1]), where


def _names(jobs: list[_Job]) -> list[str]:
    """Job ids; a folded trace repeats them, and from the second on they get a number."""
    seen: Counter[str] = Counter()
    names: list[str] = []
    for job in jobs:
        seen[job.name] += 1
        names.append(job.name if seen[job.name] == 1 else f"{job.name}#{seen[job.name]}")
    return names


def read_rumen(
    source: Source,
    *,
    phase: str = "map",
    at: float | None = None,
    reduce_from: str = "shuffleFinished",
    errors: str = "raise",
    keep_zero: bool = True,
    max_size: int | None = MAX_SIZE,
) -> Jobs:
    """Read one phase of a Rumen trace, whole or as a snapshot.

    A job's work is the sum of the durations of its successful attempts in this phase, its
    ``max_slots`` the number of its tasks there (at least 1), its arrival the submit time after
    the trace's first, its name the job id (repeated ids get ``#2``, ``#3`` ...). A task without a
    known time (-1, or no attempt that succeeded) counts with the mean of the job's known ones.

    Parameters
    ----------
    source : path or file object
        Plain or gzip. Read one job at a time.
    phase : {"map", "reduce"}
        Which of the two to read. Set-up and clean-up tasks belong to neither.
    at : float, optional
        Time of a snapshot [s after the first submit]: only jobs submitted by then and not yet
        finished, with the work that was then not done (tasks that ran count with their rest)
        and with as many ``max_slots`` as tasks were left. Arrivals stay what they are, and ``size``
        is a job's whole work.
    reduce_from : {"startTime", "shuffleFinished", "sortFinished"}
        Where the counted part of a reduce attempt begins; it ends with the attempt. By default
        the sort and reduce steps count and the shuffle does not: a first-wave reducer's shuffle
        contains its waiting for the maps. "startTime" counts the slot's whole occupation.
    errors : {"raise", "skip"}
        What to do about a job that contradicts itself: time that runs backwards within a
        successful attempt (in either phase, so that both readings have the same jobs), an
        unknown submit time, tasks none of which has a known time. One error that counts them and
        shows the first, or a warning that counts.
    keep_zero : bool
        Keep jobs without work in this phase (map-only jobs, say) as jobs of zero work; False
        leaves them out. A snapshot never has them.
    max_size : int or None
        Bytes that the file may have, unpacked; None: any number.

    Returns
    -------
    Jobs
        In order of arrival, ties in the order of the file.

    Raises
    ------
    ValueError
        One line that names the file and the job and task or the line: broken or truncated JSON,
        objects that are no jobs, an empty file, a malformed job unless ``errors="skip"``.
    OSError
        The file cannot be opened.
    """
    checked_choice("phase", phase, tuple(_TASKS))
    checked_choice("reduce_from", reduce_from, _STEPS["reduce"][:-1])
    if at is not None and not math.isfinite(at):
        raise ValueError(f"at = {shown(at)}: must be finite")
    jobs, where = _read_jobs(source, phase, reduce_from, errors, max_size)
    origin = min((job.submit for job in jobs), default=0.0)
    now = None if at is None else origin + 1000 * at
    rows: list[tuple[float, float, float, int, str, str]] = []
    for job, name in zip(jobs, _names(jobs), strict=True):
        if now is not None and (job.submit > now or job.finish <= now):
            continue
        work, tasks = _work_left(job, now)
        if work > 0 or (keep_zero and now is None):
            whole = work if now is None else max(work, _work_left(job, None)[0])
            rows.append(((job.submit - origin) / 1000, work, whole, max(tasks, 1), name, job.user))
    rows.sort(key=lambda row: row[0])
    arrival, works, sizes, slots, names, users = zip(*rows, strict=True) if rows else ((),) * 6
    with telling_of(where):
        return Jobs(
            np.array(works, dtype=np.float64),
            arrival=np.array(arrival, dtype=np.float64),
            size=np.array(sizes, dtype=np.float64),
            max_slots=np.array(slots, dtype=np.int64),
            name=names,
            user=users,
        )


@dataclass(frozen=True)
class RumenTasks:
    """One job of a trace, task by task; times in seconds."""

    name: str
    submit: float  # after the first submit
    maps: list[float]
    reduces: list[float]

    __repr__ = views.brief


def _task_seconds(job: _Job) -> list[float]:
    """Time of each task: all its successful attempts, the mean of the job's tasks where unknown."""
    duration = job.end - job.begin
    known = ~np.isnan(duration)
    mean = float(duration[known].mean()) if known.any() else 0.0
    seconds = np.zeros(job.tasks)
    np.add.at(seconds, job.task, np.where(known, duration, mean) / 1000)
    return [float(time) for time in seconds]


def read_rumen_tasks(
    source: Source,
    *,
    reduce_from: str = "shuffleFinished",
    errors: str = "raise",
    max_size: int | None = MAX_SIZE,
) -> tuple[list[RumenTasks], str]:
    """The tasks of both phases of every job, in the order of the file, and the file's name.

    Parameters, errors and the times of tasks are those of `read_rumen`.
    """
    checked_choice("reduce_from", reduce_from, _STEPS["reduce"][:-1])

    def parse(record: dict[str, Any]) -> tuple[_Job, _Job]:
        return _parse(record, "map", reduce_from), _parse(record, "reduce", reduce_from)

    both, where = _read_records(source, parse, errors, max_size)
    maps, reduces = [first for first, _ in both], [last for _, last in both]
    origin = min((job.submit for job in maps), default=0.0)
    jobs = [
        RumenTasks(name, (first.submit - origin) / 1000, _task_seconds(first), _task_seconds(last))
        for first, last, name in zip(maps, reduces, _names(maps), strict=True)
    ]
    return jobs, where
