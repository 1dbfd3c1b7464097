"""``malleable run`` from end to end: statuses, resuming, Ctrl-C, and that nothing stays behind."""

import json
import math
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import malleable as mb
from malleable.live.journal import Journal
from tests.live.outputs import output_of
from tests.live.waiting import PATIENCE, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
COMMAND = [sys.executable, "-m", "malleable"]


def run(folder, *words, lines=None):
    return subprocess.run(
        [*COMMAND, *words], cwd=folder, input=lines, capture_output=True, text=True, check=False
    )


def journal_of(folder):
    return Journal(folder / ".malleable" / "journal.sqlite", write=False)


def output(folder, job, number, number_of_run=1):
    path = output_of(folder / ".malleable" / "journal.sqlite", number_of_run, job, number)
    return path.read_text() if path.exists() else None


def test_one_job_over_lines(tmp_path):
    name = "a 'b'\n; touch ran $(touch ran)"
    values = ["a b", "'", '"', "$(touch ran)", "`touch ran`", "; touch ran", "\x1b[31m", "..", ""]
    lines = "".join(value + "\n" for value in values)
    done = run(
        tmp_path, "run", "--job", name, "printf '%s\\n' {} | cat", "--slots", "3", lines=lines
    )
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert [output(tmp_path, name, k) for k in range(len(values))] == [v + "\n" for v in values]
    assert [path.name for path in tmp_path.iterdir()] == [".malleable"]
    shown = run(tmp_path, "status", "--json", "-")
    (job,) = json.loads(shown.stdout)["jobs"]
    assert (job["name"], job["done"], job["failed"], job["left"]) == (name, len(values), 0, 0)
    assert "\x1b" not in run(tmp_path, "status").stdout


