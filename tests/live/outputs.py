"""Where the output of a task is, and jobs as a journal keeps them."""

from pathlib import Path

from malleable.live.jobs_file import parse_jobs, recorded
from malleable.live.journal import Journal
from malleable.live.output import stream_of
from malleable.live.status import run_status


def output_of(path, run, job, number, attempt=0, suffix="out"):
    """Where a stream of an attempt at a task is kept, as ``malleable status`` says it."""
    with Journal(path, write=False) as journal:
        (found,) = (own for own in run_status(journal, run).jobs if own.name == job)
    return Path(stream_of(found.output, number, attempt, suffix))


def rows_of(tables, folder="."):
    """Tables of jobs as a journal keeps them."""
    return recorded(parse_jobs(tables, folder), tables)
