"""Draws pictures of docs/internals/estimates.md from its tables: ``python -m benchmarks.estimates_pictures``.

``docs/estimates_traces.png``: what `auto` gives over FAIR on each trace. ``docs/estimates_ends.png``: how many
true ends are in the ranges of expected ends. The tables are recorded figures; the page names the command of
each. So a table that is measured again needs this command, too.
"""

from __future__ import annotations

from pathlib import Path

from malleable.view.drawing import new_figure, save_figure

DOCS = Path(__file__).resolve().parent.parent / "docs"
# Okabe and Ito's colours, which colour-blind readers can tell apart, and a mark for each.
STYLES = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"))


def table(page: str, head: str) -> list[list[str]]:
    """Cells of the rows below the line that begins with ``head``."""
    lines = page.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith(head)) + 2
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def draw_traces(page: str) -> None:
    """A panel for each p: a row for each trace, a mark for each load, full with right sizes."""
    rows = table(page, "| trace | p |")
    traces = list(dict.fromkeys(row[0] for row in rows))
    speedups = list(dict.fromkeys(row[1] for row in rows))
    figure = new_figure(3.4 * len(speedups), 4.6)
    grid = figure.subplots(1, len(speedups), sharey=True, squeeze=False)[0]
    for axes, p in zip(grid, speedups, strict=True):
        axes.axvline(1.0, color="gray", linewidth=1.0)
        own = {row[0]: row for row in rows if row[1] == p}
        for load, (color, mark) in enumerate(STYLES[:3]):
            for cell, below in ((2, -0.06), (5, 0.06)):  # beside each other, where ratios are equal
                axes.plot(
                    [float(own[trace][cell].split("/")[load]) for trace in traces],
                    [k + 0.25 * (load - 1) + below for k in range(len(traces))],
                    linestyle="", marker=mark, markersize=5, color=color, label=f"load {0.5 + 0.2 * load:g}",
                    markerfacecolor=color if cell == 2 else "none",
                )  # fmt: skip
        axes.set(title=f"p = {p}", xlabel="mean response over FAIR's", xlim=(0.0, 1.1))
        axes.set_yticks(range(len(traces)), traces)
        axes.grid(axis="y", alpha=0.3)
    grid[0].invert_yaxis()
    marks, names = grid[0].get_legend_handles_labels()
    names = [f"{name}, {said}" for name in names[::2] for said in ("right sizes", "no sizes")]
    figure.legend(marks, names, loc="outside lower center", ncols=3, fontsize="small")
    figure.suptitle(
        "auto over FAIR at its best setting (left of the line: auto is better)", fontsize=10
    )
    save_figure(figure, DOCS / "estimates_traces.png")


def draw_ends(page: str) -> None:
    """A curve for each kind of tasks, over the part of the tasks that had ended."""
    figure = new_figure(6.0, 3.8)
    axes = figure.subplots()
    axes.axhline(80.0, color="gray", linewidth=1.0, label="what the ranges are made for: 80 %")
    for row, (color, mark) in zip(table(page, "| task times |"), STYLES, strict=True):
        found = [float(cell.strip(" %")) for cell in row[1:]]
        axes.plot([25, 50, 75], found, color=color, marker=mark, label=row[0])
    axes.set(
        xlabel="tasks that had ended when asked [%]",
        ylabel="true ends in their ranges [%]", ylim=(0.0, 100.0), xticks=[25, 50, 75],
    )  # fmt: skip
    axes.set_title("True ends in the expected ranges", loc="left", fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left", fontsize="small")
    save_figure(figure, DOCS / "estimates_ends.png")


def main() -> None:
    page = (DOCS / "internals" / "estimates.md").read_text()
    draw_traces(page)
    draw_ends(page)


if __name__ == "__main__":
    main()
