"""The table of columns of cluster jobs: what follows it has all of them."""

import inspect

import numpy as np
import pytest

import malleable as mb
from malleable import _core
from malleable.cluster.events import COLUMNS
from malleable.cluster.jobs_from_events import jobs_from_events
from malleable.cluster.table import SCHEDULER_COLUMNS, ClusterJobs

ROWS = {row["name"]: row for row in _core.CLUSTER_COLUMNS}
AMOUNTS = [
    name for name in SCHEDULER_COLUMNS if name not in ("maps", "reduces", "arrival", "min_mode")
]


def test_what_a_scheduler_is_told_has_a_place_in_its_records():
    assert {name for name, row in ROWS.items() if row["for_schedulers"]} <= set(COLUMNS)
    assert set(SCHEDULER_COLUMNS) <= inspect.signature(ClusterJobs).parameters.keys()


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row["by_row"]])
def test_lengths_and_types_are_checked_by_the_table(name):
    row = ROWS[name]
    columns = mb.ClusterJobs([2, 3], 1.0).columns()
    kind = np.uint8 if name == "kind" else np.int64 if row["whole"] else np.float64
    with pytest.raises(ValueError, match=rf"^{name}\b.*3.*2|^\w+ has 2.*3"):
        _core.validate_cluster_jobs(columns | {name: np.ones(3, dtype=kind)})
    if name in ("deadline", "kind", "arrival"):
        return
    wrong = -(2**40)
    with pytest.raises(ValueError, match=rf"^{name}\[0\] = -"):
        _core.validate_cluster_jobs(columns | {name: np.array([wrong, wrong], dtype=kind)})


def test_a_table_of_text_has_every_parameter(tmp_path):
    path = tmp_path / "jobs.csv"
    values = dict.fromkeys(AMOUNTS, 3)
    head = ["maps", "map_seconds", *values]
    path.write_text(",".join(head) + "\n5,1," + ",".join(map(str, values.values())) + "\n")
    jobs = mb.read(path).tasks()
    assert {name: getattr(jobs, name).tolist() for name in values} == {
        name: [value] for name, value in values.items()
    }


def test_recorded_jobs_have_what_the_scheduler_was_told(tmp_path):
    path = tmp_path / "events"
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 9}]), "fair", record=path)
    told = {name: [k + 2, k + 3] for k, name in enumerate(AMOUNTS)}
    ids = scheduler.add(mb.ClusterJobs([50, 40], 1.0, 3, 1.0, arrival=[4.0, 1.0], **told), 6.0)
    scheduler.decide(6.0)
    scheduler.update(ids[:1], weight=[9.0], now=7.0)
    scheduler.finish(ids, 8.0)
    scheduler.close()
    jobs, _ = jobs_from_events(path)
    told["weight"][0] = 9.0
    assert jobs.arrival.tolist() == [1.0, 4.0]  # by arrival
    for name, values in told.items():
        assert getattr(jobs, name).tolist() == values[::-1], name
