"""Every object that keeps state, in several threads: one at a time, the others are told so."""

import copy
import functools
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import malleable as mb
from malleable import _core
from malleable.cluster import simulate as cluster_model
from tests.stateful import CLUSTER, KINDS

THREADS = 4


@pytest.fixture(autouse=True)
def _switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(work, rounds):
    """Runs work(thread, round) side by side; what was raised besides RuntimeError, and how often that was."""
    begin = threading.Barrier(THREADS)
    surprises, refusals = [], [0] * THREADS

    def run(thread):
        begin.wait()
        for k in range(rounds):
            try:
                work(thread, k)
            except RuntimeError as error:
                assert "in use by another thread" in str(error) or "moved on" in str(error)
                refusals[thread] += 1
            except BaseException as error:
                surprises.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return surprises, sum(refusals)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_objects_in_different_threads_do_not_meet(kind):
    def run(seed):
        kept, memory, rng = kind.start(seed)
        return [kind.step(kept, memory, rng) for _ in range(25)]

    alone = [run(seed) for seed in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(run, range(THREADS))) == alone


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_one_object_in_several_threads_refuses_but_never_breaks(kind):
    kept, memory, _ = kind.start(5, steps=30)
    memories = [copy.deepcopy(memory) for _ in range(THREADS)]
    rngs = [np.random.default_rng(k) for k in range(THREADS)]

    def work(thread, _):
        try:
            kind.step(kept, memories[thread], rngs[thread])
        except ValueError:
            # Another thread was there before: an id is gone, time has passed. Nothing changed.
            memories[thread]["now"] = max(each["now"] for each in memories) + 1.0
            memories[thread]["ids"] = memories[thread]["ids"][-3:]
            memories[thread]["runs"] = []
            len(kept)
        pickle.dumps(kept)  # reads all of it

    surprises, _ = in_threads(work, 40)
    assert surprises == []
    # What is left works, alone, and is all there.
    assert copy.deepcopy(kept) == kept
    memory = {"now": max(each["now"] for each in memories) + 1.0, "ids": []}
    for _ in range(20):
        kind.step(kept, memory, rngs[0])


def busy_objects():
    """Whatever else in the core keeps state, with calls that read or change it."""
    batch = _core.TandemBatch(np.arange(1.0, 40.0), np.arange(40.0, 1.0, -1.0))
    queue = _core.TandemQueue("max-srpt", 1, records=True)
    none, ones = np.empty(0), np.ones(50)
    bound = _core.SrptBound()
    slotted = _core.SlottedSim(3, "asrpt", False, True)
    row = np.zeros(1, dtype=np.int64)
    return {
        "TandemBatch": [
            lambda: batch.search(50),
            batch.plan,
            lambda: batch.tried,
        ],
        "TandemQueue": [
            lambda: queue.feed(np.full(50, 1e9), ones, ones, ones, none, none, none, none),
            lambda: queue.advance(10.0),
            queue.summary,
            queue.take_records,
            queue.slowdown,
            queue.state,
            queue.running,
        ],
        "SrptBound": [lambda: bound.feed(np.full(50, 1e9), ones, ones), bound.total],
        "SlottedSim": [
            lambda: slotted.feed(row + 10**6, row + 2, np.array([0, 1]), row + 3, None),
            lambda: slotted.advance(3),
            slotted.summary,
            slotted.take_records,
            slotted.slowdown,
        ],
        **{
            f"ClusterSimulation-{name}": simulation_calls(policy)
            for name, policy in CLUSTER_POLICIES.items()
        },
    }


def simulation_calls(make):
    """One simulation, and whatever asks its policy besides."""
    jobs = mb.generate_cluster_jobs(60, 1, users=2)
    place = cluster_model.Cluster(CLUSTER["node"])
    policy = make()
    simulation = _core.ClusterSimulation(
        place.columns(), cluster_model._jobs(jobs, place, policy, [])[0], {}, {}, None, policy
    )
    times = iter(np.linspace(1.0, 400.0, 4 * THREADS * 50))
    calls = [
        lambda: simulation.advance(next(times, 400.0)),
        simulation.totals,
        simulation.records,
        simulation.latency,
        simulation.trace,
    ]
    return calls + ([lambda: policy.matching(500.0)] if hasattr(policy, "matching") else [])


class Newest:
    """A policy written in Python."""

    def decide(self, columns):
        return -columns["job"].astype(float)


CLUSTER_POLICIES = {
    name: functools.partial(_core.cluster_policy, name, False, 0, {}, False, False, [], [])
    for name in ("fifo", "fair", "srpt")
} | {
    "adaptive": lambda: _core.ClusterAdaptive(
        mb.AdaptiveLiteral().core_options(), mb.AdaptiveLiteral().matcher()
    ),
    "python": lambda: _core.ClusterCallback(Newest(), "ranks", False, False, False),
}


@pytest.mark.parametrize("name", busy_objects())
def test_the_cores_own_objects_refuse_a_second_thread(name):
    calls = busy_objects()[name]
    surprises, _ = in_threads(lambda thread, k: calls[(thread + k) % len(calls)](), 50)
    # Arrivals that another thread has fed already.
    assert [e for e in surprises if "before what came earlier" not in str(e)] == []


def test_a_policy_serves_one_simulation():
    jobs = mb.generate_cluster_jobs(5, 1)
    place = cluster_model.Cluster(CLUSTER["node"])
    policy = CLUSTER_POLICIES["fifo"]()
    first, second = (
        _core.ClusterSimulation(
            place.columns(), cluster_model._jobs(jobs, place, policy, [])[0], {}, {}, None, policy
        )
        for _ in range(2)
    )
    with pytest.raises(RuntimeError, match="begun with another simulation"):
        first.advance(10.0)
    second.advance(10.0)


def test_a_second_thread_is_told(monkeypatch):
    """Not by chance: the first one is held up in the middle."""
    inside, go_on = threading.Event(), threading.Event()
    original = mb.AdaptiveLiteral.matcher

    def slow(self):
        return functools.partial(held, original(self))

    def held(matcher, *arguments):
        inside.set()
        assert go_on.wait(30)
        return matcher(*arguments)

    monkeypatch.setattr(mb.AdaptiveLiteral, "matcher", slow)
    scheduler = mb.Scheduler(CLUSTER, "adaptive-literal", replicas=1)
    table = mb.ClusterJobs([2], 3.0, user=["ann"])
    thread = threading.Thread(target=lambda: scheduler.add(table, 0.0))
    thread.start()
    assert inside.wait(30)
    calls = [
        lambda: scheduler.add(table),
        lambda: scheduler.decide(0.0),
        lambda: scheduler.assign(0.0, 1),
        lambda: scheduler.update([0], map_seconds=[1]),
        lambda: scheduler.ended([0], seconds=1.0),
        lambda: scheduler.finish([0]),
        lambda: scheduler.remove([0]),
        lambda: scheduler.counts([0]),
        lambda: scheduler.place(0),
        lambda: scheduler.set_blocks(0, [[0], [0]]),
        scheduler.matching,
        lambda: copy.deepcopy(scheduler),
        lambda: scheduler == scheduler,  # noqa: PLR0124 - a comparison is a call, too
        lambda: scheduler._core.counts(np.array([0])),
        scheduler._core.save,
    ]
    try:
        for call in calls:
            with pytest.raises(RuntimeError, match="in use by another thread"):
                call()
    finally:
        go_on.set()
        thread.join()
    assert scheduler.counts([0])["waiting"].tolist() == [[2, 0]]
