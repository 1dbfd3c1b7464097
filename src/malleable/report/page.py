"""The page: facts (figures in JSON's types) as one HTML file that needs neither network nor scripts. It shows
figures and computes none. In names of files, jobs and users, markup and characters that do not print are
escaped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from malleable.display import counted, printable
from malleable.files.advice import library
from malleable.report import charts, words
from malleable.report.scenarios import label
from malleable.report.verdict import named, near
from malleable.simulation import own_options
from malleable.view.text import Column, columns_table, duration

_TEMPLATES = Path(__file__).parent / "templates"
_SAME = 1e-6  # numbers that differ by less are equal
_ROWS = 20  # rows of a table of values over time
# columns of the table on a terminal
_SHOWN = (
    "mean_response", "p50_response", "p95_response", "p99_response", "mean_wait", "p95_wait", "longest_wait",
    "mean_slowdown", "missed_deadlines", "utilisation",
)  # fmt: skip
EXTRA = "'malleable[report]'"


def check_page() -> None:
    """ImportError unless what a page needs is installed."""
    for name in ("jinja2", "matplotlib"):
        library(name, "a page of HTML", EXTRA)


def label_of(policy: str | None) -> str:
    # The name of a row for people.
    if policy is None:
        return "–"
    return {"recorded": "Recorded", "bound": "Lower bound"}.get(policy) or label(policy)


def _ratio(before: float | None, after: float | None) -> float | None:
    return after / before if before and after is not None else None


def _bar(ratio: float | None) -> dict[str, Any]:
    # Side and width of a bar [% of its cell] for a factor; a full bar is a factor of 2.
    part = 0.0 if not ratio else max(-1.0, min(1.0, math.log2(ratio)))
    return {"kind": "gain" if part < 0.0 else "loss", "width": round(50.0 * abs(part), 1)}


def _signed(seconds: float) -> str:
    sign = "+" if seconds > 0 else "−"
    return f"{sign}{duration(abs(seconds))}"


def _shown(value: Any) -> Any:
    # Text on one line with control characters escaped, so that a name cannot reverse the text beside it.
    return printable(value) if type(value) is str else value  # markup has its own class


def page(facts: Mapping[str, Any]) -> str:
    """The page of a trace (`malleable.report.facts`) or of a run (`malleable.report.live_run`). ImportError
    without Jinja2."""
    jinja = library("jinja2", "a page of HTML", EXTRA)
    markup = library("markupsafe", "a page of HTML", EXTRA).Markup
    loader = jinja.FileSystemLoader(_TEMPLATES)
    environment = jinja.Environment(
        loader=loader,
        autoescape=True,
        trim_blocks=True,
        undefined=jinja.StrictUndefined,
        finalize=_shown,
    )
    environment.filters |= {
        "as": lambda value, kind: words.FORMATS[kind](value),
        "short": words.short,
        "change": words.change,
        "ratio": _ratio,
        "signed": _signed,
        "label": label_of,
        "swatch": lambda policy: markup(charts.swatch(policy)),
        "area": lambda place: charts.AREAS[place % len(charts.AREAS)],
        "policy_told": lambda policy: words.POLICIES.get(own_options(policy)[0], ""),
        "counted": counted,
        "bar": _bar,
    }
    view = _of_run(facts) if facts["kind"] == "run" else _of_trace(facts)
    drawn = {name: markup(own) if name.endswith("_chart") else own for name, own in view.items()}
    style, script = ((_TEMPLATES / name).read_text() for name in ("style.css", "script.js"))
    template = environment.get_template(f"{facts['kind']}.html")
    text: str = template.render(facts=facts, view=drawn, style=markup(style), script=markup(script))
    return text + "\n"


def _of_trace(facts: Mapping[str, Any]) -> dict[str, Any]:
    rows = facts["table"]["rows"]
    by_name = {row["policy"]: row for row in rows}
    groups = facts["groups"]
    view: dict[str, Any] = {
        "columns": _there(rows),
        "best": _best(rows),
        "subject": by_name.get(facts["subject"]) if facts["compared"] else None,
        "base": by_name.get(_headline_base(facts)),
        "unfinished": [row for row in rows if row.get("unfinished")],
        "glossary": [
            *words.GLOSSARY,
            *((one.head, one.told) for one in _there(rows)),
            *_told_policies(rows),
        ],
        "beside": next((list(row["mean_response"]) for kind in groups for row in kind["rows"]), []),
        "first": facts["time"]["time"][0] if facts["time"]["time"] else 0.0,
        "mover_kinds": [kind["kind"] for kind in groups if not kind["kind"].startswith("size")][:3],
        "loads": False,
    }
    return view | _time(facts) | _load(facts)


def _headline_base(facts: Mapping[str, Any]) -> str | None:
    # The base of the large figures: never a record that is far off.
    if facts["baseline"] == "recorded" and facts["fair"] is not None and not near(facts):
        return str(facts["fair"])
    return str(facts["baseline"]) if facts["baseline"] is not None else None


def _there(rows: Sequence[Mapping[str, Any]]) -> list[words.Column]:
    # Columns in which any row has a value.
    return [one for one in words.COLUMNS if any(row.get(one.key) is not None for row in rows)]


def _best(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    # By column the policy with the least value, if policies differ; slots in use are neither good nor bad.
    found = {}
    for column in words.COLUMNS:
        if column.key == "utilisation":
            continue
        own = [
            (row[column.key], row["policy"])
            for row in rows
            if row["kind"] == "simulated" and row.get(column.key) is not None
        ]
        if own and max(own)[0] > min(own)[0] * (1 + _SAME):
            found[column.key] = min(own, key=lambda pair: pair[0])[1]
    return found


def _told_policies(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    known = ((row["policy"], words.POLICIES.get(own_options(row["policy"])[0])) for row in rows)
    return [(label_of(policy), told) for policy, told in known if told]


def _time(facts: Mapping[str, Any]) -> dict[str, Any]:
    told = facts["time"]
    if told.get("missing") or not told["policies"]:
        return {"time_keys": [], "time_rows": [], "jobs_chart": "", "slots_chart": ""}
    wanted = [facts["baseline"], facts["fair"], "fifo", facts["subject"]]
    wanted = [name for name in told["policies"] if name in wanted]
    first = told["time"][0]
    size, unit = charts.time_unit(told["time"][-1] - first)
    windows = list(zip(told["time"], told["time"][1:], strict=False))
    middle = [((a + b) / 2 - first) / size for a, b in windows]

    def chart(what: str, title: str) -> str:
        own = {name: told["policies"][name][what] for name in wanted}
        drawn = [charts.Line(name, middle, y) for name, y in own.items()]
        axes = f"{unit} after the first job comes", what
        return charts.lines(drawn, axes, f"{title}. The table of values follows.")

    step = max(1, len(middle) // _ROWS)
    return {
        "time_keys": wanted,
        "time_rows": list(range(0, len(middle), step)),
        "jobs_chart": chart("jobs", "Jobs in the system over time"),
        "slots_chart": chart("slots", "Slots in use over time"),
    }


def _load(facts: Mapping[str, Any]) -> dict[str, Any]:
    points = facts["curve"].get("loads")
    if not points:
        return {"load_chart": ""}
    names = list(points[0]["policies"])
    longest = max(
        own["mean_response"] or 0.0 for point in points for own in point["policies"].values()
    )
    size, unit = charts.time_unit(longest)
    loads = [point["load"] for point in points]
    drawn = []
    for name in names:
        means = [point["policies"][name]["mean_response"] for point in points]
        drawn.append(charts.Line(name, loads, [own and own / size for own in means]))
    today = facts["curve"]["today"]
    mark = (today, "today") if today is not None and loads[0] <= today <= loads[-1] else None
    told = f"Mean response time over load, from {loads[0]:g} to {loads[-1]:g}; the table has the values."
    axes = "load", f"mean response [{unit}]"
    chart = charts.lines(drawn, axes, told, log=True, mark=mark, points=True)
    return {"loads": True, "load_keys": names, "load_chart": chart}


def _of_run(facts: Mapping[str, Any]) -> dict[str, Any]:
    run = facts["run"]
    told = run["over_time"]
    found: dict[str, Any] = {"slots_by_job_chart": ""}
    found["layers"] = [own["name"] for own in told["slots"]]
    if told["slots"]:
        size, unit = charts.time_unit(told["time"][-1])
        edges = [at / size for at in told["time"]]
        axis = f"{unit} of the run"
        slots = [own["values"] for own in told["slots"]]
        means = [
            f"{words.short(own['name'], 40)}: {words.amount(sum(own['values']) / len(own['values']))}"
            for own in told["slots"]
        ]
        title = f"Slots in use by job over time; means: {'; '.join(means)}"
        found["slots_by_job_chart"] = charts.stacked(
            edges, slots, (axis, "slots"), title, run["slots"]
        )
    return found


def report_parts(facts: Mapping[str, Any]) -> list[Any]:
    # What ``malleable report`` shows on a terminal.
    columns: list[Column] = [("policy", lambda row: _name(facts, row))]
    for column in words.COLUMNS:
        if column.key in _SHOWN:
            columns.append((column.head, lambda row, own=column: _cell(row, own)))  # type: ignore[misc]
    return [
        *facts["verdict"],
        *([columns_table("", facts["table"]["rows"], columns)] if facts.get("compared") else []),
        *(f"note: {text}" for text in (*facts["warnings"], *facts["skipped"])),
    ]


def _name(facts: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    policy = row["policy"]
    return named(policy) if policy == facts["fair"] else label_of(policy)


def _cell(row: Mapping[str, Any], column: words.Column) -> str:
    value = row.get(column.key)
    return "-" if value is None else words.FORMATS[column.format](value)
