"""Jobs of Google's table of 2011: which are taken, their phases, their tasks."""

import io

import pytest

from malleable.papers.google2011 import map_shuffle_jobs
from tests.trace_files import trace_file

HEAD = "job_id,submit_us,n_tasks,complete,sum_cpu_request_x_runtime,sum_disk_request\n"
GOOGLE = f"{HEAD}b,9000000,2,1,30,1\na,5000000,3,1,10,3\none,1,1,1,10,3\ncut,1,5,0,10,3\nnone,1,5,1,10,0\n"


def test_two_columns_are_the_phases():
    jobs = map_shuffle_jobs(io.StringIO(GOOGLE))
    assert jobs.name == ("a", "b")
    assert jobs.arrival.tolist() == [0, 4]
    assert jobs.map.tolist() == pytest.approx([0.5, 1.5])
    assert jobs.shuffle.tolist() == pytest.approx([1.5, 0.5])
    for text, message in (
        ("job_id,submit_us,n_tasks\n", "'complete' is missing"),
        (GOOGLE.replace("9000000", "x", 1), "line 2: submit_us = 'x': not a number"),
        (f"{HEAD}one,1,1,1,10,3\n", "no job is left"),
    ):
        with pytest.raises(ValueError, match=message):
            map_shuffle_jobs(io.StringIO(text))


def test_the_real_table():
    path = trace_file("google2011", "jobs_dev.csv.gz")
    assert len(map_shuffle_jobs(path)) == 216
