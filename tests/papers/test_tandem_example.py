"""Figures 2 to 4 of Lin et al. 2013: its example in its own words, and the series behind it."""

import math

import numpy as np
import pytest

import malleable as mb
from malleable.papers import reproduce

EXAMPLE = mb.MapShuffleJobs([1, 3, 2], [2, 1, 2])


@pytest.mark.parametrize("number", [2, 3, 4])
def test_what_the_paper_says_of_its_figures(number):
    figure = reproduce(f"tandem-fig{number}")
    assert [claim.verdict.word for claim in figure.claims] == ["holds"] * len(figure.claims)
    assert len(figure.claims) == {2: 5, 3: 1, 4: 2}[number]
    assert [len(row) for row in figure.axes] == ([4, 4] if number == 4 else [2, 2])


def test_pictures():
    """Figure 2: jobs in the paper's colours, all of them in black; the maps drain at rate 1."""
    pytest.importorskip("matplotlib")
    left, done, *_ = reproduce("tandem-fig2").draw().axes
    assert (len(left.containers), len(done.containers)) == (4, 3)
    assert [own.lines[0].get_color() for own in done.containers] == [
        "tab:blue",
        "tab:green",
        "tab:red",
    ]
    black = left.containers[3].lines[0].get_xydata()
    assert black[0].tolist() == [0, 6]
    assert np.diff(black[:48, 1]) / np.diff(black[:48, 0]) == pytest.approx(-1)


def test_the_example_by_its_text():
    """Section 2.1, "An example", without the code of the figure."""
    found = mb.simulate(EXAMPLE, "fcfs", times=[0, 1, 2.5, 4, 6]).series["fcfs"]
    assert found["time"].tolist() == [0, 1, 2.5, 4, 6]
    assert found["map_left"].tolist() == [[1, 3, 2], [0, 3, 2], [0, 1.5, 2], [0, 0, 2], [0, 0, 0]]
    left = [[2, 1, 2], [1, 1, 2], [0, 0.5, 2], [0, 0, 2], [0, 0, 0]]
    assert found["shuffle_left"] == pytest.approx(np.array(left))
    assert found["ready"].sum(axis=1) == pytest.approx([0, 1, 0, 0, 0])
    apart = mb.simulate(EXAMPLE, "fcfs", times=[1, 3], overlap=False).series["fcfs"]
    assert apart["shuffle_left"].tolist() == [[2, 1, 2], [0, 1, 2]]


@pytest.mark.parametrize("policy", ["fcfs", "ps", "k-lps", "max-srpt", "split-srpt", "two-srpt"])
def test_looking_changes_nothing_and_sees_records(policy):
    rng = np.random.default_rng(5)
    sizes = rng.exponential(size=(2, 40))
    jobs = mb.MapShuffleJobs(*sizes, arrival=rng.uniform(0, 40, 40))
    times = np.unique(np.concatenate([np.linspace(0, 90, 50), jobs.arrival]))
    options = {"k": 3, "map_capacity": 2.0, "shuffle_capacity": 1.5}
    plain = mb.simulate(jobs, policy, **options)
    seen = mb.simulate(jobs, policy, times=times, **options)
    assert seen.summary == plain.summary
    assert plain.series is None
    series = seen.series[policy]
    came = jobs.arrival <= times[:, None]
    assert (np.isnan(series["map_left"]) == ~came).all()
    ended = plain.records["completion"] < times[:, None] - 1e-9
    assert (series["shuffle_left"][ended] == 0).all()
    assert (series["shuffle_left"][came & ~ended] >= 0).all()
    rows = np.searchsorted(times, jobs.arrival)
    at_arrival = [series[f"{phase}_left"][rows, range(40)] for phase in ("map", "shuffle")]
    assert at_arrival == pytest.approx(sizes)
    # No faster than the stations, and the shuffle's progress is never ahead of the map's.
    done = jobs.shuffle - series["shuffle_left"]
    assert (np.diff(np.nan_to_num(done).sum(axis=1)) <= 1.5 * np.diff(times) + 1e-9).all()
    ahead = series["map_left"] / jobs.map - series["shuffle_left"] / jobs.shuffle
    assert np.nanmax(ahead) <= 1e-9


def test_horizons_batches_and_loads_that_grow():
    times = np.arange(0.0, 12.0)
    cut = mb.simulate(EXAMPLE, "fcfs", times=times, horizon=4.5)
    assert cut.series["fcfs"]["time"].tolist() == [0, 1, 2, 3, 4]
    both = mb.simulate(EXAMPLE, ["best", "makespan"], times=[0, 100])
    for series in both.series.values():
        assert series["map_left"].tolist() == [[1, 3, 2], [0, 0, 0]]
    late = mb.MapShuffleJobs([4, 4], [1, 1], arrival=[0, 5])
    with pytest.warns(RuntimeWarning, match="load of 1"):
        grown = mb.simulate(late, "fcfs", times=[0, 5, 6], load=2.0)
    assert grown.series["fcfs"]["time"].tolist() == [0, 5]
    assert math.isnan(grown.series["fcfs"]["map_left"][0, 1])


@pytest.mark.parametrize(
    ("jobs", "times", "message"),
    [
        (EXAMPLE, [1, 1], r"times\[1\] = 1.0: must increase"),
        (EXAMPLE, [0, math.nan], r"times\[1\] = nan"),
        (EXAMPLE, "soon", "times = 'soon': not a number"),
        (mb.MapShuffleStream(10, 0.5), [1], "a stream keeps no series"),
        (mb.MapShuffleJobs(np.ones(1001), 1.0), np.arange(10_000), "above 10,000,000"),
    ],
)
def test_wrong_times(jobs, times, message):
    with pytest.raises(ValueError, match=message):
        mb.simulate(jobs, "fcfs", times=times)


def test_wrong_figures():
    with pytest.raises(ValueError, match="--simulations 2: tandem-fig2 is one run"):
        reproduce("tandem-fig2", 2)
