"""Traces as cluster jobs: SWIM, Rumen, Yahoo (Hawk), Google 2011, and DAGs of Alibaba and TPC-H."""

from __future__ import annotations

import inspect
import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from malleable.cluster.table import ClusterJobs, cluster_flows
from malleable.domain import checked_positive, shown
from malleable.files.advice import AdvisedError
from malleable.files.bad_records import BadRecords, trace_lines
from malleable.files.csv import CsvRows
from malleable.files.reading import (
    DAMAGED,
    MAX_SIZE,
    Source,
    head_of,
    name_of,
    open_bytes,
    open_text,
    parse_number,
    telling_of,
)
from malleable.traces.alibaba import read_alibaba
from malleable.traces.cluster_tables import CLUSTER_COLUMNS, read_cluster_jobs
from malleable.traces.flow_files import looks_like_flows, read_flows
from malleable.traces.rumen_tasks import read_rumen_tasks
from malleable.traces.swim import swim_rows
from malleable.traces.tpch import read_tpch

__all__ = [
    "CLUSTER_FORMATS",
    "detected_format",
    "read_cluster_alibaba",
    "read_cluster_flows",
    "read_cluster_google2011",
    "read_cluster_hawk",
    "read_cluster_rumen",
    "read_cluster_swim",
    "read_cluster_tpch",
    "read_cluster_workload",
    "reading_options",
]

_GRAPHS = "queries.yaml"
_COMMON = ("errors", "max_size")  # of all readers
_GOOGLE = ("job_id", "submit_us", "n_tasks", "n_finish", "sum_finished_runtime_s", "complete")


def read_cluster_swim(
    source: Source,
    *,
    block_bytes: float = 64 * 2**20,
    task_seconds: float = 20.0,
    reduce_bytes: float = 1e9,
    reduce_seconds: float = 300.0,
    shuffle_rate: float = math.inf,
    errors: str = "raise",
    max_size: int | None = MAX_SIZE,
) -> ClusterJobs:
    """Read a SWIM trace: bytes become tasks.

    A job has ceil(map input / ``block_bytes``) map tasks of ``task_seconds`` each and ceil(shuffle /
    ``reduce_bytes``) reduce tasks of ``reduce_seconds`` each, which copy an even part of the shuffle
    at ``shuffle_rate`` at most [bytes a second; by default it takes no time of its own], and over the
    cluster's links where these are limited. Jobs without bytes
    are done when they arrive.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.
    errors : {"raise", "skip"}
        Malformed lines: one error that counts them and shows the first, or a warning that counts.
    max_size : int or None
        Bytes that the file may have, unpacked; None: any number.

    Raises
    ------
    ValueError
        One line that names the file and what is wrong; a parameter that is not above 0.
    OSError
        The file cannot be opened.
    """
    block = checked_positive("block_bytes", block_bytes)
    seconds = checked_positive("task_seconds", task_seconds)
    part = checked_positive("reduce_bytes", reduce_bytes)
    reduce_time = checked_positive("reduce_seconds", reduce_seconds)
    if not shuffle_rate > 0.0:
        raise ValueError(f"shuffle_rate = {shown(shuffle_rate)}: must be above 0")
    names, rows, where = swim_rows(source, BadRecords(errors), max_size)
    arrival, _, bytes_in, shuffled, _ = rows.T
    maps, reduces = np.ceil(bytes_in / block), np.ceil(shuffled / part)
    copied = np.divide(shuffled, reduces, out=np.zeros(len(names)), where=reduces > 0)
    with telling_of(where):
        return ClusterJobs(
            maps,
            seconds,
            reduces,
            reduce_time,
            arrival=arrival,
            shuffle=copied / shuffle_rate,
            shuffle_bytes=shuffled,
            block=block,
            name=names,
        )


