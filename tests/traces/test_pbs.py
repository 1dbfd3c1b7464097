"""Accounting logs of PBS and Torque."""

from __future__ import annotations

import io

import malleable as mb

PBS = """05/01/2024 08:00:00;Q;7.srv;queue=batch
05/01/2024 08:00:10;S;7.srv;user=ann jobname=two words queue=batch ctime=100 start=110 Resource_List.ncpus=4
05/01/2024 08:01:10;E;7.srv;user=ann jobname=two words queue=batch ctime=100 start=110 \
exec_host=n1/0*4 Resource_List.ncpus=4 \
Resource_List.walltime=01:00:00 end=170 resources_used.walltime=00:01:00
05/01/2024 08:01:10;E;8[1].srv;user=bob jobname=a ctime=120 start=130 Resource_List.nodes=2:ppn=3 end=140
05/01/2024 08:01:10;E;8[2].srv;user=bob jobname=a ctime=120 start=140 Resource_List.nodes=2:ppn=3 end=150
05/01/2024 08:01:10;E;8[].srv;user=bob jobname=a ctime=120 start=130 Resource_List.nodes=2:ppn=3 end=150
05/01/2024 08:01:10;S;9.srv;account="an account" user=bob jobname=b ctime=125 start=141 Resource_List.ncpus=1
"""


def test_pbs() -> None:
    trace = mb.read(io.StringIO(PBS))
    jobs = trace.tasks()
    assert trace.format == "PBS accounting log" and trace.program == ["two words", "a", "b"]
    assert jobs.map_work.tolist() == [240.0, 120.0] and jobs.width.tolist() == [4, 6]
    assert trace.requested[0] == 3600.0 and trace.lacking == ["", "", "running"]
    assert trace.groups["account"] == ["", "", "an account"]
