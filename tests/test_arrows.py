"""Arrows run one way: every #include and every import is read, none may run back."""

import ast
import re
from pathlib import Path

import pytest

from tests import stems

ROOT = Path(__file__).resolve().parent.parent
CPP_LAYERS = ("model", "kernel", "policy", "scheduler", "sim", "embed")
# Left to right. Folders of models are ranked by their files' stems: a file uses lower stems of any
# model, never higher ones.
PYTHON_LAYERS = (
    ("validation", "checkpoints", "display", "arrays", "policies", "files", "embed"),
    ("*/table", "*/nodes", "*/generate"),
    ("objective", "traces"),
    ("*/matching",),
    ("*/check", "plan_results", "schedule_pieces"),
    ("*/plan", "*/policy", "*/compiled", "*/named_policies", "*/events", "*/history"),
    ("epoch", "*/epoch"),
    ("*/scheduler_decision",),
    ("*/scheduler_state",),
    ("*/scheduler_events",),
    ("*/scheduler",),
    ("*/replay", "*/jobs_from_events"),
    ("results", "records", "estimate_errors", "streaming"),
    ("*/simulate", "*/outcome", "*/series", "*/slots"),
    ("planning", "simulation", "replications"),
    ("live",),
    ("view",),
    ("papers", "report"),
    ("cli",),
    ("__init__", "__main__"),
)
# The same within two folders; the last row has the files that no other one names.
INSIDE = {
    "live": (
        ("protocol", "guard", "own_files", "journal_rows", "resources", "conditions"),
        ("shell_text", "templates", "jobs_file", "task_outcome"),
        ("journal_file", "journal", "packs", "output"),
        ("ledger", "decider"),
        ("futures", "engines", "machine", "backups"),
        ("loop", "slurm", "spark"),
        ("failures", "status", "run", "calls", "control", "orders"),
        ("executor",),
        ("joblib", "__init__"),
    ),
    "traces": (
        ("arrow_columns", "phases"),
        ("converting", "recorded_schedule"),
        ("converters",),
        ("trace",),
        ("merging", "tables"),
        ("formats",),
        (),  # one file a format
        ("__init__",),
    ),
}
MODELS = ("jobs", "flows", "tandem", "slotted", "cluster")
RANKS = {name: rank for rank, names in enumerate(PYTHON_LAYERS) for name in names}
RANKS_INSIDE = {
    folder: {name: rank for rank, names in enumerate(layers) for name in names}
    for folder, layers in INSIDE.items()
}
TOP = len(PYTHON_LAYERS) - 1
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
FOREIGN = re.compile(r"(^|/)(Python\.h|pybind11|numpy|nanobind)", re.IGNORECASE)


def layer_of_header(path):
    """Index of the layer of ``malleable/LAYER/...``, None for other headers."""
    parts = Path(path).parts
    if len(parts) > 2 and parts[0] == "malleable":
        return CPP_LAYERS.index(parts[1])
    return None


