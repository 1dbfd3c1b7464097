"""The parser. Each command has one file with its arguments, which is imported when you use the command."""

from __future__ import annotations

import argparse
import importlib
import re
from typing import Any, NoReturn

from malleable.cli.version import show_version

# Each is a file ``NAME_command`` with ``arguments(parser)``, which says what runs the command.
_COMMANDS = {
    "plan": "plan a job table or a snapshot of a trace",
    "simulate": "policies side by side on arriving jobs",
    "report": "what another policy would have done, on a page",
    "run": "jobs of commands on this machine",
    "status": "how far a run is",
    "logs": "what tasks printed, and why one failed",
    "watch": "how far a run is, until it has ended",
    "pause": "no more tasks of a job of a run start",
    "resume": "a job that was paused goes on",
    "cancel": "a job of a run is ended",
    "set": "weight, deadline, slots of a job of a run",
    "submit": "jobs of commands, handed over to a Slurm",
    "govern": "one's own arrays on a shared Slurm",
    "bench": "measure what decisions take on this machine, compare with before",
    "replay": "what a recorded scheduler was told, decided again",
    "reproduce": "a paper's figure beside its own numbers",
    "demo": "FLEX against FAIR and FIFO, with a picture",
    "completion": "a shell's completion of all of this",
}


_SHARED = dict.fromkeys(("pause", "resume", "cancel", "set"), "order")
"""Commands that share a file."""

_OVERLAID = ("simulate",)
"""Commands that have the options of several models, and say themselves which of them help is for."""


class _Version(argparse.Action):
    """Prints the version; looked up only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        parser.exit(show_version())


class CommandParser(argparse.ArgumentParser):
    """A parser that gets the arguments of its command once they are needed."""

    def __init__(self, *, command: str = "", **how: Any) -> None:
        super().__init__(**how)
        self._awaited = command

    def fill(self) -> None:
        """Import the command's file and have it add its arguments."""
        if self._awaited:
            stem = _SHARED.get(self._awaited, self._awaited)
            module = importlib.import_module(f"malleable.cli.{stem}_command")
            self._awaited = ""
            module.arguments(self)
            manners(self, argparse.SUPPRESS)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        command = bool(self._awaited)
        self.fill()
        found, rest = super().parse_known_args(args, namespace)
        if command and rest:  # told with this command's usage, not with that of all
            from malleable.domain import near

            hint = near(rest[0], self._option_string_actions) if rest[0][0:1] == "-" else ""
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        for kind, expected in (("int", "a whole number"), ("float", "a number")):
            message = re.sub(
                rf"invalid {kind} value: ('.*')$", rf"\1: expected {expected}", message
            )
        super().error(message)


def manners(parser: argparse.ArgumentParser, default: Any) -> None:
    """Options about output to people: before the command's name or behind it."""
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
        description="Decides how many slots each malleable job gets, and says how good that is.",
        epilog="Exit status: 0; 1 wrong input; 2 usage; 3 tasks failed (run); 130 interrupted.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    manners(parser, False)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, told in _COMMANDS.items():
        conflict = "resolve" if name in _OVERLAID else "error"
        command = commands.add_parser(name, help=told, command=name, conflict_handler=conflict)
        if whole:
            command.fill()
    return parser
