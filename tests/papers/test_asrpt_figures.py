"""Figures 5 to 13 of the ASRPT paper, small."""

import json

import numpy as np
import pytest

import malleable as mb
from malleable.papers import asrpt_figures
from malleable.papers.asrpt_figures import (
    FIGURES,
    asrpt_figure_dict,
    asrpt_figure_report,
    draw_asrpt_figure,
    run_asrpt_figure,
)
from malleable.slotted import simulate as slotted
from malleable.slotted.generate import section7
from malleable.view.drawing import image_bytes
from malleable.view.simulation_pictures import draw_ratio_over_time, draw_slowdown


def test_ratios_are_those_of_simulations():
    figure = run_asrpt_figure("asrpt-fig8", 3, seed=40)
    assert (figure.simulations, figure.complete) == (3, True)
    for curve in figure.curves:
        ratios, flows = [], []
        for seed in (40, 41, 42):
            result = mb.simulate(
                section7("uniform-small", rng=seed),
                "slotted",
                curve.policy,
                preemptive=curve.preemptive,
            )
            ratios.append(result.summary[curve.policy]["ratio"])
            flows += result.records["turnaround_time"].tolist()
        assert curve.ratio.tolist() == ratios
        assert curve.longest == max(flows)
        assert curve.p99 == np.quantile(flows, 0.99)
    assert len(figure.claims) == 5
    by = {(curve.policy, curve.preemptive): curve for curve in figure.curves}
    bound = figure.claims[2]
    assert bound.verdict.holds == (by["asrpt", True].ratio.max() <= 3.0)
    assert f"{by['asrpt', True].ratio.max():.3f}" in bound.because
    # The paper's word for this workload is not borne out: FIFO comes within a tenth.
    assert figure.claims[0].because.endswith(" 6.0 % less")
    assert figure.claims[0].verdict.told("simulation") == (
        "open (about 9 simulations would settle it)"
    )
    assert figure.claims[4].verdict.holds


def test_convergence_is_a_mean_of_series(monkeypatch):
    monkeypatch.setattr(asrpt_figures, "_LONG", 400)
    monkeypatch.setattr(asrpt_figures, "_TIMES", (50, 400))
    figure = run_asrpt_figure("asrpt-fig9", 20, seed=7)
    assert figure.simulations == 2
    series = []
    for seed in (7, 8):
        jobs = section7("uniform-small", slots=400, rng=seed)
        result = mb.simulate(jobs, "slotted", "lrpt")
        series.append(slotted.efficiency_over_time(result, jobs, 100, slots=400)["lrpt"])
    found = next(c for c in figure.curves if (c.policy, c.preemptive) == ("lrpt", True))
    assert found.series.tolist() == np.mean(series, axis=0).tolist()
    shown = asrpt_figure_dict(figure)["curves"][3]
    assert (shown["policy"], list(shown["series"])) == ("lrpt", ["50", "400"])
    assert shown["series"]["50"] == found.series[49]


def test_distribution_counts_jobs():
    figure = run_asrpt_figure("asrpt-fig12", 1, seed=3)
    result = mb.simulate(section7("uniform-large", rng=3), "slotted", "fair", preemptive=False)
    flows = result.records["turnaround_time"]
    found = next(c for c in figure.curves if (c.policy, c.preemptive) == ("fair", False))
    assert len(found.series) == 101
    for most in (0, 1, 17, 100):
        assert found.series[most] == pytest.approx(np.mean(flows <= most))
    assert found.tail.tolist() == [found.p99]
    # One simulation has no interval.
    assert [claim.verdict.word for claim in figure.claims] == ["open"] * 4


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_told_and_drawn(name, monkeypatch):
    monkeypatch.setattr(asrpt_figures, "_LONG", 5000 if name == "asrpt-fig9" else 500)
    figure = run_asrpt_figure(name, 1)
    told = asrpt_figure_report(figure)
    lines = [part for part in told if isinstance(part, str)]
    assert len(lines) == len(figure.claims) + 3
    words = ("holds: ", "fails: ", "open (one simulation has no interval): ")
    assert sum(line.startswith(words) for line in lines) == len(figure.claims)
    assert sum(line.startswith("ours, ") for line in lines) == 2
    json.dumps(asrpt_figure_dict(figure), allow_nan=False)
    pytest.importorskip("matplotlib")
    assert image_bytes(draw_asrpt_figure(figure), "x.png").startswith(b"\x89PNG")


def test_interrupted_figures_keep_what_is_finished():
    def stop(name, total):
        if total == 5:
            seen.append(name)
            if len(seen) == 2:
                raise KeyboardInterrupt

    seen = []
    figure = run_asrpt_figure("asrpt-fig5", 5, progress=stop)
    assert (figure.simulations, figure.complete, len(figure.curves)) == (2, False, 11)
    assert all(len(curve.ratio) == 2 for curve in figure.curves)


def test_curves_of_a_simulation(tmp_path):
    pytest.importorskip("matplotlib")
    jobs = section7("uniform-small", slots=40, rng=1)
    result = mb.simulate(jobs, "slotted", ["asrpt", "fifo"])
    paths = [tmp_path / name for name in ("slowdown.png", "ratio.png", "cdf.png")]
    draw_slowdown(result, paths[0])
    draw_ratio_over_time(result, paths[1], jobs=jobs, machines=100)
    axes = result.plot(paths[2]).axes[0]
    assert axes.get_xlabel() == "response [slots]"
    for path in paths:
        assert path.read_bytes().startswith(b"\x89PNG")
    shown = draw_slowdown(result).axes[0].lines[1].get_xydata()
    count, mean = result.slowdown["fifo"]
    assert shown[:, 1].tolist() == mean[count > 0].tolist()
    with pytest.raises(ValueError, match="no job has finished"):
        draw_slowdown(mb.simulate(mb.MapReduceJobs([], []), "slotted", "fifo"))
