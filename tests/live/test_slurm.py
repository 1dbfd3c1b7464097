"""The governor over a real Slurm on loopback, as a plain user; faults are made, not played."""

import json
import pwd
import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from tests.full import in_full
from tests.live.slurm_cluster import SlurmCluster, why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")
SLOTS = 24


@pytest.fixture
def slurm():
    with SlurmCluster(SLOTS) as cluster:
        yield cluster


@pytest.fixture(params=["basic", pytest.param("multifactor", marks=in_full)])
def any_slurm(request):
    extra = (
        "PriorityWeightAge=1000\nPriorityWeightPartition=100000" if request.param != "basic" else ""
    )
    with SlurmCluster(SLOTS, priority=request.param, extra=extra) as cluster:
        yield cluster


def standing(cluster):
    """Nice and throttle of arrays that wait."""
    found = {}
    for line in cluster.seen("%F|%y|%K|%r|%j", "-t", "PD"):
        number, nice, listed, reason, name = line.split("|", 4)
        if name != "malleable-lease" and reason != "Dependency":
            cap = listed.partition("%")[2]
            found[int(number)] = int(nice), int(cap or 0)
    return found


def leases(cluster):
    """Numbers of jobs that will restore."""
    return cluster.seen("%A", "-t", "PD", "-n", "malleable-lease")


def untouched(cluster):
    return all(each == (0, 0) for each in standing(cluster).values())


def at_work(cluster):
    """Once a governor has its lock, it hears what interrupts it."""
    lock = cluster.base / "home" / ".malleable" / "govern-slurm.lock"
    cluster.wait(lambda: lock.exists() and lock.read_text())


def ends(process, how=signal.SIGINT):
    process.send_signal(how)
    out, _ = process.communicate(timeout=60)
    return out


def test_arrays_are_ordered_and_set_back_at_the_end(any_slurm):
    cluster = any_slurm
    long = cluster.array(400, 3, name="long")
    short = cluster.array(40, 3, name="short $(touch ran) | a")
    least = cluster.array(900, 3, "--comment", "malleable min=4", name="least")
    shown = cluster.malleable("govern", "slurm", "--json", "-")
    assert shown.returncode == 0, shown.stderr
    result = json.loads(shown.stdout)
    assert [row["array"] for row in result["arrays"]] == [least, short, long]
    assert result["slots"] == SLOTS
    assert untouched(cluster)
    governor = cluster.govern("--apply", "--every", "0.5")
    try:
        cluster.wait(lambda: standing(cluster).get(least, (0, 0))[1] == 4)
        cluster.wait(lambda: short not in standing(cluster))
        nices = standing(cluster)
        assert nices[long][0] > 0
        other = cluster.malleable("govern", "slurm", "--apply")
        assert other.returncode == 1
        assert "you already run a governor" in other.stderr
        out = ends(governor)
        assert governor.returncode == 130, out
    finally:
        governor.kill()
    assert len(standing(cluster)) == 2
    assert untouched(cluster)
    assert leases(cluster) == []
    assert "all set back" in out
    # Slurm remembers the lease for a minute; what the owner has set since then stays.
    cluster.run("scontrol", "update", f"JobId={long}", "Nice=7")
    again = cluster.govern("--apply", "--every", "0.5")
    try:
        cluster.wait(lambda: leases(cluster))
        out = ends(again)
    finally:
        again.kill()
    assert "killed governor" not in out
    assert standing(cluster)[long] == (7, 0)
    assert not list((cluster.base / "work").glob("ran"))
    status = cluster.malleable("status", "--json", "-")
    assert f"{long} long" in [job["name"] for job in json.loads(status.stdout)["jobs"]]


def test_a_killed_governor_leaves_nothing(slurm):
    # One task after the other: slots are free for the lease's job.
    slurm.array("1-3000%10", 1, name="long")
    least = slurm.array(5000, 1, "--comment", "malleable min=2", name="least")
    slurm.array(60, 1, name="short")
    governor = slurm.govern("--apply", "--every", "0.5", "--lease-seconds", "4")
    try:
        slurm.wait(lambda: standing(slurm).get(least, (0, 0))[1] == 2)
    finally:
        governor.kill()
        governor.wait()
    began = time.monotonic()
    assert len(leases(slurm)) == 1
    slurm.wait(lambda: standing(slurm).get(least) == (0, 0))
    assert time.monotonic() - began > 1.0
    slurm.wait(lambda: all(nice == 0 for nice, _ in standing(slurm).values()))
    # The lease's process sets arrays back first, and ends the job beside it then.
    slurm.wait(lambda: leases(slurm) == [])


