"""Snapshots by simulation, against exact fractions and against plans."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from malleable.jobs.snapshot import snapshot
from tests.oracles.packing import waterline_allocation
from tests.oracles.snapshot import left_at

JOBS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 6), st.integers(1, 5)), min_size=1, max_size=7
)


def expected(rows, slots, at, policy):
    works, arrivals, maxima = zip(*rows, strict=True)

    def fair(there):
        return waterline_allocation(
            [0] * len(there), [maxima[r] for r in there], [1] * len(there), slots
        )

    def fifo(there):
        free, given = slots, []
        for row in there:
            given.append(min(free, maxima[row]))
            free -= given[-1]
        return given

    return left_at(works, arrivals, at, {"fair": fair, "fifo": fifo}[policy])


@pytest.mark.parametrize("policy", ["fair", "fifo"])
@given(rows=JOBS, slots=st.integers(1, 8), at=st.integers(0, 14))
def test_against_exact_fractions(policy, rows, slots, at):
    works, arrivals, maxima = (list(column) for column in zip(*rows, strict=True))
    jobs = mb.Jobs(works, arrival=arrivals, max_slots=maxima, weight=range(len(rows)))
    found = snapshot(jobs, slots, at, policy)
    left = expected(rows, slots, at, policy)
    there = [row for row, rest in enumerate(left) if rest is not None and rest > 1e-9]
    kept = dict(zip(found.name, found.work.tolist(), strict=True))
    for row, rest in enumerate(left):
        assert kept.get(f"job{row}", 0.0) == pytest.approx(float(rest or 0), abs=1e-9)
    assert {f"job{row}" for row in there} <= set(kept)
    for place, name in enumerate(found.name):
        row = int(name[3:])
        assert found.size[place] == works[row]
        assert found.arrival[place] == arrivals[row]
        assert found.max_slots[place] == maxima[row]
        assert found.weight[place] == row


@pytest.mark.parametrize("policy", ["fair", "fifo", "wdeq"])
def test_against_the_pieces_of_a_plan(policy):
    """Where all jobs come at once, a plan of the same policy says what is left."""
    rng = np.random.default_rng(5)
    jobs = mb.Jobs(
        rng.integers(1, 90, 40),
        min_slots=1,
        max_slots=rng.integers(1, 9, 40),
        weight=rng.random(40),
    )
    plan = mb.plan(jobs, 50, policy=policy)
    for at in (0.0, 0.5, 7.25, 1e6):
        p = plan.pieces
        done = np.clip(at - p["start"], 0, p["end"] - p["start"]) * p["slots"]
        left = jobs.work - np.bincount(p["job"], weights=done, minlength=40)
        found = snapshot(jobs, 50, at, policy)
        kept = dict(zip(found.name, found.work, strict=True))
        for row, rest in enumerate(left.tolist()):
            assert kept.get(f"job{row}", 0.0) == pytest.approx(rest, abs=1e-9)


def test_flex_and_what_has_gone():
    """Smith's order: the short job goes first; what has no work is never there."""
    jobs = mb.Jobs([10, 2, 0, 5], arrival=[0, 0, 0, 9], name=["a", "b", "c", "late"])
    found = snapshot(jobs, 2, 3, "flex")
    assert (found.name, found.work.tolist(), found.size.tolist()) == (("a",), [6.0], [10.0])
    stretch = mb.plan(found, 2, "sum:stretch", now=3.0)
    assert stretch.value == pytest.approx((3 + 3) / 10)
    assert len(snapshot(jobs, 2, -1.0)) == 0
    assert snapshot(jobs, 2, 9.0).name == ("late",)
    with pytest.raises(ValueError, match="policy = 'srpt'"):
        snapshot(jobs, 2, 3, "srpt")
    with pytest.raises(ValueError, match="slots = 0"):
        snapshot(jobs, 0, 3)
