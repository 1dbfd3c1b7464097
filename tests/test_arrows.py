"""Arrows run one way: every #include and every import is read, none may run back."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CPP_ROOMS = ("model", "kernel", "policy", "sim")
MODEL, KERNELS, PLANNING, EPOCH, SIMULATION, LIVE, REPORT, CLI, TOP = range(9)
PYTHON_ROOMS = {
    "domain": MODEL,
    "tables": MODEL,
    "flow_tables": MODEL,
    "columns": MODEL,
    "objectives": MODEL,
    "policies": MODEL,
    "values": MODEL,
    "decisions": MODEL,
    "views": MODEL,
    "workloads": MODEL,
    "schedule_check": KERNELS,
    "flow_check": KERNELS,
    "flow_kernels": KERNELS,
    "kernels": KERNELS,
    "overlap_kernels": KERNELS,
    "class_matching": KERNELS,
    "planning": PLANNING,
    "adaptive_policy": PLANNING,
    "flow_planning": PLANNING,
    "epoch": EPOCH,
    "flow_epoch": EPOCH,
    "slotted_epoch": EPOCH,
    "overlap_epoch": EPOCH,
    "adaptive_epoch": EPOCH,
    "simulation": SIMULATION,
    "live": LIVE,
    "report": REPORT,
    "cli": CLI,
    "__init__": TOP,
    "__main__": TOP,
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
FOREIGN = re.compile(r"(^|/)(Python\.h|pybind11|numpy|nanobind)", re.IGNORECASE)


def room_of_header(path):
    """Index of the room of ``malleable/ROOM/...``, None for other headers."""
    parts = Path(path).parts
    if len(parts) > 2 and parts[0] == "malleable":
        return CPP_ROOMS.index(parts[1])
    return None


def cpp_faults(room, text):
    """What a file of this room (None: tests and such) includes though it must not."""
    faults = []
    for header in INCLUDE.findall(text):
        if FOREIGN.search(header):
            faults.append(f"includes {header}: the core knows no Python")
        if header.startswith("."):
            faults.append(f"includes {header}: name it from malleable/ on")
        target = room_of_header(header)
        if room is not None and target is not None and target > room:
            faults.append(f"includes {header}, which stands right of {CPP_ROOMS[room]}")
    return faults


def imported_modules(text, package):
    """Every module of `malleable` that a file of ``package`` (dotted) imports, wherever it does so."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")
                above = above[: len(above) - node.level + 1]
                base = ".".join([*above, base]) if base else ".".join(above)
            # `from malleable import x` may name a module or something of the package's own.
            found += [
                f"{base}.{alias.name}" if base == "malleable" else base for alias in node.names
            ]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # import_module("malleable.x") and the like.
            found += [node.value] if re.fullmatch(r"malleable\.\w+(\.\w+)*", node.value) else []
    return [name for name in found if name == "malleable" or name.startswith("malleable.")]


def python_faults(own_room, text, package="malleable"):
    """What a Python file of this room imports though it must not."""
    faults = []
    for name in imported_modules(text, package):
        target = name.split(".")[1] if "." in name else "__init__"
        if target == "_core":
            continue
        if target not in PYTHON_ROOMS:
            # A name that the package itself defines or passes on.
            target = "__init__"
        if PYTHON_ROOMS[target] > own_room:
            faults.append(f"imports {name}")
    return faults


def cpp_files():
    return sorted(p for p in (ROOT / "cpp").rglob("*") if p.suffix in {".hpp", ".cpp", ".h", ".c"})


def python_files():
    return sorted((ROOT / "src" / "malleable").rglob("*.py"))


def room_of_cpp_file(path):
    parts = path.relative_to(ROOT / "cpp").parts
    inside = parts[2:] if parts[0] == "include" else parts[1:]
    return CPP_ROOMS.index(inside[0]) if parts[0] != "tests" and inside[0] in CPP_ROOMS else None


def room_of_python_file(path):
    return path.relative_to(ROOT / "src" / "malleable").parts[0].removesuffix(".py")


def test_core_includes_run_one_way():
    files = cpp_files()
    assert len(files) > 20
    faults = {
        str(path.relative_to(ROOT)): found
        for path in files
        if (found := cpp_faults(room_of_cpp_file(path), path.read_text(encoding="utf-8")))
    }
    assert faults == {}


def test_every_file_of_the_core_stands_in_a_room():
    homeless = [
        str(path.relative_to(ROOT))
        for path in cpp_files()
        if path.relative_to(ROOT / "cpp").parts[0] != "tests" and room_of_cpp_file(path) is None
    ]
    # The C interface and umbrella headers may stand beside the rooms, sources may not.
    assert [name for name in homeless if "/src/" in name] == []


def test_python_imports_run_one_way():
    files = python_files()
    assert len(files) > 8
    unknown = {room_of_python_file(path) for path in files} - set(PYTHON_ROOMS)
    assert unknown == set(), "a new room needs its place in the row"
    faults = {}
    for path in files:
        inside = path.relative_to(ROOT / "src").parent.parts
        own = PYTHON_ROOMS[room_of_python_file(path)]
        found = python_faults(own, path.read_text(encoding="utf-8"), ".".join(inside))
        if found:
            faults[str(path.relative_to(ROOT))] = found
    assert faults == {}


def test_oracles_do_not_know_the_package():
    for path in sorted((ROOT / "tests" / "oracles").glob("*.py")):
        assert imported_modules(path.read_text(encoding="utf-8"), "tests.oracles") == [], path.name


@pytest.mark.parametrize(
    ("room", "line"),
    [
        (0, '#include "malleable/kernel/waterline.hpp"'),
        (1, '  #  include "malleable/policy/flex.hpp"'),
        (2, "#include <malleable/sim/slotted.hpp>"),
        (1, "#include <pybind11/numpy.h>"),
        (3, "#include <Python.h>"),
        (None, "#include <pybind11/pybind11.h>"),
        (1, '#include "../policy/flex.hpp"'),
    ],
)
def test_the_check_sees_an_include_that_runs_back(room, line):
    assert len(cpp_faults(room, f"#pragma once\n{line}\n")) == 1


@pytest.mark.parametrize(
    ("room", "line"),
    [
        (MODEL, "from malleable.planning import plan"),
        (MODEL, "import malleable.epoch as e"),
        (MODEL, "from malleable import kernels"),
        (MODEL, "def f():\n    from malleable import Jobs"),
        (MODEL, "import malleable"),
        (KERNELS, "if True:\n    from . import planning"),
        (PLANNING, "from .epoch import Epoch"),
        (REPORT, "from malleable.cli import main"),
        (MODEL, "m = importlib.import_module('malleable.planning')"),
    ],
)
def test_the_check_sees_an_import_that_runs_back(room, line):
    assert len(python_faults(room, f"{line}\n")) == 1


def test_the_check_lets_arrows_pass_that_run_forward():
    header = '#include <vector>\n#include "malleable/model/jobs.hpp"\n'
    assert cpp_faults(1, header) == []
    assert cpp_faults(0, header) == []
    fine = "import numpy\nfrom malleable import _core, views\nfrom malleable.tables import Jobs\n"
    assert python_faults(PLANNING, fine) == []
    assert python_faults(MODEL, "from .tables import Jobs\n", "malleable") == []
    assert python_faults(MODEL, "from .files import shown\n", "malleable.workloads") == []
    assert python_faults(MODEL, "from ..planning import plan\n", "malleable.workloads") != []
