"""Run the threads test on an extension built with ThreadSanitizer: ``python -m tests.thread_sanitizer BUILD``.

The interpreter is not instrumented, so the sanitizer's runtime is loaded before it; it sees the
interpreter's locks, not its memory. Only what the extension does counts: the runtime ends the run at
the first race that it finds.
"""

import os
import subprocess
import sys

from tests.other_build import run


def main(build: str) -> int:
    """Exit status of pytest."""
    runtime = subprocess.run(
        [os.environ.get("CXX", "c++"), "-print-file-name=libtsan.so"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    return run(
        build,
        ["tests/test_threads.py"],
        ("setarch", "-R"),
        LD_PRELOAD=runtime,
        TSAN_OPTIONS="halt_on_error=1 exitcode=66 report_signal_unsafe=0",
        OPENBLAS_NUM_THREADS="1",
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
