"""The command: `python -m benchmarks.ground --help`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import benchmarks.ground
from benchmarks.ground import sections  # noqa: F401
from benchmarks.ground.table import SECTIONS, as_data, lines, measure, write_json


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ground",
        description=benchmarks.ground.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="fewer seeds, smaller sizes")
    parser.add_argument("--workers", type=int, default=2, help="processes [2]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all figures")
    asked = parser.parse_args()
    for name in asked.sections:
        if name not in SECTIONS:
            parser.error(f"no section {name!r}: there are {', '.join(SECTIONS)}")
    found = []
    for each in measure(asked.sections or list(SECTIONS), asked.quick, asked.workers):
        found.append(each)
        print(*lines(*each), "", sep="\n", flush=True)
    if asked.json:
        write_json(asked.json, as_data(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
