"""Makes `tests.oracles` and `tests.strategies` importable from a fresh clone, whatever the start directory."""

import signal
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.full import part  # noqa: E402

# Slow machines must not fail: nothing is timed, and the examples are the same in every run.
settings.register_profile(
    "malleable",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=part(100, 30),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("malleable")

# What a shell starts in the background ignores interrupts; the tests of Ctrl-C need to hear them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
