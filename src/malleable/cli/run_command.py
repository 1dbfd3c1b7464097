"""``malleable run``: runs commands under an objective, records them in a journal, and shows how far it is."""

from __future__ import annotations

import argparse
import codecs
import math
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from malleable.cli import run_screen
from malleable.cli.outputs import INTERRUPTED, OBJECTIVE, Outputs, output_arguments
from malleable.cli.status_command import JOURNAL, history_of
from malleable.cli.streams import discard_output, note, quiet, watched
from malleable.cli.terminal import adder, duration, interrupts_heard, size, warnings_as_notes
from malleable.files.writing import check_targets
from malleable.live import engines, jobs_file
from malleable.live.conditions import Conditions
from malleable.live.control import Control
from malleable.live.decider import SchedulerDecider
from malleable.live.engines.process.local import Local
from malleable.live.failures import failures
from malleable.live.guard import Guard
from malleable.live.journal import ExpectedEnd, Journal, Run
from malleable.live.ledger import Ledger, last_end
from malleable.live.loop import Loop
from malleable.live.machine import machine_memory, processors
from malleable.live.orders import obey
from malleable.live.output import output_folder
from malleable.live.protocol import Engine
from malleable.live.resources import Resources
from malleable.live.run import FAILED, CommandRun, work_of
from malleable.live.shell_text import ShellText
from malleable.live.status import run_status
from malleable.validation import check_slots, check_whole
from malleable.view import live as live_view
from malleable.view.text import counted, plain

_NO_READER = 128 + signal.SIGPIPE  # exit status
_GRACE = 5.0  # seconds that tasks have after Ctrl-C
_FEW = 10  # failed tasks that the table at the end lists


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit status: 0 success; 1 wrong input; 2 wrong usage; 3 tasks failed; 130 interrupted. After Ctrl-C "
        "ended tasks are kept, and --resume runs the rest. A second Ctrl-C ends running tasks at once."
    )
    add = adder(parser)
    source_arguments(parser)
    add("-j --slots N", "how many tasks run at once (default: one for each processor)", int)
    add("--objective", f"{OBJECTIVE} (default: sum:response)")
    add("--policy", "how slots are given (default: auto)")
    add("--journal FILE", "where to record what happens", default=JOURNAL)
    told = "go on with the last run of the journal; with FILE or COMMAND: run what they say now, but no task "
    add("--resume", f"{told}that is done", bool)
    add("--rerun-failed", "go on with the last run, and run failed tasks again", bool)
    add("--durable", "the journal survives a loss of power, too (default: only a kill)", bool)
    told = "what tasks hold while they run: gpu=0,1,2,3 or gpu=4; each task one, unless a file of jobs says "
    add("--resource NAME=NAMES", f"{told}how many (default: nothing)", action="append")
    told = "start no new task while less memory of this machine is free (default: start)"
    add("--min-free-memory SIZE", told, size, dest="free")
    told = "start no new task while the load of this machine is higher (default: start)"
    add("--max-load X", told, float)
    add("--delay S", "start a task no sooner than this time after another (default: 0)", duration)
    add("--memory SIZE", "memory for all tasks together (default: that of this machine)", size)
    told = "where tasks run: hyperqueue (starts a server here) or hyperqueue:FOLDER (a running "
    add("--engine NAME", f"{told}server; default: on this machine)")
    told = "when to stop early: soon,fail=1 (one task has failed; running tasks may end), now,fail=10%% (they"
    add(
        "--halt WHEN",
        f"{told} are ended, too), now,success=1 ... (default: never)",
        run_screen.halt,
    )
    add("--joblog FILE", "write a line for each task, with GNU parallel's columns")
    told = "output of tasks: keep it, or stream it as well when a task ends"
    add("--output", told, default="keep", choices=("keep", "stream"))
    told = "what is kept of the output: all, failures, none, or a number of bytes at the end of each stream"
    add("--keep WHAT", told, _kept, "all")
    add("--keep-order", "stream output in the order of the tasks", bool)
    add("--dry-run", "show what would run and when it would end, but run nothing", bool)
    job = job_arguments(parser, "end within this time after the start")
    told = "a task that runs for long gets a second attempt beside it; the first to end counts"
    job.add_argument("--backups", action="store_const", const=True, help=told)
    output_arguments(parser)


