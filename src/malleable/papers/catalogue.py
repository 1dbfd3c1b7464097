"""Every figure and table of the five papers: the name that reproduces it, or why there is none."""

from __future__ import annotations

from typing import Any

from malleable.papers import FIGURES
from malleable.view.text import Table, table

_DRAWING = "drawing only"
_CODE = "pseudocode"
_TRACE = "29 days of Google's trace, of which the paper prints no points"
_SETUP = "what adaptive-fig4 to adaptive-table7 take"

CATALOGUE: dict[str, dict[str, str]] = {
    "FLEX 2010": {
        "figure 1": f"{_DRAWING}: kinds of penalties",
        "figure 2": f"{_DRAWING}: moldable and malleable jobs",
        "figure 3": f"{_CODE}: kernel/malleable_packing",
        "figure 4": f"{_DRAWING}: a packing, without its numbers",
        "figure 5": "flex-fig5",
        "figure 6": "flex-fig6",
    },
    "FlowFlex 2013": {
        "figure 1": f"{_DRAWING}: the assignment layer",
        "figure 2": f"{_DRAWING}: kinds of penalties",
        "figure 3": f"{_CODE}: policy/flowflex",
        "figure 4": f"{_DRAWING}: stage 1",
        "figure 5": f"{_CODE}: kernel/deadline_greedy",
        "figure 6": f"{_CODE}: kernel/min_cost_flow",
        "figure 7": f"{_DRAWING}: the network of figure 6",
        "figure 8": f"{_CODE}: policy/flowflex",
        "figure 9": f"{_DRAWING}: stage 3",
        "figure 10": "flowflex-fig10",
        "figure 11": "flowflex-fig11",
        "figure 12": "flowflex-fig12",
    },
    "ASRPT 2013": {
        "figure 1": f"{_DRAWING}: section IV's arrivals, malleable.papers.asrpt_proofs.adversarial_jobs",
        "figure 2": f"{_DRAWING}: intervals of a work-conserving schedule",
        "figure 3": f"{_DRAWING}: a job in them",
        "figure 4": f"{_DRAWING}: ASRPT and DSRPT from SRPT",
        **{f"figure {k}": f"asrpt-fig{k}" for k in range(5, 14)},
    },
    "Lin et al. 2013": {
        "figure 1": f"{_DRAWING}: the two stations",
        **{f"figure {k}": f"overlap-fig{k}" for k in range(2, 5)},
        "figure 5": f"arrivals over {_TRACE}",
        "figure 6": f"sizes in {_TRACE}",
        "figure 7": "overlap-fig7",
        "figure 8": "the log-normal sizes that overlap-fig9 draws, without numbers of its own",
        "figure 9": "overlap-fig9",
    },
    "adaptive 2011": {
        "figure 1": f"{_DRAWING}: parts of the scheduler",
        "figure 2": "classes of tables 1 and 2, whose execution times are not printed",
        "figure 3": "the same without minimum shares",
        **{f"figure {k}": f"adaptive-fig{k}" for k in range(4, 10)},
        "table 1": f"example of users; {_SETUP}",
        "table 2": "example of their jobs, whose execution times are not printed",
        "table 3": f"the cluster; {_SETUP}",
        "table 4": f"workloads; {_SETUP}",
        "table 5": f"arrival rates; {_SETUP}",
        "table 6": "adaptive-table6",
        "table 7": "adaptive-table7",
    },
}
"""By paper and place in it."""


def listed() -> list[dict[str, Any]]:
    """One row a figure or table: paper, place, name (None: not reproduced), and what or why."""
    rows = []
    for paper, places in CATALOGUE.items():
        for place, told in places.items():
            own = FIGURES.get(told)
            name, shows = (None, told) if own is None else (told, own.shows)
            rows.append({"paper": paper, "place": place, "name": name, "shows": shows})
    return rows


def list_table() -> Table:
    """The same for people."""
    rows = listed()
    cells = [[str(value or "-") for value in row.values()] for row in rows]
    return table("Figures and tables of the papers", list(rows[0]), cells, left=len(rows[0]))
