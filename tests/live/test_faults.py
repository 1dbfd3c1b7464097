"""Faults: runs that are killed, disks that are full, commands that misbehave, clocks that jump."""

import contextlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from malleable.live import journal as journal_module
from malleable.live.journal import Attempt, Journal, JournalError
from malleable.live.output import open_stream, stream_of
from malleable.live.packs import packed_keys
from malleable.live.protocol import Task
from tests.live.outputs import output_of
from tests.live.test_local import ends, engine
from tests.live.waiting import PATIENCE, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
KILLS = int(os.environ.get("MALLEABLE_KILLS", "4"))
COMMAND = [sys.executable, "-m", "malleable"]
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def run(folder, *words, **more):
    return subprocess.run(
        [*COMMAND, "run", *words], cwd=folder, capture_output=True, text=True, check=False, **more
    )


def journal_of(folder):
    return folder / ".malleable" / "journal.sqlite"


def attempts(folder, number=1):
    with Journal(journal_of(folder), write=False) as journal:
        return list(journal.attempts(number))


def marked(mark):
    """Processes of tasks with this variable, not yet reaped."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.add(int(process.name))
        except OSError:
            continue
    return found


def nothing_left(mark):
    return until(lambda: not marked(mark))


# Runs that are killed. MALLEABLE_KILLS=200 in `make full`.

EAT = """
set -e  # whatever is killed of it, it has failed
if [ -e "$1" ]; then  # else an attempt before this one ate it, and nobody heard
  cat "$1" >>ran
  sync ran
  rm "$1"
fi
sleep 0.04
setsid sleep 60 &
"""


def children(pid):
    """Pids of a process' children; those of its threads, too."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, path.read_text().split())
        except OSError:
            continue
    return found


def shot(rng, process, mark, nannies):
    """What was killed of a run: the run itself, its supervisor, or a process of a task; "" if it had ended.

    ``nannies`` are those that were killed. If the run is killed before it saw that, what ran stays
    (docs/live.md), and is ended here.
    """
    whom = rng.choice(["run", "run", "supervisor", "task"])
    supervisor = [pid for pid in children(process.pid) if pid not in nannies]
    found = {"run": [process.pid], "supervisor": supervisor, "task": sorted(marked(mark))}[whom]
    if not found:
        return ""
    pid = rng.choice(found)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return ""
    if whom == "supervisor":
        nannies.add(pid)
    if whom == "run":
        assert process.wait() in (0, -signal.SIGKILL)
        for left in () if supervisor else marked(mark):
            os.kill(left, signal.SIGKILL)
    return whom


