"""The command: `python -m benchmarks.mechanisms --help`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks import mechanisms
from benchmarks.mechanisms import clusters, epochs, estimates, papers, plans  # noqa: F401
from benchmarks.mechanisms.table import combine, write_page


def _measure(asked: argparse.Namespace) -> None:
    rows = []
    for name in asked.sets:
        if name not in mechanisms.SETS:
            sys.exit(f"no set {name!r}: there are {', '.join(mechanisms.SETS)}")
        for row in mechanisms.measure(name, asked.draws):
            rows.append(row)
            mean = sum(row["values"]) / len(row["values"])
            print(f"{row['instance']}  {mean:.5g}  {row['seconds']:.1f} s", flush=True)
    asked.json.write_text(json.dumps(rows, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mechanisms",
        description=mechanisms.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("measure", help="sets of instances, on the build that is installed")
    one.add_argument("sets", nargs="+", metavar="SET", help=", ".join(mechanisms.SETS))
    one.add_argument("--json", type=Path, required=True, metavar="FILE")
    one.add_argument("--draws", type=int, help="at most so many seeds of an instance")
    one.set_defaults(run=_measure)
    two = commands.add_parser(
        "combine", help="measurements with and without, into a mechanism's file"
    )
    two.add_argument("mechanism", type=Path, metavar="NAME.json", help="has all but the rows")
    two.add_argument("--with", dest="present", type=Path, nargs="+", required=True)
    two.add_argument("--plain", type=Path, nargs="+", required=True)
    two.set_defaults(run=lambda asked: combine(asked.mechanism, asked.present, asked.plain))
    three = commands.add_parser("table", help="write benchmarks/results/mechanisms.md")
    three.set_defaults(run=lambda asked: write_page())
    asked = parser.parse_args()
    asked.run(asked)


if __name__ == "__main__":
    main()
