"""What Snakemake knows of a workflow's past: how long jobs took in earlier runs, and the data behind each job.

The data behind a job are the files at the beginning of all that leads to it, in bytes, so that they are known
before any of it has run. What more than half of a rule's jobs share (an index) says nothing of one of
them and is left out. Times are those of benchmark files, else of Snakemake's records. O(jobs and their files);
so many records are read at most.
"""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from snakemake_scheduler_plugin_malleable.workflow import Jobs, rule_of

__all__ = ["benchmarked", "data_behind", "past_seconds"]

_READ = 5000  # records at most
_OF_A_RULE = 100  # of jobs that need not run
_MOST = 1e15  # bytes
_FEW = 3  # jobs of a rule, below which nothing counts as shared


def data_behind(all_jobs: Jobs, sizes: Mapping[str, int | None]) -> np.ndarray:
    """Bytes behind each job; 0: not known."""
    jobs, rules = all_jobs.jobs, all_jobs.rule
    files = np.fromiter((len(job.input) for job in jobs), np.int64, len(jobs))
    above = np.bincount(all_jobs.child, minlength=len(jobs))
    # Each job that another waits for makes at least one of its files, most often all of them.
    reads = np.flatnonzero(files > above)
    makers = np.unique(all_jobs.parents.of(reads)).tolist()
    made = set(chain.from_iterable(jobs[k].output for k in makers))
    read = [(k, file) for k in reads.tolist() for file in jobs[k].input if file not in made]
    known = {file: sizes.get(file) for _, file in read}
    known |= {file: _on_disk(file) for file, size in known.items() if size is None}
    if len(known) < len(read):
        number = rules.tolist()
        most = np.bincount(rules, minlength=len(all_jobs.rules)).tolist()
        uses = Counter((number[k], file) for k, file in read)
        often = {
            (rule, file)
            for (rule, file), count in uses.items()
            if most[rule] >= _FEW and 2 * count > most[rule]
        }
        read = [(k, file) for k, file in read if (number[k], file) not in often]
    rows = np.fromiter((k for k, _ in read), np.int64, len(read))
    own = np.bincount(rows, [float(known[file] or 0) for _, file in read], len(jobs))
    edges, whole = all_jobs.wholes(all_jobs.parent, all_jobs.child)
    shared = (whole >= _FEW) & (2 * edges > whole)
    return np.minimum(all_jobs.sums(own, shared), _MOST)


def _on_disk(file: str) -> int:
    with suppress(OSError):
        return os.path.getsize(file)  # noqa: PTH202 - half a million of them
    return 0


def past_seconds(
    jobs: Iterable[Any], waits: Callable[[Any], bool], metadata: Callable[[Any], Any] | None
) -> Iterator[tuple[Any, float]]:
    """Jobs that ran before, and the seconds that each took when it ran last.

    Parameters
    ----------
    jobs : iterable of Job
    waits : callable
        Whether a job is to run in this run; of others so many of a rule are enough.
    metadata : callable, optional
        Snakemake's record of an output file.
    """
    done: Counter[str] = Counter()
    read = 0
    for job in jobs:
        rule = rule_of(job)
        if read >= _READ:
            break
        if not waits(job):
            if done[rule] >= _OF_A_RULE:
                continue
            done[rule] += 1
        read += 1
        seconds = benchmarked(job)
        if seconds is None and metadata is not None:
            for file in job.output:
                seconds = _recorded(metadata(file), rule)
                break
        if seconds is not None:
            yield job, seconds


def _recorded(record: Any, rule: str) -> float | None:
    """Seconds by a record of an output; none of another rule, and none that cannot be."""
    if record is None:
        return None
    get = record.get if isinstance(record, Mapping) else lambda name: getattr(record, name, None)
    began, ended = get("starttime"), get("endtime")
    if get("rule") not in (None, rule) or began is None or ended is None:
        return None
    seconds = float(ended) - float(began)
    return seconds if seconds >= 0.0 else None


def benchmarked(job: Any, since: float = 0.0) -> float | None:
    """Seconds by the job's benchmark file, all repeats together; None: there is none since then."""
    with suppress(Exception):  # whatever lies there
        path = job.benchmark
        if not path or os.stat(path).st_mtime < since:  # noqa: PTH116
            return None
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            if str(path).endswith(".jsonl"):
                return sum(float(json.loads(line)["s"]) for line in file if line.strip())
            return sum(float(row["s"]) for row in csv.DictReader(file, delimiter="\t"))
    return None
