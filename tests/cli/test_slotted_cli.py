"""Map and reduce tasks in steps on the command line."""

import json
from contextlib import contextmanager

import pytest

import malleable as mb
from malleable.cli import main

MIB = 2**20


def call(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def simulate(capsys, *arguments):
    status, out, err = call(capsys, "simulate", "--model", "slotted", *arguments, "--json", "-")
    assert status == 0, err
    return json.loads(out, parse_constant=pytest.fail)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("name,arrival,map,reduce\na,1,2,4;1\nb,1,1,3\nc,2,3,\n")
    return path


def test_table(capsys, table, tmp_path):
    records = tmp_path / "records.csv"
    found = simulate(capsys, table, "--slots", 2, "--policy", "asrpt,fifo", "--records", records)
    jobs = mb.read(table).map_reduce()
    result = mb.simulate(jobs, ["asrpt", "fifo"], machines=2)
    assert found["policies"] == result.summary and found["model"] == "slotted"
    assert len(records.read_text().splitlines()) == 7
    options = ("--slots", 2, "--policy", "fifo", "--set", "preemptive=false")
    blocked = simulate(capsys, table, *options)["policies"]["fifo"]
    assert blocked == mb.simulate(jobs, "fifo", machines=2, preemptive=False).summary["fifo"]


def test_what_people_see(capsys, table, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "cdf.png"
    status, out, _ = call(capsys, "simulate", table, "--slots", 9, "--plot", picture)
    assert status == 0
    assert "MapReduceJobs(3 jobs" in out and "unlock" in out and "dsrpt" not in out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_traces(capsys, tmp_path):
    trace = tmp_path / "trace.tsv"
    trace.write_text(f"a\t0\t0\t{64 * MIB}\t1000000000\t0\nb\t40\t40\t{128 * MIB}\t0\t0\n")
    found = simulate(capsys, trace, "--policy", "unlock", "--slots", 12)
    expected = mb.simulate(mb.read(trace).map_reduce(), "unlock", machines=12)
    assert found["policies"]["unlock"] == expected.summary["unlock"]
    coarse = simulate(capsys, trace, "--policy", "unlock", "--read", "slot=300")
    assert coarse["policies"]["unlock"]["end"] == 2


def test_estimates(capsys, table):
    options = ("--slots", 2, "--policy", "asrpt")
    found = simulate(capsys, table, *options, "--estimates", 2.0)
    own = {"machines": 2, "estimates": 2.0, "rng": 0}
    expected = mb.simulate(mb.read(table).map_reduce(), "asrpt", **own)
    assert found["policies"]["asrpt"] == expected.summary["asrpt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("TABLE", "--policy", "sjf"), "policy = 'sjf'"),
        (("TABLE", "--slots", 0), "machines = 0"),
        (("TABLE", "--estimates", -1), "estimates = -1"),
        (
            ("TABLE", "--set", "preemptive=false", "--policy", "dsrpt"),
            "preemptive reduce tasks only",
        ),
        (("TABLE", "--load", 0.5), "option 'load': --model slotted does not have it"),
        (("TABLE", "--set", "k=2"), "option 'k': --model slotted does not have it"),
        (("TABLE", "--read", "slot=3"), "counts slots already"),
        (("TABLE", "--set", "horizon=2.5"), "horizon = 2.5"),
        (("missing.csv",), "missing.csv"),
    ],
)
def test_wrong_input(capsys, table, arguments, message):
    arguments = [table if argument == "TABLE" else argument for argument in arguments]
    status, out, err = call(capsys, "simulate", "--model", "slotted", *arguments)
    assert (status, out) == (1, "")
    assert err.startswith("malleable: error: ")
    assert err.count("\n") == 1
    assert message in err


def test_reproduce(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "figure.png"
    status, out, _ = call(capsys, "reproduce", "asrpt-fig6", "--simulations", 2, "--plot", picture)
    assert status == 0
    for text in (
        "asrpt-fig6: flow time over its bound, exponential sizes, small reduce phases",
        ", 2 simulations",
        " holds",
        "figure.png",
    ):
        assert text in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    status, out, _ = call(capsys, "reproduce", "asrpt-fig13", "--simulations", 1, "--json", "-")
    read = json.loads(out, parse_constant=pytest.fail)
    assert (read["figure"], read["simulations"]) == ("asrpt-fig13", 1)
    assert [len(rows) for rows in read["panels"].values()] == [6, 5]
    status, _, err = call(capsys, "reproduce", "asrpt-fig5", "--simulations", 0)
    assert (status, "--simulations 0" in err) == (1, True)


def test_ctrl_c_keeps_what_is_finished(capsys, monkeypatch, table):
    @contextmanager
    def interrupting(what):
        done = []

        def advance(label, total):
            done.append(label)
            if len(done) == 2:
                raise KeyboardInterrupt

        yield advance

    monkeypatch.setattr("malleable.cli.reproduce_command.progress_bar", interrupting)
    status, out, err = call(capsys, "reproduce", "asrpt-fig5", "--json", "-")
    assert (status, "interrupted" in err) == (130, True)
    read = json.loads(out)
    assert (read["simulations"], read["complete"]) == (2, False)

    monkeypatch.setattr("malleable.cli.terminal.counting_bar", interrupting)
    options = (table, "--policy", "asrpt,fifo,fair", "--json", "-")
    status, out, err = call(capsys, "simulate", *options)
    assert (status, "interrupted" in err) == (130, True)
    assert list(json.loads(out)["policies"]) == ["asrpt", "fifo"]
