"""`malleable replay`."""

import json

import malleable as mb
from malleable.cli import main


def recorded(path):
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), "flex", record=path)
    ids = scheduler.add(mb.ClusterJobs([6, 3], [2.0, 1.0]), 0.0)
    scheduler.decide(0.0)
    scheduler.finish(ids[1:], 3.0)
    scheduler.decide(3.0)
    scheduler.close()


def test_other_policies_at_recorded_states(tmp_path, capsys):
    path = tmp_path / "events"
    recorded(path)
    assert main(["replay", str(path), "--policy", "fair,srpt"]) == 0
    shown = capsys.readouterr().out
    assert "flex decides as recorded: 2 jobs, 2 decisions" in shown
    assert main(["replay", str(path), "--policy", "fair,srpt", "--json", "-"]) == 0
    fair, srpt = json.loads(capsys.readouterr().out)["replays"]
    # FLEX: 1 and 3, then 4; FAIR: 2 and 2, then 4; SRPT as FLEX.
    assert (fair["differing"], fair["moved"], fair["same"]) == (1, 0.5, True)
    assert srpt["differing"] == 0


def test_wrong_files_are_told_in_one_line(tmp_path, capsys):
    path = tmp_path / "events"
    path.write_bytes(b"nothing")
    assert main(["replay", str(path)]) == 1
    assert "not a file of events" in capsys.readouterr().err
