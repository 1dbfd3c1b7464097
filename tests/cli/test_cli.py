"""The command line as a process: what it writes, what it says, how it ends."""

import contextlib
import csv
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len

import malleable as mb
from malleable.cli import main
from malleable.jobs.generate import section41

TABLE = "name,work,min_slots,max_slots,deadline\na,400,1,100,9\nb,40,1,20,3\nc,40,1,20,4\n"
SWIM = "j0\t0\t0\t671088640\t0\t0\nj1\t9\t9\t0\t1000000000\t0\nj2\t20\t11\t67108864\t0\t0\n"
COMMAND = [sys.executable, "-m", "malleable"]


def rumen(name, submit, finish, tasks):
    attempts = [
        {"attempts": [{"startTime": a * 1000, "finishTime": b * 1000, "result": "SUCCESS"}]}
        for a, b in tasks
    ]
    times = {"submitTime": submit * 1000, "finishTime": finish * 1000}
    return json.dumps({"jobID": name, **times, "mapTasks": attempts})


def run(*arguments, stdin=None, cwd=None, **options):
    if stdin is None:
        options.setdefault("stdin", subprocess.DEVNULL)
    else:
        options["input"] = stdin if isinstance(stdin, bytes) else stdin.encode()
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, cwd=cwd, check=False, **options
    )
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    return done


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text(TABLE)
    return path


def read_json(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout, parse_constant=pytest.fail)


def call(capsys, *arguments):
    """The same as `run` without a process of its own."""
    status = main([str(word) for word in arguments])
    captured = capsys.readouterr()
    return subprocess.CompletedProcess(arguments, status, captured.out, captured.err)


def check_one_line(done, *words):
    """Exit status 1, nothing on standard output, one line that says what and where."""
    assert done.returncode == 1, done
    assert done.stdout == ""
    assert done.stderr.startswith("malleable: error: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith("\n")
    for word in words:
        assert word in done.stderr


# plan ---------------------------------------------------------------------------------------------


def test_plan_shows_value_bound_and_jobs(table):
    done = run("plan", table, "--slots", 50)
    assert (done.returncode, done.stderr) == (0, "")
    plan = mb.plan(mb.read_jobs(table), 50)
    assert f"value {plan.value:.6g}, lower bound {plan.lower_bound:.6g}, gap 0.27 %" in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines() if line.endswith(" 2")] == [
        "b",
        "c",
    ]
    assert "\x1b" not in done.stdout
    assert not any(line != line.rstrip() for line in done.stdout.splitlines())


def test_plan_files(table, tmp_path):
    names = ("p.json", "p.csv", "p.png")
    files = dict(zip(("--json", "--pieces", "--plot"), (tmp_path / n for n in names), strict=True))
    options = [str(word) for pair in files.items() for word in pair]
    done = run("plan", table, "--slots", 50, "--objective", "max:tardiness", *options)
    assert done.returncode == 0
    plan = mb.plan(mb.read_jobs(table), 50, "max:tardiness")
    assert json.loads(files["--json"].read_text()) == plan.to_dict()
    rows = list(csv.DictReader(io.StringIO(files["--pieces"].read_text())))
    assert list(rows[0]) == ["job", "start", "end", "slots"]
    assert [float(row["end"]) for row in rows] == plan.pieces["end"].tolist()
    assert files["--plot"].read_bytes().startswith(b"\x89PNG")
    before = {path: path.read_bytes() for path in files.values()}

    # Each of them alone stops everything, before anything is computed or written.
    for option, path in files.items():
        check_one_line(run("plan", "no.csv", "--slots", 50, option, path), str(path), "exists")
    assert before == {path: path.read_bytes() for path in files.values()}

    assert run("plan", table, "--slots", 9, *options, "--force").returncode == 0
    assert all(path.read_bytes() != data for path, data in before.items())
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["jobs.csv", *names])


