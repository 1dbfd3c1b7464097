"""The instances that measurements name are what they are said to be."""

import numpy as np
import pytest

import malleable as mb
from benchmarks import instances


def test_section41():
    for seed in (0, 7):
        base, slots = instances.section41_base(seed)
        assert (len(base), slots) == (10, 100)
        assert set(base.weight) == {1.0}
        assert set(base.max_slots) == {mb.ALL_SLOTS}
        assert base.min_slots.min() >= 1
        tight, _ = instances.section41_tight(seed)
        assert tight.work.tolist() == base.work.tolist()
        assert (
            tight.max_slots.tolist() == np.minimum(np.ceil(300 * tight.work / 10_000), 100).tolist()
        )
    weighted, _ = instances.section41_base(0, weighted=True)
    assert len(set(weighted.weight)) == 10
    assert len(instances.SEEDS) == 100


@pytest.mark.parametrize("jobs", instances.LARGER)
def test_larger(jobs):
    table, slots = instances.section41_larger(jobs, 0)
    assert (len(table), slots) == (jobs, 10 * jobs)
    assert table.work.sum() == pytest.approx(100.0 * slots)


def test_what_the_kernels_are_timed_on():
    table, slots = instances.step_instance()
    assert (len(table), slots) == (1000, 10_000)
    assert len(table.sla_time) == 3000
    assert instances.step_instance()[0].work.tolist() == table.work.tolist()
    everything, slots = instances.objectives_instance(100)
    assert slots == 1000
    assert np.all(np.isfinite(everything.deadline))
    assert len(everything.sla_time) == 300
    for make in (instances.instance_a, instances.instance_b):
        assert len(make(instances.SIZES[0])[0]) == 1000
    stream = instances.decision_stream("b", 300)
    assert stream.change() is None
    assert stream.decide().slots.sum() == 30
