"""The table of options: every row is checked, taken, recorded and told, in Python and on its page."""

import math
import re
from pathlib import Path

import pytest

import malleable as mb
from malleable import _core
from malleable.cluster.named_policies import OPTIONS, checked_options
from malleable.simulation import parsed_option
from malleable.traces.converting import ASSUMPTIONS
from malleable.view.option_page import option_page
from tests.cli.command_line import call

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "options.md"
JOBS = mb.ClusterJobs([6, 4], 10.0, [2, 1], 5.0, shuffle=2.0)
NODES = mb.Cluster([{"map_slots": 2, "reduce_slots": 2, "count": 2}])


def code_of(path):
    """Without comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix.startswith(".py"):
        return re.sub(r'"""(?:.|\n)*?"""|#.*', "", text)
    return re.sub(r"//.*|/\*(?:.|\n)*?\*/", "", text)


def another(row):
    """A value that is not the default."""
    if row["kind"] == "flag":
        return not row["default"]
    if row["kind"] == "word":
        return row["words"][-1]
    if row["kind"] == "whole":
        return 2
    return 0.25


def wrong(row):
    if row["kind"] == "flag":
        return [2, "yes", None]
    if row["kind"] == "word":
        return ["widest", 1, None]
    high = [] if math.isinf(row["high"]) else [row["high"] * 1.01 + 1]
    return [row["low"] - 1, *high, "a", None, math.nan, math.inf]


def test_the_page_is_what_the_command_prints(capsys):
    printed = call(capsys, "simulate", "--options").stdout
    assert printed == option_page()
    assert printed == PAGE.read_text(encoding="utf-8"), (
        "docs/options.md: malleable simulate --options > docs/options.md"
    )
    for row in _core.OPTIONS:
        assert f"| `{row['name']}` |" in printed and row["meaning"]


def test_every_assumption_has_a_meaning():
    assert all(meaning for _, _, meaning in ASSUMPTIONS)


@pytest.mark.parametrize("row", OPTIONS.values(), ids=OPTIONS)
def test_every_option_is_checked_by_its_row(row):
    for value in wrong(row):
        with pytest.raises(ValueError, match=rf"^{row['name']}\b"):
            checked_options({row["name"]: value})
    assert checked_options({row["name"]: another(row)}) == {row["name"]: another(row)}


@pytest.mark.parametrize("row", OPTIONS.values(), ids=OPTIONS)
def test_defaults_are_the_cores_and_others_arrive_there(row):
    """What a simulation is told reaches it, and what a scheduler is told comes back."""
    name = row["name"]
    policy = "flex" if name in ("hysteresis", "effort") else "fair"
    if row["default"] is not None:
        plain = mb.simulate(JOBS, policy, cluster=NODES, rng=1).summary
        said = {name: row["default"]}
        assert mb.simulate(JOBS, policy, cluster=NODES, rng=1, **said).summary == plain
    learns = {"learn": True} if name == "backups" else {}
    mb.simulate(JOBS, policy, cluster=NODES, rng=1, **{name: another(row), **learns})
    if row["of"] == "simulation":
        with pytest.raises(ValueError, match=f"^unknown option {name!r}"):
            mb.Scheduler(NODES, policy, **{name: another(row)})
        return
    mb.Scheduler(NODES, policy, **{name: another(row)})
    told = _core.scheduler_options({name: another(row)})
    assert told.pop(name) == another(row)
    known = _core.scheduler_options({})
    assert known.pop(name) == row["default"]
    assert told == known


def test_words_and_lists_are_said_on_the_command_line():
    assert parsed_option("processors=own", "--set") == ("processors", "own")
    assert parsed_option("speedup=1;1.5", "--set") == ("speedup", [1, 1.5])
    with pytest.raises(ValueError, match="not a number"):
        parsed_option("noise=own", "--set")


def test_split_copying_starts_early_unless_it_is_told_when():
    jobs = mb.ClusterJobs([20], 1.0, [1], 1.0, shuffle=6.0)

    def end(**options):
        found = mb.simulate(jobs, "fair", cluster=NODES, rng=1, epoch=0, split_copy=True, **options)
        return found.records["completion"].tolist()

    assert end() == end(slow_start=0.05) != end(slow_start=1.0)


def test_records_say_all_options(tmp_path):
    """So that what they were made with stays what it was."""
    path = tmp_path / "events"
    scheduler = mb.Scheduler(NODES, "auto", record=path, split_copy=True, prior=3.0)
    ids = scheduler.add(JOBS, 0.0)
    scheduler.decide(0.0)
    scheduler.finish(ids, 1.0)
    scheduler.close()
    from malleable.cluster.events import read_events

    options = read_events(path)[0]["options"]
    known = {row["name"] for row in _core.OPTIONS if row["of"] != "simulation"}
    assert options.keys() == known - {"slow_start", "effort"}  # which have no value
    assert options["split_copy"] is True and options["prior"] == 3.0
    assert mb.replay(path).same


def test_rates_for_jobs_that_come_later():
    """Of a scheduler whose policy follows the speed-up."""
    scheduler = mb.Scheduler(NODES, "hesrpt", speedup=[1.0, 1.5, 1.8])
    scheduler.add(JOBS, 0.0)
    assert scheduler.decide(0.0).slots.sum() > 0


def is_of_clusters(path):
    """Epochs have arguments of their own, some with the same names."""
    if {"policy", "scheduler", "sim", "cluster"} & set(path.parts):
        return True
    return any(word in path.stem for word in ("cluster", "scheduler", "options"))


@pytest.mark.parametrize("name", ["ageing", "pool_minimum", "prior", "noise"])
def test_an_option_is_spelled_in_its_row_and_where_it_is_used(name):
    """In four files at most, beside C's structure, which never changes and has those of its first days."""
    spelled = re.compile(rf'\boptions_?\.{name}\b|"{name}"')
    found = [
        path.relative_to(ROOT).as_posix()
        for folder in ("cpp/include", "cpp/src", "bindings", "src")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".hpp", ".cpp", ".py", ".pyi")
        and "papers" not in path.parts  # which set options as users do
        and is_of_clusters(path)
        and spelled.search(code_of(path))
    ]
    assert any(path.endswith("_options.hpp") for path in found)
    assert len(found) <= 4, found
