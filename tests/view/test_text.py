"""Numbers and names for people."""

import io
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from malleable.view.text import Table, console_for, counted, duration, number, percent, printable


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.0, "0.00 %"), (0.0118, "1.18 %"), (-0.5, "-50.00 %"), (116.0, "11,600 %"), (None, "-")],
)
def test_percent(fraction, text):
    assert percent(fraction) == text


def test_percent_of_nothing_finite():
    assert percent(float("inf")) == "-"


@pytest.mark.parametrize(
    ("seconds", "text"), [(9e-5, "90 us"), (0.0123, "12.3 ms"), (2.5, "2.50 s")]
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_words():
    assert [counted(n, "slot") for n in (0, 1, 2000)] == ["0 slots", "1 slot", "2,000 slots"]
    assert [number(x) for x in (192.0695624, 2285.98, 0.034412, 12345.6)] == [
        "192.1", "2286", "0.03441", "12346",
    ]  # fmt: skip
    assert printable("plain ä") == "plain ä"
    assert printable("a\tb\udc80") == "a\\tb\\udc80"


def test_tables_show_cells_as_they_are():
    out = io.StringIO()
    console_for(out).print(Table("[t]", ["[red]a", "b"], [("[bold]x", "1\n2"), (":smile:", "3")]))
    text = out.getvalue()
    for cell in ("[t]", "[red]a", "[bold]x", "1\\n2", ":smile:"):
        assert cell in text


@pytest.mark.parametrize(
    ("value", "text"),
    [(999999.4, "999999"), (1234567.8, "1,234,568"), (1767672345.6, "1,767,672,346"),
     (-2e6, "-2,000,000"), (1e15, "1e+15"), (1e-9, "1e-09"), (float("inf"), "inf")],
)  # fmt: skip
def test_no_exponent_for_what_is_only_large(value, text):
    assert number(value) == text


def drawn(shown, width):
    out = io.StringIO()
    Console(file=out, width=width, highlight=False, markup=False, emoji=False).print(shown)
    return out.getvalue().splitlines()


cell = st.text("abc漢 -_", max_size=30)
figure = st.sampled_from(["1", "12.5", "1.234e+09", "99.9 +- 0.1 %", ""])


@st.composite
def tables(draw):
    count = draw(st.integers(1, 12))
    left = draw(st.integers(0, count))
    kinds = [cell if k < left else figure for k in range(count)]
    rows = draw(st.lists(st.tuples(*kinds), max_size=3))
    heads = draw(st.lists(st.text("xyz ", min_size=1, max_size=24), min_size=count, max_size=count))
    return Table("", heads, rows, left)


def letters(texts):
    return Counter("".join(texts).replace(" ", ""))


@given(tables(), st.sampled_from([20, 40, 60, 80, 110]))
def test_no_width_loses_a_column_or_a_letter(shown, width):
    lines = drawn(shown, width)
    assert max(map(cell_len, lines), default=0) <= width
    wanted = letters([*shown.heads, *(text for row in shown.rows for text in row)])
    found = letters(lines)
    assert all(found[letter] >= count for letter, count in wanted.items())
    assert "…" not in found


def test_what_is_too_wide_folds_heads_then_words_then_is_spread():
    shown = Table("t", ["policy", "mean response", "p50"], [("max-srpt of all", "12.5", "3")])
    assert drawn(shown, 80)[2].split() == ["policy", "mean", "response", "p50"]
    heads = drawn(shown, 34)  # the head folds, the word does not
    assert [line.split() for line in heads[2:4]] == [["mean"], ["policy", "response", "p50"]]
    assert any("max-srpt of all" in line for line in heads)
    words = drawn(shown, 31)
    assert any(line.split() == ["all"] for line in words)
    spread = drawn(shown, 30)
    assert sum("policy" in line for line in spread) == 2


def test_a_table_is_html_with_its_words_escaped():
    page = Table("<t>", ["a&b", "n"], [("<i>", "1")])._repr_html_()
    for part in ("&lt;t&gt;", "a&amp;b", "&lt;i&gt;", "text-align: right"):
        assert part in page
    assert "<i>" not in page