@pytest.mark.parametrize("seed", [int(os.environ.get("MALLEABLE_KILLS_SEED", "1"))])
def test_killed_at_random_moments_nothing_is_lost_or_counted_twice(tmp_path, seed):
    """Tasks remove their inputs; whatever process of the run is killed, and whenever."""
    rng, tasks, mark = random.Random(seed), 100 + 15 * KILLS, f"MALLEABLE_KILLED={os.getpid()}"
    name, _, value = mark.partition("=")
    (tmp_path / "eat").write_text(EAT)
    (tmp_path / "in").mkdir()
    for number in range(1, tasks + 1):
        (tmp_path / "in" / f"{number}.in").write_text(f"{number}\n")
    (tmp_path / "jobs.toml").write_text(
        f"""
[[job]]
name = "eat"
command = ["sh", "eat", "{{}}"]
over.files = "in/*.in"
retries = {KILLS + 1}
environment = {{{name} = "{value}"}}

[[job]]
name = "last"
command = "echo last >>ran"
after = ["eat"]
"""
    )
    words, killed, process, nannies = ["jobs.toml", "--slots", "3"], Counter(), None, set()
    while killed.total() < KILLS:
        if process is None:
            process = subprocess.Popen([*COMMAND, "run", *words], cwd=tmp_path, **QUIET)
            end = time.monotonic() + PATIENCE
            began = (tmp_path / "ran").stat().st_size if killed else 0
            while time.monotonic() < end and process.poll() is None:  # slowly, then any moment
                if (tmp_path / "ran").exists() and (tmp_path / "ran").stat().st_size > began:
                    break
                time.sleep(0.002)
        time.sleep(rng.uniform(0.0, 0.25))
        whom = shot(rng, process, mark, nannies)
        killed[whom] += bool(whom)
        if whom == "run":
            assert nothing_left(mark)
            process, words = None, ["--resume"]
            (tmp_path / "jobs.toml").unlink(missing_ok=True)  # and nobody needs it
        if process is not None and process.poll() is not None:
            break
    if process is not None:
        process.kill()
        process.wait()
    assert killed.total() == KILLS, killed
    done = run(tmp_path, "--resume", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert nothing_left(mark)
    assert [(job["tasks"], job["done"]) for job in json.loads(done.stdout)["jobs"]] == [
        (tasks, tasks), (1, 1),
    ]  # fmt: skip
    assert list((tmp_path / "in").iterdir()) == []
    ran = Counter((tmp_path / "ran").read_text().split())
    assert set(ran) == {*map(str, range(1, tasks + 1)), "last"}
    found = attempts(tmp_path)
    good = Counter((a.job, a.task) for a in found if a.status == 0)
    assert len(good) == tasks + 1
    assert set(good.values()) == {1}
    # Counted once, though some ran again: no more than ran or were not yet heard of at a kill.
    assert tasks + 1 <= sum(ran.values()) <= tasks + 1 + KILLS * 3 * 4
    began = [a.began for a in found]
    assert min(began) >= 0.0
    print(f"{KILLS} kills: {dict(killed)}; {tasks} tasks, {sum(ran.values())} times begun")


def printed(number, attempt):
    """What each attempt at a task of the test below prints: no two print the same."""
    return {
        "out": f"{number} {attempt}\n" * (1 + number % 40),
        "err": f"{number}!\n" * (number % 2),
    }


PRINT = (
    'n=$MALLEABLE_NUMBER; yes "$n $MALLEABLE_ATTEMPT" | head -n $((1 + n % 40)); '
    "[ $((n % 2)) = 0 ] || echo $n! >&2\n"
)


@pytest.mark.parametrize("seed", [int(os.environ.get("MALLEABLE_KILLS_SEED", "1"))])
def test_killed_at_random_moments_no_output_is_lost_or_mixed_up(tmp_path, seed):
    """Whatever was packed when the run was killed, or was about to be."""
    rng, tasks, words = random.Random(seed), 300 + 60 * KILLS, ["commands.txt", "--slots", "3"]
    (tmp_path / "commands.txt").write_text(PRINT * tasks)
    folder = tmp_path / ".malleable/journal.sqlite.output/1/0-commands"
    for _ in range(KILLS):
        before = folder.stat().st_mtime_ns if folder.exists() else 0
        process = subprocess.Popen([*COMMAND, "run", *words], cwd=tmp_path, **QUIET)
        until(lambda: process.poll() is not None or started_since(folder, before))  # noqa: B023
        time.sleep(rng.uniform(0.0, 1.2))  # packs are written once a second
        process.kill()
        process.wait()
        words = ["--resume"]
    assert run(tmp_path, "--resume").returncode == 0
    good = {each.task: each.attempt for each in attempts(tmp_path) if each.status == 0}
    assert sorted(good) == list(range(tasks))
    for number, attempt in good.items():
        for suffix, text in printed(number, attempt).items():
            assert text_of(folder, number, attempt, suffix) == text
    for number, attempt in unfinished(folder, good):
        for suffix, text in printed(number, attempt).items():
            assert text.startswith(text_of(folder, number, attempt, suffix))


def started_since(folder, before):
    return folder.exists() and folder.stat().st_mtime_ns > before


def text_of(folder, number, attempt, suffix):
    stream = open_stream(stream_of(str(folder), number, attempt, suffix))
    if stream is None:
        return ""
    with stream as file:
        return file.read().decode()


def unfinished(folder, good):
    """Attempts that left something and did not end well."""
    there = {key[:2] for key in packed_keys(str(folder))}
    there |= {tuple(map(int, path.name.split(".")[:2])) for path in folder.glob("*.*.*")}
    return {(number, attempt) for number, attempt in there if good[number] != attempt}


TWICE = """
echo $MALLEABLE_ATTEMPT >>attempts
if [ $MALLEABLE_ATTEMPT != 0 ]; then echo new; exit; fi
echo old
echo $$ >pid
until [ -e go ]; do sleep 0.01; done
echo old again
echo >done
"""


@pytest.mark.parametrize("how", ["killed", "interrupted"])
def test_the_number_of_an_attempt_is_used_once(tmp_path, how):
    """Also where what ran goes on, as its run and the helper were killed at once."""
    (tmp_path / "task.sh").write_text(TWICE)
    command = [*COMMAND, "run", "--job", "a", "sh task.sh", "-q"]
    process = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE)
    process.stdin.write(b"x\n")
    process.stdin.close()
    until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n"))
    if how == "killed":
        both = [process.pid, *children(process.pid)]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in both:
                os.kill(pid, number)
    else:
        process.send_signal(signal.SIGINT)
    process.wait()
    done = run(tmp_path, "--resume", "--json", "-")
    assert done.returncode == 0, done.stderr
    (job,) = json.loads(done.stdout)["jobs"]
    assert (job["done"], job["failed"]) == (1, 0)
    if how == "killed":
        (tmp_path / "go").touch()
        until((tmp_path / "done").exists)
    assert (tmp_path / "attempts").read_text().split() == ["0", "1"]
    old, new = (output_of(journal_of(tmp_path), 1, "a", 0, k).read_text() for k in (0, 1))
    assert old == "old\n" + "old again\n" * (how == "killed")
    assert new == "new\n"
    logs = [*COMMAND, "logs", "a", "0"]
    assert subprocess.run(logs, cwd=tmp_path, capture_output=True, check=True).stdout == b"new\n"


