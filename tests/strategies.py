"""Job tables for the tests: drawn by Hypothesis or by a seed, and as the oracles read them."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import malleable as mb
from malleable.validation import ALL_SLOTS
from tests.oracles import objectives as literal
from tests.oracles.packing import scale_minima

KINDS = literal.KINDS
AGGREGATES = ("sum", "max")
OBJECTIVES = tuple(f"{a}:{k}" for a in AGGREGATES for k in KINDS)
STRICT = ("sum:strict", "max:strict")  # may be infinite
POLICIES = ("flex", "fair", "fifo", "wdeq")
MIN_MODES = ("guarantee", "gang")


class Case(NamedTuple):
    """A table, the capacity and the moment of a decision."""

    jobs: mb.Jobs
    slots: int
    now: float

    def __repr__(self):
        """What rebuilds it, for failures that Hypothesis prints."""
        inf = float("inf")
        plain = {
            "arrival": 0.0,
            "min_slots": 0,
            "max_slots": ALL_SLOTS,
            "weight": 1.0,
            "deadline": inf,
        }
        jobs = self.jobs
        shown = [f"{jobs.work.tolist()}"]
        for name, value in plain.items():
            column = getattr(jobs, name).tolist()
            if any(x != value for x in column):
                shown.append(f"{name}={column}")
        if len(jobs.sla_time):
            shown.append(f"sla={jobs.sla}")
        if jobs.size.tolist() != jobs.work.tolist():
            shown.append(f"size={jobs.size.tolist()}")
        return f"slots={self.slots}, now={self.now}, mb.Jobs({', '.join(shown)})"


# As the oracles read a table -----------------------------------------------------------------------


def penalty_columns(jobs):
    """The keyword arguments with which the oracles evaluate penalties."""
    return {
        "arrival": jobs.arrival.tolist(),
        "size": jobs.size.tolist(),
        "weight": jobs.weight.tolist(),
        "deadline": jobs.deadline.tolist(),
        "sla": jobs.sla,
    }


def limits(jobs, slots, *, policy="flex", min_mode="guarantee"):
    """Minima and maxima that the policy obeys: none for FIFO, guarantees scaled where they must."""
    maximum = [min(int(m), slots) for m in jobs.max_slots]
    if policy == "fifo":
        return [0] * len(jobs), maximum
    if min_mode == "gang":
        return [
            int(m) if w > 0 else 0 for m, w in zip(jobs.min_slots, jobs.work, strict=True)
        ], maximum
    return scale_minima(jobs.work, jobs.min_slots, slots), maximum


def pieces_of(plan):
    """The plan's pieces as rows (job, start, end, slots)."""
    columns = (plan.pieces[name].tolist() for name in ("job", "start", "end", "slots"))
    return list(zip(*columns, strict=True))


def literal_value(objective, completion, jobs):
    """The objective of these completions by its definition."""
    return literal.value(objective, list(completion), **penalty_columns(jobs))


def with_deadlines(jobs):
    """The same table with a deadline for every job, as lateness demands."""
    late = np.where(np.isinf(jobs.deadline), 7.0, jobs.deadline)
    return mb.Jobs(
        jobs.work,
        arrival=jobs.arrival,
        min_slots=jobs.min_slots,
        max_slots=jobs.max_slots,
        weight=jobs.weight,
        deadline=late,
        sla=jobs.sla,
        size=jobs.size,
    )


# Hypothesis ----------------------------------------------------------------------------------------

TYPICAL_WORK = st.one_of(
    st.sampled_from([0.0, 1.0, 1.0, 2.0, 3.0, 12.0]),
    st.floats(0.01, 100.0, allow_subnormal=False),
)
EXTREME_WORK = st.sampled_from([0.0, 1e-9, 1e-3, 1.0, 1e3, 1e9, 1e15])
WEIGHTS = st.sampled_from([0.0, 0.25, 1.0, 1.0, 3.0, 10.0])


def _column(values, count):
    return st.lists(values, min_size=count, max_size=count)


@st.composite
def _steps(draw, times):
    chosen = sorted(set(draw(st.lists(times, max_size=3))))
    heights = sorted(draw(_column(st.sampled_from([0.0, 0.5, 0.5, 1.0, 2.0]), len(chosen))))
    return list(zip(chosen, heights, strict=True))


