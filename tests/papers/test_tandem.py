"""Figures 7 and 9 of Lin et al. 2013, and the plots of the tandem queue."""

import json

import pytest

import malleable as mb
from malleable.papers import reproduce, tandem
from malleable.papers.tandem import PRINTED, cube_root_jobs, generated_jobs
from malleable.view.drawing import image_bytes
from malleable.view.text import json_text


def test_cube_root_of_the_ratios():
    jobs = mb.MapShuffleJobs([1, 2, 0], [8, 2, 5], arrival=[0, 1, 2])
    scaled = cube_root_jobs(jobs)
    assert scaled.shuffle.mean() == pytest.approx(1)
    assert scaled.shuffle / scaled.shuffle[0] == pytest.approx([1, 1, 5 / 2])
    assert scaled.map.tolist() == [1, 2, 0]
    with pytest.raises(ValueError, match="shuffle: no job"):
        cube_root_jobs(mb.MapShuffleJobs([1], [0]))


def rows(figure, panel):
    return figure.facts["points"][panel]


def draw(figure, path):
    pytest.importorskip("matplotlib")
    path.write_bytes(image_bytes(figure.draw(), path))
    assert path.stat().st_size > 1000


def test_figure_7_on_generated_jobs(tmp_path):
    seen = []
    figure = reproduce("tandem-fig7", 3000, seed=1, progress=lambda *at: seen.append(at))
    assert figure.run.complete
    both = [row for panel in figure.panels for row in rows(figure, panel.name)]
    assert 4 * len(seen) == len(both) == 2 * 8 * 4  # all policies on the same jobs
    for row in both:
        # Whatever the load, the same utilisation of both stations while jobs arrive.
        assert row["mean_response"] >= row["lower_bound"] * (1 - 1e-9)
        assert row["map_utilisation"] == pytest.approx(row["shuffle_utilisation"])
    last = rows(figure, "sizes of the trace")[-1]
    ratio = figure.panels[0].rows[-1][last["policy"]]
    assert ratio == last["mean_response"] / last["lower_bound"]
    assert len(figure.claims) == 4
    assert figure.claims[0].verdict.holds
    assert figure.claims[3].verdict.holds  # balanced sizes: MaxSRPT
    assert json.loads(json_text(figure.as_dict()))["source"] == "generated"
    tables = [part for part in figure.parts() if not isinstance(part, str)]
    assert len(tables) == 3
    draw(figure, tmp_path / "figure.svg")


def test_figure_7_keeps_a_trace():
    jobs = generated_jobs(500, 3)
    figure = reproduce("tandem-fig7", trace=jobs)
    assert (figure.facts["source"], figure.run.count) == ("trace", 500)
    # The load is that of the table: capacities scale, arrivals stay.
    own = rows(figure, "sizes of the trace")
    row = next(r for r in own if (r["load"], r["policy"]) == (0.75, "k-lps"))
    alone = mb.simulate(jobs, policy="k-lps", load=0.75).summary["k-lps"]
    assert row["mean_response"] == pytest.approx(alone["mean_response"], rel=1e-9)


def test_figure_9(tmp_path):
    figure = reproduce("tandem-fig9", 60_000, seed=2)
    assert [row["load"] for row in figure.facts["points"]] == [0.75] * 4 + [0.9] * 4
    claims = figure.claims
    assert sum(claim.claim.startswith("mean response") for claim in claims) == 6
    assert all(claim.verdict.holds for claim in claims if claim.claim.startswith("slowdown"))
    for load, found in figure.facts["slowdown"].items():
        assert load in PRINTED
        for own in found.values():
            assert len(own["jobs"]) == len(own["mean"]) == 400
            assert own["jobs"].sum() <= 60_000
    data = json.loads(json_text(figure.as_dict()), parse_constant=pytest.fail)
    assert data["printed"]["0.75"]["max-srpt"] == 3.32
    assert data["panels"]["mean response"][0]["max-srpt, paper"] == 3.32
    tables = [part for part in figure.parts() if not isinstance(part, str)]
    assert len(tables) == 2
    draw(figure, tmp_path / "figure.png")


def test_interrupted_figures_keep_their_points():
    def interrupt(label, total):
        raise KeyboardInterrupt

    figure = reproduce("tandem-fig7", 500, progress=interrupt)
    assert not figure.run.complete
    assert figure.claims == []
    assert len(rows(figure, "sizes of the trace")) >= 1


def test_wrong_figures():
    with pytest.raises(ValueError, match="jobs 1: must be at least 2"):
        reproduce("tandem-fig9", 1)
    with pytest.raises(ValueError, match="takes no trace"):
        reproduce("tandem-fig9", trace=generated_jobs(10, 1))


def test_claims_can_fail(monkeypatch):
    monkeypatch.setitem(tandem.PRINTED, 0.75, {"max-srpt": 1.0})
    figure = reproduce("tandem-fig9", 3000)
    assert not next(c for c in figure.claims if c.claim.startswith("mean")).verdict.holds