def test_logs_show_the_attempt_that_counts_though_it_printed_nothing(tmp_path):
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\nname = "a"\nretries = 1\ncommand = "test $MALLEABLE_ATTEMPT = 1 || (echo bad; false)"\n'
    )
    assert run(tmp_path, "jobs.toml").returncode == 0
    logs = [*COMMAND, "logs", "a", "0", "-q"]
    assert subprocess.run(logs, cwd=tmp_path, capture_output=True, check=True).stdout == b""


# A machine without room, and folders that go.


@contextlib.contextmanager
def waiting(folder, *words, slots=2):
    """A run of four tasks, of which each waits for a file."""
    command = [*COMMAND, "run", "--job", "a", "sh task.sh {}", "--slots", str(slots), *words]
    text = 'touch "$1.up"; until [ -e "$1" ]; do sleep 0.01; done'
    (folder / "task.sh").write_text(text)
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=folder, **piped)
    process.stdin.write(b"".join(f"{folder.parent}/{k}\n".encode() for k in range(4)))
    process.stdin.close()
    process.stdin = None
    try:
        until((folder.parent / f"{slots - 1}.up").exists)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_machine_without_room_is_noted_once_and_no_task_fails(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    with waiting(folder) as process:
        (own,) = children(process.pid)
        most = resource.prlimit(own, resource.RLIMIT_NOFILE)
        resource.prlimit(own, resource.RLIMIT_NOFILE, (3, most[1]))
        (tmp_path / "0").touch()
        said = process.stderr.readline().decode()
        assert said.startswith(
            "malleable: no room to start a task (Too many open files): fewer tasks run"
        )
        resource.prlimit(own, resource.RLIMIT_NOFILE, most)
        for k in range(1, 4):
            (tmp_path / str(k)).touch()
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, b"")
    assert [(a.status, a.attempt) for a in attempts(folder)] == [(0, 0)] * 4


