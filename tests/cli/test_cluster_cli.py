"""The cluster on the command line, and what is shown of it."""

import csv
import json
from pathlib import Path

import pytest

import malleable as mb
from malleable.cli import main
from malleable.papers import flowflex
from tests.full import in_full

JOBS = (
    "name,arrival,maps,map_seconds,reduces,reduce_seconds,user\n"
    "a,0,40,2,3,5,ann\nb,1,4,2,1,5,bob\nc,2,30,2,0,0,ann\n"
)
CLUSTER = "[options]\nepoch = 1\n[[node]]\ncount = 2\nmap_slots = 3\nreduce_slots = 1\n"


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("jobs.csv").write_text(JOBS)
    Path("cluster.toml").write_text(CLUSTER)


def call(*more):
    return main(["simulate", "jobs.csv", "--model", "cluster", "--cluster", "cluster.toml", *more])


def test_table_json_records_and_plot(capsys):
    pytest.importorskip("matplotlib")
    options = ["--policy", "flex,fair,fifo,hesrpt", "--json", "s.json", "--records", "r.csv"]
    assert call(*options, "--plot", "cdf.png") == 0
    out = capsys.readouterr().out
    assert "hesrpt" in out
    assert "over fair" in out
    found = mb.simulate(
        mb.read("jobs.csv").tasks(),
        ["flex", "fair", "fifo", "hesrpt"],
        cluster=mb.read_cluster("cluster.toml"),
        rng=0,
    )
    shown = json.loads(Path("s.json").read_text(), parse_constant=pytest.fail)
    assert shown["policies"]["flex"]["mean_response"] == found.summary["flex"]["mean_response"]
    with Path("r.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == 12
    assert list(rows[0])[:4] == [
        "job_id",
        "workload_name",
        "submission_time",
        "requested_number_of_resources",
    ]
    assert Path("cdf.png").read_bytes().startswith(b"\x89PNG")
    assert "remote" not in out  # nothing limits the network
    # The same trace, configuration and seed: the same bytes.
    assert call(*options, "--plot", "cdf.png", "--records", "again.csv", "--force") == 0
    assert Path("again.csv").read_bytes() == Path("r.csv").read_bytes()


def test_replications_and_grid(capsys):
    more = ["--replications", "2", "--estimates", "0.5", "--set", "noise=0.4", "--json", "r.json"]
    assert call("--policy", "flex,fair", *more) == 0
    assert "2 replications" in capsys.readouterr().out
    shown = json.loads(Path("r.json").read_text(), parse_constant=pytest.fail)
    assert shown["seeds"] == [0, 1]
    assert shown["policies"]["flex"]["mean_response"]["half"] > 0
    grid = ["--grid", "speedup=1,0.8,0.5", "--grid", "estimates=0,0.2,1"]
    assert call("--policy", "flex,fair", *grid, "--json", "g.json") == 0
    assert "mean response" in capsys.readouterr().out
    grid = json.loads(Path("g.json").read_text(), parse_constant=pytest.fail)["grid"]
    assert [(one["speedup"], one["estimates"]) for one in grid] == [
        (p, sigma) for p in (1.0, 0.8, 0.5) for sigma in (0.0, 0.2, 1.0)
    ]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--policy", "best"], "policy = 'best'"),
        (["--set", "noise"], "write NAME=VALUE"),
        (["--set", "noise=x"], "not a number"),
        (["--set", "nonsense=1"], "unknown option 'nonsense'"),
        (["--estimates", "x"], "--estimates x"),
        (["--read", "gap=1"], "option 'gap' does not apply to a table of cluster jobs"),
        (["--read", "gap"], "--read gap: write NAME=VALUE"),
        (["--load", "0.5"], "give only one of --slots, --load and --cluster"),
        (
            ["--grid", "estimates=0,1", "--records", "r.csv"],
            "--records: works for a single run only",
        ),
        (["--replications", "2", "--plot", "c.png"], "--plot: works for a single run only"),
        (["--grid", "load=0.5,x"], "--grid load 0.5,x: numbers with commas"),
        (["--grid", "noise=1"], "--grid noise=1: write load, estimates"),
        (["--grid", "estimates=0", "--estimates", "learn"], "estimates is given once more"),
        (["--grid", "load=0.5"], "load: only without a cluster"),
        (["--processes", "0", "--grid", "estimates=0,1"], "processes = 0"),
    ],
)
def test_wrong_usage_is_one_line(more, message, capsys):
    assert call(*more) == 1
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_one_command_for_a_sweep_with_its_picture(capsys):
    pytest.importorskip("matplotlib")
    call = ["simulate", "jobs.csv", "--model", "cluster", "--policy", "flex,fair,fifo"]
    grid = ["--grid", "load=0.5,0.9", "--grid", "estimates=0,0.5", "--replications", "2"]
    assert main([*call, *grid, "--plot", "fade.png", "--json", "g.json"]) == 0
    assert "mean response" in capsys.readouterr().out
    assert Path("fade.png").read_bytes().startswith(b"\x89PNG")
    shown = json.loads(Path("g.json").read_text(), parse_constant=pytest.fail)
    assert [(one["load"], one["estimates"]) for one in shown["grid"]] == [
        (load, sigma) for load in (0.5, 0.9) for sigma in (0.0, 0.5)
    ]


