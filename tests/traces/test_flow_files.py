"""Readers of flows: the project's JSON, WfFormat."""

import gzip
import io
import json

import numpy as np
import pytest
from hypothesis import given, settings

import malleable as mb
from benchmarks.instances import alibaba_flows
from malleable.jobs.table import ALL_SLOTS
from malleable.traces.flow_files import flows_dict, read_flows, write_flows
from tests.flows.flow_instances import any_flows
from tests.trace_files import trace_file

SMALL = {
    "slots": 4,
    "flows": [
        {
            "name": "etl",
            "arrival": 1.5,
            "weight": 2,
            "deadline": 9,
            "sla": [[3, 1], [5, 2.5]],
            "jobs": [
                {"name": "map", "work": 8, "max_slots": 3},
                {"name": "reduce", "work": 2, "after": ["map"]},
            ],
        },
        {"name": "idle", "jobs": []},
    ],
}


def text(content):
    return io.StringIO(json.dumps(content))


def test_own_json():
    flows = read_flows(text(SMALL))
    assert flows.slots == 4 and flows.name == ("etl", "idle")
    assert flows.job_name == ("etl/map", "etl/reduce")
    assert flows.work.tolist() == [8.0, 2.0]
    assert flows.max_slots.tolist() == [3, ALL_SLOTS]
    assert flows.parent.tolist() == [0] and flows.after(1) == [0]
    assert flows.arrival.tolist() == [1.5, 0.0] and flows.weight.tolist() == [2.0, 1.0]
    assert flows.deadline.tolist() == [9.0, np.inf]
    assert flows.sla == [[(3.0, 1.0), (5.0, 2.5)], []]
    with pytest.raises(ValueError, match="read-only"):
        flows.work[0] = 1.0


def test_plain_or_zipped_path(tmp_path):
    path = tmp_path / "flows.json"
    write_flows(path, read_flows(text(SMALL)))
    with pytest.raises(FileExistsError):
        write_flows(path, read_flows(text(SMALL)), force=False)
    write_flows(path, read_flows(text(SMALL)))
    zipped = tmp_path / "flows.bin"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    assert (
        flows_dict(read_flows(path))
        == flows_dict(read_flows(zipped))
        == flows_dict(read_flows(text(SMALL)))
    )


@settings(max_examples=30)
@given(any_flows())
def test_what_is_written_is_read_back(flows):
    again = read_flows(text(flows_dict(flows, 7)))
    assert again.slots == 7
    for field in ("name", "job_name", "sla"):
        assert getattr(again, field) == getattr(flows, field)
    for field in ("work", "max_slots", "arrival", "weight", "deadline", "parent", "parent_offset"):
        assert np.array_equal(getattr(again, field), getattr(flows, field)), field


def flow(**changes):
    return {"flows": [{"name": "f", "jobs": [{"name": "a", "work": 1}]} | changes]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "unknown format"),
        ({"jobs": []}, "an object without jobID"),
        ({"flows": {}}, "flows = {}: expected a list"),
        ({"flows": [3]}, r"flows\[0\]: 3: expected an object"),
        ({"flows": [], "slot": 3}, "unknown field 'slot'; did you mean 'slots'"),
        ({"flows": [], "slots": 0}, "slots = 0"),
        (flow(arival=2), "unknown field 'arival'; did you mean 'arrival'"),
        (flow(jobs=[{"name": "a"}]), "flow 'f': job 'a': no work"),
        (flow(jobs=[{"name": "a", "work": "x"}]), "jobs.0.: work = 'x': not a number"),
        (flow(jobs=[{"name": "a", "work": -1}]), r"work\[0\] = -1.*\(f/a\)"),
        (flow(jobs=[{"name": "a", "work": 1, "max_slots": 0}]), "max_slots"),
        (flow(jobs=[{"name": "a", "work": 1, "after": ["b"]}]), "'a': after 'b'"),
        (flow(jobs=[{"name": "a", "work": 1, "after": "b"}]), "expected a list of names"),
        (flow(jobs=[{"name": "a", "work": 1}, {"name": "a", "work": 2}]), "'a': the name is taken"),
        (
            flow(
                jobs=[
                    {"name": "a", "work": 1, "after": ["c"]},
                    {"name": "b", "work": 1, "after": ["a"]},
                    {"name": "c", "work": 1, "after": ["b"]},
                ]
            ),
            "flow 'f': its jobs form a cycle",
        ),
        (
            {"flows": [{"name": "f", "jobs": []}, {"name": "f", "jobs": []}]},
            "'f': the name is taken",
        ),
        (flow(sla=[[2, 1], [1, 2]]), "sla"),
        (flow(deadline="soon"), "deadline = 'soon'"),
    ],
)
def test_wrong_json_says_what_and_where(content, message):
    with pytest.raises(ValueError, match=message):
        read_flows(text(content))


