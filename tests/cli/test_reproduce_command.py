"""`reproduce`: a figure, its JSON, and what is kept when it is interrupted."""

import itertools
import json
import os
import signal
import threading
from contextlib import contextmanager

from tests.cli.command_line import call, check_one_line, run


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


@contextmanager
def interrupting(what):
    """A progress bar that presses Ctrl-C a moment after the third simulation."""
    done = itertools.count(1)

    def advance(label, total):
        if next(done) == 3:
            threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()

    yield advance


def test_interrupting_an_experiment_keeps_what_is_finished(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("malleable.cli.reproduce_command.progress_bar", interrupting)
    monkeypatch.chdir(tmp_path)
    options = ["--simulations", "100000", "--json", "f.json"]
    done = call(capsys, "reproduce", "flex-fig5", *options)
    assert (done.returncode, done.stderr) == (130, "malleable: interrupted\n")
    assert "Interrupted: only what was finished is shown." in done.stdout
    read = json.loads((tmp_path / "f.json").read_text())
    assert read["complete"] is False
    assert 3 <= read["panels"]["slack"][0]["simulations"] < 100_000
