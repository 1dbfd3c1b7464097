"""The parser: one file a command, with its arguments beside what it does."""

from __future__ import annotations

import argparse

from malleable.cli import (
    bench_command,
    demo_command,
    plan_command,
    reproduce_command,
    simulate_command,
)
from malleable.cli.outputs import output_arguments
from malleable.cli.terminal import reading_arguments


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
        epilog="Exit status: 0; 1 wrong input; 2 usage; 130 interrupted.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    plan_command.arguments(
        commands.add_parser("plan", help="plan a job table or a snapshot of a trace")
    )
    simulate_command.arguments(
        commands.add_parser("simulate", help="policies side by side on arriving jobs")
    )
    bench_command.arguments(
        commands.add_parser("bench", help="measure this machine's epoch latency")
    )
    _reproduce(commands.add_parser("reproduce", help="a paper's figure beside its own numbers"))
    demo_command.arguments(
        commands.add_parser("demo", help="FLEX against FAIR and FIFO, with a picture")
    )
    return parser


def _reproduce(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "flex-fig5: the three panels of figure 5 of the FLEX paper, and the larger experiments of "
        "its section 4.1. flowflex-fig10, flowflex-fig11: sums and maxima over flows, FlowFlex against "
        "FAIR, FIFO and the best bound (25 instances). asrpt-fig5 to asrpt-fig13: map and reduce in "
        "slots, ratios to the bound, their convergence (fig9) and flow times (from fig10 on). overlap-fig7, "
        "overlap-fig9: ratio to the bound over load on a trace, and mean slowdown by size. flex-fig6: FLEX "
        "and FAIR on the paper's cluster; flowflex-fig12: flows on a cluster. adaptive-fig4 to -fig9, "
        "adaptive-table6, -table7: nine benchmarks on six unlike nodes."
    )
    add = parser.add_argument
    names = tuple(reproduce_command.FIGURES)
    add("name", choices=names, metavar="NAME", help=", ".join(names))
    add(
        "--simulations",
        type=int,
        metavar="N",
        help="per point (default: 100, flows: 25, asrpt: 200, clusters: 10, adaptive: 30)",
    )
    add("--processes", type=int, default=1, metavar="N", help="clusters: side by side")
    add("--quick", action="store_true", help="fewer simulations, without the largest experiments")
    add("--jobs", type=int, metavar="N", help="overlap: generated jobs a point")
    add("--trace", metavar="FILE", help="overlap-fig7: google2011's jobs (default: generated)")
    reading_arguments(parser)
    add("--seed", type=int, default=0, help="of the first simulation (default: %(default)s)")
    add("--plot", metavar="FILE", help="the panels as a picture (.png, .svg, .pdf)")
    output_arguments(parser)
    parser.set_defaults(run=reproduce_command.run)
