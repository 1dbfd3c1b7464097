"""What the pages name exists. Their code blocks run by themselves: see conftest.py beside README.md."""

import argparse
import importlib
import inspect
import re
from pathlib import Path

import pytest

import malleable as mb
from malleable.cli.arguments import build_parser

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
}
# The first cell of a row there is what another tool says.
PAGES["docs/from.md"] = re.sub(r"(?m)^\|.*?(?<!\\)\|", "|", PAGES["docs/from.md"])
SKIPPED = re.compile(r"\s*(make|pip install|cmake|cc|snakemake|sacct|#) ")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def _commands():
    """Option strings by command, and the whole command line's own under ''."""
    parser = build_parser(whole=True)
    found = {"": parser._option_string_actions}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found |= {name: own._option_string_actions for name, own in action.choices.items()}
    return found


COMMANDS = _commands()
ANYWHERE = set().union(*COMMANDS.values())


def _texts(page):
    """Code of a page: spans, and lines of shell blocks."""
    text = PAGES[page]
    lines = [
        line for kind, body in FENCE.findall(text) if kind == "sh" for line in body.splitlines()
    ]
    return lines + [" ".join(span.split()) for span in SPAN.findall(FENCE.sub("", text))]


def _resolve(name):
    """The object of ``mb.a.b`` or ``malleable.a.b``."""
    parts = name.split(".")[1:]
    at = mb
    for k, part in enumerate(parts):
        if not hasattr(at, part):
            importlib.import_module(".".join(["malleable", *parts[: k + 1]]))
        at = getattr(at, part)
    return at


@pytest.mark.parametrize("page", PAGES)
def test_every_option_exists(page):
    for text in _texts(page):
        if re.search(
            r"pytest|cmake|pkg-config|^sbatch |^snakemake |^scontrol |^python -m build |^twine ",
            text,
        ):
            continue
        script = re.match(r"python (?:-m )?(benchmarks[\w./]+)", text)
        if script:
            path = ROOT / re.sub(r"\.(?!py$)", "/", script[1].removesuffix(".py"))
            path = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
            for option in OPTION.findall(text):
                assert f'"{option}"' in path.read_text(), text
            continue
        command = re.match(r"malleable (\w+)", text)
        known = COMMANDS[command[1]] if command else ANYWHERE
        for option in OPTION.findall(text):
            if not option.startswith("--benchmark"):  # of pytest-benchmark
                assert option in known, f"{text}: no {option}"


@pytest.mark.parametrize("page", PAGES)
def test_every_figure_exists(page):
    for name in re.findall(r"\b(?:flex|flowflex|asrpt|overlap|adaptive)-[a-z]+\d+\b", PAGES[page]):
        assert build_parser().parse_args(["reproduce", name]).name == name


@pytest.mark.parametrize("page", PAGES)
def test_every_name_resolves(page):
    text = re.sub(r"```(?:c|cpp|cython)\n.*?```", "", PAGES[page], flags=re.DOTALL)
    for name in re.findall(r"\b(?:mb|malleable)(?:\.[A-Za-z_]\w*)+", text):
        if name != "malleable.h":
            _resolve(name)


@pytest.mark.parametrize("page", PAGES)
def test_every_parameter_exists(page):
    for text in _texts(page):
        call = re.fullmatch(r"((?:mb|malleable)(?:\.\w+)+)\(((?:(?!\)\.).)*)\)", text)
        if not call:
            continue
        parameters = inspect.signature(_resolve(call[1])).parameters
        if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            continue
        for name, value in re.findall(r"(\w+)=([\w.]*)", call[2]):
            assert name in parameters, f"{text}: no {name}"
            if re.fullmatch(r"[\d.]+|None|True|False", value):
                default = parameters[name].default
                assert default == parameters[name].empty or default == eval(value), text


