"""What each format becomes for every model, and what it does not."""

from __future__ import annotations

import io
import json
import warnings
from typing import Any

import numpy as np
import pytest

import malleable as mb
from malleable.traces import Phase, Trace
from tests.traces.test_damaged_files import (
    BATCH_TASK,
    CLUSTER_TABLE,
    FLOWS,
    MAP_REDUCE,
    MAP_SHUFFLE,
    RUMEN,
    SACCT,
    SPARK,
    SWF,
    SWIM,
    TABLE,
    TASK_EVENTS,
    WORKFLOW,
)

CONVERTERS = ("jobs", "flows", "map_shuffle", "map_reduce", "tasks")
# For each format the converters that it feeds; the others say what is missing.
FEEDS = {
    SWIM: CONVERTERS,
    RUMEN: CONVERTERS,
    TABLE: ("jobs", "flows", "tasks"),
    CLUSTER_TABLE: ("jobs", "flows", "map_reduce", "tasks"),
    MAP_SHUFFLE: ("jobs", "flows", "map_shuffle", "tasks"),
    MAP_REDUCE: ("jobs", "flows", "map_reduce", "tasks"),
    FLOWS: ("jobs", "flows", "tasks"),
    WORKFLOW: ("jobs", "flows", "tasks"),
    SWF: ("jobs", "flows", "map_reduce", "tasks"),
    SACCT: ("jobs", "flows", "map_reduce", "tasks"),
    TASK_EVENTS: ("jobs", "flows", "map_reduce", "tasks"),
    BATCH_TASK: ("jobs", "flows", "tasks"),
    SPARK: ("jobs", "flows", "tasks"),
}
# These know when their tasks ran.
TIMED = (RUMEN, SWF, SACCT, TASK_EVENTS, BATCH_TASK, SPARK)


def convert(trace: Trace, name: str) -> Any:
    given = {"task_seconds": 2.0} if "task_seconds" in trace.assumptions(name) else {}
    return getattr(trace, name)(**given)


@pytest.mark.parametrize("text", FEEDS)
@pytest.mark.parametrize("name", CONVERTERS)
def test_every_converter_on_every_format(text: str, name: str) -> None:
    trace = mb.read(io.StringIO(text))
    if name in FEEDS[text]:
        table = convert(trace, name)
        assert 0 < len(table) <= len(trace)
        assert table == convert(mb.read(io.StringIO(text)), name)
    else:
        with pytest.raises(ValueError, match=f"^<input>: a {trace.format} does not say"):
            getattr(trace, name)()


def test_work_is_the_same_for_every_model() -> None:
    for text in (CLUSTER_TABLE, MAP_REDUCE):
        trace = mb.read(io.StringIO(text))
        tasks = trace.tasks()
        assert trace.jobs().work == pytest.approx(tasks.map_work)
        if trace.reduce is not None and trace.format != "table of cluster jobs":
            assert trace.jobs("reduce").work == pytest.approx(tasks.reduce_work)
        assert trace.flows().work.sum() >= tasks.map_work.sum()
    rumen = mb.read(io.StringIO(RUMEN))
    assert rumen.jobs().work.tolist() == pytest.approx(rumen.tasks().map_work.tolist())


def test_two_phases_become_a_chain() -> None:
    flows = mb.read(io.StringIO(RUMEN)).flows()
    assert flows.job_name == ("job_1/map", "job_1/reduce", "job_2/map", "job_2/reduce")
    assert flows.after(1) == [0] and flows.after(3) == [2]
    assert mb.read(io.StringIO(SWIM)).flows().job_name[:2] == ("job0/map", "kind/map")
    mb.plan(flows, 5).validate()


def test_a_table_is_given_as_it_stands() -> None:
    for text, name in (
        (TABLE, "jobs"),
        (FLOWS, "flows"),
        (MAP_SHUFFLE, "map_shuffle"),
        (MAP_REDUCE, "map_reduce"),
        (CLUSTER_TABLE, "tasks"),
    ):
        trace = mb.read(io.StringIO(text))
        assert getattr(trace, name)() is trace.table
    assert mb.read(io.StringIO(FLOWS)).flows().slots == 8
    with pytest.raises(ValueError, match="slot = 3.*counts slots already"):
        mb.read(io.StringIO(MAP_REDUCE)).map_reduce(slot=3)


