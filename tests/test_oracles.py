"""The oracles against each other, against closed forms and against cases done by hand."""

import math
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest

from tests.full import part

from .oracles import allocation, objectives, packing
from .oracles.best_order import best_order
from .oracles.malleable_optimum import malleable_optimum, max_optimum_lp
from .oracles.validate import violations

AGGREGATES = ("sum", "max")
ALL_OBJECTIVES = [f"{a}:{k}" for a in AGGREGATES for k in objectives.KINDS]
TWO_JOBS = ([3.0, 3.0], [1, 1], [2, 2], 3)  # where no order is optimal (Lemma 1 of FLEX)


def close(value):
    return pytest.approx(value, rel=1e-7, abs=1e-7)


def penalty_columns(rng, work, now, slots):
    """Arrivals, sizes, weights, deadlines and steps that make every kind of penalty matter."""
    jobs = len(work)
    horizon = sum(work) / slots
    sla = []
    for _ in range(jobs):
        steps = int(rng.integers(0, 3))
        times = np.sort(now + rng.uniform(0, horizon, steps)).tolist()
        sla.append(list(zip(times, np.cumsum(rng.uniform(0, 1, steps)).tolist(), strict=True)))
    return {
        "arrival": now - rng.uniform(0, 1, jobs) * min(now, 1.0),
        "size": np.array(work) + rng.uniform(0, 1, jobs),
        "weight": rng.uniform(0.1, 1, jobs),
        "deadline": now + rng.uniform(0, 1.2 * horizon, jobs),
        "sla": sla,
    }


def random_sizes(rng, jobs, slots, *, minima=True, capped=True, idle=0.0):
    """Work, minima that fit, maxima."""
    work = np.where(rng.random(jobs) < idle, 0.0, rng.uniform(0.2, 6, jobs))
    maximum = rng.integers(1, slots + 1, jobs) if capped else np.full(jobs, slots)
    minimum = np.minimum(rng.integers(0, 3, jobs) * minima, maximum)
    return work.tolist(), packing.scale_minima(work, minimum, slots), maximum.tolist()


# objectives ---------------------------------------------------------------------------------------


def test_each_kind_by_hand():
    job = {"arrival": 1.0, "size": 4.0, "weight": 3.0, "deadline": 6.0, "sla": [(2, 0.5), (7, 2)]}
    at_nine = {
        "response": 24,
        "completion": 27,
        "stretch": 6,
        "tardy": 3,
        "tardiness": 9,
        "lateness": 9,
        "sla": 6,
    }
    at_five = {
        "response": 12,
        "completion": 15,
        "stretch": 3,
        "tardy": 0,
        "tardiness": 0,
        "lateness": -3,
        "sla": 1.5,
    }
    for kind in objectives.KINDS:
        assert objectives.penalty(kind, 9.0, **job) == at_nine[kind]
        assert objectives.penalty(kind, 5.0, **job) == at_five[kind]
    mixed = ["sum:tardy", "sum:lateness"]
    columns = {"weight": [2.0, 1.0], "deadline": [1.0, 5.0]}
    assert objectives.value(mixed, [3.0, 4.0], **columns) == 1.0
    assert objectives.value(["max:tardy", "max:lateness"], [3.0, 4.0], **columns) == 2.0


def test_edges_of_penalties():
    penalty = objectives.penalty
    assert penalty("tardy", 2.0 + 1e-9, deadline=2.0) == 0.0
    assert penalty("tardy", 2.0 + 3e-9, deadline=2.0) == 1.0
    assert penalty("tardy", 1e6 + 9e-4, deadline=1e6) == 0.0
    assert penalty("sla", 2.0 + 1e-9, sla=[(2.0, 5.0)]) == 0.0
    assert penalty("tardiness", 1e9) == penalty("tardy", math.inf) == 0.0
    assert penalty("stretch", 5.0, size=0.0) == 0.0
    assert penalty("response", math.inf, weight=0.0) == 0.0
    with pytest.raises(ValueError, match="deadline"):
        penalty("lateness", 1.0)


