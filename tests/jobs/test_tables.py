"""Job tables: what they accept, what they keep, and what they say about bad input."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from malleable.validation import ALL_SLOTS
from tests.full import part
from tests.strategies import cases

NAN, INF = float("nan"), float("inf")
COLUMNS = (
    "work",
    "arrival",
    "min_slots",
    "max_slots",
    "weight",
    "deadline",
    "sla_offset",
    "sla_time",
    "sla_penalty",
    "size",
)


def one_line(error):
    text = str(error.value)
    assert "\n" not in text and text
    return text


# Field, what is wrong with row 1 of 3, how the message must show it, and a word of the reason.
BAD_ROWS = [
    ("work", NAN, "nan", "finite"),
    ("work", INF, "inf", "finite"),
    ("work", -INF, "-inf", "finite"),
    ("work", -1.5, "-1.5", "at least 0"),
    ("arrival", NAN, "nan", "finite"),
    ("arrival", INF, "inf", "finite"),
    ("arrival", -INF, "-inf", "finite"),
    ("weight", NAN, "nan", "finite"),
    ("weight", INF, "inf", "finite"),
    ("weight", -0.25, "-0.25", "at least 0"),
    ("deadline", -INF, "-inf", "time"),
    ("min_slots", -2, "-", "at least 0"),
    ("min_slots", 0.5, "0.5", "whole"),
    ("min_slots", NAN, "nan", "whole"),
    ("min_slots", INF, "inf", "whole"),
    ("max_slots", 0, "0", "at least 1"),
    ("max_slots", -3, "-", "at least 1"),
    ("max_slots", 2.5, "2.5", "whole"),
    ("size", NAN, "nan", "finite"),
    ("size", INF, "inf", "finite"),
    ("size", -1.0, "-1", "at least 0"),
]


@pytest.mark.parametrize(("field", "value", "shown", "reason"), BAD_ROWS)
def test_a_bad_value_is_named_with_field_row_and_value(field, value, shown, reason):
    good = {"work": [1.0, 2.0, 3.0]}
    good[field] = [1, value, 1]
    with pytest.raises(ValueError, match=re.escape(f"{field}[1] = {shown}")) as error:
        mb.Jobs(**good)
    assert reason in one_line(error)


@pytest.mark.parametrize(("field", "value", "shown", "reason"), BAD_ROWS)
def test_the_first_bad_row_counts_and_scalars_are_checked_too(field, value, shown, reason):
    with pytest.raises(ValueError, match=re.escape(f"{field}[1] = {shown}")):
        mb.Jobs(**{"work": [1, 1, 1, 1], field: [1, value, 1, value]})
    with pytest.raises(ValueError, match=re.escape(f"{field}[0] = {shown}")) as error:
        mb.Jobs(**{"work": [1.0], field: value})
    assert reason in one_line(error)


@pytest.mark.parametrize("value", [-2, -(2**62), -(2.0**80)])
def test_a_negative_slot_count_is_shown_as_it_was_given(value):
    for field in ("min_slots", "max_slots"):
        with pytest.raises(ValueError) as error:
            mb.Jobs([1, 1], **{field: [1, value]})
        text = one_line(error)
        assert text.startswith(f"{field}[1] = ")
        assert float(text.split("= ")[1].split(":")[0]) == value


def test_min_above_max_names_both():
    with pytest.raises(ValueError) as error:
        mb.Jobs([1, 1, 1], min_slots=[1, 5, 9], max_slots=[2, 4, 8])
    assert one_line(error) == "min_slots[1] = 5: above max_slots[1] = 4"
    with pytest.raises(ValueError, match=re.escape("min_slots[0] = 3: above max_slots[0] = 2")):
        mb.Jobs([1, 1, 1], min_slots=3, max_slots=2)


@pytest.mark.parametrize(
    "field",
    ["arrival", "min_slots", "max_slots", "weight", "deadline", "size", "sla", "name", "user"],
)
def test_lengths_that_differ(field):
    for entries in (2, 4, 0):
        column = [[]] * entries if field == "sla" else [str(k) for k in range(entries)]
        if field not in ("sla", "name", "user"):
            column = [1] * entries
        with pytest.raises(ValueError) as error:
            mb.Jobs([1, 1, 1], **{field: column})
        assert one_line(error) == f"{field} has {entries} entries but work has 3"


@pytest.mark.parametrize(
    ("steps", "shown", "reason"),
    [
        ([(2, 1), (1, 2)], "1", "increase"),
        ([(2, 1), (2, 2)], "2", "increase"),
        ([(1, 2), (2, 1)], "1", "fall"),
        ([(NAN, 1)], "nan", "finite"),
        ([(INF, 1)], "inf", "finite"),
        ([(1, NAN)], "nan", "finite"),
        ([(1, INF)], "inf", "finite"),
        ([(1, -2)], "-2", "at least 0"),
    ],
)
def test_sla_steps_that_make_no_sense(steps, shown, reason):
    with pytest.raises(ValueError, match=re.escape(f"sla[1] = {shown}: ")) as error:
        mb.Jobs([1, 1, 1], sla=[[(5, 1)], steps, []])
    assert reason in one_line(error)


@pytest.mark.parametrize("steps", [[(1, 2, 3)], [5], [("a", 1)], [(None, 1)], 5])
def test_sla_steps_that_are_no_pairs(steps):
    with pytest.raises(ValueError, match=re.escape("sla[2] = ")) as error:
        mb.Jobs([1, 1, 1], sla=[None, [], steps])
    assert "pair" in one_line(error)


@pytest.mark.parametrize("field", ["work", "arrival", "weight", "deadline", "min_slots", "size"])
@pytest.mark.parametrize("value", ["soon", object(), [1, 2]])
def test_what_is_not_a_number_is_named(field, value):
    with pytest.raises(ValueError, match=field) as error:
        mb.Jobs(**{"work": [1, 1], field: [1, value]})
    text = one_line(error)
    if isinstance(value, str):
        assert text.startswith(f"{field}[1] = 'soon'")
    with pytest.raises(ValueError, match=field):
        mb.Jobs(**{"work": [1, 1], field: "ab"})


@pytest.mark.parametrize("column", [[1 + 2j, 1], np.array(["2020-01-01"] * 2, "M8[D]")])
def test_other_kinds_of_numbers_are_no_work(column):
    with pytest.raises(ValueError, match="^work"):
        mb.Jobs(column)


@pytest.mark.parametrize("field", ["sla", "name", "user"])
def test_lists_are_lists(field):
    with pytest.raises(ValueError, match=f"^{field}"):
        mb.Jobs([1], **{field: 5})


@pytest.mark.parametrize("field", ["work", "arrival", "max_slots", "deadline"])
def test_two_dimensions_are_too_many(field):
    with pytest.raises(ValueError, match=f"^{field} has 2 dimensions"):
        mb.Jobs(**{"work": [1, 1], field: np.ones((2, 2))})


def test_names_are_unique_and_one_per_job():
    with pytest.raises(ValueError, match=re.escape("name[2] = 'a'")) as error:
        mb.Jobs([1, 1, 1], name=["a", "b", "a"])
    assert "taken" in one_line(error)
    with pytest.raises(ValueError, match="^name"):
        mb.Jobs([1, 1, 1], name="abc")
    assert mb.Jobs([1, 1], user=["eve", "eve"]).user == ("eve", "eve")


def test_defaults():
    jobs = mb.Jobs([4, 5])
    assert jobs.work.tolist() == jobs.size.tolist() == [4.0, 5.0]
    assert jobs.arrival.tolist() == [0.0, 0.0]
    assert jobs.min_slots.tolist() == [0, 0]
    assert jobs.max_slots.tolist() == [ALL_SLOTS] * 2
    assert jobs.weight.tolist() == [1.0, 1.0]
    assert jobs.deadline.tolist() == [INF, INF]
    assert jobs.sla == [[], []]
    assert jobs.name == ("job0", "job1")
    assert jobs.user is None


def test_scalars_broadcast_and_types_are_fixed():
    jobs = mb.Jobs(
        np.array([1, 2, 3], np.int32),
        arrival=np.float32(0.5),
        min_slots=1.0,
        max_slots=np.uint8(7),
        weight=2,
        deadline=9,
        size=4,
    )
    assert jobs.arrival.tolist() == [0.5] * 3
    assert jobs.min_slots.tolist() == [1] * 3
    assert jobs.max_slots.tolist() == [7] * 3
    assert jobs.weight.tolist() == [2.0] * 3
    assert jobs.deadline.tolist() == [9.0] * 3
    assert jobs.size.tolist() == [4.0] * 3
    whole = {"min_slots", "max_slots", "sla_offset"}
    for name in COLUMNS:
        column = getattr(jobs, name)
        assert column.dtype == (np.int64 if name in whole else np.float64), name
        assert column.flags.c_contiguous, name
    assert len(mb.Jobs(5.0)) == 1


def test_anything_that_holds_numbers_will_do():
    from fractions import Fraction

    jobs = mb.Jobs((w for w in (1, 2)), weight=[Fraction(1, 4), True], deadline=(None, 3))
    assert jobs.work.tolist() == [1.0, 2.0]
    assert jobs.weight.tolist() == [0.25, 1.0]
    assert jobs.deadline.tolist() == [INF, 3.0]
    assert mb.Jobs([1, 2], deadline=[None, INF]).deadline.tolist() == [INF, INF]
    strided = np.arange(6.0)[::2]
    assert mb.Jobs(strided).work.tolist() == [0.0, 2.0, 4.0]


def test_slots_beyond_all_slots_mean_all_slots():
    jobs = mb.Jobs([1, 1, 1], max_slots=np.array([2**63, 2**64 - 1, 5], np.uint64))
    assert jobs.max_slots.tolist() == [ALL_SLOTS, ALL_SLOTS, 5]
    assert mb.Jobs([1], max_slots=[1e300]).max_slots.tolist() == [ALL_SLOTS]
    assert ALL_SLOTS == 2**62


def test_columns_are_read_only_copies():
    work = np.array([1.0, 2.0])
    jobs = mb.Jobs(work, sla=[[(1, 2)], []], min_slots=[0, 1])
    work[0] = 99.0
    assert jobs.work.tolist() == [1.0, 2.0]
    for name in COLUMNS:
        with pytest.raises(ValueError, match="read-only"):
            getattr(jobs, name)[...] = 1
    assert work.flags.writeable


def test_zero_work_and_equal_limits_are_fine():
    jobs = mb.Jobs([0, 0.0, 1e-12], min_slots=[3, 0, 1], max_slots=[3, 1, 1], weight=0)
    assert len(jobs) == 3
    assert mb.Jobs([1], sla=[[(-5, 0), (-4, 0), (0, 0)]]).sla == [
        [(-5.0, 0.0), (-4.0, 0.0), (0.0, 0.0)]
    ]


def test_no_jobs():
    jobs = mb.Jobs([])
    assert len(jobs) == 0
    assert jobs.sla == []
    assert jobs.name == ()
    assert len(jobs.take([])) == len(jobs.at(0.0)) == 0
    assert len(mb.Jobs([], arrival=[], max_slots=[], sla=[], name=[], deadline=None)) == 0


FULL = {
    "work": [1.0, 2.0, 3.0],
    "arrival": [0.0, 5.0, 2.0],
    "min_slots": [0, 1, 2],
    "max_slots": [1, 2, 3],
    "weight": [0.5, 1.5, 2.5],
    "deadline": [9.0, None, 8.0],
    "sla": [[(1.0, 1.0), (2.0, 3.0)], [], [(4.0, 5.0)]],
    "name": ["a", "b", "c"],
    "user": ["x", "y", "x"],
    "size": [2.0, 4.0, 6.0],
}


def assert_rows(table, rows):
    assert len(table) == len(rows)
    for field, column in FULL.items():
        want = [column[row] for row in rows]
        got = getattr(table, field)
        got = got.tolist() if isinstance(got, np.ndarray) else list(got)
        assert got == [INF if x is None else x for x in want], field


def test_take_keeps_every_column():
    jobs = mb.Jobs(**FULL)
    assert_rows(jobs, [0, 1, 2])
    assert_rows(jobs.take([2, 0]), [2, 0])
    assert_rows(jobs.take(np.array([True, False, True])), [0, 2])
    assert_rows(jobs.take([-1]), [2])
    assert_rows(jobs.take(slice(1, None) and np.arange(1, 3)), [1, 2])
    assert_rows(jobs, [0, 1, 2])
    with pytest.raises(IndexError):
        jobs.take([3])


def test_at_keeps_those_that_have_arrived():
    jobs = mb.Jobs(**FULL)
    assert_rows(jobs.at(2.0), [0, 2])
    assert_rows(jobs.at(1.999), [0])
    assert_rows(jobs.at(-1.0), [])
    assert_rows(jobs.at(INF), [0, 1, 2])


@settings(max_examples=part(200, 50))
@given(cases(), st.randoms(use_true_random=False))
def test_a_table_rebuilt_from_its_columns_is_the_same(case, random):
    jobs = case.jobs
    rows = list(range(len(jobs)))
    random.shuffle(rows)
    back = np.argsort(rows).astype(int)
    again = jobs.take(rows).take(back)
    for name in COLUMNS:
        assert getattr(again, name).tobytes() == getattr(jobs, name).tobytes(), name
    assert again.name == jobs.name
