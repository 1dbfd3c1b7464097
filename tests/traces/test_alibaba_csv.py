"""Alibaba's batch_task.csv of 2018."""

from __future__ import annotations

import io

import pytest

import malleable as mb

# j_1 is a DAG; j_2 has independent tasks; the window cuts j_3 and j_4.
TABLE = """M1,3,j_1,1,Terminated,10,14,100.0,0.5
task_Nz==,2,j_2,2,Terminated,9,13,100.0,0.5
M2,1,j_1,1,Terminated,11,12,100.0,0.5
R3_1_2_Stg5,1,j_1,1,Terminated,15,18,50,0.5
MergeTask,,j_2,2,Terminated,13,13,100.0,
M1,1,j_3,1,Running,20,0,100.0,0.5
M1,1,j_4,1,Terminated,0,7,100.0,0.5
R4_3,2,j_1,1,Terminated,18,20,50,0.5
"""


def read(text: str = TABLE, **options: bool) -> mb.Trace:
    return mb.read(io.StringIO(text), **options)


def test_names_are_the_dag() -> None:
    trace = read()
    assert trace.format == "Alibaba batch_task table" and trace.timed
    flows = trace.flows()
    assert flows.name == ("j_2", "j_1") and flows.arrival.tolist() == [0, 1]
    assert flows.job_name == (
        "j_2/task_Nz==", "j_2/MergeTask", "j_1/M1", "j_1/M2", "j_1/R3_1_2_Stg5", "j_1/R4_3",
    )  # fmt: skip
    assert flows.work.tolist() == [8, 0, 12, 1, 3, 4]
    assert flows.max_slots.tolist() == [2, 1, 3, 1, 1, 2]
    assert [flows.after(k) for k in range(6)] == [[], [], [], [], [2, 3], [4]]
    tasks = trace.tasks()
    assert tasks.maps.tolist() == [2, 1, 3, 1, 1, 2] and tasks.map_work.tolist() == [
        8,
        0,
        12,
        1,
        3,
        4,
    ]
    assert tasks.flow == ("j_2", "j_2", "j_1", "j_1", "j_1", "j_1")
    assert trace.jobs().work.tolist() == [8, 20]
    then = trace.jobs(at=3.5)  # 12.5 of the trace's clock
    assert then.work.tolist() == [2 * 0.5, 3 * 1.5 + 3 + 4] and then.size.tolist() == [8, 20]
    mb.plan(flows, 3).validate()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "M1,3,",
            "M1,0,",
            r"line 1: instance_num = '0': must be a whole number from 1 to 2147483647",
        ),
        ("M1,3,", "M1,x,", "line 1: instance_num = 'x': must be a whole number from 1"),
        ("10,14", "-10,14", r"line 1: start_time = '-10': must be a whole number from 0"),
        ("10,14", "10,14.5", r"line 1: end_time = '14.5': must be a whole number from 0"),
        ("Terminated,11", "Done,11", r"line 3: status = 'Done': expected Terminated, "),
        ("M1,3,j_1", ",3,j_1", "line 1: blank task_name or job_name"),
        ("M2,1,j_1", "M2,1,1,j_1", "line 3: 10 cells, expected 9"),
        ("10,14", "10,9", "line 1: task 'M1': end_time = 9 is before start_time = 10"),
        ("M2,1,", "M1,1,", "line 3: task 'M1': its name or number is taken"),
        ("M2,1,", "R1_3,1,", "line 3: task 'R1_3': its name or number is taken"),
        ("M2,1,", "M2_4,1,", "job 'j_1': cycle: "),
        ("M2,1,", "M2_2,1,", "job 'j_1': cycle: 'M2_2' -> 'M2_2'"),
        ("R4_3", "R4_7", "job 'j_1': line 8: task 'R4_7': waits for 7, which is no task"),
    ],
)
def test_malformed(old: str, new: str, problem: str) -> None:
    text = TABLE.replace(old, new, 1)
    assert text != TABLE
    with pytest.raises(ValueError, match=problem):
        read(text)
    with pytest.warns(UserWarning, match="malformed"):
        assert read(text, skip_bad=True).flow_name == ["j_2"]


def test_nothing_is_left() -> None:
    with pytest.raises(ValueError, match="no flow in it all of whose tasks ended inside"):
        read("M1,1,j_3,1,Running,20,0,100.0,0.5\n")
