"""The policy gittins: who goes first follows from what jobs had."""

import numpy as np
import pytest

import malleable as mb
from tests.cluster.cluster_runs import nodes
from tests.cluster.task_engine import Copied, Engine, instance
from tests.oracles import ranked_tasks


def uneven(seed, count=60, load=0.9, slots=5):
    """Jobs of unlike sizes that share few slots."""
    rng = np.random.default_rng(seed)
    tasks = np.maximum(1, rng.lognormal(1.5, 1.2, count)).astype(int)
    seconds = rng.lognormal(1.0, 1.5, count)
    gaps = rng.exponential(np.mean(tasks * seconds) / (load * slots), count)
    return mb.ClusterJobs(tasks, seconds, arrival=np.cumsum(gaps))


@pytest.mark.parametrize("seed", range(4))
def test_jobs_end_when_the_oracle_says(seed):
    jobs, slots = uneven(seed), 5
    columns = [jobs.arrival.tolist(), jobs.maps.tolist(), jobs.map_seconds.tolist(), slots]
    gittins = ranked_tasks.Gittins()

    def rank(now, here, had):
        total = columns[1][0] and [n * s for n, s in zip(columns[1], columns[2], strict=True)]
        gittins.sizes = [size for size, own in zip(total, had, strict=True) if own > 0.999 * size]
        return gittins(now, here, had)

    expected = ranked_tasks.completions(*columns, rank)
    cluster = mb.Cluster([{"slots": slots}])
    found = mb.simulate(jobs, "gittins", cluster=cluster, epoch=0, rng=1)
    np.testing.assert_allclose(found.records["completion"], expected, rtol=1e-9)


def test_the_oracles_differ():
    jobs = uneven(1)
    ends = [
        mb.simulate(jobs, policy, cluster=mb.Cluster([{"slots": 5}]), epoch=0, rng=1)
        for policy in ("gittins", "fifo", "srpt", "fair")
    ]
    found = {tuple(r.records["completion"].tolist()) for r in ends}
    assert len(found) == len(ends)


def bimodal(history):
    """Which of two jobs that had 3 s and 12 s has the slot, by the history of a scheduler."""
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 1}]), "gittins", history=history)
    few, many = scheduler.add(mb.ClusterJobs([100, 100], 1.0), 0.0)
    scheduler.ended([few], count=3, seconds=1.0, now=15.0)
    scheduler.ended([many], count=12, seconds=1.0, now=15.0)
    (best,) = scheduler.decide(15.0).ids[scheduler.decide(15.0).slots > 0]
    return 3 if best == few else 12


def test_gittins_follows_the_history():
    def history(sizes):
        scheduler = mb.Scheduler(mb.Cluster([{"slots": 1}]))
        for size in sizes:
            (job,) = scheduler.add(mb.ClusterJobs([1], 1.0))
            scheduler.ended([job], seconds=size, now=scheduler.now + size)
            scheduler.finish([job])
        return scheduler.history

    # Nothing known: who had less. Jobs are of 1 s or of 15 s: one that had 12 s is about to end, one that
    # had 3 s is as long and has more left.
    assert bimodal(None) == 3
    assert bimodal(history([1.0, 15.0] * 20)) == 12
    assert bimodal(history([3.5, 1000.0] * 20)) == 3
    oracle = ranked_tasks.Gittins([1.0, 15.0] * 20)
    first, second = oracle(0.0, [0, 1], [3.0, 12.0])
    assert second < first


def test_each_user_has_a_share():
    jobs = mb.ClusterJobs([40, 40, 40], 1.0, user=["ann", "bob", "bob"])
    cluster = mb.Cluster([{"slots": 4}], users=[{"name": "ann"}, {"name": "bob"}])
    ends = mb.simulate(jobs, "gittins", cluster=cluster, epoch=0, rng=1).records["completion"]
    assert (ends[0], ends[1:].max()) == (20.0, 30.0)
    alike = mb.simulate(jobs, "gittins", cluster=cluster, epoch=0, rng=1, by_user=False)
    assert alike.records["completion"][0] != 20.0


def test_an_engine_decides_what_the_simulation_does():
    jobs, cluster = instance(3), nodes(4, 2, 1)
    options = {"slow_start": 1.0, "prior": 2.0}
    own = Engine(jobs, cluster, mb.Scheduler(cluster, "gittins", **options)).run()
    found = mb.simulate(jobs, "gittins", cluster=cluster, epoch=0, rng=1, learn=True, **options)
    np.testing.assert_allclose(own, found.records["completion"], rtol=1e-9)


def test_copies_and_records_go_on_as_the_original_would(tmp_path):
    cluster = mb.Cluster([{"count": 3, "slots": 3}])
    path = tmp_path / "events"
    with_record = mb.Scheduler(cluster, "gittins", record=path)
    whole = Engine(instance(7), cluster, with_record).run()
    with_record.close()
    assert mb.replay(path).same

    assert (
        Copied(instance(7), cluster, mb.Scheduler(cluster, "gittins")).run().tolist()
        == whole.tolist()
    )
