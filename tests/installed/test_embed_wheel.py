"""What other languages get from the wheel: the header, and `cimport malleable` with three Cythons."""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WHEEL = Path(os.environ["MALLEABLE_WHEEL"]).resolve()
EMBED = Path(__file__).parents[1] / "embed"
# In an environment without the sources: builds the loop, runs it, compares it with Python's.
SCRIPT = """
import shutil, subprocess, sysconfig, sys
from pathlib import Path
import malleable as mb
from malleable import embed
include = Path(mb.get_include())
assert (include / "malleable" / "malleable.h").is_file() and "site-packages" in str(include), include
subprocess.run([sys.executable, "-m", "cython", "-3", "loop.pyx"], check=True)
compiler = shutil.which("cc")
headers = sysconfig.get_path("include")
command = [compiler, "-O2", "-shared", "-fPIC", f"-I{headers}", f"-I{include}", "loop.c"]
subprocess.run([*command, "-o", "loop" + sysconfig.get_config_var("EXT_SUFFIX")], check=True)
import numpy as np
import loop, loops
work, most, offset = loops.instance()
expected = loops.in_python(work, most, offset)
for epoch in (None, loops.new_epoch()):
    log = np.full(expected.shape, -1)
    loop.run(work, most, offset, 40, log, 0 if epoch is None else embed.handle(epoch))
    assert (log == expected).all()
print("same", loop.version(), mb.__version__)
"""


@functools.cache
def environment(cython):
    folder = WHEEL.parent.parent / "build" / "environments" / f"cython{cython}"
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([folder / "bin" / "python", *install, WHEEL, f"cython{cython}"], check=True)
    return folder / "bin" / "python"


@pytest.mark.parametrize("cython", ["==0.29.*", "==3.0.*", ">=3.1"])
def test_a_loop_in_cython(cython, tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    for name in ("loop.pyx", "loops.py"):
        shutil.copy(EMBED / name, tmp_path)
    python = environment(cython)
    command = [python, "-c", SCRIPT]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("same ")
