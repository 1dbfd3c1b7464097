"""The instances that measurements name are what they are said to be."""

import numpy as np
import pytest

import malleable as mb
from benchmarks import instances
from malleable.domain import ALL_SLOTS
from malleable.flows.kernels import flow_chains, min_cost_flow


def test_section41():
    for seed in (0, 7):
        base, slots = instances.section41_base(seed)
        assert (len(base), slots) == (10, 100)
        assert set(base.weight) == {1.0}
        assert set(base.max_slots) == {ALL_SLOTS}
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


@pytest.mark.parametrize(
    ("which", "own"),
    [("tardiness", False), ("mixed", False), ("steady", False), ("tardiness", True)],
)
def test_kinds(which, own):
    stream = instances.KindStream(90, which, own=own)
    assert stream.change() is None
    plan = stream.decide().plan()
    assert plan.allocation.sum() == 900
    kind = "custom" if own else which if which == "tardiness" else "mixed"
    assert plan.objective == f"sum:{kind}"


def test_flows():
    for seed in (0, 3):
        flows, slots = instances.section51_base(seed)
        assert slots == 25 and 5 <= len(flows) <= 20
        jobs = np.diff(flows.job_offset)
        assert jobs.min() >= 2 and jobs.max() <= 20
        assert set(flows.weight) <= set(range(1, 11))
        # Times are in units of the mean Q, and every deadline lies between Q and 2 Q.
        chains = flow_chains(flows, slots)
        path = np.add.reduceat(chains.length, chains.offset[:-1])
        alone = np.maximum(path, flows.volume() / slots)
        assert alone.mean() == pytest.approx(1.0)
        assert np.all((flows.deadline >= alone * (1 - 1e-9)) & (flows.deadline <= 2 * alone))
        # Whatever nobody waits for precedes the last job.
        waited = np.zeros(len(flows.work), dtype=bool)
        waited[flows.parent] = True
        assert np.flatnonzero(~waited).tolist() == (flows.job_offset[1:] - 1).tolist()
    many, _ = instances.flows_instance(30)
    assert len(many) == 30 and len(many.work) == 600


@pytest.mark.parametrize("kind", ["completion", "tardiness", "sla"])
def test_cell_network(kind):
    columns = {k: np.asarray(v) for k, v in instances.cell_network(20, 30, kind).items()}
    assert columns["volume"].sum() <= columns["room"].sum()
    found = min_cost_flow(**columns)
    assert found.value == pytest.approx(found.bound)


def test_cluster_stream():
    jobs, cluster = instances.cluster_stream()
    assert len(jobs) == 20_000
    assert 0.8e6 < jobs.maps.sum() + jobs.reduces.sum() < 1.4e6
    span = np.ptp(jobs.arrival)
    assert jobs.map_work.sum() / (span * cluster.map_slots.sum()) == pytest.approx(0.7, rel=0.01)


def test_shortest_first():
    for generic in (False, True):
        jobs, cluster = instances.shortest_first(3, generic)
        span = np.ptp(jobs.arrival)
        assert (len(jobs), cluster.generic) == (800, generic)
        assert jobs.reduces.tolist() == np.ceil(0.3 * jobs.maps).tolist()
        work = jobs.map_work.sum() + (jobs.reduce_work.sum() if generic else 0.0)
        assert work / (span * cluster.map_slots.sum()) == pytest.approx(0.9, rel=0.05)
        assert np.log(jobs.map_seconds).std() == pytest.approx(1.0, rel=0.1)


def test_other_cluster_instances():
    jobs, cluster = instances.cluster_overload()
    work = jobs.map_work.sum() / (np.ptp(jobs.arrival) * cluster.map_slots.sum())
    assert work > 1
    jobs, cluster = instances.cluster_flow_stream()
    assert len(jobs) == 300
    assert len(set(jobs.flow)) == 60
    assert cluster.generic
    jobs, cluster = instances.cluster_section51()
    assert len(set(jobs.flow)) == 20
    assert cluster.generic and cluster.map_slots.sum() == 25
    assert set(jobs.reduces) == {0}


def test_what_is_matched():
    arrival, execution, member = instances.matching_instance(5, 24, 8)
    assert arrival.shape == (5,)
    assert execution.shape == (5, 24)
    assert member.tolist() == [*range(8)] * 3
    assert np.array_equal(execution[:, :8], execution[:, 16:])
    assert np.array_equal(instances.matching_instance(5, 24, 8)[1], execution)


def test_network_stream():
    jobs, cluster = instances.network_stream(20, 40)
    assert (len(jobs), len(cluster)) == (20, 40)
    assert (jobs.shuffle_bytes == 64e6 * jobs.maps).all()
    nodes = np.bincount(cluster.rack)
    assert np.allclose(cluster.rack_link, nodes * 1.25e8 / 8)
    options = instances.NETWORK_OPTIONS
    summary = mb.simulate(jobs, "fair", cluster=cluster, **options).summary["fair"]
    assert summary["rack_utilisation"] > summary["link_utilisation"] > 0
