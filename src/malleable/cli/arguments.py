"""The parser: one file a command, with its arguments beside what it does."""

from __future__ import annotations

import argparse
from typing import Any

from malleable.cli import (
    bench_command,
    demo_command,
    govern_command,
    plan_command,
    replay_command,
    reproduce_command,
    run_command,
    simulate_command,
    status_command,
    submit_command,
    watch_command,
)
from malleable.cli.version import show_version

# Each is a file with ``arguments(parser)``, which says what runs the command.
_COMMANDS: dict[str, tuple[Any, str]] = {
    "plan": (plan_command, "plan a job table or a snapshot of a trace"),
    "simulate": (simulate_command, "policies side by side on arriving jobs"),
    "run": (run_command, "jobs of commands on this machine"),
    "status": (status_command, "how far a run is"),
    "watch": (watch_command, "how far a run is, until it has ended"),
    "submit": (submit_command, "jobs of commands, handed over to a Slurm"),
    "govern": (govern_command, "one's own arrays on a shared Slurm"),
    "bench": (bench_command, "measure this machine's epoch latency"),
    "replay": (replay_command, "what a recorded scheduler was told, decided again"),
    "reproduce": (reproduce_command, "a paper's figure beside its own numbers"),
    "demo": (demo_command, "FLEX against FAIR and FIFO, with a picture"),
}


class _Version(argparse.Action):
    """Prints the version; looked up only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        parser.exit(show_version())


def build_parser() -> argparse.ArgumentParser:
    """The parser; the chosen command is the function ``run`` of what it returns."""
    parser = argparse.ArgumentParser(
        prog="malleable",
        description="Decides how many slots each malleable job gets, and says how good that is.",
        epilog="Exit status: 0; 1 wrong input; 2 usage; 3 tasks failed (run); 130 interrupted.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, (module, told) in _COMMANDS.items():
        module.arguments(commands.add_parser(name, help=told))
    return parser
