"""Pictures that come by themselves or for one word: plans in notebooks, runs over time; clusters in a line."""

import base64
import re
import struct

import numpy as np
import pytest

import malleable as mb
from malleable.live.journal import Attempt, Journal
from malleable.view.live import draw_run, lanes
from tests.live.outputs import rows_of
from tests.live.screen import terminal

pytest.importorskip("matplotlib")


def size_of(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", png[16:24])


@pytest.mark.parametrize(
    "jobs",
    [mb.Jobs([4.0, 2.0, 9.0], max_slots=[2, 3, 4]), mb.Flows([[{"work": 6.0}], [{"work": 3.0}]])],
)
def test_a_plan_in_a_notebook_shows_its_picture(jobs):
    plan = mb.plan(jobs, slots=4)
    html = plan._repr_html_()
    assert html.index("<table>") < html.index("<img ")
    (found,) = re.findall(r'<img alt="the plan"[^>]* src="data:image/png;base64,([^"]+)" />', html)
    width, height = size_of(base64.b64decode(found, validate=True))
    assert width > 300 and height > 100
    assert "<img" not in mb.plan(mb.Jobs([]), slots=1)._repr_html_()
    assert "<img" not in mb.Jobs([1.0])._repr_html_()


def test_clusters_in_a_line():
    like = {"map_slots": 4, "reduce_slots": 2}
    assert repr(mb.Cluster([{**like, "count": 11}])) == "Cluster(11 x (4 map, 2 reduce))"
    assert (
        repr(mb.Cluster([{"slots": 8, "count": 3}, {"slots": 1}]))
        == "Cluster(3 x 8 slots + 1 x 1 slot)"
    )
    many = mb.Cluster([{"slots": k + 1} for k in range(9)])
    assert repr(many) == "Cluster(9 nodes, 45 slots)"


def test_a_run_over_time_on_a_terminal(tmp_path):
    rows = [{"name": f"j{k}", "command": "x", "over": {"range": 5}} for k in range(3)]
    with Journal(tmp_path / "j") as journal:
        run = journal.begin(4, "sum:response", "flex", rows_of(rows, tmp_path))
        attempts = [
            Attempt(k % 3, k // 3, 0, k % 5 == 0, 0.5 * k, 1.4, how="late" * (k == 10))
            for k in range(15)
        ]
        journal.record(run, 9.0, attempts)
    with terminal(tmp_path, "status", "j", "--plot", "run.png", columns=80) as on:
        assert on.end() == 0
        assert "wrote run.png" in on.screen.text()
    width, height = size_of((tmp_path / "run.png").read_bytes())
    assert width > height > 100
    figure = draw_run(attempts, names=["j0", "j1", "j2"], title="run 1")
    (axes,) = figure.axes
    bars = [patch for patch in axes.patches if patch.get_width()]
    assert len(bars) == 15
    red = [
        patch
        for patch in bars
        if tuple(patch.get_edgecolor())[:3] == (0xD6 / 255, 0x27 / 255, 0x28 / 255)
    ]
    assert len(red) == 3
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["j0", "j1", "j2"]
    assert draw_run([], names=[], title="nothing").axes


def test_no_two_tasks_of_a_row_overlap():
    rng = np.random.default_rng(3)
    began = np.sort(rng.uniform(0, 50, 300))
    attempts = [
        Attempt(0, k, 0, 0, float(at), float(rng.exponential(2))) for k, at in enumerate(began)
    ]
    found = lanes(attempts)
    for row in set(found):
        own = [each for each, at in zip(attempts, found, strict=True) if at == row]
        assert all(
            a.began + a.seconds <= b.began + 1e-9 for a, b in zip(own, own[1:], strict=False)
        )
    moments = [sum(a.began <= t < a.began + a.seconds for a in attempts) for t in began]
    assert max(found) + 1 == max(moments)