def test_formats_are_detected_and_stated(capsys):
    Path("t.tsv").write_text("a\t0\t0\t99\t0\t0\nb\t9\t9\t99\t5\t0\n")
    call = ["simulate", "t.tsv", "--model", "cluster", "--load", "0.5", "--policy", "fifo"]
    assert main([*call, "--read", "block_bytes=10"]) == 0
    assert (
        "20 map tasks, 1 reduce task), read as SWIM trace with block_bytes = 10,"
        in capsys.readouterr().out
    )
    Path("t.tsv").write_text("a\t0\t0\t99\t0\t0\nb\t9\t9\t99\t5\t0\nc\n")
    assert main(call) == 1
    assert "1 of 3 jobs malformed: line 3: 1 tab-sep" in capsys.readouterr().err
    assert main([*call, "--skip-bad"]) == 0
    assert "1 of 3 jobs malformed" in capsys.readouterr().err


@in_full
def test_reproduce_figure_12(capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(flowflex, "FLOWS", 3)
    assert main(["reproduce", "flowflex-fig12", "--simulations", "1", "--json", "-"]) == 0
    shown = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert shown["figure"] == "flowflex-fig12"
    more = ["reproduce", "flowflex-fig12", "--simulations", "1", "--plot", "x.png"]
    assert main(more) == 0
    assert Path("x.png").read_bytes().startswith(b"\x89PNG")


def test_blocks_that_move_are_shown(capsys):
    Path("jobs.csv").write_text("maps,map_seconds,block\n8,2,500\n")
    Path("cluster.toml").write_text(CLUSTER + "link = 100\n")
    assert call("--policy", "fair", "--set", "replicas=1", "--json", "s.json") == 0
    out = capsys.readouterr().out
    assert "remote" in out
    shown = json.loads(Path("s.json").read_text(), parse_constant=pytest.fail)
    moved = 1.0 - shown["policies"]["fair"]["locality"]
    assert shown["policies"]["fair"]["remote_bytes"] == pytest.approx(8 * 500 * moved)
    assert call("--policy", "fair,fifo", "--set", "replicas=1", "--replications", "2") == 0
    assert "remote" in capsys.readouterr().out


def test_compares_with_fair_at_its_best(capsys):
    assert call("--policy", "flex,fair", "--json", "s.json", "--records", "r.csv") == 0
    out = " ".join(capsys.readouterr().out.split())
    policies = json.loads(Path("s.json").read_text())["policies"]
    fairs = [name for name in policies if name != "flex"]
    assert fairs == ["fair", "fair(slow_start=0.05)", "fair(slow_start=0.8)"]
    jobs, cluster = mb.read("jobs.csv").tasks(), mb.read_cluster("cluster.toml")
    for start, name in zip((1.0, 0.05, 0.8), fairs, strict=True):
        own = mb.simulate(jobs, "fair", cluster=cluster, rng=0, slow_start=start).summary["fair"]
        assert policies[name] == json.loads(json.dumps(policies[name])) and (
            policies[name]["mean_response"] == own["mean_response"]
        )
    best = min(fairs, key=lambda name: policies[name]["mean_response"])
    assert f"{best}: the best of fair, fair(slow_start=0.05) and fair(slow_start=0.8)" in out
    ratio = policies["flex"]["mean_response"] / policies[best]["mean_response"]
    assert f"{ratio:.3f}" in out
    # Nobody asked for the others' records.
    with Path("r.csv").open(encoding="utf-8", newline="") as handle:
        assert {row["policy"] for row in csv.DictReader(handle)} == {"flex", "fair"}
    # Nothing to compare, nothing to choose: no more runs.
    for more in (["--policy", "fair"], ["--policy", "flex,fifo"]):
        assert call(*more, "--json", "s.json", "--force") == 0
        assert list(json.loads(Path("s.json").read_text())["policies"]) == more[1].split(",")
    # What the call says of all is one of the three.
    assert (
        call("--policy", "flex,fair", "--set", "slow_start=0.8", "--json", "s.json", "--force") == 0
    )
    assert list(json.loads(Path("s.json").read_text())["policies"]) == [
        "flex", "fair", "fair(slow_start=0.05)", "fair(slow_start=1)",
    ]  # fmt: skip


def test_a_grid_shows_the_best_fair(capsys):
    assert call("--policy", "flex,fair", "--grid", "speedup=1,0.5") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "mean responses [s]" in out and "best FAIR" in out


def test_names_of_users_are_names(capsys):
    odd = "org/team", "\x1b[31mred", "mean_response/lower_bound"
    header, *rows = JOBS.splitlines()
    named = [row.rsplit(",", 1)[0] + f',"{user}"' for row, user in zip(rows, odd, strict=True)]
    Path("jobs.csv").write_text("\n".join([header, *named, ""]))
    assert call("--policy", "flex,fair", "--json", "s.json") == 0
    assert "\x1b" not in capsys.readouterr().out
    flex = json.loads(Path("s.json").read_text())["policies"]["flex"]
    assert set(flex["users"]) == set(odd)
    assert all(own["response"] > 0 for own in flex["users"].values())