def read_cluster_rumen(
    source: Source, *, errors: str = "raise", max_size: int | None = MAX_SIZE
) -> ClusterJobs:
    """Read a Rumen trace with the real time of every task.

    A map task takes what its successful attempt took; a reduce task what was left of it after its
    shuffle; every reduce task of a job copies for the job's mean time from the later of its own
    start and the end of the job's last map to its shuffle's end. Tasks of unknown time take the
    job's mean.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.
    errors : {"raise", "skip"}
        Malformed jobs, and where the file breaks off: one error that counts them and shows the first,
        or a warning that counts.
    max_size : int or None
        Bytes that the file may have, unpacked; None: any number.

    Raises
    ------
    ValueError
        One line that names the file and what is wrong.
    OSError
        The file cannot be opened.
    """
    rows, where = read_rumen_tasks(source, BadRecords(errors), max_size)
    origin = min((row.submit for row in rows), default=0.0)
    rows.sort(key=lambda row: row.submit)
    with telling_of(where):
        return ClusterJobs(
            [len(row.map_seconds) for row in rows],
            [row.map_seconds for row in rows],
            [len(row.reduce_seconds) for row in rows],
            [row.reduce_seconds for row in rows],
            arrival=[(row.submit - origin) for row in rows],
            shuffle=[row.shuffle for row in rows],
            user=[row.user for row in rows],
            program=[row.program for row in rows],
            name=_numbered([row.name for row in rows]),
        )


def _numbered(names: list[str]) -> list[str]:
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found


def read_cluster_hawk(
    source: Source, *, errors: str = "raise", max_size: int | None = MAX_SIZE
) -> ClusterJobs:
    """Read a Yahoo trace in Hawk's form: arrival [s], tasks, mean time [s], then every task's time.

    Its jobs have one phase, which becomes map tasks.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.
    errors : {"raise", "skip"}
        Malformed lines: one error that counts them and shows the first, or a warning that counts.
    max_size : int or None
        Bytes that the file may have, unpacked; None: any number.

    Raises
    ------
    ValueError
        One line that names the file, lines (from 1) and what is wrong.
    OSError
        The file cannot be opened.
    """
    bad = BadRecords(errors)
    arrival: list[float] = []
    seconds: list[list[float]] = []
    with open_text(source, max_size) as (text, where):
        for index, line in trace_lines(text, bad):
            try:
                first, times = _hawk_line(line)
            except ValueError as error:
                bad.add(f"line {index}: {error}")
                continue
            arrival.append(first)
            seconds.append(times)
    bad.settle(where, len(arrival))
    if not arrival:
        raise ValueError(f"{where}: empty; a Yahoo trace has one line a job")
    order = np.argsort(arrival, kind="stable")
    with telling_of(where):
        return ClusterJobs(
            [len(seconds[k]) for k in order],
            [seconds[k] for k in order],
            arrival=np.array(arrival)[order],
        )


def _hawk_line(line: str) -> tuple[float, list[float]]:
    cells = line.split()
    try:
        numbers = [parse_number(cell) for cell in cells]
    except ValueError:
        raise ValueError("not numbers") from None
    if len(numbers) < 3 or numbers[1] != len(numbers) - 3:
        told = cells[1] if len(cells) > 1 else "?"
        raise ValueError(f"{max(0, len(numbers) - 3)} task times, {told} tasks")
    if not all(math.isfinite(number) and number >= 0.0 for number in numbers):
        raise ValueError("must be finite and not negative")
    return numbers[0], numbers[3:]


def read_cluster_google2011(
    source: Source, *, errors: str = "raise", max_size: int | None = MAX_SIZE
) -> ClusterJobs:
    """Read the per-job table of the Google 2011 trace: one phase of tasks of equal times.

    A job has ``n_tasks`` tasks, each of the mean time of those that finished; the trace knows no phases
    and no time of a single task. Jobs that did not end inside the window, and jobs no task of which
    finished, have no known times and are left out.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.
    errors : {"raise", "skip"}
        Malformed lines: one error that counts them and shows the first, or a warning that counts.
    max_size : int or None
        Bytes that the file may have, unpacked; None: any number.

    Returns
    -------
    ClusterJobs
        By arrival, the first at 0.

    Raises
    ------
    ValueError
        A column is missing, lines are wrong, or no job is left.
    OSError
        The file cannot be opened.
    """
    bad = BadRecords(errors)
    kept: list[tuple[float, int, float, str]] = []
    read = 0
    with open_text(source, max_size) as (text, where):
        rows = CsvRows(text, where)
        try:
            for row in rows.dicts(_GOOGLE):
                try:
                    submit, tasks, finished, seconds, complete = _google_row(row)
                except ValueError as error:
                    bad.add(f"line {rows.line}: {error}")
                    continue
                read += 1
                if complete and tasks and finished:
                    name = row["job_id"] or ""
                    kept.append((submit / 1e6, int(tasks), seconds / finished, name))
        except DAMAGED as error:
            bad.add(f"after line {rows.line}: damaged or truncated gzip data ({error})")
    bad.settle(where, read)
    if not kept:
        raise ValueError(f"{where}: no job is left")
    kept.sort(key=lambda job: job[0])
    arrival, maps, times, names = zip(*kept, strict=True)
    with telling_of(where):
        return ClusterJobs(maps, times, arrival=np.array(arrival) - arrival[0], name=names)


