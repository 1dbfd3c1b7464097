"""The epoch object against a simple model, and against the plans that it stands for."""

import math
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import malleable as mb
from tests.oracles.packing import scale_minima, waterline_allocation
from tests.oracles.validate import violations
from tests.strategies import (
    KINDS,
    MIN_MODES,
    OBJECTIVES,
    POLICIES,
    limits,
    literal_value,
    pieces_of,
    random_jobs,
)

LINEAR = ("sum:response", "sum:completion", "sum:stretch", "sum:lateness")
INF = math.inf


# What a decision must be ----------------------------------------------------------------------------


class Row:
    """A job as the model sees it."""

    def __init__(self, work, low, high, weight, arrival, deadline, size, sla):
        self.work, self.low, self.high, self.weight = work, low, high, weight
        self.arrival, self.deadline, self.size, self.sla = arrival, deadline, size, sla


def rows_of(jobs):
    columns = (jobs.work, jobs.min_slots, jobs.max_slots, jobs.weight, jobs.arrival, jobs.deadline)
    lists = [column.tolist() for column in (*columns, jobs.size)]
    return [Row(*values) for values in zip(*lists, jobs.sla, strict=True)]


def least_and_most(rows, slots, policy, min_mode):
    """What each job is guaranteed (a gang: needs) and may have."""
    low = [r.low if r.work > 0 and policy != "fifo" else 0 for r in rows]
    if min_mode == "guarantee":
        low = scale_minima([r.work for r in rows], low, slots)
    return low, [min(r.high, slots) if r.work > 0 else 0 for r in rows]


def urgency(row, objective, policy):
    """Small is urgent: arrival for FIFO, otherwise Smith's ratio."""
    if policy == "fifo":
        return row.arrival
    size = row.size if objective.endswith("stretch") else 1.0
    return row.work * size / row.weight if row.weight > 0 and size > 0 else INF


def by_waterline(rows, slots, policy, min_mode):
    """FAIR's or WDEQ's slots; gangs are admitted by row while they fit."""
    low, high = least_and_most(rows, slots, policy, min_mode)
    running, left = [], slots
    for j, row in enumerate(rows):
        need = max(1, low[j]) if min_mode == "gang" else 0
        if row.work > 0 and need <= left:
            left -= need
            running.append(j)
    shares = waterline_allocation(
        [low[j] for j in running],
        [high[j] for j in running],
        [rows[j].weight if policy == "wdeq" else 1.0 for j in running],
        slots,
    )
    given = [0] * len(rows)
    for j, share in zip(running, shares, strict=True):
        given[j] = share
    return given


def check_slots_given(given, rows, slots, policy, min_mode):
    """Capacity, limits, and no slot idle that somebody could use."""
    low, high = least_and_most(rows, slots, policy, min_mode)
    assert sum(given) <= slots
    for j, got in enumerate(given):
        assert got <= high[j]
        assert got >= low[j] or (min_mode == "gang" and got == 0)
    if min_mode == "guarantee" or policy == "fifo":
        assert sum(given) == min(slots, sum(high))


def check_priority(given, keys, low, high):
    """Whoever has more than its minimum is at least as urgent as whoever could use more."""
    winners = [k for k, got, m in zip(keys, given, low, strict=True) if got > m]
    losers = [k for k, got, M in zip(keys, given, high, strict=True) if got < M]
    if winners and losers:
        assert max(winners) <= min(losers) * (1 + 1e-12) or max(winners) == min(losers)
    between = [j for j, got in enumerate(given) if low[j] < got < high[j]]
    assert len(between) <= 1


def check_plan(decision, epoch, rows, objective, policy, min_mode):
    """The plan behind a decision starts with it, and is a valid plan of the epoch's jobs."""
    plan = decision.plan()
    assert plan.allocation.tolist() == decision.slots.tolist()
    plan.validate()
    jobs = plan.jobs
    assert jobs.name == tuple(str(job) for job in decision.ids.tolist())
    for name, want in {
        "work": "work",
        "size": "size",
        "arrival": "arrival",
        "weight": "weight",
        "deadline": "deadline",
        "min_slots": "low",
        "max_slots": "high",
    }.items():
        assert getattr(jobs, name).tolist() == [getattr(row, want) for row in rows], name
    assert jobs.sla == [row.sla for row in rows]
    assert (plan.slots, plan.now) == (epoch.slots, decision.now)
    assert (plan.policy, plan.objective, plan.min_mode) == (policy, objective, min_mode)
    assert plan.lower_bound <= plan.value
    assert plan.value == pytest.approx(
        literal_value(objective, plan.completion, jobs), rel=1e-9, abs=1e-9
    )
    low, high = limits(jobs, epoch.slots, policy=policy, min_mode=min_mode)
    runs = np.isfinite(plan.completion)
    # Ended already, or never going to end: nothing of it may be in the schedule.
    has_work = (jobs.work > 0) & runs
    found = violations(
        pieces_of(plan),
        np.where(has_work, jobs.work, 0.0),
        low,
        high,
        epoch.slots,
        completion=np.where(has_work, plan.completion, 0.0),
        now=decision.now,
        min_mode="none" if policy == "fifo" else min_mode,
    )
    assert found == []
    return plan


