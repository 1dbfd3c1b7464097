"""The instances that measurements name are what they are said to be."""

import ast
import io
import json
from pathlib import Path

import numpy as np
import pytest

import malleable as mb
from benchmarks import instances
from malleable.validation import ALL_SLOTS

ROOT = Path(__file__).resolve().parent.parent


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
    assert plan.slots.sum() == 900
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
        end = flows.work / np.minimum(flows.max_slots, slots)
        for row in range(len(end)):
            end[row] += end[flows.after(row)].max(initial=0.0)
        path = np.maximum.reduceat(end, flows.job_offset[:-1])
        alone = np.maximum(path, flows.volume() / slots)
        assert alone.mean() == pytest.approx(1.0)
        assert np.all((flows.deadline >= alone * (1 - 1e-9)) & (flows.deadline <= 2 * alone))
        # Whatever nobody waits for precedes the last job.
        waited = np.zeros(len(flows.work), dtype=bool)
        waited[flows.parent] = True
        assert np.flatnonzero(~waited).tolist() == (flows.job_offset[1:] - 1).tolist()
    many, _ = instances.flows_instance(30)
    assert len(many) == 30 and len(many.work) == 600


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


def test_loops():
    jobs, slots = instances.periodic_jobs(3, 0.9, 2.0)
    assert (len(jobs), slots) == (400, 100)
    assert set(jobs.weight) == set(range(1, 10))
    assert (jobs.max_slots.min(), jobs.max_slots.max()) == (1, 64)
    slack = (jobs.deadline - jobs.arrival - 4.0) / (jobs.work / jobs.max_slots)
    assert slack.min() >= 1.5 and slack.max() <= 6.0
    assert pytest.approx(4.586, abs=1e-3) == instances.SERVICE
    gaps = [np.diff(instances.periodic_jobs(seed, 0.9)[0].arrival).mean() for seed in range(10)]
    assert np.mean(gaps) * 100 * 0.9 == pytest.approx(np.exp(3 + 1.5**2 / 2), rel=0.05)
    # The same jobs for any period, but for their deadlines.
    other, _ = instances.periodic_jobs(3, 0.9, 1.0)
    assert other.work.tolist() == jobs.work.tolist()
    assert other.deadline + 2.0 == pytest.approx(jobs.deadline)
    errors = np.log(instances.periodic_errors(3, 0.5))
    assert errors.std() == pytest.approx(0.5, rel=0.1)


def test_flows_that_are_held():
    flows, slots = instances.periodic_flows(3)
    assert (len(flows), slots) == (80, 50)
    sizes = np.diff(flows.job_offset)
    assert (sizes.min(), sizes.max()) == (3, 8)
    assert (flows.max_slots.min(), flows.max_slots.max()) == (1, 29)
    pairs = (sizes * (sizes - 1) / 2).sum()
    assert len(flows.parent) / pairs == pytest.approx(0.35, abs=0.05)
    assert instances.periodic_flows(3)[0].work.tolist() == flows.work.tolist()


@pytest.mark.parametrize(("jobs", "load"), [(500, 0.9), (1500, 1.2)])
def test_loop_with_deadlines(jobs, load):
    table, slots = instances.due_stream(2, jobs, load)
    assert (len(table), slots) == (jobs, 100)
    assert (table.arrival == 0).sum() == round(0.3 * jobs)
    slack = table.deadline - table.arrival - table.work / table.max_slots
    unit = 0.35 * table.work.sum() / 100
    assert 0.05 * unit <= slack.min() and slack.max() <= 1.2 * unit
    span = table.arrival.max() * 100 * load / (0.7 * jobs)
    assert span == pytest.approx(np.exp(3 + 1.5**2 / 2), rel=0.15)


def test_tables_with_deadlines():
    for g in (1.0, 0.35):
        table, slots = instances.due_table(1000, g)
        assert (len(table), slots) == (1000, 100)
        slack = table.deadline - table.work / table.max_slots
        assert slack.max() <= 1.2 * g * table.work.sum() / slots
        assert slack.min() >= 0.05 * g * table.work.sum() / slots
    steps, _ = instances.due_steps(100, 0.35)
    assert [len(own) for own in steps.sla] == [3] * 100
    assert steps.work.tolist() == instances.due_table(100, 1.0)[0].work.tolist()


def test_small_runs():
    even, cluster, said = instances.small_run(1)
    assert (len(even), cluster.map_slots.sum(), said.max()) == (6, 24, 0.0)
    totals = [instances.small_run(seed)[0].maps.sum() for seed in range(50)]
    assert np.mean(totals) == pytest.approx(200, rel=0.1)
    wrong, _, said = instances.small_run(1, "wrong")
    assert wrong.map_seconds.tolist() == even.map_seconds.tolist()
    off = np.log10(said[:, 0] * wrong.maps / wrong.map_work)
    assert np.abs(np.abs(off) - 1).max() < 0.1
    drift, _, _ = instances.small_run(1, "drift")
    first = drift.map_seconds[: drift.maps[0]]
    assert first[-1] == pytest.approx(8 * first[0])
    heavy, _, _ = instances.small_run(1, "heavy")
    parts = np.split(np.log(heavy.map_seconds), np.cumsum(heavy.maps)[:-1])
    assert np.mean([part.std() for part in parts]) == pytest.approx(1.5, rel=0.25)


