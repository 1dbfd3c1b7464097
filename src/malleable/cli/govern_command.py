"""``malleable govern``: a governor, a program that orders job arrays which wait in somebody's Slurm, without
running them. A lease (a process and a waiting job) sets its changes back if it is killed."""

from __future__ import annotations

import argparse
import fnmatch
import os
import socket
import sys
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import IO, Any

from malleable.cli.outputs import INTERRUPTED, OBJECTIVE, Outputs, output_arguments
from malleable.cli.run_screen import ProgressLine, Screen
from malleable.cli.status_command import JOURNAL, history_of
from malleable.cli.streams import note, watched
from malleable.cli.terminal import adder, interrupts_heard
from malleable.cluster.events import cluster_header
from malleable.cluster.nodes import read_cluster
from malleable.live.decider import SchedulerDecider
from malleable.live.guard import Guard
from malleable.live.journal import Journal
from malleable.live.journal_file import take_lock
from malleable.live.own_files import OURS, own_folder
from malleable.live.slurm.answers import Array, Look
from malleable.live.slurm.commands import Slurm, SlurmError
from malleable.live.slurm.governor import COMMENT, Governor, Planned
from malleable.live.slurm.lease import Lease, left_behind
from malleable.live.slurm.place_deciders import PlaceDeciders
from malleable.live.status import RunStatus, run_status
from malleable.view.live import status_json, status_table
from malleable.view.text import (
    Column,
    columns_table,
    counted,
    number,
    printable,
)

_SHOWN = 40  # most arrays that a table shows


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Ctrl-C ends the command, which first sets back all that it changed. Exit status: 0 success; 1"
        " wrong input; 2 wrong usage; 130 interrupted."
    )
    add = adder(parser)
    add("engine", "where the arrays wait: slurm", choices=("slurm",))
    add("--apply", "make the changes, until Ctrl-C (default: only show them)", bool)
    add("--name PATTERN", "govern only arrays whose name fits (with * and ?; default: all)")
    add("--submitted", "govern only arrays that malleable submit made", bool)
    add("--objective", OBJECTIVE, default="sum:response")
    add("--policy", "how slots are given", default="auto")
    add("--every S", "look at the queue every S seconds", float, "5")
    told = "a process of this machine and a job in the queue set everything back if the governor has not"
    told += " looked for S seconds"
    add("--lease-seconds S", told, float, "60")
    told = "end when no array is left that can ever start (default: at Ctrl-C)"
    add("--until-done", told, bool)
    add("--as-operator", "govern the arrays of all users", bool)
    told = "with --as-operator: a TOML file of [[user]] with name, minimum, priority"
    add("--users FILE", told)
    add("--journal FILE", "where to record what happens", default=JOURNAL)
    add(
        "--record FILE",
        "write what the scheduler is told, for malleable replay (FILE.PARTITION for each further partition)",
    )
    output_arguments(parser)


def _chosen(asked: argparse.Namespace, array: Array) -> bool:
    if asked.name is not None and not fnmatch.fnmatchcase(array.name, asked.name):
        return False
    return not asked.submitted or array.comment.split()[:1] == [COMMENT]


def _only_governor(folder: Path) -> IO[str]:
    # The lock of this user's only governor; it ends with its process.
    own_folder(folder)
    try:
        me = f"process {os.getpid()} on {socket.gethostname()}"
        return take_lock(folder / "govern-slurm.lock", me)
    except BlockingIOError as owner:
        raise ValueError(f"you already run a governor: {owner}") from None


def _places(asked: argparse.Namespace) -> PlaceDeciders:
    # Deciders of partitions, with what earlier runs in the journal have learnt.
    people = cluster_header(read_cluster(asked.users))["users"] if asked.users else []
    # Slurm gives each task its own processors.
    # ``counted``: the queue shows how many tasks have ended, but not each end.
    how: dict[str, Any] = {"counted": True, "processors": "own"}
    made = partial(SchedulerDecider, 1, asked.policy, asked.objective, users=people, **how)
    made()  # refuses unknown policies and options
    made = partial(made, history=history_of(asked.journal))
    if not asked.record:
        return PlaceDeciders(lambda place: made())
    names = chain([asked.record], repeat(""))  # the first place has the name itself
    return PlaceDeciders(lambda place: made(record=next(names) or f"{asked.record}.{place}"))


def run(asked: argparse.Namespace) -> int:
    """Let your arrays that wait in Slurm start in an order that makes an objective small. The command changes
    their Nice values. Without --apply it changes nothing, and only shows what it would change, and why.
    """
    outputs = Outputs(asked, inputs=[asked.users])
    for name in ("every", "lease_seconds"):
        if not 0.1 <= getattr(asked, name) <= 3600.0:
            raise ValueError(f"--{name.replace('_', '-')}: must be from 0.1 to 3600 seconds")
    if asked.users and not asked.as_operator:
        asked.usage("--users: goes with --as-operator")
    engine, places = Slurm(asked.every, asked.as_operator), _places(asked)
    if asked.apply:
        return _go(asked, engine, places, outputs)
    governor = Governor(engine, places, partial(_chosen, asked))
    governor.take(_first(engine))
    governor.step(0.0)
    return _show_plan(governor, outputs)


def _first(engine: Slurm) -> Look:
    # The first look at the queue.
    try:
        return engine.look()
    except SlurmError as error:
        raise ValueError(f"no Slurm answers: {error}") from None


