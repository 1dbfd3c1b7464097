"""``malleable run``: jobs of many commands on this machine, under an objective."""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from malleable.cli.outputs import INTERRUPTED, Outputs, output_arguments
from malleable.cli.status_command import JOURNAL
from malleable.cli.streams import note, watched
from malleable.cli.terminal import size
from malleable.cli.watch_command import check_terminal, view
from malleable.cli.workers import engine_of
from malleable.domain import check_slots
from malleable.files.reading import MAX_SIZE
from malleable.live.decider import SchedulerDecider, seconds_of
from malleable.live.engine import Engine
from malleable.live.engines.local import Local, machine_memory
from malleable.live.expected import expected_ends
from malleable.live.guard import Guard
from malleable.live.history import Earlier
from malleable.live.jobs_file import Job, check_memory, parse_jobs, read_rows
from malleable.live.journal import Journal
from malleable.live.loop import Loop, Progress, Work
from malleable.live.output import output_folder
from malleable.live.run import FAILED, CommandRun
from malleable.live.status import JobStatus, not_begun, run_status
from malleable.view.live import plan_json, plan_table
from malleable.view.text import (
    Column,
    columns_table,
    counted,
    fields_of,
    number,
    plain,
    wall_time,
)

_GRACE = 5.0  # seconds that tasks have after Ctrl-C
_WIDTH = 80  # of a terminal that does not say
_OF_JOB = ("retries", "timeout", "weight", "deadline", "min_slots", "max_slots")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.description = (
        "Run the jobs of FILE, or with --job COMMAND for each line ({}) of standard input."
    )
    parser.epilog = (
        "Exit status: 0; 1 wrong input; 2 usage; 3 tasks failed; 130 interrupted: what has ended is kept, "
        "--resume goes on. A second Ctrl-C ends tasks at once."
    )
    add = parser.add_argument
    source_arguments(parser)
    add("--slots", type=int, metavar="N", help="tasks at once (default: processors)")
    add("--objective", help="{sum,max}:KIND (default: sum:response)")
    add("--policy", help="default: auto")
    add("--journal", metavar="FILE", default=JOURNAL, help="default: %(default)s")
    add("--resume", action="store_true", help="go on with the journal's last run")
    add("--rerun-failed", action="store_true", help="go on with it, and try what failed again")
    add("--durable", action="store_true", help="what is recorded survives a loss of power")
    told = "of all tasks together (default: this machine's)"
    add("--memory", type=size, metavar="SIZE", help=told)
    add("--engine", metavar="NAME", help="where: hyperqueue (a server here) or hyperqueue:FOLDER")
    add("--watch", action="store_true", help="show all jobs in place instead of a line")
    add("--dry-run", action="store_true", help="show the plan and its expected end, run nothing")
    job_arguments(parser, "after the start")
    output_arguments(parser)
    parser.set_defaults(run=run, usage=parser.error)