# Any sequence of calls ------------------------------------------------------------------------------

WORK = st.sampled_from([0.0, 0.5, 1.0, 2.0, 2.0, 3.0, 7.5, 40.0])
SLOT_COUNTS = st.integers(1, 25)
SPANS = st.sampled_from([-3.0, 0.0, 0.5, 2.0, 9.0])


class EpochMachine(RuleBasedStateMachine):
    """Adds, updates, removes and decides; a dictionary of rows is the model."""

    @initialize(
        slots=SLOT_COUNTS,
        objective=st.sampled_from(OBJECTIVES),
        policy=st.sampled_from(("flex", *POLICIES)),
        min_mode=st.sampled_from(("guarantee", *MIN_MODES)),
        hysteresis=st.sampled_from([0.0, 0.0, 0.3, 2.0]),
        effort=st.sampled_from([None, None, 0, 12]),
    )
    def start(self, slots, objective, policy, min_mode, hysteresis, effort):
        if policy != "flex":
            hysteresis, effort = 0.0, None
        self.objective, self.policy, self.min_mode = objective, policy, min_mode
        self.hysteresis, self.effort = hysteresis, effort
        self.slots, self.now = slots, 0.0
        self.epoch = mb.Epoch(
            slots, objective, policy, hysteresis, min_mode=min_mode, effort=effort
        )
        self.rows, self.last, self.retired = {}, {}, set()
        self.decision = None

    def drawn_ids(self, data):
        known = sorted(self.rows)
        return data.draw(st.lists(st.sampled_from(known), unique=True, max_size=len(known)))

    @rule(data=st.data(), count=st.integers(0, 6))
    def add(self, data, count):
        def column(values):
            return data.draw(st.lists(values, min_size=count, max_size=count))

        high = column(st.sampled_from([1, 2, 5, 30, mb.ALL_SLOTS]))
        low = [min(a, b) for a, b in zip(column(st.integers(0, 4)), high, strict=True)]
        work = column(WORK)
        steps = [
            [(self.now + 1.0, 1.0), (self.now + 4.0, 2.5)][:k] for k in column(st.integers(0, 2))
        ]
        table = {
            "arrival": [self.now - gone for gone in column(st.sampled_from([0.0, 0.0, 1.0, 6.0]))],
            "min_slots": low,
            "max_slots": high,
            "weight": column(st.sampled_from([0.0, 0.5, 1.0, 1.0, 4.0])),
            "deadline": [self.now + later for later in column(SPANS)],
            "sla": steps,
            "size": [w * f for w, f in zip(work, column(st.sampled_from([1.0, 3.0])), strict=True)],
        }
        if data.draw(st.booleans()):
            ids = self.epoch.add(work, **table)
        else:
            ids = self.epoch.add(jobs=mb.Jobs(work, **table))
        assert ids.dtype == np.int64
        fresh = ids.tolist()
        assert len(fresh) == count
        assert len(set(fresh)) == count
        assert not self.retired & set(fresh)
        assert not set(self.rows) & set(fresh)
        for job, row in zip(fresh, rows_of(mb.Jobs(work, **table)), strict=True):
            self.rows[job] = row
        self.decision = None

    @precondition(lambda self: self.rows)
    @rule(data=st.data(), which=st.sets(st.sampled_from(["work", "limits", "weight", "deadline"])))
    def update(self, data, which):
        ids = self.drawn_ids(data)
        count = len(ids)

        def column(values):
            return data.draw(st.lists(values, min_size=count, max_size=count))

        changes = {}
        if "work" in which:
            changes["work"] = column(WORK)
        if "weight" in which:
            changes["weight"] = column(st.sampled_from([0.0, 0.5, 1.0, 2.0]))
        if "deadline" in which:
            changes["deadline"] = [self.now + later for later in column(SPANS)]
        if "limits" in which:
            changes["max_slots"] = column(st.sampled_from([1, 3, 8, 100]))
            low = column(st.integers(0, 5))
            changes["min_slots"] = [
                min(a, b) for a, b in zip(low, changes["max_slots"], strict=True)
            ]
        self.epoch.update(ids, **changes)
        names = {"min_slots": "low", "max_slots": "high"}
        for name, values in changes.items():
            for job, value in zip(ids, values, strict=True):
                setattr(self.rows[job], names.get(name, name), value)
        self.decision = None

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def remove(self, data):
        ids = self.drawn_ids(data)
        self.epoch.remove(ids)
        for job in ids:
            del self.rows[job]
            self.last.pop(job, None)
            self.retired.add(job)
        self.decision = None

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def run_for_a_while(self, data):
        """Time passes and work is done, as between two epochs."""
        self.now += data.draw(st.sampled_from([0.0, 0.25, 1.0]))
        ids = sorted(self.rows)
        left = [max(0.0, self.rows[job].work - 0.5 * self.last.get(job, 0)) for job in ids]
        self.epoch.update(ids, work=left)
        for job, work in zip(ids, left, strict=True):
            self.rows[job].work = work
        self.decision = None

    @rule(
        data=st.data(),
        fault=st.sampled_from(["id", "work", "limits", "weight", "length", "retired"]),
    )
    def something_wrong(self, data, fault):
        """Refused, and nothing changes: the next decision shows it."""
        ids = self.drawn_ids(data) if self.rows else []
        wrong = {
            "id": ([*ids, 10**6], {"work": 1.0}),
            "work": (ids, {"work": [1.0] * (len(ids) - 1) + [math.nan]}),
            "limits": (ids, {"min_slots": [0] * (len(ids) - 1) + [9], "max_slots": 8}),
            "weight": (ids, {"work": 5.0, "weight": [1.0] * (len(ids) - 1) + [-1.0]}),
            "length": (ids, {"work": [1.0] * (len(ids) + 1)}),
            "retired": ([*ids, *sorted(self.retired)[:1]], {"weight": 9.0}),
        }
        ids, changes = wrong[fault]
        if (not ids and fault != "length") or (fault == "retired" and not self.retired):
            return
        with pytest.raises(ValueError):
            self.epoch.update(ids, **changes)
        if fault in ("id", "retired"):
            with pytest.raises(ValueError, match="no such job"):
                self.epoch.remove(ids)

    @rule(slots=st.none() | SLOT_COUNTS, full=st.booleans())
    def decide(self, slots, full):
        if slots is not None:
            self.slots = slots
        decision = self.epoch.decide(self.now, slots)
        ids, given = decision.ids.tolist(), decision.slots.tolist()
        assert decision.now == self.now
        assert decision.slots.dtype == np.int64
        assert decision.changed.dtype == bool
        assert sorted(ids) == sorted(self.rows)
        rows = [self.rows[job] for job in ids]
        want = [self.last.get(job, 0) != got for job, got in zip(ids, given, strict=True)]
        assert decision.changed.tolist() == want
        check_slots_given(given, rows, self.slots, self.policy, self.min_mode)
        if self.policy in ("fair", "wdeq"):
            assert given == by_waterline(rows, self.slots, self.policy, self.min_mode)
        elif self.min_mode == "guarantee" and self.by_one_key():
            low, high = least_and_most(rows, self.slots, self.policy, self.min_mode)
            scaled = low != [r.low if r.work > 0 and self.policy != "fifo" else 0 for r in rows]
            keys = [urgency(row, self.objective, self.policy) for row in rows]
            for j, job in enumerate(ids):
                if self.last.get(job, 0) > low[j]:
                    keys[j] /= 1 + self.hysteresis
            # Scaled minima take another way, where ranks stand in for keys.
            if not (scaled and self.hysteresis):
                check_priority(given, keys, low, high)
        if full:
            check_plan(decision, self.epoch, rows, self.objective, self.policy, self.min_mode)
            check_plan(decision, self.epoch, rows, self.objective, self.policy, self.min_mode)
        self.last = dict(zip(ids, given, strict=True))
        self.decision = decision

    def by_one_key(self):
        return self.policy == "fifo" or (self.objective in LINEAR and self.effort is None)

    @invariant()
    def size_and_capacity(self):
        if hasattr(self, "epoch"):
            assert len(self.epoch) == len(self.rows)
            assert self.epoch.slots == self.slots

    @precondition(lambda self: self.decision is not None)
    @rule()
    def a_second_decision_changes_nothing_without_hysteresis(self):
        again = self.epoch.decide(self.now)
        if self.hysteresis == 0.0:
            assert again.slots.tolist() == self.decision.slots.tolist()
            assert not again.changed.any()
        self.last = dict(zip(again.ids.tolist(), again.slots.tolist(), strict=True))
        with pytest.raises(RuntimeError, match="moved on"):
            self.decision.plan()
        self.decision = again


