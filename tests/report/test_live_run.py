"""Pages of runs: what a journal says is on them."""

import json

import pytest

from malleable.live.jobs_file import parse_jobs, recorded
from malleable.live.journal import Attempt, Decided, ExpectedEnd, Journal, RunningTasks
from tests.cli.command_line import call, check_one_line
from tests.report.pages import LONG, SCRIPT, made_of, parsed, rows_of, texts

JOBS = [
    {"name": "first", "command": ["true"], "over": ["a", "b", "c", "d"], "user": "ann", "deadline": 30},
    {"name": SCRIPT, "command": ["true"], "over": ["a", "b"], "after": ["first"], "user": LONG},
    {"name": "bad", "command": ["false"], "retries": 1},
    {"name": "never", "command": ["true"], "after": ["bad"]},
]  # fmt: skip


@pytest.fixture
def journal(tmp_path):
    """Two slots: four tasks of 10 s two by two, then two of 5 s; a task that failed twice."""
    folder = tmp_path / ".malleable"
    folder.mkdir(mode=0o700)
    path = folder / "journal.sqlite"
    with Journal(path) as made:
        run = made.begin(2, "sum:response", "flex", recorded(parse_jobs(JOBS), JOBS))
        made.enter(run)
        ended = [Attempt(0, k, 0, 0, 10.0 * (k // 2), 10.0, 4.0, 2**20) for k in range(4)]
        ended += [Attempt(1, k, 0, 0, 22.0, 5.0, 1.0, 2**21) for k in range(2)]
        ended += [Attempt(2, 0, k, 1, 20.0 + k, 1.0) for k in range(2)]
        decided = [Decided(0.0, 0, 2, "its share", 10.0, 40.0), Decided(20.0, 2, 1, "its maximum")]
        made.record(run, 27.0, ended, decided, "done")
    return path


def test_what_a_run_did(journal, tmp_path):
    page, facts = made_of([journal], tmp_path)
    tree = parsed(page)
    run = facts["run"]
    jobs = {job["name"]: job for job in run["jobs"]}
    assert facts["kind"] == "run" and run["lasted"] == 27.0
    assert jobs["first"]["ended"] == 20.0 and jobs["first"]["risk"] == ""
    assert jobs[SCRIPT]["wait"] == 22.0 and jobs[SCRIPT]["memory"] == 2**21
    waited = jobs[SCRIPT]["waited_for"]
    assert waited[0] == {"what": "the end of first", "seconds": 20.0}
    assert waited[1]["seconds"] == 2.0 and "bad" in waited[1]["what"]
    assert jobs["bad"]["failed"] == 1 and jobs["bad"]["retried"] == 1
    assert [one["job"] for one in run["failures"]][:1] == ["bad"]
    shown = rows_of(tree, "run-jobs")
    assert [float(cells[5]) for _, cells in shown[:2]] == [20.0, 27.0]
    assert len(list(tree.iter("script"))) == 1 and LONG not in page
    assert "6 of 8 tasks" in texts(tree)


def test_slots_over_time_are_the_attempts(journal, tmp_path):
    _, facts = made_of([journal], tmp_path)
    told = facts["run"]["over_time"]
    width = told["time"][1] - told["time"][0]
    areas = {layer["name"]: sum(layer["values"]) * width for layer in told["slots"]}
    assert areas == pytest.approx({"first": 40.0, SCRIPT: 10.0, "bad": 2.0})
    assert max(told["slots"][0]["values"]) == pytest.approx(2.0)


def _record(tmp_path, jobs, attempts, status="done", slots=2, running=(), stated=()):
    folder = tmp_path / ".malleable"
    folder.mkdir(mode=0o700)
    path = folder / "journal.sqlite"
    with Journal(path) as made:
        run = made.begin(slots, "sum:response", "auto", recorded(parse_jobs(jobs), jobs))
        made.enter(run)
        for at, *ends in stated:
            made.note_running(run, at, [], [ExpectedEnd(k, end) for k, end in enumerate(ends)])
        made.record(run, 40.0, attempts, [], status)
        if running:
            made.note_running(run, 40.0, running, [], "")
        made.commit()
        yield path


ALIKE = [{"name": name, "command": ["true"], "over": ["a", "b"]} for name in "xy"]
TWICE = [Attempt(job, k, 0, 0, 10.0 * job, 10.0) for job in (0, 1) for k in (0, 1)]


def test_slots_of_a_run_that_goes_on_are_at_most_those_that_there_are(tmp_path):
    for path in _record(tmp_path, ALIKE, TWICE[:3], "running", running=[RunningTasks(1, 9, 10.0)]):
        page, facts = made_of([path], tmp_path)
        parsed(page)
    assert facts["verdict"][0].startswith("The run goes on: ") and 'id="policies"' not in page
    told = facts["run"]["over_time"]
    assert (
        max(sum(layers) for layers in zip(*(own["values"] for own in told["slots"]), strict=True))
        <= 2.0 + 1e-9
    )


def test_a_run_without_a_task(tmp_path):
    folder = tmp_path / ".malleable"
    folder.mkdir(mode=0o700)
    path = folder / "journal.sqlite"
    with Journal(path) as made:
        made.begin(2, "sum:response", "flex", recorded(parse_jobs(JOBS), JOBS))
    page, facts = made_of([path], tmp_path)
    parsed(page)
    assert facts["verdict"] and facts["run"]["failures"] == []


def _begun(tmp_path, kind="commands"):
    folder = tmp_path / ".malleable"
    folder.mkdir(mode=0o700)
    path = folder / "journal.sqlite"
    with Journal(path) as made:
        run = made.begin(2, "sum:response", "flex", recorded(parse_jobs(JOBS), JOBS), kind)
        made.enter(run)
        ended = [Attempt(0, k, 0, 0, 3.0, 10.0, 4.0, 0.0) for k in range(2)]
        lost = {"how": "", "why": "lost its way"}
        ended += [Attempt(2, 0, k, 5, 3.0 + k, 1.0, **lost) for k in range(2)]
        made.record(run, 14.0, ended, [Decided(3.0, 0, 2, "its share", 10.0, 40.0)])
    return path


def test_a_run_that_is_not_over(tmp_path):
    _, facts = made_of([_begun(tmp_path)], tmp_path)
    jobs = {job["name"]: job for job in facts["run"]["jobs"]}
    assert facts["run"]["status"] == "killed" and jobs["first"]["left"] == 2
    assert jobs["first"]["ended"] is None


def test_calls_have_no_commands(tmp_path):
    page, facts = made_of([_begun(tmp_path, "calls")], tmp_path)
    parsed(page)
    bad = facts["run"]["failures"][0]
    assert not any(each["command"] for each in facts["run"]["failures"])
    assert (bad["job"], bad["what"], bad["tries"]) == ("bad", "lost its way", 2)
    assert facts["run"]["jobs"][0]["comes"] == 3.0 and facts["run"]["jobs"][0]["wait"] == 0.0


def test_no_such_run(journal, capsys):
    check_one_line(call(capsys, "report", journal, "--run", 7), "no run 7")


def test_a_database_that_is_no_journal(tmp_path, capsys):
    import sqlite3

    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as base:
        base.execute("create table t (a)")
    base.close()
    check_one_line(call(capsys, "report", path), "not a journal of runs")


def test_json_is_json(journal, capsys):
    done = call(capsys, "report", journal, "--json", "-")
    assert json.loads(done.stdout, parse_constant=pytest.fail)["run"]["number"] == 1
