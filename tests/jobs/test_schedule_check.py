"""The checker finds what is wrong, whatever it is, and agrees with the tests' own."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import malleable as mb
from malleable.jobs.check import check_schedule
from tests.full import part
from tests.oracles.validate import violations
from tests.strategies import cases, limits, pieces_of


def schedule(jobs, slots, rows, completion, *, now=0.0, policy="flex", min_mode="guarantee"):
    """A schedule by hand; rows are (job, start, end, slots)."""
    columns = list(zip(*rows, strict=True)) if rows else [[], [], [], []]
    kinds = (np.int64, float, float, np.int64)
    names = ("job", "start", "end", "slots")
    given = np.zeros(len(jobs), dtype=np.int64)
    for job, start, end, held in rows:
        if start <= now < end and 0 <= job < len(jobs):
            given[job] += held
    return SimpleNamespace(
        jobs=jobs,
        capacity=slots,
        now=now,
        policy=policy,
        min_mode=min_mode,
        live=False,
        looped=False,
        period=0.0,
        slots=given,
        completion=np.array(completion, float),
        pieces={
            name: np.array(column, kind)
            for name, column, kind in zip(names, columns, kinds, strict=True)
        },
    )


JOBS = mb.Jobs([4.0, 3.0], min_slots=[1, 1], max_slots=[2, 3])
GOOD = [(0, 0.0, 2.0, 2), (1, 0.0, 2.0, 1), (1, 2.0, 2.0 + 1 / 3, 3)]
ENDS = [2.0, 2.0 + 1 / 3]


def test_a_good_schedule_passes():
    check_schedule(schedule(JOBS, 3, GOOD, ENDS))
    # Pieces of one job may overlap and then add up; their order does not matter.
    split = [(0, 0.0, 2.0, 1), (1, 2.0, 2.0 + 1 / 3, 3), (0, 0.0, 2.0, 1), (1, 0.0, 2.0, 1)]
    check_schedule(schedule(JOBS, 3, split, ENDS))
    check_schedule(schedule(mb.Jobs([]), 1, [], []))


@pytest.mark.parametrize(
    ("rows", "ends", "says"),
    [
        ([(0, 0.0, 2.0, 2), (1, 0.0, 2.0, 1)], ENDS, "job1.*slot-seconds"),
        ([*GOOD, (1, 2.5, 3.0, 1)], ENDS, "job1.*slot-seconds"),
        (GOOD, [2.0, 2.5], "job1.*completion"),
        (GOOD, [1.9, ENDS[1]], "job0.*completion"),
        (GOOD, [np.inf, ENDS[1]], "job0.*(never|nothing)"),
        ([(0, 0.0, 4 / 3, 3), (1, 0.0, 3.0, 1)], [4 / 3, 3.0], "4 slots of 3"),
        ([(0, 0.0, 2.0, 2), (1, 2.0, 3.0, 3)], [2.0, 3.0], "job1.*(wait|minimum)"),
        ([(0, -1.0, 1.0, 2), GOOD[1], GOOD[2]], [1.0, ENDS[1]], "before now"),
        ([(0, 2.0, 0.0, 2), GOOD[1], GOOD[2]], ENDS, "ends before"),
        ([(0, 0.0, 2.0, 0), GOOD[1], GOOD[2]], ENDS, "whole slots"),
        ([(0, 0.0, 2.0, -2), GOOD[1], GOOD[2]], ENDS, "whole slots"),
        ([*GOOD, (2, 0.0, 1.0, 1)], ENDS, "unknown job"),
        ([*GOOD, (-1, 0.0, 1.0, 1)], ENDS, "unknown job"),
        ([(0, 0.0, np.nan, 2), GOOD[1], GOOD[2]], ENDS, "invalid plan"),
        ([(0, np.nan, 2.0, 2), GOOD[1], GOOD[2]], ENDS, "invalid plan"),
        ([(0, 0.0, np.inf, 2), GOOD[1], GOOD[2]], ENDS, "invalid plan"),
        (GOOD, [np.nan, ENDS[1]], "job0"),
    ],
)
def test_a_fault_is_found(rows, ends, says):
    with pytest.raises(ValueError, match=f"^invalid plan: .*{says}|^{says}") as error:
        check_schedule(schedule(JOBS, 3, rows, ends))
    assert "\n" not in str(error.value)


def test_a_maximum_is_a_maximum_also_when_pieces_add_up():
    rows = [(0, 0.0, 1.0, 2), (0, 0.0, 2.0, 1), (1, 0.0, 3.0, 1)]
    with pytest.raises(ValueError, match="job0.*3 slots, its maximum is 2"):
        check_schedule(schedule(JOBS, 9, rows, [2.0, 3.0]))


def test_a_minimum_holds_until_the_end():
    jobs = mb.Jobs([4.0, 3.0], min_slots=[0, 1], max_slots=3)
    gap = [(0, 0.5, 1.5, 3), (1, 0.0, 0.5, 3), (1, 1.5, 2.0, 3), (0, 1.5, 2.5, 1)]
    with pytest.raises(ValueError, match="job1.*minimum is 1"):
        check_schedule(schedule(jobs, 4, gap, [2.5, 2.0]))
    check_schedule(schedule(jobs, 4, gap, [2.5, 2.0], policy="fifo"))
    late = [(1, 0.5, 1.5, 3), (0, 0.0, 4 / 3, 3)]
    with pytest.raises(ValueError, match="job1.*minimum is 1"):
        check_schedule(schedule(jobs, 6, late, [4 / 3, 1.5]))


def test_minima_that_do_not_fit_are_scaled():
    jobs = mb.Jobs([4.0, 2.0, 2.0], min_slots=[4, 2, 2])
    # 2 1 1 of four slots.
    rows = [(0, 0.0, 2.0, 2), (1, 0.0, 2.0, 1), (2, 0.0, 2.0, 1)]
    check_schedule(schedule(jobs, 4, rows, [2.0, 2.0, 2.0]))
    other = [(0, 0.0, 4.0, 1), (1, 0.0, 1.0, 2), (2, 0.0, 2.0, 1)]
    with pytest.raises(ValueError, match="job0.*minimum is 2"):
        check_schedule(schedule(jobs, 4, other, [4.0, 1.0, 2.0]))


def test_a_gang_has_its_size_or_nothing():
    jobs = mb.Jobs([4.0, 3.0], min_slots=[2, 3], max_slots=[2, 3])
    rows = [(0, 0.0, 2.0, 2), (1, 2.0, 3.0, 3)]
    check_schedule(schedule(jobs, 4, rows, [2.0, 3.0], min_mode="gang"))
    with pytest.raises(ValueError, match="job1"):
        check_schedule(schedule(jobs, 4, rows, [2.0, 3.0]))
    small = [(0, 0.0, 2.0, 2), (1, 0.0, 1.0, 2), (1, 2.0, 3.0, 1)]
    with pytest.raises(ValueError, match="job1.*gang needs 3"):
        check_schedule(schedule(jobs, 4, small, [2.0, 3.0], min_mode="gang"))


def test_only_a_gang_larger_than_the_cluster_may_never_run():
    jobs = mb.Jobs([4.0, 3.0], min_slots=[2, 5])
    rows, ends = [(0, 0.0, 1.0, 4)], [1.0, np.inf]
    check_schedule(schedule(jobs, 4, rows, ends, min_mode="gang"))
    for min_mode, policy in (("guarantee", "flex"), ("gang", "fifo"), ("guarantee", "fair")):
        with pytest.raises(ValueError, match="job1"):
            check_schedule(schedule(jobs, 4, rows, ends, min_mode=min_mode, policy=policy))
    with pytest.raises(ValueError, match="job0"):
        check_schedule(schedule(jobs, 4, [], [np.inf, np.inf], min_mode="gang"))


def test_jobs_without_work_end_at_their_arrival():
    jobs = mb.Jobs([0.0, 1.0], arrival=[-3.0, 0.0], min_slots=[5, 0])
    check_schedule(schedule(jobs, 1, [(1, 0.0, 1.0, 1)], [-3.0, 1.0]))
    with pytest.raises(ValueError, match="job0.*arrival"):
        check_schedule(schedule(jobs, 1, [(1, 0.0, 1.0, 1)], [0.0, 1.0]))
    with pytest.raises(ValueError, match="job0"):
        check_schedule(schedule(jobs, 2, [(1, 0.0, 1.0, 1), (0, 0.0, 1.0, 1)], [-3.0, 1.0]))


def test_no_slots_too_many_now_however_short_they_are_held():
    """Jobs that are over before the clock moves leave no pieces, but they take slots all the same."""
    jobs = mb.Jobs([1e-12, 10.0], max_slots=[10, 10])
    short = schedule(jobs, 10, [(1, 1.7e9, 1.7e9 + 1, 10)], [1.7e9, 1.7e9 + 1], now=1.7e9)
    for slots in ([10, 0], [3, 7]):
        short.slots = np.array(slots)
        check_schedule(short)
    short.slots = np.array([10, 10])
    with pytest.raises(ValueError, match="slots: 20 slots of 10"):
        check_schedule(short)
    short.slots = np.array([-1, 10])
    with pytest.raises(ValueError, match="job0.*slots: -1 slots"):
        check_schedule(short)


def test_a_second_of_too_many_slots_is_seen_on_todays_clock():
    jobs = mb.Jobs([10.0, 10.0])
    now = 1.7e9
    rows = [(0, now, now + 1.0, 10), (1, now + 0.5, now + 1.5, 10)]
    with pytest.raises(ValueError, match="20 slots of 10"):
        check_schedule(schedule(jobs, 10, rows, [now + 1.0, now + 1.5], now=now))


def test_the_allocation_is_what_the_pieces_show():
    wrong = schedule(JOBS, 3, GOOD, ENDS)
    wrong.slots = np.array([1, 2])
    with pytest.raises(ValueError, match="job0.*slots: 1 slots, but its pieces have 2 now"):
        check_schedule(wrong)


def test_short_and_long_columns():
    broken = schedule(JOBS, 3, GOOD, ENDS)
    broken.pieces["slots"] = broken.pieces["slots"][:-1]
    with pytest.raises(ValueError, match="length"):
        check_schedule(broken)
    broken = schedule(JOBS, 3, GOOD, ENDS)
    broken.pieces["slots"] = broken.pieces["slots"].astype(float)
    with pytest.raises(ValueError, match="whole slots"):
        check_schedule(broken)


def test_a_plan_checks_itself():
    plan = mb.plan(JOBS, 3)
    plan.validate()
    plan.pieces = {**plan.pieces, "slots": plan.pieces["slots"] + 1}
    with pytest.raises(ValueError, match="^invalid plan"):
        plan.validate()


def complaint(plan):
    try:
        check_schedule(plan)
    except ValueError as error:
        return str(error)
    return None


CHANGES = (
    "none",
    "slots+",
    "slots-",
    "later",
    "shorter",
    "longer",
    "drop",
    "twice",
    "other job",
    "end",
)


@settings(max_examples=part(800, 50))
@given(
    cases(min_jobs=1, extreme=False),
    st.sampled_from(["flex", "fair", "fifo"]),
    st.sampled_from(["guarantee", "gang"]),
    st.sampled_from(CHANGES),
    st.integers(0, 2**32 - 1),
)
def test_a_plan_with_one_change_is_judged_as_the_oracle_judges_it(
    case, policy, min_mode, change, seed
):
    jobs, slots, now = case
    plan = mb.plan(jobs, slots, policy=policy, effort=0, now=now, min_mode=min_mode)
    rows = pieces_of(plan)
    ends = plan.completion.copy()
    # The oracle has no word for jobs that never run.
    assume(np.all(np.isfinite(ends)) and rows)
    rng = np.random.default_rng(seed)
    at = int(rng.integers(len(rows)))
    j, start, end, given_slots = rows[at]
    span = end - start
    assume(span > 1e-3)
    if change == "drop":
        del rows[at]
    elif change == "twice":
        rows.append(rows[at])
    elif change == "end":
        ends[j] += 0.5 * span
    else:
        rows[at] = {
            "none": (j, start, end, given_slots),
            "slots+": (j, start, end, given_slots + 1),
            "slots-": (j, start, end, given_slots - 1),
            "later": (j, start + 0.5 * span, end + 0.5 * span, given_slots),
            "shorter": (j, start, start + 0.75 * span, given_slots),
            "longer": (j, start, end + 0.25 * span, given_slots),
            "other job": ((j + 1) % len(jobs), start, end, given_slots),
        }[change]
    changed = schedule(jobs, slots, rows, ends, now=now, policy=policy, min_mode=min_mode)
    low, high = limits(jobs, slots, policy=policy, min_mode=min_mode)
    found = violations(
        [row for row in rows if row[3] > 0],
        jobs.work,
        low,
        high,
        slots,
        completion=ends,
        arrival=jobs.arrival,
        now=now,
        min_mode="none" if policy == "fifo" else min_mode,
    )
    said = complaint(changed)
    if any(row[3] < 1 for row in rows):
        assert said is not None
    else:
        assert (said is not None) == bool(found), (said, found)
    assert (change == "none") <= (said is None)