def test_any_sequence_of_calls():
    run_state_machine_as_test(
        EpochMachine, settings=settings(max_examples=250, stateful_step_count=25)
    )


# By hand --------------------------------------------------------------------------------------------


def test_the_urgent_get_the_slack():
    epoch = mb.Epoch(10, "sum:response")
    ids = epoch.add([30.0, 10.0, 20.0], min_slots=1, max_slots=[9, 4, 9], weight=[1, 1, 4])
    assert ids.tolist() == [0, 1, 2]
    first = epoch.decide()
    assert first.ids.tolist() == [0, 1, 2]
    assert first.slots.tolist() == [1, 1, 8]
    assert first.changed.tolist() == [True, True, True]
    epoch.update([2], work=0.0)
    second = epoch.decide(now=1.0)
    assert second.slots.tolist() == [6, 4, 0]
    assert second.changed.tolist() == [True, True, True]
    epoch.remove([0])
    third = epoch.decide(now=2.0)
    assert dict(zip(third.ids.tolist(), third.slots.tolist(), strict=True)) == {1: 4, 2: 0}
    assert not third.changed.any()


def test_no_jobs():
    for policy in POLICIES:
        for min_mode in MIN_MODES:
            for objective in OBJECTIVES:
                epoch = mb.Epoch(3, objective, policy, min_mode=min_mode)
                assert epoch.add([]).tolist() == []
                epoch.update([], work=[])
                epoch.remove([])
                decision = epoch.decide(4.0)
                assert decision.ids.tolist() == decision.slots.tolist() == []
                plan = decision.plan()
                plan.validate()
                assert (plan.value, plan.gap, len(plan.order)) == (0.0, 0.0, 0)


