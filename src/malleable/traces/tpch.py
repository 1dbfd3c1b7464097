"""TPC-H queries as Spark DAGs: stage profiles in one JSON file, query graphs in another.

Profiles: ``{"tpch_q1_50g_maxCores_50": [{"stage_id", "num_tasks", "average_runtime_ms"}, ...]}``.
Graphs: YAML with a ``name`` per query and, per stage, its ``name`` and ``children``; the few lines of
YAML that such a file consists of are read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from malleable.domain import shown
from malleable.files.advice import AdvisedError
from malleable.files.json import amount_of, is_number, of_kind, text_of
from malleable.files.reading import Source, name_of, open_text, telling_of
from malleable.flows.table import Flows
from malleable.traces.formats import File, Head, register
from malleable.traces.tables import stage, trace_of
from malleable.traces.trace import Trace

_GRAPHS = "queries.yaml"
_PROFILE = re.compile(r"tpch_q(\d{1,9})_(\d{1,9})g_maxCores_(\d{1,9})", re.ASCII)
_LINE = re.compile(r"(\s*)(-\s+)?(\w+):\s*(.*)")

Graph = dict[str, list[str]]


def _read(
    file: File,
    graphs: Source | Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    size: int | None = None,
    cores: int | None = None,
    gap: float = 0.0,
    seed: int = 0,
) -> Trace:
    """Queries by number, a flow each.

    A job per stage: as many slots as tasks, work tasks times mean time. ``graphs``: children of every
    stage, per query (``Q1`` ...). The same query costs more task-seconds on more cores, since real stages
    do not speed up linearly. The trace has no times between queries.
    """
    if not (is_number(gap) and gap >= 0.0):
        raise ValueError(f"gap = {shown(gap)}: must be finite and at least 0")
    shapes, named = _shapes(file, graphs)
    found = _profiles(file)
    scale = _choice("size", size, {key[0] for key in found})
    count = _choice("cores", cores, {key[1] for key in found if key[0] == scale})
    tables, names = [], []
    for query in sorted(key[2] for key in found if key[:2] == (scale, count)):
        name = f"Q{query}"
        try:
            if name not in shapes:
                raise ValueError(f"no graph of query {name}")
            with telling_of(name):
                stages = of_kind(found[scale, count, query], list, "expected a list of stages")
                table = _jobs(stages, shapes[name])
                Flows([table])
        except ValueError as error:
            file.bad.add(f"{error} (graphs: {named})")
            continue
        tables.append(table)
        names.append(name)
    file.settle(len(tables), "queries")
    gaps = np.random.default_rng(seed).exponential(1.0, len(tables)) * gap
    return trace_of(Flows(tables, name=names, arrival=np.cumsum(gaps) - gaps[0]))


def _profiles(file: File) -> dict[tuple[int, int, int], Any]:
    """Stages by size, cores and number of the query."""
    found: dict[tuple[int, int, int], Any] = {}
    for key, stages in of_kind(file.json(), dict, "expected an object of profiles").items():
        match = _PROFILE.fullmatch(str(key))
        if match is None:
            file.bad.add(f"{shown(key)}: expected tpch_q<query>_<size>g_maxCores_<cores>")
            continue
        query, scale, count = (int(part) for part in match.groups())
        found[scale, count, query] = stages
    if not found:
        file.settle(0, "queries")
    return found


def _shapes(file: File, graphs: Any) -> tuple[Mapping[str, Mapping[str, Sequence[str]]], str]:
    """Graphs of the queries, and what messages call them."""
    if isinstance(graphs, Mapping):
        return graphs, "graphs"
    if graphs is None:
        if file.path is None:
            raise ValueError("graphs: needed where profiles are no path")
        graphs = file.path.with_name(_GRAPHS)
        if not graphs.exists():
            ways = "say graphs", "simulate --model cluster --graphs FILE names them"
            raise AdvisedError(f"no {_GRAPHS} with its query graphs beside it", *ways)
    return _read_graphs(graphs, file.max_size), name_of(graphs)


def _choice(field: str, wanted: int | None, there: set[int]) -> int:
    if wanted is None:
        return min(there)
    if wanted not in there:
        known = ", ".join(map(str, sorted(there)))
        raise ValueError(f"{field} = {shown(wanted)}: the file has {known}")
    return wanted


def _jobs(stages: list[Any], graph: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    after: dict[str, list[str]] = {str(name): [] for name in graph}
    for parent, children in graph.items():
        for child in map(str, children):
            if child not in after:
                raise ValueError(f"stage {parent}: its child {child} is no stage")
            after[child].append(str(parent))
    jobs = []
    for entry in stages:
        name = text_of(of_kind(entry, dict, "{}: expected a stage").get("stage_id"), "stage_id")
        if name not in after:
            raise ValueError(f"stage {name} is not in the query's graph")
        with telling_of(f"stage {name}"):
            tasks = amount_of(entry.get("num_tasks"), "num_tasks")
            seconds = amount_of(entry.get("average_runtime_ms"), "average_runtime_ms") / 1000.0
        jobs.append(stage(name, tasks, seconds, after[name]))
    return jobs


def _entries(source: Source, max_size: int | None) -> Iterator[tuple[str, int, str, str]]:
    """Place, indent, key and value of each line of a file of graphs."""
    with open_text(source, max_size) as (text, where):
        for number, line in enumerate(text, start=1):
            bare, at = line.split("#", 1)[0].rstrip(), f"{where}, line {number}"
            match = _LINE.match(bare)
            if match:
                indent, _, key, value = match.groups()
                yield at, len(indent), key, value
            elif bare:
                raise ValueError(f"{at}: {shown(bare)}: expected key: value")


def _read_graphs(source: Source, max_size: int | None) -> dict[str, Graph]:
    """Queries, their stages and the stages' children."""
    queries: dict[str, Graph] = {}
    graph: Graph = {}
    stage = ""
    shallow = -1
    for at, indent, key, value in _entries(source, max_size):
        if key == "name":
            shallow = indent if shallow < 0 else shallow
            if indent == shallow:
                if value in queries:
                    raise ValueError(f"{at}: query {shown(value)} twice")
                graph = queries[value] = {}
            else:
                stage = value
                graph[stage] = []
        elif key == "children":
            if stage not in graph:
                raise ValueError(f"{at}: children of no stage")
            parts = (part.strip() for part in value.strip("[] ").split(","))
            graph[stage] = [part for part in parts if part]
        elif key not in ("graphs", "graph"):
            raise ValueError(f"{at}: unknown key {shown(key)}")
    if not queries:
        raise ValueError(f"{name_of(source)}: no query graphs in it")
    return queries


def _looks(head: Head) -> bool:
    if any(line.split("#")[0].rstrip() == "graphs:" for line in head.text.splitlines()):
        raise ValueError("query graphs of TPC-H; name the file of their profiles")
    return head.is_object and '"tpch_q' in head.text


register(
    "TPC-H profile",
    _looks,
    _read,
    graphs=(
        "a file that says which stages of a query wait for which other stages; none: "
        "`queries.yaml` beside the profiles"
    ),
    size="read the runs on so many GB of data; none: the runs on the least data",
    cores="read the runs on so many cores; none: the runs on the fewest cores",
    gap="mean time from one query to the next [s], drawn from an exponential distribution; 0: all come at once",
    seed="seed of the random times between queries",
)
