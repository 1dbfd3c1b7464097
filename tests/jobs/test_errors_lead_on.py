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
from malleable.validation import ALL_SLOTS
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


SHAPES = {
    "tandem": (
        {"map": [3.0, 1.0], "shuffle": [1.0, 2.0], "arrival": [0.0, 1.0]},
        mb.MapShuffleJobs,
    ),
    "slotted": ({"map": [3, 1], "reduce": [[1], [2, 1]], "arrival": [1, 2]}, mb.MapReduceJobs),
    "cluster": ({"maps": [3, 1], "map_seconds": [5.0, 9.0], "arrival": [0.0, 1.0]}, mb.ClusterJobs),
    "jobs": ({"work": [3.0, 8.0], "max_slots": [2, 1], "arrival": [0.0, 1.0]}, mb.Jobs),
}
"""Columns of a table of each model, and what makes it."""
OPTIONS = {
    "slotted": {"machines": 2},
    "cluster": {"cluster": mb.Cluster([{"slots": 2}])},
    "jobs": {"slots": 2},
}


@pytest.mark.parametrize("model", list(SHAPES))
def test_dicts_and_frames_go_wherever_a_table_goes(model):
    columns, kind = SHAPES[model]
    for given in (columns, pd.DataFrame(columns)):
        for named in ({}, {"model": model}):
            found = mb.simulate(given, rng=1, **named, **OPTIONS.get(model, {}))
            told = mb.simulate(kind(**columns), rng=1, **OPTIONS.get(model, {}))
            assert found.model == model and found.summary == told.summary
    first = next(iter(columns))
    wrong = {name + "x" * (name == first): values for name, values in columns.items()}
    with pytest.raises(ValueError, match=f"unknown column '{first}x'; did you mean '{first}'"):
        mb.simulate(wrong, model=model, **OPTIONS.get(model, {}))


def test_plans_and_epochs_take_frames_and_dicts():
    frame, flows = pd.DataFrame(FRAME), {"jobs": [[{"work": 4.0}]], "arrival": 1.0}
    for given in (frame, FRAME):
        assert mb.plan(given, slots=2) == mb.plan(mb.read_jobs(frame), slots=2)
        assert mb.plan(given, slots=2).jobs.name == ("a", "b")
    assert mb.plan(flows, slots=2) == mb.plan(mb.Flows(**flows), slots=2)
    epochs = [mb.Epoch(2) for _ in range(3)]
    for epoch, given in zip(epochs, (frame, FRAME, mb.Jobs(**FRAME)), strict=True):
        assert epoch.add(given).tolist() == [0, 1]
    assert epochs[0] == epochs[1] == epochs[2]
    assert mb.FlowEpoch(2).add(flows).flows.tolist() == [0]
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 2}]))
    assert scheduler.add(SHAPES["cluster"][0], now=1.0).tolist() == [0, 1]
    with pytest.raises(ValueError, match="column 'work' is missing"):
        mb.plan({"weight": [1.0]}, slots=1)
    with pytest.raises(ValueError, match=r"jobs: expected a table \(ClusterJobs\)"):
        scheduler.add([4])


SECONDS = datetime.timedelta(seconds=90)


@pytest.mark.parametrize("two", ["2", 2.0, np.float32(2.0), np.int8(2)], ids=repr)
def test_numbers_of_any_kind(two):
    for epoch in (
        mb.Epoch(two),
        mb.FlowEpoch(two),
        mb.SlottedEpoch(two),
        mb.TandemEpoch((two, two)),
    ):
        epoch.decide(
            two, slots=(two, two) if isinstance(epoch, mb.TandemEpoch) else two, period=two
        )
    assert mb.plan(mb.Jobs(two, max_slots=two), two, now=two, period=two).value == 3.0
    assert mb.Epoch(2).add([two, "4"], weight=two, min_slots=[two, "1"]).tolist() == [0, 1]
    with pytest.raises(ValueError, match="slots = 'two'"):
        mb.Epoch("two")


@pytest.mark.parametrize(
    "span", [SECONDS, np.timedelta64(90, "s"), pd.Timedelta(SECONDS), np.timedelta64(90_000, "ms")]
)
def test_time_differences_are_their_seconds(span):
    want = mb.Jobs([90.0, 1.0], deadline=[90.0, math.inf])
    assert mb.Jobs([span, 1.0], deadline=[span, None]) == want
    assert mb.Jobs([90.0, 1.0], deadline=pd.Series([span, pd.NaT])) == want
    assert mb.Jobs([1.0], deadline=span).deadline.tolist() == [90.0]
    assert mb.Jobs([1.0], sla=[[(span, 2.0)]]).sla == [[(90.0, 2.0)]]
    epoch = mb.Epoch(4, "sum:tardiness", period=span)
    ids = epoch.add([200.0], deadline=span)
    epoch.update(ids, work=[span], deadline=[span])
    assert epoch.decide(span).now == 90.0
    assert mb.plan({"work": [1.0], "arrival": span}, 1, now=span).now == 90.0


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: mb.Epoch(4, hysterisis=0.5), "hysteresis"),
        (lambda: mb.Epoch(4, policy="flx"), "flex"),
        (lambda: mb.Epoch(4, policy="Flex"), "flex"),
        (lambda: mb.Epoch(4).decide(0.0, peroid=5.0), "period"),
        (lambda: mb.Epoch(4).add([1.0], max_slot=2), "max_slots"),
        (lambda: mb.Epoch(4, min_mode="gnag"), "gang"),
        (lambda: mb.FlowEpoch(4, policy="flowflx"), "flowflex"),
        (lambda: mb.TandemEpoch((4, 4), "max-srtp"), "max-srpt"),
        (lambda: mb.SlottedEpoch(4, peroid=5.0), "period"),
        (lambda: mb.Jobs([1.0], dealine=3.0), "deadline"),
        (lambda: mb.Flows([[]], weigth=3.0), "weight"),
        (lambda: mb.plan(mb.Jobs([1.0]), 1, peroid=5.0), "period"),
        (lambda: mb.plan(mb.Jobs([1.0]), 1, policy="fiar"), "fair"),
        (lambda: mb.simulate(mb.Jobs([1.0]), slots=1, peroid=5.0), "period"),
        (lambda: mb.simulate(mb.Jobs([1.0]), "flx", slots=1), "flex"),
        (lambda: mb.simulate(mb.Jobs([1.0]), slots=1, model="job"), "jobs"),
        (lambda: mb.Scheduler(mb.Cluster([{"slots": 4}]), hysterisis=0.5), "hysteresis"),
        (lambda: mb.Scheduler(mb.Cluster([{"slots": 4}]), "flx"), "flex"),
        (lambda: mb.Scheduler(mb.Cluster([{"slots": 4}]), slow_strat=0.5), "slow_start"),
    ],
)
def test_a_name_that_is_nearly_right(call, meant):
    with pytest.raises((TypeError, ValueError), match=f"did you mean {meant!r}"):
        call()


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


@pytest.mark.parametrize("columns", [80, 140])
def test_what_a_terminal_shows_of_an_error(tmp_path, columns):
    code = "import malleable as mb; mb.plan(mb.Jobs([4.0]), slots=2, objective='makespan')"
    with terminal(tmp_path, "-c", code, columns=columns, command=[sys.executable]) as on:
        assert on.end() == 1
        shown = "".join(on.screen.lines()[-4:])
    assert "did you mean 'max:completion'?" in shown
