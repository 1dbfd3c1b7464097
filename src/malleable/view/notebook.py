"""HTML for notebooks of tables, plans, decisions, results and epochs: a line and small tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from html import escape
from typing import Any

import numpy as np

from malleable.flows.plan import FlowPlan
from malleable.jobs.plan import Plan
from malleable.replications import Replications
from malleable.results import SimulationResult
from malleable.validation import ALL_SLOTS
from malleable.view.plan_tables import plan_columns, plan_headline
from malleable.view.simulations import replications_tables, simulation_tables
from malleable.view.text import Column, Table, columns_table, counted, number

_MOST = 20  # rows

Parts = Iterable["str | Table"]


def html(shown: object, columns: str = "") -> str:
    """The HTML of an object; ``columns``: attributes of a table or a decision, with an entry a row."""
    parts = [
        part._repr_html_() if isinstance(part, Table) else f"<p>{escape(part)}</p>\n"
        for part in _parts(shown, columns)
    ]
    return f"<div>\n{''.join(parts)}</div>"


def _rows(count: int, columns: Sequence[Column], noun: str = "row") -> Parts:
    more = [f"and {counted(count - _MOST, noun)} more"] if count > _MOST else []
    return [columns_table("", range(min(count, _MOST)), columns), *more]


def _cell(values: Sequence[Any], row: int) -> str:
    value = values[row]
    if isinstance(value, (bool, str)):
        return "yes" * value if isinstance(value, bool) else value
    if isinstance(value, float):
        return number(value) if np.isfinite(value) else "-"
    return "all" if value == ALL_SLOTS else f"{value:,}"


def _values(shown: Any, name: str) -> Any:
    values = getattr(shown, name)
    if callable(values):
        values = values()
    if name == "name" and values is None:
        return [f"job{row}" for row in range(len(shown))]
    words = getattr(shown, f"{name}_names", None)
    return [words[k] for k in values] if words else values


def _columns(shown: Any, names: str) -> Iterator[Column]:
    for name in names.split():
        head, values = name.replace("_", " "), _values(shown, name)
        parts = {head: values}
        if np.ndim(values) == 2:
            parts = {f"{kind}: {head}": values[:, k] for k, kind in enumerate(shown.kinds)}
        for head, own in parts.items():
            if own is not None:
                cells = own.tolist() if isinstance(own, np.ndarray) else own
                yield head, partial(_cell, cells)


def _parts(shown: Any, columns: str) -> Parts:
    if isinstance(shown, (Plan, FlowPlan)):
        heads = plan_columns(shown)
        # the noun in a column's head, such as "job, by order"
        noun = heads[0][0].partition(",")[0]
        return [*plan_headline(shown), *_rows(len(shown.order), heads, noun=noun)]
    if isinstance(shown, SimulationResult):
        return [repr(shown), *simulation_tables(shown)]
    if isinstance(shown, Replications):
        return [repr(shown), *replications_tables(shown, _MOST)]
    if not columns:
        return [repr(shown)]
    count = len(shown.ids) if hasattr(shown, "ids") else len(shown)
    return [repr(shown), *_rows(count, list(_columns(shown, columns)))]
