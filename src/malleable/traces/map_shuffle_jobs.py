"""Tables of map and shuffle jobs: CSV with ``name, arrival, map, shuffle, weight``.

Only ``map`` and ``shuffle`` are required; ``map_estimate`` and ``shuffle_estimate`` may follow.
"""

from __future__ import annotations

from malleable.files.csv import without_apostrophe
from malleable.files.numbers import parse_number
from malleable.tandem.table import MapShuffleJobs
from malleable.traces.formats import File, register
from malleable.traces.tables import trace_of
from malleable.traces.trace import Trace

_COLUMNS = ("name", "arrival", "map", "shuffle", "weight", "map_estimate", "shuffle_estimate")


def _value(column: str, cell: str) -> str | float:
    return without_apostrophe(cell) if column == "name" else parse_number(cell)


def _read(file: File) -> Trace:
    columns = file.columns(_COLUMNS, ("map", "shuffle"), _value)
    file.bad.settle(file.where, len(columns["map"]))
    return trace_of(MapShuffleJobs(**columns))


register("table of map and shuffle jobs", lambda head: head.has("map", "shuffle"), _read)
