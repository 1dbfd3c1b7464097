"""Jobs of commands handed over to Slurm as job arrays: one array a job, one task a value. O(tasks).

A hand-over has a journal and output of its own. Commands are lines of a file there; each task takes its line,
and writes the start and end of its attempts into a file, from which ``submitted.py`` reads the outcome. So
nodes need a shell and that folder only. A job's settings are in the comments of its arrays, where a governor
(``malleable govern``, which orders waiting arrays) reads them.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from malleable.live.jobs_file import Job, parents_first, recorded
from malleable.live.journal import Journal
from malleable.live.output import job_folder, own_output_folder
from malleable.live.shell_text import quoted
from malleable.live.slurm.commands import Slurm, SlurmError
from malleable.live.slurm.governor import COMMENT
from malleable.live.slurm.submitted import ARRAYS, ENDS, SUBMITTED

_LARGEST = 1001  # MaxArraySize if Slurm does not show it
_MEBIBYTE = 1 << 20

# The script of an array: task k runs line k + first of the commands, and again while it fails.
_SCRIPT = """\
#!/bin/bash
export MALLEABLE_JOB={name} MALLEABLE_NUMBER=$((SLURM_ARRAY_TASK_ID + {first}))
{variables}_malleable_line=$(sed -n "$((MALLEABLE_NUMBER + 1)){{p;q}}" {folder}/{commands})
[ -n "$_malleable_line" ] || exit 127
eval "set -- $_malleable_line"
_malleable_task={folder}/$MALLEABLE_NUMBER
_malleable_tried=$(grep -c '^[0-9]* [0-9.]*$' "$_malleable_task.{ends}" 2>/dev/null)
for _malleable_try in $(seq "${{_malleable_tried:-0}}" "$((_malleable_tried + {retries}))"); do
  _malleable_streams=$_malleable_task.$_malleable_try
  date "+$_malleable_try %s.%N" >>"$_malleable_task.{ends}"
  MALLEABLE_ATTEMPT=$_malleable_try {limit}"$@" >"$_malleable_streams.out" 2>"$_malleable_streams.err"
  _malleable_status=$?
  date "+$_malleable_try %s.%N $_malleable_status" >>"$_malleable_task.{ends}"
  [ -s "$_malleable_streams.out" ] || rm -f "$_malleable_streams.out"
  [ -s "$_malleable_streams.err" ] || rm -f "$_malleable_streams.err"
  [ $_malleable_status = 0 ] && break
done
echo over >>"$_malleable_task.{ends}"
exit $_malleable_status
"""
_COMMANDS = "commands"  # name of a job's file with its commands


class Submitted(NamedTuple):
    """A job, and the arrays that it became."""

    name: str
    tasks: int
    arrays: list[int]


def _wishes(job: Job, now: float) -> str:
    # A job's settings as the comment of its arrays; the deadline in seconds since 1970.
    words = [COMMENT, f"weight={job.weight!r}"]
    if math.isfinite(job.deadline):
        words.append(f"deadline={now + job.deadline:.0f}")
    for key, value in (("min", job.min_slots), ("max", job.max_slots), ("seconds", job.seconds)):
        if value:
            words.append(f"{key}={value!r}")
    return " ".join(words)


def _script(job: Job, folder: Path, first: int) -> str:
    variables = "".join(
        f"export {name}={quoted(value)}\n" for name, value in job.environment.items()
    )
    return _SCRIPT.format(
        name=quoted(job.name), first=first, variables=variables, folder=quoted(str(folder)),
        commands=_COMMANDS, ends=ENDS, retries=job.retries,
        limit=f"timeout -k 5 {job.timeout:g} " if job.timeout else "",
    )  # fmt: skip


def _check(jobs: Sequence[Job]) -> None:
    for job in jobs:
        if job.backups:
            told = "Slurm starts no backup tasks; malleable run does"
            raise ValueError(f"job {job.name!r}: backups = true: {told}")
        for name in job.environment:
            if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
                raise ValueError(f"job {job.name!r}: {name!r} is not a shell variable's name")


def _largest_array(engine: Slurm) -> int:
    largest = engine.ask_config().get("MaxArraySize", "")
    return int(largest) if largest.isdecimal() and int(largest) > 1 else _LARGEST


def _write_commands(job: Job, folder: Path) -> None:
    folder.mkdir(mode=0o700)
    with (folder / _COMMANDS).open("wb") as out:
        for number in range(len(job)):
            out.write((" ".join(map(quoted, job.arguments(number))) + "\n").encode())


def submit(
    engine: Slurm,
    jobs: Sequence[Job],
    rows: Sequence[Mapping[str, Any]],
    path: Path,
    options: Sequence[str] = (),
    cpus: int = 1,
) -> list[Submitted]:
    """Hand jobs over, in an order in which jobs come after the jobs that they wait for.

    ``rows`` are the tables of the jobs; ``path`` a new journal, whose folder the nodes must see; ``options``
    are sbatch's; ``cpus`` are the slots of a task. SlurmError names the jobs that were taken before one was
    refused."""
    _check(jobs)
    with Journal(path) as journal:
        # Tasks repeat failed attempts themselves, so only the last attempt is reported.
        once = [{key: value for key, value in row.items() if key != "retries"} for row in rows]
        number = journal.begin(
            slots=0, objective="", policy="", jobs=recorded(jobs, once), kind=SUBMITTED
        )
        folder = own_output_folder(journal, journal.run(number))
        journal.commit()
    return _submit(engine, jobs, folder, options, cpus)


def _submit(
    engine: Slurm, jobs: Sequence[Job], folder: Path, options: Sequence[str], cpus: int
) -> list[Submitted]:
    most = _largest_array(engine)
    done: dict[str, Submitted] = {}
    now = time.time()
    place = {job.name: row for row, job in enumerate(jobs)}
    for row in parents_first([[place[name] for name in job.after] for job in jobs]):
        job = jobs[row]
        own = (folder / job_folder(row, job.name)).absolute()
        _write_commands(job, own)
        parents = [str(number) for name in job.after for number in done[name].arrays]
        most_at_once = f"%{max(1, job.max_slots // cpus)}" if job.max_slots else ""
        common = [
            f"--job-name={job.name}", f"--comment={_wishes(job, now)}", f"--chdir={job.folder}",
            f"--cpus-per-task={cpus}",
            *([f"--dependency=afterok:{':'.join(parents)}"] if parents else []),
            *([f"--mem={math.ceil(job.memory / _MEBIBYTE)}M"] if job.memory else []),
        ]  # fmt: skip
        arrays: list[int] = []
        percents = str(own).replace("%", "%%")  # so that Slurm does not replace them
        for first in range(0, len(job), most):
            last = min(first + most, len(job)) - first - 1
            words = [
                f"--array=0-{last}{most_at_once}", f"--output={percents}/slurm.log",
                "--open-mode=append", *common, *options,
            ]  # fmt: skip
            try:
                arrays.append(engine.submit(words, _script(job, own, first)))
                with (own / ARRAYS).open("a") as out:
                    out.write(f"{arrays[-1]} {first}\n")
            except SlurmError as error:
                taken = [*chain(*(each.arrays for each in done.values())), *arrays]
                before = f"; handed over before: {', '.join(map(str, taken))}" if taken else ""
                raise SlurmError(f"job {job.name!r}: {error}{before}") from None
        done[job.name] = Submitted(job.name, len(job), arrays)
    return list(done.values())