@pytest.mark.parametrize("removed", ["journal", "output", "tasks"])
def test_a_folder_that_goes_ends_the_run(tmp_path, removed):
    folder, ours = tmp_path / "in", tmp_path / "ours"
    folder.mkdir()
    gone = {"journal": ours, "output": ours / "j.output" / "1" / "0-a", "tasks": folder}[removed]
    with waiting(folder, "--journal", str(ours / "j")) as process:
        shutil.rmtree(gone)
        (tmp_path / "0").touch()
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    (said,) = err.decode().splitlines()
    assert said.startswith(f"malleable: error: {gone}: this folder is gone")
    if removed == "journal":
        return
    with Journal(ours / "j", write=False) as journal:
        assert {a.status for a in journal.attempts(1)} <= {0}
    folder.mkdir(exist_ok=True)
    (folder / "task.sh").write_text("")
    assert run(tmp_path, "--resume", "--journal", str(ours / "j")).returncode == 0


# Commands that misbehave.


def sh(key, text, **more):
    return Task(key, ["/bin/sh", "-c", text, "sh"], **more)


def test_what_tasks_do_to_themselves_is_theirs_alone(tmp_path):
    mark = f"MALLEABLE_BAD={os.getpid()}"
    more = {"environment": dict([mark.split("=")]), "folder": str(tmp_path)}
    limited = "ulimit -f 8; exec cat /dev/zero"  # as a disk that is full for it: SIGXFSZ
    with engine() as made:
        made.start(
            [
                sh("fails", "exit 9", **more),
                sh("hangs", "trap '' TERM; sleep 60 & wait; sleep 60", seconds=0.2, **more),
                sh("fills", limited, output=str(tmp_path / "fills"), **more),
                sh("full", "echo x >/dev/full", errors=str(tmp_path / "full"), **more),
                sh("leaves", "(sleep 60 &) ; setsid sleep 60 & sleep 0.1", **more),
                sh("dies", "kill -SEGV $$", **more),
                sh("good", "echo good", output=str(tmp_path / "good"), **more),
            ]
        )
        found = ends(made, 7)
        assert nothing_left(mark)
    statuses = {key: event.status for key, event in found.items()}
    assert statuses["full"] != 0
    assert {
        key: statuses[key] for key in ("fails", "hangs", "fills", "leaves", "dies", "good")
    } == {
        "fails": 9,
        "hangs": -signal.SIGKILL,
        "fills": -signal.SIGXFSZ,
        "leaves": 0,
        "dies": -signal.SIGSEGV,
        "good": 0,
    }
    assert found["hangs"].late
    assert (tmp_path / "good").read_text() == "good\n"


def test_a_gigabyte_of_output_goes_past_us(tmp_path):
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\nname = "big"\ncommand = "head -c 1000000000 /dev/zero"\n'
    )
    done = run(tmp_path, "jobs.toml", "--slots", "1", "--json", "-")
    path = output_of(journal_of(tmp_path), 1, "big", 0)
    size = path.stat().st_size
    path.unlink()
    assert (done.returncode, size) == (0, 10**9)
    assert attempts(tmp_path)[0].memory < 10**8  # of the command; nobody held its output


def test_more_tasks_than_slots_wait_at_the_engine(tmp_path):
    text = 'echo + >>"$0"; until [ -e "$0.go" ]; do sleep 0.01; done; sleep 0.05; echo - >>"$0"'
    with engine(2) as made:
        made.start(
            [Task(str(k), ["/bin/sh", "-c", text, str(tmp_path / "log")]) for k in range(12)]
        )
        made.cancel(["10", "11"])
        (tmp_path / "log.go").touch()
        found = ends(made, 12)
    assert [found[str(k)].status for k in (0, 9, 10, 11)] == [0, 0, -15, -15]
    at_once = most = 0
    for sign in (tmp_path / "log").read_text().split():
        at_once += 1 if sign == "+" else -1
        most = max(most, at_once)
    assert (at_once, most) == (0, 2)


