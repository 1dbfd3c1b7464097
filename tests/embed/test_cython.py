"""`cimport malleable` with the Cython that is here; tests/installed has several, against the wheel."""

import importlib.util
import re
import shutil
import subprocess
import sys
import sysconfig
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pytest

from malleable import _core, embed
from tests.embed import loops, pxd
from tests.full import in_full

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def build(python, folder, include):
    """`loop.pyx` as an extension module in ``folder``."""
    shutil.copy(HERE / "loop.pyx", folder)
    subprocess.run([python, "-m", "cython", "-3", "loop.pyx"], cwd=folder, check=True)
    compiler = shutil.which("cc") or pytest.skip("needs a C compiler")
    headers = sysconfig.get_path("include")
    command = [compiler, "-O2", "-shared", "-fPIC", f"-I{headers}", f"-I{include}", "loop.c"]
    subprocess.run([*command, "-o", "loop.so"], cwd=folder, check=True)


@in_full
def test_a_whole_loop_decides_as_python(tmp_path):
    pytest.importorskip("Cython", reason="needs Cython; `make environments` brings three")
    build(sys.executable, tmp_path, embed.get_include())
    spec = importlib.util.spec_from_file_location("loop", tmp_path / "loop.so")
    loop = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loop)
    work, most, offset = loops.instance()
    expected = loops.in_python(work, most, offset)
    for epoch in (None, loops.new_epoch()):
        log = np.full(expected.shape, -1)
        loop.run(work, most, offset, 40, log, 0 if epoch is None else embed.handle(epoch))
        np.testing.assert_array_equal(log, expected)
    assert loop.version() == _core.__version__
    with pytest.raises(ValueError, match="max_slots"):
        loop.run(work, np.zeros_like(most), offset, 40, log)


def declared(text):
    """Functions of the package's `.pxd` as capsules name them."""
    found = {}
    for result, name, given in re.findall(r"^cdef ([^(]*?)(\w+)\(([^)]*)\) noexcept", text, re.M):
        kinds = [re.sub(r"\w+$", "", " ".join(one.split())).strip() for one in given.split(",")]
        const = [re.sub(r"^const (\w+) \*", r"\1 const *", kind) for kind in kinds]
        kind = re.sub(r"^const (\w+) \*", r"\1 const *", result.strip())
        joined = ", ".join(const) or "void"
        found[name] = f"{kind}({joined})" if kind.endswith("*") else f"{kind} ({joined})"
    return found


def test_declarations_are_those_of_the_header():
    """Line by line, so that a failure names the line to change."""
    written = pxd.PXD.read_text(encoding="utf-8").splitlines()
    meant = pxd.declarations(pxd.HEADER.read_text(encoding="utf-8")).splitlines()
    for number, (own, line) in enumerate(zip_longest(written, meant), start=1):
        assert own == line, f"_core.pxd, line {number}: run python -m tests.embed.pxd"


def test_declarations_are_those_of_the_table():
    import ctypes

    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    published = {name: name_of(one).decode() for name, one in _core.__pyx_capi__.items()}
    assert len(published) >= 34
    text = (ROOT / "src" / "malleable" / "_core.pxd").read_text(encoding="utf-8")
    assert declared(text) == published