def _go(asked: argparse.Namespace, engine: Slurm, places: PlaceDeciders, outputs: Outputs) -> int:
    # Make changes until the end, and set them back; ``places`` decides for each partition.
    alone = _only_governor(Path.home() / OURS)
    with interrupts_heard() as interrupts, alone, Journal(asked.journal) as journal:
        screen = Screen(watched(sys.stderr))
        governor, look = _begun(asked, engine, places, journal, ProgressLine(screen))
        said: dict[str, str] = {}
        try:
            governor.take(look)
            while not governor.finished and not interrupts.heard:
                governor.step()
                for about, text in governor.trouble.items():
                    if said.get(about) != text:
                        note(text, grave=True)
                said = dict(governor.trouble)
        finally:
            screen.close()
            restored = governor.restore()
            if not restored:
                note(
                    "some changes could not be set back; the lease sets them back",
                    grave=True,
                )
            governor.end("done" if governor.finished else "stopped")
            places.close()
        status = _show_end(governor, run_status(journal), outputs, restored)
    return status if governor.finished else INTERRUPTED


def _begun(
    asked: argparse.Namespace,
    engine: Slurm,
    places: PlaceDeciders,
    journal: Journal,
    progress: ProgressLine,
) -> tuple[Governor, Look]:
    # A governor after its first look; it first sets back the changes of a governor that was killed.
    look = _first(engine)
    stale = left_behind(engine, look, Path.home() / OURS)
    if stale:
        note(f"set back {counted(stale, 'array')} that a killed governor had changed")
        look = _first(engine)
    number_of_run = journal.begin(
        max(1, sum(map(look.slots, look.usable))), asked.objective, asked.policy, kind="arrays",
    )  # fmt: skip
    lease = Lease(engine, Path.home() / OURS)
    governor = Governor(
        *(engine, places, partial(_chosen, asked), lease, journal, number_of_run),
        lease_seconds=asked.lease_seconds,
        until_done=asked.until_done,
        guard=Guard(
            partial(note, grave=True)
        ),  # errors of views and predictions do not end the run
        # The run's clock is 0 when the oldest array came.
        start=max(0.0, look.at - look.earliest(look.at)),
        progress=progress,
    )
    return governor, look


def _dict(planned: Planned) -> dict[str, Any]:
    array = planned.array
    return {
        "array": array.number, "name": array.name, "user": array.user, "partition": array.place,
        "waiting": array.pending, "running": array.running, "slots_per_task": array.width,
        "slots": planned.slots, "why": planned.why, "nice": array.nice,
        "nice_wanted": planned.nice, "at_once": array.throttle, "at_once_wanted": planned.throttle,
        "priority": array.priority,
    }  # fmt: skip


def _moved(now: int, wanted: int) -> str:
    return number(now) if now == wanted else f"{now:,} -> {wanted:,}"


_COLUMNS: list[Column] = [
    ("array", lambda planned: str(planned.array.number)),
    ("name", lambda planned: planned.array.name),
    ("partition", lambda planned: planned.array.place),
    ("wait", lambda planned: number(planned.array.pending)),
    ("run", lambda planned: number(planned.array.running)),
    ("slots", lambda planned: number(planned.slots)),
    ("why", lambda planned: planned.why or "-"),
    ("Nice", lambda planned: _moved(planned.array.nice, planned.nice)),
    ("at once", lambda planned: _moved(planned.array.throttle, planned.throttle)),
]


def _result(governor: Governor) -> dict[str, Any]:
    return {
        "applied": governor.apply, "looks": governor.looks, "changes": governor.changes,
        "seconds": governor.now, "slots": governor.slots,
        "arrays": [_dict(planned) for planned in governor.planned],
        "trouble": list(governor.trouble.values()),
    }  # fmt: skip


_NOTHING = "no array to govern waits or runs"


def _show_end(governor: Governor, status: RunStatus, outputs: Outputs, restored: bool) -> int:
    never = [array.number for array in governor.never]
    result = {**_result(governor), **status_json(status), "restored": restored, "never": never}
    back = "all set back" if restored else "not all set back"
    parts: list[Any] = [
        status_table(status, _SHOWN) if status.jobs else _NOTHING,
        f"{counted(governor.changes, 'change')}, {back}",
    ]
    if never:
        listed = " ".join(map(str, never))
        parts.append(
            f"{counted(len(never), 'array')} can never start, because jobs that they wait for failed; "
            f"scancel {listed} takes them out of the queue"
        )
    parts += [printable(text) for text in governor.trouble.values()]
    return outputs.give(lambda: result, parts)


def _show_plan(governor: Governor, outputs: Outputs) -> int:
    where = f"{counted(len(governor.planned), 'array')} on {counted(governor.slots, 'slot')}"
    title = f"{where}: what would be done"
    if not governor.planned:
        return outputs.give(lambda: _result(governor), [_NOTHING])
    parts: list[Any] = [columns_table(title, governor.planned[:_SHOWN], _COLUMNS, left=2)]
    if len(governor.planned) > _SHOWN:
        parts.append(f"... and {len(governor.planned) - _SHOWN:,} more")
    parts += [printable(text) for text in governor.trouble.values()]
    parts.append("nothing was changed; --apply makes the changes")
    return outputs.give(lambda: _result(governor), parts)
