"""Jobs handed over to a Slurm: what a shell makes of the commands, and what sbatch is told."""

import os
import subprocess

import pytest

from malleable.live.jobs_file import parse_jobs
from malleable.live.shell_text import quoted
from malleable.live.slurm.commands import Reply, Slurm, SlurmError
from malleable.live.slurm.governor import Wishes, wishes_of
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
    """An sbatch that takes what it gets, but for the n-th."""

    def __init__(self, refuses=0, most="1001"):
        self.given, self.refuses, self.most = [], refuses, most

    def __call__(self, words, lines=""):
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


def test_what_sbatch_is_told(tmp_path):
    ask = Taking()
    made = submit(Slurm(ask=ask), parse_jobs(JOBS, tmp_path), tmp_path / "kept %a", ["-p", "x"], 2)
    assert [(each.name, each.tasks, each.arrays) for each in made] == [
        ("map", 5, [101]), ("reduce %a", 1, [102]),
    ]  # fmt: skip
    first, then = (words for words, _ in ask.given)
    assert {"--array=0-4", "--mem=3M", "--cpus-per-task=2", "-p", "x"} <= set(first)
    wishes = wishes_of(next(w for w in first if w.startswith("--comment=")).partition("=")[2])
    assert wishes == Wishes(2.0, wishes.deadline, 2, 0, 2.5)
    assert {"--array=0-0%1", "--dependency=afterok:101"} <= set(then)
    assert any(word.endswith("/kept %%a/0-reduce_a/%a.out") for word in then)


def test_the_script_runs_its_line(tmp_path):
    ask = Taking()
    submit(Slurm(ask=ask), parse_jobs(JOBS, tmp_path), tmp_path / "kept")
    script = ask.given[0][1]

    def run(number):
        return subprocess.run(
            ["bash"], input=script, capture_output=True, text=True, check=False, cwd=tmp_path,
            env={**os.environ, "SLURM_ARRAY_TASK_ID": str(number)},
        )  # fmt: skip

    assert run(0).returncode == 1
    assert run(3).stdout == "3 4\n"
    assert run(5).returncode == 127


def test_many_tasks_are_several_arrays(tmp_path):
    ask = Taking(most="10")
    rows = [{"name": "a", "command": "echo {}", "over": {"range": 25}}]
    (made,) = submit(Slurm(ask=ask), parse_jobs(rows, tmp_path), tmp_path / "kept")
    assert made.arrays == [101, 102, 103]
    spans = [next(w for w in words if w.startswith("--array=")) for words, _ in ask.given]
    assert spans == ["--array=0-9", "--array=0-9", "--array=0-4"]
    done = subprocess.run(
        ["bash"], input=ask.given[2][1], capture_output=True, text=True, check=True,
        env={**os.environ, "SLURM_ARRAY_TASK_ID": "4"},
    )  # fmt: skip
    assert done.stdout == "25\n"


def test_what_was_handed_over_before_is_named(tmp_path):
    with pytest.raises(SlurmError, match=r"'reduce %a'.*QOSMax.*before: 101"):
        submit(Slurm(ask=Taking(refuses=2)), parse_jobs(JOBS, tmp_path), tmp_path / "kept")
    rows = [{"name": "a", "command": "x", "environment": {"a-b": "c"}}]
    with pytest.raises(ValueError, match="a-b"):
        submit(Slurm(ask=Taking()), parse_jobs(rows, tmp_path), tmp_path / "other")
    rows = [{"name": "a", "command": "x", "backups": True}]
    with pytest.raises(ValueError, match="job 'a': backups = true: a Slurm starts no backup tasks"):
        submit(Slurm(ask=Taking()), parse_jobs(rows, tmp_path), tmp_path / "other")
    assert not (tmp_path / "other").exists()
