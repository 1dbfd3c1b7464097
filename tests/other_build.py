"""Run Python tests on an extension built otherwise: ``python -m tests.other_build BUILD TEST ...``.

The package is copied beside the extension of that build folder, and found there before any installed one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(build: str, tests: list[str], launcher: tuple[str, ...] = (), **variables: str) -> int:
    """Exit status of pytest, started by `launcher` with further environment variables."""
    place = Path(build).resolve() / "python"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(
        ROOT / "src" / "malleable", place / "malleable", ignore=shutil.ignore_patterns("_core.*.so")
    )
    (extension,) = Path(build).resolve().glob("_core.*.so")
    shutil.copy(extension, place / "malleable")
    include = place / "malleable" / "include" / "malleable"
    include.mkdir(parents=True)
    shutil.copy(ROOT / "cpp" / "include" / "malleable" / "malleable.h", include)
    paths = [str(place), str(ROOT), *(path for path in sys.path if path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | variables
    where = "import malleable._core as c; print(c.__file__)"
    # Without site: an editable installation puts its own extension before every path.
    command = [*launcher, sys.executable, "-S"]
    found = subprocess.run(
        [*command, "-c", where], check=True, capture_output=True, text=True, env=environment
    ).stdout.strip()
    if Path(found).parent != place / "malleable":
        raise SystemExit(f"another extension is in the way: {found}")
    options = ["-q", "-p", "no:cacheprovider", *(str(ROOT / test) for test in tests)]
    return subprocess.run(
        [*command, "-m", "pytest", *options], check=False, env=environment, cwd=place
    ).returncode


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
