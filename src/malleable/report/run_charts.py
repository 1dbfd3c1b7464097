"""Pictures of a run for its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from malleable.report import charts, words

_LINES = ("auto", "fair", "flex", "fifo", "recorded", "other", "bound")


def charts_of_run(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Slots and memory by job over time, and ends as they were expected."""
    run = facts["run"]
    told = run["over_time"]
    found: dict[str, Any] = {"slots_by_job_chart": "", "memory_chart": "", "expected_chart": ""}
    found["layers"] = [own["name"] for own in told["slots"]]
    if told["slots"]:
        size, unit = charts.time_unit(told["time"][-1])
        edges = [at / size for at in told["time"]]
        axis = f"{unit} of the run"
        slots = [(words.short(own["name"], 40), own["values"]) for own in told["slots"]]
        level = float(run["slots"]), f"{run['slots']:,} slots"
        found["slots_by_job_chart"] = charts.stacked(
            edges, slots, (axis, "slots"), "Slots in use by job over time",
            _means(slots), level=level,
        )  # fmt: skip
        if told["memory"]:
            memory = [
                (words.short(own["name"], 40), [value / 2**20 for value in own["values"]])
                for own in told["memory"]
            ]
            found["memory_chart"] = charts.stacked(
                edges, memory, (axis, "MiB"), "Memory of running tasks by job over time",
                "Each task counts with the most that it took",
            )  # fmt: skip
    return found | _expected(run)


def _means(layers: list[tuple[str, list[float]]]) -> str:
    each = [
        f"{name}: {words.amount(sum(own) / max(len(own), 1))} in the mean" for name, own in layers
    ]
    return "; ".join(each)


def _expected(run: Mapping[str, Any]) -> dict[str, Any]:
    told = run["expected"]
    jobs = [own for own in told["jobs"] if any(value is not None for value in own["expected"])]
    if not jobs:
        return {"expected_jobs": []}
    size, unit = charts.time_unit(run["lasted"])
    x = [at / size for at in told["time"]]
    drawn = []
    for k, own in enumerate(jobs):
        y = [None if value is None else value / size for value in own["expected"]]
        line, last = list(x), list(y)
        if own["ended"] is not None:  # the line ends where the job did
            line.append(own["ended"] / size)
            last.append(own["ended"] / size)
        order = sorted(range(len(line)), key=lambda j: line[j])
        key = _LINES[k % len(_LINES)]
        name = words.short(own["name"], 16)
        drawn.append(charts.Line(key, name, [line[j] for j in order], [last[j] for j in order]))
    chart = charts.lines(
        drawn,
        (f"when it was asked [{unit} of the run]", f"expected end [{unit}]"),
        "Expected ends of jobs over time",
        "Each line ends at the job's true end; a flat line was right from the beginning",
    )
    return {
        "expected_jobs": [
            {
                "name": own["name"],
                "key": _LINES[k % len(_LINES)],
                "ended": own["ended"],
                **_errors(told["time"], own),
            }
            for k, own in enumerate(jobs)
        ],
        "expected_chart": chart,
    }


def _errors(times: list[float], own: Mapping[str, Any]) -> dict[str, Any]:
    """What was said at the first moment, halfway to the job's end, and last."""
    known = [
        (at, value) for at, value in zip(times, own["expected"], strict=True) if value is not None
    ]
    middle = [pair for pair in known if own["ended"] is not None and pair[0] <= own["ended"] / 2]
    return {
        "first": known[0][1],
        "halfway": middle[-1][1] if middle else None,
        "last": known[-1][1],
    }
