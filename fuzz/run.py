"""Runs the fuzz targets in turn and says how many inputs each has seen.

``run.py --build build/fuzz --seconds 120`` divides the time; ``--runs 1000000 --simulation-runs
50000`` counts inputs instead. ``--only`` names targets by a part of their names. Another ``--seed``
draws other inputs. What a target finds new it keeps under the build folder; ``fuzz/corpus`` has what
is always run first, in a folder or an archive. An input that fails is left under ``found``: run the
program with it to see why, and give it to the corpus. Each target runs in an empty folder, and leaves
nothing there.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
# An input of these is a sequence of events or a whole run; of all others it is one instance or file.
SIMULATIONS = {
    *("tandem", "slotted", "cluster", "command_line"),
    *("epoch", "tandem_epoch", "slotted_epoch", "flow_epoch", "flow_epoch_core"),
}
# Freed memory is watched for the length of an input, which is short, and stacks are cut: both cost a
# fifth of the time. Memory that threads of a library keep is not ours.
SANITIZERS = (
    "detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=16:malloc_context_size=5"
)


def targets(build: Path) -> dict[str, list[str]]:
    """Name -> command. Readers in Python have a target each."""
    found = {
        path.stem.removeprefix("fuzz_"): [str(build / "fuzz" / path.stem)]
        for path in sorted(HERE.glob("fuzz_*.cpp"))
    }
    for path in sorted(HERE.glob("fuzz_*.py")):
        name = path.stem.removeprefix("fuzz_")
        command = [sys.executable, str(path)]
        if name == "readers":
            for corpus in sorted(HERE.glob("corpus/read_*")):
                found[corpus.name] = [*command, corpus.name.removeprefix("read_")]
        else:
            found[name] = command
    return found


def seeds_of(name: str, build: Path) -> list[Path]:
    """Folders of what a target runs first: files of the corpus, and those that its archive has."""
    corpus = HERE / "corpus"
    folders = [corpus / name] if (corpus / name).is_dir() else []
    if (archive := corpus / f"{name}.zip").exists():
        shutil.unpack_archive(archive, build / "seeds" / name)
        folders.append(build / "seeds" / name)
    return folders


def run(
    name: str, command: list[str], build: Path, seed: int, seconds: float, runs: int
) -> tuple[str, bool]:
    kept, found = build / "corpus" / name, build / "found" / name
    for folder in (kept, found):
        folder.mkdir(parents=True, exist_ok=True)
    flags = [
        f"-artifact_prefix={found}/",
        "-timeout=25",
        f"-max_len={2048 if command[0] == sys.executable else 1280}",  # a file, or choices
        "-len_control=0",
        "-entropic=0",  # its bookkeeping takes as long as half of the targets
        f"-seed={seed}",
    ]
    flags.append(f"-runs={runs}" if runs else f"-max_total_time={max(1, round(seconds))}")
    began = time.monotonic()
    seeds = seeds_of(name, build)
    with tempfile.TemporaryDirectory() as here:
        done = subprocess.run(
            [*command, *flags, str(kept), *map(str, seeds)],
            capture_output=True,
            text=True,
            errors="replace",
            cwd=here,
            env=os.environ | {"ASAN_OPTIONS": SANITIZERS},
            check=False,
        )
        left = [path.name for path in Path(here).iterdir()]
    counts = re.findall(r"^Done (\d+)", done.stderr, re.MULTILINE) or re.findall(
        r"^#(\d+)", done.stderr, re.MULTILINE
    )
    inputs = int(counts[-1]) if counts else 0
    line = f"{name:24} {inputs:>10,} inputs {time.monotonic() - began:8.1f} s"
    if left:
        return f"{line}  FAILED: left {', '.join(sorted(left))} in its folder", False
    if done.returncode == 0:
        return line, True
    kept_as = re.findall(r"(?:written to|kept as) (\S+)", done.stderr)
    why = [
        text
        for text in done.stderr.splitlines()
        if re.search(r"runtime error|Assertion|ERROR: |^\S+:\d+: |^\w*(Error|TooLong)", text)
    ]
    return f"{line}  FAILED {' '.join(kept_as)}\n    " + "\n    ".join(why[:4]), False


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--seconds", type=float, default=120.0, help="for all targets together")
    parser.add_argument("--runs", type=int, default=0, help="inputs a target, whatever it takes")
    parser.add_argument("--simulation-runs", type=int, default=0, help="the same for simulations")
    parser.add_argument("--seed", type=int, default=1, help="of all targets (default: %(default)s)")
    parser.add_argument("--only", nargs="*", default=[], help="parts of targets' names")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    chosen = {
        name: command
        for name, command in targets(arguments.build.resolve()).items()
        if not arguments.only or any(part in name for part in arguments.only)
    }
    share = arguments.seconds * arguments.workers / max(1, len(chosen))

    def one(item: tuple[str, list[str]]) -> bool:
        name, command = item
        slow = name in SIMULATIONS and arguments.simulation_runs
        line, good = run(
            name,
            command,
            arguments.build.resolve(),
            arguments.seed,
            share,
            arguments.simulation_runs if slow else arguments.runs,
        )
        print(line, flush=True)
        return good

    with ThreadPoolExecutor(arguments.workers) as pool:
        good = list(pool.map(one, chosen.items()))
    print(f"{sum(good)} of {len(good)} targets without a fault")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
