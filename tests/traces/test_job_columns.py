"""Formats that are tables of columns: samples written by hand, with counts and work that are right."""

from __future__ import annotations

import io
import json

import pytest

import malleable as mb

SACCT = {
    "header with commas": "JobID,JobName,Submit,Start,End,AllocCPUS\n1,a,100,110,170,4\n",
    "semicolons": "JobID;JobName;Submit;Start;End;AllocCPUS\n1;a;100;110;170;4\n",
}


@pytest.mark.parametrize("text", SACCT.values(), ids=SACCT)
def test_sacct_with_other_delimiters(text: str) -> None:
    assert mb.read(io.StringIO(text)).tasks().map_work.tolist() == [240.0]


def test_sacct_without_header() -> None:
    text = "1|a|100|110|170|4\n2|b|100|110|170|2\n"
    trace = mb.read(io.StringIO(text), columns="JobID,JobName,Submit,Start,End,AllocCPUS")
    assert trace.format == "Slurm sacct table" and trace.tasks().map_work.tolist() == [240.0, 120.0]


def test_gpus_as_slots() -> None:
    text = (
        "JobID|Submit|Start|End|AllocCPUS|AllocTRES\n"
        "1|100|110|170|16|billing=16,cpu=16,gres/gpu:a100=4,gres/gpu=4,mem=64G,node=2\n"
        "2|100|110|170|8|cpu=8,mem=1G\n"
    )
    jobs = mb.read(io.StringIO(text)).tasks()
    assert jobs.gpus.tolist() == [0.25, 0.0] and jobs.memory.tolist() == [2.0**32, 2.0**27]
    of_gpus = mb.read(io.StringIO(text), slots_from="gres/gpu")
    assert of_gpus.tasks().width.tolist() == [4] and of_gpus.lacking == ["", "without gres/gpu"]


def test_any_csv() -> None:
    text = (
        "owner;queued;began;ended;cores;limit\nann;2024-05-01 08:00:00;1714550410;1714550470;4;90\n"
    )
    told = "submit=queued,start=began,end=ended,slots=cores,user=owner,requested=limit"
    trace = mb.read(io.StringIO(text), columns=told)
    jobs = trace.tasks()
    assert trace.user == ["ann"] and jobs.width.tolist() == [4]
    assert jobs.map_work.tolist() == [240.0] and jobs.requested.tolist() == [90.0]
    with pytest.raises(ValueError, match="begun"):
        mb.read(io.StringIO(text), columns="submit=begun,start=began,end=ended")
    with pytest.raises(ValueError, match="finish"):
        mb.read(io.StringIO(text), columns="submit=queued,start=began,finish=ended")


PBS = """05/01/2024 08:00:00;Q;7.srv;queue=batch
05/01/2024 08:00:10;S;7.srv;user=ann group=g jobname=two words queue=batch ctime=100 qtime=100 start=110 Resource_List.ncpus=4
05/01/2024 08:01:10;E;7.srv;user=ann group=g jobname=two words queue=batch ctime=100 qtime=100 etime=100 start=110 \
exec_host=n1/0*4 Resource_List.ncpus=4 Resource_List.walltime=01:00:00 session=1 end=170 Exit_status=0 resources_used.walltime=00:01:00
05/01/2024 08:01:10;E;8[1].srv;user=bob jobname=a queue=batch ctime=120 start=130 Resource_List.nodes=2:ppn=3 end=140
05/01/2024 08:01:10;E;8[2].srv;user=bob jobname=a queue=batch ctime=120 start=140 Resource_List.nodes=2:ppn=3 end=150
05/01/2024 08:01:10;S;9.srv;user=bob jobname=b queue=batch ctime=125 start=141 Resource_List.ncpus=1
"""


def test_pbs() -> None:
    trace = mb.read(io.StringIO(PBS))
    jobs = trace.tasks()
    assert trace.format == "PBS accounting log" and trace.program == ["two words", "a", "b"]
    assert jobs.map_work.tolist() == [240.0, 120.0] and jobs.width.tolist() == [4, 6]
    assert trace.requested[0] == 3600.0 and trace.lacking == ["", "", "running"]


def test_yarn() -> None:
    apps = [
        {"id": "application_1_1", "user": "ann", "name": "wc", "queue": "q", "state": "FINISHED", "finalStatus":
         "SUCCEEDED", "startedTime": 100_000, "launchTime": 110_000, "finishedTime": 170_000, "vcoreSeconds": 90},
        {"id": "application_1_2", "user": "bob", "name": "x", "queue": "q", "state": "ACCEPTED", "finalStatus":
         "UNDEFINED", "startedTime": 120_000, "launchTime": 0, "finishedTime": 0, "vcoreSeconds": 0},
    ]  # fmt: skip
    trace = mb.read(io.StringIO(json.dumps({"apps": {"app": apps}})))
    jobs = trace.tasks()
    assert jobs.map_work.tolist() == [90.0] and jobs.maps.tolist() == [2]
    assert trace.finish[0] == 170.0 and trace.lacking == ["", "pending"]


