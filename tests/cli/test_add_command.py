"""``malleable add``; what it does to a run is in ``tests/live/test_orders.py``."""

from tests.cli.command_line import call, check_one_line


def test_without_a_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call(capsys, "add", "echo {}", "--each", "a")
    check_one_line(done, "no run of this journal is going on")
    check_one_line(call(capsys, "add", "none.toml"), "none.toml")
    assert list(tmp_path.iterdir()) == []
