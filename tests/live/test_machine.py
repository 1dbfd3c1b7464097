"""How many tasks run at once if nobody says so."""

import os
import sys

import pytest

from malleable.live.machine import machine_memory, processors

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
def many(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))


@pytest.mark.parametrize(
    ("limits", "count"),
    [
        ({}, 64), ({"a/b/cpu.max": "max 100000"}, 64), ({"a/b/cpu.max": "400000 100000"}, 4),
        ({"a/cpu.max": "250000 100000", "a/b/cpu.max": "max 100000"}, 3), ({"cpu.max": "20000 100000"}, 1),
        ({"a/b/cpu.max": "9900000 100000"}, 64), ({"a/b/cpu.max": "rubbish"}, 64), ({"a/c/cpu.max": "1 1"}, 64),
    ],
)  # fmt: skip
def test_processors_of_a_control_group(tmp_path, many, limits, count):
    (tmp_path / "own").write_text("0::/a/b\n")
    for name, text in limits.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    assert processors(tmp_path / "groups", tmp_path / "own") == count


def test_no_groups_at_all(tmp_path, many):
    assert processors(tmp_path / "none", tmp_path / "nor") == 64
    assert 1e6 < machine_memory(tmp_path / "none", tmp_path / "nor") < 1e18