def test_stretch_divides_by_the_original_size():
    epoch = mb.Epoch(1, "sum:stretch")
    ids = epoch.add([4.0, 6.0], size=[40.0, 6.0])
    assert epoch.decide().slots.tolist() == [0, 1]
    # What remains changes, the size does not.
    epoch.update(ids, work=[0.5, 6.0])
    decision = epoch.decide()
    assert decision.slots.tolist() == [1, 0]
    assert decision.plan().penalty.tolist() == [0.5 / 40, 6.5 / 6]


def test_the_size_is_the_first_work_unless_given():
    epoch = mb.Epoch(2, "sum:stretch")
    ids = epoch.add([8.0])
    epoch.update(ids, work=2.0)
    assert epoch.decide(3.0).plan().penalty.tolist() == [(3.0 + 1.0) / 8]


def test_work_done_ends_now_and_work_never_had_at_arrival():
    epoch = mb.Epoch(2, "sum:completion")
    ids = epoch.add([8.0, 0.0, 3.0], arrival=[0.0, 1.0, 1.0])
    epoch.update(ids[:1], work=0.0)
    plan = epoch.decide(5.0).plan()
    plan.validate()
    assert plan.completion.tolist() == [5.0, 1.0, 6.5]


def test_capacity_comes_and_goes():
    epoch = mb.Epoch(10)
    epoch.add([10.0, 20.0], max_slots=8)
    assert epoch.decide().slots.tolist() == [8, 2]
    assert epoch.decide(slots=3).slots.tolist() == [3, 0]
    assert epoch.slots == 3
    assert epoch.decide().slots.tolist() == [3, 0]
    again = epoch.decide(slots=100)
    assert again.slots.tolist() == [8, 8]
    assert again.changed.tolist() == [True, True]
    assert again.plan().slots == 100


def test_minima_that_stop_fitting_are_scaled():
    epoch = mb.Epoch(8)
    epoch.add([5.0, 9.0], min_slots=[2, 6])
    assert epoch.decide().slots.tolist() == [2, 6]
    small = epoch.decide(slots=4)
    assert small.slots.tolist() == [1, 3]
    assert small.plan().status == "minima_scaled"
    assert epoch.decide(slots=9).slots.tolist() == [3, 6]


def test_huge_minima_leave_no_trace():
    """Sums of slot counts stay exact after a minimum that dwarfs them has come and gone."""
    epoch = mb.Epoch(100)
    epoch.add([3.0, 4.0], min_slots=[3, 4], max_slots=[5, 200])
    ids = epoch.add([1.0, 1.0], min_slots=[mb.ALL_SLOTS, 2**53 + 1])
    assert epoch.decide().slots.sum() == 100
    epoch.update(ids[1:], min_slots=1)
    epoch.remove(ids[:1])
    assert sorted(epoch.decide().slots.tolist()) == [3, 4, 93]
    epoch.remove(ids[1:])
    assert epoch.decide().slots.tolist() == [5, 95]


def test_ids_stay_unique_over_many_jobs():
    epoch = mb.Epoch(50)
    rng = np.random.default_rng(100)
    alive, seen = {}, set()
    for batch in range(40):
        work = rng.uniform(1, 100, 500)
        ids = epoch.add(work).tolist()
        assert not seen & set(ids)
        seen |= set(ids)
        alive |= dict(zip(ids, work.tolist(), strict=True))
        gone = rng.choice(sorted(alive), int(rng.integers(300, 520)), replace=False).tolist()
        epoch.remove(gone)
        for job in gone:
            del alive[job]
        if batch % 5 == 0:
            decision = epoch.decide()
            assert set(decision.ids.tolist()) == set(alive)
            # The shortest has everything.
            shortest = min(alive, key=lambda job: (alive[job], job))
            assert decision.slots.sum() == 50
            assert decision.ids[decision.slots == 50].tolist() == [shortest]
    with pytest.raises(ValueError, match="no such job"):
        epoch.update([gone[0]], work=1.0)


def test_steps_of_an_sla_survive_removals():
    epoch = mb.Epoch(4, "sum:sla")
    kept = {}
    for batch in range(30):
        sla = [[(10.0 * batch + k, 1.0), (10.0 * batch + k + 0.5, 2.0 + k)] for k in range(60)]
        ids = epoch.add(np.ones(60), sla=sla)
        keep = batch % 7
        kept |= {int(job): steps for job, steps in zip(ids[:keep], sla[:keep], strict=True)}
        epoch.remove(ids[keep:])
    decision = epoch.decide()
    plan = decision.plan()
    assert dict(zip(decision.ids.tolist(), plan.jobs.sla, strict=True)) == kept


