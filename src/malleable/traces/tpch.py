"""TPC-H queries as Spark DAGs: stage profiles in one JSON file, query graphs in another.

Profiles: ``{"tpch_q1_50g_maxCores_50": [{"stage_id", "num_tasks", "average_runtime_ms"}, ...]}``.
Graphs: YAML with a ``name`` per query and, per stage, its ``name`` and ``children``; the few lines of
YAML that such a file consists of are read here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from malleable.domain import shown
from malleable.files.bad_records import BadRecords
from malleable.files.json import is_number, parse_json, text_of
from malleable.files.reading import MAX_SIZE, Source, name_of, open_text
from malleable.flows.table import Flows

__all__ = ["read_tpch"]

_PROFILE = re.compile(r"tpch_q(\d{1,9})_(\d{1,9})g_maxCores_(\d{1,9})", re.ASCII)
_LINE = re.compile(r"(\s*)(-\s+)?(\w+):\s*(.*)")

Graph = dict[str, list[str]]


def read_tpch(
    profiles: Source,
    graphs: Source | Mapping[str, Mapping[str, Sequence[str]]],
    *,
    size: int | None = None,
    cores: int | None = None,
    errors: str = "raise",
    max_size: int | None = MAX_SIZE,
) -> Flows:
    """Read TPC-H queries, a flow a query.

    Parameters
    ----------
    profiles : path or file object
        Stage profiles, plain or gzip.
    graphs : path, file object or mapping
        Children of every stage, per query (``Q1`` ...).
    size : int, optional
        Scale of the data [GB]; the smallest in the file by default.
    cores : int, optional
        Cores of the profiled run; the fewest in the file by default. The same query costs more
        task-seconds on more cores, since real stages do not speed up linearly.
    errors : {"raise", "skip"}
        Malformed queries: one error that counts them and shows the first, or a warning that counts.
    max_size : int or None
        Bytes that each file may have, unpacked; None: any number.

    Returns
    -------
    Flows
        By number of the query. A job per stage: as many slots as tasks, work tasks times mean time.

    Raises
    ------
    ValueError
        What is wrong, and in which file; a scale or a number of cores that the file does not have.
    """
    bad = BadRecords(errors, "queries")
    with open_text(profiles, max_size) as (text, where):
        content = parse_json(text.read(), where)
    if not isinstance(content, Mapping):
        raise ValueError(f"{where}: expected an object of profiles")
    found: dict[tuple[int, int, int], Any] = {}
    for key, stages in content.items():
        match = _PROFILE.fullmatch(str(key))
        if match is None:
            bad.add(f"{shown(key)}: expected tpch_q<query>_<size>g_maxCores_<cores>")
            continue
        query, scale, count = (int(part) for part in match.groups())
        found[scale, count, query] = stages
    if not found:
        bad.settle(where, 0)
    scale = _choice("size", size, {key[0] for key in found}, where)
    count = _choice("cores", cores, {key[1] for key in found if key[0] == scale}, where)
    named = "graphs" if isinstance(graphs, Mapping) else name_of(graphs)
    shapes = graphs if isinstance(graphs, Mapping) else _read_graphs(graphs, max_size)
    queries = sorted(key[2] for key in found if key[:2] == (scale, count))
    tables, names = [], []
    for query in queries:
        name = f"Q{query}"
        try:
            if name not in shapes:
                raise ValueError(f"no graph of query {name}")
            table = _jobs(found[scale, count, query], shapes[name], name)
            Flows([table], name=[name])
        except ValueError as error:
            bad.add(f"{error} (graphs: {named})")
            continue
        tables.append(table)
        names.append(name)
    bad.settle(where, len(tables))
    return Flows(tables, name=names)


def _choice(field: str, wanted: int | None, there: set[int], where: str) -> int:
    if not there:
        raise ValueError(f"{where}: no profiles in it")
    if wanted is None:
        return min(there)
    if wanted not in there:
        raise ValueError(
            f"{field} = {shown(wanted)}: {where} has {', '.join(map(str, sorted(there)))}"
        )
    return wanted


def _jobs(stages: Any, graph: Mapping[str, Sequence[str]], where: str) -> list[dict[str, Any]]:
    if not isinstance(stages, list):
        raise ValueError(f"{where}: expected a list of stages")
    after: dict[str, list[str]] = {str(stage): [] for stage in graph}
    for stage, children in graph.items():
        for child in children:
            if str(child) not in after:
                raise ValueError(f"{where}: stage {stage}: its child {child} is no stage")
            after[str(child)].append(str(stage))
    jobs = []
    for stage in stages:
        if not isinstance(stage, Mapping):
            raise ValueError(f"{where}: {shown(stage)}: expected a stage")
        name = text_of(stage.get("stage_id"), f"{where}: stage_id")
        if name not in after:
            raise ValueError(f"{where}: stage {name} is not in the query's graph")
        tasks = _number(stage, "num_tasks", f"{where}: stage {name}")
        seconds = _number(stage, "average_runtime_ms", f"{where}: stage {name}") / 1000.0
        jobs.append(
            {
                "name": name,
                "work": tasks * seconds,
                "max_slots": max(1, round(tasks)),
                "after": after[name],
            }
        )
    return jobs


def _number(stage: Mapping[str, Any], field: str, where: str) -> float:
    value: Any = stage.get(field)
    if not is_number(value) or value < 0:
        raise ValueError(f"{where}: {field} = {shown(value)}: must be finite and at least 0")
    return float(value)


def _read_graphs(source: Source, max_size: int | None) -> dict[str, Graph]:
    """Queries, their stages and the stages' children."""
    queries: dict[str, Graph] = {}
    graph: Graph | None = None
    stage = ""
    shallow = -1
    with open_text(source, max_size) as (text, where):
        for number, line in enumerate(text, start=1):
            bare = line.split("#", 1)[0].rstrip()
            if not bare:
                continue
            match = _LINE.match(bare)
            if match is None:
                raise ValueError(f"{where}, line {number}: {shown(bare)}: expected key: value")
            indent, _, key, value = match.groups()
            if key == "name":
                if shallow < 0:
                    shallow = len(indent)
                if len(indent) == shallow:
                    if value in queries:
                        raise ValueError(f"{where}, line {number}: query {shown(value)} twice")
                    graph = queries[value] = {}
                elif graph is not None:
                    stage = value
                    graph[stage] = []
            elif key == "children":
                if graph is None or stage not in graph:
                    raise ValueError(f"{where}, line {number}: children of no stage")
                graph[stage] = [
                    part.strip() for part in value.strip("[] ").split(",") if part.strip()
                ]
            elif key not in ("graphs", "graph"):
                raise ValueError(f"{where}, line {number}: unknown key {shown(key)}")
    if not queries:
        raise ValueError(f"{where}: no query graphs in it")
    return queries
