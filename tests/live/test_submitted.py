"""What became of jobs that were handed over to a Slurm: from what tasks write, and from the queue."""

from malleable.live.failures import failures
from malleable.live.journal import Journal
from malleable.live.slurm.commands import Reply, Slurm
from malleable.live.slurm.submitted import Submission
from malleable.live.status import run_status
from tests.live.test_submit import Taking, begin, handed_over


def known(ask, path):
    """Status, and what failed, as somebody reads it now."""
    with Journal(path, write=False) as journal:
        submission = Submission(journal, 1, Slurm(ask=ask))
        submission.look()
        status = run_status(journal)
        failed = [
            (each.job, each.task, each.way, each.tries) for each in failures(journal, journal.run())
        ]
        return status, failed, submission.trouble


def test_status_and_failures_of_what_was_handed_over(tmp_path):
    path = tmp_path / "kept"
    rows = [
        {
            "name": "map",
            "command": "echo {} >&2; test {} -gt 1",
            "over": {"range": 6},
            "retries": 1,
        },
        {"name": "late", "command": ["sleep", "60"], "timeout": 0.05},
        {"name": "reduce", "command": ["true"], "after": ["map"]},
    ]
    ask = Taking()
    handed_over(ask, rows, path)
    script, late, _ = (script for _, script in ask.given)
    ask.queue = "101 [0-5%2]\n102 0\n103 [0]\n77 N/A\n"
    status, failed, _ = known(ask, path)
    assert (status.status, failed) == ("running", [])
    assert [(job.done, job.failed, job.left) for job in status.jobs] == [
        (0, 0, 6),
        (0, 0, 1),
        (0, 0, 1),
    ]
    assert [begin(script, number).returncode for number in range(3)] == [1, 0, 0]
    assert begin(late, 0).returncode == 124
    streams = tmp_path / "kept.output" / "1" / "0-map"
    assert sorted(each.name for each in streams.glob("0.*")) == ["0.0.err", "0.1.err", "0.ends"]
    # One has begun and is in the queue, one was ended by Slurm, one never began.
    for number in (3, 4):
        (streams / f"{number}.ends").write_text("0 1700000000.5\n")
    ask.queue = "101 3\n103 [0]\n"
    status, failed, _ = known(ask, path)
    assert status.status == "running"
    assert [(job.done, job.running, job.left) for job in status.jobs] == [
        (2, 1, 1),
        (0, 0, 0),
        (0, 0, 0),  # what it waits for failed
    ]
    assert ("map", 0, "failed", 2) in failed
    assert ("map", 5, "cancelled", 1) in failed
    assert ("late", 0, "timed out", 1) in failed
    ask.queue = Reply("", "squeue: no answer", 0.0)
    status, _, trouble = known(ask, path)
    assert trouble == "squeue: no answer"
    assert (status.jobs[0].done, status.jobs[0].failed) == (2, 1)


def test_a_task_that_slurm_begins_again_is_another_attempt(tmp_path):
    path = tmp_path / "kept"
    ask = Taking()
    handed_over(ask, [{"name": "a", "command": 'echo "$MALLEABLE_ATTEMPT"'}], path)
    ends = tmp_path / "kept.output" / "1" / "0-a" / "0.ends"
    ends.write_text("0 1700000000.5\n")  # its node went down
    assert begin(ask.given[0][1], 0).returncode == 0
    assert (ends.parent / "0.1.out").read_text() == "1\n"
    status, failed, _ = known(ask, path)
    assert (status.status, status.jobs[0].done, failed) == ("done", 1, [])