def test_latest_time_is_the_inverse():
    rng = np.random.default_rng(1)
    for _ in range(300):
        columns = penalty_columns(rng, [2.0], 3.0, 1)
        (job,) = objectives.job_data(1, **columns)
        for kind in objectives.KINDS:
            level = objectives.penalty(kind, 3.0 + rng.uniform(0, 3), **job)
            latest = objectives.latest_time(kind, level, **job)
            if latest < math.inf:
                assert objectives.penalty(kind, latest, **job) == close(level)
                assert objectives.penalty(kind, latest + 1e-6, **job) > level


# packing ------------------------------------------------------------------------------------------


def test_minima_that_fit_stay_and_others_are_scaled():
    assert packing.scale_minima([1, 1], [2, 3], 5) == [2, 3]
    assert packing.scale_minima([1, 1, 1], [3, 3, 3], 4) == [2, 1, 1]
    assert packing.scale_minima([1, 1, 1], [1, 2, 4], 5) == [1, 1, 3]  # 5/7, 10/7, 20/7
    assert packing.scale_minima([1, 0, 1], [4, 9, 4], 6) == [3, 0, 3]
    assert packing.scale_minima([1] * 5, [1] * 5, 2) == [1, 1, 0, 0, 0]


def test_packing_by_hand():
    plan = packing.packing([0, 1], *TWO_JOBS)
    assert plan.completion == [1.5, 2.25]
    assert plan.pieces == [(0, 0, 1.5, 2), (1, 0, 1.5, 1), (1, 1.5, 2.25, 2)]

    # The third job ends on its minimum, before the second has had its turn.
    plan = packing.packing([0, 1, 2], [8, 6, 1], [0, 1, 1], [3, 4, 4], 4, number=Fraction)
    # 0..1: 2 1 1; then 3 1 until 3; then job 1 has 6 - 3 = 3 left on 4 slots
    assert plan.completion == [3, Fraction(15, 4), 1]


def test_packing_of_jobs_without_work_and_ties():
    plan = packing.packing([1, 0, 2], [2, 0, 2], [1, 5, 1], [2, 9, 2], 4)
    assert plan.completion == [1, 0, 1]
    assert plan.pieces == [(0, 0, 1, 2), (2, 0, 1, 2)]


def test_gang_by_hand():
    # Job 1 needs 3 of the 4 slots, and waits while job 0 has 2; job 2 goes past it.
    plan = packing.gang_packing([0, 1, 2], [4, 6, 4], [2, 3, 0], [2, 4, 1], 4)
    assert plan.completion == [2, 3.5, 5.5]
    assert plan.pieces == [(0, 0, 2, 2), (2, 0, 2, 1), (1, 2, 3.5, 4), (2, 3.5, 5.5, 1)]
    assert packing.gang_packing([0, 1], [1, 1], [5, 1], [9, 9], 4).completion == [math.inf, 0.25]


def test_water_filling_by_hand():
    share = packing.water_filling_allocation
    assert share([0, 0, 0], [9, 9, 9], [1, 1, 1], 7) == [3, 2, 2]
    assert share([5, 0, 0], [9, 9, 1], [1, 1, 1], 9) == [5, 3, 1]
    assert share([0, 0], [10, 10], [1, 3], 10) == [3, 7]  # 2.5 and 7.5: a tie
    assert share([0, 0], [10, 10], [3, 1], 10) == [8, 2]
    assert share([0, 0, 0], [10] * 3, [1, 1, 2], 7) == [2, 2, 3]  # 1.75, 1.75, 3.5
    assert share([0, 0], [2, 3], [1, 1], 10) == [2, 3]
    assert share([0, 1, 0], [4, 4, 2], [0, 0, 1], 6) == [2, 2, 2]
    assert share([0] * 4, [5] * 4, [1] * 4, 2) == [1, 1, 0, 0]
    assert share([0] * 3, [9] * 3, [0.1, 0.2, 0.3], 6) == [1, 2, 3]
    plan = packing.water_filling_plan([2, 8], [0, 0], [4, 4], [1, 1], 4)
    assert plan.completion == [1, 2.5]