def test_ten_thousand_jobs():
    rng = np.random.default_rng(101)
    epoch = mb.Epoch(20_000, "sum:response")
    jobs = random_jobs(rng, 10_000, 40, minima="none", work=(0.1, 100))
    epoch.add(jobs=jobs)
    for now in range(4):
        decision = epoch.decide(float(now), slots=20_000 + 500 * now)
        rows = rows_of(jobs)
        low, high = least_and_most(rows, epoch.slots, "flex", "guarantee")
        keys = [urgency(row, "sum:response", "flex") for row in rows]
        assert decision.slots.sum() == min(epoch.slots, sum(high))
        check_priority(decision.slots.tolist(), keys, low, high)
        left = np.maximum(0.0, jobs.work - decision.slots * 0.1)
        ids = decision.ids[decision.slots > 0]
        epoch.update(ids, work=left[ids])
        jobs = mb.Jobs(left, max_slots=jobs.max_slots, weight=jobs.weight, arrival=jobs.arrival)


# Against plans of the same table --------------------------------------------------------------------


@pytest.mark.parametrize("min_mode", MIN_MODES)
@pytest.mark.parametrize("policy", ["fair", "fifo", "wdeq"])
def test_baselines_decide_as_they_plan(policy, min_mode):
    rng = np.random.default_rng([102, len(policy)])
    for _ in range(15):
        slots = int(rng.integers(1, 25))
        jobs = random_jobs(rng, int(rng.integers(1, 12)), slots, minima="large", idle=0.1)
        epoch = mb.Epoch(slots, policy=policy, min_mode=min_mode)
        epoch.add(jobs=jobs)
        decision = epoch.decide()
        plan = mb.plan(jobs, slots, policy=policy, min_mode=min_mode)
        assert decision.slots.tolist() == plan.allocation.tolist()
        own = decision.plan()
        assert own.completion.tolist() == plan.completion.tolist()
        assert own.value == plan.value


@pytest.mark.parametrize("min_mode", MIN_MODES)
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("effort", [0, 40])
def test_with_an_effort_flex_decides_as_it_plans(objective, effort, min_mode):
    rng = np.random.default_rng([103, len(objective), effort])
    for _ in range(4):
        slots = int(rng.integers(2, 25))
        jobs = random_jobs(rng, 9, slots, minima="small", maxima="tight", idle=0.1, now=3.0)
        epoch = mb.Epoch(slots, objective, effort=effort, min_mode=min_mode)
        epoch.add(jobs=jobs)
        decision = epoch.decide(3.0)
        plan = mb.plan(jobs, slots, objective, effort=effort, now=3.0, min_mode=min_mode)
        assert decision.slots.tolist() == plan.allocation.tolist()
        own = decision.plan()
        assert own.value == plan.value
        assert own.completion.tolist() == plan.completion.tolist()
        assert own.order.tolist() == plan.order.tolist()
        for name in ("job", "start", "end", "slots"):
            assert own.pieces[name].tolist() == plan.pieces[name].tolist()


@pytest.mark.parametrize("objective", LINEAR)
def test_the_selection_is_the_start_of_smiths_packing(objective):
    rng = np.random.default_rng([104, len(objective)])
    for _ in range(20):
        slots = int(rng.integers(1, 25))
        jobs = random_jobs(rng, 9, slots, maxima="all")
        epoch = mb.Epoch(slots, objective)
        epoch.add(jobs=jobs)
        # Without binding maxima Smith's order is the best of the fixed ones.
        if not jobs.min_slots.any():
            assert (
                epoch.decide().slots.tolist() == mb.plan(jobs, slots, objective).allocation.tolist()
            )
        decision = epoch.decide()
        plan = decision.plan()
        keys = [urgency(row, objective, "flex") for row in rows_of(jobs)]
        assert plan.order.tolist() == sorted(range(9), key=lambda j: keys[j])


@pytest.mark.parametrize("kind", KINDS)
def test_maxima_without_effort_come_near_their_bound(kind):
    """The deadlines of the optimal level give the order: rarely far from the optimum."""
    rng = np.random.default_rng([105, len(kind)])
    for _ in range(10):
        jobs = random_jobs(rng, 9, 14, maxima="all", minima="none")
        epoch = mb.Epoch(14, f"max:{kind}")
        epoch.add(jobs=jobs)
        plan = epoch.decide().plan()
        plan.validate()
        assert plan.value == pytest.approx(
            mb.plan(jobs, 14, f"max:{kind}").value, rel=1e-6, abs=1e-6
        )


def test_a_simulated_run_ends_every_job():
    """Decide, let half a second pass, tell what remains: an epoch loop as a scheduler has it."""
    rng = np.random.default_rng(106)
    for policy in POLICIES:
        jobs = random_jobs(rng, 20, 12, minima="large", work=(0.5, 9))
        epoch = mb.Epoch(12, policy=policy)
        ids = epoch.add(jobs=jobs)
        left = dict(zip(ids.tolist(), jobs.work.tolist(), strict=True))
        now, rounds = 0.0, 0
        while left:
            decision = epoch.decide(now)
            assert decision.slots.sum() > 0
            now += 0.5
            rounds += 1
            given = dict(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True))
            left = {job: work - 0.5 * given[job] for job, work in left.items()}
            gone = [job for job, work in left.items() if work <= 0]
            left = {job: work for job, work in left.items() if work > 0}
            epoch.remove(gone)
            epoch.update(list(left), work=list(left.values()))
        assert len(epoch) == 0
        # 20 jobs waste less than an epoch's slots each.
        assert rounds * 0.5 <= jobs.work.sum() / 12 + 0.5 * 21 + float(np.max(jobs.work))


