"""The table of mechanisms, from the measurements that were kept in one file a mechanism."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.mechanisms import KINDS

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "benchmarks" / "results" / "mechanisms"
PAGE = ROOT / "benchmarks" / "results" / "mechanisms.md"
DECISIONS = ("stays", "replaced", "goes")
LAYERS = ("kernel", "policy", "scheduler")
LARGE = 300
FRAME = {
    "kernel/expected_ends": "when jobs will end, as operators are told: no decision looks at it",
    "policy/backfill": "FCFS, EASY and conservative backfill by their definitions: the rivals of rigid jobs",
    "policy/cluster_finish": "minimum shares and finish times on unlike nodes, compared in unlike.md",
    "policy/epoch": "the object that hosts call: its verbs, and which rule decides",
    "policy/epoch/flow_table": "the flows of an epoch: rows, ids, what callers may change",
    "policy/epoch/key_rule": "one key for each job, by objective: the plain order by which loops decide",
    "policy/epoch/job_table": "the jobs of an epoch: rows, ids, what callers may change",
    "scheduler/replay": "what a scheduler was told is written down and read again, byte for byte",
    "scheduler/scheduler": "the object that engines call: its verbs, users, and decisions",
}
"""Files that are no mechanisms: the design promises what they do, and nothing plainer does it."""
_HEAD = """# What each mechanism is worth

`python -m benchmarks.mechanisms table` writes this page from `benchmarks/results/mechanisms/`. Each
mechanism has two files there: its measurements, and a patch. The patch takes the mechanism out and puts a
plain replacement of at most 40 lines in its place. `python -m benchmarks.mechanisms --help` says how you
measure a row again.

A mechanism stays if it gives at least 1 % in the mean, or 5 % in the worst draw, on families on which it
was not chosen. It also stays if a proof, a bound or a figure of a paper needs it. The decision *goes* means
that nothing took its place, and *replaced* that the plain replacement did.

*1.031 (1.12)* in a column of figures means: the plain replacement has 1.031 times the value of the
mechanism. This is the geometric mean, over the instances, of the ratios of means over draws. In the draw in
which the mechanism gives most, the ratio is 1.12. Less is better, so the mechanism gives something if the
number is above 1. *Time* is processor time with the mechanism over that with the plain replacement.

A mechanism without a patch is a policy that is compared with a plainer one of the same build.

| mechanism | lines | plain replacement (lines) | benchmarks | traces | families | time | decision |
|---|---|---|---|---|---|---|---|
"""


def combine(path: Path, present: Iterable[Path], plain: Iterable[Path]) -> None:
    """Put rows measured with and without into a mechanism's file: the same instances and seeds."""
    one, other = (
        {row["instance"]: row for file in files for row in json.loads(file.read_text())}
        for files in (present, plain)
    )
    if one.keys() != other.keys():
        raise ValueError(f"measured once only: {', '.join(sorted(one.keys() ^ other.keys()))}")
    rows = []
    for name, row in one.items():
        without = other[name]
        if row["seeds"] != without["seeds"]:
            raise ValueError(f"{name}: seeds {row['seeds']} with, {without['seeds']} without")
        rows.append(
            {key: row[key] for key in ("kind", "instance", "measure", "seeds")}
            | {"with": _short(row["values"]), "plain": _short(without["values"])}
            | {"cpu_with": round(row["seconds"], 2), "cpu_plain": round(without["seconds"], 2)}
        )
    _save(path, json.loads(path.read_text()) | {"rows": rows})


def _save(path: Path, each: dict[str, Any]) -> None:
    """One row a line."""
    head = json.dumps({name: told for name, told in each.items() if name != "rows"}, indent=1)
    rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in each["rows"])
    path.write_text(f'{head[:-2]},\n "rows": [\n{rows}\n]}}\n')


def _short(values: list[float]) -> list[float]:
    """Six digits: ratios are shown with three."""
    return [float(f"{value:.6g}") for value in values]


def _ratio(plain: float, present: float) -> float:
    """Equal values, also two zeros, are 1; NaN where only one is 0, which no ratio can say."""
    if plain == present:
        return 1.0
    return plain / present if plain > 0.0 < present else math.nan