def test_streams_and_two_phases():
    jobs, cluster = instances.stream(1, 300)
    span = jobs.arrival.max()
    assert jobs.map_work.sum() / (span * 24) == pytest.approx(0.8, rel=0.15)
    mixed, _ = instances.mixed_stream(1, 300)
    even = [int(name[7:]) % 2 == 0 for name in mixed.program]
    assert [p == 1.0 for p in mixed.speedup] == even
    jobs, cluster = instances.two_phase(1, 1.0)
    assert (len(jobs), cluster.map_slots.sum(), cluster.reduce_slots.sum()) == (900, 60, 30)
    assert jobs.maps.max() <= 200
    assert jobs.reduces.tolist() == np.maximum(jobs.maps // 4, 1).tolist()
    loads = np.array([jobs.map_work.sum() / 60, jobs.reduce_work.sum() / 30]) / jobs.arrival.max()
    assert loads.max() == pytest.approx(0.8, rel=0.1)
    alike, _ = instances.two_phase(1, 0.0)
    assert np.ptp(alike.map_seconds[: alike.maps[0]]) == pytest.approx(0.0)
    sizes = {len(instances.short_history(seed)[0]) for seed in range(60)}
    assert min(sizes) >= 17 and max(sizes) <= 46


def test_speeds_and_programs():
    jobs, cluster = instances.mixed_speeds(1)
    rates = cluster.rate @ cluster.map_slots
    assert (rates, sorted(set(cluster.rate.tolist()))) == (160.0, [1.0, 4.0])
    assert jobs.map_work.sum() / (jobs.arrival.max() * rates) == pytest.approx(0.8, rel=0.15)
    single, _ = instances.single_tasks(2_000)
    assert set(single.maps) == {1} and len(set(single.program)) == 20
    jobs, _ = instances.changing_times(1)
    mean = jobs.map_work / jobs.maps
    for program in set(jobs.program):
        own = [row for row in range(600) if jobs.program[row] == program]
        before = np.mean([mean[row] for row in own if row < 300])
        after = np.mean([mean[row] for row in own if row >= 300])
        assert abs(np.log(after / before)) == pytest.approx(np.log(5.0), rel=0.15)


def test_workflows_of_traces():
    if instances.traces() is None:
        pytest.skip("no folder of traces")
    jobs, cluster = instances.tpch_stream(1, 0.8, 23, 20)
    assert len(set(jobs.flow)) == 20
    assert cluster.map_slots.sum() == 23
    assert instances.tpch_stream(1, 0.8, 23, 20)[0].arrival.tolist() == jobs.arrival.tolist()
    facebook, slots = instances.facebook_due(0.35, jobs=500)
    assert len(facebook) == 500 and 0 < slots < 3000


def test_files_of_research(tmp_path):
    (tmp_path / "hawk").write_text("7 2 3.0 2.5 3.5\n5 1 4 4\n")
    jobs = instances.hawk_jobs(tmp_path / "hawk")
    assert (jobs.arrival.tolist(), jobs.map_work.tolist()) == ([5, 7], [4, 6])
    tasks = [{"id": 2, "parents": [1], "instances": 3.0, "duration": 2.0, "start_time": 90},
             {"id": 1, "instances": None, "actual_duration": 1, "start_time": 80}]  # fmt: skip
    lines = [{"job": "j1", "tasks": tasks}, {"job": "j0", "tasks": [{"id": 1, "duration": 5}]}]
    (tmp_path / "dags").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    flows = instances.alibaba_flows(tmp_path / "dags")
    assert (flows.name, flows.arrival.tolist()) == (("j0", "j1"), [0, 80])
    assert (flows.work.tolist(), flows.after(1)) == ([5, 6, 1], [2])
    assert len(instances.alibaba_flows(tmp_path / "dags", most=1)) == 1
    if instances.traces() is not None:
        queries = instances.tpch_flows(instances.traces() / "tpch-cloudlab")
        assert (len(queries), len(queries.work)) == (22, 171)


def test_worlds_of_copying_are_at_their_loads():
    for number in range(90):
        jobs, cluster = instances.copying_world(number, 60)
        maps, reduces = jobs.map_work.sum(), jobs.reduce_work.sum()
        slots = cluster.map_slots.sum(), cluster.reduce_slots.sum()
        kinds = ((60, 30), (60, 60), (90, 0))[number // 3 % 3]
        assert cluster.generic == (kinds[1] == 0)
        assert slots[0] == kinds[0] and (cluster.generic or slots[1] == kinds[1])
        busy = (
            (maps + reduces) / 90 if cluster.generic else max(maps / slots[0], reduces / slots[1])
        )
        load = busy / jobs.arrival[-1]
        # Sixty gaps differ from their mean.
        assert load == pytest.approx((0.5, 0.8, 0.95)[number % 3], rel=0.5)
        assert jobs.shuffle[0] == pytest.approx((0.3, 3.0)[number // 9 % 2] * 12.18, rel=1e-3)


def test_an_operators_week():
    rows = instances.operator_week(2_000).splitlines()
    assert rows[0] == "user,arrival,maps,map_seconds,reduces,reduce_seconds" and len(rows) == 2_001
    jobs = mb.read(io.StringIO("\n".join(rows))).tasks()
    assert jobs.arrival[-1] == pytest.approx(7 * 86400.0, rel=0.1)
    work = jobs.map_work.mean() + jobs.reduce_work.mean()
    assert 200_000 * work / (7 * 86400.0) == pytest.approx(0.9 * 110, rel=0.1)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "benchmarks").rglob("*.py")), ids=lambda path: path.name
)
def test_benchmarks_name_instances_that_there_are(path):
    used = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "benchmarks.instances":
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "instances":
            used.add(node.attr)
    assert {name for name in used if not hasattr(instances, name)} == set()
