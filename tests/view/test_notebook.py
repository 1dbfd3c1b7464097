"""What a notebook, or a prompt, shows of every public object."""

import inspect
import io
import pickle
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import malleable as mb
from malleable.epoch import AssessedDecision, BaseDecision, ExplainedDecision
from malleable.replications import replicate
from malleable.view.drawing import image_bytes

BAD = '<script>alert("1 & 2")</script>'
MANY = 1000
NOW = 1767672000.5


def many_cluster_jobs(seed=0):
    return mb.generate_cluster_jobs(MANY, seed, gap=3.0, mean_maps=2.0)


def some_cluster():
    return mb.Cluster([{"count": 40, "map_slots": 4, "reduce_slots": 2, "name": BAD}])


def tandem(seed, load):
    return mb.MapShuffleJobs([1.0, 2.0], [2.0, 1.0])


def samples():
    """Large and small ones, with names that HTML must not take literally."""
    names = [BAD, *(f"j{k}" for k in range(1, MANY))]
    work = np.linspace(1.0, 1e7, MANY)
    jobs = mb.Jobs(work, arrival=NOW - 1.0, max_slots=9, name=names, user=[BAD] * MANY)
    flows = mb.Flows(
        [[{"work": 3, "name": BAD}, {"work": 4, "after": [BAD]}]] * MANY,
        name=[f"{BAD}{k}" for k in range(MANY)],
    )
    epoch = mb.Epoch(5000)
    epoch.add(jobs)
    flow_epoch = mb.FlowEpoch(10)
    flow_ids = flow_epoch.add(flows)
    slotted = mb.SlottedEpoch(2000)
    slotted.add(np.ones(MANY, dtype=int), np.ones(MANY))
    overlap = mb.TandemEpoch((500, 500))
    overlap.add(np.ones(MANY), np.ones(MANY), max_map_slots=1, max_shuffle_slots=1)
    cluster_jobs = many_cluster_jobs()
    adaptive = mb.Scheduler(some_cluster(), "adaptive-literal")
    adaptive.add(cluster_jobs, 1.0)
    few = cluster_jobs_of(5)
    return [
        jobs,
        mb.Jobs([]),
        mb.plan(jobs, 5000, now=NOW, effort=0),
        mb.plan(mb.Jobs([]), 1),
        flows,
        mb.plan(flows, 100, policy="fifo"),
        epoch,
        epoch.decide(NOW),
        flow_epoch,
        flow_ids,
        flow_epoch.decide(0.0),
        slotted,
        slotted.decide(1.0),
        overlap,
        overlap.decide(1.0),
        adaptive,
        adaptive.decide(1.0),
        adaptive.assign(1.0, 4),
        adaptive.matching(),
        mb.AdaptiveLiteral(),
        mb.match_classes(np.ones(30), np.ones((30, 50))),
        some_cluster(),
        cluster_jobs,
        mb.MapShuffleJobs(work, work, name=names),
        mb.MapShuffleStream(10**9, 0.75),
        mb.MapReduceJobs(np.ones(MANY, dtype=int), [[1, 2]] * MANY, name=names),
        mb.MapReduceStream(),
        mb.read(io.StringIO("name,work\n" + "".join(f"j{k},1\n" for k in range(MANY)))),
        *recorded(),
        mb.simulate(mb.MapShuffleJobs(work, work), policy=["fcfs", "ps"]),
        mb.simulate(mb.MapReduceJobs([1, 2], [[1], []]), ["fifo"]),
        mb.simulate(few, ["fair", "fifo"], cluster=some_cluster(), trace=True),
        replicate(cluster_jobs_of, [5], ["fair"], cluster=some_cluster()),
        replicate(tandem, [0], ["fcfs"], grid={"load": np.linspace(0.1, 0.9, 30).tolist()}),
    ]


def recorded():
    """A scheduler, its decision, and the replay of what it was told."""
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "events"
        scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), record=events)
        scheduler.add(mb.ClusterJobs([6, 3], [2.0, 1.0], name=[BAD, "b"]), 0.0)
        decision = scheduler.decide(0.0)
        scheduler.close()
        return scheduler, decision, mb.replay(events, "fair")


def cluster_jobs_of(count):
    return mb.generate_cluster_jobs(count, 1, gap=3.0, mean_maps=2.0)


SAMPLES = samples()
SHOWN = [each for each in SAMPLES if hasattr(each, "_repr_html_")]


def test_every_public_class_has_a_sample():
    public = {each for name in mb.__all__ if inspect.isclass(each := getattr(mb, name))}
    public -= {mb.Executor}  # what runs shows by `progress`
    bases = {AssessedDecision, ExplainedDecision}
    decisions = {kind for base in (BaseDecision, *bases) for kind in base.__subclasses__()}
    shown = public | decisions - bases
    assert shown - {type(each) for each in SAMPLES} == set()
    # Options do without.
    missing = {each for each in public if not hasattr(each, "_repr_html_")}
    assert missing == {mb.AdaptiveLiteral}


@pytest.mark.parametrize("shown", SAMPLES, ids=lambda each: type(each).__name__)
def test_a_prompt_shows_one_brief_line(shown):
    text = repr(shown)
    assert "\n" not in text
    assert text.startswith(type(shown).__name__ + "(")
    assert len(text) <= 250


@pytest.mark.parametrize("shown", SHOWN, ids=lambda each: type(each).__name__)
def test_a_notebook_shows_small_tables(shown):
    text = shown._repr_html_()
    page = ElementTree.fromstring(text)  # well-formed, so nothing of a name became a tag
    assert {each.tag for each in page.iter()} <= {
        "div", "p", "table", "caption", "img", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip
    assert len(page.findall(".//tbody/tr")) <= 60
    assert len(text) < 60_000


def words(shown):
    return "\n".join(ElementTree.fromstring(shown._repr_html_()).itertext())


def test_long_ones_say_what_is_left_out():
    jobs, plan = SAMPLES[0], SAMPLES[2]
    assert "and 980 rows more" in words(jobs)
    assert "and 980 jobs more" in words(plan)
    assert BAD in words(jobs)
    assert "more" not in words(mb.Jobs([1.0]))


def test_times_of_a_page_are_read_from_now():
    text = words(SAMPLES[2])
    assert "2026-01-06 04:00:00 UTC" in text
    assert "+0" in text
    assert "e+0" not in text


def test_a_picture_shows_itself():
    pytest.importorskip("matplotlib")
    for figure in (
        SAMPLES[2].plot(),
        mb.plan(mb.Flows([[{"work": 1}]]), 1).plot(),
        mb.simulate(mb.MapShuffleJobs([1, 2], [1, 2]), policy=["fcfs"]).plot(),
    ):
        data, size = figure._repr_png_()
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        assert size["width"] == round(96 * figure.get_figwidth())
        assert image_bytes(pickle.loads(pickle.dumps(figure)), "x.svg") == image_bytes(
            figure, "x.svg"
        )


def test_clusters_in_a_line():
    like = {"map_slots": 4, "reduce_slots": 2}
    assert repr(mb.Cluster([{**like, "count": 11}])) == "Cluster(11 x (4 map, 2 reduce))"
    assert (
        repr(mb.Cluster([{"slots": 8, "count": 3}, {"slots": 1}]))
        == "Cluster(3 x 8 slots + 1 x 1 slot)"
    )
    many = mb.Cluster([{"slots": k + 1} for k in range(9)])
    assert repr(many) == "Cluster(9 nodes, 45 slots)"
