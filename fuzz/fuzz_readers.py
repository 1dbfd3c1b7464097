"""Every reader of files: ``fuzz_readers.py READER [flags] [corpus]``.

A reader gives a table or says what is wrong in one line. What it gives is in the domain: the same
columns make the same table again, and nothing further down is surprised by it.
"""

from __future__ import annotations

import io
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from driver import run

import malleable as mb

COPY = Path(tempfile.mkdtemp()) / "copy.csv"


def _converted(converter: str) -> Callable[[Any], Any]:
    return lambda source: getattr(mb.read(source), converter)()


# What becomes of the formats of some folders of inputs; the format itself is known by content.
TABLES = {
    "jobs": ("swim", "rumen", "workload", "swf", "sacct", "task_events"),
    "flows": ("wfformat", "batch_task", "spark"),
    "map_shuffle": ("map_shuffle", "map_shuffle_swim", "map_shuffle_rumen"),
    "map_reduce": ("map_reduce", "map_reduce_swim", "map_reduce_rumen"),
    "tasks": (
        "cluster_jobs",
        "cluster_swim",
        "cluster_rumen",
        "cluster_flows",
        "cluster_workload",
    ),
}
READERS: dict[str, Callable[[Any], Any]] = {
    "jobs": mb.read_jobs,
    "flows": mb.read_flows,
    "cluster": mb.read_cluster,
    **{name: _converted(table) for table, names in TABLES.items() for name in names},
}


def _use(table: Any) -> None:
    """What was read is good for what it is read for."""
    if isinstance(table, (mb.Jobs, mb.Flows)) and 0 < len(table) <= 40 and len(table.work) <= 60:
        now = float(table.arrival.max())
        plan = mb.plan(table, slots=7, effort=0, now=now)
        assert plan.lower_bound <= plan.value, (plan.lower_bound, plan.value)
        assert int(plan.slots.sum()) <= 7
        plan.validate()
    if isinstance(table, mb.Jobs):
        try:
            mb.write_jobs(table, COPY, force=True)
        except ValueError:
            return  # a name that a table cannot hold
        again = mb.read_jobs(COPY)
        assert again.work.tolist() == table.work.tolist()
        assert again.arrival.tolist() == table.arrival.tolist()
        assert again.deadline.tolist() == table.deadline.tolist()
        assert again.sla == table.sla
    if isinstance(table, mb.Flows):
        mb.write_flows(COPY, table, force=True)
        again = mb.read_flows(COPY)
        assert again.work.tolist() == table.work.tolist()
        assert again.parent.tolist() == table.parent.tolist()


def target(reader: Callable[[Any], Any]) -> Callable[[bytes], None]:
    def one(data: bytes) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what nobody sees is not told
            try:
                table = reader(io.BytesIO(data))
            except (ValueError, OSError) as error:
                text = str(error)
                assert text and "\n" not in text, text
                assert len(text) < 2000, len(text)
                return
            repr(table)
            _use(table)

    return one


if __name__ == "__main__":
    sys.exit(run(target(READERS[sys.argv[1]]), sys.argv[2:]))
