"""One stem names header, source and test of the core: what breaks that is listed, and may only become less.

    python -m tests.stems            what has no test of its own and is not listed, or is listed and has one
    python -m tests.stems --record   writes the list anew

A header ``cpp/include/malleable/ROOM/x.hpp`` has the test ``cpp/tests/test_x.cpp``; a source is called
as a header of its room, or ``x_part.cpp`` if it is a part of that one; a test is called as a header.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEBTS = ROOT / "tests" / "stem_debts.txt"
# Behind `malleable/malleable.h`: sources by what they wrap, and two tests of all of them.
BEHIND_ONE_HEADER = "embed"


def untidy(headers: Iterable[str], sources: Iterable[str], tests: Iterable[str]) -> list[str]:
    """What has no counterpart, of files ``ROOM/STEM`` and the stems of tests."""
    headers, tests = set(headers), set(tests)
    found = [f"header {one}: no test" for one in headers if one.partition("/")[2] not in tests]
    for source in sources:
        words = source.split("_")
        wholes = {"_".join(words[: k + 1]) for k in range(len(words))}
        if not wholes & headers:
            found.append(f"source {source}: no header")
    stems = {one.partition("/")[2] for one in headers}
    found += [f"test {one}: no header" for one in tests if one not in stems]
    return sorted(found)


def today() -> list[str]:
    """What the core has."""

    def named(folder: Path, suffix: str) -> list[str]:
        files = sorted(folder.rglob(f"*{suffix}"))
        names = [file.relative_to(folder).with_suffix("").as_posix() for file in files]
        return [name for name in names if not name.startswith(f"{BEHIND_ONE_HEADER}/")]

    tests = sorted((ROOT / "cpp" / "tests").glob("test_*.cpp"))
    return untidy(
        named(ROOT / "cpp" / "include" / "malleable", ".hpp"),
        named(ROOT / "cpp" / "src", ".cpp"),
        [test.stem.removeprefix("test_") for test in tests],
    )


def main() -> None:
    """Prints what is wrong; status 1 if anything is."""
    now = today()
    if "--record" in sys.argv:
        DEBTS.write_text("".join(f"{line}\n" for line in now))
    known = DEBTS.read_text().splitlines()
    wrong = [line for line in now if line not in known]
    wrong += [f"{line}: it is tidy now; --record strikes it" for line in known if line not in now]
    print("\n".join(wrong) or f"{len(now)} names without a counterpart, all listed.")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
