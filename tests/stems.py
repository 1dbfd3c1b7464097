"""One stem names header, source, module and test of one thing: what breaks that is listed, and only shrinks.

    python -m tests.stems            what has no test of its own and is not listed, or is listed and has one
    python -m tests.stems --record   writes the list anew

A header ``cpp/include/malleable/LAYER/x.hpp`` has the test ``cpp/tests/test_x.cpp``; a source is called
as a header of its layer, or ``x_part.cpp`` if it is a part of that one; so is a test. Tests of the C interface,
whose one header is ``malleable.h``, begin with ``embed``. Headers in a folder that is called as a header
beside it are parts of that one: ``policy/epoch/x.hpp`` may have ``test_epoch_x.cpp``, and ``test_epoch.cpp``
tests it.

A module ``src/malleable/LAYER/x.py`` has the test ``tests/LAYER/test_x.py``, or ``test_x_part.py`` if it has
several; the name of the innermost layer may stand before ``x`` (``test_flow_check`` of ``flows/check``). Tests
of several modules have names of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEBTS = ROOT / "tests" / "stem_debts.txt"
# Behind `malleable/malleable.h`: sources by what they wrap, and tests of all of them.
BEHIND_ONE_HEADER = "embed"


def untidy(headers: Iterable[str], sources: Iterable[str], tests: Iterable[str]) -> list[str]:
    """What has no counterpart, of files ``LAYER/STEM`` and the stems of tests."""
    headers, tests = set(headers), set(tests)
    stems = {one: one.partition("/")[2].replace("/", "_") for one in headers}
    found = [
        f"header {one}: no test"
        for one, stem in stems.items()
        if not ({stem} if one.count("/") < 2 else parts_of(stem)) & tests
    ]
    for source in sources:
        if not parts_of(source) & headers:
            found.append(f"source {source}: no header")
    known = {*stems.values(), BEHIND_ONE_HEADER}
    found += [f"test {one}: no header" for one in tests if not parts_of(one) & known]
    return sorted(found)


def parts_of(stem: str) -> set[str]:
    """The stem, and all that it may be a part of: ``x_y`` is of ``x``."""
    words = stem.split("_")
    return {"_".join(words[: k + 1]) for k in range(len(words))}


def untested(modules: Iterable[str], tests: Iterable[str]) -> list[str]:
    """Modules ``LAYER/STEM`` without a test of their name, of tests ``LAYER/STEM``."""
    known = {f"{Path(one).parent}/{part}" for one in tests for part in parts_of(Path(one).name)}
    found = []
    for module in modules:
        place = Path(module)
        layer = place.parent.name
        names = [place.name, *(f"{own}_{place.name}" for own in (layer, layer.removesuffix("s")))]
        # Tests of layers within layers may stand in the outer one.
        if not any(f"{each}/{name}" in known for each in place.parents for name in names):
            found.append(f"module {module}: no test")
    return sorted(found)


def today() -> list[str]:
    """What core and package have."""

    def named(folder: Path, suffix: str) -> list[str]:
        files = sorted(folder.rglob(f"*{suffix}"))
        names = [file.relative_to(folder).with_suffix("").as_posix() for file in files]
        return [name for name in names if not name.startswith(f"{BEHIND_ONE_HEADER}/")]

    tests = sorted((ROOT / "cpp" / "tests").glob("test_*.cpp"))
    core = untidy(
        named(ROOT / "cpp" / "include" / "malleable", ".hpp"),
        named(ROOT / "cpp" / "src", ".cpp"),
        [test.stem.removeprefix("test_") for test in tests],
    )
    modules = [one for one in named(ROOT / "src" / "malleable", ".py") if "/__" not in f"/{one}"]
    of_python = named(ROOT / "tests", ".py")
    return core + untested(modules, [one.replace("test_", "", 1) for one in of_python])


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
