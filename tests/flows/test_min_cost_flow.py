"""The min-cost flow against a linear program, and its duals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from malleable.flows.kernels import min_cost_flow
from tests.oracles.flow_schedules import min_cost_flow_value


def random_costs(rng, flows, cells, time):
    """Rows of piecewise-linear costs that never fall, and the matrix that they stand for."""
    offset, first, value, slope = [0], [], [], []
    cost = np.empty((flows, cells))
    for j in range(flows):
        starts = (
            [0, *sorted(set(rng.integers(1, cells, rng.integers(0, 4)).tolist()))]
            if cells > 1
            else [0]
        )
        level = float(rng.choice([0.0, rng.uniform(0, 3)]))
        for k, start in enumerate(starts):
            rise = float(rng.choice([0.0, rng.uniform(0, 2), 1.0]))
            end = starts[k + 1] if k + 1 < len(starts) else cells
            first.append(start)
            value.append(level)
            slope.append(rise)
            span = time[start:end] - time[start]
            cost[j, start:end] = level + rise * span
            last = time[end] if end < cells else time[-1]
            level += rise * (last - time[start]) + float(rng.choice([0.0, rng.uniform(0, 2)]))
        offset.append(len(first))
    return offset, first, value, slope, cost


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 14), st.booleans())
def test_value_of_a_linear_program_and_certificate(seed, flows, cells, whole):
    rng = np.random.default_rng(seed)
    time = np.cumsum(rng.uniform(0.1, 2.0, cells)) - 0.05
    volume = rng.integers(0, 5, flows).astype(float) if whole else rng.exponential(2.0, flows)
    room = rng.integers(1, 5, cells).astype(float) if whole else rng.uniform(0.5, 3.0, cells)
    short = volume.sum() - room.sum()
    if short > 0:
        room[-1] += short * rng.choice([1.0, 2.0])
    offset, first, value, slope, cost = random_costs(rng, flows, cells, time)
    found = min_cost_flow(volume, time, room, offset, first, value, slope)
    expected = min_cost_flow_value(volume, room, cost)
    scale = 1e-9 * (1.0 + abs(expected))
    assert abs(found.value - expected) <= scale
    assert abs(found.bound - expected) <= scale

    amounts = np.zeros((flows, cells))
    np.add.at(amounts, (found.flow, found.cell), found.amount)
    assert amounts.min(initial=0.0) >= 0.0
    assert np.allclose(amounts.sum(axis=1), volume, rtol=1e-9, atol=1e-9)
    assert np.all(amounts.sum(axis=0) <= room * (1 + 1e-9) + 1e-9)
    assert abs((amounts * cost).sum() - found.value) <= scale
    # Duals: prices never rise, no reduced cost is negative, none is positive where work is done.
    price, potential = found.price, found.potential
    assert np.all(price >= 0.0) and np.all(np.diff(price) <= 1e-12 * (1 + price.max()))
    reduced = cost + price - potential[:, None]
    assert reduced.min() >= -1e-9 * (1 + cost.max())
    assert (reduced * amounts).sum() <= scale
    assert abs(volume @ potential - room @ price - found.bound) <= scale


def test_nobody_has_work():
    found = min_cost_flow([0.0, 0.0], [0.0], [1.0], [0, 1, 2], [0, 0], [1.0, 2.0], [0.0, 0.0])
    assert (found.value, found.bound, len(found.amount)) == (0.0, 0.0, 0)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"volume": [-1.0]}, "volume"),
        ({"volume": [9.0]}, "room"),
        ({"room": [0.0, 1.0]}, "room"),
        ({"time": [1.0, 0.0]}, "time"),
        ({"slope": [-1.0]}, "slope"),
        ({"from_cell": [1]}, "from_cell"),
        ({"offset": [0, 2]}, "offset"),
    ],
)
def test_wrong_input_is_named(change, field):
    given_columns = {
        "volume": [1.0],
        "time": [0.0, 1.0],
        "room": [1.0, 1.0],
        "offset": [0, 1],
        "from_cell": [0],
        "value": [0.0],
        "slope": [1.0],
    } | change
    with pytest.raises(ValueError, match=field):
        min_cost_flow(**given_columns)
