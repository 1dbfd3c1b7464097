"""The proving ground: every rule against the plainest rivals, run the way a user runs it.

python -m benchmarks.ground [SECTION ...] [--quick] [--json FILE]
"""
