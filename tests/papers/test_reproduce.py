"""One table names all figures; what they share works the same for all."""

import math

import pytest

from malleable.cli.arguments import build_parser
from malleable.papers import FIGURES, figure
from malleable.papers.figure import Axes, Figure, Panel, Range, Run, Series, picture, shown
from malleable.replications import Interval


def test_every_figure_loads():
    from importlib import import_module

    for name, experiment in FIGURES.items():
        file, function = experiment.place.split(".")
        assert callable(getattr(import_module(f"malleable.papers.{file}"), function))
        assert 0 < experiment.quick <= experiment.usual
        assert build_parser().parse_args(["reproduce", name]).name == name


@pytest.mark.parametrize(
    ("value", "form", "expected"),
    [
        ("words", ".3f", "words"),
        (None, ".3f", "-"),
        (2, "", "2"),
        (1.25, ".3f", "1.250"),
        (math.nan, ".3f", "-"),
        (Interval(0.4712, 0.021), ".1%", "47.1 % +- 2.1 %"),
        (Interval(36.512, 0.8412), ".4g .2g", "36.51 +- 0.84"),
        (Interval(3.0, math.nan), ".1f", "3.0"),
        (Range(1.5, 2.25), ".2f", "1.50 / 2.25"),
        ((14.88, 15.05), ".2f", "14.88 to 15.05"),
    ],
)
def test_values_as_text(value, form, expected):
    assert shown(value, form) == expected


def test_what_is_not_there_is_not_shown_or_drawn():
    pytest.importorskip("matplotlib")
    empty = Panel("b", {"x": ""}, [])
    rows = [{"x": 1, "a": Range(1.0, 2.0)}, {"x": 2, "a": None}, {"x": 3, "a": Range(2.0, 3.0)}]
    panel = Panel("a", {"x": "", "a": ".1f"}, rows)
    run = Run("name", "shows", 1, complete=False)
    axes = [[picture(panel, ["a"], "y", "x")], [picture(panel, ["a"], "y")]]
    made = run.figure("what", [panel, empty], axes=axes)
    assert list(made.as_dict()["panels"]) == ["a"]
    assert made.as_dict()["panels"]["a"][0]["a"] == {"mean": 1.0, "worst": 2.0}
    assert made.parts()[0] == "name: shows: what, 1 simulation"
    assert made.parts()[-1].startswith("Interrupted")
    curve, bars = made.draw().axes
    assert [line.get_xydata().tolist() for line in curve.lines] == [
        [[1, 1], [3, 2]],
        [[1, 2], [3, 3]],
    ]
    assert [bar.get_height() for bar in bars.patches] == [1.0, 2.0]
    assert bars.lines[0].get_ydata().tolist() == [2.0, 3.0]


def test_groups_of_bars_have_their_intervals_and_marks_their_place():
    pytest.importorskip("matplotlib")
    bars = [Series(name, [Interval(1.0, 0.5), Interval(2.0, math.nan)]) for name in "ab"]
    mark = Series("mark", [1.5], [figure.bar_place(1, 0, 2)])
    run = Run("name", "shows", 2)
    made = Figure(run, "", [], axes=[[Axes("", "", "", [*bars, mark], ["one", "two"])]])
    (axes,) = made.draw().axes
    assert [bar.get_x() + bar.get_width() / 2 for bar in axes.patches[:2]] == pytest.approx(
        [-0.2, 0.8]
    )
    assert axes.lines[-1].get_xydata().tolist() == [[pytest.approx(0.8), 1.5]]
    reach = [segment.tolist() for segment in axes.collections[0].get_segments()]
    assert [[y for _, y in ends] for ends in reach] == [[0.5, 1.5], []]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["one", "two"]
