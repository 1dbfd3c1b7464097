"""Tables of sacct with other columns, delimiters and slots, and files of no known format."""

from __future__ import annotations

import io

import pytest

import malleable as mb

SACCT = {
    "header with commas": "JobID,JobName,Submit,Start,End,AllocCPUS\n1,a,100,110,170,4\n",
    "semicolons": "JobID;JobName;Submit;Start;End;AllocCPUS\n1;a;100;110;170;4\n",
    "a sign in a name": "JobID#JobName#Submit#Start#End#AllocCPUS\n1#a#b#100#110#170#4\n",
    "two signs": "JobID||JobName||Submit||Start||End||AllocCPUS\n1||a|b||100||110||170||4\n",
    "commas in resources": "JobID,Submit,Start,End,AllocCPUS,AllocTRES\n1,100,110,170,4,cpu=4,mem=8G\n",
}


@pytest.mark.parametrize("text", SACCT.values(), ids=SACCT)
def test_sacct_with_other_delimiters(text: str) -> None:
    assert mb.read(io.StringIO(text)).tasks().map_work.tolist() == [240.0]


@pytest.mark.parametrize(
    "text",
    [
        "JobID,JobName,Submit,Start,End,AllocTRES\n1,a,100,110,170,cpu=4,mem=8G\n",
        "JobID:JobName:Submit:Start:End\n1:a:2024-05-01T08:00:00:00:00\n",
        "JobID|JobName|Comment|Submit|Start|End\n1|a|b|c|100|110|170\n",
    ],
)
def test_where_a_delimiter_may_be_several_things_nothing_is_guessed(text: str) -> None:
    with pytest.raises(ValueError, match="may contain .*: take another --delimiter"):
        mb.read(io.StringIO(text))


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


UNKNOWN = {
    "a,b\n1,2\n": "--columns submit=A",
    "7|x|2024\n": "--columns JobID,Submit",
    '{"jobs": 3}': "YARN, Kubernetes",
    "       JobID    JobName\n------- ----\n1   a\n": "sacct --parsable2",
    "<?xml version='1.0'?><apps/>\n": "YARN answers JSON",
    "nothing known\n": "SWF log",
}


@pytest.mark.parametrize("text", UNKNOWN)
def test_an_unknown_file_is_told_the_likeliest_formats(text: str) -> None:
    with pytest.raises(ValueError, match="unknown format|not a job|unknown column") as error:
        mb.read(io.StringIO(text))
    assert UNKNOWN[text] in str(error.value) or "unknown column" in str(error.value)


def test_what_is_left_out_is_grouped_by_reason() -> None:
    rows = [
        "1|100|110|170",
        "2|never|110|170",
        "3|x|110|170",
        "4|100|110",
        "x|100|110|170",
        "6|5||",
    ]
    text = "JobID|Submit|Start|End\n" + "\n".join(rows)
    told = r"4 of 6 jobs malformed: line 3: Submit = 'never': .* \(and 1 more of this kind\); line 5: 3 cells"
    with pytest.raises(ValueError, match=told):
        mb.read(io.StringIO(text))
    with pytest.warns(UserWarning, match=told):
        trace = mb.read(io.StringIO(text), skip_bad=True)
    assert sorted(trace.lacking or ()) == ["", "pending"]
