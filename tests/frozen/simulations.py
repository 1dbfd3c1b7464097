"""Simulations: when each job ends under every policy of every model."""

import csv
import io
from pathlib import Path

import malleable as mb
from malleable.cluster.simulate import CLUSTER_POLICIES
from malleable.slotted.simulate import POLICIES as SLOTTED_POLICIES
from malleable.tandem.simulate import BATCH_POLICIES
from malleable.tandem.simulate import POLICIES as SIMULATED_POLICIES
from tests.frozen.lines import attempt, cluster_of, column, words
from tests.frozen.plans import OBJECTIVES

INSTANCES = Path(__file__).parent / "instances"


def run(jobs, policy, options):
    """One simulation as lines; clusters are called by the names of their files, and gangs by their name."""
    options = {
        **{name: value for name, value in options.items() if name != "gang"},
        **({"min_mode": "start"} if options.get("gang") else {}),
    }
    places = {"cluster": cluster_of(INSTANCES / options["cluster"])} if "cluster" in options else {}
    found = mb.simulate(jobs, policy, rng=1, **{**options, **places})
    summary = found.summary[policy]
    told = {name: summary[name] for name in ("mean_response", "lower_bound") if name in summary}
    columns = ("starting_time", "map_completion", "completion")
    return [words(**told), *(column(name, found.records[name]) for name in columns)]


def _all(jobs, policies, settings):
    return [
        attempt(f"{policy} {words(**options)}", run, jobs, policy, options)
        for options in settings
        for policy in policies
    ]


def tandem():
    """The overlapping tandem queue."""
    settings = [
        {"k": 3},
        {"k": 3, "overlap": False},
        {"k": 3, "conserving": False},
        {"k": 3, "estimates": "column"},
        {"k": 3, "map_capacity": 0.7, "shuffle_capacity": 1.2, "horizon": 40.0},
    ]
    jobs = mb.read(INSTANCES / "map-shuffle.csv").map_shuffle()
    return _all(jobs, SIMULATED_POLICIES, settings)


def batch():
    """Jobs of the tandem queue that arrive together."""
    jobs = mb.read(INSTANCES / "map-shuffle-batch.csv").map_shuffle()
    settings = [{"k": 3, "effort": 200}, {"k": 3, "effort": 0, "overlap": False}]
    return _all(jobs, (*SIMULATED_POLICIES, *BATCH_POLICIES), settings)


def slotted():
    """Map and reduce tasks in time steps."""
    settings = [
        {"machines": 8},
        {"machines": 8, "preemptive": False},
        {"machines": 8, "estimates": "column"},
        {"machines": 5, "estimates": "column", "preemptive": False},
        {"machines": 5, "horizon": 60},
    ]
    jobs = mb.read(INSTANCES / "map-reduce.csv").map_reduce()
    return _all(jobs, SLOTTED_POLICIES, settings)


_NODES = {"cluster": "cluster.toml"}
_ALIKE = {"cluster": "cluster-flows.toml"}
_LOCAL = {"replicas": 2, "delay": 2, "heartbeat": 1, "slow_start": 0.5}
# Powers, logarithms and cosines come from the C library, whose versions may differ in the last bit.
_LIBM = ("hesrpt", "adaptive", "adaptive-literal", "auto", "gittins")


def _jobs():
    """Without the bytes of their shuffles, which jobs have no longer."""
    with (INSTANCES / "cluster.csv").open(newline="") as file:
        rows = [
            {k: v for k, v in row.items() if k != "shuffle_bytes"} for row in csv.DictReader(file)
        ]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return mb.read(io.StringIO(text.getvalue())).tasks()


_FLOWS = ("flowflex", "flowflex-fast")
_SURE = [policy for policy in CLUSTER_POLICIES if policy not in (*_LIBM, *_FLOWS)]


def cluster():
    """Tasks on nodes."""
    settings = [
        {**_NODES, "epoch": 0},
        {**_NODES, "epoch": 0.5, **_LOCAL},
        {**_NODES, "epoch": 0, "by_user": False, "at_least_one": True},
        {**_NODES, "epoch": 1, "split_copy": True, "ageing": 15},
        {**_NODES, "heartbeat": 2},
    ]
    each = [{**_NODES, "objective": objective} for objective in OBJECTIVES]
    each += [
        {**_NODES, "objective": "sum:tardiness", **more}
        for more in ({"hysteresis": 0.4}, {"effort": 10}, {"by_user": False, "pool_minimum": 0.4})
    ]
    return _all(_jobs(), _SURE, settings) + _all(_jobs(), ["flex"], each)


def gangs():
    """Gangs in two kinds of slots, and in one, where reduce tasks make room for maps."""
    settings = [
        {**nodes, "gang": True, "by_user": by_user, **more}
        for nodes, by_user in ((_NODES, True), (_NODES, False), (_ALIKE, False))
        for more in ({"epoch": 0}, {"heartbeat": 1}, {"replicas": 2, "delay": 3})
    ]
    return _all(_jobs(), _SURE, settings)


def cluster_flows():
    """Flows on generic slots."""
    jobs = mb.read(INSTANCES / "cluster-flows.json").tasks(task_seconds=4.0)
    each = [{**_ALIKE, "objective": objective} for objective in OBJECTIVES]
    return _all(jobs, _SURE, [_ALIKE]) + _all(jobs, list(_FLOWS), each)


def cluster_libm():
    """Tasks on nodes, with what takes powers and logarithms."""
    plain = [{**_NODES, "epoch": 0}, {**_NODES, **_LOCAL}]
    unsure = {"noise": 0.4, "failure": 0.05, "straggler_share": 0.1, "straggler_factor": 3}
    noisy = [{**_NODES, **unsure}, {**_NODES, "speedup": 0.7}]
    learnt = [
        {**_NODES, "epoch": 1, "estimates": "learn", "split_copy": True, "ageing": 15},
        {**_NODES, "estimates": 1.0, "learn": True, "speedup": 0.7},
    ]
    policies = [policy for policy in CLUSTER_POLICIES if policy not in _FLOWS]
    return _all(_jobs(), _LIBM, plain) + _all(_jobs(), policies, [*noisy, *learnt])
