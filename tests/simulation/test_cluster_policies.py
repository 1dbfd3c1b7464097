"""Policies on a cluster: those of a user, and built-in ones against them."""

import numpy as np
import pytest

import malleable as mb
from tests.cluster_runs import Oldest, completions, nodes, run


def shortest(view):
    """Slots to the shortest job, then to the next."""
    slots = np.zeros(len(view["job"]))
    free = view["slots"]
    for row in np.argsort(view["work"], kind="stable"):
        slots[row] = min(free, view["most"][row])
        free -= slots[row]
    return slots


def test_own_policies():
    jobs = mb.generate_cluster_jobs(40, 3, gap=5.0)
    cluster = nodes(10, 4, 3)
    result = mb.simulate(
        jobs, "cluster", ["flex", shortest, "fifo", Oldest()], cluster=cluster, rng=1, epoch=1
    )
    by = {name: result.summary[name]["mean_response"] for name in result.summary}
    assert by["shortest"] == pytest.approx(by["flex"], rel=1e-9)
    assert by["oldest"] == pytest.approx(by["fifo"], rel=1e-9)


def test_targets_filled_in_order_by_hand():
    # Three slots. A's long tasks hold them until 20 and 30, 31; B and C wait, C has less work. Evenly,
    # the slot of 20 goes to B, which came first (none runs of either), and again at 24; in order to C.
    jobs = mb.ClusterJobs([3, 2, 1], [[20, 30, 31], [4, 4], [4]], arrival=[0, 1, 2])
    assert completions(jobs, "flex", nodes(3)) == [31, 28, 32]
    assert completions(jobs, "flex", nodes(3), in_order=True) == [31, 32, 24]
    # FAIR has no order, and policies that rank have nothing else.
    for policy in ("fair", "fifo", "srpt"):
        assert completions(jobs, policy, nodes(3)) == completions(
            jobs, policy, nodes(3), in_order=True
        )


def test_targets_filled_in_order_are_srpt():
    # Where there is one phase and a decision at every event; evenly filled, slots go to others, too.
    jobs = mb.generate_cluster_jobs(
        300, 4, gap=6.0, mean_maps=10.0, map_seconds=30.0, reduce_share=0.0, shuffle=0.0
    )
    in_order = run(jobs, "flex", nodes(60), in_order=True)
    assert in_order.records["completion"].tolist() == completions(jobs, "srpt", nodes(60))
    evenly = run(jobs, "flex", nodes(60)).summary["flex"]["mean_response"]
    assert in_order.summary["flex"]["mean_response"] < evenly


def test_own_policies_are_checked():
    jobs = mb.ClusterJobs([1], 1)
    with pytest.raises(ValueError, match="one number for each of 1 jobs"):
        run(jobs, lambda view: [1, 2])
    with pytest.raises(ValueError, match=r"policy's answer\[0\] = -1"):
        run(jobs, lambda view: [-1])

    class Wrong:
        style = "node"

        def choose(self, state, node, pool):
            return 7, 0

    with pytest.raises(ValueError, match="chose job 7"):
        run(jobs, Wrong())

    def broken(view):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        run(jobs, broken)


def remaining(view):
    return view["work"]


remaining.style = "ranks"


class VirtualSrpt:
    """ASRPT's order from a virtual machine in small steps; shares no code with ours."""

    name, style, depends_on_time = "virtual", "node", True

    def __init__(self, sizes, speed, step=1e-2):
        self.sizes, self.speed, self.step = sizes, speed, step
        self.left, self.done, self.now = {}, [], 0.0

    def advance(self, now):
        while self.now < now - 1e-9:
            work = self.speed * self.step
            while work > 0 and self.left:
                job = min(self.left, key=lambda j: (self.left[j], j))
                used = min(work, self.left[job])
                self.left[job] -= used
                work -= used
                if self.left[job] <= 1e-9:
                    del self.left[job]
                    self.done.append(job)
            self.now += self.step

    def job_arrived(self, state, job):
        self.advance(state.now)
        self.left[job] = self.sizes[job]

    def choose(self, state, node, pool):
        self.advance(state.now)
        order = self.done + sorted(self.left, key=lambda j: (self.left[j], j))
        for job in order:
            if state.eligible(job, pool):
                return job, pool
        return None


def test_asrpt_follows_a_virtual_machine():
    rng = np.random.default_rng(9)
    count = 25
    maps, arrival = rng.integers(1, 12, count), np.sort(rng.integers(0, 60, count)).astype(float)
    seconds = rng.integers(1, 6, count) + np.arange(count) / 100
    jobs = mb.ClusterJobs(maps, seconds, arrival=arrival)
    own = VirtualSrpt(jobs.map_work.tolist(), 5)
    cluster = mb.Cluster([{"map_slots": 4, "reduce_slots": 1}])
    result = mb.simulate(jobs, "cluster", ["asrpt", own], cluster=cluster, epoch=0, rng=1)
    by = {
        name: result.records["completion"][result.records["policy"] == name]
        for name in ("asrpt", "virtual")
    }
    assert by["asrpt"].tolist() == by["virtual"].tolist()


def test_srpt_ranks_by_work_left():
    jobs = mb.generate_cluster_jobs(40, 3, gap=5.0, reduce_share=0.0, shuffle=0.0)
    result = mb.simulate(
        jobs, "cluster", ["srpt", remaining], cluster=nodes(10, 1, 3), rng=1, epoch=1
    )
    by = {name: s["mean_response"] for name, s in result.summary.items()}
    assert by["srpt"] == by["remaining"]


def test_max_srpt_looks_at_both_phases():
    # Seconds of all slots: A maps 10, reduces 40; B maps 20, reduces 5. B's larger part is smaller.
    jobs = mb.ClusterJobs([1, 2], 10, [4, 1], [10, 5])
    cluster = mb.Cluster([{"map_slots": 1, "reduce_slots": 1}])
    found = mb.simulate(jobs, "cluster", "max-srpt", cluster=cluster, rng=1, epoch=0, slow_start=1)
    # B maps until 20 and reduces until 25; A maps until 30, reduces until 70.
    assert found.records["completion"].tolist() == [70, 25]
