"""The picture of a packing: what is drawn, not how it looks."""

import re
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from malleable.jobs.generate import bimodal_jobs
from malleable.view.drawing import image_bytes
from malleable.view.plan_pictures import _stack, draw_packing, draw_packings
from tests.full import FULL, part
from tests.strategies import POLICIES, cases

PNG = b"\x89PNG\r\n\x1a\n"


def drawn_area(figure):
    """Slots times seconds of all blocks."""
    total = 0.0
    blocks = (
        c for c in figure.axes[0].collections if type(c).__name__ == "FillBetweenPolyCollection"
    )
    for path in (path for block in blocks for path in block.get_paths()):
        x, y = path.vertices.T
        total += abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2
    return total


@pytest.mark.parametrize("jobs", [1, 20, 200] + [10, 60, 1000] * FULL)
@pytest.mark.parametrize("policy", POLICIES)
def test_blocks_cover_the_work(jobs, policy):
    table = bimodal_jobs(jobs, 10 * jobs, rng=1)
    plan = mb.plan(table, 10 * jobs, policy=policy, effort=0)
    figure = plan.plot()
    assert drawn_area(figure) == pytest.approx(table.work.sum(), rel=1e-6)
    assert image_bytes(figure, "x").startswith(PNG)


def test_title_has_value_bound_and_gap():
    plan = mb.plan(bimodal_jobs(rng=1, weighted=False), 100)
    title = plan.plot().axes[0].get_title(loc="left")
    assert f"{plan.value:.4g}" in title
    assert f"{plan.lower_bound:.4g}" in title
    assert f"{100 * plan.gap:.2f} %" in title


def test_few_jobs_are_named():
    jobs = mb.Jobs([100, 100, 0.1], name=["_private", "b$x$", "tiny"], max_slots=[5, 5, 10])
    figure = mb.plan(jobs, 10).plot()
    axes = figure.axes[0]
    inside = {text.get_text() for text in axes.texts}
    assert {"_private", "b$x$"} <= inside
    legends = [child for child in axes.get_children() if type(child).__name__ == "Legend"]
    assert "tiny" in [text.get_text() for legend in legends for text in legend.get_texts()]


def test_deadlines_are_counted_as_met_and_missed():
    figure = mb.plan(mb.Jobs([10, 20, 5], deadline=[4, 2, None]), 10).plot()
    legends = [c for c in figure.axes[0].get_children() if type(c).__name__ == "Legend"]
    words = [text.get_text() for legend in legends for text in legend.get_texts()]
    assert {"deadline met (1)", "deadline missed (1)"} <= set(words)


def deadline_marks(axes):
    """Where marks of deadlines are."""
    spots = np.concatenate([c.get_offsets() for c in axes.collections if len(c.get_offsets())])
    return spots[np.isclose(spots[:, 1], spots[:, 1].max())]


@pytest.mark.parametrize("stamp", [0.0, 1767672000.0])
@pytest.mark.parametrize("copies", [1, 30])
def test_every_deadline_that_is_counted_is_shown(stamp, copies):
    """Also those before and beyond the axis."""
    due = stamp + np.array([-5.0, 3.0, 3.0, 9.0, 1e5, np.inf])
    jobs = mb.Jobs(
        [400, 40, 40, 30, 2, 1] * copies, arrival=stamp - 10, deadline=due.tolist() * copies
    )
    plan = mb.plan(jobs, 50, now=stamp)
    axes = plan.plot().axes[0]
    legends = [c for c in axes.get_children() if type(c).__name__ == "Legend"]
    words = [text.get_text() for legend in legends for text in legend.get_texts()]
    counted = sum(int(re.search(r"\((\d+)\)", text)[1]) for text in words if "deadline" in text)
    marks = deadline_marks(axes)
    low, high = axes.get_xlim()
    assert counted == len(marks) == 5 * copies
    assert ((low <= marks[:, 0]) & (marks[:, 0] <= high)).all()


@pytest.mark.parametrize("now", [0.0, 1767672000.0])
@pytest.mark.parametrize("jobs", [4, 15, 100])
def test_no_words_lie_on_each_other(now, jobs):
    table = bimodal_jobs(jobs, 10 * jobs, rng=1)
    stamped = mb.Jobs(
        table.work, arrival=now, max_slots=table.max_slots, deadline=now + table.deadline
    )
    for figure in (
        mb.plan(stamped, 10 * jobs, now=now).plot(),
        draw_packings(
            [mb.plan(stamped, 10 * jobs, policy=p, now=now) for p in ("flex", "fair", "fifo")]
        ),
    ):
        figure.draw_without_rendering()
        found = []
        for axes in figure.axes:
            below = [axes.xaxis.get_offset_text(), axes.yaxis.get_offset_text(), axes.xaxis.label]
            legends = [c for c in axes.get_children() if type(c).__name__ == "Legend"]
            found += [text for text in (*below, *axes.get_xticklabels(), *legends)
                      if type(text).__name__ == "Legend" or text.get_text()]  # fmt: skip
        boxes = [text.get_window_extent() for text in found]
        for k, one in enumerate(boxes):
            for other in boxes[k + 1 :]:
                across = min(one.x1, other.x1) - max(one.x0, other.x0)
                upright = min(one.y1, other.y1) - max(one.y0, other.y0)
                assert min(across, upright) <= 0.5


def test_stack_has_what_ends_last_at_the_bottom():
    plan = mb.plan(mb.Jobs([10, 30, 20], min_slots=1), 10)
    assert _stack(plan)[2].tolist() == [2, 0, 1]


@settings(max_examples=part(25, 10))
@given(cases(), st.sampled_from(POLICIES))
def test_any_plan_can_be_drawn(case, policy):
    jobs, slots, now = case
    plan = mb.plan(jobs, slots, policy=policy, effort=5, now=now)
    assert image_bytes(draw_packing(plan), "x.svg").startswith(b"<?xml")


def test_plans_below_each_other_share_time_and_colours():
    jobs = bimodal_jobs(rng=2)
    figure = draw_packings([mb.plan(jobs, 100, policy=policy) for policy in ("flex", "fifo")])
    first, second = figure.axes
    assert first.get_xlim() == second.get_xlim()
    colors = [
        {tuple(c.get_facecolor()[0]) for c in axes.collections[:10]} for axes in (first, second)
    ]
    assert colors[0] == colors[1]


def test_files(tmp_path):
    plan = mb.plan(bimodal_jobs(rng=1), 100)
    plan.plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)
    with pytest.raises(FileExistsError, match="force"):
        plan.plot(tmp_path / "a.png", force=False)
    (tmp_path / "a.png").write_text("old")
    plan.plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)
    with pytest.raises(ValueError, match=r"a\.xyz: unknown image format, expected one of .*png"):
        plan.plot(tmp_path / "a.xyz")
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_same_plan_same_bytes(kind):
    images = [image_bytes(mb.plan(bimodal_jobs(rng=1), 100).plot(), f"x.{kind}") for _ in range(2)]
    assert images[0] == images[1]


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(ImportError, match=r"pip install 'malleable\[plot\]'"):
        mb.plan(mb.Jobs([1]), 1).plot()
