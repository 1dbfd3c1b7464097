"""The command: `python -m benchmarks.rivals --help`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import benchmarks.rivals
from benchmarks.rivals import sections  # noqa: F401
from benchmarks.rivals.keep import keep
from benchmarks.rivals.table import SECTIONS, as_data, lines, measure, write_json


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.rivals",
        description=benchmarks.rivals.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="fewer seeds, smaller instances")
    parser.add_argument("--workers", type=int, default=2, help="processes [2]")
    parser.add_argument("--draws", type=int, help="at most so many of an instance")
    parser.add_argument("--seeds", type=int, metavar="FIRST", help="fresh draws: their first seed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    parser.add_argument(
        "--measured", type=Path, metavar="FILE", help="figures of --json: measure nothing"
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="into docs/internals/rivals.md, beside the first figures",
    )
    asked = parser.parse_args()
    for name in asked.sections:
        if name not in SECTIONS:
            parser.error(f"no section {name!r}: there are {', '.join(SECTIONS)}")
    if asked.keep and asked.quick:
        parser.error("--keep: not of --quick")
    if asked.measured:
        keep(json.loads(asked.measured.read_text()), fresh=asked.seeds is not None)
        return 0
    found = []
    for each in measure(
        asked.sections or list(SECTIONS), asked.quick, asked.workers, asked.draws, asked.seeds
    ):
        found.append(each)
        print(*lines(*each), "", sep="\n", flush=True)
    if asked.json:
        write_json(asked.json, as_data(found))
    if asked.keep:
        keep(as_data(found), fresh=asked.seeds is not None)
    rows = [row for _, rows in found if not isinstance(rows, str) for row in rows]
    return int(any(row.errors() for row in rows))


if __name__ == "__main__":
    sys.exit(main())