def gives(rows: list[dict[str, Any]]) -> str:
    """Of rows of one kind: the plain replacement over the mechanism, mean and the draw where it gives most."""
    means = [_ratio(sum(row["plain"]), sum(row["with"])) for row in rows]
    draws = [_ratio(*pair) for row in rows for pair in zip(row["plain"], row["with"], strict=True)]
    known = [value for value in means if not math.isnan(value)]
    if not known:
        return "none has a ratio" if rows else ""
    mean = math.exp(sum(map(math.log, known)) / len(known))
    worst = max(value for value in draws if not math.isnan(value))
    zeros = f", {len(means) - len(known)} with a 0" if len(known) < len(means) else ""
    return f"{mean:.3f} ({worst:.2f}){zeros}"


def _line(each: dict[str, Any]) -> str:
    by_kind = [gives([row for row in each["rows"] if row["kind"] == kind]) for kind in KINDS]
    plain = sum(row["cpu_plain"] for row in each["rows"])
    time = f"{sum(row['cpu_with'] for row in each['rows']) / plain:.2f}" if plain else ""
    name = each["mechanism"]
    if each["patch"]:
        name = f"[{name}](mechanisms/{each['patch']})"
    cells = (
        f"{name} of `{each['commit']}`",
        str(each["lines"]),
        f"{each['replacement']} ({each['replacement_lines']})",
        *by_kind,
        time,
        f"{each['decision']}: {each['why']}",
    )
    return "| " + " | ".join(cells) + " |"


def read() -> list[dict[str, Any]]:
    """All kept mechanisms, by name; their fields are checked."""
    found = []
    for path in sorted(KEPT.glob("*.json")):
        each = json.loads(path.read_text())
        if each["decision"] not in DECISIONS:
            raise ValueError(
                f"{path.name}: decision {each['decision']!r}: one of {', '.join(DECISIONS)}"
            )
        if each["patch"] and not (KEPT / each["patch"]).is_file():
            raise ValueError(f"{path.name}: no file {each['patch']}")
        if each["replacement_lines"] > 40:
            raise ValueError(f"{path.name}: a plain replacement has at most 40 lines")
        found.append(each)
    return found


def _code_lines(path: Path) -> int:
    """Lines that are neither blank nor comments."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    return sum(bool(re.sub("//.*", "", line).strip()) for line in text.splitlines())


def large() -> dict[str, int]:
    """Code lines of each header with its sources, where these are more than `LARGE`."""
    headers, sources = ROOT / "cpp" / "include" / "malleable", ROOT / "cpp" / "src"
    lines: Counter[str] = Counter()
    for root in (headers, sources):
        for path in (path for layer in LAYERS for path in (root / layer).rglob("*.?pp")):
            lines[_stem(path.relative_to(root).with_suffix(""), headers)] += _code_lines(path)
    return {stem: count for stem, count in sorted(lines.items()) if count > LARGE}


def _stem(path: Path, headers: Path) -> str:
    """Of a part of a long source: that of the header."""
    parts = path.name.split("_")
    for count in range(len(parts), 0, -1):
        stem = path.with_name("_".join(parts[:count]))
        if (headers / stem).with_suffix(".hpp").is_file():
            return stem.as_posix()
    return path.as_posix()


def unmeasured(kept: list[dict[str, Any]]) -> list[str]:
    """Stems of many lines that no mechanism names, and that are not `FRAME`."""
    headers = ROOT / "cpp" / "include" / "malleable"
    named = {
        _stem(Path(re.sub(r"^cpp/(src|include/malleable)/", "", file)).with_suffix(""), headers)
        for each in kept
        for file in each["files"]
    }
    return [stem for stem in large() if stem not in named | FRAME.keys()]


_FRAME = """
## What is no mechanism

Every other header that has more than 300 lines of code with its sources, in `kernel`, `policy` and
`scheduler`, is in the table above. These are not, because nothing plainer does what they do:

| file | lines | what it does |
|---|---|---|
"""


def write_page() -> None:
    kept = read()
    if missing := unmeasured(kept):
        raise ValueError(f"more than {LARGE} lines, and not measured: {', '.join(missing)}")
    counts = large()
    frame = (f"| `{stem}` | {counts[stem]} | {what} |\n" for stem, what in FRAME.items())
    PAGE.write_text(_HEAD + "".join(_line(each) + "\n" for each in kept) + _FRAME + "".join(frame))
