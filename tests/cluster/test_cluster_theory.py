"""What the cluster becomes at its limits: the slotted model, the tandem queue, fluids, closed forms."""

import math

import numpy as np
import pytest
from scipy import integrate

import malleable as mb
from tests.cluster.cluster_runs import nodes


def run(jobs, policy, cluster, **options):
    options.setdefault("epoch", 0)
    return mb.simulate(jobs, policy, cluster=cluster, rng=1, **options)


def generic(slots, nodes=1):
    return mb.Cluster([{"slots": slots, "count": nodes}])


def completions(result):
    order = np.argsort(result.records["job_id"])
    return result.records["completion"][order]


def slotted_jobs(rng, count, longest=1):
    """Map tasks of one slot, reduce tasks of up to so many; in time steps and on a cluster."""
    arrival = np.sort(rng.integers(1, 40, count))
    maps = rng.integers(0, 9, count)
    reduce = [rng.integers(1, longest + 1, rng.integers(0, 6)).tolist() for _ in range(count)]
    reduce = [own or ([1] if not m else []) for own, m in zip(reduce, maps.tolist(), strict=True)]
    slots = mb.MapReduceJobs(maps, reduce, arrival=arrival)
    cluster = mb.ClusterJobs(
        maps, 1.0, [len(own) for own in reduce], [list(own) for own in reduce], arrival=arrival - 1
    )
    return slots, cluster


@pytest.mark.parametrize("policy", ["fifo", "srpt", "fair"])
@pytest.mark.parametrize("seed", range(10))
def test_without_shuffle_and_with_one_type_it_is_the_slotted_model(policy, seed):
    # Slot f ends at time f; a job of slot a comes at a - 1; reduces start after all maps.
    rng = np.random.default_rng(seed)
    machines = int(rng.integers(2, 9))
    slots, jobs = slotted_jobs(rng, 25)
    expected = mb.simulate(slots, policy, machines=machines, preemptive=False)
    found = run(jobs, policy, generic(machines), slow_start=1.0)
    assert completions(found).tolist() == completions(expected).tolist()
    # Spread over nodes it is the same.
    spread = run(jobs, policy, generic(1, machines), slow_start=1.0)
    assert completions(spread).tolist() == completions(expected).tolist()


@pytest.mark.parametrize("seed", range(10))
def test_long_reduce_tasks_keep_their_slots_in_both(seed):
    rng = np.random.default_rng(100 + seed)
    machines = int(rng.integers(2, 9))
    slots, jobs = slotted_jobs(rng, 25, longest=7)
    expected = mb.simulate(slots, "fifo", machines=machines, preemptive=False)
    found = run(jobs, "fifo", generic(machines), slow_start=1.0)
    mean = expected.summary["fifo"]["mean_response"]
    # The order in which a job's tasks of unlike lengths start is the only freedom.
    assert found.summary["fifo"]["mean_response"] == pytest.approx(mean, rel=0.03)


def test_one_slot_a_phase_becomes_the_tandem_queue():
    rng = np.random.default_rng(3)
    count = 60
    arrival = np.cumsum(rng.exponential(10.0, count))
    maps, shuffles = rng.exponential(7.0, count), rng.exponential(7.0, count)
    fluid = mb.simulate(mb.MapShuffleJobs(maps, shuffles, arrival=arrival), "fcfs")
    expected = completions(fluid)
    cluster = mb.Cluster([{"map_slots": 1, "reduce_slots": 1}])
    errors = []
    for pieces in (4, 40, 400):
        jobs = mb.ClusterJobs(
            np.full(count, pieces), maps / pieces, 1, 0.0, shuffle=shuffles, arrival=arrival
        )
        found = completions(run(jobs, "fifo", cluster, slow_start=0.0))
        assert (found >= expected - 1e-9).all()  # in pieces nothing comes earlier
        errors.append(float((found - expected).mean()))
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert errors[2] < 0.02


def test_smaller_tasks_come_closer_to_the_fluid_plan():
    rng = np.random.default_rng(2)
    work = rng.uniform(1, 60, 12)
    plan = mb.plan(mb.Jobs(work, max_slots=10), 10, objective="sum:response", effort=0)
    errors = []
    for pieces in (2, 20, 200):
        tasks = np.rint(work * pieces).astype(int)
        found = completions(run(mb.ClusterJobs(tasks, work / tasks), "flex", generic(10)))
        errors.append(float(np.abs(found - plan.completion).max()))
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert errors[2] < 0.01


def poisson_jobs(rng, count, load, sizes, grain=None):
    arrival = np.cumsum(rng.standard_exponential(count)) / load
    if grain is None:
        return mb.ClusterJobs(np.ones(count, int), sizes, arrival=arrival)
    tasks = np.maximum(1, np.rint(sizes / grain)).astype(int)
    return mb.ClusterJobs(tasks, sizes / tasks, arrival=arrival)