def test_water_filling_shares_are_level():
    rng = np.random.default_rng(2)
    for _ in range(200):
        jobs, slots = int(rng.integers(1, 9)), int(rng.integers(1, 30))
        _, low, high = random_sizes(rng, jobs, slots)
        weight = rng.choice([0.5, 1.0, 2.0, rng.uniform(0.1, 3)], jobs)
        shares = packing.water_filling_shares(low, high, weight, slots)
        given = packing.water_filling_allocation(low, high, weight, slots)
        assert sum(shares) == sum(given) == min(slots, sum(high))
        assert all(m <= g <= M for m, g, M in zip(low, given, high, strict=True))
        assert all(abs(g - s) < 1 for g, s in zip(given, shares, strict=True))
        # Whoever is not at its minimum is at no higher level than whoever is not at its maximum.
        above = [s / Fraction(w) for s, m, w in zip(shares, low, weight, strict=True) if s > m]
        below = [s / Fraction(w) for s, M, w in zip(shares, high, weight, strict=True) if s < M]
        assert not above or not below or max(above) <= min(below)


@pytest.mark.parametrize("seed", range(40))
def test_packings_are_schedules(seed):
    rng = np.random.default_rng([3, seed])
    jobs, slots = int(rng.integers(1, 12)), int(rng.integers(1, 20))
    work, low, high = random_sizes(rng, jobs, slots, idle=0.2)
    order = rng.permutation(jobs).tolist()
    weight = rng.uniform(0.1, 2, jobs)
    problem = (work, low, high, slots)
    plans = [
        (packing.packing(order, *problem), "guarantee"),
        (packing.gang_packing(order, *problem), "gang"),
        (packing.water_filling_plan(work, low, high, weight, slots), "guarantee"),
        (packing.packing(packing.fifo_order(weight), work, [0] * jobs, high, slots), "none"),
    ]
    for plan, mode in plans:
        assert not violations(plan.pieces, *problem, completion=plan.completion, min_mode=mode)
    exact = packing.packing(order, *problem, number=Fraction)
    assert [float(t) for t in exact.completion] == close(plans[0][0].completion)


# best order ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(part(30, 10)))
def test_best_order_against_all_permutations(seed):
    rng = np.random.default_rng([4, seed])
    jobs, slots = int(rng.integers(1, part(6, 5))), int(rng.integers(1, 9))
    now = float(rng.integers(0, 3))
    work, low, high = random_sizes(rng, jobs, slots, idle=0.15, capped=bool(seed % 3))
    columns = penalty_columns(rng, work, now, slots)
    mixed = [[f"{a}:{k}" for k in rng.choice(objectives.KINDS, jobs)] for a in AGGREGATES]
    goals = ALL_OBJECTIVES + mixed

    def values(order):
        relative = packing.packing(order, work, low, high, slots).completion
        ends = [now + c for c in relative]
        for j in np.flatnonzero(np.array(work) == 0):
            ends[j] = columns["arrival"][j]
        return [objectives.value(goal, ends, **columns) for goal in goals]

    expected = np.min([values(order) for order in permutations(range(jobs))], axis=0)
    for prune in (True, False):
        found = best_order(work, low, high, slots, goals, now=now, prune=prune, **columns)
        assert found.value == close(expected)
        attained = [values(order.tolist())[g] for g, order in enumerate(found.order)]
        assert attained == close(expected)


