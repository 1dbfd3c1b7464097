"""Any CSV file of jobs (also with ``;``, ``|`` or a tab between cells), whose columns `read` is told of.

Names here: submit, start, end, run [s], slots, tasks (that may start one by one), requested [s], user, name,
id, state, partition, account. Needed: submit, start, and end or run. Times are seconds, or ISO dates.

Taken: a row is a job on so many slots, rigid unless it says ``tasks``. Assumed: one slot; rows are numbered
unless they have an id.
Left out: other columns.
"""

from __future__ import annotations

from itertools import chain

from malleable.files.csv import check_head, csv_rows
from malleable.traces.formats import File, Format, Head
from malleable.traces.job_columns import Column, cells_of, clock, trace_of_cells
from malleable.traces.trace import Trace
from malleable.validation import check_keys, shown

# Our names of columns, and those of Slurm's sacct, whose reader makes the trace.
_TABLE = (
    Column("submit", "Submit"), Column("start", "Start"), Column("end", "End"), Column("run", "ElapsedRaw"),
    Column("slots", "AllocCPUS"), Column("tasks", "Tasks"), Column("requested", "Timelimit", clock),
    Column("user", "User"), Column("name", "JobName"), Column("id", "JobID"), Column("state", "State"),
    Column("partition", "Partition"), Column("account", "Account"),
)  # fmt: skip


def _looks(head: Head) -> bool:
    # Whether it is read as this format: if the caller names columns.
    return any(head.columns.values())


def _read(file: File) -> Trace:
    check_keys("--columns: ", file.columns, [column.name for column in _TABLE], "column")
    with file.text() as text:
        first = text.readline().lstrip("\ufeff")
        between = max(",;\t|", key=first.count)
        with csv_rows(chain([first], text), between=between) as rows:
            names = [name.strip() for name in next(rows)]
            check_head(names, list(file.columns.values()))
            places = {here: names.index(there) for here, there in file.columns.items()}

            taken = set[str]()

            def parse(numbered: tuple[int, list[str]]) -> list[dict[str, str]]:
                number, row = numbered
                if len(row) != len(names):
                    raise ValueError(f"{len(row)} cells, but the header has {len(names)}")
                record = {here: row[place] for here, place in places.items()}
                cells = cells_of({"id": f"{number}", **record}, _TABLE)
                if cells["JobID"] in taken:
                    raise ValueError(f"id = {shown(cells['JobID'])}: another row has it")
                taken.add(cells["JobID"])
                return [cells]

            numbers = ((k, (k - 1, row)) for k, row in enumerate(rows, 2) if row)
            return trace_of_cells(file, parse, numbers)


FORMAT = Format("CSV file with named columns", _looks, _read)