@in_full
def test_the_next_governor_restores_what_a_killed_one_left(slurm):
    slurm.array(4000, 3, name="long")
    least = slurm.array(9000, 3, "--comment", "malleable min=4", name="least")
    governor = slurm.govern("--apply", "--every", "0.5")
    slurm.wait(lambda: standing(slurm).get(least, (0, 0))[1] == 4)
    governor.kill()
    governor.wait()
    (left,) = leases(slurm)
    next_one = slurm.govern("--apply", "--every", "0.5")
    slurm.wait(lambda: len(leases(slurm)) == 1 and left not in leases(slurm))
    slurm.wait(lambda: standing(slurm).get(least, (0, 0))[1] == 4)
    out = ends(next_one)
    assert "killed governor" in out
    assert untouched(slurm)
    assert leases(slurm) == []


@in_full
def test_a_map_that_fails_and_one_that_is_cancelled(slurm):
    first = slurm.array(10, 0, name="map")
    slurm.wait(lambda: not slurm.seen("%F", "-j", str(first), "-t", "PD,R"))
    failing = slurm.array(6, "no time at all", name="failing")
    slurm.array(5, 1, f"--dependency=afterok:{failing}", name="reduce")
    cancelled = slurm.array(2000, 2, name="cancelled")
    slurm.array(4000, 2, name="other")
    governor = slurm.govern("--apply", "--every", "0.5", "--json", "-")

    def left():
        """Tasks that are left, by the names of arrays that the journal knows."""
        done = slurm.malleable("status", "--json", "-")
        jobs = json.loads(done.stdout)["jobs"] if done.returncode == 0 else []
        return {job["name"].split()[1]: job["left"] for job in jobs}

    slurm.wait(lambda: "cancelled" in left())
    slurm.run("scancel", str(cancelled))
    slurm.wait(lambda: left()["cancelled"] == 0)
    slurm.wait(lambda: "DependencyNeverSatisfied" in slurm.seen("%r", "-n", "reduce"))
    slurm.wait(lambda: left().get("reduce") == 0)
    out = ends(governor)
    result = json.loads(out[out.index("{") : out.rindex("}") + 1])
    (reduce,) = [row for row in result["arrays"] if row["name"] == "reduce"]
    assert reduce["why"] == "dead"
    gone = {row["name"].split()[1]: row for row in result["jobs"] if not row["left"]}
    assert gone["reduce"]["cancelled"]
    assert gone["cancelled"]["failed"] > 1000
    assert "other" not in gone


def test_it_ends_beside_what_can_never_start(slurm):
    failing = slurm.array(3, "no time at all", name="failing")
    never = slurm.array(5, 1, f"--dependency=afterok:{failing}", name="never")
    neither = slurm.array(5, 1, f"--dependency=afterany:{never}", name="neither")
    slurm.array(SLOTS, 3, name="other")
    governed = slurm.malleable("govern", "slurm", "--apply", "--until-done", "--every", "0.5")
    assert governed.returncode == 0, governed.stderr
    assert f"scancel {never} {neither}" in governed.stdout
    assert "other" in governed.stdout
    slurm.run("scancel", str(never), str(neither))
    slurm.wait(lambda: not slurm.seen("%F"))
    nothing = slurm.malleable("govern", "slurm", "--apply", "--until-done", "--every", "0.5")
    assert nothing.returncode == 0
    assert "no array to govern waits or runs" in nothing.stdout


def test_what_was_handed_over_and_failed(slurm):
    work = slurm.base / "work"
    (work / "jobs.toml").write_text(FAILING)
    done = slurm.malleable("submit", "jobs.toml")
    assert done.returncode == 0, done.stderr
    slurm.wait(lambda: slurm.seen("%j", "-t", "R") == ["ended"])
    slurm.run("scancel", "--name=ended")
    slurm.wait(lambda: not slurm.seen("%F", "-t", "R,CG"))
    told = slurm.malleable("status", "--failed", "--json", "-")
    failed = {each["job"]: each for each in json.loads(told.stdout)["failures"]}
    assert (failed["bad"]["task"], failed["bad"]["way"], failed["bad"]["tries"]) == (1, "failed", 2)
    assert (failed["ended"]["task"], failed["ended"]["way"]) == (0, "cancelled")
    assert failed["after"]["way"] == "skipped"
    logs = slurm.malleable("logs", "bad", "1")
    assert logs.stdout == "no 2\n"
    assert "exit status 1" in logs.stderr


