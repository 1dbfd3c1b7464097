"""What a scheduler was told, given to a fresh one."""

import gzip

import numpy as np
import pytest

import malleable as mb
from malleable.cluster.events import COLUMNS, EventWriter, cluster_header
from malleable.cluster.jobs_from_events import jobs_from_events
from tests.cluster.cluster_runs import nodes
from tests.cluster.task_engine import FLOWS, POLICIES, Engine, instance


def recorded(path, policy, cluster, **options):
    scheduler = mb.Scheduler(cluster, policy, record=path, **options)
    Engine(instance(4, 15), cluster, scheduler).run()
    scheduler.close()


@pytest.mark.parametrize("policy", [*POLICIES, *FLOWS])
def test_a_fresh_scheduler_decides_the_same(tmp_path, policy):
    cluster = mb.Cluster([{"count": 3, "slots": 3}], users=[{"name": "ann", "minimum": 1}])
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        recorded(path, policy, cluster, ageing=20.0)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    found = mb.replay(paths[0])
    assert found.same and found.jobs == 15 and found.decisions > 20
    assert (found.recorded, found.policy, found.differing) == (policy, policy, 0)
    beside = mb.replay(paths[0], "srpt" if policy == "fifo" else "fifo")
    assert beside.same and 0 <= beside.differing <= beside.decisions
    assert (beside.moved > 0) == (beside.differing > 0)
    assert mb.replay(paths[0], policy).differing == 0 or policy.startswith("adaptive")


def test_speedups_of_jobs_are_replayed(tmp_path):
    def straightest(state, now):
        """All slots to the job that they help most."""
        slots = np.zeros(len(state.ids), dtype=np.int64)
        free = 4
        for row in np.argsort(-state.speedup, kind="stable"):
            slots[row] = min(free, state.max_slots[row])
            free -= slots[row]
        return slots

    path = tmp_path / "events"
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), straightest, record=path)
    ids = scheduler.add(mb.ClusterJobs([9, 9], 1.0, speedup=[0.3, 0.9]), 0.0)
    decided = scheduler.decide(0.0)
    assert dict(zip(decided.ids.tolist(), decided.slots.tolist(), strict=True)) == {ids[1]: 4}
    scheduler.close()
    assert mb.replay(path, recorded=straightest).same


def test_every_call_is_replayed(tmp_path):
    path = tmp_path / "events"
    cluster = mb.Cluster(
        [{"count": 2, "map_slots": 3, "reduce_slots": 1, "storage": 1e8}],
        users=[{"name": "ann"}, {"name": "bob"}],
    )
    scheduler = mb.Scheduler(cluster, "flex", record=path, replicas=1, delay=1.0, split_copy=True)
    ids = scheduler.add(mb.ClusterJobs([4, 3, 2], 5.0, 1, 2.0, user=["ann", "bob", "cid"]), 0.0)
    scheduler.set_blocks(ids[0], [[0], [1], [0], [1]])
    scheduler.set_users({"ann": (1.0, 2.0)})
    scheduler.decide(0.0)
    starts = scheduler.assign(0.0, 3)
    scheduler.failed(starts.ids[:1], starts.phase[:1], task=starts.task[:1], now=1.0)
    scheduler.ended(starts.ids[1:3], seconds=[3.0, 4.0], now=4.0)
    scheduler.update(ids[:2], weight=[2.0, 3.0], map_seconds=[7.0, 1.0])
    scheduler.observe(ids[1:2], pending=[[1, 1]], running=[[1, 0]], done=[[1, 0]], now=5.0)
    scheduler.set_slots([1], 0)
    scheduler.ready(ids[:1])
    scheduler.started(ids[:1], 1)
    scheduler.decide(6.0)
    scheduler.remove(ids[2:])
    scheduler.finish(ids[1:2])
    scheduler.decide(7.0)
    scheduler.close()
    found = mb.replay(path, "fair")
    assert found.same and (found.jobs, found.calls, found.decisions) == (3, 16, 3)


