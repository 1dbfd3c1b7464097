"""The moldable optimum against all allocations, a dynamic program, and two greedy methods."""

import heapq
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from malleable.jobs.kernels import resource_allocation
from tests.full import part
from tests.oracles import allocation as oracle
from tests.oracles import objectives as literal
from tests.strategies import (
    AGGREGATES,
    KINDS,
    OBJECTIVES,
    cases,
    limits,
    penalty_columns,
    random_jobs,
    with_deadlines,
)

allocate = resource_allocation
STEPS = ("tardy", "sla")


def ranges(jobs, slots, min_mode="guarantee"):
    low, high = limits(jobs, slots, min_mode=min_mode)
    return low, [h if w > 0 else 0 for h, w in zip(high, jobs.work, strict=True)]


def table_of(jobs, slots, objective, now, speedup=None):
    """F[j][s] for s = 0 ... S, and the aggregate."""
    columns = penalty_columns(jobs)
    if speedup is None:
        return oracle.moldable_table(jobs.work.tolist(), slots, objective, now=now, **columns)
    aggregate, kinds = literal.parse(objective, len(jobs))
    rows = literal.job_data(len(jobs), **columns)
    table = []
    for times, work, kind, row in zip(speedup, jobs.work, kinds, rows, strict=True):
        ends = [now + t for t in oracle.speedup_completion(times, slots)]
        ends = ends if work > 0 else [row["arrival"]] * (slots + 1)
        table.append([literal.penalty(kind, end, **row) for end in ends])
    return aggregate, table


def check(jobs, slots, objective, now=0.0, *, speedup=None, **options):
    """Compare with the dynamic program; returns the result."""
    got = allocate(jobs, slots, objective, now=now, speedup=speedup, **options)
    aggregate, table = table_of(jobs, slots, objective, now, speedup)
    low, high = ranges(jobs, slots)
    assert got.slots.dtype == np.int64
    given_slots = got.slots.tolist()
    assert sum(given_slots) <= slots
    assert all(m <= s <= M for m, s, M in zip(low, given_slots, high, strict=True))
    own = literal.aggregate_of(aggregate, [F[s] for F, s in zip(table, given_slots, strict=True)])
    assert got.value == pytest.approx(own, rel=1e-9, abs=1e-9)
    want, _ = oracle.dynamic_program(table, low, high, slots, aggregate)
    want = want if len(jobs) else 0.0
    assert got.lower_bound <= got.value
    if got.exact:
        assert got.lower_bound == got.value
        assert got.value == pytest.approx(want, rel=1e-9, abs=1e-9)
    else:
        slack = 1e-9 * max(1.0, abs(want))
        assert got.lower_bound <= want + slack
        assert got.value >= want - slack
    return got


# By hand --------------------------------------------------------------------------------------------


def test_slots_go_as_the_square_root_of_work():
    got = allocate(mb.Jobs([1.0, 4.0, 9.0]), 6, "sum:completion")
    assert got.slots.tolist() == [1, 2, 3]
    assert got == (pytest.approx([1, 2, 3]), 6.0, 6.0, True)


def test_the_worst_job_decides_the_maximum():
    got = allocate(mb.Jobs([1.0, 4.0, 9.0]), 14, "max:completion")
    assert got.slots.tolist() == [1, 4, 9]
    assert (got.value, got.lower_bound, got.exact) == (1.0, 1.0, True)


def test_equal_gains_go_to_the_lower_index():
    assert allocate(mb.Jobs([2.0] * 5), 7).slots.tolist() == [2, 2, 1, 1, 1]
    assert allocate(mb.Jobs([2.0] * 5), 7, "max:response").slots.tolist() == [2, 2, 1, 1, 1]


def test_limits_hold():
    jobs = mb.Jobs([8.0, 8.0, 8.0], min_slots=[0, 5, 0], max_slots=[1, 6, 9])
    assert allocate(jobs, 8).slots.tolist() == [1, 5, 2]
    assert allocate(jobs, 100).slots.tolist() == [1, 6, 9]


