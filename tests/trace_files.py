"""Paths of real traces, which are not part of the project: tests that need one are skipped without it."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).absolute().parent.parent


def traces_folder(root: Path = ROOT) -> Path | None:
    """The folder that MALLEABLE_TRACES names, or ``shared/traces`` beside the checkout."""
    named = os.environ.get("MALLEABLE_TRACES")
    if named:
        if not Path(named).is_dir():
            pytest.fail(f"MALLEABLE_TRACES = {named}: no such folder")
        return Path(named)
    for checkout in (root, root.resolve()):
        beside = checkout.parent / "shared" / "traces"
        if beside.is_dir():
            return beside
    return None


def trace_file(*parts: str) -> Path:
    """A file or folder below the traces."""
    folder = traces_folder()
    if folder is None:
        pytest.skip(
            "real traces are not part of the project: put them into shared/traces beside the"
            " checkout, or set MALLEABLE_TRACES to their folder"
        )
    path = folder.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no {'/'.join(parts)} among the traces")
    return path