def test_plan_to_standard_output_is_nothing_but_json(table):
    done = run("plan", "-", "--slots", 50, "--json", "-", stdin=TABLE)
    assert (done.returncode, done.stderr) == (0, "")
    assert read_json(done) == mb.plan(mb.read_jobs(table), 50).to_dict()
    pieces = run("plan", table, "--slots", 50, "--pieces", "-")
    assert pieces.stdout.startswith("job,start,end,slots\n")


def test_plan_explains(table):
    done = run("plan", table, "--slots", 50, "--explain")
    assert done.stdout.splitlines()[2:] == mb.plan(mb.read_jobs(table), 50).explain()


def test_plan_options_reach_the_planner(table):
    arguments = ("--policy", "fair", "--min-mode", "gang", "--now", "7", "--json", "-")
    done = run("plan", table, "--slots", 50, "--objective", "sum:sla", *arguments)
    jobs = mb.read_jobs(table)
    assert (
        read_json(done) == mb.plan(jobs, 50, "sum:sla", "fair", now=7.0, min_mode="gang").to_dict()
    )
    done = run("plan", table, "--slots", 50, "--effort", 0, "--budget", 0, "--json", "-")
    assert read_json(done) == mb.plan(jobs, 50, effort=0, budget=0).to_dict()


def test_no_jobs_are_an_empty_plan():
    done = run("plan", "-", "--slots", 5, "--json", "-", stdin="work\n")
    assert done.returncode == 0
    assert read_json(done)["jobs"] == []
    assert "0 jobs on 5 slots" in run("plan", "-", "--slots", 5, stdin="work\n").stdout


def test_a_gang_that_never_runs_is_strict_json():
    table = "work,min_slots\n5,9\n"
    done = run("plan", "-", "--slots", 4, "--min-mode", "gang", "--json", "-", stdin=table)
    read = json.loads(done.stdout, parse_constant=pytest.fail)
    assert (read["status"], read["value"]) == ("infeasible", None)


def test_names_from_elsewhere_stay_harmless():
    table = 'name,work\n"[red]x\x1b[2J",3\n"two\nlines",4\n'
    for option in ([], ["--explain"]):
        done = run("plan", "-", "--slots", 4, *option, stdin=table, env=ascii_only())
        assert done.returncode == 0
        assert "[red]x\\x1b[2J" in done.stdout
        assert "two\\nlines" in done.stdout
        assert "\x1b" not in done.stdout


def ascii_only():
    return {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}


def test_names_that_the_terminal_cannot_show():
    done = run("plan", "-", "--slots", 4, stdin="name,work\nä,3\n", env=ascii_only())
    assert done.returncode == 0
    assert "\\xe4" in done.stdout


# snapshots ----------------------------------------------------------------------------------------


def test_a_snapshot_sets_now():
    table = "work,arrival\n3,5\n4,0\n"
    done = run("plan", "-", "--slots", 5, "--at", 4, "--json", "-", stdin=table)
    assert done.stderr == ""
    assert [job["name"] for job in read_json(done)["jobs"]] == ["job1"]
    assert read_json(done)["jobs"][0]["completion"] == 4.8
    check_one_line(run("plan", "-", "--slots", 5, stdin=table), "arrival[0] = 5.0", "--at")
    later = run("plan", "-", "--slots", 5, "--now", 6, "--json", "-", stdin=table)
    assert len(read_json(later)["jobs"]) == 2


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("through", ["path", "stdin"])
def test_a_trace_is_taken_at_its_last_arrival(tmp_path, packed, through):
    data = gzip.compress(SWIM.encode()) if packed else SWIM.encode()
    path = tmp_path / "trace"
    path.write_bytes(data)
    source, stdin = (path, None) if through == "path" else ("-", data)
    done = run("plan", source, "--slots", 5, "--json", "-", stdin=stdin)
    assert done.returncode == 0
    assert done.stderr == (
        "malleable: now = 20 s, the trace's last arrival (--at SECONDS: another time)\n"
        "malleable: snapshot at 20 s: 3 jobs, all that had arrived by then with all of their work, as"
        " a SWIM trace does not say when work was done (plan --snapshot fair: as FAIR leaves them)\n"
    )
    assert [job["name"] for job in read_json(done)["jobs"]] == ["j0", "j1", "j2"]
    done = run("plan", source, "--slots", 5, "--at", 0, "--json", "-", stdin=stdin)
    assert done.stderr.startswith("malleable: snapshot at 0 s: 1 job, all that had arrived")
    assert len(read_json(done)["jobs"]) == 1