def shown_by(done):
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_whole_commands_one_a_line(tmp_path):
    lines = (
        b"# no {command}\n\n  \necho {} {x} $((1 + 2)) 'a  b' # {}\nfor i in 1 2; do echo $i; done\r\n"
        b"cd /; pwd\nprintf caf\xe9\nexec sh -c 'echo $0 $MALLEABLE_JOB' deep"
    )
    (tmp_path / "some list.txt").write_bytes(lines)
    expected = b"{} {x} 3 a  b\n1\n2\n/\ncaf\xe9deep some list\n"
    for words, source in ((["some list.txt"], b""), (["--job", "some list"], lines)):
        command = [*COMMAND, "run", *words, "--keep-order"]
        done = subprocess.run(command, cwd=tmp_path, input=source, capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (0, expected), done.stderr
    with journal_of(tmp_path) as journal:
        assert [job.tasks for run in (1, 2) for job in journal.jobs(run)] == [5, 5]
    failed = run(tmp_path, "run", lines="true\nexit 3 # {}\necho a >&2; false\n")
    assert failed.returncode == 3 and "commands 1" in failed.stdout
    parts = run(tmp_path, "run", "-0", "--keep-order", lines="echo a\necho b\0# no\0echo c")
    assert shown_by(parts) == "a\nb\nc\n"


@pytest.mark.parametrize(
    ("words", "lines", "expected"),
    [
        (["echo {} .", "--each", "-1", "a b", "{}", "c*"], None, "-1 .\na b .\n{} .\nc* .\n"),
        (["printf '<%s>\\n' {}", "-0"], "a\nb\0-c\0", "<a\nb>\n<-c>\n"),
        (["echo {} .", "-n", "2"], "1\n2\n3\n", "1 2 .\n3 .\n"),
        (["echo", "--job", "e", "-n", "2"], "1\n2 2\n3\n", "1 2 2\n3\n"),
        (
            ["printf '<%s>' {} | cat; echo {}", "-n", "2"],
            "a b\nc\n$d\n",
            "<a b><c>a b c\n<$d>$d\n",
        ),
        (
            ["echo {2}{a} {{a}}", "--columns"],
            'a,b\n"x, ""y""",1\n"z\nz",2\n',
            '1x, "y" {a}\n2z\nz {a}\n',
        ),
        (["echo {2} {1.}", "--columns"], "a.b\tc d\n", "c d a\n"),
        (
            ["echo $seed {sample}; echo $1 '{{3}}'", "--columns"],
            "sample,seed\na,1\n",
            "1 a\na {3}\n",
        ),
    ],
)
def test_values_of_a_command(tmp_path, words, lines, expected):
    assert shown_by(run(tmp_path, "run", *words, "--keep-order", lines=lines)) == expected
    again = run(tmp_path, "run", "--resume", "--json", "-")
    assert again.returncode == 0 and json.loads(again.stdout)["jobs"][0]["failed"] == 0


def test_an_edited_file_goes_on(tmp_path):
    lines = [f"echo {k} >> ran" for k in (1, 1, 2, 3)]
    commands = tmp_path / "commands.txt"
    commands.write_text("\n".join([*lines, "echo bad >> ran; false"]))
    assert run(tmp_path, "run", "commands.txt", "-j", "1").returncode == 3
    commands.write_text(
        "\n".join(["echo new >> ran", lines[3], *lines[:2], "echo bad >> ran", lines[0]])
    )
    done = run(tmp_path, "run", "--resume", "commands.txt", "-j", "1", "--json", "-")
    assert done.returncode == 0 and "3 of 6 tasks were done in run 1" in done.stderr
    assert json.loads(done.stdout)["jobs"][0]["done"] == 6
    ran = Counter((tmp_path / "ran").read_text().split())
    assert ran == {"1": 3, "2": 1, "3": 1, "bad": 2, "new": 1}
    again = run(tmp_path, "run", "--resume", "commands.txt")  # all is done
    assert again.returncode == 0 and "6 of 6 tasks" in again.stderr
    assert len((tmp_path / "ran").read_text().split()) == 8
    stopped = run(tmp_path, "run", "--halt", "now,done=1", "-j", "1", "commands.txt")
    assert stopped.returncode == 0 and "halted" in stopped.stderr
    anew = run(tmp_path, "run", "commands.txt", "-j", "1")
    assert "run 4 of the same jobs was not finished" in anew.stderr


JOBS = """
[[job]]
name = "first"
command = "test {} != 3 -o -e mended"
over.range = 5
max_slots = 2
retries = 1

[[job]]
name = "then"
command = "true"
after = ["first"]

[[job]]
name = "other"
command = ["true"]
over.range = 3
weight = 2
"""


def test_failed_tasks_and_running_them_again(tmp_path):
    (tmp_path / "jobs.toml").write_text(JOBS)
    done = run(tmp_path, "run", "jobs.toml", "--slots", "2", "--json", "-")
    assert done.returncode == 3, done.stderr
    counts = {job["name"]: (job["done"], job["failed"]) for job in json.loads(done.stdout)["jobs"]}
    assert counts == {"first": (4, 1), "then": (0, 1), "other": (3, 0)}
    status = json.loads(run(tmp_path, "status", "--json", "-").stdout)
    assert {j["name"]: (j["done"], j["failed"]) for j in status["jobs"]} == counts
    with journal_of(tmp_path) as journal:
        assert Counter(a.task for a in journal.attempts(1) if a.job == 0)[2] == 2
    again = run(tmp_path, "run", "--resume", "--json", "-")  # it has ended: the same is told again
    assert again.returncode == 3
    assert {j["name"]: (j["done"], j["failed"]) for j in json.loads(again.stdout)["jobs"]} == counts
    (tmp_path / "mended").touch()
    done = run(tmp_path, "run", "--rerun-failed", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert [job["done"] for job in json.loads(done.stdout)["jobs"]] == [5, 1, 3]
    with journal_of(tmp_path) as journal:
        good = [(a.job, a.task) for a in journal.attempts(1) if a.status == 0]
    assert len(good) == len(set(good)) == 9


@pytest.mark.parametrize(
    ("words", "lines", "status", "message"),
    [
        (["none.toml"], None, 1, "none.toml"),
        (["--job", "a"], "", 1, "standard input: empty"),
        (["--job", "a"], "# none\n\n", 1, "no command"),
        (["--columns"], "a\n", 2, "needs a COMMAND"),
        (["echo {a}", "--columns"], "a,b\n1\n", 1, "line 2: 1 values, and the first line has 2"),
        (["echo {a}", "--columns", "-0"], "a,b\n1\n", 2, "only one of"),
        (["echo {.}", "-n", "2"], "a\n", 1, "the only place for values is {}"),
        (['echo "{}"', "-n", "2"], "a\n", 1, "the only place for values is {}"),
        (["echo {}", "-n", "0"], "a\n", 1, "-n"),
        (["echo {a}", "--columns", "-n", "2"], "a,b\n1,2\n", 2, "without names"),
        (["jobs.toml", "--job", "a"], None, 2, "write it into the file of jobs"),
        (["--job", "a", "true"], "", 1, "empty"),
        (["--resume", "--policy", "fair"], None, 2, "leave policy out"),
        (["--resume"], None, 1, "no journal there"),
        (["--job", "a", "true", "--policy", "felx"], "1", 1, "felx"),
        (["--job", "a", "true", "--objective", "sum:x"], "1", 1, "objective"),
        (["--job", "a", "true", "--slots", "0"], "1", 1, "slots"),
        (["--job", "a", "echo {x}"], "1", 1, "names no value"),
        (["--job", "a", "true", "--weight", "-1"], "1", 1, "weight"),
    ],
)
def test_what_is_refused(tmp_path, words, lines, status, message):
    done = run(tmp_path, "run", *words, lines=lines)
    assert done.returncode == status
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / ".malleable").exists()


def test_dry_run(tmp_path):
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\nname = "a"\ncommand = "touch ran"\nover.range = 10\nseconds = 3\nmax_slots = 2\n'
        '[[job]]\nname = "b"\ncommand = "touch ran"\nseconds = 5\nafter = ["a"]\n'
    )
    done = run(tmp_path, "run", "jobs.toml", "--dry-run", "--slots", "4", "--json", "-")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)["jobs"]
    assert [job["end"] for job in plan] == pytest.approx([15.0, 20.0], rel=0.25)
    assert all(job["early"] < job["end"] < job["late"] for job in plan)
    assert [path.name for path in tmp_path.iterdir()] == ["jobs.toml"]


