"""A run as a Gantt picture: a row a slot, a block an attempt at a task, in the colour of its job."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

from malleable.live.journal import Attempt
from malleable.view.clock import Clock
from malleable.view.drawing import label_times, new_figure, picture
from malleable.view.text import counted, wall_time

_NAMED = 12  # jobs in the legend
_BAD = "#d62728"


def lanes(attempts: Sequence[Attempt]) -> list[int]:
    """A row for each attempt, so that no two of a row overlap: the lowest that is free. O(n log n).

    Attempts are in the order of their beginnings.
    """
    free: list[int] = []
    busy: list[tuple[float, int]] = []
    found = []
    for each in attempts:
        while busy and busy[0][0] <= each.began + 1e-9:
            heapq.heappush(free, heapq.heappop(busy)[1])
        lane = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (each.began + each.seconds, lane))
        found.append(lane)
    return found


@picture
def draw_run(attempts: Sequence[Attempt], names: Sequence[str], title: str) -> Any:
    """Attempts of a run that have ended. Attempts that failed have a red edge.

    Parameters
    ----------
    attempts : sequence of Attempt
    names : sequence of str
        Of jobs, by row.
    title : str
    """
    ordered = sorted(attempts, key=lambda each: (each.began, each.job, each.task))
    rows = lanes(ordered)
    height = max(rows, default=0) + 1
    figure = new_figure(10.0, min(12.0, 1.6 + 0.22 * height))
    axes = figure.add_subplot()
    used = sorted({each.job for each in ordered})
    for place, job in enumerate(used):
        own = [(each, row) for each, row in zip(ordered, rows, strict=True) if each.job == job]
        edges = [_BAD if each.status else "white" for each, _ in own]
        axes.barh(
            [row for _, row in own], [each.seconds for each, _ in own],
            left=[each.began for each, _ in own], height=0.86, color=f"C{place % 10}",
            edgecolor=edges, linewidth=[1.4 if each.status else 0.3 for each, _ in own],
            label=names[job] if place < _NAMED else None,
        )  # fmt: skip
    axes.set_ylim(height - 0.4, -0.6)
    axes.set_yticks([])
    axes.set_ylabel(counted(height, "slot"))
    label_times(axes, Clock())
    axes.set_title(title, loc="left")
    if used:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure


def title_of_run(number: int, status: str, seconds: float) -> str:
    """What a picture says above."""
    return f"run {number}, {status}: {wall_time(seconds)}"
