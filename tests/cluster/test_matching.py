"""Class matching (Rasooli and Down 2011): its example, certificates, the same lambda in two ways."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from tests.oracles.class_matching import growth_by_vertices, growth_of_two


@pytest.fixture(autouse=True)
def _libraries():
    pytest.importorskip("highspy")


@st.composite
def programs(draw, most_classes=3, most_nodes=3):
    classes = draw(st.integers(1, most_classes))
    nodes = draw(st.integers(1, most_nodes))
    numbers = st.integers(0, 5)
    mu = np.array(draw(st.lists(numbers, min_size=classes * nodes, max_size=classes * nodes)))
    mu = mu.reshape(classes, nodes).astype(float)
    mu[~mu.any(axis=1), 0] = 1.0
    alpha = np.array(draw(st.lists(st.integers(1, 4), min_size=classes, max_size=classes)))
    return alpha.astype(float), mu


@pytest.mark.parametrize("group", [True, False])
def test_the_papers_example(group):
    found = mb.match_classes([2.45, 2.45], [[9, 5], [2, 1]], group=group)
    assert round(found.growth, 4) == 1.0204
    assert np.allclose(found.share, [[0.0, 0.5], [1.0, 0.5]], atol=1e-9)
    assert [own.tolist() for own in found.sets()] == [[1], [0, 1]]


def test_the_paper_prints_an_inequality_the_wrong_way_round():
    # 9 / 2 < 5 / 1: the second node is relatively better for the first class, which gets it.
    assert 9 / 2 < 5 / 1
    found = mb.match_classes([2.45, 2.45], [[9, 5], [2, 1]])
    assert not found.suggested[0, 0]


@given(programs())
def test_certificates_and_vertices(program):
    alpha, mu = program
    found = mb.match_classes(alpha, mu, group=False)
    assert np.all(found.share >= 0.0)
    assert np.all(found.share.sum(axis=0) <= 1.0 + 1e-12)
    assert np.all(found.share[mu == 0.0] == 0.0)
    assert np.all((mu * found.share).sum(axis=1) >= found.growth * alpha * (1 - 1e-9))
    assert np.count_nonzero(found.share) <= sum(mu.shape) - 1
    assert found.growth == pytest.approx(growth_by_vertices(alpha, mu), rel=1e-8)
    assert found.suggested.any(axis=1).all()


@given(programs(2, 8))
def test_two_classes_by_duality(program):
    alpha, mu = program
    if len(alpha) < 2:
        return
    found = mb.match_classes(alpha, mu)
    assert found.growth == pytest.approx(growth_of_two(alpha, mu), rel=1e-8)


@given(programs(3, 3), st.lists(st.integers(0, 2), min_size=3, max_size=9))
def test_grouping_keeps_the_growth(program, member):
    alpha, mu = program
    kinds = np.array([k % mu.shape[1] for k in member])
    wide = mu[:, kinds]
    wide[~wide.any(axis=1)] = 1.0
    alone = mb.match_classes(alpha, wide, group=False)
    together = mb.match_classes(alpha, wide)
    assert together.growth == pytest.approx(alone.growth, rel=1e-8)
    for a in range(len(kinds)):
        for b in range(a):
            if np.array_equal(wide[:, a], wide[:, b]):
                assert np.array_equal(together.share[:, a], together.share[:, b])


def test_the_rule_for_ties_puts_later_classes_on_later_nodes():
    found = mb.match_classes([1, 1], np.ones((2, 4)), group=False)
    assert np.array_equal(found.share, [[1, 1, 0, 0], [0, 0, 1, 1]])
    assert np.allclose(mb.match_classes([1, 1], np.ones((2, 4))).share, 0.5)


def test_classes_that_do_not_come():
    mu = [[1.0, 2.0, 2.0], [3.0, 1.0, 1.0]]
    found = mb.match_classes([0.0, 1.0], mu)
    assert np.array_equal(found.suggested, [[False, True, True], [True, True, True]])
    assert np.array_equal(found.share[0], [0, 0, 0])
    assert found.growth == pytest.approx(5.0)
    printed = mb.match_classes([0.0, 1.0], mu, serve_idle=False)
    assert not printed.suggested[0].any()
    nobody = mb.match_classes([0.0, 0.0], mu, serve_idle=False)
    assert nobody.growth == np.inf
    assert not nobody.suggested.any()


def test_rates_far_apart():
    mu = np.array([[1e-6, 2e-6], [1e5, 1e5], [1.0, 3.0]])
    alpha = np.array([1e-8, 1e3, 1e-4])
    found = mb.match_classes(alpha, mu)
    assert found.suggested.any(axis=1).all()
    assert np.all((mu * found.share).sum(axis=1) >= found.growth * alpha * (1 - 1e-9))
    assert found.growth == pytest.approx(
        growth_by_vertices(np.ones(3), mu / alpha[:, None]), rel=1e-6
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, -1], [[1], [1]]), r"arrival_rates\[1\] = -1.0"),
        (([1, 1], [[1], [np.nan]]), r"execution_rates\[1, 0\] = nan"),
        (([1], [[1], [1]]), "arrival_rates has 1 entry but execution_rates has 2 rows"),
        (([1, 1], [[1], [0]]), r"execution_rates\[1\]: all 0"),
        (([[1]], [[1]]), "arrival_rates has 2 dimensions"),
        ((["x"], [[1]]), r"arrival_rates\[0\] = 'x': not a number"),
    ],
)
def test_wrong_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        mb.match_classes(*arguments)


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(ImportError, match=r"needs highspy: pip install 'malleable\[lp\]'"):
        mb.match_classes([1], [[1]])
