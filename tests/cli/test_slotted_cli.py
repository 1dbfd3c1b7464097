"""Map and reduce in slots on the command line."""

import json
from contextlib import contextmanager

import pytest

import malleable as mb
from malleable.cli import main
from malleable.slotted.generate import MapReduceStream, section7

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
    found = simulate(capsys, table, "--machines", 2, "--policy", "asrpt,fifo", "--records", records)
    result = mb.simulate(mb.read(table).map_reduce(), ["asrpt", "fifo"], machines=2)
    assert found["policies"] == result.summary
    assert (found["machines"], found["preemptive"], found["model"]) == (2, True, "slotted")
    assert len(records.read_text().splitlines()) == 7
    blocked = simulate(capsys, table, "--machines", 2, "--policy", "fifo", "--non-preemptive")
    assert (
        blocked["policies"]["fifo"]
        == (
            mb.simulate(mb.read(table).map_reduce(), "fifo", machines=2, preemptive=False).summary[
                "fifo"
            ]
        )
    )


def test_all_policies_by_default(capsys):
    found = simulate(capsys, "--generate", 100, "--seed", 3)
    assert list(found["policies"]) == ["asrpt", "unlock", "dsrpt", "fifo", "fair", "lrpt"]
    expected = mb.simulate(section7(steps=100, rng=3), "fair")
    assert found["policies"]["fair"] == expected.summary["fair"]
    found = simulate(capsys, "--generate", 100, "--non-preemptive")
    assert list(found["policies"]) == ["asrpt", "unlock", "fifo", "fair", "lrpt"]


def test_generated_jobs(capsys):
    options = ("--setting", "uniform-small", "--machines", 50, "--load", 0.5, "--tasks", "3")
    found = simulate(capsys, "--generate", 200, "--seed", 5, *options, "--policy", "asrpt")
    rate = 0.5 * 50 / 45
    jobs = section7("uniform-small", steps=200, rate=rate, tasks=3, rng=5)
    assert found["policies"]["asrpt"] == (mb.simulate(jobs, "asrpt", machines=50).summary["asrpt"])


def test_long_streams_keep_no_records(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("malleable.cli.simulate_slotted._MOST_JOBS", 100)
    options = ("--generate", 200, "--setting", "uniform-large", "--policy", "unlock")
    found = simulate(capsys, *options, "--seed", 2, "--estimates", 0.3)
    stream = MapReduceStream("uniform-large", steps=200)
    expected = mb.simulate(stream, "unlock", rng=2, estimates=0.3)
    assert found["policies"]["unlock"] == expected.summary["unlock"]
    status, _, err = call(
        capsys, "simulate", "--model", "slotted", *options, "--plot", tmp_path / "x.png"
    )
    assert status == 1
    assert "keeps no records" in err


def test_overload_is_said_once(capsys):
    options = ("--generate", 100, "--load", 1.3, "--policy", "fifo,asrpt")
    status, out, err = call(capsys, "simulate", "--model", "slotted", *options)
    assert status == 0
    assert err.count("load of 1 or more") == 1
    assert "RuntimeWarning" not in err
    assert "fifo" in out


def test_what_people_see(capsys, table, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "cdf.png"
    status, out, _ = call(
        capsys, "simulate", "--model", "slotted", table, "--machines", 9,
        "--plot", picture,
    )  # fmt: skip
    assert status == 0
    assert "9 machines, preemptive reduce tasks" in out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_traces(capsys, tmp_path):
    trace = tmp_path / "trace.tsv"
    trace.write_text(f"a\t0\t0\t{64 * MIB}\t1000000000\t0\nb\t40\t40\t{128 * MIB}\t0\t0\n")
    options = ("--policy", "unlock")
    found = simulate(capsys, trace, *options, "--load", 0.5)
    jobs = mb.read(trace).map_reduce()
    # 3 map tasks and one reduce task of 15 slots in slots 1 to 3 at load 0.5.
    assert found["machines"] == 12
    expected = mb.simulate(jobs, "unlock", machines=12)
    assert found["policies"]["unlock"] == expected.summary["unlock"]
    coarse = simulate(capsys, trace, *options, "--step-seconds", 300)
    assert coarse["policies"]["unlock"]["end"] == 2


def test_estimates(capsys, table):
    options = ("--machines", 2, "--policy", "asrpt", "--underestimates", "bounce")
    found = simulate(capsys, table, *options, "--estimates", 2.0)
    jobs = mb.read(table).map_reduce()
    own = {"machines": 2, "estimates": 2.0, "underestimates": "bounce", "rng": 0}
    expected = mb.simulate(jobs, "asrpt", **own)
    assert found["policies"]["asrpt"] == expected.summary["asrpt"]
    jobs = section7(steps=50, rng=0)
    found = simulate(capsys, "--generate", 50, "--policy", "asrpt", "--estimates", 1.0)
    expected = mb.simulate(jobs, "asrpt", estimates=1.0, rng=0)
    assert found["policies"]["asrpt"] == expected.summary["asrpt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "one of FILE and --generate N is needed"),
        (("--generate", 5, "--policy", "sjf"), "policy = 'sjf'"),
        (("--generate", 5, "--machines", 0), "machines = 0"),
        (("--generate", 5, "--tasks", "x"), "--tasks x"),
        (("--generate", -1), "steps = -1"),
        (("--generate", 5, "--load", 0), "load = 0"),
        (("--generate", 5, "--estimates", -1), "estimates = -1"),
        (
            ("--generate", 5, "--non-preemptive", "--policy", "dsrpt"),
            "preemptive reduce tasks only",
        ),
        (("TABLE", "--load", 0.5, "--machines", 3), "it cannot be used with --machines"),
        (("TABLE", "--step-seconds", 3), "counts slots already"),
        (("TABLE", "--horizon", 2.5), "horizon = 2.5"),
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


def test_options_of_the_other_model(capsys, tmp_path):
    for options in (("--machines", 5), ("--step-seconds", 1), ("--non-preemptive",)):
        with pytest.raises(SystemExit, match="2"):
            call(capsys, "simulate", "--generate", 10, *options)
        assert f"--model tandem does not take {options[0]}" in capsys.readouterr().err
    for options in (("--effort", 5), ("--as-printed",)):
        with pytest.raises(SystemExit, match="2"):
            call(capsys, "simulate", "--model", "slotted", "--generate", 10, *options)
        assert f"--model slotted does not take {options[0]}" in capsys.readouterr().err


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


def test_ctrl_c_keeps_what_is_finished(capsys, monkeypatch):
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

    monkeypatch.setattr("malleable.cli.simulate_command.progress_bar", interrupting)
    options = ("--generate", 100, "--policy", "asrpt,fifo,fair", "--json", "-")
    status, out, err = call(capsys, "simulate", "--model", "slotted", *options)
    assert (status, "interrupted" in err) == (130, True)
    assert list(json.loads(out)["policies"]) == ["asrpt", "fifo"]
