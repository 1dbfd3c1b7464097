"""The verdict and the table of a page on a terminal: the same figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from malleable.report import words
from malleable.report.page import label_of
from malleable.view.text import Column, columns_table

_SHOWN = (
    "mean_response", "p50_response", "p95_response", "p99_response", "mean_wait", "p95_wait", "longest_wait",
    "mean_slowdown", "missed_deadlines", "idle_slots",
)  # fmt: skip
_FAMILY = {"wait": "wait", "response": ""}


def report_parts(facts: Mapping[str, Any]) -> list[Any]:
    """Tables and lines for people."""
    columns: list[Column] = [("response time", lambda row: _name(facts, row))]
    for column in words.COLUMNS:
        if column.key in _SHOWN:
            head = f"{_FAMILY.get(column.key.rpartition('_')[2], '')} {column.head}".strip()
            columns.append((head, lambda row, own=column: _cell(row, own)))  # type: ignore[misc]
    return [
        *facts["verdict"],
        columns_table("", facts["table"]["rows"], columns),
        *_warnings(facts),
    ]


def _warnings(facts: Mapping[str, Any]) -> list[str]:
    return [*(f"note: {text}" for text in (*facts["warnings"], *facts["skipped"]))]


def _name(facts: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    own = label_of(row["policy"])
    own += " at its best" if row["policy"] == facts["fair"] else ""
    split = not facts["promises"] and row["kind"] != "recorded"
    return f"{own}, jobs split" if split else own


def _cell(row: Mapping[str, Any], column: words.Column) -> str:
    value = row.get(column.key)
    return "-" if value is None else words.FORMATS[column.format](value)