@in_full
def test_the_controller_is_away_and_comes_back(slurm):
    slurm.array(2000, 2, name="long")
    slurm.array(900, 2, name="short")
    governor = slurm.govern("--apply", "--every", "0.5")
    try:
        slurm.wait(lambda: any(nice for nice, _ in standing(slurm).values()))
        time.sleep(6.0)  # until arrays are on the controller's disk
        slurm.stop_controller(signal.SIGKILL)
        time.sleep(1.0)
        slurm.start_controller()
        time.sleep(12.0)  # an answer may be waited for so long
        slurm.resume()
        assert governor.poll() is None
        slurm.wait(lambda: any(nice for nice, _ in standing(slurm).values()))
    finally:
        out = ends(governor)
    assert "Traceback" not in out
    assert untouched(slurm)


@in_full
def test_the_controller_is_away_for_40_seconds(slurm):
    slurm.array(5000, 2, name="long")
    slurm.array(2000, 2, name="short")
    governor = slurm.govern("--apply", "--every", "1")
    try:
        slurm.wait(lambda: any(nice for nice, _ in standing(slurm).values()))
        slurm.stop_controller()
        time.sleep(40.0)
        slurm.start_controller()
        slurm.resume()
        time.sleep(40.0)
        assert governor.poll() is None
        slurm.wait(lambda: any(nice for nice, _ in standing(slurm).values()))
    finally:
        out = ends(governor)
    assert "no answer" in out or "Unable to contact" in out
    assert untouched(slurm)


@in_full
@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_moment(slurm, seed):
    rng = np.random.default_rng(seed)
    slurm.array("1-3000%20", 1, name="long")
    slurm.array(5000, 1, "--comment", "malleable min=2", name="least")
    slurm.array(2000, 1, name="short")
    governor = slurm.govern("--apply", "--every", "0.2", "--lease-seconds", "3")
    at_work(slurm)
    time.sleep(2.0 * rng.random())
    governor.kill()
    governor.wait()
    # Two minutes' tasks stand before the lease's job: the process does not wait for them.
    slurm.wait(lambda: not leases(slurm), patience=30.0)
    assert all(n == 0 and c in (0, 20) for n, c in standing(slurm).values())


JOBS = """
[[job]]
name = "map 'a' %a"
command = "sleep 6; echo {} \\"$MALLEABLE_NUMBER\\""
over = ["a b", "$(touch ran)", "c"]
min_slots = 2

[[job]]
name = "reduce"
command = "echo all"
after = ["map 'a' %a"]
weight = 2
"""


FAILING = """
[[job]]
name = "bad"
command = ["sh", "-c", 'echo "no $1"; test "$1" -ne 2', "sh", "{}"]
over.range = 3
retries = 1

[[job]]
name = "after"
command = ["true"]
after = ["bad"]

[[job]]
name = "ended"
command = ["sleep", "600"]
"""


def test_jobs_are_handed_over_governed_and_run(slurm):
    work = slurm.base / "work"
    (work / "jobs.toml").write_text(JOBS)
    governor = slurm.govern("--submitted", "--apply", "--every", "0.3", "--json", "-")
    at_work(slurm)
    done = slurm.malleable("submit", "--json", "-", "jobs.toml", "--", "-p", "main")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert [job["tasks"] for job in made["jobs"]] == [3, 1]
    written = lambda: [path.read_text() for path in work.glob(".malleable/slurm/*/1/*/*.out")]  # noqa: E731
    slurm.wait(lambda: "all\n" in written())

    def over():
        jobs = json.loads(slurm.malleable("status", "--json", "-").stdout)["jobs"]
        return len(jobs) == 2 and not any(job["left"] for job in jobs)

    slurm.wait(over)
    time.sleep(1.0)
    out = ends(governor)
    result = json.loads(out[out.index("{") : out.rindex("}") + 1])
    ended = {job["name"].split()[1]: job for job in result["jobs"] if not job["left"]}
    assert "map" in ended, out
    assert ended["map"]["done"] == 3
    assert set(written()) == {"a b 0\n", "$(touch ran) 1\n", "c 2\n", "all\n"}
    assert slurm.malleable("logs", "reduce").stdout == "==> task 0 <==\nall\n"
    assert "no task has failed" in slurm.malleable("status", "--failed").stdout
    assert not (work / "ran").exists()