def test_daemons_of_a_supervisor_that_was_killed_end_too(tmp_path):
    mark = f"MALLEABLE_NANNY={os.getpid()}"
    with engine() as made:
        text = "setsid sh -c 'echo >up; exec sleep 60' & sleep 60"
        made.start([sh("a", text, environment=dict([mark.split("=")]), folder=str(tmp_path))])
        until((tmp_path / "up").exists)
        os.kill(made._process.pid, signal.SIGKILL)
        assert ends(made, 1)["a"].kind == "lost"
        assert nothing_left(mark)


# Disks that are full.


def test_a_journal_without_room_keeps_what_it_has(tmp_path):
    with Journal(tmp_path / "j") as journal:
        number = journal.begin(1, "sum:response", "flex")
        journal.commit()
        pages = journal._base.execute("pragma page_count").fetchone()[0]
        journal._base.execute(f"pragma max_page_count = {pages + 3}")
        kept = 0
        with pytest.raises(
            JournalError, match="full; what was recorded is kept, --resume continues the run"
        ):
            for kept in range(100_000):
                journal.record(number, float(kept), [Attempt(0, kept, 0, 0, 0.0, 1.0)])
                journal.commit()
    assert kept > 10
    with Journal(tmp_path / "j") as journal:
        assert journal.enter(number) == kept - 1.0
        assert [a.task for a in journal.attempts(number)] == list(range(kept))
        journal.record(number, 1e6, [Attempt(0, kept, 0, 0, 0.0, 1.0)])


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()

    def sized(size):
        flag = "remount," if folder.is_mount() else ""
        command = ["mount", "-t", "tmpfs", "-o", f"{flag}size={size}", "none", str(folder)]
        if subprocess.run(command, **QUIET, check=False).returncode:
            pytest.skip("may not mount a file system")
        return folder

    yield sized
    if folder.is_mount():
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("prints", [True, False])
def test_a_run_on_a_full_disk_goes_on_when_there_is_room(tmp_path, small_disk, prints):
    disk = small_disk("200k")
    (tmp_path / "jobs.toml").write_text(
        f"""
[[job]]
name = "a"
command = "echo {{}} >>ran{"; echo x" if prints else ""} #"
over.range = 900
"""
    )
    journal = ["--journal", str(disk / "journal.sqlite")]
    done = run(tmp_path, "jobs.toml", "--slots", "2", *journal)
    assert done.returncode == 1, done.stderr
    # A task that prints may find the disk full before the journal does, and fails.
    *failed, said = done.stderr.splitlines()
    assert prints or not failed
    assert re.search("full|No space left on device", said)
    assert "kept, --resume continues the run" in said
    small_disk("100m")
    again = "--rerun-failed" if failed else "--resume"
    done = run(tmp_path, again, "--json", "-", *journal)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["jobs"][0]["done"] == 900
    ran = Counter((tmp_path / "ran").read_text().split())
    assert len(ran) == 900
    assert sum(ran.values()) < 900 + 200
    with Journal(disk / "journal.sqlite", write=False) as kept:
        good = Counter(a.task for a in kept.attempts(1) if a.status == 0)
    assert len(good) == sum(good.values()) == 900


# Clocks that jump, names, numbers of jobs, files.


def test_a_wall_clock_that_jumps_changes_nothing(tmp_path, monkeypatch):
    jumps = iter(["2030-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2026-01-01T00:00:00Z"] * 9)
    monkeypatch.setattr(journal_module, "_wall", lambda: next(jumps))
    with Journal(tmp_path / "j") as journal:
        for lasted in (5.0, 7.0):
            number = journal.begin(1, "sum:response", "flex")
            journal.record(number, lasted)
        assert journal.run().id == 2
        assert [journal.enter(number) for number in (2, 1, 2)] == [7.0, 5.0, 7.0]


