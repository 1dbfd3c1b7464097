"""Real traces, which are not part of the project: tests that need one are skipped without it."""

import os
from pathlib import Path

import pytest


def trace_file(*parts: str) -> Path:
    """A file or folder below the one that MALLEABLE_TRACES names."""
    folder = os.environ.get("MALLEABLE_TRACES")
    path = Path(folder or ".").joinpath(*parts)
    if not folder or not path.exists():
        pytest.skip("real traces are not part of the project: set MALLEABLE_TRACES to their folder")
    return path