@in_full
def test_the_page(slurm):
    """Blocks of the docs, in turn, in a folder with what they name."""
    page = (Path(__file__).parents[2] / "docs" / "slurm.md").read_text()
    blocks = re.findall(r"^```sh\n(# needs Slurm\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    for name in ("align.sh", "report.sh"):
        slurm.array("1-30", 1, name=name)
        script = slurm.base / "work" / name
        script.write_text("#!/bin/sh\nsleep 1\n")
        script.chmod(0o755)
    (slurm.base / "work" / "jobs.toml").write_text(JOBS)
    for block in blocks:
        done = slurm.shell(block)
        assert done.returncode == 0, (block, done.stdout, done.stderr)
    assert standing(slurm)


@in_full
def test_memory_is_shared_out():
    with SlurmCluster(SLOTS, shares="CR_CPU_Memory") as cluster:
        large = cluster.array(9, 20, "--mem=40G", name="large")
        small = cluster.array(99, 20, "-c", "2", "--mem-per-cpu=10M", name="small")
        told = cluster.malleable("govern", "slurm", "--json", "-", "--policy", "fair")
        slots = {row["array"]: row["slots"] for row in json.loads(told.stdout)["arrays"]}
        assert slots == {large: 2, small: SLOTS - 2}


@in_full
def test_a_partition_may_have_a_part_of_its_nodes_alone():
    narrow = "PartitionName=narrow Nodes=ALL MaxCPUsPerNode=5 State=UP"
    with SlurmCluster(SLOTS, extra=narrow) as cluster:
        cluster.array(99, 20, "-p", "narrow")
        cluster.wait(lambda: len(cluster.seen("%A", "-t", "R")) == 5)
        (row,) = json.loads(cluster.malleable("govern", "slurm", "--json", "-").stdout)["arrays"]
        assert row["slots"] == 5


@in_full
def test_foreign_arrays_are_not_touched(slurm):
    own = [slurm.array(size, 1, name="own") for size in (3000, 2000)]
    governor = slurm.govern("--apply", "--every", "0.5", "--json", "-")
    at_work(slurm)
    foreign = slurm.array(2000, 1, "--nice=7", name="foreign", who=slurm.other)
    slurm.wait(lambda: standing(slurm)[own[0]][0] > 0)
    time.sleep(2.0)
    assert standing(slurm)[foreign] == (7, 0)
    out = ends(governor)
    result = json.loads(out[out.index("{") : out.rindex("}") + 1])
    assert {row["array"] for row in result["arrays"]} <= set(own)


@in_full
def test_ten_thousand_jobs_of_others(slurm):
    """An array each task of which was changed by itself is as many jobs to Slurm."""
    foreign = slurm.array(10_100, 3, name="foreign", who=slurm.other)
    lines = "".join(f"update JobId={foreign}_{k} Nice=1\n" for k in range(51, 10_051))
    slurm.run("scontrol", lines=lines, who=slurm.other)
    # squeue shows those that wait as one again.
    assert slurm.run("scontrol", "-o", "show", "jobs").stdout.count("JobState=PENDING") > 9_000
    own = [slurm.array(size, 1, name="own") for size in (3000, 1000)]
    governor = slurm.govern("--apply", "--every", "0.5")
    slurm.wait(lambda: standing(slurm)[own[0]][0] > 0)
    assert {nice for number, (nice, _) in standing(slurm).items() if number == foreign} <= {0, 1}
    ends(governor)
    assert all(standing(slurm)[number] == (0, 0) for number in own)


@in_full
def test_an_operator_orders_all_users_arrays(slurm):
    """Root here."""
    long = slurm.array(4000, 1, name="long")
    short = slurm.array(3000, 1, name="short", who=slurm.other)
    root = pwd.getpwuid(0)
    shown = slurm.malleable("govern", "slurm", "--as-operator", "--json", "-", who=root)
    assert [row["array"] for row in json.loads(shown.stdout)["arrays"]] == [short, long]
    governor = slurm.govern("--as-operator", "--apply", "--every", "0.5", who=root)
    slurm.wait(lambda: standing(slurm)[long][0] > 0)
    assert standing(slurm)[short] == (0, 0)
    out = ends(governor)
    assert governor.returncode == 130, out
    assert untouched(slurm)
