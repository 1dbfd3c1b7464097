"""The programs of examples/embed, each built by the command that it names. C and C++: cpp/tests/installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "embed"
EXPECTED = (EXAMPLES / "expected.txt").read_text(encoding="utf-8")


def printed(*command, **how):
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, check=True, text=True, **how
    )
    return done.stdout


def test_numba():
    pytest.importorskip("numba", reason="needs malleable[custom]")
    assert printed(EXAMPLES / "loop_numba.py") == EXPECTED


def test_cython(tmp_path):
    pytest.importorskip("Cython", reason="needs Cython, of malleable[test]")
    shutil.which("cc") or pytest.skip("needs a C compiler")
    source, target = tmp_path / "source", tmp_path / "target"
    shutil.copytree(EXAMPLES / "cython", source)
    # `pip install .`, with what is installed here in place of packages from the network.
    here = ["--no-build-isolation", "--no-deps", "--no-index", "--quiet", "--target", target]
    printed("-m", "pip", "install", *here, ".", cwd=source)
    paths = os.pathsep.join(filter(None, [str(target), os.environ.get("PYTHONPATH", "")]))
    run = "import malleable_loop; malleable_loop.run()"
    assert printed("-c", run, env=os.environ | {"PYTHONPATH": paths}) == EXPECTED