def source_arguments(parser: argparse.ArgumentParser) -> None:
    add = adder(parser)
    told = "a file of commands, one a line (default: standard input); a file of jobs (.toml); or a command, "
    add("file FILE|COMMAND", f"{told}which runs for each line of standard input", nargs="?")
    add(
        "--each VALUE", "run COMMAND for these values (default: lines of standard input)", nargs="*"
    )
    add(
        "-0 --null", "standard input has NUL between values or commands, as from find -print0", bool
    )
    parser._has_negative_number_optionals.clear()  # -0 is an option, and -1 is still a value
    told = "standard input is CSV or TSV: {1} {2} ... and, with names in its first line, {name}"
    add("--columns", told, bool)
    add(
        "-n --per-task N",
        "how many values COMMAND gets at once, as with xargs (default: 1)",
        int,
    )
    add("--job NAME", "the name of the job (default: that of the program or of the file)")
    parser.set_defaults(halt=None, joblog=None, output="keep", keep_order=False, resource=None)


def job_arguments(parser: argparse.ArgumentParser, since: str) -> argparse._ArgumentGroup:
    """Settings of the job of ``--job``; its deadline counts ``since`` a moment."""
    job = parser.add_argument_group("of the one job")
    add = adder(job)
    settings = [
        add("--retries N", "how often a failed task is tried again (default: 0)", int),
        add("--timeout S", "end a task after this time, as 90s or 10m (default: none)", duration),
        add("--weight W", "weight in the objective (default: 1)", float),
        add("--deadline S", f"{since} (default: none)", duration),
        add("--min-slots N", "guaranteed slots (default: 0)", int),
        add("--max-slots N", "the most slots (default: any)", int),
        add("--seconds S", "how long a task takes, if you know it (default: learnt)", duration),
    ]
    parser.set_defaults(settings=["job", "backups", *settings])
    return job


def rows_of(asked: argparse.Namespace) -> tuple[list[dict[str, Any]], str]:
    """Tables of jobs, as a file has them, and the folder that names of files are relative to."""
    given = {key: getattr(asked, key, None) for key in asked.settings}
    of_job = {key: value for key, value in given.items() if value is not None}
    is_file = names_file(asked)
    if is_file and asked.file.endswith(".toml"):
        for key in of_job:
            asked.usage(f"--{key.replace('_', '-')}: write it into the file of jobs")
        return jobs_file.read_rows(asked.file), str(Path(asked.file).parent.absolute())
    name = of_job.pop("job", "")
    if is_file or asked.file is None:
        name = name or Path(asked.file or "commands").stem
        row: dict[str, Any] = {"name": name, "commands": _commands(asked)}
    else:
        row = {"name": name or _program(asked.file), **_of_values(asked)}
    if asked.resource:
        row["resources"] = {text.partition("=")[0]: 1 for text in asked.resource}
    return [row | of_job], os.getcwd()  # noqa: PTH109


_NO_COMMAND = re.compile(r"\0(?:#[^\0]*|\s*)(?=\0)")


def _commands(asked: argparse.Namespace) -> str:
    # Whole commands, one a line, as one text with a NUL between two.
    for key in ("each", "columns", "per_task"):
        if getattr(asked, key):
            asked.usage(f"--{key.replace('_', '-')}: needs a COMMAND before it")
    text = _input(asked)
    if not asked.null:
        if "\0" in text:
            raise ValueError(f"{asked.file or 'standard input'}: has a NUL character; see -0")
        text = text.replace("\r\n", "\n").replace("\n", "\0")
    found = _NO_COMMAND.sub("", f"\0{text}\0")[1:-1]
    if not found:
        raise ValueError(f"{asked.file or 'standard input'}: no command; nothing to run")
    return found


def names_file(asked: argparse.Namespace) -> bool:
    """Whether the argument is a file of jobs or commands. A program that exists is a command."""
    text = asked.file
    if text is None or asked.each is not None:
        return False
    if text.endswith(".toml"):
        return True
    if Path(text).exists():
        return not os.access(text, os.X_OK) or Path(text).is_dir()
    if asked.job is None and not ({" ", "{"} & set(text)):
        told = (
            f"no such file; --job NAME {text} runs it as a command for each line of standard input"
        )
        raise ValueError(f"{text}: {told}")
    return False


def _program(command: str) -> str:
    words = command.split()
    return Path(words[0]).name.replace("{}", "") if words else ""


def _of_values(asked: argparse.Namespace) -> dict[str, Any]:
    # A command with values, as a table of a job has them.
    if [asked.each is not None, asked.null, asked.columns].count(True) > 1:
        asked.usage("give only one of --each, -0 and --columns")
    if asked.columns:
        if asked.per_task:
            asked.usage("-n: works only with values without names")
        return {
            "command": asked.file,
            "over": jobs_file.table_values(_input(asked), "standard input", asked.file),
        }
    values = asked.each
    if values is None:
        text = _input(asked)
        values = text.removesuffix("\0").split("\0") if asked.null else jobs_file.lines_of(text)
    if asked.per_task is None:
        return {"command": asked.file, "over": values}
    return {"commands": _several(asked.file, values, check_whole("-n", asked.per_task, 1, 10**6))}