def test_steps_are_no_matter_of_single_slots():
    # Two deadlines at 1 need 4 and 3 slots of 6; the heavier one is kept.
    jobs = mb.Jobs([4.0, 3.0, 1.0], weight=[2, 3, 1], deadline=1)
    got = allocate(jobs, 6, "sum:tardy")
    assert (got.value, got.exact) == (2.0, True)
    assert got.slots[1] >= 3 and got.slots[2] >= 1
    assert allocate(jobs, 8, "sum:tardy").value == 0.0


def test_more_jobs_than_slots_wait_in_index_order():
    got = allocate(mb.Jobs([1.0, 2.0, 3.0]), 2)
    assert got.slots.tolist() == [1, 1, 0]
    assert got.value == math.inf
    got = allocate(mb.Jobs([1.0, 2.0, 3.0], weight=[1, 0, 1]), 2)
    assert (got.slots.tolist(), got.value) == ([1, 0, 1], 4.0)
    got = allocate(mb.Jobs([1.0, 2.0, 3.0], min_slots=[0, 0, 2]), 2, "max:response")
    assert (got.slots.tolist(), got.value) == ([0, 0, 2], math.inf)


def test_no_work_needs_no_slots():
    got = allocate(mb.Jobs([0.0, 6.0, 0.0], min_slots=2), 3, "sum:completion")
    assert (got.slots.tolist(), got.value) == ([0, 3, 0], 2.0)
    got = allocate(mb.Jobs([0.0, 6.0], arrival=[2.0, 3.0]), 3, "sum:response", now=4.0)
    assert (got.slots.tolist(), got.value) == ([0, 3], 3.0)


def test_no_jobs():
    for objective in OBJECTIVES:
        got = allocate(mb.Jobs([]), 3, objective)
        assert (got.slots.tolist(), got.value, got.lower_bound, got.exact) == ([], 0, 0, True)


# Against the oracles --------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_brute_force(objective):
    rng = np.random.default_rng(1)
    for _ in range(25):
        count, slots = int(rng.integers(1, 5)), int(rng.integers(1, 9))
        jobs = random_jobs(rng, count, slots, now=3.0, idle=0.1, steps=3)
        aggregate, table = table_of(jobs, slots, objective, 3.0)
        want, _ = oracle.brute_force(table, *ranges(jobs, slots), slots, aggregate)
        got = allocate(jobs, slots, objective, now=3.0)
        assert got.exact
        assert got.value == pytest.approx(want, rel=1e-9, abs=1e-9)


@settings(max_examples=part(700, 50))
@given(cases(extreme=False), st.sampled_from(OBJECTIVES))
def test_any_table(case, objective):
    got = check(with_deadlines(case.jobs), case.slots, objective, case.now)
    assert got.exact


@settings(max_examples=part(400, 50))
@given(cases(min_jobs=1, max_jobs=8, extreme=False), st.sampled_from(AGGREGATES), st.data())
def test_kinds_that_differ_from_job_to_job(case, aggregate, data):
    count = len(case.jobs)
    kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=count, max_size=count))
    objective = [f"{aggregate}:{kind}" for kind in kinds]
    assert check(with_deadlines(case.jobs), case.slots, objective, case.now).exact


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("maxima", ["any", "tight", "all"])
def test_middling_tables_with_a_dynamic_program(objective, maxima):
    rng = np.random.default_rng([len(objective), len(maxima)])
    for _ in range(6):
        slots = int(rng.integers(10, 60))
        count = int(rng.integers(3, 25))
        jobs = random_jobs(rng, count, slots, maxima=maxima, idle=0.05, steps=4)
        assert check(jobs, slots, objective).exact


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in STEPS])
def test_fox_greedy_and_worst_first(kind):
    rng = np.random.default_rng(4)
    for _ in range(10):
        count = int(rng.integers(5, 40))
        slots = int(rng.integers(count, 6 * count))
        jobs = random_jobs(rng, count, slots, now=2.0, maxima="tight")
        low, high = ranges(jobs, slots)
        for aggregate, greedy in (("sum", oracle.fox_greedy), ("max", oracle.worst_first)):
            objective = f"{aggregate}:{kind}"
            _, table = table_of(jobs, slots, objective, 2.0)
            want, _ = greedy(table, low, high, slots)
            got = allocate(jobs, slots, objective, now=2.0)
            assert got.exact
            assert got.value == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("kind", STEPS)
