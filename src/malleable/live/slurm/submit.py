"""Jobs of commands handed over to a Slurm as job arrays: one array a job, one task a value.

The commands of a job stand in a file beside the journal, a line each, quoted so that a shell reads back exactly
the arguments; each task takes its line. So the nodes need a shell and that folder, nothing of ours. What
a job wants (weight, deadline, minimum, seconds) stands in the arrays' comment, where a governor reads it.
O(tasks).
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from malleable.live.jobs_file import Job
from malleable.live.output import job_folder
from malleable.live.own_files import own_folder
from malleable.live.shell_text import quoted
from malleable.live.slurm.commands import Slurm, SlurmError
from malleable.live.slurm.governor import COMMENT

_LARGEST = 1001  # MaxArraySize where Slurm does not say
_MEBIBYTE = 1 << 20

_SCRIPT = """\
#!/bin/bash
export MALLEABLE_JOB={name} MALLEABLE_NUMBER=$((SLURM_ARRAY_TASK_ID + {first}))
{variables}line=$(sed -n "$((MALLEABLE_NUMBER + 1)){{p;q}}" {file}) && [ -n "$line" ] || exit 127
eval "set -- $line"
for attempt in $(seq 0 {retries}); do
  MALLEABLE_ATTEMPT=$attempt {limit}"$@" && exit 0
  status=$?
done
exit $status
"""


class Submitted(NamedTuple):
    """A job, and the arrays that it became."""

    name: str
    tasks: int
    arrays: list[int]


def _wishes(job: Job, now: float) -> str:
    words = [COMMENT, f"weight={job.weight!r}"]
    if math.isfinite(job.deadline):
        words.append(f"deadline={now + job.deadline:.0f}")
    for key, value in (("min", job.min_slots), ("max", job.max_slots), ("seconds", job.seconds)):
        if value:
            words.append(f"{key}={value!r}")
    return " ".join(words)


def _script(job: Job, file: Path, first: int) -> str:
    variables = "".join(
        f"export {name}={quoted(value)}\n" for name, value in job.environment.items()
    )
    return _SCRIPT.format(
        name=quoted(job.name), first=first, variables=variables, file=quoted(str(file)),
        retries=job.retries, limit=f"timeout -k 5 {job.timeout:g} " if job.timeout else "",
    )  # fmt: skip


def _check(jobs: Sequence[Job]) -> None:
    for job in jobs:
        if job.backups:
            told = "a Slurm starts no backup tasks; malleable run does"
            raise ValueError(f"job {job.name!r}: backups = true: {told}")
        for name in job.environment:
            if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
                raise ValueError(f"job {job.name!r}: {name!r} is no name of a shell's variable")


def _largest_array(engine: Slurm) -> int:
    largest = engine.ask_config().get("MaxArraySize", "")
    return int(largest) if largest.isdecimal() and int(largest) > 1 else _LARGEST


def _written(job: Job, folder: Path) -> Path:
    """A file with the commands of a job, a line each."""
    folder.mkdir(mode=0o700)
    file = (folder / "commands").absolute()
    with file.open("wb") as out:
        for number in range(len(job)):
            out.write((" ".join(map(quoted, job.arguments(number))) + "\n").encode())
    return file


def submit(
    engine: Slurm, jobs: Sequence[Job], folder: Path, options: Sequence[str] = (), cpus: int = 1
) -> list[Submitted]:
    """Hands jobs over, those first that others wait for.

    Parameters
    ----------
    engine : Slurm
    jobs : sequence of Job
        Whose names and orders are checked.
    folder : path
        Where commands and output are kept; nodes have to see it. Made.
    options : sequence of str
        For sbatch, as they are.
    cpus : int
        Slots of a task.

    Raises
    ------
    SlurmError
        One was not taken; those before it were, and are named.
    """
    _check(jobs)
    most = _largest_array(engine)
    own_folder(folder)
    done: dict[str, Submitted] = {}
    now = time.time()
    left = list(enumerate(jobs))
    while left:  # no cycles: each pass hands one over
        row, job = next(each for each in left if all(name in done for name in each[1].after))
        left.remove((row, job))
        own = folder / job_folder(row, job.name)
        file = _written(job, own)
        parents = [str(number) for name in job.after for number in done[name].arrays]
        most_at_once = f"%{max(1, job.max_slots // cpus)}" if job.max_slots else ""
        common = [
            f"--job-name={job.name}", f"--comment={_wishes(job, now)}", f"--chdir={job.folder}",
            f"--cpus-per-task={cpus}",
            *([f"--dependency=afterok:{':'.join(parents)}"] if parents else []),
            *([f"--mem={math.ceil(job.memory / _MEBIBYTE)}M"] if job.memory else []),
        ]  # fmt: skip
        arrays: list[int] = []
        for first in range(0, len(job), most):
            last = min(first + most, len(job)) - first - 1
            streams = _pattern(own, first)
            words = [
                f"--array=0-{last}{most_at_once}",
                f"--output={streams}.out",
                f"--error={streams}.err",
            ]
            words += [*common, *options]
            try:
                arrays.append(engine.submit(words, _script(job, file, first)))
            except SlurmError as error:
                taken = [*chain(*(each.arrays for each in done.values())), *arrays]
                before = f"; handed over before: {', '.join(map(str, taken))}" if taken else ""
                raise SlurmError(f"job {job.name!r}: {error}{before}") from None
        done[job.name] = Submitted(job.name, len(job), arrays)
    return list(done.values())


def _pattern(folder: Path, first: int) -> str:
    """Where a task's streams go; percent signs of the folder are no fields of Slurm's."""
    escaped = str(folder.absolute()).replace("%", "%%")
    return f"{escaped}/{f'{first}+' if first else ''}%a"
