"""Rumen traces down to the time of every task: what a simulation of tasks needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from malleable import views
from malleable.files.advice import AdvisedError
from malleable.files.bad_records import BadRecords, UpToDamage
from malleable.files.reading import MAX_SIZE, Source, open_text
from malleable.traces.rumen import (
    _job_name,
    _MalformedJobError,
    _objects,
    _phase_spans,
    _text,
    _time,
)
from malleable.views import counted

__all__ = ["TaskTimes", "read_rumen_tasks"]


@dataclass(frozen=True)
class TaskTimes:
    """One job; seconds."""

    name: str
    user: str
    program: str
    submit: float
    map_seconds: list[float]
    reduce_seconds: list[float]
    shuffle: float

    __repr__ = views.brief


def _by_task(count: int, spans: list[tuple[int, float, float]], job: str, phase: str) -> list[Any]:
    """The span of each task's first successful attempt of known time, None without one."""
    found: list[Any] = [None] * count
    for task, begin, end in spans:
        if found[task] is None and end - begin >= 0.0:
            found[task] = (begin / 1000, end / 1000)
    if count and all(span is None for span in found):
        raise _MalformedJobError(f"job {job}: no {phase} task with a known time")
    return found


def _filled(spans: list[Any]) -> list[float]:
    known = [end - begin for begin, end in filter(None, spans)]
    mean = math.fsum(known) / len(known) if known else 0.0
    return [mean if span is None else span[1] - span[0] for span in spans]


def _job(record: dict[str, Any]) -> TaskTimes:
    job = _job_name(record)
    submit = _time(record, "submitTime", f"job {job}")
    if math.isnan(submit):
        raise _MalformedJobError(f"job {job}: submitTime is unknown")
    maps = _by_task(*_phase_spans(record, "map", "startTime", job), job, "map")
    whole = _by_task(*_phase_spans(record, "reduce", "startTime", job), job, "reduce")
    after = _by_task(*_phase_spans(record, "reduce", "shuffleFinished", job), job, "reduce")
    ended = max((span[1] for span in maps if span is not None), default=-math.inf)
    copied = [
        max(0.0, own[0] - max(all_of_it[0], ended))
        for all_of_it, own in zip(whole, after, strict=True)
        if all_of_it is not None and own is not None
    ]
    return TaskTimes(
        name=job,
        user=_text(record.get("user") or "", "user"),
        program=_text(record.get("jobName") or "", "jobName"),
        submit=submit / 1000,
        map_seconds=_filled(maps),
        reduce_seconds=_filled(after),
        shuffle=float(np.mean(copied)) if copied else 0.0,
    )


def read_rumen_tasks(
    source: Source, bad: BadRecords, max_size: int | None = MAX_SIZE
) -> tuple[list[TaskTimes], str]:
    """All jobs in the order of the file, and the file's name for messages.

    Malformed jobs go to ``bad``, and so does where the file breaks off.
    """
    jobs: list[TaskTimes] = []
    with open_text(source, max_size) as (text, where):
        readable = UpToDamage(text)
        objects = _objects(readable, where)
        while True:
            try:
                line, record = next(objects)
                if not isinstance(record, dict) or "jobID" not in record:
                    bad.add(f"line {line}: an object without jobID, not a job of a Rumen trace")
                    continue
                jobs.append(_job(record))
            except StopIteration:
                if readable.damage is not None:
                    bad.add(f"after {counted(len(jobs), 'job')}: {readable.damage}")
                break
            except _MalformedJobError as error:
                bad.add(str(error))
            except AdvisedError:
                raise
            except ValueError as error:  # broken JSON, after which nothing can be told apart
                reason = readable.damage or str(error).removeprefix(f"{where}: ")
                bad.add(f"after {counted(len(jobs), 'job')}: {reason}")
                break
    bad.settle(where, len(jobs), 4)
    if not jobs:
        raise ValueError(f"{where}: empty; a Rumen trace has one JSON object a job")
    return jobs, where
