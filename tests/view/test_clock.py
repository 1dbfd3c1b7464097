"""How moments read: as they are near 0, from an origin beyond."""

import json
import re

import numpy as np
import pytest

import malleable as mb
from malleable.view.clock import Clock, moment_text
from malleable.view.plan_tables import pieces_csv

NOW = 1767672000.25
DATE = "2026-01-06 04:00:00 UTC"


@pytest.mark.parametrize(
    ("now", "moment", "text"),
    [
        (0.0, 12.5, "12.5"),
        (-3.0, -2.0, "-2"),
        (99_999.0, 100_001.25, "100001"),
        (1e5, 100_001.25, "+1.25"),
        (NOW, NOW, "+0"),
        (NOW, NOW - 5.0, "-5"),
        (NOW, NOW + 1_234_567.0, "+1,234,567"),
        (NOW, np.inf, "+inf"),
        (-1e6, -1e6 + 2, "+2"),
    ],
)
def test_moments(now, moment, text):
    assert Clock.of(now).text(moment) == text


def test_without_a_time_of_its_own_the_earliest_moment_is_the_origin():
    clock = Clock.of(0.0, [NOW + 3, np.inf], [NOW, np.nan])
    assert clock.text(NOW + 3) == "+3"
    assert clock.note() == f"times are seconds after 1767672000.25 s ({DATE})"
    assert Clock.of(0.0, [0.0, NOW]).text(12.0) == "12"
    assert Clock.of(0.0).note() is None


def test_now_is_said_once_and_in_full():
    assert moment_text(NOW) == f"1767672000.25 s ({DATE})"
    assert moment_text(3600.0) == "3600 s"
    assert Clock.of(NOW).note(NOW) == "times are seconds after now"
    assert Clock.of(NOW).axis() == f"time [s after {DATE}]"
    assert Clock.of(0.0).axis() == "time [s]"


@pytest.fixture(params=["jobs", "flows", "flows that come later"])
def stamped(request):
    if request.param == "jobs":
        jobs = mb.Jobs([400, 40, 40], arrival=NOW - 7, max_slots=20, deadline=NOW + 60)
        return mb.plan(jobs, 50, now=NOW)
    flows = mb.Flows(
        [[{"work": 8}, {"work": 3, "after": ["job0"]}], [{"work": 40}]],
        arrival=[NOW, NOW + 3],
        deadline=NOW + 60,
    )
    return mb.plan(flows, 2, now=NOW if request.param == "flows" else 0.0)


def test_people_read_small_numbers(stamped):
    """No exponent, and nothing that only differs in digits that are not shown."""
    page = re.sub("<img [^>]*>", "", stamped._repr_html_())
    for text in (*stamped.explain(), page):
        assert "e+" not in text
        assert "ends at 1" not in text
    ends = [line.split("ends at ")[1].split(" s")[0] for line in stamped.explain()]
    assert all(end.startswith("+") for end in ends)
    assert stamped._repr_html_().count(DATE) == 1


def test_machines_read_absolute_times_in_full(stamped):
    ends = [job["completion"] for job in json.loads(json.dumps(stamped.to_dict()))["jobs"]]
    assert ends == stamped.completion.tolist()
    assert min(ends) > NOW
    if isinstance(stamped, mb.Plan):
        rows = [line.split(",") for line in pieces_csv(stamped).splitlines()[1:]]
        assert [float(end) for _, _, end, _ in rows] == stamped.pieces["end"].tolist()


def test_pictures_count_from_the_origin(stamped):
    pytest.importorskip("matplotlib")
    axes = stamped.plot().axes[0]
    low, high = axes.get_xlim()
    assert low == 0.0
    assert high < 200.0
    assert axes.get_xlabel() == f"time [s after {DATE}]"
    axes.figure.draw_without_rendering()
    assert axes.xaxis.get_offset_text().get_text() == ""
