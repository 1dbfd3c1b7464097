"""Runs every code block of README.md and docs/: alone, in a fresh interpreter and an empty directory.

What a block prints is compared with a ``text`` block right behind it, if there is one. Extras that a block
does not ask for (``malleable[plot]`` in a comment) are hidden from it; one whose extras are not installed
is skipped. A Python block that leaves files behind runs once more beside them.

No test may leave a file in the checkout's folder, which commands of tests run in unless they are given another.
"""

import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Generator
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path

import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser

# Extra -> the modules that it may use; `test` brings them all, so a block would not notice a missing one.
EXTRAS = {
    "plot": ("matplotlib",),
    "tables": ("pyarrow", "pandas"),
    "custom": ("numba",),
    "lp": ("highspy",),
    "dask": ("distributed",),
    "hyperqueue": ("hyperqueue",),
    "report": ("jinja2", "markupsafe", "matplotlib"),
    "joblib": ("joblib",),
    "ray": ("ray",),
    "spark": ("pyspark",),
}
LANGUAGES = {"python": [sys.executable, "-"], "sh": ["sh", "-eu"]}
LIMITED = ["timeout", "120"]  # seconds: ends all that a block started, however busy the machine is
_SHOWN = re.compile(r"\s*```text\n(.*?)```", re.DOTALL)
_LEFT_OUT = "skip: next -->"
_FLAGS = ELLIPSIS | NORMALIZE_WHITESPACE
# What tools leave there while tests run, or a build beside them.
_OF_TOOLS = re.compile(
    r"build|dist|out|\.git.*|.*cache.*|\.hypothesis|\.venv|\.benchmarks|\.coverage.*"
)

_BEFORE = pytest.StashKey[set[str]]()


def _left_there(folder: Path) -> set[str]:
    """Names of what stands in a folder; a directory's end with a slash."""
    with os.scandir(folder) as found:
        names = {each.name + "/" * each.is_dir() for each in found}
    return {each for each in names if not (_OF_TOOLS.fullmatch(each[:-1]) and each[-1] == "/")}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """What stands in the folder before a test."""
    item.stash[_BEFORE] = _left_there(item.config.rootpath)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Nothing more stands there after a test; with several workers another one may have left it."""
    yield
    more = _left_there(item.config.rootpath) - item.stash[_BEFORE]
    assert not more, f"a test left {sorted(more)} in {item.config.rootpath}"


def _environment(source: str, hiding: Path) -> dict[str, str]:
    asked = set(re.findall(r"malleable\[(\w+)\]", source))
    for extra in asked:
        if importlib.util.find_spec(EXTRAS[extra][0]) is None:
            pytest.skip(f"needs malleable[{extra}]")
    allowed = {name for extra in asked for name in EXTRAS[extra]}
    hidden = sorted({name for names in EXTRAS.values() for name in names} - allowed)
    hiding.mkdir()
    (hiding / "sitecustomize.py").write_text(
        f"import sys\nsys.modules.update(dict.fromkeys({hidden!r}))\n"
    )
    paths = [str(hiding), os.environ.get("PYTHONPATH", "")]
    return os.environ | {
        "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "MPLBACKEND": "Agg",
        "COLUMNS": "80",
        "PYTHONUTF8": "1",
    }


def _run(example: Example) -> str | None:
    source, temporary = example.parsed, example.namespace["tmp_path"]
    # By what stands before it: a parser of its own would have to run first, in the same process.
    if example.document.text[: example.region.start].rstrip().endswith(_LEFT_OUT):
        pytest.skip("the page leaves it out")
    if "# needs Slurm" in source:
        pytest.skip("needs Slurm; tests/live/test_slurm.py runs it")
    language = example.region.lexemes["arguments"]
    environment = _environment(source, temporary / "hiding")
    folder = temporary / "empty"
    folder.mkdir()
    for _ in range(2):
        done = subprocess.run(
            [*LIMITED, *LANGUAGES[language]],
            input=source,
            capture_output=True,
            encoding="utf-8",
            cwd=folder,
            env=environment,
            check=False,
        )
        if done.returncode != 0:
            return f"fails:\n{done.stdout}\n{done.stderr}"
        shown = _SHOWN.match(example.document.text, example.region.end)
        if shown and not OutputChecker().check_output(shown[1], done.stdout, _FLAGS):
            return f"prints\n\n{done.stdout}\nbut the page shows\n\n{shown[1]}"
        if language != "python" or not any(folder.iterdir()):
            break
    return None


pytest_collect_file = Sybil(
    parsers=[CodeBlockParser(language, _run) for language in LANGUAGES],
    patterns=["README.md", "docs/*.md", "docs/tutorials/*.md", "docs/internals/*.md"],
    path=str(Path(__file__).parent),
    fixtures=["tmp_path"],
).pytest()