def _google_row(row: Mapping[str, Any]) -> list[float]:
    numbers = []
    for column in _GOOGLE[1:]:
        cell = row[column]
        try:
            value = parse_number(cell or "")
        except ValueError:
            raise ValueError(f"{column} = {shown(cell)}: not a number") from None
        if not 0.0 <= value < 2.0**60:
            raise ValueError(f"{column} = {shown(cell)}: must be from 0 to 2^60")
        if column.startswith("n_") and value != math.floor(value):
            raise ValueError(f"{column} = {shown(cell)}: must be a whole number")
        numbers.append(value)
    return numbers


def read_cluster_alibaba(
    source: Source,
    *,
    most: int | None = None,
    task_seconds: float | None = None,
    errors: str = "raise",
    max_size: int | None = MAX_SIZE,
) -> ClusterJobs:
    """Read Alibaba DAG lines: a task of the trace becomes a job of as many tasks as it has instances.

    Parameters
    ----------
    source, most, errors, max_size
        As for `malleable.traces.read_alibaba`.
    task_seconds : float, optional
        Cut work into tasks of about this time instead (`cluster_flows`).

    Returns
    -------
    ClusterJobs
        The first flow comes at 0.

    Raises
    ------
    ValueError, OSError
        As `malleable.traces.read_alibaba`.
    """
    flows = read_alibaba(source, most=most, errors=errors, max_size=max_size)
    first = flows.arrival.min() if len(flows) else 0.0
    with telling_of(name_of(source)):
        return cluster_flows(flows, task_seconds, arrival=flows.arrival - first)


def read_cluster_flows(
    source: Source,
    *,
    task_seconds: float | None = None,
    errors: str = "raise",
    max_size: int | None = MAX_SIZE,
) -> ClusterJobs:
    """Read flows in any format of `malleable.read_flows`; jobs as `cluster_flows` makes them.

    Raises
    ------
    ValueError
        As `malleable.read_flows`, whose ``errors`` and ``max_size`` these are; or a job has no maximum,
        and ``task_seconds`` is not given.
    OSError
        The file cannot be opened.
    """
    flows = read_flows(source, errors=errors, max_size=max_size)
    with telling_of(name_of(source)):
        return cluster_flows(flows, task_seconds)


def read_cluster_tpch(
    profiles: Source,
    graphs: Source | Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    *,
    size: int | None = None,
    cores: int | None = None,
    gap: float = 0.0,
    seed: int = 0,
    task_seconds: float | None = None,
    errors: str = "raise",
    max_size: int | None = MAX_SIZE,
) -> ClusterJobs:
    """Read TPC-H queries: a stage becomes a job of as many tasks as it had.

    Parameters
    ----------
    profiles, graphs, size, cores, errors, max_size
        As for `malleable.read_tpch`; without ``graphs`` the file ``queries.yaml`` beside the profiles.
    gap : float
        Mean of exponential times between queries [s]; the trace has none. 0: all come at once.
    seed : int
        Of these times.
    task_seconds : float, optional
        Cut work into tasks of about this time instead (`cluster_flows`).

    Raises
    ------
    ValueError, OSError
        As `malleable.read_tpch`; no query graphs.
    """
    if not (math.isfinite(gap) and gap >= 0.0):
        raise ValueError(f"gap = {shown(gap)}: must be finite and at least 0")
    if graphs is None:
        if not isinstance(profiles, (str, os.PathLike)):
            raise ValueError("graphs: needed where profiles are no path")
        graphs = Path(profiles).with_name(_GRAPHS)
        if not graphs.exists():
            raise AdvisedError(
                f"{os.fspath(profiles)}: no {_GRAPHS} with its query graphs beside it",
                "say graphs",
                "--graphs FILE names them",
            )
    flows = read_tpch(profiles, graphs, size=size, cores=cores, errors=errors, max_size=max_size)
    gaps = np.random.default_rng(seed).exponential(1.0, len(flows)) * gap
    arrival = np.cumsum(gaps) - gaps[0] if len(gaps) else gaps
    with telling_of(name_of(profiles)):
        return cluster_flows(flows, task_seconds, arrival=arrival)