def marked():
    """Processes that are tasks of any run, and not yet reaped."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"MALLEABLE_LIVE_TEST=1" in (process / "environ").read_bytes().split(b"\0"):
                found.add(int(process.name))
        except OSError:
            continue
    return found


def nothing_left():
    return until(lambda: not marked())


COUNTED = """
[[job]]
name = "counted"
command = "echo {} >>ran; setsid sleep 60 & sleep 0.02"
over.range = 60
environment = {MALLEABLE_LIVE_TEST = "1"}
max_slots = 3

[[job]]
name = "after"
command = "echo 100 >>ran"
after = ["counted"]
environment = {MALLEABLE_LIVE_TEST = "1"}
"""


def wait_for(path, lines, process):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        if path.exists() and path.read_text().count("\n") >= lines:
            return
        time.sleep(0.005)


def test_killed_at_any_moment_nothing_is_lost_or_counted_twice(tmp_path):
    (tmp_path / "jobs.toml").write_text(COUNTED)
    words, killed = ["run", "jobs.toml", "--slots", "4"], 0
    for target in (0, 7, 19, 20, 44):
        process = subprocess.Popen(
            [*COMMAND, *words], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(tmp_path / "ran", target, process)
        if target == 0:  # until there is a run to go on with
            wait_for(tmp_path / "ran", 1, process)
        killed += process.poll() is None
        process.kill()
        process.wait()
        assert nothing_left()
        words = ["run", "--resume"]
    assert killed == 5
    done = run(tmp_path, *words, "--json", "-")
    assert done.returncode == 0, done.stderr
    assert nothing_left()
    assert [job["done"] for job in json.loads(done.stdout)["jobs"]] == [60, 1]
    ran = Counter((tmp_path / "ran").read_text().split())
    assert set(ran) == {*map(str, range(1, 61)), "100"}
    assert ran["100"] == 1
    with journal_of(tmp_path) as journal:
        good = [(a.job, a.task) for a in journal.attempts(1) if a.status == 0]
        assert len(good) == len(set(good)) == 61
        assert journal.run().status == "done"
    assert sum(ran.values()) <= 61 + 5 * 4  # what ran when it was killed ran again


PATIENT = "import sys; from malleable.cli import main, run_command as it; it._GRACE = 1e3; sys.exit(main())"


def recorded(folder):
    with journal_of(folder) as journal:
        return len(list(journal.attempts(1)))


@pytest.mark.parametrize("times", [1, 2])
def test_interrupted(tmp_path, times):
    stubborn = "trap 'touch told; sleep 600' TERM; " if times == 2 else ""
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\ncommand = ["sh", "-c", '
        f'"{stubborn}echo x >>ran; [ $1 -lt 4 ] || sleep 600", "sh", "{{}}"]\n'
        'over.range = 9\nenvironment = {MALLEABLE_LIVE_TEST = "1"}\n'
    )
    process = subprocess.Popen(
        [sys.executable, "-c", PATIENT, "run", "jobs.toml", "--slots", "2"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for(tmp_path / "ran", 5, process)
    until(lambda: recorded(tmp_path) == 3)
    process.send_signal(signal.SIGINT)
    if times == 2:  # one that does not want to end would have all of the grace
        until((tmp_path / "told").exists)
        process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 130, said
    assert "--resume continues the run" in said
    assert nothing_left()
    with journal_of(tmp_path) as journal:
        assert [a.task for a in journal.attempts(1)] == [0, 1, 2]
        assert journal.run().status == "stopped"


def test_a_program_has_a_history(tmp_path):
    for runs in (1, 2):
        done = run(tmp_path, "run", "--job", "a", "sleep 0.1; true", lines="1\n2\n3\n")
        assert done.returncode == 0, done.stderr
        with journal_of(tmp_path) as journal:
            (program,) = journal.history()["programs"]
            scheduler = mb.Scheduler(mb.Cluster([{"slots": 1}]), history=journal.history())
        ids = scheduler.add(mb.ClusterJobs([2], 0.0, program=["a"]))
        seconds, spread = (scheduler.counts(ids)[k][0, 0] for k in ("estimate", "spread"))
        count, mean, latest = program["map"]
        assert (program["program"], program["user"], count) == ("a", "", runs)
        assert mean > -2.4 and latest > -2.4
        assert seconds == pytest.approx(math.exp(mean), rel=1.0)
        assert spread > 0.0
    plan = run(tmp_path, "run", "--dry-run", "--json", "-", "--job", "a", "true", lines="1\n2\n")
    (job,) = json.loads(plan.stdout)["jobs"]
    assert job["seconds"] == pytest.approx(seconds)
    assert job["early"] < job["end"] < job["late"]
    toml = '[[job]]\nname = "x"\nprogram = "a"\ncommand = "true"\n'
    toml += '[[job]]\nname = "y"\nprogram = "a"\ncommand = "true"\nuser = "somebody"\n'
    (tmp_path / "jobs.toml").write_text(toml)
    plan = run(tmp_path, "run", "jobs.toml", "--dry-run", "--json", "-")
    own, other = json.loads(plan.stdout)["jobs"]
    assert own["seconds"] == pytest.approx(seconds, rel=0.1)
    assert other["seconds"] is None or other["late"] - other["early"] > own["late"] - own["early"]


def test_memory_is_a_second_cap(tmp_path):
    done = run(tmp_path, "run", "--job", "a", "true", "--memory", "9", lines="1\n")
    assert done.returncode == 0, done.stderr
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\ncommand = "echo + >>log; sleep 0.05; echo - >>log; true {}"\nover.range = 6\n'
        'memory = "4K"\n'
    )
    done = run(tmp_path, "run", "jobs.toml", "--slots", "4", "--memory", "1K")
    assert done.returncode == 1
    assert "job[0].memory = 4,096: there are 1,024 bytes" in done.stderr
    assert run(tmp_path, "run", "jobs.toml", "--slots", "4", "--memory", "9K").returncode == 0
    at_once = [0]
    for sign in (tmp_path / "log").read_text().split():
        at_once.append(at_once[-1] + (1 if sign == "+" else -1))
    assert (max(at_once), at_once[-1]) == (2, 0)


def test_two_runs_on_one_journal(tmp_path):
    with Journal(tmp_path / ".malleable" / "journal.sqlite"):
        done = run(tmp_path, "run", "--job", "a", "true", lines="1\n")
    assert done.returncode == 1
    assert "another run writes to it" in done.stderr
