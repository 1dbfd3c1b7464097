"""Numbers and names for people."""

import io

import pytest

from malleable.report.text import console_for, counted, number, percent, printable, table, wall_time


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.0, "0.00 %"), (0.0118, "1.18 %"), (-0.5, "-50.00 %"), (116.0, "11,600 %"), (None, "-")],
)
def test_percent(fraction, text):
    assert percent(fraction) == text


def test_percent_of_nothing_finite():
    assert percent(float("inf")) == "-"


@pytest.mark.parametrize(
    ("seconds", "text"), [(9e-5, "90 us"), (0.0123, "12.3 ms"), (2.5, "2.5 s")]
)
def test_wall_time(seconds, text):
    assert wall_time(seconds) == text


def test_words():
    assert [counted(n, "slot") for n in (0, 1, 2000)] == ["0 slots", "1 slot", "2,000 slots"]
    assert number(192.0695624) == "192.07"
    assert printable("plain ä") == "plain ä"
    assert printable("a\tb\udc80") == "a\\tb\\udc80"


def test_tables_show_cells_as_they_are():
    out = io.StringIO()
    console_for(out).print(table("[t]", ["[red]a", "b"], [("[bold]x", "1\n2"), (":smile:", "3")]))
    text = out.getvalue()
    for cell in ("[t]", "[red]a", "[bold]x", "1\\n2", ":smile:"):
        assert cell in text