CLUSTER_FORMATS: dict[str, Callable[..., ClusterJobs]] = {
    "table": read_cluster_jobs,
    "swim": read_cluster_swim,
    "rumen": read_cluster_rumen,
    "hawk": read_cluster_hawk,
    "google2011": read_cluster_google2011,
    "alibaba": read_cluster_alibaba,
    "flows": read_cluster_flows,
    "tpch": read_cluster_tpch,
}


def _numbers(cells: list[str]) -> bool:
    try:
        return all(math.isfinite(parse_number(cell)) for cell in cells)
    except ValueError:
        return False


def _format(head: bytes, where: str) -> str:
    """Which of `CLUSTER_FORMATS` a file is that begins with ``head``; ValueError if none."""
    start = head.decode("utf-8-sig", errors="replace").lstrip("\r\n \f\v")
    if not start:
        raise ValueError(f"{where}: empty, no jobs in it")
    line = start.splitlines()[0]
    if start[0] == "{":
        if '"tasks"' in line and '"job"' in line:
            return "alibaba"
        if '"tpch_q' in start:
            return "tpch"
        return "flows" if looks_like_flows(start) else "rumen"
    tabbed = line.split("\t")
    if len(tabbed) >= 6 and _numbers(tabbed[1:2]):
        return "swim"
    cells = [cell.strip().strip('"') for cell in line.split(",")]
    if {"job_id", "submit_us"} <= set(cells):
        return "google2011"
    if any(cell in CLUSTER_COLUMNS for cell in cells):
        return "table"
    words = line.split()
    if len(words) >= 4 and _numbers(words[:-1]):  # the head may end within the last number
        return "hawk"
    if any(text.split("#")[0].rstrip() == "graphs:" for text in start.splitlines()):
        raise ValueError(f"{where}: query graphs of TPC-H; name the file of their profiles")
    raise ValueError(
        f"{where}: unknown format, begins with {shown(line)}; expected a table of cluster jobs (CSV "
        f"with 'maps' and 'map_seconds') or one of {', '.join(list(CLUSTER_FORMATS)[1:])}"
    )


def read_cluster_workload(
    source: Source,
    format: str | None = None,
    *,
    errors: str = "raise",
    max_size: int | None = MAX_SIZE,
    **options: Any,
) -> ClusterJobs:
    """Read a table of cluster jobs or a trace, whichever it is by its content.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.
    format : str, optional
        One of `CLUSTER_FORMATS` (table, swim, rumen, hawk, google2011, alibaba, flows, tpch).
    errors : {"raise", "skip"}
        Malformed records: one error that counts them and shows the first, or a warning that counts.
    max_size : int or None
        Bytes that the file may have, unpacked; None: any number.
    **options
        Of the format's reader.

    Returns
    -------
    ClusterJobs

    Raises
    ------
    ValueError
        The format is unknown, an option is not for it, or its reader finds something wrong.
    OSError
        The file cannot be opened.
    """
    if format is None and isinstance(source, (str, os.PathLike)):
        format = detected_format(source)
    elif format is None:
        with open_bytes(source, max_size) as (stream, where):
            return _read_as(_format(stream.peek(), where), stream, errors, max_size, options)
    return _read_as(format, source, errors, max_size, options)


def detected_format(source: Source) -> str:
    """Which of `CLUSTER_FORMATS` a path, or a file object that can go back to where it stands, holds."""
    return _format(*head_of(source))


def _read_as(
    format: str, source: Any, errors: str, max_size: int | None, options: dict[str, Any]
) -> ClusterJobs:
    if format not in CLUSTER_FORMATS:
        raise ValueError(f"format = {format!r}: expected one of {', '.join(CLUSTER_FORMATS)}")
    known = reading_options(format)
    for name in options:
        if name not in known:
            told = f"expected one of {', '.join(known)}" if known else "it has none"
            raise ValueError(f"option {name!r} does not apply to format {format}: {told}")
    return CLUSTER_FORMATS[format](source, errors=errors, max_size=max_size, **options)


def reading_options(format: str) -> dict[str, Any]:
    """Options of a format's reader with their defaults."""
    parameters = list(inspect.signature(CLUSTER_FORMATS[format]).parameters.values())
    return {one.name: one.default for one in parameters[1:] if one.name not in _COMMON}