def source_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the jobs are said."""
    add = parser.add_argument
    add("file", metavar="FILE|COMMAND", nargs="?", help="jobs (default: jobs.toml), or a command")
    add("--job", metavar="NAME", help="one job of this name: COMMAND over lines of standard input")


def job_arguments(parser: argparse.ArgumentParser, since: str) -> None:
    """What can be said of the one job of ``--job``; its deadline counts ``since`` something."""
    job = parser.add_argument_group("of the one job")
    job.add_argument("--retries", type=int, metavar="N", help="of a task that failed (default: 0)")
    job.add_argument("--timeout", type=float, metavar="S", help="of a task [s] (default: none)")
    job.add_argument("--weight", type=float, metavar="W", help="default: 1")
    job.add_argument("--deadline", type=float, metavar="S", help=f"{since} (default: none)")
    job.add_argument("--min-slots", type=int, metavar="N", help="guaranteed (default: 0)")
    job.add_argument("--max-slots", type=int, metavar="N", help="at most (default: any)")
    job.add_argument("--seconds", type=float, metavar="S", help="that a task takes, if known")


def rows_of(asked: argparse.Namespace) -> tuple[list[dict[str, Any]], str]:
    """Tables of jobs, as a file has them, and the folder that names of files are relative to."""
    of_job = {
        key: value for key in (*_OF_JOB, "seconds") if (value := getattr(asked, key)) is not None
    }
    if asked.job is None:
        for key in of_job:
            asked.usage(f"--{key.replace('_', '-')}: goes with --job; a file says it itself")
        source = asked.file or "jobs.toml"
        return read_rows(source), str(Path(source).parent.absolute())
    if not asked.file:
        asked.usage("--job NAME: needs a COMMAND")
    if sys.stdin is None or sys.stdin.isatty():
        raise ValueError("--job: values are lines of standard input; a terminal has none")
    data = os.fsdecode(sys.stdin.buffer.read(MAX_SIZE + 1))
    if len(data) > MAX_SIZE:
        raise ValueError("standard input: too large; write a file of jobs over lines")
    lines = [line.removesuffix("\r") for line in data.removesuffix("\n").split("\n")]
    if not data:
        raise ValueError("standard input: empty; nothing to run")
    rows = [{"name": asked.job, "command": asked.file, "over": lines, **of_job}]
    return rows, os.getcwd()  # noqa: PTH109


def run(asked: argparse.Namespace) -> int:
    """Begin or go on with a run, and see it to its end."""
    outputs = Outputs(asked, inputs=[None if asked.job else asked.file])
    if asked.engine and not asked.engine.startswith("hyperqueue"):
        raise ValueError(f"--engine {asked.engine}: commands run on hyperqueue")
    if asked.watch and not asked.dry_run:
        check_terminal()
    own_memory = math.inf if asked.engine else machine_memory()
    memory = own_memory if asked.memory is None else float(asked.memory)
    if asked.resume or asked.rerun_failed:
        for name in ("file", "job", "slots", "objective", "policy", "dry_run"):
            value = getattr(asked, name)
            if value is not None and value is not False:
                asked.usage(f"--resume: a run goes on as it was begun, without {name}")
        with Journal(asked.journal, durable=asked.durable) as journal:
            if journal.run().status == "done" and not asked.rerun_failed:
                return _tell_again(journal, outputs)
            begun = CommandRun.resume(journal, again=asked.rerun_failed, guard=_guard())
            check_memory(begun.jobs, memory)
            return _go(begun, memory, asked, outputs)
    rows, folder = rows_of(asked)
    jobs = parse_jobs(rows, folder)
    check_memory(jobs, memory)
    slots = len(os.sched_getaffinity(0)) if asked.slots is None else check_slots(asked.slots)
    how = asked.objective or "sum:response", asked.policy or "auto"
    SchedulerDecider(slots, *reversed(how))  # which refuses what it does not know
    if asked.dry_run:
        return _show_plan(jobs, slots, how, asked.journal, outputs)
    with Journal(asked.journal, durable=asked.durable) as journal:
        begun = CommandRun.begin(journal, jobs, rows, slots, *how, guard=_guard())
        return _go(begun, memory, asked, outputs)


def _guard() -> Guard:
    return Guard(lambda text: note(text, grave=True))


def _show_plan(
    jobs: list[Job], slots: int, how: tuple[str, str], journal: str, outputs: Outputs
) -> int:
    place = {job.name: row for row, job in enumerate(jobs)}
    after = [[place[name] for name in job.after] for job in jobs]
    known = Journal(journal, write=False) if Path(journal).exists() else None
    with known or nullcontext():
        earlier = Earlier(known)
    left = [not_begun(job, own, earlier) for job, own in zip(jobs, after, strict=True)]
    ends = expected_ends(left, slots, *how)
    result = {"slots": slots, "objective": how[0], "policy": how[1]}
    rows = plan_json(jobs, left, ends)
    return outputs.give(lambda: {**result, "jobs": rows}, [plan_table(jobs, left, ends, slots)])


class _Interrupts:
    """Ctrl-C and SIGTERM: the first is asked about, the second raises KeyboardInterrupt."""

    heard = False

    def __call__(self, number: int, frame: types.FrameType | None) -> None:
        if self.heard:
            raise KeyboardInterrupt
        self.heard = True


@contextmanager
def _interrupts() -> Iterator[_Interrupts]:
    heard = _Interrupts()
    before = {
        which: signal.signal(which, heard)
        for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(which) is not signal.SIG_IGN
    }
    try:
        yield heard
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)


def _rest(loop: Progress) -> str:
    """Seconds until all is done at the pace of tasks that have ended; in words."""
    done, taken = sum(job.done for job in loop.jobs), sum(job.taken for job in loop.jobs)
    if not done and not all(job.seconds for job in loop.jobs if job.left):
        return ""
    work = sum(job.left * seconds_of(job, taken / max(1, done)) for job in loop.jobs)
    return f", some {wall_time(work / loop.slots)} left" if work else ""


def _line(progress: Progress) -> None:
    counts = zip(*((job.done, job.failed, job.tasks) for job in progress.jobs), strict=True)
    done, failed, total = map(sum, counts)
    failures = f", {failed:,} failed" if failed else ""
    text = (
        f"{done:,} of {total:,} tasks done{failures}, {progress.running:,} running{_rest(progress)}"
    )
    with suppress(OSError):
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or _WIDTH
        sys.stderr.write(f"\r{text[: columns - 1]}\x1b[K")
        sys.stderr.flush()


@contextmanager
def _progress(begun: CommandRun, watch: bool) -> Iterator[Callable[[Progress], object] | None]:
    """What is told of progress: all jobs, a line, or nothing where nobody looks."""
    told: Callable[[Progress], object] | None = None
    with ExitStack() as views:
        if watch:
            show = begun.guard("the view of the run", lambda: views.enter_context(view()))
            if show:
                told = lambda _: show(run_status(begun.journal, begun.number))  # noqa: E731
        elif watched(sys.stderr):
            told = _line
        try:
            yield told
        finally:
            begun.guard("the view of the run", views.close)
            if told is _line:
                begun.guard("the view of the run", lambda: sys.stderr.write("\r\x1b[K"))


def _go(begun: CommandRun, memory: float, asked: argparse.Namespace, outputs: Outputs) -> int:
    run = begun.run
    engine: Engine = engine_of(asked.engine, run.slots) if asked.engine else Local(run.slots)
    for text in engine.abilities.lost():
        note(f"--engine {asked.engine}: {text}")
    with _interrupts() as interrupts, _progress(begun, asked.watch) as progress:
        how: dict[str, Any] = {"progress": progress, "guard": begun.guard}
        decider = SchedulerDecider(run.slots, run.policy, run.objective, memory)
        decider.guard = begun.guard
        try:
            loop = begun.loop(engine, decider, **how)
            left = _loop_to_its_end(loop, interrupts)
        except BaseException:
            engine.close(0.0)
            raise
        begun.end(loop, "done" if loop.finished else "stopped")
        loop.tell()
    if left:
        note(f"{counted(left, 'process')} would not end", grave=True)
    return _tell(begun.number, begun.outputs, loop.now, loop.jobs, loop.finished, outputs)


def _loop_to_its_end(loop: Loop, interrupts: _Interrupts) -> int:
    """Until all is done or somebody interrupts; how many processes would not go."""
    while not loop.finished and not interrupts.heard:
        loop.step()
    if loop.finished:
        interrupts.heard = True  # nothing is left to be ended with care
    try:
        return loop.stop(0.0 if loop.finished else _GRACE)
    except KeyboardInterrupt:
        return loop.stop(0.0)


def _tell_again(journal: Journal, outputs: Outputs) -> int:
    """What came of a run that has ended, perhaps a moment before somebody could be told."""
    status = run_status(journal)
    folder = output_folder(journal.path, journal.run())
    note(f"run {status.number} has ended; nothing is left to do")
    return _tell(
        status.number, folder or journal.path.parent, status.now, status.jobs, True, outputs
    )


def _tell(
    run: int,
    folder: Path,
    seconds: float,
    jobs: Sequence[Work] | Sequence[JobStatus],
    finished: bool,
    outputs: Outputs,
) -> int:
    failed = sum(job.failed for job in jobs)
    kept = ("name", "tasks", "done", "failed", "began", "ended", "cancelled")
    result = {"run": run, "finished": finished, "seconds": seconds,
              "jobs": [fields_of(job, *kept) for job in jobs]}  # fmt: skip
    columns: list[Column] = [
        ("job", lambda job: job.name),
        ("tasks", lambda job: number(job.tasks)),
        ("done", lambda job: number(job.done)),
        ("failed", lambda job: number(job.failed)),
        ("ended [s]", lambda job: "-" if math.isnan(job.ended) else number(round(job.ended, 1))),
    ]
    title = f"run {run}: {wall_time(seconds)}; output in {folder}"
    status = outputs.give(lambda: plain(result), [columns_table(title, jobs, columns)])
    if not finished:
        note("interrupted; what has ended is kept, --resume goes on")
        return INTERRUPTED
    if failed:
        note(f"{counted(failed, 'task')} failed or did not start; --rerun-failed tries again")
    return status or (FAILED if failed else 0)
