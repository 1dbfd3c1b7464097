"""Run the threads test on an extension built with ThreadSanitizer: ``thread_sanitizer.py BUILD``.

The interpreter is not instrumented, so the sanitizer's runtime is loaded before it; it sees the
interpreter's locks, not its memory. Only what the extension does counts: the runtime ends the run at
the first race that it finds.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(build: str) -> int:
    """Exit status of pytest."""
    place = Path(build).resolve() / "python"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(
        ROOT / "src" / "malleable", place / "malleable", ignore=shutil.ignore_patterns("_core.*.so")
    )
    (extension,) = Path(build).resolve().glob("_core.*.so")
    shutil.copy(extension, place / "malleable")
    runtime = subprocess.run(
        [os.environ.get("CXX", "c++"), "-print-file-name=libtsan.so"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    environment = os.environ | {
        "LD_PRELOAD": runtime,
        "PYTHONPATH": os.pathsep.join([str(place), str(ROOT), sysconfig.get_path("purelib")]),
        "TSAN_OPTIONS": "halt_on_error=1 exitcode=66 report_signal_unsafe=0",
        "OPENBLAS_NUM_THREADS": "1",
    }
    where = "import malleable._core as c; print(c.__file__)"
    # Without site: an editable installation puts its own extension before every path.
    command = ["setarch", "-R", sys.executable, "-S"]
    found = subprocess.run(
        [*command, "-c", where], check=True, capture_output=True, text=True, env=environment
    ).stdout.strip()
    if Path(found).parent != place / "malleable":
        raise SystemExit(f"the extension without the sanitizer is in the way: {found}")
    tests = ["-q", "-p", "no:cacheprovider", str(ROOT / "tests" / "test_threads.py")]
    run = [*command, "-m", "pytest", *tests]
    return subprocess.run(run, check=False, env=environment, cwd=place).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
