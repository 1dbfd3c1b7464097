"""A small table of jobs in a file."""

import pytest

from tests.cli.command_line import TABLE


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text(TABLE)
    return path