def _several(command: str, values: list[str], each: int) -> str:
    # Whole commands, with so many values in place of ``{}``, the last one with the rest.
    text = ShellText(command if "{}" in command else f"{command} {{}}")
    if text.odd or any(quote or field[0] != "{}" for field, quote in text.fields):
        raise ValueError(
            f"-n: the only place for values is {{}}, outside quotes and $( ): {command}"
        )
    parts = (" ".join(map(shlex.quote, values[k : k + each])) for k in range(0, len(values), each))
    return "\0".join(text.filled(lambda *_, own=own: own) for own in parts)


def _input(asked: argparse.Namespace) -> str:
    # The text of the file of commands, or of standard input.
    where = "standard input"
    if names_file(asked):
        where = asked.file
        with Path(where).open("rb") as file:
            data = file.read()
    elif sys.stdin is None or sys.stdin.isatty():
        told = "commands or values are lines of standard input, and a terminal has none"
        how = "malleable run commands.txt, or malleable run 'gzip {}' --each *.txt"
        if asked.file and Path(asked.file).exists():  # a program
            how = f"malleable run < {asked.file} runs the lines of that file"
        raise ValueError(f"{told}: {how}")
    else:
        data = sys.stdin.buffer.read()
    if not data:
        raise ValueError(f"{where}: empty; nothing to run")
    return os.fsdecode(data.removeprefix(codecs.BOM_UTF8))


def run(asked: argparse.Namespace) -> int:
    """Run the commands or the jobs of FILE, or COMMAND for each line ({}) of standard input."""
    asked.output = "stream" if asked.keep_order else asked.output
    again = (asked.resume and asked.file is None) or asked.rerun_failed
    if asked.joblog:
        check_targets({"--joblog": asked.joblog}, asked.force or again)
    outputs = Outputs(asked, inputs=[asked.file if names_file(asked) else None])
    if asked.engine and not re.fullmatch("hyperqueue(:.+)?", asked.engine):
        raise ValueError(f"--engine {asked.engine}: expected hyperqueue or hyperqueue:FOLDER")
    things = _things(asked)
    return (_go_on if again else _begin)(asked, things, outputs)


def _things(asked: argparse.Namespace) -> Resources:
    # The resources, such as GPUs, of ``--resource``; ``asked.holds``: what all tasks may hold together.
    own_memory = math.inf if asked.engine else machine_memory()
    memory = own_memory if asked.memory is None else float(asked.memory)
    if asked.resource and asked.engine:
        asked.usage("--resource: works only on this machine, not with --engine")
    if asked.engine and (asked.free or asked.max_load):
        asked.usage("--min-free-memory, --max-load: work only on this machine, not with --engine")
    pairs = (text.partition("=")[::2] for text in asked.resource or ())
    things = Resources({n: int(own) if own.isdecimal() else own.split(",") for n, own in pairs})
    asked.holds = {"memory": memory, **things.capacity}
    return things


def _kept(text: str) -> str | int:
    return text if text in ("all", "failures", "none") else size(text)


def _begin(asked: argparse.Namespace, things: Resources, outputs: Outputs) -> int:
    rows, folder = rows_of(asked)
    jobs = jobs_file.parse_jobs(rows, folder)
    slots = processors() if asked.slots is None else check_slots(asked.slots)
    jobs_file.check_fits(jobs, slots, asked.holds)
    how = asked.objective or "sum:response", asked.policy or "auto"
    _decider(slots, how, {})  # refuses unknown policies and options
    if asked.dry_run:
        return _show_plan(jobs, slots, how, asked, outputs)
    with Journal(asked.journal, durable=asked.durable) as journal:
        before = _before(journal, jobs, asked.resume)
        begun = CommandRun.begin(journal, jobs, rows, slots, *how, before, **_options(asked))
        if before:
            tasks = sum(map(len, jobs))
            told = f"{begun.done_before:,} of {tasks:,} tasks were done in run {before.id}"
            note(f"{told}; malleable logs --run {before.id} shows their output")
        return _go(begun, things, asked, outputs)


