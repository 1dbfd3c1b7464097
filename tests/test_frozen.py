"""Every policy decides what it decided when that was frozen (`make freeze` freezes it anew)."""

import pytest

from tests.frozen.lines import differences
from tests.frozen.record import EXPECTED, FILES, SAME, path_of, text_of


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_decided_otherwise(name):
    if name == "plans/custom":
        pytest.importorskip("numba")
    told = differences(path_of(name).read_text(), text_of(name), SAME[name])
    assert not told, "\n".join([f"{name}: not what was frozen (- then, + now)", *told])


def test_every_frozen_file_is_compared():
    assert set(EXPECTED.rglob("*.txt")) == {path_of(name) for name in FILES}


OLD = "[flex slots=3]\nvalue=1.5 n=2\norder 0 1\n\n[fair slots=3]\nrefused\n"


@pytest.mark.parametrize(
    "new, told",
    [
        (OLD, []),
        (
            OLD.replace("1.5", "1.5000000000000002"),
            [
                "[flex slots=3]: 1 of 2 lines differ",
                "  - value=1.5 n=2",
                "  + value=1.5000000000000002 n=2",
            ],
        ),
        (
            OLD.replace("refused\n", ""),
            ["[fair slots=3]: 1 of 1 lines differ", "  - refused", "  + (nothing)"],
        ),
        (
            OLD.replace("fair", "fifo"),
            ["[fair slots=3]: not decided any more", "[fifo slots=3]: not recorded"],
        ),
        (
            OLD.replace("fair", "flex"),
            [
                "[flex slots=3]: 1 of 2 lines differ",
                "  - (nothing)",
                "  + refused",
                "[fair slots=3]: not decided any more",
            ],
        ),
    ],
)
def test_differences_are_told_by_section(new, told):
    assert sorted(differences(OLD, new)) == sorted(told)