def test_best_order_of_six_jobs_and_of_ten():
    rng = np.random.default_rng(5)
    work, low, high = random_sizes(rng, 6, 10)
    columns = penalty_columns(rng, work, 0.0, 10)
    plans = [packing.packing(p, work, low, high, 10) for p in permutations(range(6))]
    found = best_order(work, low, high, 10, ALL_OBJECTIVES, **columns)
    for goal, value in zip(ALL_OBJECTIVES, found.value, strict=True):
        every = [objectives.value(goal, plan.completion, **columns) for plan in plans]
        assert value == close(min(every))

    # All maxima at S and no minima: one machine, so Smith's rule, Jackson's and the sum of work.
    work = rng.uniform(1, 20, 10)
    weight, deadline = rng.uniform(0.1, 1, 10), rng.uniform(0, 1, 10)
    goals = ["sum:completion", "max:lateness", "max:completion"]
    problem = (work, np.zeros(10, int), np.full(10, 100), 100)
    smith = np.argsort(work / weight)
    assert best_order(*problem, goals[:1], weight=weight).value[0] == close(
        float(np.sum(weight[smith] * np.cumsum(work[smith])) / 100)
    )
    jackson = np.argsort(deadline)
    late = np.max(np.cumsum(work[jackson]) / 100 - deadline[jackson])
    assert best_order(*problem, goals[1:], deadline=deadline).value == close(
        [float(late), float(work.sum() / 100)]
    )


# malleable optimum --------------------------------------------------------------------------------


def test_two_jobs_that_no_order_serves_best():
    def orders(objective, **columns):
        return float(best_order(*TWO_JOBS, [objective], **columns).value[0])

    def optimum(objective, **columns):
        return malleable_optimum(*TWO_JOBS, objective, **columns).value

    assert optimum("max:completion") == close(2.0)
    assert orders("max:completion") == 2.25
    assert optimum("sum:tardy", deadline=2.0) == 0.0
    assert orders("sum:tardy", deadline=2.0) == 1.0
    assert optimum("sum:tardiness", deadline=2.0) == close(0.0)
    assert orders("sum:tardiness", deadline=2.0) == 0.25
    assert optimum("sum:response") == orders("sum:response") == close(3.75)
    assert optimum("max:sla", sla=[[(1.9, 1.0)], [(2.0, 1.0), (2.1, 3.0)]]) == 1.0
    no_minima = (TWO_JOBS[0], TWO_JOBS[2], TWO_JOBS[3])
    assert max_optimum_lp(*no_minima, "max:completion") == close(2.0)


@pytest.mark.parametrize("objective", ALL_OBJECTIVES)
def test_optimum_is_a_schedule_and_no_order_beats_it(objective):
    rng = np.random.default_rng([6, ALL_OBJECTIVES.index(objective)])
    for trial in range(16):
        slots, now = int(rng.integers(2, 7)), float(trial % 2)
        work, low, high = random_sizes(rng, 3 + trial % 2, slots, idle=0.1)
        columns = penalty_columns(rng, work, now, slots)
        best = malleable_optimum(work, low, high, slots, objective, now=now, **columns)
        assert objectives.value(objective, best.completion, **columns) == close(best.value)
        rules = {"now": now, "integral": False}
        assert not violations(best.pieces, work, low, high, slots, **rules)
        packed = best_order(work, low, high, slots, [objective], now=now, **columns).value[0]
        assert best.value <= packed + 1e-7


@pytest.mark.parametrize("objective", ALL_OBJECTIVES)
def test_optimum_is_an_order_when_maxima_do_not_bind(objective):
    rng = np.random.default_rng([7, ALL_OBJECTIVES.index(objective)])
    for _ in range(8):
        slots = int(rng.integers(3, 7))
        work, low, high = random_sizes(rng, 3, slots, capped=False)
        columns = penalty_columns(rng, work, 0.0, slots)
        best = malleable_optimum(work, low, high, slots, objective, **columns)
        packed = best_order(work, low, high, slots, [objective], **columns).value[0]
        assert best.value == close(packed)


def test_optimum_of_mixed_kinds():
    rng = np.random.default_rng(12)
    for trial in range(12):
        slots, aggregate = int(rng.integers(3, 7)), AGGREGATES[trial % 2]
        objective = [f"{aggregate}:{k}" for k in rng.choice(objectives.KINDS, 4)]
        work, low, high = random_sizes(rng, 4, slots, capped=False, idle=0.1)
        columns = penalty_columns(rng, work, 1.0, slots)
        best = malleable_optimum(work, low, high, slots, objective, now=1.0, **columns)
        packed = best_order(work, low, high, slots, [objective], now=1.0, **columns).value[0]
        assert best.value == close(packed)
        assert objectives.value(objective, best.completion, **columns) == close(packed)


