"""Rumen traces: Hadoop's histories of jobs, with every attempt at every task.

Format: JSON objects one after another, one a job, as Hadoop's tool Rumen (TraceBuilder) writes them; times are
Unix milliseconds and -1 means unknown. A *run* is an attempt that succeeded; reduce tasks copy ("shuffle") and
sort before they reduce.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np

from malleable.display import counted
from malleable.files.advice import AdvisedError
from malleable.files.json import STRICT_DECODER, amount_of, is_number, list_of, text_of
from malleable.files.reading import DamageError, telling_of
from malleable.traces.formats import File, Format
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace
from malleable.validation import shown

_CHUNK = 4096  # characters of a part; if it is damaged, jobs before the damage in it are lost
_END = 2.0**60  # beyond any time in ms or number of bytes
_LONGEST_TOKEN = 32  # a JSON error so near the end of the buffer may be a token cut in two
_MOST_UNLISTED = 1 << 20  # tasks that a job counts without listing them
_SUCCESS = ("SUCCESS", "SUCCEEDED")
_STEPS = {
    "map": ("startTime", "finishTime"),
    "reduce": ("startTime", "shuffleFinished", "sortFinished", "finishTime"),
}
_TEXTS = ("user", "jobName", "queue")
_Run = tuple[float, ...]  # task, from 0, and the times of its steps


def _objects(text: TextIO) -> Iterator[tuple[int, Any]]:
    """JSON values one after another, each with the number of its first line.

    Holds one value and at most as much again in memory; a value that does not fit is read in
    parts that double, so that parsing stays linear.
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
            cut = open_ended or error.pos >= len(buffer) - _LONGEST_TOKEN
            if cut and (more := text.read(max(_CHUNK, len(buffer)))):
                buffer += more
                continue
            line += error.lineno - 1
            raise ValueError(f"line {line}: broken or truncated JSON ({error.msg})") from None
        except ValueError as error:
            raise ValueError(f"line {line}: {error}") from None
        except RecursionError:
            raise ValueError(f"line {line}: JSON nested too deeply") from None
        yield line, value
        line += buffer.count("\n", 0, end)
        buffer = buffer[end:]


def _amount(record: dict[str, Any], key: str, owner: str) -> float:
    # A time [ms] or a number of bytes; NaN where it is unknown.
    value = record.get(key)
    return math.nan if value in (None, -1) else amount_of(value, f"{owner}: {key}", _END)


def _list(record: dict[str, Any], key: str, owner: str) -> list[dict[str, Any]]:
    with telling_of(owner):
        return list_of(record, key, dict)


def _times(attempt: dict[str, Any], steps: tuple[str, ...], owner: str) -> list[float]:
    last_key, last = "", math.nan
    times = []
    for key in steps:
        times.append(time := _amount(attempt, key, owner))
        if time < last:
            raise ValueError(
                f"{owner}: negative duration: {key} is {last - time:.0f} ms before {last_key}"
            )
        if not math.isnan(time):
            last_key, last = key, time
    return times


def job_of(record: Any) -> dict[str, Any]:
    """A job's name, user, program, queue, times, and for each phase the number of tasks, the runs, and the
    bytes that all reduce tasks copied."""
    if not isinstance(record, dict) or "jobID" not in record:
        raise ValueError(
            "an object without jobID, not a job of a Rumen trace, nor JSON of sacct, YARN, Kubernetes, Spark, "
            "WfFormat or flows"
        )
    job = text_of(record["jobID"], "jobID")
    submit, finish = (_amount(record, key, f"job {job}") for key in ("submitTime", "finishTime"))
    if math.isnan(submit):
        raise ValueError(f"job {job}: submitTime is unknown")
    told = {"name": job, "submit": submit, "finish": finish}
    phases = {phase: _phase(record, phase, job) for phase in _STEPS}
    return told | phases | {key: text_of(record.get(key) or "", key) for key in _TEXTS}


def _phase(record: dict[str, Any], phase: str, job: str) -> tuple[int, list[_Run], float]:
    tasks_key, total_key = f"{phase}Tasks", f"total{phase.capitalize()}s"
    tasks = _list(record, tasks_key, f"job {job}")
    unknown = (math.nan,) * len(_STEPS[phase])
    runs: list[_Run] = []
    fetched: list[float] = []
    for index, task in enumerate(tasks):
        owner = f"job {job}, task {text_of(task.get('taskID', index), 'taskID')}"
        every = _list(task, "attempts", owner)
        attempts = [attempt for attempt in every if attempt.get("result") in _SUCCESS]
        runs += [(index, *_times(attempt, _STEPS[phase], owner)) for attempt in attempts]
        if phase == "reduce":
            fetched += [_amount(attempt, "reduceShuffleBytes", owner) for attempt in attempts]
        if not attempts:
            runs.append((index, *unknown))
    total = record.get(total_key)
    count = int(total) if is_number(total) else 0
    if count > len(tasks) + _MOST_UNLISTED:
        raise ValueError(
            f"job {job}: {total_key} = {shown(total)}, but {len(tasks)} tasks are listed"
        )
    runs += [(index, *unknown) for index in range(len(tasks), count)]
    known = [amount for amount in fetched if not math.isnan(amount)]
    mean = sum(known) / len(known) if known else math.nan
    return max(len(tasks), count), runs, mean * len(fetched) if fetched else 0.0


def _jobs(file: File) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = []
    with file.text() as text:
        try:
            for line, record in _objects(text):
                try:
                    jobs.append(job_of(record))
                except ValueError as error:
                    told = str(error)
                    file.bad.add(told if told.startswith("job ") else f"line {line}: {told}")
        except (AdvisedError, UnicodeError):
            raise
        except (ValueError, DamageError) as error:
            file.bad.add(f"after {counted(len(jobs), 'job')}: {error}")
    return jobs


def _read(file: File) -> Trace:
    return trace_of(file, _jobs(file))


def trace_of(file: File, jobs: list[dict[str, Any]]) -> Trace:
    file.check_records(len(jobs))
    seen: Counter[str] = Counter()
    for job in jobs:  # if a trace repeats an id, it gets a number from the second time on
        seen[job["name"]] += 1
        job["name"] += f"#{seen[job['name']]}" * (seen[job["name"]] > 1)
    jobs = sorted(jobs, key=lambda job: job["submit"])
    columns = {key: [job[key] for job in jobs] for key in jobs[0]}
    map_tasks, map_runs, _ = zip(*columns["map"], strict=True)
    tasks, runs, fetched = zip(*columns["reduce"], strict=True)
    steps = ("start", "shuffled", "sorted", "end")
    return Trace(
        arrival=np.array(columns["submit"]),
        map=Phase.of_runs(map_tasks, map_runs),
        reduce=Phase.of_runs(tasks, runs, steps, fetched),
        name=columns["name"],
        user=columns["user"],
        program=columns["jobName"],
        finish=np.array(columns["finish"]),
        groups={"queue": columns["queue"]} if any(columns["queue"]) else {},
        per_second=1000.0,
        wall=True,
    )


# It comes last of all formats that are JSON objects.
FORMAT = Format("Rumen trace", lambda head: head.is_object, _read)