def test_users_and_weights_come_along() -> None:
    trace = mb.read(io.StringIO(TABLE))
    tasks = trace.tasks(task_seconds=5)
    assert tasks.user == ("ann", "bob") and tasks.weight.tolist() == [1, 2]
    assert tasks.maps.tolist() == [8, 2] and tasks.deadline.tolist() == [90, np.inf]
    flows = trace.flows()
    assert flows.weight.tolist() == [1, 2] and flows.sla == [[(50.0, 1.0), (70.0, 3.0)], []]
    assert mb.read(io.StringIO(RUMEN)).tasks().program == ("sort", "sort")


def dag(**more: Any) -> Trace:
    """Two flows of tasks that ran: a, then b; and c."""
    runs = [[(0, 10.0, 14.0), (1, 10.0, 16.0)], [(0, 16.0, 20.0)], [(0, 12.0, 18.0)]]
    return Trace(
        arrival=np.array([9.0, 9.0, 12.0]),
        map=Phase.of_runs([2, 1, 1], runs),
        name=["a", "b", "c"],
        flow=np.array([0, 0, 1]),
        flow_name=("f", "g"),
        parent_offset=np.array([0, 0, 1, 1]),
        parent=np.array([0]),
        wall=True,
        format="DAG",
        **more,
    )


def test_stages_that_ran_become_flows_and_tasks() -> None:
    trace = dag()
    flows = trace.flows()
    assert flows.job_name == ("f/a", "f/b", "g/c") and flows.after(1) == [0]
    assert flows.work.tolist() == [10, 4, 6] and flows.max_slots.tolist() == [2, 1, 1]
    assert flows.arrival.tolist() == [0, 3]
    tasks = trace.tasks()
    assert tasks.map_seconds.tolist() == [4, 6, 4, 6] and tasks.flow == ("f", "f", "g")
    assert tasks.after.tolist() == [0]
    whole = trace.jobs()
    assert whole.name == ("f", "g") and whole.work.tolist() == [14, 6]
    then = trace.jobs(at=5.0)  # 14 on the trace's clock
    assert (then.work.tolist(), then.size.tolist()) == ([2 + 4, 4], [14, 6])
    assert trace.jobs(at=7.5).work.tolist() == [3.5, 1.5]
    assert trace.jobs(at=11.0).name == ()


def test_jobs_of_flows_are_never_left_out() -> None:
    runs = [[(0, np.nan, np.nan)]]
    trace = Trace(
        arrival=np.zeros(1),
        map=Phase.of_runs([1], runs),
        flow=np.array([0]),
        flow_name=("f",),
        parent_offset=np.array([0, 0]),
        parent=np.empty(0, dtype=np.int64),
        skip_bad=True,
    )
    for convert_to in (trace.flows, trace.tasks, trace.jobs):
        with pytest.raises(ValueError, match="job 0: no map task with a known time"):
            convert_to()


@pytest.mark.parametrize("text", [t for t in FEEDS if t not in (*TIMED, TABLE)])
def test_a_snapshot_says_where_work_that_was_done_is_not_known(text: str) -> None:
    trace = mb.read(io.StringIO(text))
    assert not trace.timed
    with pytest.warns(UserWarning, match=f"a {trace.format} does not say when work was done"):
        found = trace.jobs(at=1e6)
    assert found == trace.jobs()


@pytest.mark.parametrize("text", TIMED)
def test_snapshots_where_it_is_known(text: str) -> None:
    """All work before anything ran, none once all ended, and never more than before."""
    trace = mb.read(io.StringIO(text))
    assert trace.timed
    whole = trace.jobs()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        times = [*range(0, 120, 4), 1e9]
        left = [trace.jobs(at=time) for time in times]
    assert left[0].work.tolist() == whole.work[whole.arrival <= 0.0].tolist()
    for then in left:
        assert (then.work <= then.size).all()
        sizes = dict(zip(whole.name, whole.work.tolist(), strict=True))
        assert then.size.tolist() == [sizes[name] for name in then.name]
    if text is not SACCT:  # some of its tasks never begin
        assert len(left[-1]) == 0


