"""The epoch object against a simple model, and against the plans that it stands for."""

import math

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
    MIN_MODES,
    OBJECTIVES,
    POLICIES,
    limits,
    literal_value,
    pieces_of,
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