def _before(journal: Journal, jobs: list[jobs_file.Job], resume: bool) -> Run | None:
    # The run that a new one goes on with; says that one could, if it was not finished.
    if not journal.has_runs():
        return None
    last = journal.run()
    if last.kind != "commands" or resume:
        return last if last.kind == "commands" else None
    names = [str(job.described.get("name")) for job in journal.jobs(last.id)]
    if last.status != "done" and set(names) & {job.name for job in jobs}:
        note(
            f"run {last.id} of the same jobs was not finished; this is a new run, --resume continues it"
        )
    return None


def _go_on(asked: argparse.Namespace, things: Resources, outputs: Outputs) -> int:
    for name in ("file", "job", "objective", "policy", "dry_run"):
        if getattr(asked, name) not in (None, False):
            asked.usage(f"--resume: the run keeps its first settings; leave {name} out")
    if not os.path.lexists(asked.journal):  # do not make a journal if there is none to resume
        raise ValueError(f"{asked.journal}: no journal there")
    with Journal(asked.journal, durable=asked.durable) as journal:
        if journal.run().status == "done" and not asked.rerun_failed:
            note(f"run {journal.run().id} has ended; nothing is left to do")
            return _show_outcome(journal, "finished", outputs)
        begun = CommandRun.resume(journal, again=asked.rerun_failed, **_options(asked))
        slots = begun.run.slots if asked.slots is None else check_slots(asked.slots)
        jobs_file.check_fits(begun.jobs, slots, asked.holds)
        if slots != begun.run.slots:
            begun.resize(slots)
        return _go(begun, things, asked, outputs)


def _options(asked: argparse.Namespace) -> dict[str, Any]:
    guard = Guard(partial(note, grave=True))
    return {"guard": guard, "keep": asked.keep, "reads": asked.output == "stream"}


def _show_plan(
    jobs: list[jobs_file.Job],
    slots: int,
    how: tuple[str, str],
    asked: argparse.Namespace,
    outputs: Outputs,
) -> int:
    place = {job.name: row for row, job in enumerate(jobs)}
    coming = {}
    for row, job in enumerate(jobs):
        after = [place[name] for name in job.after]
        if len(job):
            coming[row] = work_of(job, after), [p for p in after if len(jobs[p])]
    decider = _decider(slots, how, asked.holds, history=history_of(asked.journal))
    found = decider.expected(coming, 0.0)
    expected = [
        found.get(row, ExpectedEnd(row, at=0.0, early=0.0, late=0.0)) for row in range(len(jobs))
    ]
    end = last_end(expected, 0.0)
    result = {"slots": slots, "objective": how[0], "policy": how[1]}
    result |= plain({"end": end.at, "early": end.early, "late": end.late})
    rows = live_view.plan_json(jobs, expected)
    return outputs.give(
        lambda: {**result, "jobs": rows}, [live_view.plan_table(jobs, expected, end, slots)]
    )


def _decider(
    slots: int, how: tuple[str, str], capacity: dict[str, float], local: bool = True, **options: Any
) -> SchedulerDecider:
    if local:
        machine = processors()
        options |= {"machine": machine, "processors": "own" if slots <= machine else "beyond"}
    return SchedulerDecider(slots, how[1], how[0], capacity, **options)


@contextmanager
def _progress(
    begun: CommandRun, asked: argparse.Namespace, wanted: run_screen.Wanted
) -> Iterator[Callable[[Ledger], object]]:
    # Views of the run: a line that moves, failures, output, a log; yields what the loop calls.
    screen = run_screen.Screen(watched(sys.stderr))
    line = run_screen.ProgressLine(screen)
    streams = asked.output == "stream"
    failing = run_screen.FailureTeller(screen.above, not streams)
    begun.tell_failure = failing
    begun.tell_shortage = lambda text: quiet() or screen.above([f"malleable: {text}"])
    ends: list[Callable[[], object]] = [failing.flush]
    if streams:
        shown = run_screen.Shown(begun.jobs, begun.folders, screen, asked.keep_order)
        ends.append(partial(wanted, shown.rest))
        begun.hearers["the output of tasks"] = partial(wanted, shown)
    if asked.joblog:
        log = run_screen.JobLog(asked.joblog, begun.jobs, begun.folders)
        ends.append(partial(wanted, log.close))
        begun.hearers["the log of tasks"] = partial(wanted, log)

    def told(progress: Ledger) -> None:
        failing.flush()
        line(progress)

    try:
        yield told
    finally:
        for end in (*ends, screen.close):
            begun.guard("the view of the run", end)


def _engine(name: str | None, slots: int) -> Engine:
    if not name:
        return Local(slots)
    with warnings_as_notes():
        return engines.HyperQueue(slots, name.partition(":")[2] or None)


