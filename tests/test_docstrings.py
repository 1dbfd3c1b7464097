"""Docstrings name things that exist."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import malleable
from conftest import EXTRAS

ROOT = Path(malleable.__file__).parent
NAME = re.compile(r"(?<!`)`([A-Za-z_][\w.]*)(?:\(\))?`(?!`)")
TOP = [
    path.stem
    for path in ROOT.iterdir()
    if path.name[0] != "_" and (path.suffix == ".py" or path.is_dir())
]
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def modules():
    return {
        "malleable"
        + "".join(f".{part}" for part in path.relative_to(ROOT).with_suffix("").parts): path
        for path in sorted(ROOT.rglob("*.py"))
        if path.stem not in ("__init__", "__main__")
    }


def owned(node):
    """Parameters of a function, or members of a class and what its methods set."""
    if isinstance(node, ast.FunctionDef):
        return {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    names = set()
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef):
            names.add(each.name)
            names |= owned(each) if each.name == "__init__" else set()
        elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            names.add(each.target.id)
        elif isinstance(each, ast.Attribute) and ast.unparse(each.value) == "self":
            names.add(each.attr)
    return names


def resolves(name, places):
    """Whether a dotted name leads somewhere from one of these objects."""
    for place in places:
        found = place
        for part in name.split("."):
            fields = getattr(found, "__annotations__", {})
            if not hasattr(found, part) and part not in fields:
                break
            found = getattr(found, part, None)
        else:
            return True
    return False


def unknown_names(module, path):
    """Names in backticks that nothing answers to, with their lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    places = [module, malleable, *(importlib.import_module(f"malleable.{name}") for name in TOP)]
    found = []

    def visit(node, known):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            known = known | owned(node) | set(dir(getattr(module, node.name, None)))  # or inherited
        if isinstance(node, DOCUMENTED):
            for name in NAME.findall(ast.get_docstring(node) or ""):
                own = name.removeprefix("malleable.")
                roots = places if own == name else [malleable]
                if name not in known and not resolves(own, roots):
                    found.append(f"{path.name}: {getattr(node, 'name', 'module')}: {name}")
        for child in ast.iter_child_nodes(node):
            visit(child, known)

    visit(tree, set())
    return found


def test_every_name_in_backticks_exists():
    found = [
        fault
        for name, path in modules().items()
        for fault in unknown_names(importlib.import_module(name), path)
    ]
    assert found == []


@pytest.mark.parametrize("name", malleable.__all__)
def test_every_public_name_says_what_to_see_also(name):
    """Names that exist, and not its own."""
    section = inspect.getdoc(getattr(malleable, name)).partition("See Also\n--------\n")[2]
    told = re.findall(r"^malleable\.([\w.]+) : [A-Z].*\.$", section.partition("\n\n")[0], re.M)
    assert told and name not in told
    assert all(resolves(own, [malleable]) for own in told)


@pytest.mark.parametrize("name", malleable.__all__)
def test_every_public_name_has_an_example_that_runs(name, tmp_path, monkeypatch):
    """In an empty directory; what an example prints is what it says."""
    text = inspect.getdoc(getattr(malleable, name))
    assert "Examples\n--------\n" in text
    for extra in re.findall(r"malleable\[(\w+)\]", text.partition("Examples\n")[2]):
        if importlib.util.find_spec(EXTRAS[extra][0]) is None:
            pytest.skip(f"needs malleable[{extra}]")
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert doctest.DocTestRunner().run(test).failed == 0


def public_calls():
    """Public functions and classes, and the methods of these classes that are ours."""
    for name in malleable.__all__:
        found = getattr(malleable, name)
        if inspect.ismodule(found):
            continue
        yield name, found
        for member in dir(found) if inspect.isclass(found) else ():
            method = inspect.getattr_static(found, member)
            method = getattr(method, "__func__", method)
            own = inspect.isfunction(method) and method.__module__.startswith("malleable")
            if own and not member.startswith("_") and member not in INTERNAL:
                yield f"{name}.{member}", method


# What the package itself calls: its parameters are the core's.
INTERNAL = {"of_core", "core_options", "matcher", "columns", "changed"}
SELF = ("self", "cls", "trace")
MADE_BY_CALLS = {"Plan", "FlowPlan", "Decision", "SimulationResult", "Replications", "Replay"}


@pytest.mark.parametrize(("name", "found"), [*public_calls()])
def test_every_public_call_says_what_its_parameters_are(name, found):
    text = inspect.getdoc(found)
    assert text, "no docstring"
    if name in MADE_BY_CALLS:
        return
    taken = [each for each in inspect.signature(found).parameters if each not in SELF]
    unsaid = [each for each in taken if not re.search(rf"\b{each}\b", text)]
    assert unsaid == []


@pytest.mark.parametrize("name", sorted(set(malleable.__all__) - {"engines", "get_include"}))
def test_every_public_name_says_its_errors_and_its_cost(name):
    """Errors of calls that take parameters; a cost in O of something, or linear in something."""
    text = inspect.getdoc(getattr(malleable, name))
    assert "Parameters\n----------\n" not in text or "Raises\n------\n" in text
    assert re.search(r"(?<!\w)O\(|\blinear (?:in|programs)\b", text)
