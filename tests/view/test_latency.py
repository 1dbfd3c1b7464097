"""The latency measurement: what it measures, not how fast it is."""

import json

import numpy as np
import pytest

from malleable.validation import ALL_SLOTS
from malleable.view.latency import (
    Case,
    DecisionStream,
    cases_of,
    instance_a,
    instance_b,
    instance_c,
    latency_dict,
    latency_tables,
    measure,
)
from malleable.view.text import console_for, json_text


def test_instances():
    jobs, slots = instance_a(1000)
    assert slots == 2000
    assert set(jobs.min_slots) == {1}
    assert (jobs.max_slots.min(), jobs.max_slots.max()) == (1, 64)
    assert np.log(jobs.work).mean() == pytest.approx(3.0, abs=0.2)
    more, few = instance_b(1000)
    assert few == 100
    assert set(more.min_slots) == {0}
    assert set(more.max_slots) == {ALL_SLOTS}
    assert more.work.tolist() == jobs.work.tolist()  # the same seed
    held, few = instance_c(1000)
    assert (few, set(held.min_slots), held.max_slots.max()) == (100, {0}, 64)


def test_a_stream_of_decisions_that_are_held():
    stream = DecisionStream("c", 300)
    assert stream.decide().slots.sum() == stream.slots
    stream.change()
    assert stream.decide().now == 5.0


def test_a_stream_keeps_its_size_and_changes_one_per_cent():
    stream = DecisionStream("a", 900)
    before = set(stream.decide().ids.tolist())
    stream.change()
    after = stream.decide()
    assert len(after.ids) == 900
    assert len(before - set(after.ids.tolist())) == 3
    assert after.slots.sum() == stream.slots
    assert after.now == stream.now == 1.0
    assert stream.change_seconds > 0.0


def test_a_stream_has_deadlines_where_the_objective_asks_for_them():
    plain, due = (
        DecisionStream("a", 50, objective) for objective in ("sum:stretch", "max:lateness")
    )
    assert np.isinf(plain.jobs.deadline).all()
    assert (due.jobs.deadline >= due.jobs.work).all()
    for _ in range(3):
        due.change()
        assert len(due.decide().ids) == 50


def test_cases_are_all_combinations_but_for_policies_without_objectives():
    found = cases_of("ab", (10, 20), ("flex", "fair"), ("sum:response", "max:stretch"))
    assert len(found) == len(set(found)) == 2 * 2 * 3
    assert [one for one in found if one.policy == "fair" and one.objective != "sum:response"] == []
    with pytest.raises(ValueError, match="policy = 'x'"):
        cases_of("a", (10,), ("flex", "x"), ("sum:response", "max:stretch"))


def case_of(row):
    return Case(*(row[field] for field in Case._fields))


@pytest.mark.parametrize("epochs", [1, 5, 23])
def test_results(epochs, capsys):
    calls = []
    cases = cases_of("ab", (1, 50), ("flex", "fifo"), ("sum:response",))
    found = measure(cases, epochs=epochs, progress=lambda: calls.append(1))
    assert [case_of(one) for one in found] == cases
    assert len(calls) == len(cases)
    for one in found:
        decide = [one[f"decide_{name}"] for name in ("median", "p99", "p999", "worst")]
        assert decide[0] > 0
        assert decide == sorted(decide)
        assert one["epochs"] == epochs
        assert ("plan_seconds" in one) == (one["policy"] == "flex")
    read = json.loads(json_text(latency_dict(found)))
    assert read["unit"] == "s"
    assert [one["jobs"] for one in read["cases"]] == [1, 50] * 4
    for part in latency_tables(found):
        console_for().print(part)
    out = capsys.readouterr().out
    assert "p99.9" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"instance": "d"}, "instance = 'd'"),
        ({"jobs": 0}, "jobs = 0: must be at least 1"),
        ({"objective": "sum:x"}, "objective = 'sum:x'"),
    ],
)
def test_wrong_cases(arguments, words):
    with pytest.raises(ValueError, match=words):
        measure([Case(**{"instance": "a", "jobs": 10, **arguments})], epochs=1)


def test_wrong_numbers_of_decisions():
    with pytest.raises(ValueError, match="epochs = 0: must be a whole number of at least 1"):
        measure([Case("a", 10)], epochs=0)
