"""A run says so whose tasks wait for processors."""

import re
import sys

import numpy as np
import pytest

from malleable.live.protocol import Event
from malleable.live.slots_used import SlotsUsed
from tests.live.screen import terminal


def said(slots, processors, tasks, work, rest=0.0, others=0.0):
    """What is said of tasks that compute for ``work`` seconds and wait for ``rest``, all slots full.

    ``others``: the part of the processors that somebody else has.
    """
    now, told = [0.0], []
    used = SlotsUsed(slots, processors, lambda text: told.append((number, text)), lambda: now[0])
    rng, number = np.random.default_rng(1), 0
    power = processors * (1.0 - others)
    took = max(work + rest, slots * work / power) if work else rest
    ends = np.sort(np.arange(tasks) // slots * took + took + 1e-3 * rng.random(tasks))
    for number, now[0] in enumerate(ends, 1):
        used(0, number, Event("ended", "0.0.0", 0, took, work))
    return told


@pytest.mark.parametrize("slots", [3, 4, 8, 11, 20])
def test_tasks_that_compute_on_two_processors_are_told_of_within_twenty(slots):
    ((number, text),) = said(slots, 2, 200, 0.7)
    assert number <= 20
    slow = 0.5 * slots
    assert text.startswith(f"{slots} slots used ") and " of 2 processors; " in text
    assert f"tasks took {slow:.2g} times their processor time" in text
    # Tasks of a window may be one less than a whole number of waves.
    assert 1.7 < float(re.search(r"used ([\d.]+)", text)[1]) <= 2.0


@pytest.mark.parametrize(
    ("slots", "processors", "work", "rest"),
    [(2, 2, 1.0, 0.0), (8, 8, 1.0, 0.0), (8, 2, 0.001, 1.0), (8, 2, 0.0, 1.0), (8, 2, 0.1, 0.9),
     (9, 8, 1.0, 0.0)],
)  # fmt: skip
def test_slots_that_help_are_not(slots, processors, work, rest):
    assert said(slots, processors, 200, work, rest) == []


def test_a_later_phase_is_told_of_once():
    now, told = [0.0], []
    used = SlotsUsed(4, 2, told.append, lambda: now[0])
    for took, cpu in [(1.0, 0.01)] * 40 + [(2.0, 1.0)] * 40:
        now[0] += took / 4
        used(0, 0, Event("ended", "0.0.0", 0, took, cpu))
        used(0, 0, None)
    assert told == [
        "4 slots used 2 of 2 processors; tasks took 2 times their processor time:"
        " slots beyond the processors help little"
    ]


# Tasks that sleep, shown to the run as some that compute: how busy the machine is does not matter.
COMPUTES = """
import sys
from malleable.cli import main, run_command
from malleable.live.engines.process.local import Local
heard = Local._event
def computes(self, *said):
    event = heard(self, *said)
    event.cpu = event.seconds / 4.0
    return event
Local._event, run_command.processors = computes, lambda: 1
sys.exit(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_it_stands_on_the_screen(tmp_path):
    (tmp_path / "jobs.toml").write_text('[[job]]\ncommand = "sleep 1 # {}"\nover.range = 20\n')
    command = [sys.executable, "-c", COMPUTES]
    with terminal(tmp_path, "run", "-j", "8", columns=80, command=command) as on:
        assert on.end() == 0
    told = " ".join(on.screen.text().split())
    assert re.search(
        r"malleable: 8 slots used [\d.]+ of 1 processor; tasks took 4 times their", told
    )
