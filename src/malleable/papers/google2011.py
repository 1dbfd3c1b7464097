"""Jobs of the per-job table of Google's trace of 2011 (CSV with a header), for figure 7 of Lin et al.
2013.

Two columns, each scaled to mean 1, stand for the phases, as in section 5.1 of that paper: the processors that a
job asked for times its run time (map), the disk that it asked for (shuffle). Jobs that did not end inside the
trace, of one task, or with nothing in either column are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from malleable.files.csv import check_head, csv_rows
from malleable.files.numbers import parse_number
from malleable.files.reading import Source, open_text, telling_of
from malleable.tandem.table import MapShuffleJobs
from malleable.validation import shown

_MAP, _SHUFFLE = "sum_cpu_request_x_runtime", "sum_disk_request"
_NEEDED = ("job_id", "submit_us", "n_tasks", "complete")


def _value(column: str, cell: str) -> Any:
    if column == "job_id":
        return cell
    if not cell and column not in _NEEDED:
        return float("nan")
    value = parse_number(cell)
    if not 0.0 <= value < 2.0**60:
        raise ValueError("must be from 0 to 2^60")
    return value


def _columns(source: Source) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {name: [] for name in (*_NEEDED, _MAP, _SHUFFLE)}
    with open_text(source) as (text, where), telling_of(where), csv_rows(text) as rows:
        head = [cell.strip() for cell in next(rows, [])]
        check_head(head, list(columns))
        for cells in filter(None, rows):
            line = f"line {rows.line_num}"
            if len(cells) != len(head):
                raise ValueError(f"{line}: {len(cells)} cells, expected {len(head)}")
            known = dict(zip(head, cells, strict=True))
            for name, column in columns.items():
                with telling_of(f"{line}: {name} = {shown(known[name])}"):
                    column.append(_value(name, known[name]))
    order = np.argsort(columns["submit_us"], kind="stable")
    return {name: np.array(cells)[order] for name, cells in columns.items()}


def map_shuffle_jobs(source: Source) -> MapShuffleJobs:
    known = _columns(source)
    keep = (
        (known["complete"] != 0)
        & (known["n_tasks"] > 1)
        & (known[_MAP] > 0)
        & (known[_SHUFFLE] > 0)
    )
    if not keep.any():
        raise ValueError(f"{source}: no job is left")
    jobs = {name: column[keep] for name, column in known.items()}
    sizes = (jobs[name] / jobs[name].mean() for name in (_MAP, _SHUFFLE))
    seconds = jobs["submit_us"] / 1e6
    return MapShuffleJobs(*sizes, arrival=seconds - seconds.min(), name=jobs["job_id"].tolist())
