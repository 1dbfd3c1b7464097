"""`reproduce`: a figure, its JSON, and what is kept when it is interrupted."""

import json
from pathlib import Path

import pytest

from tests.cli.command_line import busy_for, check_one_line, interrupted, run


def test_reproduce(tmp_path):
    options = ["--simulations", 1, "--quick", "--json", "f.json", "--plot", "f.png"]
    done = run("reproduce", "flex-fig5", *options, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for printed in ("207 %", "324 %", "154 %", "161 %", "less than .1 % higher"):
        assert printed in done.stdout
    assert json.loads((tmp_path / "f.json").read_text())["complete"] is True
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    check_one_line(run("reproduce", "flex-fig5", *options, cwd=tmp_path), "f.json: exists")
    check_one_line(run("reproduce", "flex-fig5", "--simulations", 0), "--simulations 0: ")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_interrupting_an_experiment_keeps_what_is_finished(tmp_path):
    options = ["--simulations", "100000", "--json", "f.json"]
    status, out, err = interrupted(["reproduce", "flex-fig5", *options], tmp_path, busy_for(6.0))
    assert (status, err) == (130, "malleable: interrupted\n")
    assert "Interrupted: only what was finished is shown." in out
    read = json.loads((tmp_path / "f.json").read_text())
    assert read["complete"] is False
    assert 0 < read["panels"]["slack"][0]["simulations"] < 100_000
