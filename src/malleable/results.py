"""The result of a simulation: records (a row for each job), summaries (a number for each metric), files."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable.checkpoints import by_value
from malleable.display import as_html, view
from malleable.files.advice import library
from malleable.files.csv import csv_text
from malleable.files.writing import write_file

# Fields of a result: tables with a column "policy", and mappings by policy.
_TABLES = ("records", "tasks")
_BY_POLICY = ("summary", "slowdown", "timing", "trace", "series", "history")


@by_value(without=("timing",))
@dataclass(frozen=True, eq=False)
class SimulationResult:
    """Result of `malleable.simulate`.

    Attributes
    ----------
    model : str
    records : dict of str to array, or None
        One entry for each finished job and policy, with the columns of `records.job_records`; None if not
        kept.
    summary : dict of str to dict
        By policy: ``jobs``, ``unfinished``, ``mean_response`` [s], ``weighted_response``, ``mean_stretch``,
        ``max_response``, ``p50``, ``p95``, ``p99`` (response), ``longest_wait`` (for a first slot),
        ``lower_bound`` (of the mean response) and so on. Metrics of one user have pairs as names:
        ``("response", user)``, ``("p95", user)``, ``("longest_wait", user)``, ``("stretch", user)``.
    slowdown : dict of str to tuple of arrays
        By policy: number of jobs and mean stretch in each bucket of size max(map, shuffle).
    timing : dict of str to float
        Wall-clock seconds by policy, and of a decision by ``(policy, "decision p50")`` and ``"decision p99"``
        (cluster model); not reproducible.
    complete : bool
        False after Ctrl-C: then the result has the finished part.
    trace : dict of str to dict of arrays, or None
        Cluster model, if asked for: by policy ``time`` [s], ``kind`` (0 start, 1 end, 2 failed, 3 killed with
        its node or to make room, 4 output lost, 5 a backup task starts, 6 an attempt ends in vain), ``job``,
        ``phase`` (0 map, 1 reduce), ``task``, ``node``, ``slot`` (-1: output lost).
    tasks : dict of str to array, or None
        With a trace: one entry for each attempt of a task that ended and policy, with the columns of records,
        then ``job`` (row), ``phase``, ``task``, ``node``.
    series : dict of str to dict of arrays, or None
        Cluster model: by policy ``time`` [s], shape (W + 1,), and means between one time and the next, shape
        (W,): ``jobs`` in the system, ``map_utilisation``, ``reduce_utilisation`` (NaN without such slots).
        Tandem queue, for ``times=``: the work left of each job at these times.
    history : dict of str to dict, or None
        Cluster model: for each policy that learns, what it had learnt at the end, in the form of
        `malleable.Scheduler.history`: for ``simulate(history=)`` and ``Scheduler(history=)``.

    See Also
    --------
    malleable.simulate : Runs a simulation.

    Notes
    -----
    Records take O(jobs) memory for each policy; streams keep statistics only, unless you ask for records.

    Examples
    --------
    >>> import malleable as mb
    >>> jobs = mb.Jobs([40.0, 9.0, 30.0], max_slots=8, arrival=[0.0, 1.0, 2.0])
    >>> result = mb.simulate(jobs, ["flex", "fair"], slots=8)
    >>> round(result.summary["flex"]["mean_response"], 2)
    4.96
    >>> len(result.records["job_id"])
    6
    """

    model: str
    records: dict[str, npt.NDArray[Any]] | None
    summary: dict[str, dict[Any, float]]
    slowdown: dict[str, tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]]
    timing: dict[Any, float]
    complete: bool = True
    trace: dict[str, dict[str, npt.NDArray[Any]]] | None = None
    series: dict[str, dict[str, npt.NDArray[Any]]] | None = None
    tasks: dict[str, npt.NDArray[Any]] | None = None
    history: dict[str, dict[str, Any]] | None = None

    def __repr__(self) -> str:
        kept = "no" if self.records is None else f"{len(self.records['policy']):,}"
        cut = "" if self.complete else ", interrupted"
        return f"SimulationResult({self.model}: {', '.join(self.summary)}; {kept} records{cut})"

    _repr_html_ = as_html

    def kept_records(self) -> dict[str, npt.NDArray[Any]]:
        """The records; ValueError if they were not kept."""
        if self.records is None:
            raise ValueError("records were not kept: simulate(..., records=True)")
        return self.records

    def to_frame(self) -> Any:
        """The records as a pandas data frame; ImportError without pandas."""
        return library("pandas", "to_frame", "pandas").DataFrame(self.kept_records())

    def write_records(self, path: str | os.PathLike[str], force: bool = True) -> None:
        """Write the records to ``path``, as Parquet if it ends in ``.parquet``, else as CSV; ``force=False``
        overwrites no file. O(records)."""
        _write(self.kept_records(), path, force)

    def write_tasks(self, path: str | os.PathLike[str], force: bool = True) -> None:
        """Write one row for each task, which ``simulate(..., trace=True)`` keeps; ``path`` and ``force`` as
        in `write_records`."""
        if self.tasks is None:
            raise ValueError("tasks were not kept: simulate(..., trace=True)")
        _write(self.tasks, path, force)

    def plot(self, path: str | os.PathLike[str] | None = None, force: bool = True) -> Any:
        """Draw the distribution of responses, one curve for each policy, into the file ``path`` (needs
        records and matplotlib); ``force=False`` overwrites no file."""
        return view().draw_response_cdf(self, path, force=force)


def _write(records: dict[str, npt.NDArray[Any]], path: str | os.PathLike[str], force: bool) -> None:
    if str(path).endswith(".parquet"):
        pa = library("pyarrow", "writing Parquet", "'malleable[tables]'")
        import pyarrow.parquet

        packed = io.BytesIO()
        pyarrow.parquet.write_table(
            pa.table({k: pa.array(v.tolist()) for k, v in records.items()}), packed
        )
        write_file(path, packed.getvalue(), force)
        return
    write_file(path, csv_text({k: v.tolist() for k, v in records.items()}), force)


def renamed(part: SimulationResult, name: str) -> SimulationResult:
    """A result of one policy under another name."""
    changed: dict[str, Any] = {}
    for field in (*_TABLES, *_BY_POLICY):
        own = getattr(part, field)
        if own is not None and field in _TABLES:
            changed[field] = {**own, "policy": np.full(len(own["policy"]), name)}
        elif own is not None:
            named = [(name, *key[1:]) if isinstance(key, tuple) else name for key in own]
            changed[field] = dict(zip(named, own.values(), strict=True))
    return replace(part, **changed)


def merged(parts: Sequence[SimulationResult]) -> SimulationResult:
    """The results of several policies as one: entries by policy side by side, tables one after the other."""
    found: dict[str, Any] = {}
    for field in (*_TABLES, *_BY_POLICY):
        kept = [own for part in parts if (own := getattr(part, field)) is not None]
        if kept and field in _TABLES:
            found[field] = {k: np.concatenate([own[k] for own in kept]) for k in kept[0]}
        else:
            found[field] = {k: own[k] for own in kept for k in own} if kept else None
    complete = all(part.complete for part in parts)
    return SimulationResult(model=parts[0].model, complete=complete, **found)