def test_one_slot_first_come_is_pollaczek_and_khinchine():
    load, spread, count = 0.6, 0.8, 100_000
    rng = np.random.default_rng(8)
    sizes = rng.lognormal(-(spread**2) / 2, spread, count)
    summary = run(poisson_jobs(rng, count, load, sizes), "fifo", generic(1)).summary["fifo"]
    wait = load * math.exp(spread**2) / (2 * (1 - load))
    assert summary["mean_response"] == pytest.approx(1 + wait, rel=0.03)
    assert summary["map_utilisation"] == pytest.approx(load, rel=0.01)
    # Little: jobs in the system are arrivals a second times responses.
    rate = summary["jobs"] / summary["end"]
    assert summary["mean_jobs"] == pytest.approx(rate * summary["mean_response"])
    assert summary["mean_jobs"] == pytest.approx(load * (1 + wait), rel=0.04)


def schrage_miller(load):
    """Mean response of M/M/1 under SRPT, mean size 1."""

    def before(x):  # work of jobs no larger than x, a second
        return load * (1 - math.exp(-x) * (1 + x))

    def response(x):
        second = 2 - math.exp(-x) * (x * x + 2 * x + 2) + x * x * math.exp(-x)
        waits = load * second / (2 * (1 - before(x)) ** 2)
        serves, _ = integrate.quad(lambda t: 1 / (1 - before(t)), 0, x)
        return waits + serves

    value, _ = integrate.quad(lambda x: math.exp(-x) * response(x), 0, 40)
    return value


@pytest.mark.parametrize("policy", ["srpt", "flex"])
def test_small_tasks_on_one_slot_are_srpt(policy):
    load, count = 0.8, 60_000
    rng = np.random.default_rng(6)
    sizes = rng.standard_exponential(count)
    jobs = poisson_jobs(rng, count, load, sizes, grain=0.05)
    summary = run(jobs, policy, generic(1)).summary[policy]
    # Half a grain of waiting for the task that runs is all that preemption at tasks costs.
    assert summary["mean_response"] == pytest.approx(schrage_miller(load), rel=0.04)
    assert summary["mean_response"] < 0.75 * (1 / (1 - load))  # first come first served


def test_schrage_and_miller_by_its_known_limits():
    assert schrage_miller(1e-6) == pytest.approx(1, abs=1e-4)
    assert schrage_miller(0.5) < 2  # below M/M/1 first come first served


def test_small_tasks_become_the_fluid_plan():
    work, most = np.array([300.0, 40.0, 90.0, 10.0]), np.array([8, 4, 6, 2])
    plan = mb.plan(mb.Jobs(work, max_slots=10), 10, objective="sum:response", effort=0)
    pieces = 200
    jobs = mb.ClusterJobs((work * pieces).astype(int), 1 / pieces)
    found = run(jobs, "flex", nodes(10), epoch=0).records["completion"]
    assert found == pytest.approx(plan.completion, rel=2e-2)
    assert most.sum() > 10


@pytest.mark.parametrize("servers", [1, 4])
def test_many_servers_queue(servers):
    # M/M/c: single-task jobs, exponential times; Erlang's formula.
    count, load = 60_000, 0.7
    rng = np.random.default_rng(5)
    arrival = np.cumsum(rng.standard_exponential(count)) / (load * servers)
    jobs = mb.ClusterJobs(np.ones(count, int), rng.standard_exponential(count), arrival=arrival)
    summary = run(jobs, "fifo", nodes(servers)).summary["fifo"]
    offered = load * servers
    head = sum(offered**k / math.factorial(k) for k in range(servers))
    tail = offered**servers / math.factorial(servers) / (1 - load)
    expected = 1 + tail / (head + tail) / (servers - offered)
    assert summary["mean_response"] == pytest.approx(expected, rel=0.05)
    assert summary["map_utilisation"] == pytest.approx(load, rel=0.02)


def hesrpt_fluid(sizes, slots, p):
    """Mean response when every job may have any part of the slots: theorem of heSRPT."""
    left, now, ends = sorted(sizes, reverse=True), 0.0, []
    while left:
        m = len(left)
        part = [(i / m) ** (1 / (1 - p)) - ((i - 1) / m) ** (1 / (1 - p)) for i in range(1, m + 1)]
        rate = [(share * slots) ** p for share in part]
        step = min(size / r for size, r in zip(left, rate, strict=True))
        left = [size - r * step for size, r in zip(left, rate, strict=True)]
        now += step
        ends += [now] * sum(size <= 1e-9 for size in left)
        left = [size for size in left if size > 1e-9]
    return sum(ends) / len(ends)


@pytest.mark.parametrize("p", [0.3, 0.5])
def test_hesrpt_becomes_its_fluid(p):
    sizes = [60.0, 30.0, 10.0, 4.0]
    pieces, slots = 40, 200
    jobs = mb.ClusterJobs((np.array(sizes) * pieces).astype(int), 1 / pieces)
    means = {
        policy: run(jobs, policy, nodes(slots), epoch=0, speedup=p).summary[policy]["mean_response"]
        for policy in ("hesrpt", "fair", "srpt")
    }
    assert means["hesrpt"] == pytest.approx(hesrpt_fluid(sizes, slots, p), rel=0.05)
    assert means["hesrpt"] < min(means["fair"], means["srpt"])