def cpp_faults(layer, text):
    """What a file of this layer (None: tests and such) includes though it must not."""
    faults = []
    for header in INCLUDE.findall(text):
        if FOREIGN.search(header):
            faults.append(f"includes {header}: the core knows no Python")
        if header.startswith("."):
            faults.append(f"includes {header}: name it from malleable/ on")
        target = layer_of_header(header)
        if layer is not None and target is not None and target > layer:
            faults.append(f"includes {header}, which stands right of {CPP_LAYERS[layer]}")
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
            folders = ("malleable", *(f"malleable.{model}" for model in MODELS))
            found += [f"{base}.{alias.name}" if base in folders else base for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # import_module("malleable.x") and the like.
            found += [node.value] if re.fullmatch(r"malleable\.\w+(\.\w+)*", node.value) else []
    return [name for name in found if name == "malleable" or name.startswith("malleable.")]


def rank_of(module):
    """Place in the row of a dotted module of the package; what a folder says of itself stands lowest."""
    first, _, rest = module.removeprefix("malleable").lstrip(".").partition(".")
    if first in MODELS:
        return RANKS[f"*/{rest.partition('.')[0]}"] if rest else 0
    # What is not a module is a name that the package itself defines or passes on.
    return RANKS.get(first, TOP)


def rank_inside(folder, stem):
    """Place within a folder; of a file that no row names the one of those, if there is one."""
    others = INSIDE[folder].index(()) if () in INSIDE[folder] else None
    return RANKS_INSIDE[folder].get(stem, others)


class _Running(ast.NodeTransformer):
    """Leaves out what only annotations name."""

    def visit_If(self, node):
        return None if ast.unparse(node.test) == "TYPE_CHECKING" else self.generic_visit(node)


def faults_inside(folder, stem, text):
    """What a file of such a folder imports, and needs to run, though it must not."""
    text = ast.unparse(_Running().visit(ast.parse(text)))
    own, prefix = rank_inside(folder, stem), f"malleable.{folder}."
    named = {name for name in imported_modules(text, "malleable") if name.startswith(prefix)}
    stems = {name: name.removeprefix(prefix).partition(".")[0] for name in named}
    return [f"imports {name}" for name in sorted(named) if rank_inside(folder, stems[name]) > own]


def python_faults(own_rank, text, package="malleable"):
    """What a Python file of this rank imports though it must not."""
    return [
        f"imports {name}"
        for name in imported_modules(text, package)
        if name.split(".")[1:2] != ["_core"] and rank_of(name) > own_rank
    ]


def cpp_files():
    return sorted(p for p in (ROOT / "cpp").rglob("*") if p.suffix in {".hpp", ".cpp", ".h", ".c"})


def python_files():
    return sorted((ROOT / "src" / "malleable").rglob("*.py"))


def layer_of_cpp_file(path):
    parts = path.relative_to(ROOT / "cpp").parts
    inside = parts[2:] if parts[0] == "include" else parts[1:]
    return CPP_LAYERS.index(inside[0]) if parts[0] != "tests" and inside[0] in CPP_LAYERS else None


def module_of(path):
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


def test_core_includes_run_one_way():
    files = cpp_files()
    assert len(files) > 20
    faults = {
        str(path.relative_to(ROOT)): found
        for path in files
        if (found := cpp_faults(layer_of_cpp_file(path), path.read_text(encoding="utf-8")))
    }
    assert faults == {}


def test_every_file_of_the_core_stands_in_a_layer():
    homeless = [
        str(path.relative_to(ROOT))
        for path in cpp_files()
        if path.relative_to(ROOT / "cpp").parts[0] != "tests" and layer_of_cpp_file(path) is None
    ]
    # The C interface and umbrella headers may stand beside the layers, sources may not.
    assert [name for name in homeless if "/src/" in name] == []


def test_python_imports_run_one_way():
    files = python_files()
    assert len(files) > 8
    homeless = {module_of(path) for path in files if module_of(path).split(".")[1] not in MODELS}
    assert {name for name in homeless if name.split(".")[1] not in RANKS} == set()
    faults = {}
    for path in files:
        inside = ".".join(path.relative_to(ROOT / "src").parent.parts)
        text = path.read_text(encoding="utf-8")
        if found := python_faults(rank_of(module_of(path)), text, inside):
            faults[str(path.relative_to(ROOT))] = found
    # The only arrow up: what results offer to people is imported when somebody looks.
    assert faults == {"src/malleable/display.py": ["imports malleable.view"]}


@pytest.mark.parametrize("folder", INSIDE)
def test_imports_run_one_way_within_a_folder(folder):
    place = ROOT / "src" / "malleable" / folder
    faults, ranked = {}, set()
    for path in sorted(place.rglob("*.py")):
        stem = path.relative_to(place).with_suffix("").parts[0]
        ranked.add(stem)
        assert rank_inside(folder, stem) is not None, f"{folder}/{stem} has no place"
        if found := faults_inside(folder, stem, path.read_text(encoding="utf-8")):
            faults[str(path)] = found
    assert faults == {}
    assert set(RANKS_INSIDE[folder]) - ranked == set()


def test_every_rule_matches_a_file():
    stems = {module_of(path).split(".")[1] for path in python_files()}
    of_models = {f"*/{path.stem}" for path in python_files() if path.parent.name in MODELS}
    assert set(RANKS) - stems - of_models - {"__init__"} == set()
    assert sum(map(len, PYTHON_LAYERS)) == len(RANKS), "a rule that stands twice"
    assert {layer_of_cpp_file(path) for path in cpp_files()} >= set(range(len(CPP_LAYERS)))
    assert {path.parent.name for path in python_files()} >= {*MODELS, *INSIDE}


def test_what_has_no_counterpart_of_its_stem_is_seen():
    headers, sources = ["kernel/x", "kernel/y"], ["kernel/x_part", "kernel/xy", "policy/x"]
    assert stems.untidy(headers, sources, ["x", "w"]) == [
        "header kernel/y: no test",
        "source kernel/xy: no header",
        "source policy/x: no header",
        "test w: no header",
    ]
    assert stems.untidy(["kernel/x"], ["kernel/x"], ["x"]) == []
    assert stems.untidy([], [], ["embed_more"]) == []
    parts = ["policy/e", "policy/e/x", "policy/e/y"]
    assert stems.untidy(parts, ["policy/e/x"], ["e", "e_x"]) == []
    assert stems.untidy(parts[1:], [], ["e_x"]) == ["header policy/e/y: no test"]
    tests = ["a/x_more", "a/b_z", "y"]
    assert stems.untested(["a/x", "a/bs/z", "y"], tests) == []
    assert stems.untested(["a/more", "b/x", "a/y_more"], tests) == [
        "module a/more: no test",
        "module a/y_more: no test",
        "module b/x: no test",
    ]


def test_the_papers_are_a_layer_apart():
    """Figures are imported by the command that shows them, and by nothing else."""
    users = {
        module_of(path)
        for path in python_files()
        if path.parent.name != "papers"
        and any(
            f"{name}.".startswith("malleable.papers.")
            for name in imported_modules(path.read_text(encoding="utf-8"), "malleable")
        )
    }
    assert users == {"malleable.cli.reproduce_command"}


def test_oracles_do_not_know_the_package():
    for path in sorted((ROOT / "tests" / "oracles").glob("*.py")):
        assert imported_modules(path.read_text(encoding="utf-8"), "tests.oracles") == [], path.name


@pytest.mark.parametrize(
    ("layer", "line"),
    [
        (0, '#include "malleable/kernel/water_filling.hpp"'),
        (1, '  #  include "malleable/policy/flex.hpp"'),
        (2, "#include <malleable/sim/slotted.hpp>"),
        (1, "#include <pybind11/numpy.h>"),
        (3, "#include <Python.h>"),
        (None, "#include <pybind11/pybind11.h>"),
        (1, '#include "../policy/flex.hpp"'),
    ],
)
def test_the_check_sees_an_include_that_runs_back(layer, line):
    assert len(cpp_faults(layer, f"#pragma once\n{line}\n")) == 1


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("jobs.table", "from malleable.jobs.plan import plan"),
        ("flows.table", "import malleable.jobs.epoch as e"),
        ("objective", "from malleable import simulation"),
        ("jobs.table", "def f():\n    from malleable import Jobs"),
        ("arrays", "import malleable"),
        ("tandem.matching", "if True:\n    from ..jobs import plan"),
        ("cluster.plan", "from .epoch import Epoch"),
        ("view", "from malleable.cli import main"),
        ("jobs.table", "m = importlib.import_module('malleable.jobs.plan')"),
    ],
)
def test_the_check_sees_an_import_that_runs_back(module, line):
    package = ".".join(["malleable", *module.split(".")[:-1]])
    assert len(python_faults(rank_of(f"malleable.{module}"), f"{line}\n", package)) == 1


