"""Pages of small inputs, and what tests read in them."""

import datetime
import json
import random
import re
from pathlib import Path

import html5lib

from malleable.cli import main

LONG = "x" * 10_000
SCRIPT = "<script>alert('name')</script>"
TAG = "{http://www.w3.org/1999/xhtml}"


def sacct(jobs=60, seed=1, names=(), widths=(1, 1, 2, 4, 8), arrays=False):
    """A table of rigid jobs, or of arrays, that ran first come, first served, on 16 CPUs."""
    rng = random.Random(seed)
    head = "JobID|JobName|User|Account|Partition|State|Submit|Start|End|AllocCPUS"
    lines, free, now = [head], [0.0] * 16, 0.0
    for k in range(jobs):
        now += rng.expovariate(1 / 60)
        width, lasts = rng.choice(widths), rng.lognormvariate(5, 1)
        free.sort()
        start = max(now, free[width - 1])
        free[:width] = [start + lasts] * width
        name = names[k] if k < len(names) else f"work{k % 5}"
        user = ("ann", "bob", "cyd")[k % 3]
        cells = [name, user, f"group{k % 2}", ("short", "long")[width > 2]]
        cells += ["COMPLETED", *map(_date, (now, start, start + lasts))]
        if arrays:
            lines += ["|".join([f"{100 + k}_{i}", *cells, "1"]) for i in range(width)]
        else:
            lines.append("|".join([f"{100 + k}", *cells, f"{width}"]))
    return "\n".join(lines) + "\n"


def _date(seconds):
    moment = datetime.datetime(2024, 5, 1) + datetime.timedelta(seconds=round(seconds))
    return moment.isoformat()


def swim(jobs=80, seed=2, name="job{}"):
    """A trace of map and reduce jobs, known by bytes."""
    rng = random.Random(seed)
    rows, now = [], 0
    for k in range(jobs):
        now += rng.randrange(30)
        cells = name.format(k), now, 0, rng.randrange(2**34), rng.randrange(2) * 10**9, 5
        rows.append("\t".join(map(str, cells)))
    return "\n".join(rows) + "\n"


def made(folder, text, *words, name="trace.txt"):
    """The page and the JSON of a file of this text."""
    path = folder / name
    path.write_text(text)
    return made_of([path], folder, *words)


def made_of(paths, folder, *words):
    page, figures = folder / "page.html", folder / "page.json"
    files = [*map(str, paths), "--html", str(page), "--json", str(figures), "--force", "-q"]
    assert main(["report", *files, *map(str, words)]) == 0
    return page.read_text(), json.loads(figures.read_text(), parse_constant=_refused)


def _refused(word):
    raise AssertionError(f"{word} is no JSON")


def parsed(page):
    """The tree of a page; an error of HTML's grammar is an AssertionError."""
    parser = html5lib.HTMLParser(strict=False, namespaceHTMLElements=False)
    tree = parser.parse(page)
    assert not parser.errors, parser.errors[:5]
    return tree


def rows_of(tree, table):
    """Rows of a table by its id: of each its head, and the values of its cells."""
    (found,) = [own for own in tree.iter("table") if own.get("id") == table]
    return [
        ("".join(row.find("th").itertext()), [cell.get("data-value") for cell in row.findall("td")])
        for row in found.find("tbody").findall("tr")
    ]


def texts(tree):
    """All text of the page but styles and scripts."""
    found = []
    for own in tree.iter():
        if own.tag not in ("style", "script"):
            found.append(own.text or "")
        found.append(own.tail or "")
    return " ".join(found)


def style():
    from malleable.report import page

    return (Path(page.__file__).parent / "templates" / "style.css").read_text()


def colours(dark):
    """Variables of the style in one scheme."""
    blocks = re.findall(r":root \{(.*?)\}", style(), re.DOTALL)
    found = {}
    for block in blocks[: 2 if dark else 1]:
        found |= dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})", block))
    return found
