"""Futures on every CPython that is found here: they set private fields of those of the standard library."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live import futures_to_check

HERE = Path(__file__).resolve()
CHECKS = [name for name in vars(futures_to_check) if name.startswith("check_")]
OLDEST, NEWEST = 10, 19


def pythons():
    """By version (``3.12``) an interpreter: this one, those on the path, and those that pyenv has."""
    found = {f"3.{sys.version_info.minor}": sys.executable}
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in range(OLDEST, NEWEST):
        for place in [
            shutil.which(f"python3.{minor}"),
            *sorted(versions.glob(f"3.{minor}.*/bin/python")),
        ]:
            asked = [place, "-c", "import sys; print(sys.implementation.name, sys.version_info[1])"]
            said = (
                subprocess.run(asked, capture_output=True, text=True, check=False)
                if place
                else None
            )
            if said and said.stdout.split() == ["cpython", str(minor)]:
                found.setdefault(f"3.{minor}", str(place))
    return found


@pytest.mark.parametrize("name", CHECKS)
def test_here(name):
    getattr(futures_to_check, name)()


def test_on_every_python():
    root = HERE.parent.parent.parent
    path = os.pathsep.join([str(root / "src"), str(root)])
    said = {}
    for version, python in pythons().items():
        asked = [python, "-S", str(HERE.with_name("futures_to_check.py"))]
        own = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(asked, env=own, capture_output=True, text=True, check=False)
        said[version] = done.stdout, done.stderr
    assert said == dict.fromkeys(said, ("all right\n", ""))
