"""``malleable pause``, ``resume``, ``cancel`` and ``set``: an order to a run that goes on, as a file in a
folder beside its journal."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from malleable.cli.status_command import JOURNAL
from malleable.cli.terminal import adder, show
from malleable.files.numbers import parse_number
from malleable.files.reading import parse_seconds
from malleable.live.control import order
from malleable.live.orders import SETTINGS


def arguments(parser: argparse.ArgumentParser) -> None:
    verb = parser.prog.split()[-1]
    add = adder(parser)
    if verb == "set":
        add("job JOB", "name of the job", nargs="?")
        add("settings KEY=VALUE", f"any of {', '.join(SETTINGS)}; KEY=none: no limit", nargs="*")
        add("-j --slots N", "how many tasks of the whole run run at once (default: as before)", int)
    else:
        add("job JOB", "name of the job")
    add("--journal FILE", "journal of the run", default=JOURNAL)
    parser.set_defaults(verb=verb)


def _setting(text: str, usage: Any) -> tuple[str, float | int | None]:
    key, equals, value = text.partition("=")
    if not equals:
        usage(f"{text}: write KEY=VALUE, as in weight=3")
    if value == "none":
        return key, None
    try:
        number = parse_seconds(value) if key == "deadline" else parse_number(value)
    except ValueError as error:
        raise ValueError(f"{key} = {error}") from None
    return key, int(number) if number.is_integer() else number


def run(asked: argparse.Namespace) -> int:
    """Change a job of a run, or the run. A paused job starts no more tasks, and its running tasks go on. A
    cancelled job's tasks are ended, and jobs that come after it are skipped. The run must still go on: it is
    the run that writes to the journal.
    """
    journal = Path(asked.journal)
    if asked.verb == "set" and asked.slots is not None:
        show(order(journal, {"do": "slots", "slots": asked.slots}))
        if asked.job is None:
            return 0
    if asked.job is None:
        asked.usage("set: needs a JOB, or --slots N")
    what: dict[str, Any] = {"do": asked.verb, "job": asked.job}
    if asked.verb == "set":
        what["settings"] = dict(_setting(text, asked.usage) for text in asked.settings)
    show(order(journal, what))
    return 0