def kubernetes(**own: object) -> dict[str, object]:
    pod = {"spec": {"containers": [{"resources": {"requests": {"cpu": "1500m"}}}]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "ml", "creationTimestamp": "2024-05-01T08:00:00Z",
                     "labels": {"kueue.x-k8s.io/queue-name": "main"}},
        "spec": {"parallelism": 2, "completions": 5, "template": pod},
        "status": {"startTime": "2024-05-01T08:01:00Z", "completionTime": "2024-05-01T08:04:00Z"},
        **own,
    }  # fmt: skip


def test_kubernetes() -> None:
    volcano = kubernetes(
        apiVersion="batch.volcano.sh/v1alpha1",
        metadata={"name": "v", "namespace": "hpc", "creationTimestamp": "2024-05-01T08:02:00Z"},
        spec={"queue": "gold", "tasks": [{"replicas": 3, "template": {}}]},
        status={"state": {"phase": "Completed", "lastTransitionTime": "2024-05-01T08:05:00Z"},
                "runningDuration": "60.0s"},
    )  # fmt: skip
    trace = mb.read(
        io.StringIO(
            json.dumps({"apiVersion": "v1", "items": [kubernetes(), volcano], "kind": "List"})
        )
    )
    jobs = trace.tasks()
    # Five pods of two slots each, two at once: three waves of a minute.
    assert jobs.map_work.tolist() == [5 * 2 * 60.0, 3 * 60.0] and jobs.width.tolist() == [2, 3]
    assert trace.groups["partition"] == ["main", "gold"] and trace.user == ["ml", "hpc"]


NEXTFLOW = """task_id\thash\tnative_id\tname\tstatus\texit\tsubmit\tduration\trealtime\t%cpu
1\taa/1\t7\tALIGN (one)\tCOMPLETED\t0\t2024-05-01 08:00:00.000\t1m 10s\t1m\t99%
2\taa/2\t8\tALIGN (two)\tCOMPLETED\t0\t2024-05-01 08:00:05.000\t30s\t20s\t99%
3\taa/3\t9\tMERGE\tCACHED\t0\t-\t-\t-\t-
4\taa/4\t9\tMERGE\tCOMPLETED\t0\t2024-05-01 08:02:00.000\t500ms\t400ms\t99%
"""
PARALLEL = """Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand
1\t:\t1714550400.125\t    13.000\t0\t12\t0\t0\techo a
2\t:\t1714550400.250\t     8.000\t0\t12\t0\t0\techo b
"""


def test_tasks_of_workflows_and_commands() -> None:
    trace = mb.read(io.StringIO(NEXTFLOW))
    jobs = trace.tasks()
    assert jobs.name == ("ALIGN", "MERGE") and jobs.maps.tolist() == [2, 1]
    assert jobs.map_work == pytest.approx([80.0, 0.4], abs=1e-5)
    jobs = mb.read(io.StringIO(PARALLEL)).tasks()
    assert jobs.maps.tolist() == [2] and jobs.map_work == pytest.approx([21.0], abs=1e-5)


def event(kind: str, name: str, **own: object) -> str:
    return json.dumps({"type": kind, "event": {f"org.apache.hadoop.mapreduce.jobhistory.{name}": own}},
                      separators=(",", ":"))  # fmt: skip


def test_history_of_hadoop() -> None:
    lines = [
        "Avro-Json",
        "{}",
        event("JOB_SUBMITTED", "JobSubmitted", jobid="job_1_1", userName="ann", jobName="wc", submitTime=100_000),
        event("TASK_STARTED", "TaskStarted", taskid="m0", taskType="MAP"),
        event("MAP_ATTEMPT_STARTED", "TaskAttemptStarted", taskid="m0", attemptId="m0_0", startTime=110_000),
        event("MAP_ATTEMPT_FINISHED", "MapAttemptFinished", taskid="m0", attemptId="m0_0", finishTime=130_000),
        event("TASK_STARTED", "TaskStarted", taskid="r0", taskType="REDUCE"),
        event("REDUCE_ATTEMPT_STARTED", "TaskAttemptStarted", taskid="r0", attemptId="r0_0", startTime=130_000),
        event("REDUCE_ATTEMPT_FINISHED", "ReduceAttemptFinished", taskid="r0", attemptId="r0_0",
              shuffleFinishTime=131_000, sortFinishTime=132_000, finishTime=140_000),
        event("JOB_FINISHED", "JobFinished", jobid="job_1_1", finishTime=141_000),
    ]  # fmt: skip
    trace = mb.read(io.StringIO("\n\n".join(lines) + "\n"))
    assert trace.format == "Hadoop job history" and trace.user == ["ann"]
    assert trace.jobs("map").work.tolist() == [20.0] and trace.jobs("reduce").work.tolist() == [9.0]


UNKNOWN = {
    "a,b\n1,2\n": "--columns submit=A",
    "7|x|2024\n": "--columns JobID,Submit",
    '{"jobs": 3}': "YARN, Kubernetes",
    "nothing known\n": "SWF log",
}


@pytest.mark.parametrize("text", UNKNOWN)
def test_an_unknown_file_is_told_the_likeliest_formats(text: str) -> None:
    with pytest.raises(ValueError, match="unknown format|not a job|unknown column") as error:
        mb.read(io.StringIO(text))
    assert UNKNOWN[text] in str(error.value) or "unknown column" in str(error.value)
