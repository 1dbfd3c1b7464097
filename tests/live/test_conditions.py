"""Tasks wait while the machine has no room for them."""

import json
import math
import os

import numpy as np
import pytest

from malleable.cli import main
from malleable.live import conditions
from malleable.live.conditions import Conditions, free_memory
from malleable.live.decider import SchedulerDecider
from malleable.live.ledger import JobState
from malleable.live.loop import Loop
from malleable.live.protocol import Task
from tests.live.fake_engine import FakeEngine


def made(held, tasks=12):
    engine = FakeEngine(4, np.random.default_rng(1), lambda key: 1.0, lambda key: 0)
    loop = Loop(engine, SchedulerDecider(4, "fair"), clock=engine.clock, conditions=held)
    began = []

    def start(number, attempt):
        began.append(loop.now)
        return Task("")

    loop.add(JobState("a", tasks, start))
    return loop, began


def test_a_delay_between_two_starts():
    loop, began = made(Conditions(delay=0.4))
    loop.go()
    assert len(began) == 12 and np.diff(began).min() >= 0.4 - 1e-9
    plain, at_once = made(None)
    plain.go()
    assert np.diff(at_once).min() == 0.0


@pytest.mark.parametrize("what", ["load", "memory"])
def test_nothing_starts_while_it_does_not_hold(monkeypatch, what):
    now = {"load": 1.0, "memory": 8e9}
    monkeypatch.setattr(os, "getloadavg", lambda: (now["load"], 0.0, 0.0))
    monkeypatch.setattr(conditions, "free_memory", lambda: now["memory"])
    loop, began = made(Conditions(memory=4e9, load=1.5))
    while len(began) < 5:
        loop.step()
    bad = {"load": 3.0, "memory": 1e9}[what]
    good, now[what] = now[what], bad
    for _ in range(3):
        loop.step(0.2)
    before = len(began)
    for _ in range(60):
        loop.step(0.2)
    assert len(began) == before and not loop.busy
    assert loop.held.startswith("no new task starts: ") and what in loop.held
    now[what] = good
    loop.go()
    assert len(began) == 12 and loop.held == ""


def test_free_memory(tmp_path):
    (tmp_path / "info").write_text("MemTotal: 9 kB\nMemAvailable:   2048 kB\n")
    assert free_memory(tmp_path / "info") == 2 << 20
    (tmp_path / "info").write_text("MemTotal: 9 kB\n")
    assert free_memory(tmp_path / "info") == math.inf


def test_of_a_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["--min-free-memory", "1M", "--max-load", "1e6", "--delay", "0.01", "--json", "-"]
    assert main(["run", "true", "--each", "1", "2", "3", *words]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"][0]["done"] == 3
