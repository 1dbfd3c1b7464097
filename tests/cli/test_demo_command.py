"""`demo`: all its parts, and a trace where it is busiest."""

from malleable.cli import main
from tests.cli.command_line import SWIM, rumen


def test_demo(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("malleable.cli.demo_command._LATENCY_JOBS", 100)
    monkeypatch.setattr("malleable.cli.demo_command._LATENCY_EPOCHS", 3)
    out, trace = tmp_path / "new" / "out", tmp_path / "trace.tsv"
    trace.write_text(SWIM)
    arguments = ["demo", "--output", str(out)]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    for word in ("FLEX", "FAIR", "FIFO", "lower bound", "gap", "median", "p99.9"):
        assert word in shown
    assert str(out / "packing.png") in shown
    assert (out / "packing.png").read_bytes().startswith(b"\x89PNG")
    assert main(arguments) == 1
    assert "packing.png: exists" in capsys.readouterr().err

    arguments += ["--force", "--trace", str(trace)]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert "trace.tsv at 20 s: 3 jobs" in captured.out
    assert "now = 20 s" in captured.err
    assert sorted(path.name for path in out.iterdir()) == ["packing.png", "trace-packing.png"]

    assert main(["demo", "--output", str(trace)]) == 1
    assert main(["demo", "--output", str(out), "--force", "--trace", str(tmp_path / "no")]) == 1
    assert main(["demo", "--output", str(out), "--force", "--seed", "-1"]) == 1
    assert capsys.readouterr().err.count("malleable: error: ") == 3


def test_demo_takes_a_rumen_trace_where_it_is_busiest(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("malleable.cli.demo_command._LATENCY_JOBS", 100)
    monkeypatch.setattr("malleable.cli.demo_command._LATENCY_EPOCHS", 3)
    trace = tmp_path / "trace.json"
    spans = [(0, 50), (5, 60), (9, 30), (100, 110)]
    trace.write_text("".join(rumen(f"j{a}", a, b, [(a, b)]) for a, b in spans))
    arguments = ["demo", "--output", str(tmp_path), "--trace", str(trace)]
    assert main(arguments) == 0
    assert "trace.json at 9 s: 3 jobs" in capsys.readouterr().out
