"""Hypothesis strategies of small flows."""

import numpy as np
from hypothesis import strategies as st

from malleable import Flows


@st.composite
def whole_flows(draw, flows=3, jobs=3, work=3, most=3):
    """Per flow a list of (work, max_slots, parents), small whole numbers."""
    table = []
    for _ in range(draw(st.integers(1, flows))):
        rows = []
        for i in range(draw(st.integers(1, jobs))):
            parents = [p for p in range(i) if draw(st.booleans())]
            rows.append((draw(st.integers(1, work)), draw(st.integers(1, most)), parents))
        table.append(rows)
    return table


def as_flows(table, **columns):
    return Flows(
        [
            [
                {"name": f"j{i}", "work": w, "max_slots": m, "after": [f"j{p}" for p in parents]}
                for i, (w, m, parents) in enumerate(rows)
            ]
            for rows in table
        ],
        **columns,
    )


@st.composite
def any_flows(draw, arrivals=True):
    """Random DAGs with zero-work jobs, empty flows, weights, deadlines, steps."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(0, 6))
    table = []
    for _ in range(count):
        size = int(rng.integers(0, 7))
        rows = []
        for i in range(size):
            parents = [p for p in range(i) if rng.random() < 0.4]
            work = 0.0 if rng.random() < 0.15 else float(rng.choice([1.0, 2.5, rng.exponential(4)]))
            rows.append((work, int(rng.integers(1, 8)), parents))
        table.append(rows)
    late = arrivals and draw(st.booleans())
    return as_flows(
        table,
        arrival=rng.uniform(0, 10, count).round(1) if late else np.zeros(count),
        weight=rng.integers(0, 6, count).astype(float),
        deadline=np.where(rng.random(count) < 0.2, np.inf, rng.uniform(0, 15, count)),
        sla=[
            sorted({(float(t), float(k)) for k, t in enumerate(np.sort(rng.uniform(1, 20, 3)))})
            for _ in range(count)
        ],
    )