# Hysteresis -----------------------------------------------------------------------------------------


def test_slots_stay_for_small_changes_and_move_for_large_ones():
    moved = {}
    for hysteresis in (0.0, 0.5, 3.0):
        epoch = mb.Epoch(1, hysteresis=hysteresis)
        ids = epoch.add([4.0, 5.0])
        assert epoch.decide().slots.tolist() == [1, 0]
        epoch.update(ids, work=[5.5, 5.0])
        small = epoch.decide()
        assert small.changed.tolist() == [small.slots[0] == 0] * 2
        epoch.update(ids, work=[100.0, 5.0])
        moved[hysteresis] = (
            small.slots.tolist() == [0, 1],
            epoch.decide().slots.tolist() == [0, 1],
        )
    assert moved == {0.0: (True, True), 0.5: (False, True), 3.0: (False, True)}


@pytest.mark.parametrize("objective", ["sum:tardiness", "sum:sla", "max:lateness", "max:stretch"])
def test_without_a_key_places_in_the_order_stand_in_for_urgency(objective):
    """One that overtakes the holder gets nothing, half a dozen do."""
    for hysteresis in (0.0, 3.0):
        epoch = mb.Epoch(1, objective, hysteresis=hysteresis)
        holder = epoch.add([4.0], deadline=9.0, sla=[[(9.0, 1.0)]], arrival=0.0)
        assert epoch.decide().slots.tolist() == [1]
        urgent = {"deadline": 1.0, "sla": [[(1.0, 9.0)]], "arrival": 0.0}
        epoch.add([0.5], **urgent)
        assert epoch.decide().slots.tolist() == ([1, 0] if hysteresis else [0, 1])
        if hysteresis:
            for _ in range(6):
                epoch.add([0.1], **urgent)
            decision = epoch.decide()
            assert decision.slots[decision.ids == holder[0]].tolist() == [0]


def test_hysteresis_is_measured_by_smiths_ratio():
    for factor, stays in ((1.49, True), (1.51, False)):
        epoch = mb.Epoch(1, hysteresis=0.5)
        ids = epoch.add([4.0, 5.0])
        assert epoch.decide().slots.tolist() == [1, 0]
        epoch.update(ids[:1], work=5.0 * factor)
        assert (epoch.decide().slots.tolist() == [1, 0]) is stays


def test_a_job_on_its_minimum_holds_nothing():
    epoch = mb.Epoch(4, hysteresis=9.0)
    ids = epoch.add([4.0, 5.0], min_slots=1)
    assert epoch.decide().slots.tolist() == [3, 1]
    epoch.update(ids, work=[20.0, 5.0])
    assert epoch.decide().slots.tolist() == [3, 1]
    # Its slots beyond the minimum are taken away by capacity; when they return it is no holder.
    assert epoch.decide(slots=2).slots.tolist() == [1, 1]
    assert epoch.decide(slots=4).slots.tolist() == [1, 3]


def test_fewer_slots_change_hands():
    def changes(hysteresis):
        rng = np.random.default_rng(107)
        epoch = mb.Epoch(20, hysteresis=hysteresis)
        work = rng.uniform(10, 20, 40)
        ids = epoch.add(work, max_slots=4)
        count = 0
        for now in range(30):
            count += int(epoch.decide(float(now)).changed.sum())
            epoch.update(ids, work=work * rng.uniform(0.8, 1.25, 40))
        return count

    assert changes(1.0) < 0.5 * changes(0.0)


# Wrong input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"slots": 0}, "slots = 0"),
        ({"slots": 2.5}, "slots = 2.5"),
        ({"slots": 2**50 + 1}, "slots"),
        ({"objective": "sum:respons"}, "objective = 'sum:respons'"),
        ({"objective": "sum:custom"}, "objective custom"),
        ({"objective": ["sum:tardy", "sum:sla"]}, "objective"),
        ({"policy": "flx"}, "policy = 'flx'"),
        ({"min_mode": "gangs"}, "min_mode = 'gangs'"),
        ({"hysteresis": -0.5}, "hysteresis"),
        ({"hysteresis": math.nan}, "hysteresis"),
        ({"hysteresis": INF}, "hysteresis"),
        ({"hysteresis": "some"}, "hysteresis"),
        ({"effort": -1}, "effort = -1"),
        ({"effort": 0.5}, "effort = 0.5"),
        ({"policy": "fair", "hysteresis": 0.5}, "hysteresis"),
        ({"policy": "fifo", "effort": 3}, ".*effort"),
    ],
)
def test_bad_options(options, field):
    with pytest.raises(ValueError, match=f"^{field}") as error:
        mb.Epoch(**{"slots": 4, **options})
    assert "\n" not in str(error.value)


def unchanged(epoch, now=1.0):
    """What a decision and its plan say, to compare before and after."""
    decision = epoch.decide(now)
    plan = decision.plan()
    columns = ("work", "size", "weight", "deadline", "arrival", "min_slots", "max_slots")
    return (
        len(epoch),
        epoch.slots,
        decision.ids.tolist(),
        decision.slots.tolist(),
        [getattr(plan.jobs, name).tolist() for name in columns],
        plan.jobs.sla,
        plan.value,
    )


