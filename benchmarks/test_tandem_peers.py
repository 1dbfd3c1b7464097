"""M/M/1 FCFS against Ciw and SimPy in one run: jobs a second, and how many times as many.

Every simulator draws its own jobs from the same distributions and reports the mean response, which
must be near 1 / (mu - lambda). `extra_info` has jobs a second of the best round; the last benchmark
adds the ratios to the peers that ran before it. The peers are in the extra ``bench``.
"""

from __future__ import annotations

import pytest

import malleable as mb
from benchmarks.instances import M_M_1, m_m_1

RATE: dict[str, float] = {}


def in_ciw(jobs: int, load: float, seed: int) -> float:
    ciw = pytest.importorskip("ciw")
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=load)],
        service_distributions=[ciw.dists.Exponential(rate=1.0)],
        number_of_servers=[1],
    )
    ciw.seed(seed)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(jobs, method="Finish")
    records = simulation.get_all_records()
    return sum(r.exit_date - r.arrival_date for r in records) / len(records)


def in_simpy(jobs: int, load: float, seed: int) -> float:
    simpy = pytest.importorskip("simpy")
    import random

    draw = random.Random(seed)
    environment = simpy.Environment()
    server = simpy.Resource(environment, capacity=1)
    total = [0.0]

    def job(arrival: float):
        with server.request() as turn:
            yield turn
            yield environment.timeout(draw.expovariate(1.0))
        total[0] += environment.now - arrival

    def source():
        for _ in range(jobs):
            yield environment.timeout(draw.expovariate(load))
            environment.process(job(environment.now))

    environment.process(source())
    environment.run()
    return total[0] / jobs


def in_malleable(jobs: int, load: float, seed: int) -> float:
    summary = mb.simulate(m_m_1(jobs, seed), policy="fcfs", bound=False, records=False).summary
    return summary["fcfs"]["mean_response"]


@pytest.mark.parametrize(
    ("name", "simulator", "jobs"),
    [
        ("ciw", in_ciw, 20_000),
        ("simpy", in_simpy, 20_000),
        ("malleable", in_malleable, 1_000_000),
    ],
    ids=("ciw", "simpy", "malleable"),
)
def test_m_m_1(benchmark, name, simulator, jobs):
    load, seed = M_M_1
    mean = benchmark.pedantic(simulator, args=(jobs, load, seed), rounds=3)
    assert mean == pytest.approx(1 / (1 - load), rel=0.25 if jobs < 10**5 else 0.05)
    if benchmark.stats is None:
        return
    RATE[name] = jobs / benchmark.stats.stats.min
    benchmark.extra_info["jobs_per_second"] = RATE[name]
    if name == "malleable":
        for peer in RATE.keys() - {name}:
            benchmark.extra_info[f"times_{peer}"] = RATE[name] / RATE[peer]