def test_the_maximum_of_steps_is_a_matter_of_the_worst_job(kind):
    rng = np.random.default_rng(9)
    for _ in range(20):
        jobs = random_jobs(rng, 20, 60, steps=5)
        _, table = table_of(jobs, 60, f"max:{kind}", 0.0)
        want, _ = oracle.worst_first(table, *ranges(jobs, 60), 60)
        assert allocate(jobs, 60, f"max:{kind}").value == pytest.approx(want, rel=1e-9)


# Speed-up tables ------------------------------------------------------------------------------------


@st.composite
def with_speedups(draw):
    case = draw(cases(min_jobs=1, max_jobs=5, most_slots=10, extreme=False))
    durations = st.sampled_from([0.5, 1.0, 1.5, 2.0, 4.0, 9.0])
    counts = st.integers(1, case.slots + 2)
    tables = [
        draw(st.dictionaries(counts, durations, min_size=1, max_size=5))
        for _ in range(len(case.jobs))
    ]
    return case, tables


@settings(max_examples=part(600, 50))
@given(with_speedups(), st.sampled_from(OBJECTIVES))
def test_any_speedup_table(drawn, objective):
    """Some counts only, durations in any order: the completion rule of section 2.3."""
    case, tables = drawn
    got = check(with_deadlines(case.jobs), case.slots, objective, case.now, speedup=tables)
    assert got.exact


@pytest.mark.parametrize("objective", ["sum:response", "sum:tardy", "max:stretch"])
def test_a_function_is_a_table(objective):
    rng = np.random.default_rng(6)
    for _ in range(10):
        jobs = random_jobs(rng, 5, 12)
        curve = [
            {s: float(w) / s**0.7 for s in range(1, min(12, int(m)) + 1)}
            for w, m in zip(jobs.work, jobs.max_slots, strict=True)
        ]
        by_table = check(jobs, 12, objective, speedup=curve)
        work = jobs.work
        by_function = allocate(
            jobs, 12, objective, speedup=lambda j, s, w=work: float(w[j]) / s**0.7
        )
        assert by_function.value == by_table.value
        assert by_function.slots.tolist() == by_table.slots.tolist()


def test_linear_tables_give_what_no_table_gives():
    rng = np.random.default_rng(7)
    for objective in OBJECTIVES:
        jobs = random_jobs(rng, 6, 15)
        linear = [{s: float(w) / s for s in range(1, 16)} for w in jobs.work]
        assert allocate(jobs, 15, objective, speedup=linear).value == pytest.approx(
            allocate(jobs, 15, objective).value, rel=1e-12
        )


@pytest.mark.parametrize(
    ("speedup", "says"),
    [
        ([{1: 3.0}], "speedup has 1 table but there are 2 jobs"),
        ([{1: 3.0}, {}], r"speedup\[1\]"),
        ([{1: 3.0}, {0: 3.0}], r"speedup\[1\]"),
        ([{1: 3.0}, {1.5: 3.0}], r"speedup\[1\]"),
        ([{1: 3.0}, {2: -3.0}], r"speedup\[1\]\[2\] = -3"),
        ([{1: 3.0}, {2: math.nan}], r"speedup\[1\]\[2\] = nan"),
        ([{1: math.inf}, {2: 1.0}], r"speedup\[0\]\[1\] = inf"),
        (lambda j, s: -1.0, r"speedup\[0\]\[1\]"),
    ],
)
def test_speedups_that_make_no_sense(speedup, says):
    with pytest.raises(ValueError, match=says):
        allocate(mb.Jobs([1, 1]), 4, speedup=speedup)


