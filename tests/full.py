"""How many random cases a test runs: a part of them after every change, all in `make full`.

MALLEABLE_FULL=1 asks for all.
"""

import os

import pytest

FULL = os.environ.get("MALLEABLE_FULL") == "1"

in_full = pytest.mark.skipif(not FULL, reason="`make full` runs it")


def part(count: int, least: int = 5) -> int:
    """All ``count`` cases in `make full`, else a fifth of them, and ``least`` at least."""
    return count if FULL else min(count, max(least, count // 5))