def test_a_record_is_simulated(tmp_path):
    path = tmp_path / "events"
    jobs = mb.ClusterJobs(
        [9, 4, 6], [3.0, 5.0, 2.0], arrival=[0.0, 1.0, 2.0],
        weight=[1.0, 2.0, 1.0],
    )  # fmt: skip
    cluster = mb.Cluster([{"count": 2, "slots": 3}])
    options = {"slow_start": 1.0, "epoch": 0.0, "rng": 1}
    scheduler = mb.Scheduler(cluster, "fair", record=path, slow_start=1.0)
    Engine(jobs, cluster, scheduler).run()
    scheduler.close()
    for policy in ("fair", "flex"):
        again = mb.simulate(path, policy, **options)
        wanted = mb.simulate(jobs, policy, cluster=cluster, **options)
        np.testing.assert_allclose(
            again.records["completion"], wanted.records["completion"], rtol=1e-12
        )
    # Of what was not seen there is the estimate; seconds count on a node of rate 1.
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 2, "rate": 2.0}]), record=path)
    ids = scheduler.add(mb.ClusterJobs([3], 5.0), 0.0)
    scheduler.ended(ids, seconds=1.0, node=0, now=2.0)
    scheduler.add(mb.ClusterJobs([1], 7.0), 3.0)
    scheduler.close()
    found, _ = jobs_from_events(path)
    assert (found.map_work.tolist(), found.arrival.tolist()) == ([6.0, 7.0], [0.0, 0.0])


def test_what_was_lost_runs_again():
    scheduler = mb.Scheduler(nodes(4), "fair")
    ids = scheduler.add(mb.ClusterJobs([3], 2.0, 1, 5.0), 0.0)
    scheduler.ended(ids, count=3, seconds=2.0, now=2.0)
    assert scheduler.lost(ids, count=2, now=3.0) == 0
    counts = scheduler.counts(ids)
    assert [counts[k][0, 0] for k in ("waiting", "running", "finished")] == [2, 0, 1]
    assert scheduler.lost(ids, count=5) == 4
    with pytest.raises(ValueError, match=r"^phase\[0\] = 1"):
        scheduler.lost(ids, 1)


def test_files_that_are_none(tmp_path):
    path = tmp_path / "events"
    recorded(path, "fair", nodes(2))
    whole = path.read_bytes()
    inside = gzip.decompress(whole)
    for bad, fault in (
        (b"", "not a file of events"),
        (b"x" * 50, "not a file of events"),
        (whole[:-20], "not a file of events, or cut"),
        (gzip.compress(b"malleable events 2\n{}\n"), "of a version"),
        (gzip.compress(inside[:19] + b"{}\n"), "header is damaged"),
        (gzip.compress(inside[:-3]), r"call \d+ is cut or damaged"),
        (gzip.compress(inside + b"\xff\x01"), r"call \d+ is cut or damaged"),
    ):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=fault):
            mb.replay(path)


def test_a_column_that_nothing_reads_is_refused(tmp_path):
    """What a call has and a replay leaves out would make other decisions without a word."""
    path, header = (
        tmp_path / "events",
        {"policy": "fair", "objective": "sum:response", "options": {}},
    )
    header["cluster"] = cluster_header(nodes(2))
    writer = EventWriter(path, header)
    writer.write("finish", {"now": [0.0], "ids": [], "weight": [2.0]})
    writer.close()
    with pytest.raises(ValueError, match="call 1 has a column 'weight' that it cannot have"):
        mb.replay(path)


def test_jobs_must_come_with_the_ids_that_were_recorded(tmp_path):
    path = tmp_path / "events"
    scheduler = mb.Scheduler(nodes(2), "fair", record=path)
    scheduler.add(mb.ClusterJobs([3], 1.0), 0.0)
    scheduler.close()
    inside = gzip.decompress(path.read_bytes())
    code = bytes([COLUMNS.index("ids")])
    at = inside.index(code + b"\x03\x01\0\0\0")  # one id in a byte
    path.write_bytes(gzip.compress(inside[: at + 6] + b"\x07" + inside[at + 7 :]))
    with pytest.raises(ValueError, match="call 1 is cut or damaged"):
        mb.replay(path)


def test_a_function_has_to_be_given_again(tmp_path):
    def level(state, now):
        return np.minimum(state["max_slots"], 2)

    path = tmp_path / "events"
    recorded(path, level, nodes(2, 1, 3))
    assert mb.replay(path, recorded=level).same
    with pytest.raises(ValueError, match=r"^policy = 'level'"):
        mb.replay(path)