# Many jobs: the price is bracketed on a sample first ------------------------------------------------


def greedy_sum(work, weight, due, low, high, slots):
    """Fox's greedy with a heap for w max(0, W/s - d), d = -inf: w W/s."""

    def gain(j, s):
        before, after = (
            max(0.0, work[j] / t - due[j]) if due[j] > 0 else work[j] / t for t in (s, s + 1)
        )
        return weight[j] * (before - after)

    given_slots = np.maximum(low, 1)
    heap = [(-gain(j, s), j) for j, s in enumerate(given_slots) if s < high[j]]
    heapq.heapify(heap)
    left = slots - int(given_slots.sum())
    while left and heap:
        price, j = heapq.heappop(heap)
        if price == 0.0:
            break
        given_slots[j] += 1
        left -= 1
        if given_slots[j] < high[j]:
            heapq.heappush(heap, (-gain(j, given_slots[j]), j))
    return given_slots


def big_table(seed, count, spread):
    rng = np.random.default_rng(seed)
    work = np.exp(rng.normal(0, spread, count))
    high = rng.integers(1, 40, count)
    low = np.minimum(rng.integers(0, 3, count), high)
    return mb.Jobs(
        work,
        min_slots=low,
        max_slots=high,
        weight=rng.uniform(0.01, 1, count),
        deadline=rng.uniform(0.05, 2, count),
    )


BIG = [(5000, 1.6, 0.5), (5000, 3.0, 3.0), (6000, 9.0, 1.5), (9000, 30.0, 1.5), (5000, 60.0, 1.0)]


@pytest.mark.parametrize(("count", "crowd", "spread"), BIG)
@pytest.mark.parametrize("kind", ["completion", "tardiness"])
def test_many_jobs_get_what_the_greedy_gives(count, crowd, spread, kind):
    jobs = big_table([count, int(crowd)], count, spread)
    slots = int(crowd * count)
    due = jobs.deadline if kind == "tardiness" else np.full(count, -np.inf)
    got = allocate(jobs, slots, f"sum:{kind}")
    want = greedy_sum(jobs.work, jobs.weight, due, jobs.min_slots, jobs.max_slots, slots)
    if kind == "completion":
        value = np.sum(jobs.weight * jobs.work / want)
        assert got.slots.tolist() == want.tolist()
    else:
        value = np.sum(jobs.weight * np.maximum(0, jobs.work / want - jobs.deadline))
    assert got.exact
    assert got.value == pytest.approx(value, rel=1e-9)
    assert got.slots.sum() <= slots
    assert np.all((got.slots >= jobs.min_slots) & (got.slots <= jobs.max_slots))


@pytest.mark.parametrize(("count", "crowd", "spread"), BIG)
def test_many_jobs_and_the_worst_of_them(count, crowd, spread):
    jobs = big_table([7, count], count, spread)
    slots = int(crowd * count)
    want = np.maximum(jobs.min_slots, 1)
    heap = [(-jobs.weight[j] * jobs.work[j] / s, j) for j, s in enumerate(want)]
    heapq.heapify(heap)
    for _ in range(slots - int(want.sum())):
        j = heap[0][1]
        if want[j] == jobs.max_slots[j]:
            break
        want[j] += 1
        heapq.heapreplace(heap, (-jobs.weight[j] * jobs.work[j] / want[j], j))
    got = allocate(jobs, slots, "max:completion")
    assert got.value == pytest.approx(-heap[0][0], rel=1e-12)
    assert got.slots.sum() <= slots


def test_many_equal_jobs_share_in_index_order():
    got = allocate(mb.Jobs(np.full(10_000, 3.0)), 25_000)
    assert got.slots.tolist() == [3] * 5000 + [2] * 5000