@pytest.mark.parametrize("broken", ["", "{", "nonsense", '{"tpch_q1_2g_maxCores_3": []}'])
def test_what_is_not_a_file_of_flows(broken):
    with pytest.raises(ValueError, match="<input>"):
        read_flows(io.StringIO(broken))


WORKFLOW_15 = {
    "name": "genome",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {"name": "split", "id": "s1", "children": ["m1"], "parents": []},
                {"name": "merge", "id": "m1", "children": [], "parents": ["s1"]},
            ]
        },
        "execution": {
            "tasks": [
                {"id": "s1", "runtimeInSeconds": 4.0, "coreCount": 2},
                {"id": "m1", "runtimeInSeconds": 0},
            ]
        },
    },
}
WORKFLOW_14 = {
    "name": "old",
    "schemaVersion": "1.4",
    "workflow": {
        "tasks": [
            {"name": "split", "runtimeInSeconds": 4.0, "cores": 2, "children": ["merge"]},
            {"name": "merge", "runtimeInSeconds": 1.0, "parents": ["split"]},
        ]
    },
}


@pytest.mark.parametrize(
    ("content", "names"),
    [(WORKFLOW_15, ("genome/s1", "genome/m1")), (WORKFLOW_14, ("old/split", "old/merge"))],
)
def test_wfformat(content, names):
    for flows in (read_flows(text(content)), mb.read(text(content)).flows()):
        assert flows.job_name == names
        assert flows.work[0] == 8.0 and flows.max_slots.tolist() == [2, 1]
        assert flows.parent.tolist() == [0] and flows.parent_offset.tolist() == [0, 0, 1]


