"""Which task holds which GPU, and which slot it has."""

import json
import subprocess
import sys

import numpy as np
import pytest

import malleable as mb
from malleable.cli import main
from malleable.live.decider import SchedulerDecider
from malleable.live.ledger import JobState
from malleable.live.loop import Loop
from malleable.live.protocol import Task
from malleable.live.resources import Resources, resource_names
from tests.live.fake_engine import FakeEngine

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
HELD = ["MALLEABLE_GPU", "CUDA_VISIBLE_DEVICES", "MALLEABLE_SLOT"]


@pytest.mark.parametrize(
    ("given", "allowed", "found"),
    [
        (2, None, ["0", "1"]),
        (["0", "3"], None, ["0", "3"]),
        ([0, "GPU-a"], None, ["0", "GPU-a"]),
        (1, "4,5", ["4"]),
        (["4", "5"], "5, 4", ["4", "5"]),
        (["1", "0"], "4,5", ["5", "4"]),
        (3, "4,5", "CUDA_VISIBLE_DEVICES allows 4,5"),
        (["7"], "4,5", "CUDA_VISIBLE_DEVICES allows 4,5"),
        (1, "", "allows none"),
        (0, None, "gpu"),
        (["0", "0"], None, "different names"),
    ],
)
def test_names_within_what_is_allowed(monkeypatch, given, allowed, found):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if allowed is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", allowed)
    if isinstance(found, list):
        assert resource_names("gpu", given) == found
    else:
        with pytest.raises(ValueError, match=found):
            resource_names("gpu", given)


@pytest.mark.parametrize("seed", range(4))
def test_no_two_tasks_hold_the_same(seed):
    """Whatever fails, is lost, or runs twice at once."""
    rng = np.random.default_rng(seed)
    engine = FakeEngine(
        8, rng, lambda key: rng.uniform(0.1, 2.0), lambda key: int(rng.random() < 0.2)
    )
    resources, holders, seen = Resources({"gpu": ["a", "b", "c"], "disk": ["x"]}), {}, []

    def take(key, needs):
        found = took(key, needs)
        holders[key] = [each for told in found.values() for each in told.split(",")]
        inside = [each for own in holders.values() for each in own if each != ""]
        gpus = [each for each in inside if each in "abc"]
        seen.append(len(gpus) // 2)  # each is also in CUDA_VISIBLE_DEVICES
        assert len(gpus) == 2 * len(set(gpus)) and inside.count("x") <= 1
        return found

    took, gave = resources.take, resources.give_back
    resources.take = take
    resources.give_back = lambda key: (gave(key), holders.pop(key, None))
    decider = SchedulerDecider(8, "fair", capacity=resources.capacity)
    loop = Loop(engine, decider, clock=engine.clock, resources=resources)
    made = lambda number, attempt: Task("")  # noqa: E731
    for name, needs in (("one", {"gpu": 1}), ("two", {"gpu": 2, "disk": 1}), ("none", {})):
        loop.add(JobState(name, 12, made, retries=2, needs=needs))
    loop.go()
    assert all(job.left == 0 for job in loop.jobs) and not holders
    assert max(seen) == 3


def test_slots_and_gpus_of_commands(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,6,7")
    command = "echo $MALLEABLE_SLOT {%} $MALLEABLE_GPU $CUDA_VISIBLE_DEVICES; sleep 0.05 # {}"
    values = [str(k) for k in range(9)]
    words = ["-j", "3", "--resource", "gpu=0,2", "--output", "stream", "--each", *values]
    assert main(["run", command, *words]) == 0
    told = [line.split() for line in capfd.readouterr().out.splitlines()]
    assert len(told) == 9 and all(slot == same for slot, same, _, _ in told)
    assert {slot for slot, *_ in told} == {"0", "1"}  # two GPUs: no third task runs
    assert {(gpu, cuda) for _, _, gpu, cuda in told} == {("5", "5"), ("7", "7")}
    (tmp_path / "a.toml").write_text(
        '[[job]]\nname = "a"\ncommands = ["echo $MALLEABLE_GPU"]\nresources = {gpu = 2}\n'
    )
    assert main(["run", "a.toml"]) == 1
    assert (
        "job[0].resources.gpu = 2: there are 0; --resource NAME= says which"
        in capfd.readouterr().err
    )
    assert main(["run", "a.toml", "--resource", "gpu=3", "--output", "stream"]) == 0
    assert capfd.readouterr().out == "5,6\n"
    assert main(["run", "--resume", "--json", "-"]) == 0


def look(_):
    import os

    return [os.environ.get(name) for name in HELD[:2]]


def test_calls_of_an_executor(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with mb.Executor(2, resources={"gpu": 3}) as pool:
        with pytest.raises(ValueError, match="there are 3 in the pool"):
            pool.job("b", resources={"gpu": 4})
        both = pool.job("a", resources={"gpu": 2}).map(look, range(6))
        none = pool.job("c").map(look, range(6))
        assert {tuple(f.result()) for f in both} == {("0,1", "0,1")}
        assert {tuple(f.result()) for f in none} == {(None, None)}


def test_a_slot_is_free_when_its_task_ends(tmp_path):
    command = [sys.executable, "-m", "malleable", "run", "-j", "2", "--json", "-"]
    lines = "sleep 0.3; echo $MALLEABLE_SLOT\n" + "echo $MALLEABLE_SLOT\n" * 20
    done = subprocess.run(
        command, cwd=tmp_path, input=lines, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["jobs"][0]["done"] == 21
    shown = subprocess.run(
        [*command[:3], "logs", "commands"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert set(shown.stdout.splitlines()[1::2]) == {"0", "1"}
