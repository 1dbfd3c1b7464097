"""Errors and inputs of Python's face: what somebody tries first works, or the error says what does."""

import datetime
import math
import re
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import malleable as mb
from malleable.domain import ALL_SLOTS
from tests.live.screen import terminal

FRAME = {"name": ["a", "b"], "work": [4.0, 2.0], "max_slots": [2, 1]}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("makespan", "max:completion"), ("Cmax", "max:completion"), ("slowdown", "sum:stretch"),
        ("flow_time", "sum:response"), ("deadlines", "sum:tardy"), ("sum:respone", "sum:response"),
    ],
)  # fmt: skip
def test_an_objective_by_another_name(text, meant):
    with pytest.raises(ValueError, match=f"did you mean {meant!r}"):
        mb.plan(mb.Jobs([1.0]), slots=1, objective=text)


def test_paths_and_frames_name_their_readers(tmp_path):
    trace = tmp_path / "trace.gz"
    trace.write_bytes(b"\x1f\x8b nothing")
    with pytest.raises(ValueError, match=re.escape("mb.read(path)")):
        mb.simulate(str(trace))
    with pytest.raises(ValueError, match=re.escape("mb.read_jobs(frame)")):
        mb.Jobs(pd.DataFrame(FRAME))
    for wrong in (lambda: mb.Jobs("jobs.csv"), lambda: mb.plan("jobs.csv", slots=1)):
        with pytest.raises(ValueError, match=re.escape("mb.read_jobs(path)")):
            wrong()
    assert len(mb.Jobs(pd.Series([1.0, 2.0]))) == 2  # a column is no frame


def test_a_plan_of_a_frame():
    frame = pd.DataFrame(FRAME)
    assert mb.plan(frame, slots=2) == mb.plan(mb.read_jobs(frame), slots=2)
    assert mb.plan(frame, slots=2).jobs.name == ("a", "b")


def test_nan_is_none_in_maxima_and_deadlines():
    want = mb.Jobs([1.0, 2.0], max_slots=[3, ALL_SLOTS], deadline=[math.inf, 7.0])
    assert mb.Jobs([1.0, 2.0], max_slots=[3.0, math.nan], deadline=[math.nan, 7.0]) == want
    assert mb.Jobs([1, 2], max_slots=np.array([3, np.nan]), deadline=[None, 7]) == want
    assert mb.Jobs([1, 2], max_slots=[3, None], deadline=pd.Series([None, 7.0])) == want
    for field in ("work", "arrival", "weight", "min_slots"):
        columns = {"work": [1.0, 2.0], field: [1.0, math.nan]}
        with pytest.raises(ValueError, match=re.escape(f"{field}[1] = nan")):
            mb.Jobs(**columns, deadline=[math.nan, 1.0])


DATES = ["2024-05-01T09:30", "2024-05-01T11:00+02:00"]


@pytest.mark.parametrize(
    "dates",
    [
        DATES,
        [datetime.datetime(2024, 5, 1, 9, 30), datetime.datetime.fromisoformat(DATES[1])],
        np.array(["2024-05-01T09:30", "2024-05-01T09:00"], dtype="datetime64[s]"),
        pd.Series(pd.to_datetime(["2024-05-01T09:30", "2024-05-01T09:00"])),
        [pd.Timestamp("2024-05-01T09:30"), pd.Timestamp("2024-05-01T09:00", tz="UTC")],
    ],
)
def test_dates_are_as_in_files(tmp_path, dates):
    path = tmp_path / "jobs.csv"
    path.write_text("work,arrival,deadline\n" + "".join(f"1,{d},{d}\n" for d in DATES))
    jobs = mb.Jobs([1.0, 1.0], arrival=dates, deadline=dates)
    assert jobs == mb.read_jobs(path)
    assert jobs.arrival.tolist() == [1714555800.0, 1714554000.0]
    plan = mb.plan(jobs, slots=1, now=dates[0] if isinstance(dates, list) else jobs.arrival[0])
    assert plan.now == 1714555800.0


def test_dates_that_are_none():
    times = np.array(["2024-05-01", "NaT"], dtype="datetime64[D]")
    assert mb.Jobs([1, 1], deadline=times).deadline.tolist() == [1714521600.0, math.inf]
    assert mb.Jobs([1], deadline=[datetime.date(2024, 5, 1)]).deadline[0] == 1714521600.0
    assert math.isinf(mb.Jobs([1], deadline=[pd.NaT]).deadline[0])
    with pytest.raises(ValueError, match=r"arrival\[1\]"):
        mb.Jobs([1, 1], arrival=times)
    with pytest.raises(ValueError, match=r"arrival\[0\] = '2024-13-01'"):
        mb.Jobs([1], arrival=["2024-13-01"])


@pytest.mark.parametrize("objective", ["sum:tardy", "max:tardiness", "sum:strict", "sum:sla"])
def test_deadlines_that_nobody_has(objective):
    jobs = mb.Jobs([1.0, 2.0])
    with pytest.warns(UserWarning, match="no job has"):
        mb.plan(jobs, slots=1, objective=objective)
    some = mb.Jobs([1.0, 2.0], deadline=[None, 5.0], sla=[None, [(4.0, 1.0)]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mb.plan(some, slots=1, objective=objective)
        mb.plan(jobs, slots=1, objective=["sum:response", objective.replace("max", "sum")])


def test_a_table_in_place_of_a_column():
    epoch = mb.Epoch(4)
    with pytest.raises(ValueError, match=r"add\(jobs=table\)"):
        epoch.add(mb.Jobs([4.0]))
    assert len(epoch) == 0
    assert len(epoch.add(jobs=mb.Jobs([4.0]))) == 1


@pytest.mark.parametrize("columns", [80, 140])
def test_what_a_terminal_shows_of_an_error(tmp_path, columns):
    code = "import malleable as mb; mb.plan(mb.Jobs([4.0]), slots=2, objective='makespan')"
    with terminal(tmp_path, "-c", code, columns=columns, command=[sys.executable]) as on:
        assert on.end() == 1
        shown = "".join(on.screen.lines()[-4:])
    assert "did you mean 'max:completion'?" in shown