def _go(begun: CommandRun, things: Resources, asked: argparse.Namespace, outputs: Outputs) -> int:
    run = begun.run
    engine = _engine(asked.engine, run.slots)
    halted, wanted = False, run_screen.Wanted()
    with interrupts_heard() as interrupts, _progress(begun, asked, wanted) as progress:
        how: dict[str, Any] = {"progress": progress, "guard": begun.guard, "resources": things}
        load = math.inf if asked.max_load is None else asked.max_load
        how["conditions"] = Conditions(float(asked.free or 0), load, asked.delay or 0.0)
        history = begun.guard("the history of programs", begun.journal.history)
        of_run = run.objective, run.policy
        decider = _decider(run.slots, of_run, asked.holds, not asked.engine, history=history)
        decider.guard = begun.guard
        try:
            loop = begun.loop(engine, decider, **how)
            with _controlled(begun, loop, decider) as serve:
                ended = lambda: interrupts.heard or wanted.error  # noqa: E731
                halted = _loop_to_its_end(loop, ended, asked.halt, serve, begun.pack)
                left = _stop(loop, interrupts)
        except BaseException:
            engine.close(0.0)
            raise
        loop.tell()
        begun.end(loop, "done" if loop.finished else "stopped")
    if left:
        note(f"{counted(left, 'process')} did not end", grave=True)
    if isinstance(wanted.error, BrokenPipeError):
        discard_output()
        note(
            f"{wanted.error.filename} has no reader any more; ended tasks are kept, --resume continues the run"
        )
        return _NO_READER
    if wanted.error:
        raise wanted.error
    state = "halted" if halted else "finished" if loop.finished else "interrupted"
    return _show_outcome(begun.journal, state, outputs, asked.output == "stream")


@contextmanager
def _controlled(
    begun: CommandRun, loop: Loop, decider: SchedulerDecider
) -> Iterator[Callable[[], object]]:
    # Orders from other terminals; yields what carries out waiting ones.
    about = "the control from other terminals"
    path = begun.journal.path
    control = begun.guard(about, lambda: Control(path, lambda it: obey(begun, loop, decider, it)))
    try:
        yield (lambda: begun.guard(about, control.serve)) if control else (lambda: None)
    finally:
        if control:
            begun.guard(about, control.close)


def _loop_to_its_end(
    loop: Loop,
    ended: Callable[[], object],
    limit: run_screen.Halt | None,
    serve: Callable[[], object],
    pack: Callable[[float], object],
) -> bool:
    # Run until all jobs have ended or ``ended()``; returns whether ``limit`` stopped it before.
    while not (loop.finished or ended() or (loop.draining and not loop.busy)):
        loop.step()
        serve()
        pack(loop.now)
        if limit and limit.reached(loop.jobs):
            loop.draining = True
            if limit.at_once:
                break
    return loop.draining and not loop.finished and not ended()


def _stop(loop: Loop, interrupts: Any) -> int:
    # End running tasks; returns how many processes would not end.
    if loop.finished:
        interrupts.heard = True  # no task needs to be ended any more
    try:
        return loop.stop(0.0 if loop.finished else _GRACE)
    except KeyboardInterrupt:
        return loop.stop(0.0)


def _show_outcome(journal: Journal, how: str, outputs: Outputs, streamed: bool = False) -> int:
    found = run_status(journal)
    run, jobs = journal.run(found.number), found.jobs
    failed = sum(job.failed for job in jobs)
    told_of = failures(journal, run) if failed else iter(())

    def result() -> dict[str, Any]:
        every = [live_view.failure_json(each) for each in chain(few, told_of)]
        return {**live_view.status_json(found), "finished": how == "finished", "failures": every}

    few = list(islice(told_of, _FEW))
    folder = output_folder(journal.path, run) or journal.path.parent
    parts: list[Any] = [live_view.status_table(found), [f"output in {folder}"]]
    if few:
        shown = sum(each.tasks for each in few)
        parts.append(live_view.failure_table(few, live_view.ways_text(jobs), failed - shown))
    status = outputs.give(result, [] if streamed else parts)
    text = live_view.ways_text(jobs)
    if how == "halted":
        note(f"halted, {text or 'as asked'}; ended tasks are kept, --resume continues the run")
    elif how != "finished":
        note("interrupted; ended tasks are kept, --resume continues the run")
        return INTERRUPTED
    elif failed:
        told = f"{text}: malleable logs JOB TASK shows why, --rerun-failed tries again"
        note(told, grave=True)
    return status or (FAILED if failed else 0)
