"""What engines of bundles share: what becomes of their calls, large functions, and what is missing."""

import pickle

import pytest

from malleable.live.engines import cluster
from malleable.live.engines.cluster import Cluster
from malleable.live.protocol import RemoteValue


class Fake(Cluster):
    missing = ""

    def __init__(self, slots=None):
        super().__init__("Fake", slots)
        self.given_up = []

    def _give_up(self, bundle):
        self.given_up.append(bundle)

    def _missing(self):
        return self.missing

    def _heard(self, said):
        return said


def test_outcomes_of_a_bundle():
    engine = Fake(2)
    engine._open("b", ["1", "2", "3"])
    told = [(True, b"x", 0.5), (True, "kept", 0.25)]
    first, second, third = engine._told("b", told, lambda place, kept: f"{place} {kept}")
    assert (first.kind, first.key, first.status, first.seconds, first.result) == (
        "ended", "1", 0, 0.5, b"x",
    )  # fmt: skip
    assert isinstance(second.result, RemoteValue)
    assert second.result.bring() == "1 kept"
    assert (third.kind, third.key) == ("returned", "3")
    assert engine._told("b", told, lambda place, kept: b"") == []  # told twice


class OddError(Exception):
    def __reduce__(self):
        raise TypeError


@pytest.mark.parametrize("error", [ValueError("no"), OddError("no")])
def test_bundles_without_an_answer(error):
    engine = Fake(2)
    engine._open("b", ["1"])
    (event,) = engine._failed("b", error, False)
    assert (event.kind, event.status) == ("ended", 1)
    raised, text = pickle.loads(event.result)
    assert isinstance(raised, (ValueError, RuntimeError)) and "Fake could not run it" in text
    engine._open("b", ["1", "2"])
    assert [event.kind for event in engine._failed("b", error, True)] == ["lost", "lost"]


def test_a_large_function_goes_once():
    engine, sent = Fake(), []
    large, small = bytes(1 << 17), b"f"

    def send(function):
        sent.append(function)
        return len(sent)

    for _ in range(2):
        assert engine._with_function([(large, b"1"), (large, b"2")], send) == (
            [(b"", b"1"), (b"", b"2")], 1,
        )  # fmt: skip
    assert engine._with_function([(small, b"1")], send) == ([(small, b"1")], b"")
    assert sent == [large]


def test_bundles_are_taken_back():
    engine = Fake(2)
    engine._open("b", ["1", "2"])
    engine._open("c", ["3"])
    engine.cancel(["2", "no such"])
    assert engine.given_up == ["b"]
    assert [(e.kind, e.key) for e in engine.poll(0.0)] == [("returned", "1"), ("returned", "2")]
    engine.close()
    assert engine.given_up == ["b", "c"]


def test_what_is_missing_is_said_after_a_while(monkeypatch):
    engine = Fake(2)
    engine.missing = "nobody is there"
    engine.poll(0.0)
    assert engine.waits == ""
    monkeypatch.setattr(cluster, "PATIENCE", 0.0)
    engine.poll(0.0)
    assert engine.waits == "nobody is there"
    engine.missing = ""
    engine.poll(0.0)
    assert engine.waits == ""