UPDATES = [
    ({"ids": [0, 7], "work": [1, 1]}, "ids[1] = 7: no such job"),
    ({"ids": [-1], "work": 1}, "ids[0] = -1: no such job"),
    ({"ids": [1], "work": 1}, "ids[0] = 1: no such job"),
    ({"ids": [2**63], "work": 1}, "ids[0] = "),
    ({"ids": [0.5], "work": 1}, "ids"),
    ({"ids": ["0"], "work": 1}, "ids"),
    ({"ids": [True], "work": 1}, "ids"),
    ({"ids": [[0, 2]], "work": 1}, "ids"),
    ({"ids": [0, 2], "work": [1, math.nan]}, "work[1] = nan"),
    ({"ids": [0, 2], "work": [-1.0, 2]}, "work[0] = -1"),
    ({"ids": [0, 2], "work": [1, INF]}, "work[1] = inf"),
    ({"ids": [0, 2], "work": [1.0]}, "work has "),
    ({"ids": [0, 2], "work": []}, "work has "),
    ({"ids": [0, 2], "work": [[1.0, 2.0]]}, "work"),
    ({"ids": [0, 2], "work": "ab"}, "work"),
    ({"ids": [0, 2], "work": 7, "weight": [1, -1]}, "weight[1] = -1"),
    ({"ids": [0, 2], "work": 7, "weight": [math.nan, 1]}, "weight[0] = nan"),
    ({"ids": [0, 2], "work": 7, "deadline": [1, math.nan]}, "deadline[1] = nan"),
    ({"ids": [0, 2], "work": 7, "deadline": [-INF, 1]}, "deadline[0] = -inf"),
    ({"ids": [0, 2], "work": 7, "min_slots": [0, -5]}, "min_slots[1] = -5"),
    ({"ids": [0, 2], "work": 7, "min_slots": [0, 99]}, "min_slots[1] = 99"),
    ({"ids": [0, 2], "work": 7, "min_slots": [0.5, 1]}, "min_slots[0] = 0.5"),
    ({"ids": [0, 2], "work": 7, "min_slots": 3, "max_slots": [9, 2]}, "min_slots[1] = 3"),
    ({"ids": [0, 2], "work": 7, "min_slots": 0, "max_slots": [9, 0]}, "max_slots[1] = 0"),
    ({"ids": [0, 2], "work": 7, "min_slots": 0, "max_slots": [9, math.nan]}, "max_slots[1] = nan"),
    ({"ids": [0, 2], "work": 7, "max_slots": [9, 9, 9]}, "max_slots has "),
]


@pytest.mark.parametrize(("call", "says"), UPDATES)
@pytest.mark.parametrize("objective", ["sum:stretch", "max:lateness"])
def test_a_wrong_update_changes_nothing(objective, call, says):
    epoch = mb.Epoch(9, objective)
    ids = epoch.add(
        [5.0, 1.0, 7.0],
        max_slots=[4, 9, 8],
        min_slots=1,
        deadline=[3, 2, 4],
        sla=[[(1, 1)], [], []],
    )
    epoch.remove(ids[1:2])
    before = unchanged(epoch)
    with pytest.raises(ValueError, match=re.escape(says)) as error:
        epoch.update(**call)
    assert "\n" not in str(error.value)
    assert unchanged(epoch) == before


def test_other_wrong_calls_change_nothing():
    epoch = mb.Epoch(9, "sum:lateness")
    epoch.add([5.0, 7.0], deadline=[3, 4])
    before = unchanged(epoch)
    wrong = [
        (lambda: epoch.remove([0, 9]), "ids[1] = 9: no such job"),
        (lambda: epoch.remove([0.0]), "ids"),
        (lambda: epoch.add([1.0, -2.0], deadline=1), "work[1] = -2"),
        (lambda: epoch.add([1.0, 2.0], deadline=[1, None]), "deadline[1] = inf: lateness"),
        (lambda: epoch.add([1.0], deadline=1, size=[math.nan]), "size[0] = nan"),
        (lambda: epoch.add([1.0], deadline=1, min_slots=4, max_slots=3), "min_slots[0] = 4"),
        (lambda: epoch.add(jobs=mb.Jobs([1.0])), "deadline[0] = inf: lateness"),
        (lambda: epoch.add(jobs=[1.0]), "jobs"),
        (epoch.add, "add"),
        (lambda: epoch.add([1.0], jobs=mb.Jobs([1.0])), "add"),
        (lambda: epoch.update([0], deadline=INF), "deadline[0] = inf: lateness"),
        (lambda: epoch.decide(math.nan), "now = nan"),
        (lambda: epoch.decide("noon"), "now = 'noon'"),
        (lambda: epoch.decide(1.0, slots=0), "slots = 0"),
        (lambda: epoch.decide(1.0, slots=2.5), "slots = 2.5"),
    ]
    for call, says in wrong:
        with pytest.raises(ValueError, match=re.escape(says)) as error:
            call()
        assert "\n" not in str(error.value)
        assert unchanged(epoch) == before


