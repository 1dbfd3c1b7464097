"""Plans as JSON, CSV and data frames."""

import csv
import io
import json
import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from malleable.validation import ALL_SLOTS
from malleable.view.plan_tables import pieces_csv
from malleable.view.text import json_text
from tests.strategies import MIN_MODES, POLICIES, cases


def reject(name):
    raise AssertionError(f"{name} is not strict JSON")


@given(cases(), st.sampled_from(POLICIES), st.sampled_from(MIN_MODES))
def test_json_is_strict_and_says_what_the_plan_says(case, policy, min_mode):
    jobs, slots, now = case
    plan = mb.plan(jobs, slots, policy=policy, effort=5, now=now, min_mode=min_mode)
    read = json.loads(json_text(plan.to_dict()), parse_constant=reject)
    assert list(read) == [
        "policy",
        "objective",
        "status",
        "value",
        "lower_bound",
        "gap",
        "order",
        "jobs",
    ]
    assert (read["policy"], read["objective"]) == (policy, "sum:response")
    assert read["order"] == [jobs.name[row] for row in plan.order]
    assert [list(job) for job in read["jobs"]] == [
        ["name", "start", "completion", "penalty", "allocation"]
    ] * len(jobs)
    for row, job in enumerate(read["jobs"]):
        assert (job["name"], job["allocation"]) == (jobs.name[row], plan.slots[row])
        for key in ("start", "completion", "penalty"):
            value = float(getattr(plan, key)[row])
            assert job[key] == (value if math.isfinite(value) else None)
    assert read["value"] == (plan.value if math.isfinite(plan.value) else None)


def test_infinite_values_are_null():
    plan = mb.plan(mb.Jobs([9], min_slots=9), 4, min_mode="gang")
    read = json.loads(json_text(plan.to_dict()), parse_constant=reject)
    assert read["status"] == "infeasible"
    assert read["value"] is read["gap"] is read["jobs"][0]["completion"] is None


def test_empty_plan():
    plan = mb.plan(mb.Jobs([]), 4)
    assert plan.to_dict()["jobs"] == plan.to_dict()["order"] == plan.explain() == []
    assert pieces_csv(plan) == "job,start,end,slots\n"
    assert len(plan.to_frame()) == 0


@given(cases())
def test_pieces_keep_every_bit(case):
    jobs, slots, now = case
    plan = mb.plan(jobs, slots, "max:tardiness", effort=5, now=now)
    rows = list(csv.DictReader(io.StringIO(pieces_csv(plan), newline="")))
    assert [row["job"] for row in rows] == [jobs.name[job] for job in plan.pieces["job"]]
    for key, kind in (("start", float), ("end", float), ("slots", int)):
        assert [kind(row[key]) for row in rows] == plan.pieces[key].tolist()


def test_names_survive_csv():
    names = ["a,b", 'say "x"', "new\nline", "cr\rhere", "ä"]
    plan = mb.plan(mb.Jobs([1] * 5, name=names), 5)
    read = csv.DictReader(io.StringIO(pieces_csv(plan), newline=""))
    assert {row["job"] for row in read} == set(names)


def test_frame():
    jobs = mb.Jobs([0, 8, 4], max_slots=[1, 2, ALL_SLOTS], deadline=[None, 3, None])
    plan = mb.plan(jobs, 4)
    frame = plan.to_frame()
    assert frame["name"].tolist() == list(jobs.name)
    assert frame["allocation"].tolist() == plan.slots.tolist()
    assert frame["completion"].tolist() == plan.completion.tolist()
    with pytest.raises(ValueError, match="rows = 'flows'"):
        plan.to_frame("flows")


def test_frame_without_pandas_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        mb.plan(mb.Jobs([1]), 1).to_frame()


def test_json_has_null_for_what_is_no_json():
    content = {"x": np.nan, "y": [1.5, (-math.inf, "z")], "w": {"v": np.float64(np.inf)}, "u": None}
    made = json.loads(json_text(content), parse_constant=pytest.fail)
    assert made == {"x": None, "y": [1.5, [None, "z"]], "w": {"v": None}, "u": None}