def test_time_of_a_run_is_monotonic_whatever_the_wall_says(tmp_path):
    """The wall clock of the whole run goes back a year at each look."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, time\n_at = [4e9 - 1e9 * int(os.environ['JUMP'])]\n"
        "def jumps(*_):\n    _at[0] -= 3e7\n    return _at[0]\n"
        "_gm = time.gmtime\ntime.time = jumps\ntime.gmtime = lambda *s: _gm(*s) if s else _gm(jumps())\n"
    )
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\ncommand = "sleep 0.1"\n[[job]]\ncommand = "true"\nafter = ["job1"]\n'
    )
    for jump in "12":
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "JUMP": jump}
        assert run(tmp_path, "jobs.toml", "--slots", "1", env=environment).returncode == 0
    with Journal(journal_of(tmp_path), write=False) as journal:
        assert journal.run().id == 2
        for number in (1, 2):
            first, second = journal.attempts(number)
            assert 0.0 <= first.began <= first.began + first.seconds <= second.began < 1e6
            times = [decided.at for decided in journal.decisions(number)]
            assert times == sorted(times)
    with sqlite3.connect(journal_of(tmp_path)) as base:
        began = [row[0] for row in base.execute("select began from run order by id")]
    base.close()
    assert began[1] < began[0]  # the clock did jump


def test_names_and_values_reach_no_shell_no_terminal_and_no_other_folder(tmp_path):
    nasty = [
        "a b",
        "'",
        '"',
        "a\nb",
        ";touch ran",
        "$(touch ran)",
        "`touch ran`",
        "\x1b[31mred",
        "../up",
        "-n",
    ]
    files = tmp_path / "files"
    files.mkdir()
    for k, name in enumerate(nasty):
        (files / f"{k}{name.replace('/', ' ')}").touch()
    quoted = json.dumps(nasty)
    rows = "".join(
        f'[[job]]\nname = {json.dumps(name)}\nuser = {json.dumps(name)}\ncommand = "printf %s {{}} | cat"\n'
        f"over = {quoted}\nenvironment = {{X = {json.dumps(name)}}}\n"
        for name in nasty
    )
    rows += '[[job]]\nname = "files"\ncommand = "ls -- {}; true"\nover.files = "files/*"\n'
    (tmp_path / "jobs.toml").write_text(rows)
    before = set(tmp_path.iterdir())
    said = [run(tmp_path, "jobs.toml", "--dry-run"), run(tmp_path, "jobs.toml", "--slots", "4")]
    said.append(
        subprocess.run(
            [*COMMAND, "status"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
    )
    assert [each.returncode for each in said] == [0, 0, 0], said[1].stderr
    assert not any("\x1b" in each.stdout + each.stderr for each in said)
    assert set(tmp_path.iterdir()) == before | {tmp_path / ".malleable"}
    journal = journal_of(tmp_path)
    for name in nasty:
        printed = [output_of(journal, 1, name, k).read_text() for k in range(len(nasty))]
        assert printed == nasty
    assert (
        len(list((tmp_path / ".malleable" / "journal.sqlite.output" / "1").iterdir()))
        == len(nasty) + 1
    )


def test_all_files_are_their_owners_alone(tmp_path):
    done = run(tmp_path, "--job", "a", "echo {}; echo {} >&2", input="1\n2\n")
    assert done.returncode == 0
    kept = list((tmp_path / ".malleable").rglob("*"))
    assert len([path for path in kept if path.name == "packed"]) == 1
    modes = {stat.S_IMODE(path.stat().st_mode) for path in kept if path.is_file()}
    assert modes == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept if path.is_dir()} == {0o700}
