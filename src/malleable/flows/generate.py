"""Generated flows (graphs of jobs): the set-up of the experiments with FlowFlex, a policy for flows, in section
5.1 of Nagarajan et al. 2013."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from malleable.flows.table import Flows
from malleable.validation import check_ends

_BIG, _TALL, _WIDE = 0.25, 0.3, 0.3  # probabilities that a flow is so
_EDGE = 0.5  # probability that a job waits for an earlier one of its flow
_MOST_STEPS = 5  # of an SLA
_MOST = 10**6  # flows, and jobs of a flow


def section51_flows(
    rng: np.random.Generator | int | None = None,
    *,
    slots: int = 25,
    flows: int | tuple[int, int] = (5, 20),
    jobs: int | tuple[int, int] = (2, 20),
    weighted: bool = True,
    scaled: bool = True,
) -> Flows:
    """Random flows as in Nagarajan et al. 2013, section 5.1.

    Parameters
    ----------
    rng : numpy Generator, seed or None
    slots : int
        Capacity: the maximum of jobs in flows that are "tall".
    flows, jobs : int or (int, int)
        Number of flows, and of jobs in a flow; both ends included.
    weighted : bool
        Weights from 1 to 10; otherwise 1.
    scaled : bool
        Times in units of the mean Q, where Q is the larger of a flow's critical path and its total
        load (the smallest completion it can have); otherwise in seconds.

    Returns
    -------
    Flows
        With deadlines Q + U(0, Q) and one to five SLA steps, the first at such a time, the others
        U(0, Q) apart, each one more than the one before.

    Notes
    -----
    The paper says what is drawn, not from what. Ours: a job waits for each earlier one of its flow with
    probability 1/2, and jobs for which no job waits precede the last one; a job takes U(1, 10) seconds at
    its maximum, four times as long in a flow that is "wide" (probability 0.3); its maximum is U{1..5}, or
    all slots in a flow that is "tall" (0.3); a "big" flow (0.25) has three times the work.
    """
    fewest, most = check_ends("jobs", jobs, 1, _MOST)
    generator = np.random.default_rng(rng)
    count = int(generator.integers(*check_ends("flows", flows, 1, _MOST), endpoint=True))
    tables: list[list[dict[str, Any]]] = []
    alone = np.empty(count)
    for k in range(count):
        size = int(generator.integers(fewest, most, endpoint=True))
        table, alone[k] = _flow(generator, size, slots)
        tables.append(table)
    if scaled:
        unit = alone.mean()
        alone /= unit
        for job in itertools.chain.from_iterable(tables):
            job["work"] /= unit
    deadline = alone * generator.uniform(1.0, 2.0, count)
    steps = generator.integers(1, _MOST_STEPS + 1, count).tolist()
    sla = []
    for own, number in zip(alone, steps, strict=True):
        times = own + np.cumsum(own * generator.uniform(0.0, 1.0, number))
        sla.append([(time, step + 1.0) for step, time in enumerate(times.tolist())])
    weight = generator.integers(1, 11, count).astype(np.float64)
    return Flows(tables, weight=weight if weighted else 1.0, deadline=deadline, sla=sla)


def _flow(
    generator: np.random.Generator, size: int, slots: int
) -> tuple[list[dict[str, Any]], float]:
    # Jobs of a flow, and Q.
    big, tall, wide = (generator.random() < share for share in (_BIG, _TALL, _WIDE))
    maxima = np.full(size, slots) if tall else np.minimum(generator.integers(1, 6, size), slots)
    seconds = generator.uniform(1.0, 10.0, size) * (4.0 if wide else 1.0) * (3.0 if big else 1.0)
    if tall:  # the same work on more slots
        seconds *= generator.integers(1, 6, size) / slots
    above = np.triu(generator.random((size, size)) < _EDGE, 1)
    above[:-1, -1] |= ~above[:-1].any(axis=1)
    end = np.zeros(size)
    for row in range(size):
        end[row] = end[:row][above[:row, row]].max(initial=0.0) + seconds[row]
    work = seconds * maxima
    jobs: list[dict[str, Any]] = [
        {
            "name": f"job{row}",
            "work": work[row],
            "max_slots": int(maxima[row]),
            "after": [f"job{p}" for p in np.flatnonzero(above[:, row])],
        }
        for row in range(size)
    ]
    return jobs, max(float(end.max()), float(work.sum()) / slots)
