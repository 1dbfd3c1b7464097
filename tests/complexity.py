"""Functions with more than 15 ways through them: those of today are listed, and may only become fewer.

    python -m tests.complexity            what is more complex than the list says, or less: the list shrinks
    python -m tests.complexity --record   writes the list anew

The list has the count (McCabe's, as lizard counts it), the file and the function.
"""

from __future__ import annotations

import sys
from pathlib import Path

import lizard

ROOT = Path(__file__).resolve().parent.parent
DEBTS = ROOT / "tests" / "complexity_debts.txt"
LAYERS = ("cpp/src", "cpp/include", "bindings", "src/malleable")
MOST = 15


def counted() -> dict[str, int]:
    """Ways through each function that has more than `MOST`; of functions of one name the most."""
    files = [
        str(path)
        for layer in LAYERS
        for path in sorted((ROOT / layer).rglob("*"))
        if path.suffix in (".cpp", ".hpp", ".h", ".py")
    ]
    found: dict[str, int] = {}
    for file in lizard.analyze_files(files, threads=2):
        path = Path(file.filename).relative_to(ROOT).as_posix()
        for function in file.function_list:
            if function.cyclomatic_complexity > MOST:
                key = f"{path} {function.name.replace(' ', '')}"
                found[key] = max(found.get(key, 0), function.cyclomatic_complexity)
    return found


def listed(text: str) -> dict[str, int]:
    """The list."""
    rows = (line.partition(" ") for line in text.splitlines() if line)
    return {key: int(count) for count, _, key in rows}


def faults(now: dict[str, int], known: dict[str, int]) -> list[str]:
    """What the list does not allow, and what it should not have any more."""
    found = [
        f"{key}: {now[key]} ways through it, the list has {known.get(key, MOST)}"
        for key in sorted(now)
        if now[key] > known.get(key, MOST)
    ]
    return found + [
        f"{key}: {now.get(key, MOST)} ways at most, the list still has {known[key]}; --record strikes it"
        for key in sorted(known)
        if now.get(key, 0) < known[key]
    ]


def main() -> None:
    """Prints what is wrong; status 1 if anything is."""
    now = counted()
    if "--record" in sys.argv:
        DEBTS.write_text("".join(f"{count} {key}\n" for key, count in sorted(now.items())))
    wrong = faults(now, listed(DEBTS.read_text()))
    print("\n".join(wrong) or f"{len(now)} functions with more than {MOST} ways, all listed.")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
