"""Simulations: when each job ends under every policy of every model."""

from pathlib import Path

import malleable as mb
from malleable.simulation import BATCH_POLICIES
from malleable.simulation.slotted import POLICIES as SLOTTED_POLICIES
from tests.frozen.lines import attempt, column, words
from tests.frozen.plans import OBJECTIVES

INSTANCES = Path(__file__).parent / "instances"


def run(jobs, model, policy, options):
    """One simulation as lines."""
    found = mb.simulate(jobs, model, policy, rng=1, **options)
    summary = found.summary[policy]
    told = {name: summary[name] for name in ("mean_response", "lower_bound") if name in summary}
    columns = ("starting_time", "map_completion", "completion")
    return [words(**told), *(column(name, found.records[name]) for name in columns)]


def _all(jobs, model, policies, settings):
    return [
        attempt(
            " ".join([policy, words(**{k: v for k, v in options.items() if k != "cluster"})]).strip(),
            run, jobs, model, policy, options,
        )
        for options in settings
        for policy in policies
    ]  # fmt: skip


def tandem():
    """The overlapping tandem queue."""
    bounce = {"estimates": "column", "underestimates": "bounce"}
    settings = [
        {"k": 3},
        {"k": 3, "overlap": False},
        {"k": 3, "conserving": False},
        {"k": 3, "estimates": "column"},
        {"k": 3, **bounce},
        {"k": 3, "map_capacity": 0.7, "shuffle_capacity": 1.2, "horizon": 40.0},
    ]
    jobs = mb.read_map_shuffle_jobs(INSTANCES / "map-shuffle.csv")
    return _all(jobs, "tandem", mb.SIMULATED_POLICIES, settings)


def batch():
    """Jobs of the tandem queue that arrive together."""
    jobs = mb.read_map_shuffle_jobs(INSTANCES / "map-shuffle-batch.csv")
    settings = [{"k": 3, "effort": 200}, {"k": 3, "effort": 0, "overlap": False}]
    return _all(jobs, "tandem", (*mb.SIMULATED_POLICIES, *BATCH_POLICIES), settings)


def slotted():
    """Map and reduce in slots."""
    settings = [
        {"machines": 8},
        {"machines": 8, "preemptive": False},
        {"machines": 8, "estimates": "column"},
        {"machines": 5, "estimates": "column", "underestimates": "bounce", "preemptive": False},
        {"machines": 5, "horizon": 60},
    ]
    jobs = mb.read_map_reduce_jobs(INSTANCES / "map-reduce.csv")
    return _all(jobs, "slotted", SLOTTED_POLICIES, settings)


def _cluster(name, jobs):
    return jobs, mb.read_cluster(INSTANCES / f"{name}.toml")


_LOCAL = {"replicas": 2, "delay": 2, "rack_delay": 2, "heartbeat": 1, "slow_start": 0.5}
# Powers, logarithms and cosines come from the C library, whose versions may differ in the last bit.
_LIBM = ("hesrpt", "adaptive", "adaptive-literal")


def cluster():
    """Tasks on nodes."""
    jobs, nodes = _cluster("cluster", mb.read_cluster_jobs(INSTANCES / "cluster.csv"))
    settings = [
        {"epoch": 0},
        {"epoch": 0.5, **_LOCAL},
        {"epoch": 0, "by_user": False, "at_least_one": True, "in_order": True},
        {"epoch": 1, "estimates": "learn", "split_copy": True, "ageing": 15},
        {"epoch": 0, "gang": True},
        {"heartbeat": 2, "tasks_per_heartbeat": 1, "network_epoch": 1, "shuffle_steps": 4},
    ]
    policies = [p for p in mb.CLUSTER_POLICIES if p not in (*_LIBM, "flowflex")]
    told = _all(jobs, "cluster", policies, [{"cluster": nodes, **more} for more in settings])
    each = [{"cluster": nodes, "objective": objective} for objective in OBJECTIVES]
    each += [
        {"cluster": nodes, "objective": "sum:tardiness", **more}
        for more in ({"hysteresis": 0.4}, {"effort": 10}, {"by_user": False, "pool_minimum": 0.4})
    ]
    return told + _all(jobs, "cluster", ["flex"], each)


def cluster_flows():
    """Flows on generic slots."""
    jobs, nodes = _cluster(
        "cluster-flows", mb.read_cluster_flows(INSTANCES / "cluster-flows.json", task_seconds=4.0)
    )
    policies = [p for p in mb.CLUSTER_POLICIES if p not in (*_LIBM, "flowflex")]
    told = _all(jobs, "cluster", policies, [{"cluster": nodes}])
    each = [{"cluster": nodes, "objective": objective} for objective in OBJECTIVES]
    return told + _all(jobs, "cluster", ["flowflex"], each)


def cluster_libm():
    """Tasks on nodes, with what takes powers and logarithms."""
    jobs, nodes = _cluster("cluster", mb.read_cluster_jobs(INSTANCES / "cluster.csv"))
    plain = [{"cluster": nodes, "epoch": 0}, {"cluster": nodes, **_LOCAL}]
    unsure = {"noise": 0.4, "failure": 0.05, "straggler_share": 0.1, "straggler_factor": 3}
    noisy = [{"cluster": nodes, **unsure}, {"cluster": nodes, "speedup": 0.7}]
    policies = [p for p in mb.CLUSTER_POLICIES if p != "flowflex"]
    return _all(jobs, "cluster", _LIBM, plain) + _all(jobs, "cluster", policies, noisy)