@st.composite
def cases(draw, min_jobs=0, max_jobs=12, most_slots=20, extreme=True, deadlines=False):
    """Any table that is valid at `now`: no work, ties, minima that do not fit, deadlines passed ...

    ``extreme`` admits work from 1e-9 to 1e15; ``deadlines`` gives every job one.
    """
    count = draw(st.integers(min_jobs, max_jobs))
    slots = draw(st.integers(1, most_slots))
    now = draw(st.sampled_from([0.0, 0.0, 0.0, 4.0, -3.0, 1000.0]))
    work = draw(_column(EXTREME_WORK if extreme and draw(st.booleans()) else TYPICAL_WORK, count))
    times = st.sampled_from([now - 2.0, now, now + 0.5, now + 1.0, now + 3.0, now + 20.0])
    high = draw(_column(st.sampled_from([1, 2, 3, slots, slots + 5, ALL_SLOTS]), count))
    style = draw(st.sampled_from(["none", "small", "any", "equal"]))
    low = [0] * count
    if style == "equal":
        low = [min(m, slots + 1) for m in high]
    elif style != "none":
        top = 2 if style == "small" else slots + 1
        low = [
            min(a, b) for a, b in zip(draw(_column(st.integers(0, top), count)), high, strict=True)
        ]
    due = draw(_column(times if deadlines else st.one_of(times, st.just(np.inf)), count))
    grown = draw(st.sampled_from([None, 1.0, 2.5]))
    jobs = mb.Jobs(
        work,
        arrival=draw(_column(st.sampled_from([now, now, now - 1.0, now - 7.5]), count)),
        min_slots=low,
        max_slots=high,
        weight=draw(_column(WEIGHTS, count)),
        deadline=due,
        sla=draw(_column(_steps(times), count)),
        size=None if grown is None else [w * grown for w in work],
    )
    return Case(jobs, slots, now)


# By a seed -----------------------------------------------------------------------------------------


def wild_case(rng, count):
    """The like of `cases` from a seed, ten times as fast."""
    slots = int(rng.integers(1, 21))
    now = float(rng.choice([0.0, 0.0, 4.0, -3.0, 1000.0]))
    kind = rng.integers(4)
    if kind == 0:
        work = rng.choice([0.0, 1e-9, 1e-3, 1.0, 1e3, 1e9, 1e15], count)
    elif kind == 1:
        work = rng.choice([0.0, 1.0, 2.0, 3.0, 12.0], count)
    else:
        work = np.exp(rng.normal(0, kind, count))
    times = now + np.array([-2.0, 0.0, 0.5, 1.0, 3.0, 20.0])
    high = rng.choice([1, 2, 3, slots, slots + 5, ALL_SLOTS], count)
    style = rng.integers(4)
    if style == 3:
        low = np.minimum(high, slots + 1)
    else:
        low = np.minimum(rng.integers(0, [1, 3, slots + 2][style], count), high)
    sla = []
    for _ in range(count):
        many = int(rng.integers(0, 4))
        chosen = np.sort(rng.choice(times, many, replace=False)).tolist()
        heights = np.sort(rng.choice([0.0, 0.5, 1.0, 2.0], many)).tolist()
        sla.append(list(zip(chosen, heights, strict=True)))
    jobs = mb.Jobs(
        work,
        arrival=now - rng.choice([0.0, 0.0, 1.0, 7.5], count),
        min_slots=low,
        max_slots=high,
        weight=rng.choice([0.0, 0.25, 1.0, 1.0, 3.0], count),
        deadline=rng.choice([*times, np.inf], count),
        sla=sla,
        size=work * float(rng.choice([1.0, 2.5])),
    )
    return Case(jobs, slots, now)


def random_jobs(
    rng, count, slots, *, now=0.0, minima="small", maxima="any", idle=0.0, steps=2, work=(0.2, 6.0)
):
    """A table whose deadlines and steps lie where they matter.

    ``minima``: none, small (fit), large (may not fit); ``maxima``: any, tight or all.
    """
    size = np.where(rng.random(count) < idle, 0.0, rng.uniform(*work, count))
    if maxima == "all":
        high = np.full(count, ALL_SLOTS)
    else:
        high = rng.integers(1, (max(1, slots // 2) if maxima == "tight" else slots) + 1, count)
    low = np.zeros(count, np.int64)
    if minima == "small":
        each = max(1, slots // max(1, count))
        low = np.minimum(rng.integers(0, each + 1, count), high)
        while low.sum() > slots:
            low[int(np.argmax(low))] -= 1
    elif minima == "large":
        low = np.minimum(rng.integers(0, slots + 1, count), high)
    horizon = max(size.sum() / slots, 0.1)
    sla = []
    for _ in range(count):
        many = int(rng.integers(0, steps + 1))
        times = np.sort(now + rng.uniform(0, 1.2 * horizon, many))
        sla.append(
            list(zip(times.tolist(), np.cumsum(rng.uniform(0, 1, many)).tolist(), strict=True))
        )
    return mb.Jobs(
        size,
        arrival=now - rng.uniform(0, 1, count),
        min_slots=low,
        max_slots=high,
        weight=rng.uniform(0.1, 1, count),
        deadline=now + rng.uniform(0, 1.2 * horizon, count),
        sla=sla,
        size=size * rng.uniform(1, 2, count),
    )
