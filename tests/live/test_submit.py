"""Jobs handed over to a Slurm: what a shell makes of the commands, and what sbatch is told."""

import os
import subprocess

import pytest

from malleable.live.jobs_file import Terms, parse_jobs
from malleable.live.shell_text import quoted
from malleable.live.slurm.commands import Reply, Slurm, SlurmError
from malleable.live.slurm.governor import wishes_of
from malleable.live.slurm.submit import submit

VALUES = [
    "a", "a b", "", "'", '"', "$(touch ran)", "`touch ran`", "; touch ran", "a\nb", "\\", "$HOME", "-n",
    "é", "*", "~", "\x01\x7f", "!!", "a=b", "%a", "\udcff",
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
def test_a_shell_reads_back_what_was_quoted(value, tmp_path):
    line = quoted(value)
    assert "\n" not in line
    done = subprocess.run(
        ["bash", "-c", 'eval "set -- $1"; printf "%s\\0%s" "$#" "$1"', "x", line],
        capture_output=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout == b"1\0" + os.fsencode(value)
    assert list(tmp_path.iterdir()) == []


class Taking:
    """An sbatch that takes what it gets, but for the n-th, and a queue with the tasks that are given."""

    def __init__(self, refuses=0, most="1001"):
        self.given, self.refuses, self.most = [], refuses, most
        self.queue = ""

    def __call__(self, words, lines=""):
        if words[0] == "squeue":
            return self.queue if isinstance(self.queue, Reply) else Reply(self.queue, "", 0.0)
        if "config" in words:
            return Reply(f"MaxArraySize            = {self.most}\n", "", 0.0)
        self.given.append((list(words), lines))
        if len(self.given) == self.refuses:
            return Reply("", "sbatch: error: QOSMaxSubmitJobPerUserLimit", 0.0)
        return Reply(f"{100 + len(self.given)};cluster\n", "", 0.0)


JOBS = [
    {"name": "reduce %a", "command": ["true"], "after": ["map"], "max_slots": 3},
    {"name": "map", "command": "test {} -gt 1 && echo $MALLEABLE_NUMBER {}", "over": {"range": 5},
     "weight": 2, "deadline": 60, "min_slots": 2, "seconds": 2.5, "memory": 3e6, "retries": 1,
     "environment": {"A": "b 'c'"}},
]  # fmt: skip


def handed_over(ask, rows, path, *options):
    return submit(Slurm(ask=ask), parse_jobs(rows, path.parent), rows, path, *options)


def begin(script, number):
    """A task, as Slurm begins it."""
    return subprocess.run(
        ["bash"], input=script, capture_output=True, text=True, check=False,
        env={**os.environ, "SLURM_ARRAY_TASK_ID": str(number)},
    )  # fmt: skip


def test_what_sbatch_is_told(tmp_path):
    ask = Taking()
    made = handed_over(ask, JOBS, tmp_path / "kept %a", ["-p", "x"], 2)
    assert [(each.name, each.tasks, each.arrays) for each in made] == [
        ("map", 5, [101]), ("reduce %a", 1, [102]),
    ]  # fmt: skip
    first, then = (words for words, _ in ask.given)
    assert {"--array=0-4", "--mem=3M", "--cpus-per-task=2", "-p", "x"} <= set(first)
    wishes = wishes_of(next(w for w in first if w.startswith("--comment=")).partition("=")[2])
    terms = Terms(weight=2.0, deadline=wishes.deadline, min_slots=2, seconds=2.5)
    assert wishes == terms
    assert {"--array=0-0%1", "--dependency=afterok:101"} <= set(then)
    assert any(word.endswith("/kept %%a.output/1/0-reduce_a/slurm.log") for word in then)


def test_the_script_runs_its_line(tmp_path):
    ask = Taking()
    handed_over(ask, JOBS, tmp_path / "kept")
    script = ask.given[0][1]
    streams = tmp_path / "kept.output" / "1" / "1-map"
    assert begin(script, 0).returncode == 1
    assert begin(script, 3).returncode == 0
    assert (streams / "3.0.out").read_text() == "3 4\n"
    assert begin(script, 5).returncode == 127


def test_many_tasks_are_several_arrays(tmp_path):
    ask = Taking(most="10")
    rows = [{"name": "a", "command": "echo {}", "over": {"range": 25}}]
    (made,) = handed_over(ask, rows, tmp_path / "kept")
    assert made.arrays == [101, 102, 103]
    spans = [next(w for w in words if w.startswith("--array=")) for words, _ in ask.given]
    assert spans == ["--array=0-9", "--array=0-9", "--array=0-4"]
    assert begin(ask.given[2][1], 4).returncode == 0
    assert (tmp_path / "kept.output" / "1" / "0-a" / "24.0.out").read_text() == "25\n"


def test_names_of_variables_of_the_task_are_its_own(tmp_path):
    names = ("line", "attempt", "status", "own", "limit", "number")
    rows = [{"name": "a", "command": "env", "environment": dict.fromkeys(names, "kept")}]
    ask = Taking()
    handed_over(ask, rows, tmp_path / "kept")
    assert begin(ask.given[0][1], 0).returncode == 0
    told = (tmp_path / "kept.output" / "1" / "0-a" / "0.0.out").read_text().splitlines()
    assert {f"{name}=kept" for name in names} <= set(told)


def test_what_was_handed_over_before_is_named(tmp_path):
    with pytest.raises(SlurmError, match=r"'reduce %a'.*QOSMax.*before: 101"):
        handed_over(Taking(refuses=2), JOBS, tmp_path / "kept")
    rows = [{"name": "a", "command": "x", "environment": {"a-b": "c"}}]
    with pytest.raises(ValueError, match="a-b"):
        handed_over(Taking(), rows, tmp_path / "other")
    rows = [{"name": "a", "command": "x", "backups": True}]
    with pytest.raises(ValueError, match="job 'a': backups = true: Slurm starts no backup tasks"):
        handed_over(Taking(), rows, tmp_path / "other")
    assert not (tmp_path / "other").exists()