def test_a_snapshot_of_recorded_runs_is_silent() -> None:
    trace = mb.read(io.StringIO(RUMEN))
    assert trace.timed
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The maps run from 2 s to 9 s, and 1 s is the first submission; the other task counts alike.
        assert trace.jobs(at=4.0).work.tolist() == pytest.approx([4.001 + 7.001, 4.002 + 7.002])
        assert mb.read(io.StringIO(TABLE)).jobs(at=1.0).name == ("a",)


def test_simulate_knows_the_model() -> None:
    swim = mb.read(io.StringIO(SWIM))
    for model, table in (
        ("tandem", swim.map_shuffle()),
        ("slotted", swim.map_reduce()),
        ("cluster", swim.tasks()),
    ):
        options: dict[str, Any] = {"rng": 1}
        if model == "cluster":
            options["cluster"] = {"node": [{"map_slots": 2, "reduce_slots": 1}]}
        found = mb.simulate(swim, "fifo" if model != "tandem" else "fcfs", model=model, **options)
        assert found == mb.simulate(table, list(found.summary), **options)
        assert found.model == model
    own = mb.simulate(mb.read(io.StringIO(MAP_SHUFFLE)))
    assert own.model == "tandem" and list(own.summary) == ["max-srpt"]
    with pytest.raises(ValueError, match="model to be one of tandem, slotted, cluster"):
        mb.simulate(swim, "fifo")
    with pytest.raises(ValueError, match="expected a table of its own model"):
        mb.simulate(mb.Cluster([{"slots": 1}]), "fifo")


def test_damaged_jobs_of_a_converter_are_counted_as_records_are() -> None:
    text = RUMEN.replace('"reduceShuffleBytes": 9', '"reduceShuffleBytes": -1', 2)
    trace = mb.read(io.StringIO(text))
    assert len(trace.tasks()) == 2
    with pytest.raises(ValueError, match="1 of 2 jobs malformed: job job_1: no reduce attempt"):
        trace.map_shuffle()
    with pytest.warns(UserWarning, match="1 of 2 jobs malformed"):
        assert mb.read(io.StringIO(text), skip_bad=True).map_shuffle().name == ("job_2",)


def test_rows_of_a_job_table_and_flows_of_a_file_are_records_too() -> None:
    text = "work,weight\n1,1\nx,2\n3\n4,-1\n5,5\n"
    told = (
        "3 of 5 rows malformed: row 1, work = 'x': not a number; row 2: 1 cells, but the header has 2;"
        r" row 3: weight\[0\] = -1"
    )
    with pytest.warns(UserWarning, match=told):
        trace = mb.read(io.StringIO(text), skip_bad=True)
    assert trace.jobs().work.tolist() == [1, 5]
    with pytest.raises(ValueError, match="row 2: 1 cells"):
        mb.read(io.StringIO(text))
    flows = {"flows": [{"jobs": [{"work": w}]} for w in (1, "x", 2, -3)] + [{"job": []}]}
    with pytest.warns(UserWarning, match=r"3 of 5 flows malformed: flow 'flow1'.*jobs\[0\].*'x'"):
        found = mb.read(io.StringIO(json.dumps(flows)), skip_bad=True).flows()
    assert found.name == ("flow0", "flow2") and found.work.tolist() == [1, 2]
    with pytest.raises(ValueError, match="2 of 2 rows malformed: .*; none is left"):
        mb.read(io.StringIO("work\nx\ny\n"), skip_bad=True)


def test_warnings_point_to_the_line_that_reads_or_converts() -> None:
    text = RUMEN.replace('"reduceShuffleBytes": 9', '"reduceShuffleBytes": -1', 2)
    with pytest.warns(UserWarning) as told:
        mb.read(io.StringIO(SWIM + "x\n"), skip_bad=True)
        mb.read(io.StringIO(TABLE + "x\n"), skip_bad=True)
        mb.read(io.StringIO(text), skip_bad=True).map_shuffle()
        mb.read(io.StringIO(CLUSTER_TABLE)).jobs(at=1.0)
    assert [warning.filename for warning in told] == [__file__] * 4
