"""Speed of the scheduler that an engine drives: 1,000 events and a decision, among 10,000 jobs; a day's
events again."""

import itertools

import numpy as np
import pytest

import malleable as mb
from benchmarks.instances import busy_scheduler
from malleable.cluster.simulate import CLUSTER_POLICIES
from tests.cluster.cluster_runs import nodes
from tests.cluster.test_scheduler import POLICIES, Engine, instance

LARGE = [name for name in CLUSTER_POLICIES if not name.startswith(("flowflex", "adaptive-l"))]


@pytest.mark.parametrize("policy", LARGE)
def test_events_and_decision(benchmark, policy):
    """500 tasks end, 500 others start."""
    scheduler, ids = busy_scheduler(policy)
    rng = np.random.default_rng(1)
    some = [rng.choice(ids, 500, replace=False) for _ in range(50)]
    phase = np.zeros(500, dtype=np.int64)
    seconds = rng.uniform(1.0, 100.0, 500)
    turns = itertools.count()

    def step():
        k = next(turns)
        now = 2.0 + k
        scheduler.ended(some[k % 50], phase, seconds=seconds, now=now)
        scheduler.started(some[(k + 1) % 50], phase, now=now)
        return scheduler.decide(now)

    benchmark.pedantic(step, rounds=100, warmup_rounds=5)


def test_counts_alone(benchmark):
    """Mean response where an engine shows counts every 5 s, over that where it tells all: by policy."""
    jobs, cluster = instance(3, 60), nodes(2, 1, 4)

    def run():
        for policy in POLICIES:
            told, seen = (
                float(
                    (
                        Engine(jobs, cluster, mb.Scheduler(cluster, policy), every).run()
                        - jobs.arrival
                    ).mean()
                )
                for every in (None, 5.0)
            )
            benchmark.extra_info[policy] = round(seen / told, 3)

    benchmark.pedantic(run, rounds=1)
