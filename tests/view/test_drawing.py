"""Strokes of policies in pictures."""

import pytest

import malleable as mb
from malleable.view.drawing import policy_look


def test_a_policy_looks_the_same_everywhere():
    pytest.importorskip("matplotlib")
    jobs = mb.MapShuffleJobs(map=[1, 3, 2], shuffle=[2, 1, 2], arrival=0.0)
    batch = mb.simulate(jobs, policy=["k-lps", "max-srpt"], k=2).plot().axes[0]
    alone = mb.simulate(jobs, policy=["max-srpt"]).plot().axes[0]
    assert batch.lines[1].get_color() == alone.lines[0].get_color()
    assert batch.lines[1].get_linestyle() == alone.lines[0].get_linestyle()


def test_own_policies_are_thick_and_variants_are_dotted():
    assert policy_look("auto")["linewidth"] > policy_look("fair")["linewidth"]
    assert policy_look("fair(slow_start=0.8)")["color"] == policy_look("fair")["color"]
    assert policy_look("fair(slow_start=0.8)")["linestyle"] == ":"
    assert policy_look("the paper's text") == {}


def test_policies_of_one_model_are_told_apart():
    cluster = [
        "auto",
        "flex",
        "fair",
        "wdeq",
        "fifo",
        "srpt",
        "max-srpt",
        "asrpt",
        "hesrpt",
        "gittins",
        "flowflex",
    ]
    models = [
        cluster,
        ["asrpt", "unlock", "dsrpt", "srpt", "lrpt", "fifo", "fair"],
        ["fcfs", "ps", "k-lps", "max-srpt", "split-srpt", "two-srpt"],
        ["fcfs", "easy", "conservative", "easy-sjf", "auto"],
    ]
    for policies in models:
        strokes = [(look["color"], look["linestyle"]) for look in map(policy_look, policies)]
        assert len(set(strokes)) == len(policies)
