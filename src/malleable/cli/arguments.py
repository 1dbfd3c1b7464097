"""The parser: one file a command, with its arguments beside what it does."""

from __future__ import annotations

import argparse

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
)
from malleable.cli.outputs import output_arguments
from malleable.cli.terminal import reading_arguments
from malleable.papers import FIGURES


class _Version(argparse.Action):
    """Prints the version; looked up only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"malleable {version('malleable')}")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """The parser; the chosen command is the function ``run`` of what it returns."""
    parser = argparse.ArgumentParser(
        prog="malleable",
        description="Decides how many slots each malleable job gets, and says how good that is.",
        epilog="Exit status: 0; 1 wrong input; 2 usage; 3 tasks failed (run); 130 interrupted.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    plan_command.arguments(
        commands.add_parser("plan", help="plan a job table or a snapshot of a trace")
    )
    simulate_command.arguments(
        commands.add_parser("simulate", help="policies side by side on arriving jobs")
    )
    run_command.arguments(commands.add_parser("run", help="jobs of commands on this machine"))
    status_command.arguments(commands.add_parser("status", help="how far a run is"))
    govern_command.arguments(
        commands.add_parser("govern", help="one's own arrays on a shared Slurm")
    )
    bench_command.arguments(
        commands.add_parser("bench", help="measure this machine's epoch latency")
    )
    replay_command.arguments(
        commands.add_parser("replay", help="what a recorded scheduler was told, decided again")
    )
    _reproduce(commands.add_parser("reproduce", help="a paper's figure beside its own numbers"))
    demo_command.arguments(
        commands.add_parser("demo", help="FLEX against FAIR and FIFO, with a picture")
    )
    return parser


def _reproduce(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = "\n".join(
        f"{name:15}  {own.shows} ({own.usual:,} {own.unit}s)" for name, own in FIGURES.items()
    )
    add = parser.add_argument
    add("name", choices=tuple(FIGURES), metavar="NAME", help="of a figure above")
    add("--simulations", type=int, metavar="N", help="per point (default: the number above)")
    add("--processes", type=int, default=1, metavar="N", help="clusters: side by side")
    add("--quick", action="store_true", help="fewer simulations, without the largest experiments")
    add("--jobs", type=int, metavar="N", help="overlap: generated jobs a point (default: as above)")
    add("--trace", metavar="FILE", help="overlap-fig7: google2011's jobs (default: generated)")
    reading_arguments(parser)
    add("--seed", type=int, default=0, help="of the first simulation (default: %(default)s)")
    add("--plot", metavar="FILE", help="the panels as a picture (.png, .svg, .pdf)")
    output_arguments(parser)
    parser.set_defaults(run=reproduce_command.run)