def test_optimum_without_minima_against_closed_forms_and_the_other_program():
    rng = np.random.default_rng(8)
    kinds = [k for k in objectives.KINDS if k != "completion"]
    for _ in range(part(4, 2)):
        slots = int(rng.integers(2, 7))
        work, low, high = random_sizes(rng, 4, slots, minima=False)
        columns = penalty_columns(rng, work, 0.0, slots)
        alone = max(w / m for w, m in zip(work, high, strict=True))
        makespan = max(alone, sum(work) / slots)
        assert malleable_optimum(work, low, high, slots, "max:completion").value == close(makespan)
        assert max_optimum_lp(work, high, slots, "max:completion") == close(makespan)
        mixed = [f"max:{k}" for k in rng.choice(kinds, 4)]
        for objective in (*(f"max:{k}" for k in kinds), mixed):
            level = max_optimum_lp(work, high, slots, objective, **columns)
            best = malleable_optimum(work, low, high, slots, objective, **columns)
            assert level == close(best.value)


def test_max_optimum_of_ten_jobs():
    rng = np.random.default_rng(9)
    work, low, high = random_sizes(rng, 10, 20, minima=False)
    columns = penalty_columns(rng, work, 0.0, 20)
    for objective in ("max:stretch", "max:tardiness", "max:lateness", "max:sla"):
        level = max_optimum_lp(work, high, 20, objective, **columns)
        packed = best_order(work, low, high, 20, [objective], **columns).value[0]
        assert level <= packed + 1e-8
    # On one machine Jackson's rule is optimal, also among all malleable schedules.
    due = np.argsort(columns["deadline"])
    late = np.max(np.cumsum(np.array(work)[due]) / 20 - columns["deadline"][due])
    found = max_optimum_lp(work, [20] * 10, 20, "max:lateness", deadline=columns["deadline"])
    assert found == pytest.approx(late, rel=1e-8)


def test_fewest_tardy_against_all_sets_of_jobs_in_time():
    rng = np.random.default_rng(10)
    for _ in range(5):
        work = rng.uniform(1, 5, 5)
        deadline = rng.uniform(1, 9, 5)
        weight = rng.uniform(0.1, 1, 5)
        gains = [0.0]
        for size in range(1, 6):
            for chosen in combinations(np.argsort(deadline), size):
                ends = np.cumsum(work[list(chosen)]) / 2  # one machine of two slots
                if np.all(ends <= deadline[list(chosen)]):
                    gains.append(weight[list(chosen)].sum())
        columns = {"deadline": deadline, "weight": weight}
        best = malleable_optimum(work, [0] * 5, [2] * 5, 2, "sum:tardy", **columns)
        assert best.value == close(weight.sum() - max(gains))


# allocation ---------------------------------------------------------------------------------------


def test_speedup_completion():
    expected = [math.inf, math.inf, 6.0, 6.0, 4.0, 4.0]
    assert allocation.speedup_completion({2: 6.0, 4: 4.0, 5: 7.0}, 5) == expected
    assert allocation.speedup_completion({}, 2) == [math.inf] * 3


def test_allocation_by_hand():
    aggregate, table = allocation.moldable_table([8.0, 2.0], 4, "sum:completion")
    assert table[0] == [math.inf, 8.0, 4.0, 8 / 3, 2.0]
    for solve in (allocation.brute_force, allocation.dynamic_program):
        assert solve(table, [0, 0], [9, 9], 4, aggregate) == (close(8 / 3 + 2), [3, 1])
        assert solve(table, [3, 2], [9, 9], 4, aggregate) == (math.inf, None)
    assert allocation.fox_greedy(table, [0, 0], [9, 9], 4) == (close(8 / 3 + 2), [3, 1])
    assert allocation.worst_first(table, [0, 0], [9, 9], 4) == (close(8 / 3), [3, 1])