@pytest.mark.parametrize(
    ("folder", "stem", "line"),
    [
        ("live", "journal", "from malleable.live.loop import Loop"),
        ("live", "engines", "from malleable.live.executor import Executor"),
        ("live", "slurm", "def f():\n    import malleable.live.run"),
        ("traces", "trace", "from malleable.traces.formats import register"),
        ("traces", "formats", "from malleable.traces.swf import _read"),
    ],
)
def test_the_check_sees_an_import_that_runs_back_within_a_folder(folder, stem, line):
    assert len(faults_inside(folder, stem, f"{line}\n")) == 1
    assert faults_inside("live", "run", "from malleable.live.loop import Loop\n") == []
    assert faults_inside("traces", "swf", "from malleable.traces.formats import register\n") == []


def test_the_check_lets_arrows_pass_that_run_forward():
    header = '#include <vector>\n#include "malleable/model/jobs.hpp"\n'
    assert cpp_faults(1, header) == []
    assert cpp_faults(0, header) == []
    fine = "import numpy\nfrom malleable import _core, validation\nfrom malleable.flows.table import Flows\n"
    assert python_faults(rank_of("malleable.jobs.plan"), fine) == []
    table = rank_of("malleable.jobs.table")
    assert python_faults(table, "from .table import Jobs\n", "malleable.jobs") == []
    assert python_faults(table, "from ..files.json import text_of\n", "malleable.jobs") == []
    assert python_faults(table, "from ..jobs.plan import plan\n", "malleable.jobs") != []


def _used(node, names, found):
    """Modules, of these names, that a file needs to run: not what only annotations name."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING":
            continue
        if isinstance(each, ast.Import):
            found |= {alias.name for alias in each.names} & names
        elif isinstance(each, ast.ImportFrom):
            for alias in each.names:
                own = f"{each.module}.{alias.name}"
                found |= {own if own in names else each.module} & names
        _used(each, names, found)
    return found


def circles(graph):
    """Groups of files that use each other, directly or through others."""
    reached = {name: set() for name in graph}
    for name in graph:
        rest = [name]
        while rest:
            for each in graph[rest.pop()]:
                if each not in reached[name]:
                    reached[name].add(each)
                    rest.append(each)
    return {
        frozenset(each for each in reached[name] if name in reached[each])
        for name in graph
        if name in reached[name]
    }


def test_no_files_use_each_other():
    names = {module_of(path): path for path in python_files()}
    names = {
        (name if name != "malleable.__init__" else "malleable"): p for name, p in names.items()
    }
    late = "malleable", "malleable.display"  # import when somebody asks
    graph = {
        name: _used(ast.parse(path.read_text()), set(names), set()) - {name, *late}
        for name, path in names.items()
        if name not in late
    }
    assert len(graph) > 150
    assert circles(graph) == set()
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == {frozenset("abc")}
