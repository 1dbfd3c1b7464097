"""``malleable forget``; what it leaves is in ``tests/live/test_packs.py``."""

from tests.cli.command_line import call, check_one_line


def test_nothing_is_made_where_there_is_nothing(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_one_line(call(capsys, "forget", "--older", "30d"), "no journal there")
    assert list(tmp_path.iterdir()) == []
