"""The latency measurement: what it measures, not how fast it is."""

import json

import numpy as np
import pytest

from malleable.domain import ALL_SLOTS
from malleable.view.latency import (
    DecisionStream,
    epoch_latency,
    instance_a,
    instance_b,
    latency_dict,
    latency_table,
)
from malleable.view.plan_views import json_text
from malleable.view.text import console_for


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


@pytest.mark.parametrize("instance", ["a", "b"])
@pytest.mark.parametrize("jobs", [1, 50])
def test_results(instance, jobs, capsys):
    calls = []
    one = epoch_latency(instance, jobs, epochs=5, progress=lambda: calls.append(1))
    assert len(calls) == one.epochs == 5
    decide = [one.times[f"decide_{name}"] for name in ("median", "p99", "p999", "worst")]
    assert decide[0] > 0
    assert decide == sorted(decide)
    assert 0 < one.times["plan_median"] <= one.times["plan_worst"]
    read = json.loads(json_text(latency_dict([one])))
    assert read["unit"] == "s"
    assert read["instances"][0]["decide_median"] == decide[0]
    console_for().print(latency_table([one]))
    assert "decide: p99.9" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"instance": "c"}, "instance = 'c'"),
        ({"jobs": 0}, "jobs = 0: must be at least 1"),
        ({"epochs": 0}, "epochs = 0: must be at least 1"),
        ({"objective": "sum:x"}, "objective = 'sum:x'"),
    ],
)
def test_wrong_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        epoch_latency(**{"jobs": 10, "epochs": 1, **arguments})
