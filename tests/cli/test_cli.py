"""The command line as a process: usage, errors, streams, terminals."""

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest
from rich.cells import cell_len

import malleable as mb
from malleable.cli import main
from malleable.cli.streams import wording
from tests.cli.command_line import COMMAND, TABLE, check_one_line, on_terminal, read_json, run
from tests.full import in_full


def test_files_that_cannot_be_read(tmp_path):
    check_one_line(run("plan", "no.csv", "--slots", 1, cwd=tmp_path), "no.csv: No such file")
    check_one_line(run("plan", tmp_path, "--slots", 1), str(tmp_path), "directory")
    check_one_line(run("plan", "a\nb", "--slots", 1, cwd=tmp_path), "a\\nb")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_without_permission(table):
    table.chmod(0)
    check_one_line(run("plan", table, "--slots", 1), "jobs.csv: Permission denied")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["plan"],
        ["plan", "x", "--slots", "x"],
        ["plan", "x", "--slots", "1", "--policy", "best"],
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
    for arguments in (["--help"], ["plan", "--help"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.endswith(f"malleable {mb.__version__}\n")


def test_out_of_memory_is_one_line(table, monkeypatch, capsys):
    def no_room(*_, **__):
        raise MemoryError

    monkeypatch.setattr("malleable.cli.plan_command.plan", no_room)
    assert main(["plan", str(table), "--slots", "5"]) == 1
    assert capsys.readouterr().err == "malleable: error: out of memory\n"


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
    assert done.stderr.startswith("malleable: error: standard output: No space left on device: ")
    assert done.stderr.count("\n") == 1


def test_an_error_of_the_system_names_its_subject_and_the_next_step(tmp_path):
    text = 'mkdir gone; cd gone; rmdir ../gone; printf "1\\n" | "$@"'
    words = ["/bin/sh", "-c", text, "sh", *COMMAND, "run", "--job", "x", "echo {}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    check_one_line(done, "the current folder: it was removed; go to a folder that is there")
    few = wording(OSError(errno.EMFILE, "Too many open files"))
    assert few.startswith("this process: Too many open files: allow this process more")
    assert wording(OSError(errno.ENOSPC, "No space", "file")) == "file: No space: make room there"
    assert wording(OSError(errno.ENOENT, "Absent", "file")) == "file: Absent"


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


@pytest.mark.parametrize("columns", [60, pytest.param(80, marks=in_full)])
def test_tables_keep_all_columns_on_a_narrow_terminal(columns, tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    cluster = tmp_path / "c.csv"
    cluster.write_text("maps,map_seconds,reduces,reduce_seconds,arrival\n8,2,2,1,0\n3,90,1,5,3\n")
    three = "fair,fifo,srpt"
    for heads, arguments in (
        (
            "mean median p95 makespan",
            (
                "simulate",
                cluster,
                "--model",
                "cluster",
                "--load",
                0.5,
                "--policy",
                three,
            ),
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
