"""`demo`: all its parts."""

from malleable.cli import main


def test_demo(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("malleable.cli.demo_command._LATENCY_JOBS", 100)
    monkeypatch.setattr("malleable.cli.demo_command._LATENCY_EPOCHS", 3)
    out, file = tmp_path / "new" / "out", tmp_path / "file"
    file.write_text("")
    arguments = ["demo", "--output", str(out)]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    for word in ("FLEX", "FAIR", "FIFO", "lower bound", "gap", "median", "p99.9"):
        assert word in shown
    assert str(out / "packing.png") in shown
    assert (out / "packing.png").read_bytes().startswith(b"\x89PNG")
    assert main(arguments) == 1
    assert "packing.png: exists" in capsys.readouterr().err

    assert main([*arguments, "--force"]) == 0
    assert main(["demo", "--output", str(file)]) == 1
    assert main([*arguments, "--force", "--seed", "-1"]) == 1
    assert capsys.readouterr().err.count("malleable: error: ") == 2