def test_many_jobs_in_an_awkward_order():
    """Sorted and blockwise tables: a sample that looks at some stretch only would be misled."""
    for work in (np.arange(1.0, 8001.0), np.repeat([1e-6, 1e6], 4000), np.r_[np.ones(7999), 1e12]):
        jobs = mb.Jobs(work)
        got = allocate(jobs, 24_000, "sum:completion")
        none = np.full(len(work), -np.inf)
        cap = np.full(len(work), 24_000)
        want = greedy_sum(work, np.ones(len(work)), none, np.zeros(len(work), int), cap, 24_000)
        assert got.value == pytest.approx(np.sum(work / want), rel=1e-9)


# Effort, modes, errors ------------------------------------------------------------------------------


def test_without_effort_the_bound_is_certified():
    rng = np.random.default_rng(12)
    settled = []
    for _ in range(60):
        slots = int(rng.integers(8, 40))
        jobs = random_jobs(rng, int(rng.integers(3, 12)), slots, steps=5)
        got = check(jobs, slots, "sum:sla", effort=0)
        settled.append(got.exact)
        assert check(jobs, slots, "sum:sla").exact
    assert not all(settled), "no instance needed any effort: the test sees nothing"


def test_gangs_have_their_size_or_nothing():
    rng = np.random.default_rng(13)
    for _ in range(80):
        count, slots = int(rng.integers(1, 5)), int(rng.integers(2, 9))
        jobs = random_jobs(rng, count, slots, minima="large")
        for objective in ("sum:response", "sum:tardy", "max:tardiness", "sum:sla"):
            got = allocate(jobs, slots, objective, min_mode="gang")
            sizes = got.slots.tolist()
            assert sum(sizes) <= slots
            low, high = ranges(jobs, slots, "gang")
            for m, s, M in zip(low, sizes, high, strict=True):
                assert s == 0 or m <= s <= M
            aggregate, table = table_of(jobs, slots, objective, 0.0)
            # Fewer slots than the gang needs are as good as none.
            free = [[F[0]] * m + F[m:] for F, m in zip(table, low, strict=True)]
            want, _ = oracle.dynamic_program(free, [0] * count, high, slots, aggregate)
            assert got.lower_bound <= want + 1e-9 or want == math.inf
            assert got.value >= want - 1e-9
            if got.exact and want < math.inf:
                assert got.value == pytest.approx(want, rel=1e-9, abs=1e-9)


def test_a_penalty_of_ones_own():
    pytest.importorskip("numba")
    rng = np.random.default_rng(14)

    def bent(job, time):  # neither convex nor concave
        return (job + 1) * (min(time, 2.0) ** 3 + max(0.0, time - 4.0) ** 0.5)

    for aggregate in AGGREGATES:
        jobs = random_jobs(rng, 6, 20, minima="small")
        got = allocate(jobs, 20, f"{aggregate}:custom", penalty=bent)
        table = [
            [bent(j, w / s) if s else math.inf for s in range(21)] for j, w in enumerate(jobs.work)
        ]
        want, _ = oracle.dynamic_program(table, *ranges(jobs, 20), 20, aggregate)
        assert got.exact
        assert got.value == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"slots": 0}, "slots"),
        ({"slots": 2.5}, "slots"),
        ({"slots": 2**50 + 1}, "slots"),
        ({"now": math.nan}, "now"),
        ({"now": "soon"}, "now"),
        ({"effort": -1}, "effort"),
        ({"min_mode": "gangs"}, "min_mode"),
        ({"objective": "sum:respons"}, "objective"),
        ({"objective": ["sum:tardy"]}, "objective"),
        ({"objective": "sum:lateness"}, "deadline"),
    ],
)
def test_bad_input(options, field):
    with pytest.raises(ValueError, match=f"^{field}") as error:
        allocate(mb.Jobs([1.0, 2.0]), **{"slots": 3, **options})
    assert "\n" not in str(error.value)
