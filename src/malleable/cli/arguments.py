"""Arguments of all commands."""

from __future__ import annotations

import argparse

from malleable.cli import (
    bench_command,
    demo_command,
    plan_command,
    reproduce_command,
    simulate_command,
    slotted_command,
)
from malleable.cli.snapshot import RECORDED
from malleable.files.reading import MAX_SIZE, parse_size
from malleable.flows.plan import FLOW_POLICIES
from malleable.jobs.plan import DEFAULT_EFFORT, POLICIES
from malleable.jobs.table import MIN_MODES
from malleable.papers import FIGURES
from malleable.slotted.generate import SETTINGS

__all__ = ["build_parser"]


def _version() -> str:
    from importlib.metadata import version

    return version("malleable")


class _Version(argparse.Action):
    """Prints the version; looked up only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"malleable {_version()}")
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
    _plan(commands.add_parser("plan", help="plan a job table or a snapshot of a trace"))
    _simulate(commands.add_parser("simulate", help="policies side by side on arriving jobs"))
    _bench(commands.add_parser("bench", help="measure this machine's epoch latency"))
    _reproduce(commands.add_parser("reproduce", help="a paper's figure beside its own numbers"))
    _demo(commands.add_parser("demo", help="FLEX against FAIR and FIFO, with a picture"))
    return parser


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _reading(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--skip-bad", action="store_true", help="leave malformed records of a trace out")
    add(
        "--max-size",
        type=_size,
        default=MAX_SIZE,
        metavar="SIZE",
        help=f"refuse files with more data, unpacked ({MAX_SIZE >> 30}G)",
    )


def _output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", metavar="FILE", help="the result as JSON (-: standard output)")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")


def _plan(parser: argparse.ArgumentParser) -> None:
    parser.description = "Plan the jobs of a table, or of a trace at one moment."
    add = parser.add_argument
    add(
        "file",
        metavar="FILE",
        help="job table, flows, SWIM or Rumen trace, plain or .gz (-: stdin)",
    )
    add("--slots", type=int, metavar="N", help="capacity (flows: default as their file says)")
    add("--objective", default="sum:response", help="{sum,max}:KIND (default: %(default)s)")
    add(
        "--policy",
        choices=tuple(dict.fromkeys((*POLICIES, *FLOW_POLICIES))),
        help="default: flex for jobs, flowflex for flows",
    )
    add(
        "--effort",
        type=int,
        metavar="N",
        help=f"flex: candidates after the fixed orders (default: {DEFAULT_EFFORT}; of more than 2,000"
        " jobs fewer, so that planning takes seconds)",
    )
    add("--budget", type=float, metavar="S", help="flex: ceiling of wall-clock time [s]")
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--now", type=float, metavar="S", help="time of the plan [s]")
    when.add_argument(
        "--at",
        type=float,
        metavar="SECONDS",
        help="snapshot of what has arrived by then, planned at that time"
        " (default for a trace: its last arrival)",
    )
    add(
        "--snapshot",
        choices=(RECORDED, *POLICIES),
        default=RECORDED,
        metavar="HOW",
        help="what is left of the jobs then. recorded (default): as FILE says; only Rumen traces know"
        " what had been done, of others it is every job that has arrived, with all of its work."
        f" {', '.join(POLICIES)}: as that policy leaves it, simulated on --slots until then",
    )
    _phase(parser)
    _reading(parser)
    add("--min-mode", choices=MIN_MODES, default=MIN_MODES[0], help="default: %(default)s")
    add("--explain", action="store_true", help="why, one line per job")
    add("--pieces", metavar="FILE", help="the whole schedule as CSV (-: standard output)")
    add("--plot", metavar="FILE", help="the packing as a picture (.png, .svg, .pdf)")
    _output(parser)
    parser.set_defaults(run=plan_command.run, usage=parser.error)


def _phase(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--phase", choices=("map", "reduce"), default="map", help="of a trace (default: map)"
    )


def _simulate(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Simulate policies on a table or a stream: map and shuffle phases that overlap (tandem), map and "
        "reduce tasks in slots (slotted), or tasks on nodes (cluster)."
    )
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", help="jobs (-: standard input)")
    add(
        "--format",
        choices=simulate_command.FORMATS,
        help="of FILE (default: table; cluster: by its content)",
    )
    add(
        "--generate",
        type=int,
        metavar="N",
        help="N jobs as in section 5.3 of the overlap paper, or N slots as in section VII of ASRPT's",
    )
    add(
        "--model",
        choices=("tandem", "slotted", "cluster"),
        default="tandem",
        help="default: %(default)s",
    )
    add(
        "--policy",
        metavar="A,B",
        help=f"default: {simulate_command.DEFAULT_POLICIES}; {slotted_command.DEFAULT_POLICIES}; "
        f"flex,fair,fifo",
    )
    add("--load", type=float, metavar="L", help="scale capacities to it; of a stream (0.75; 0.9)")
    add(
        "--estimates",
        metavar="SIGMA|column|FILE|learn",
        help="sizes as policies see them: log-normal error; slotted: the table's column, another "
        "table; cluster: learned from finished tasks",
    )
    add("--map-capacity", type=float, default=1.0, metavar="C", help="default: %(default)s")
    add("--shuffle-capacity", type=float, default=1.0, metavar="C", help="default: %(default)s")
    add("-k", type=int, default=100, metavar="N", help="jobs that map at once under k-lps")
    add("--as-printed", action="store_true", help="capacity left over is not handed on")
    add("--no-overlap", action="store_true", help="shuffle only after the map phase")
    add("--horizon", type=float, metavar="S", help="stop then [s; slots]")
    add("--seed", type=int, default=0, help="of a stream (default: %(default)s)")
    add("--records", metavar="FILE", help="one row a job, CSV or .parquet")
    add("--plot", metavar="FILE", help="distribution of the responses, or FLEX over FAIR on a grid")
    add(
        "--underestimates",
        choices=("first", "bounce"),
        default="first",
        help="jobs that overrun (tandem, slotted)",
    )
    add("--plot-slowdown", metavar="FILE", help="mean slowdown by size (tandem, cluster)")
    _reading(parser)
    group = parser.add_argument_group("tandem only")
    group.add_argument("--effort", type=int, metavar="N", help="best: candidates (default: 1000)")
    _slotted(parser.add_argument_group("slotted only"))
    _cluster(parser.add_argument_group("cluster only"))
    _output(parser)
    parser.set_defaults(run=simulate_command.run)


def _cluster(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--cluster", metavar="FILE", help="its nodes (TOML; or give --load)")
    add("--objective", help="of flex (default: sum:response)")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="any other option")
    add("--read", action="append", default=[], metavar="NAME=VALUE", help="an option of the reader")
    add("--graphs", metavar="FILE", help="tpch: query graphs (default: queries.yaml beside FILE)")
    add("--replications", type=int, default=1, metavar="N", help="seeds, with intervals")
    add("--grid", action="store_true", help="speed-ups p 1, .8, .5 x size errors sigma 0, .2, 1")
    add("--loads", metavar="L,L", help="a grid of loads")
    add("--speedups", metavar="P,P", help="a grid of speed-ups: s tasks do s^p")
    add("--errors", metavar="S,S", help="a grid of size errors sigma")
    add("--task-records", metavar="FILE", help="one row a task, with its slot, CSV or .parquet")
    add("--plot-load", metavar="FILE", help="utilisation and jobs in the system over time")
    add("--processes", type=int, default=1, metavar="N", help="replications side by side")


def _slotted(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--machines", type=int, metavar="N", help="default: 100, or what --load asks for")
    add("--non-preemptive", action="store_true", help="a reduce task keeps its machine to its end")
    add("--setting", choices=SETTINGS, default=SETTINGS[0], help="of --generate")
    add("--tasks", default="1-10", metavar="LOW-HIGH", help="reduce tasks of a generated job")
    add("--slot-seconds", type=float, metavar="S", help="of a trace: length of a slot")
    add("--plot-ratio", metavar="FILE", help="efficiency ratio over time")


def _bench(parser: argparse.ArgumentParser) -> None:
    parser.description = "Time decisions while 1 % of the jobs come, go and change in between."
    add = parser.add_argument
    add("--jobs", type=int, default=100_000, metavar="N", help="default: %(default)s")
    add("--epochs", type=int, default=2000, metavar="N", help="decisions (default: %(default)s)")
    add("--objective", default="sum:response", help="default: %(default)s")
    _output(parser)
    parser.set_defaults(run=bench_command.run)


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
    _reading(parser)
    add("--seed", type=int, default=0, help="of the first simulation (default: %(default)s)")
    add("--plot", metavar="FILE", help="the panels as a picture (.png, .svg, .pdf)")
    _output(parser)
    parser.set_defaults(run=reproduce_command.run)


def _demo(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "FLEX, FAIR and FIFO on a generated workload, and on a trace if one is named; the latency "
        "of an epoch; a picture of the packings."
    )
    add = parser.add_argument
    add("--trace", metavar="PATH", help="job table, SWIM or Rumen trace (empty: none)")
    add("--at", type=float, metavar="SECONDS", help="time of the trace's snapshot")
    _phase(parser)
    _reading(parser)
    add("--slots", type=int, metavar="N", help="for the trace (default: its own load)")
    add("--seed", type=int, default=1, help="of the generated workload (default: %(default)s)")
    add("--output", default="out", metavar="DIR", help="for pictures (default: %(default)s)")
    _output(parser)
    parser.set_defaults(run=demo_command.run)