def wfformat_document(version, rng):
    """A WfFormat instance as its schema has it, and what a reader must find: work, cores, parents."""
    count = int(rng.integers(1, 12))
    names = [f"step_{k:02d}" for k in range(count)]
    ids = [f"{name}-{k}" for k, name in enumerate(names)]
    above = [[p for p in range(k) if rng.random() < 0.3] for k in range(count)]
    below = [[c for c in range(count) if k in above[c]] for k in range(count)]
    seconds = rng.uniform(0.0, 50.0, count).round(3).tolist()
    cores = rng.integers(1, 9, count).tolist()
    ran = [
        {"runtimeInSeconds": seconds[k], "coreCount": cores[k], "avgCPU": 91.5, "machines": ["n0"]}
        for k in range(count)
    ]
    machines = [{"nodeName": "n0", "cpu": {"coreCount": 48, "speedInMHz": 1200}}]
    if version == "1.4":  # one list of tasks; parents and children by name
        refer = names
        tasks = [
            {
                "name": names[k],
                "id": ids[k],
                "type": "compute",
                "command": {"program": "run", "arguments": ["-x"]},
                "parents": [refer[p] for p in above[k]],
                "children": [refer[c] for c in below[k]],
                "files": [{"link": "input", "name": f"f{k}", "sizeInBytes": 10}],
                **ran[k],
            }
            for k in range(count)
        ]
        workflow = {"makespanInSeconds": 99, "executedAt": "2021-04-02T10:00:00Z", "tasks": tasks}
        workflow["machines"] = machines
    else:
        specification = {
            "tasks": [
                {
                    "name": names[k],
                    "id": ids[k],
                    "parents": [ids[p] for p in above[k]],
                    "children": [ids[c] for c in below[k]],
                    "inputFiles": [f"f{k}"],
                    "outputFiles": [],
                }
                for k in range(count)
            ],
            "files": [{"id": f"f{k}", "sizeInBytes": 10} for k in range(count)],
        }
        # How tasks ran stands in an order of its own.
        runs = [{"id": ids[k], **ran[k]} for k in rng.permutation(count).tolist()]
        execution = {
            "makespanInSeconds": 99,
            "executedAt": "2024-04-02T10:00:00Z",
            "tasks": runs,
            "machines": machines,
        }
        if version == "1.6":
            specification["metrics"] = {"taskCount": count, "fileCount": count}
            execution["metrics"] = {"totalWorkInSeconds": sum(seconds)}
        workflow = {"specification": specification, "execution": execution}
    document = {
        "name": "made-up",
        "description": "A DAG at random",
        "createdAt": "2024-04-02T10:00:00Z",
        "schemaVersion": version,
        "author": {"name": "n", "email": "n@example.org"},
        "workflow": workflow,
    }
    return document, ids, np.multiply(seconds, cores), cores, above


@pytest.mark.parametrize("version", ["1.4", "1.5", "1.6"])
@pytest.mark.parametrize("seed", range(8))
def test_wfformat_versions(version, seed):
    document, ids, work, cores, above = wfformat_document(version, np.random.default_rng(seed))
    for flows in (read_flows(text(document)), mb.read(text(document)).flows()):
        assert flows.name == ("made-up",)
        assert flows.job_name == tuple(f"made-up/{key}" for key in ids)
        assert np.array_equal(flows.work, work) and flows.max_slots.tolist() == cores
        assert [sorted(flows.after(k)) for k in range(len(ids))] == above
    mb.plan(flows, 8, "sum:completion").validate()


def test_wfformat_errors():
    import copy

    def broken(change):
        content = copy.deepcopy(WORKFLOW_15)
        change(content["workflow"])
        return text(content)

    cases = [
        (lambda w: w["execution"]["tasks"].pop(), "'m1': has not been run"),
        (
            lambda w: w["execution"]["tasks"][0].update(runtimeInSeconds=-1),
            "'s1': runtimeInSeconds",
        ),
        (lambda w: w["specification"]["tasks"][1].update(parents=["x"]), "'x' is no task"),
        (lambda w: w["specification"]["tasks"][0].update(parents=["m1"]), "cycle"),
        (lambda w: w["specification"]["tasks"].append({"id": "m1"}), "name is taken"),
        (lambda w: w.pop("execution"), "execution"),
        (lambda w: w["execution"]["tasks"][0].update(coreCount="two"), "coreCount"),
    ]
    for change, message in cases:
        with pytest.raises(ValueError, match=message):
            read_flows(broken(change))
    with pytest.raises(ValueError, match="workflow = None: expected an object"):
        mb.read(text({"schemaVersion": "1.5"}))


def test_real_workflows():
    for path in sorted(trace_file("wfinstances").glob("*/*.gz"))[:6]:
        flows = read_flows(path)
        plan = mb.plan(flows, 48, "max:completion", effort=0)
        plan.validate()
        assert plan.value <= plan.lower_bound * 1.6


def test_real_batch_dags():
    flows = alibaba_flows(trace_file("alibaba2018-dag", "set0_dev.jsonl.gz"), most=200)
    for policy in ("flowflex", "fair", "fifo"):
        plan = mb.plan(flows, 2000, "sum:response", policy, effort=0)
        plan.validate()
