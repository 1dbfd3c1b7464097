"""The parser of the command line. Each command has one file with its arguments, which is imported when you use
the command.

A file ``NAME_command`` has ``arguments(parser)`` and ``run(asked)``. The first paragraph of what ``run``
says of itself is the command's help, unless ``arguments`` sets another one.
"""

from __future__ import annotations

import argparse
import importlib
import re
from typing import Any, NoReturn

_COMMANDS = {
    "plan": "plan the jobs of a table, or of a trace at one moment",
    "simulate": "simulate policies on jobs that arrive, and compare them",
    "report": "write a page: what would another policy have done?",
    "run": "run jobs of commands on this machine",
    "status": "show how far a run is",
    "logs": "show what tasks printed, and why a task failed",
    "watch": "show how far a run is, until it has ended",
    "pause": "pause a job of a run: no more tasks of it start",
    "resume": "let a job of a run go on that was paused",
    "cancel": "end a job of a run",
    "set": "change weight, deadline or slots of a job of a run, or the run's slots",
    "add": "give more commands or jobs to a run that goes on",
    "forget": "remove runs, and what their tasks printed",
    "submit": "hand jobs of commands over to Slurm",
    "govern": "put your own arrays on a shared Slurm in order",
    "bench": "measure how long decisions take on this machine",
    "replay": "decide again what a recorded scheduler decided",
    "reproduce": "repeat a figure of a paper, beside its own numbers",
    "demo": "compare FLEX with FAIR and FIFO, with a picture",
}


# commands that are in one file, and its stem
_SHARED = dict.fromkeys(("pause", "resume", "cancel", "set"), "order")


def show_version() -> int:
    from importlib.metadata import version

    print(f"malleable {version('malleable')}")
    return 0


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        parser.exit(show_version())


class CommandParser(argparse.ArgumentParser):
    """A parser that gets the arguments of its command when they are needed."""

    def __init__(self, *, command: str = "", **how: Any) -> None:
        super().__init__(**how)
        self._awaited = command

    def fill(self) -> None:
        # Import the command's file, and add its arguments.
        if self._awaited:
            stem = _SHARED.get(self._awaited, self._awaited)
            module = importlib.import_module(f"malleable.cli.{stem}_command")
            self._awaited = ""
            self.set_defaults(run=module.run, usage=self.error)
            module.arguments(self)
            if self.description is None:
                self.description = (module.run.__doc__ or "").partition("\n\n")[0]
            manners(self, default=argparse.SUPPRESS)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        command = bool(self._awaited)
        self.fill()
        found, rest = super().parse_known_args(args, namespace)
        if command and rest:  # the error shows this command's usage
            from malleable.validation import near

            hint = near(rest[0], self._option_string_actions) if rest[0][0:1] == "-" else ""
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        for kind, expected in (("int", "a whole number"), ("float", "a number")):
            message = re.sub(
                rf"invalid {kind} value: ('.*')$", rf"\1: expected {expected}", message
            )
        message = message.replace("required: COMMAND", "required: COMMAND, as in malleable plan")
        usage = self.format_usage().splitlines()
        more = " ..." * (len(usage) > 1)
        told = f"{self.prog}: error: {message}\n{self.prog} --help says more.\n"
        self.exit(2, f"{usage[0]}{more}\n{told}")


def manners(parser: argparse.ArgumentParser, default: Any) -> None:
    """Options about output to people, before the command's name or after it."""
    add = parser.add_argument
    told = "no tables, progress bars or notes: errors only"
    add("-q", "--quiet", action="store_true", default=default, help=told)
    told = "no colours (also if NO_COLOR is set)"
    add("--no-color", action="store_true", default=default, help=told)


def build_parser(whole: bool = False) -> argparse.ArgumentParser:
    """The parser; the chosen command is the function ``run`` of what it returns.

    ``whole``: with the arguments of all commands at once.
    """
    parser = CommandParser(
        prog="malleable",
        description="Decide how many slots each malleable job gets, and say how good the decision is.",
        epilog="Exit status: 0 success; 1 wrong input; 2 wrong usage; 3 tasks failed (run); 130 interrupted.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    manners(parser, default=False)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, told in _COMMANDS.items():
        command = commands.add_parser(name, help=told, command=name)
        if whole:
            command.fill()
    return parser
