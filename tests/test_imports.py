"""Nothing optional is imported before it is needed."""

import subprocess
import sys

import pytest

# Every module is imported and every --help is printed while what the extras bring cannot be imported.
SCRIPT = """
import contextlib, importlib, io, pkgutil, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
import malleable
{body}
"""
MODULES = """
for module in pkgutil.walk_packages(malleable.__path__, "malleable."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""
HELP = """
from malleable.cli import main
for words in ["--help"], *([name, "--help"] for name in {commands!r}):
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
        main(words)
    assert said.getvalue().startswith("usage: malleable"), words
"""
OPTIONAL = (
    "matplotlib",
    "pandas",
    "pyarrow",
    "numba",
    "highspy",
    "scipy",
    "distributed",
    "dask",
    "cloudpickle",
    "hyperqueue",
    "polars",
    "jinja2",
    "markupsafe",
)
COMMANDS = (
    "plan",
    "simulate",
    "run",
    "status",
    "bench",
    "reproduce",
    "demo",
    "report",
)


def run(body, blocked):
    script = SCRIPT.format(blocked=blocked, body=body)
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_module_without_extras():
    run(MODULES, OPTIONAL)


def test_help_of_every_command_without_extras():
    run(HELP.format(commands=COMMANDS), OPTIONAL)


def test_the_package_needs_numpy_only():
    run("assert 'rich' not in sys.modules", (*OPTIONAL, "rich"))


def test_a_blocked_module_cannot_be_imported():
    with pytest.raises(AssertionError, match="No module named 'pandas'"):
        run("import pandas", OPTIONAL)


def test_what_is_not_asked_for_is_not_imported():
    run(
        "assert not {'view', 'traces', 'simulation', 'papers', 'cli', 'live'}"
        " & {name.partition('.')[2].partition('.')[0] for name in sys.modules}",
        OPTIONAL,
    )


@pytest.mark.parametrize("words", ["--version", "--help", "-q --no-color --help"])
def test_the_command_line_alone_needs_no_numpy(words):
    body = f"""
from malleable.cli import main
with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
    main({words.split()!r})
assert "malleable" in said.getvalue(), said
assert not {{"numpy", "rich", "malleable._core"}} & set(sys.modules)
"""
    run(body, ())


def test_a_command_imports_its_own_file_only():
    body = """
from malleable.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(["status", "--help"])
loaded = {name for name in sys.modules if name.endswith("_command")}
assert loaded == {"malleable.cli.status_command"}, loaded
"""
    run(body, OPTIONAL)


def test_every_public_name_is_there_once_it_is_asked_for():
    body = """
assert 30 < len(malleable.__all__) == len(set(malleable.__all__)) <= 40
assert set(malleable.__all__) <= set(dir(malleable))
for name in malleable.__all__:
    assert getattr(malleable, name) is getattr(malleable, name), name
try:
    malleable.simulatio
except AttributeError as error:
    assert "simulatio" in str(error)
else:
    raise AssertionError
assert not hasattr(malleable, "_report")
"""
    run(body, OPTIONAL)


def test_a_plan_shows_itself_before_anybody_imports_the_report():
    run("print(malleable.plan(malleable.Jobs([1.0]), 2).explain())", OPTIONAL)