def test_the_snapshot_of_a_rumen_trace_has_what_is_left():
    trace = rumen("done", 0, 20, [(1, 20)]) + rumen("half", 10, 90, [(20, 60)])
    trace += rumen("last", 40, 90, [(50, 60)])
    done = run("plan", "-", "--slots", 5, "--pieces", "-", stdin=trace)
    assert "now = 40 s" in done.stderr
    assert (
        "2 jobs submitted by then and not finished, with the work that was then left" in done.stderr
    )
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["job"]: float(row["end"]) for row in rows} == {"half": 60.0, "last": 50.0}


def test_phase():
    done = run("plan", "-", "--slots", 5, "--phase", "reduce", "--json", "-", stdin=SWIM)
    ends = {job["name"]: job["completion"] for job in read_json(done)["jobs"]}
    assert ends == {"j0": 0.0, "j1": 320.0, "j2": 20.0}


# what goes wrong ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("work\n3\nnan\n", ["work[1] = nan"]),
        ("work\ninf\n", ["work[0] = inf"]),
        ("work\n-1\n", ["work[0] = -1"]),
        ("work,min_slots,max_slots\n1,5,4\n", ["min_slots[0] = 5"]),
        ("work,weight\n1,-2\n", ["weight[0] = -2"]),
        ("work,arrival\n1,nan\n", ["arrival[0] = nan"]),
        ("work,sla\n1,5:1;4:2\n", ["sla"]),
        ("wrk\n1\n", ["'wrk'", "'work'"]),
        ("name\na\n", ["'work' is missing"]),
        ("work\n1,2\n", ["row 0"]),
        ("work\nx\n", ["row 0", "work = 'x'"]),
        ("", ["empty"]),
        (bytes(range(256)) * 9, ["binary"]),
        (gzip.compress(b"work\n" + b"1\n" * 9000, mtime=0)[:-20], ["truncated"]),
        (b'{"jobID": "a", "submitTime": 1', ["JSON"]),
    ],
)
def test_wrong_tables(text, words, tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    files = ("--json", tmp_path / "p.json", "--pieces", tmp_path / "p.csv")
    check_one_line(call(capsys, "plan", path, "--slots", 5, *files), str(path), *words)
    assert list(tmp_path.iterdir()) == [path]


def test_a_wrong_table_through_a_pipe(tmp_path):
    done = run("plan", "-", "--slots", 5, "--json", "p.json", stdin="work\nnan\n", cwd=tmp_path)
    check_one_line(done, "<stdin>: work[0] = nan")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--slots", "0"], ["slots = 0"]),
        (["--slots", "-3"], ["slots = -3"]),
        (["--slots", "9", "--objective", "sum:respons"], ["did you mean 'sum:response'"]),
        (["--slots", "9", "--objective", "sum:custom"], ["penalty"]),
        (["--slots", "9", "--objective", "sum:lateness"], ["deadline"]),
        (["--slots", "9", "--effort", "-1"], ["effort = -1"]),
        (["--slots", "9", "--budget", "nan"], ["budget = nan"]),
        (["--slots", "9", "--now", "inf"], ["--now = inf"]),
        (["--slots", "9", "--at", "nan"], ["--at = nan"]),
        (["--slots", "9", "--json", "no/p.json"], ["--json no/p.json", "folder does not exist"]),
        (["--slots", "9", "--json", "."], ["--json .", "is a folder"]),
        (["--slots", "9", "--json", "a", "--pieces", "./a"], ["same file as --json"]),
        (["--slots", "9", "--json", "jobs.csv", "--force"], ["same file as the input"]),
        (["--slots", "9", "--json", "-", "--pieces", "-"], ["standard output"]),
        (["--slots", "9", "--plot", "a.txt"], ["a.txt: unknown image format"]),
    ],
)
def test_wrong_arguments(arguments, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.csv").write_text("work\n4\n")
    check_one_line(call(capsys, "plan", "jobs.csv", *arguments), *words)
    assert [path.name for path in tmp_path.iterdir()] == ["jobs.csv"]


def test_files_that_cannot_be_read(tmp_path):
    check_one_line(run("plan", "no.csv", "--slots", 1, cwd=tmp_path), "no.csv: No such file")
    check_one_line(run("plan", tmp_path, "--slots", 1), str(tmp_path), "directory")
    check_one_line(run("plan", "a\nb", "--slots", 1, cwd=tmp_path), "a\\nb")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_without_permission(table):
    table.chmod(0)
    check_one_line(run("plan", table, "--slots", 1), "jobs.csv: Permission denied")


def test_jobs_need_slots(table, capsys):
    with pytest.raises(SystemExit) as caught:
        call(capsys, "plan", table)
    assert caught.value.code == 2
    assert "--slots N is needed" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["plan"],
        ["plan", "x", "--slots", "x"],
        ["plan", "x", "--slots", "1", "--policy", "best"],
        ["plan", "x", "--slots", "1", "--at", "1", "--now", "1"],
        ["reproduce", "figure-9"],
        ["imagine"],
        ["bench", "--jobs"],
    ],
)
def test_usage_errors_end_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: malleable")


