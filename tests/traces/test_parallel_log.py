"""The job log of GNU parallel."""

from __future__ import annotations

import io

import pytest

import malleable as mb

PARALLEL = """Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand
1\t:\t1714550400.125\t    13.000\t0\t12\t0\t0\techo a
2\t:\t1714550400.250\t     8.000\t0\t12\t0\t0\techo b
"""


def test_commands_are_tasks_of_a_job() -> None:
    jobs = mb.read(io.StringIO(PARALLEL)).tasks()
    assert jobs.maps.tolist() == [2] and jobs.map_work == pytest.approx([21.0], abs=1e-5)