@pytest.mark.parametrize("page", PAGES)
def test_every_path_exists(page):
    for link in re.findall(r"(?:\]\(|src=\")([^)\"#:]+)[)\"]", PAGES[page]):
        assert (ROOT / page).parent.joinpath(link).exists(), link
    for text in _texts(page):
        for path in re.findall(r"\b(?:examples|tests|benchmarks|docs|src|cpp)/[\w./*]+", text):
            assert list(ROOT.glob(path.rstrip("/"))), path
        header = re.fullmatch(r"((?:model|kernel|policy|sim)/\w+)(?:\.hpp)?", text)
        if header:
            assert (ROOT / "cpp/include/malleable" / f"{header[1]}.hpp").exists(), text


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_what_it_is(page):
    """A block without a language would not run; ``skip`` is for commands that build, or need a cluster."""
    text = PAGES[page]
    fences = FENCE.findall(text)
    assert 2 * len(fences) == len(re.findall(r"^\s*(?:```|~~~)", text, re.MULTILINE))
    # Other languages stand in docs/embed.md alone, beside tests of the same.
    others = {"c", "cpp", "toml", "cmake", "cython"} if page == "docs/embed.md" else set()
    assert {kind for kind, _ in fences} <= {"python", "sh", "text"} | others
    for before in text.split("```text\n")[:-1]:  # compared with what the block in front prints
        assert re.search(r"^```(python|sh)\n((?!```).*\n)*```\n\s*\Z", before, re.MULTILINE)
    for after in re.split(r"<!--+ skip: ", text)[1:]:
        block = re.match(r"next --+>\n```sh\n(.*?)```", after, re.DOTALL)
        assert block
        assert all(SKIPPED.match(line + " ") for line in block[1].splitlines())


def test_pages_for_newcomers_begin_with_a_block():
    for page in ("guide", "flows", "cluster", "calls"):
        assert FENCE.search(PAGES[f"docs/{page}.md"])[1] == "python"


def test_the_reference_lists_the_public_names_as_the_stub_groups_them():
    stub = Path(mb.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    _, *groups = re.split(r"^# (\w+)$", stub, flags=re.MULTILINE)
    told = {
        verb: re.findall(r" as (\w+)", names)
        for verb, names in zip(groups[::2], groups[1::2], strict=True)
    }
    assert list(told) == ["plan", "decide", "simulate", "read", "run", "compare", "embed"]
    assert sorted(name for names in told.values() for name in names) == sorted(mb.__all__)
    rows = re.findall(r"^\| \*(\w+)\* \| (.*) \|$", PAGES["docs/reference.md"], flags=re.MULTILINE)
    assert {verb: re.findall(r"`mb\.(\w+)`", names) for verb, names in rows} == told


def test_the_glossary_explains_every_metric():
    known = set(re.findall(r"`(\w+)`", PAGES["docs/glossary.md"]))
    small, cluster = mb.generate_cluster_jobs(40, rng=1), mb.Cluster([{"count": 40, "slots": 2}])
    flow = [{"name": "a", "work": 60}, {"name": "b", "work": 30, "after": ["a"]}]
    due = mb.Jobs([5.0, 9.0], max_slots=4, arrival=[0, 1], deadline=[9, 9])
    results = [
        mb.simulate(small, ["flex", "fair"], cluster=cluster, rng=1, failure=0.1, replicas=2),
        mb.simulate(mb.cluster_flows(mb.Flows([flow]), 3.0), "flowflex", cluster=cluster),
        mb.simulate(due, "flex", slots=4, period=1.0),
        mb.simulate(mb.MapShuffleStream(2_000, 0.7), ["max-srpt"], rng=1),
        mb.simulate(mb.MapReduceJobs(arrival=[1], map=[4], reduce=[[3, 1]]), "asrpt", machines=3),
    ]
    named = {name for each in results for own in each.summary.values() for name in own}
    assert {name for name in named if isinstance(name, str)} <= known


def test_the_glossary_explains_every_column_of_a_run():
    from malleable.view.live import _COLUMNS

    for head, _ in _COLUMNS:
        assert re.search(rf"^\|[^|]*\b{re.escape(head)}", PAGES["docs/glossary.md"], re.MULTILINE)


def test_the_manual_stays_short():
    """Words (as ``wc -w`` counts them, with code) and pages of the menus in front of what was measured."""
    index = PAGES["docs/index.md"]
    manual, measured = index.split(":caption: How it works and what was measured")
    menus = re.findall(r":::\{toctree\}\n(.*?)^:::", manual, re.MULTILINE | re.DOTALL)
    pages = re.findall(r"^[\w/]+$", "\n".join(menus), re.MULTILINE)
    words = sum(len(PAGES[f"docs/{page}.md"].split()) for page in ["index", *pages])
    print(f"{words} words in {len(pages)} pages")
    assert "internals/measurements" in measured
    assert len(pages) <= 28
    assert words <= 40_000


def test_links_of_the_readme_are_absolute_as_soon_as_there_is_an_address():
    """A package index shows README, but has no pages beside it."""
    urls = re.search(
        r"^\[project\.urls\]\n(.*?)\n\[", (ROOT / "pyproject.toml").read_text(), re.M | re.S
    )
    relative = re.findall(r"(?:\]\(|src=\")(?!https://)[^)\"]+", PAGES["README.md"])
    assert not urls[1].strip() or not relative
