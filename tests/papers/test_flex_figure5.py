"""Section 4.1 of the FLEX paper again, with few simulations."""

import json

import numpy as np
import pytest

import malleable as mb
from malleable.jobs.generate import section41
from malleable.papers.flex_figure5 import (
    METRICS,
    PRAISED,
    REFERENCE_EFFORT,
    SERIES,
    run_figure5,
)
from malleable.papers.flex_figure5_claims import check_claims
from malleable.papers.flex_figure5_view import (
    draw_figure5,
    figure5_dict,
    figure5_notes,
    figure5_tables,
)
from malleable.view.drawing import image_bytes
from malleable.view.plan_views import json_text
from malleable.view.text import console_for
from tests.oracles.best_order import best_order
from tests.strategies import limits, penalty_columns

SEEDS = range(4)


@pytest.fixture(scope="module")
def result():
    return run_figure5(len(SEEDS), quick=True)


def test_points_and_panels(result):
    assert result.complete
    assert [point.slack for point in result.panel("slack")] == [0.05, 0.15, 0.35, 0.55, 0.75, 0.95]
    assert [point.small for point in result.panel("small")] == pytest.approx(np.arange(10) / 10)
    assert [point.metric for point in result.panel("metric")] == list(METRICS)
    assert {point.jobs for point in result.panel("larger")} == {100}
    for point in result.points:
        assert point.simulations == len(SEEDS)
        for series in SERIES:
            assert len(point.ratios[series]) + point.left_out == len(SEEDS)
    assert set(PRAISED) <= {metric.name for metric in METRICS}


def test_the_base_case_is_in_all_panels(result):
    same = [
        point
        for point in result.points
        if (point.jobs, point.small, point.slack) == (10, 0.8, 0.75) and point.metric == METRICS[0]
    ]
    assert [point.panel for point in same] == ["slack", "small", "metric"]
    assert same[0] is result.base
    assert same[0].ratios == same[1].ratios == same[2].ratios


def test_ratios_are_values_over_the_reference(result):
    for k, seed in enumerate(SEEDS):
        jobs = section41(weighted=False, rng=seed)
        reference = mb.plan(jobs, 100, effort=REFERENCE_EFFORT).value
        for series, policy in (("fifo", "fifo"), ("fair", "fair"), ("flex", "flex")):
            ratio = mb.plan(jobs, 100, policy=policy).value / reference
            assert result.base.ratios[series][k] == pytest.approx(ratio, rel=1e-12)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_the_reference_is_the_best_order(metric):
    """With maxima of all slots no schedule was ever seen below the best order (Lemma 1)."""
    for seed in range(10):
        jobs = section41(weighted=metric.weighted, rng=seed)
        minima, maxima = limits(jobs, 100)
        columns = penalty_columns(jobs)
        best = best_order(jobs.work, minima, maxima, 100, [metric.objective], **columns)
        found = mb.plan(jobs, 100, metric.objective, effort=REFERENCE_EFFORT).value
        assert found == pytest.approx(best.value[0], rel=1e-6, abs=1e-9)


def test_lateness_is_left_out_where_the_reference_is_not_positive(result):
    for point in result.panel("metric"):
        if point.metric.objective == "sum:lateness":
            assert point.left_out == len(SEEDS)
            assert point.average("flex") is point.worst("flex") is None


def test_flex_is_best_and_the_search_never_hurts(result):
    for point in result.points:
        ratios = point.ratios
        for fair, flex, orders in zip(
            ratios["fair"], ratios["flex"], ratios["flex-orders"], strict=True
        ):
            assert flex <= min(fair, orders) * (1 + 1e-9)


def test_claims(result):
    claims = {claim.claim: claim for claim in check_claims(result)}
    assert claims["base case: FIFO, average"].paper == "207 %"
    assert claims["base case: FAIR, worst"].paper == "161 %"
    assert claims["base case: FLEX, worst"].verdict.holds
    assert claims["FAIR increases with slack"].verdict.holds
    # Four simulations leave wide intervals: what is only probable is open.
    praised = claims["FLEX does very well on 6 named metrics"].verdict
    assert praised.word == "open"
    assert praised.needed > len(SEEDS)
    assert claims["much larger experiments, 100 jobs"].verdict.holds


def test_json_tables_and_picture(result, capsys):
    read = json.loads(json_text(figure5_dict(result)))
    assert read["complete"] is True
    assert set(read["panels"]) == {"slack", "small", "metric", "larger"}
    base = next(point for point in read["panels"]["slack"] if point["slack"] == 0.75)
    assert base["ratio"]["fair"]["average"] == result.base.average("fair")
    assert f"effort {REFERENCE_EFFORT}" in base["reference"]
    for part in (*figure5_tables(result), *figure5_notes(result)):
        console_for().print(part)
    shown = capsys.readouterr().out
    assert "207 %" in shown
    assert "best order found by search" in shown
    assert "simulations would settle it): FLEX does very well on 6 named metrics" in shown
    assert image_bytes(draw_figure5(result), "x.png").startswith(b"\x89PNG")


def test_same_seeds_same_result(result):
    again = run_figure5(2, quick=True)
    for point, other in zip(result.points, again.points, strict=True):
        for series in SERIES:
            known = other.ratios[series]
            assert point.ratios[series][: len(known)] == known
    moved = run_figure5(1, quick=True, seed=1)
    assert moved.base.ratios["fifo"] == result.base.ratios["fifo"][1:2]


@pytest.mark.parametrize("stop", [1, 5])
def test_an_interrupt_keeps_what_is_finished(stop, capsys):
    done = []

    def progress(label, total):
        done.append(label)
        if len(done) == stop:
            raise KeyboardInterrupt

    part = run_figure5(3, quick=True, progress=progress)
    assert not part.complete
    assert sum(point.simulations for point in part.points) == stop
    assert json.loads(json_text(figure5_dict(part)))["complete"] is False
    for piece in (*figure5_tables(part), *figure5_notes(part)):
        console_for().print(piece)
    assert "Interrupted" in capsys.readouterr().out
    assert image_bytes(draw_figure5(part), "x.png").startswith(b"\x89PNG")


@pytest.mark.parametrize("arguments", [{"simulations": 0}, {"seed": -1}])
def test_wrong_arguments(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        run_figure5(**arguments)