@pytest.mark.parametrize("seed", range(25))
def test_allocations_agree(seed):
    rng = np.random.default_rng([11, seed])
    jobs, slots = int(rng.integers(1, 5)), int(rng.integers(1, 9))
    work, low, high = random_sizes(rng, jobs, slots, idle=0.1)
    columns = penalty_columns(rng, work, 0.0, slots)
    convex = {"response", "completion", "stretch", "tardiness", "lateness"}
    for objective in ALL_OBJECTIVES:
        aggregate, table = allocation.moldable_table(work, slots, objective, **columns)
        problem = (table, low, high, slots)
        value, chosen = allocation.brute_force(*problem, aggregate)
        found = [allocation.dynamic_program(*problem, aggregate)]
        if aggregate == "max":
            found.append(allocation.worst_first(*problem))
        elif objective.split(":")[1] in convex:
            found.append(allocation.fox_greedy(*problem))
        for other, slots_of in found:
            assert other == close(value)
            assert sum(slots_of) <= slots
            assert all(m <= s <= M for m, s, M in zip(low, slots_of, high, strict=True))
            paid = [F[s] for F, s in zip(table, slots_of, strict=True)]
            assert objectives.aggregate_of(aggregate, paid) == close(other)
        assert chosen is not None


def test_greedy_misses_steps():
    # One slot gains nothing for job 0, two gain 3; the greedy takes 1 from job 1 at once.
    table = [[3.0, 3.0, 0.0], [1.0, 0.0, 0.0]]
    assert allocation.fox_greedy(table, [0, 0], [2, 2], 2)[0] == 3.0
    assert allocation.dynamic_program(table, [0, 0], [2, 2], 2, "sum") == (1.0, [2, 0])


# the checker --------------------------------------------------------------------------------------


def test_checker_accepts_overlapping_pieces_and_fluid_ones():
    pieces = [(0, 0, 1, 1), (0, 0, 1, 1), (1, 0, 3, 1), (0, 1, 2, 1)]
    assert not violations(pieces, [3, 3], [1, 1], [2, 2], 3, completion=[2, 3])
    fluid = [(0, 0, 2, 1.5), (1, 0, 2, 1.5)]
    assert not violations(fluid, *TWO_JOBS, completion=[2, 2], integral=False)
    idle = {"completion": [5, 7], "arrival": [5, 4], "now": 6}
    assert not violations([(1, 6, 7, 1)], [0, 1], [3, 0], [3, 3], 3, **idle)


@pytest.mark.parametrize(
    ("pieces", "options", "text"),
    [
        ([(0, 0, 1, 3), (1, 0, 3, 1)], {}, "at most 2"),
        ([(0, 0, 1.5, 2), (1, 0, 1.5, 2)], {}, "4.0 of 3 slots"),
        ([(0, 0, 1.5, 2), (1, 1.5, 3, 2)], {}, "at least 1"),
        ([(0, 0, 1.5, 2), (1, 0, 2, 1)], {}, "2.0 of 3.0 slot-seconds"),
        ([(0, 0, 2, 1.5), (1, 0, 2, 1.5)], {}, "whole number"),
        ([(0, -1, 0.5, 2), (1, -1, 2, 1)], {}, "before now"),
        ([(0, 0, 1.5, 2), (1, 0, 3, 1)], {"completion": [1.5, 2.9]}, "completes at 3.0"),
        ([(2, 0, 1.5, 2)], {}, "job 2 does not exist"),
        ([(0, 0, math.inf, 2)], {}, "not finite"),
        ([(0, 2, 0.5, -2), (1, 0, 3, 1)], {}, "from 2.0 to 0.5"),
    ],
)
def test_checker_refuses(pieces, options, text):
    assert any(text in line for line in violations(pieces, *TWO_JOBS, **options))


def test_checker_knows_the_ways_of_minima():
    waits = [(0, 0, 1.5, 2), (1, 1.5, 3, 2)]
    assert not violations(waits, *TWO_JOBS, min_mode="gang")
    thin = [(0, 0, 1.5, 2), (1, 0, 1.5, 1), (1, 1.5, 2.25, 2)]
    problem = ([3, 3], [1, 2], [2, 2], 3)
    assert any("at least 2" in line for line in violations(thin, *problem, min_mode="gang"))
    assert not violations(thin, *problem, min_mode="none")
