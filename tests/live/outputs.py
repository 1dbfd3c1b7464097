"""Where the output of a task is, and jobs as a journal keeps them."""

from pathlib import Path

from malleable.live.jobs_file import parse_jobs, recorded
from malleable.live.journal import Journal
from malleable.live.output import stream_of
from malleable.live.packs import packed_stream
from malleable.live.status import run_status


def output_of(path, run, job, number, attempt=0, suffix="out"):
    """A file with a stream of an attempt at a task, out of its pack if it is there."""
    with Journal(path, write=False) as journal:
        (found,) = (own for own in run_status(journal, run).jobs if own.name == job)
    path = Path(stream_of(found.output, number, attempt, suffix))
    packed = None if path.exists() else packed_stream(found.output, number, attempt, suffix)
    if packed is not None:
        path.write_bytes(packed)
    return path


def rows_of(tables, folder="."):
    """Tables of jobs as a journal keeps them."""
    return recorded(parse_jobs(tables, folder), tables)