def test_help_and_version(capsys):
    for arguments in (["--help"], ["plan", "--help"], ["--version"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
    assert capsys.readouterr().out.endswith(f"malleable {mb.__version__}\n")


def test_missing_matplotlib_is_said_before_planning(table, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    assert main(["plan", "no.csv", "--slots", "5", "--plot", str(table) + ".png"]) == 1
    assert "pip install 'malleable[plot]'" in capsys.readouterr().err


def test_out_of_memory_is_one_line(table, monkeypatch, capsys):
    def no_room(*_, **__):
        raise MemoryError

    monkeypatch.setattr("malleable.cli.plan_command.plan", no_room)
    assert main(["plan", str(table), "--slots", "5"]) == 1
    assert capsys.readouterr().err == "malleable: error: out of memory\n"


# streams and signals ------------------------------------------------------------------------------


def test_a_reader_that_leaves_early_is_no_error(tmp_path):
    table = "work\n" + "1\n" * 20_000
    (tmp_path / "t.csv").write_text(table)
    command = [*COMMAND, "plan", str(tmp_path / "t.csv"), "--slots", "50", "--effort", "0"]
    command += ["--json", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"{\n"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_a_full_disk_is_an_error(table):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    check_one_line(run("plan", table, "--slots", 5, "--json", "/dev/full"), "/dev/full: No space")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "plan", table, "--slots", "5"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("malleable: error: ")
    assert done.stderr.count("\n") == 1


def test_without_standard_streams(table):
    done = subprocess.run(
        ["/bin/sh", "-c", '"$@" <&- >&- 2>&-', "sh", *COMMAND, "plan", str(table), "--slots", "5"],
        check=False,
    )
    assert done.returncode == 0
    closed = ["/bin/sh", "-c", '"$@" <&-', "sh", *COMMAND, "plan", "-", "--slots", "5"]
    done = subprocess.run(closed, capture_output=True, text=True, check=False)
    check_one_line(done, "standard input is closed")


def test_devices_and_pipes_may_be_given(table):
    assert run("plan", table, "--slots", 5, "--json", "/dev/null").returncode == 0
    done = run("plan", table, "--slots", 5, "--json", "/dev/stdout")
    assert json.loads(done.stdout[: done.stdout.index("\n}\n") + 2])["policy"] == "flex"
    piped = run("plan", "/dev/stdin", "--slots", 5, "--json", "-", stdin=TABLE)
    assert read_json(piped)["policy"] == "flex"


def interrupted(arguments, cwd, ready):
    """Run, interrupt as soon as ``ready()`` holds, and return the ended process's outcome."""
    # A parent that ignores the signal hands that down.
    start = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    start += "from malleable.cli import main; sys.exit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", start, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
    ) as process:
        ready(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def cpu_seconds(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def busy_for(seconds):
    def ready(process):
        while cpu_seconds(process) < seconds:
            time.sleep(0.05)

    return ready


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_interrupting_a_long_plan(tmp_path):
    rng = np.random.default_rng(1)
    rows = "".join(f"{w},{d},1\n" for w, d in rng.uniform(0, 20, (2000, 2)).tolist())
    (tmp_path / "t.csv").write_text("work,deadline,min_slots\n" + rows)
    options = ["--objective", "sum:tardiness", "--effort", "1000000000000", "--json", "p.json"]
    status, out, err = interrupted(
        ["plan", "t.csv", "--slots", "2500", *options], tmp_path, busy_for(2.0)
    )
    assert (status, out, err) == (130, "", "malleable: interrupted\n")
    assert not (tmp_path / "p.json").exists()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_interrupting_an_experiment_keeps_what_is_finished(tmp_path):
    options = ["--simulations", "100000", "--json", "f.json"]
    status, out, err = interrupted(["reproduce", "flex-fig5", *options], tmp_path, busy_for(6.0))
    assert (status, err) == (130, "malleable: interrupted\n")
    assert "Interrupted: only what was finished is shown." in out
    read = json.loads((tmp_path / "f.json").read_text())
    assert read["complete"] is False
    assert 0 < read["panels"]["slack"][0]["simulations"] < 100_000


# the other commands -------------------------------------------------------------------------------


def test_bench(tmp_path):
    done = run("bench", "--jobs", 100, "--epochs", 3, "--json", tmp_path / "b.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "decide: p99.9" in done.stdout
    read = json.loads((tmp_path / "b.json").read_text())
    assert [one["instance"] for one in read["instances"]] == ["a", "b"]
    again = run("bench", "--jobs", 100, "--epochs", 3, "--json", tmp_path / "b.json")
    check_one_line(again, "exists")
    machine = run("bench", "--jobs", 100, "--epochs", 3, "--json", "-")
    assert read_json(machine)["instances"][0]["jobs"] == 100
    check_one_line(run("bench", "--jobs", 0), "jobs = 0")


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


def test_demo(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("malleable.cli.demo_command._LATENCY_JOBS", 100)
    monkeypatch.setattr("malleable.cli.demo_command._LATENCY_EPOCHS", 3)
    out, trace = tmp_path / "new" / "out", tmp_path / "trace.tsv"
    trace.write_text(SWIM)
    arguments = ["demo", "--output", str(out)]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    for word in ("FLEX", "FAIR", "FIFO", "lower bound", "gap", "decide: median", "decide: p99"):
        assert word in shown
    assert str(out / "packing.png") in shown
    assert (out / "packing.png").read_bytes().startswith(b"\x89PNG")
    assert main(arguments) == 1
    assert "packing.png: exists" in capsys.readouterr().err

    arguments += ["--force", "--trace", str(trace), "--json", "-"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    read = json.loads(captured.out)
    assert read["trace"]["jobs"] == 3
    assert read["trace"]["now"] == 20.0
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
    arguments = ["demo", "--output", str(tmp_path), "--trace", str(trace), "--json", "-"]
    assert main(arguments) == 0
    read = json.loads(capsys.readouterr().out)
    assert (read["trace"]["now"], read["trace"]["jobs"]) == (9.0, 3)


def test_progress_and_tables_on_a_terminal(tmp_path):
    """Colours and bars go to a terminal only, and bars to standard error only."""
    pty = pytest.importorskip("pty")
    (tmp_path / "t.csv").write_text(TABLE)
    master, slave = pty.openpty()
    done = subprocess.run(
        [*COMMAND, "bench", "--jobs", "50", "--epochs", "30", "--json", "-"],
        stdout=subprocess.PIPE,
        stderr=slave,
        env={**os.environ, "TERM": "xterm"},
        check=False,
    )
    os.close(slave)
    assert done.returncode == 0
    read_json(done)
    assert b"decisions" in os.read(master, 100_000)
    os.close(master)


def on_terminal(columns, *arguments):
    """What somebody sees on a terminal of that width, without colours."""
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    size = {"COLUMNS": str(columns), "LINES": "50"}
    done = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **size, "TERM": "xterm"},
    )
    os.close(slave)
    seen = b""
    with contextlib.suppress(OSError):  # that is how the end of a terminal is told
        while more := os.read(master, 100_000):
            seen += more
    os.close(master)
    assert done.wait() == 0
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen.decode()).replace("\r", "").splitlines()


@pytest.mark.parametrize("columns", [60, 80])
def test_tables_keep_all_columns_on_a_narrow_terminal(columns, tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    cluster = tmp_path / "c.csv"
    cluster.write_text("maps,map_seconds,reduces,reduce_seconds,arrival\n8,2,2,1,0\n3,90,1,5,3\n")
    three = "fair,fifo,srpt"
    for heads, arguments in (
        ("response bound stretch p50 p99 max map shuffle", ("simulate", "--generate", 500)),
        (
            "SRPT our p50 p99 max busy unfinished",
            ("simulate", "--model", "slotted", "--generate", 50),
        ),
        (
            "median p95 p99 makespan Jain dissatisfied users apart lost idle churn",
            ("simulate", cluster, "--model", "cluster", "--load", 0.5, "--policy", three),
        ),
        ("slots start end penalty", ("plan", tmp_path / "t.csv", "--slots", 50)),
        ("minima maxima p99.9", ("bench", "--jobs", 50, "--epochs", 5)),
        (
            "paper ours criterion verdict poorest throughout",
            ("reproduce", "flex-fig5", "--quick", "--simulations", 1),
        ),
    ):
        lines = on_terminal(columns, *arguments)
        assert max(map(cell_len, lines)) <= columns
        words = " ".join(lines).split()
        assert set(heads.split()) <= set(words), arguments
        assert "…" not in "".join(lines)


def test_the_instances_of_bench_are_told_in_words(capsys):
    assert main(["bench", "--jobs", "30", "--epochs", "2"]) == 0
    out = capsys.readouterr().out
    assert "2 slots a job, minima of 1" in out
    assert "10 jobs a slot, no minima or maxima" in out
    assert "(a)" not in out


def test_one_is_singular(capsys, tmp_path):
    """Of whatever the command line counts."""
    jobs, reduces = tmp_path / "t.csv", tmp_path / "r.csv"
    jobs.write_text("name,work\na,4\n")
    reduces.write_text("name,arrival,map,reduce\na,1,1,1\n")
    for arguments in (
        ("plan", jobs, "--slots", 1),
        ("plan", jobs, "--slots", 1, "--explain"),
        ("simulate", reduces, "--model", "slotted", "--machines", 1),
        ("reproduce", "asrpt-fig5", "--simulations", 1),
        ("reproduce", "flowflex-fig11", "--simulations", 1),
    ):
        assert main(list(map(str, arguments))) == 0
        found = re.findall(r"(?<![\d.,/of ] )(?<![\d.,])\b1 [a-z]+s\b", capsys.readouterr().out)
        assert [text for text in found if text not in ("1 is",)] == [], arguments


def test_main_reads_what_the_generator_wrote(tmp_path):
    jobs = section41(rng=5)
    mb.write_jobs(jobs, tmp_path / "t.csv")
    done = run("plan", tmp_path / "t.csv", "--slots", 100, "--objective", "sum:sla", "--json", "-")
    assert read_json(done)["value"] == mb.plan(jobs, 100, "sum:sla").value


def test_simulate_prints_and_writes(tmp_path, capsys):
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("name,arrival,map,shuffle\na,0,1,2\nb,0,3,1\nc,0,2,2\n")
    records = tmp_path / "records.csv"
    status = main(["simulate", str(jobs), "--policy", "fcfs,ps", "--records", str(records)])
    assert status == 0
    assert "fcfs" in capsys.readouterr().out
    assert len(records.read_text().splitlines()) == 7
    assert main(["simulate", "--generate", "100", "--policy", "lifo"]) == 1
    assert "lifo" in capsys.readouterr().err
