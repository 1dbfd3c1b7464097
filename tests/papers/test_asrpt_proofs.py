"""Jobs as hard as 3-Partition, and arrivals that no non-preemptive policy serves well."""

import itertools
import math

import pytest

import malleable as mb
from malleable.slotted.simulate import POLICIES
from tests.papers.asrpt_proofs import adversarial_jobs, partition_jobs

NON_PREEMPTIVE = [name for name in POLICIES if name != "dsrpt"]


def divides(numbers):
    """Whether numbers fall into triples of one sum, by trying all."""
    if not numbers:
        return True
    first, *others = numbers
    each = 3 * sum(numbers) // len(numbers)
    return any(
        divides([a for k, a in enumerate(others) if k not in pair])
        for pair in itertools.combinations(range(len(others)), 2)
        if first + sum(others[k] for k in pair) == each
    )


def least_flow(numbers, tasks, machines, units, slots):
    """A floor under the total flow time: each job's maps end by slot s, its reduces by slot f > s.

    Unit tasks with windows can run just if no interval of slots has more of them than machines; units
    that slot 1 has no room for cost a slot more. The floor is met where they have room.
    """
    pairs = [(s, f) for f in range(2, slots + 1) for s in range(1, f)]
    best = math.inf
    for chosen in itertools.product(pairs, repeat=len(numbers)):
        windows = [(1, s, a) for (s, _), a in zip(chosen, numbers, strict=True)]
        windows += [(s + 1, f, tasks - a) for (s, f), a in zip(chosen, numbers, strict=True)]
        loads = {
            (x, y): sum(n for low, high, n in windows if x <= low and high <= y)
            for x in range(1, slots + 1)
            for y in range(x, slots + 1)
        }
        if any(load > machines * (y - x + 1) for (x, y), load in loads.items()):
            continue
        at_first = max(loads[1, y] - machines * (y - 1) for y in range(1, slots + 1))
        late = max(0, units - (machines - max(at_first, 0)))
        best = min(best, sum(f for _, f in chosen) + units + late)
    return best


@pytest.mark.parametrize(
    "numbers",
    [
        [5, 4, 1, 2, 3, 5],
        [5, 5, 5, 1, 1, 1],
        [7, 1, 2, 3, 3, 4],
        [9, 1, 1, 1, 1, 1],
        [1] * 6,
        [4, 5, 6],
    ],
)
def test_theorem_1(numbers):
    """ "The scheduling problem (both preemptive and non-preemptive) is NP-complete in the strong sense"."""
    jobs, machines, threshold = partition_jobs(numbers)
    count, units = len(numbers), len(jobs) - len(numbers)
    tasks = int(jobs.map[0] + jobs.reduce_work[0])
    assert (jobs.map + jobs.reduce_work)[:count].tolist() == [tasks] * count
    assert machines == 3 * tasks and units == machines - 3 * sum(numbers) // count
    assert jobs.task.max() == 1
    floor = least_flow(numbers, tasks, machines, units, count // 3 + 1)
    assert (floor <= threshold) == divides(numbers)
    if divides(numbers):
        assert floor == threshold
    # Whatever runs, with tasks cut or not, meets it only then.
    for preemptive in (True, False):
        for policy in ("asrpt", "unlock", "srpt", "fifo"):
            flows = mb.simulate(jobs, policy, machines=machines, preemptive=preemptive).records
            assert flows["turnaround_time"].sum() >= min(floor, threshold + 1)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([], "there are 0, expected three"),
        ([1, 2], "there are 2, expected three"),
        ([1, 1, 1, 1, 1, 2], "their sum 7 is not 2 times a whole number"),
        ([1, 0, 1], r"numbers\[1\] = 0"),
    ],
)
def test_what_is_no_3_partition(numbers, message):
    with pytest.raises(ValueError, match=message):
        partition_jobs(numbers)


@pytest.mark.parametrize("policy", NON_PREEMPTIVE)
def test_the_adversary_of_section_4(policy):
    for ratio in (1.0, 3.0, 12.0):
        found = adversarial_jobs(policy, ratio)
        assert found.ratio > ratio
        rows = [
            (int(a), int(m), r)
            for a, m, r in zip(found.jobs.arrival, found.jobs.map, found.jobs.reduce, strict=True)
        ]
        # The better schedule exists: the long job last, the short ones as they come.
        if found.case == 2:
            short = sum(2 for _ in rows[1:])
            begins = rows[-1][0] + 2
            assert found.better_flow == short + begins + rows[0][2][0] - 1
        assert found.better_flow >= 2 * (len(rows) - 1)


@pytest.mark.parametrize("ratio", [0.5, 1001.0, float("nan")])
def test_the_adversary_has_limits(ratio):
    with pytest.raises(ValueError, match="must be from 1 to 1000"):
        adversarial_jobs("fifo", ratio)
