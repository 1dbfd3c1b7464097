"""The sections; importing this package registers them all, in this order."""

from benchmarks.ground.sections import periods  # noqa: F401