def test_an_arrival_in_the_future_is_an_error_and_changes_nothing():
    epoch = mb.Epoch(4)
    epoch.add([2.0, 3.0])
    before = unchanged(epoch)
    ids = epoch.add([1.0, 1.0], arrival=[1.0, 8.0])
    with pytest.raises(ValueError, match=r"arrival.*3.*8.*now = 1"):
        epoch.decide(1.0, slots=7)
    assert epoch.slots == 4
    epoch.remove(ids)
    assert unchanged(epoch) == before
    epoch.add([1.0], arrival=8.0)
    assert epoch.decide(8.0).slots.tolist() == [0, 0, 4]


def test_a_job_named_twice():
    epoch = mb.Epoch(4)
    ids = epoch.add([2.0, 3.0, 5.0])
    epoch.update([0, 0], work=[8.0, 9.0])
    assert epoch.decide().plan().jobs.work.tolist() == [9.0, 3.0, 5.0]
    epoch.remove([ids[1], ids[1]])
    assert sorted(epoch.decide().ids.tolist()) == [0, 2]


def test_scalars_and_none_work_as_in_tables():
    epoch = mb.Epoch(4, "sum:tardiness")
    epoch.add([2.0, 3.0], deadline=[1, None])
    epoch.update([0, 1], work=5, max_slots=np.uint64(2**63), deadline=[None, 2])
    epoch.update(1, weight=7)
    jobs = epoch.decide().plan().jobs
    assert jobs.work.tolist() == [5.0, 5.0]
    assert jobs.max_slots.tolist() == [mb.ALL_SLOTS] * 2
    assert jobs.deadline.tolist() == [INF, 2.0]
    assert jobs.weight.tolist() == [1.0, 7.0]


# Plans of decisions that are gone, threads ----------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda epoch: epoch.add([1.0]),
        lambda epoch: epoch.update([0], work=1.0),
        lambda epoch: epoch.remove([0]),
        lambda epoch: epoch.decide(),
        lambda epoch: epoch.decide(slots=3),
    ],
)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_plan_must_be_asked_for_before_anything_changes(policy, change):
    epoch = mb.Epoch(4, policy=policy)
    epoch.add([2.0, 3.0])
    decision = epoch.decide()
    assert decision.plan().value == decision.plan().value
    change(epoch)
    with pytest.raises(RuntimeError, match="moved on"):
        decision.plan()
    epoch.decide().plan().validate()


def test_decisions_are_copies():
    epoch = mb.Epoch(4)
    epoch.add([2.0, 3.0])
    decision = epoch.decide()
    decision.slots[:] = 99
    decision.ids[:] = 77
    assert epoch.decide().slots.tolist() == [4, 0]
    plan = epoch.decide().plan()
    plan.completion[:] = -1.0
    assert epoch.decide().plan().completion.tolist() != [-1.0, -1.0]


def steps_of_a_run(seed):
    """Everything that a busy loop on one object decides."""
    rng = np.random.default_rng(seed)
    epoch = mb.Epoch(40, "sum:tardiness" if seed % 2 else "sum:stretch")
    said = []
    for now in range(25):
        jobs = random_jobs(rng, 60, 40, minima="small")
        epoch.add(
            jobs=mb.Jobs(jobs.work, min_slots=0, max_slots=jobs.max_slots, deadline=jobs.deadline)
        )
        decision = epoch.decide(float(now))
        said.append((decision.ids.tolist(), decision.slots.tolist(), decision.plan().value))
        epoch.remove(decision.ids[decision.slots > 0])
    return said


def test_objects_in_different_threads_do_not_meet():
    alone = [steps_of_a_run(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(steps_of_a_run, range(4))) == alone


def test_one_object_in_several_threads_refuses_or_waits_but_never_breaks():
    epoch = mb.Epoch(200, "sum:tardiness")
    rng = np.random.default_rng(108)
    epoch.add(jobs=random_jobs(rng, 3000, 200, minima="none"))
    added, surprises = [], []
    begin = threading.Barrier(4)

    def hammer(seed):
        mine = np.random.default_rng(seed)
        begin.wait()
        for _ in range(60):
            call = mine.integers(4)
            try:
                if call == 0:
                    added.extend(epoch.add(mine.uniform(1, 5, 3), deadline=4.0).tolist())
                elif call == 1:
                    epoch.update(mine.integers(0, 3000, 5), work=mine.uniform(1, 9, 5))
                elif call == 2:
                    epoch.decide(5.0)
                else:
                    epoch.decide(5.0).plan()
            except RuntimeError:
                continue
            except Exception as error:
                surprises.append(error)

    threads = [threading.Thread(target=hammer, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert surprises == []
    assert len(set(added)) == len(added)
    decision = epoch.decide(5.0)
    assert sorted(decision.ids.tolist()) == [*range(3000), *sorted(added)]
    rows = rows_of(decision.plan().jobs)
    check_slots_given(decision.slots.tolist(), rows, 200, "flex", "guarantee")
    decision.plan().validate()


def test_what_it_says_about_itself():
    epoch = mb.Epoch(4, "max:stretch")
    epoch.add([2.0, 3.0])
    assert epoch.objective == "max:stretch"
    assert repr(epoch.decide(2.0)) == "Decision(now=2, 2 jobs, 4 slots, 1 changed)"
