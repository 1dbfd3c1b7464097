"""What answers of Slurm's commands mean, old and new; the order that Nice makes."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malleable.live.slurm import commands as slurm
from malleable.live.slurm.answers import (
    Array,
    Look,
    Usable,
    most_in,
    tasks_in,
    usable_in,
)
from malleable.live.slurm.commands import Slurm, SlurmError, call
from malleable.live.slurm.nice import MOST_CHANGES, NiceOrder


@pytest.mark.parametrize(
    ("text", "tasks", "throttle"),
    [
        ("7", 1, 0), ("1-9", 9, 0), ("0-9:3", 4, 0), ("1-9:3%2", 3, 2), ("[1-3,7,9-10%4]", 6, 4),
        ("5-5", 1, 0), ("1,3,5", 3, 0), ("0-99999%500", 100_000, 500),
    ],
)  # fmt: skip
def test_tasks_of_an_array(text, tasks, throttle):
    assert tasks_in(text) == (tasks, throttle)


@pytest.mark.parametrize("text", ["", "N/A", "1-", "-3", "1..3", "1-9,...", "0xFF", "1 2", "1-9%x"])
def test_what_is_no_list_of_tasks(text):
    with pytest.raises(ValueError, match=r"tasks|invalid literal"):
        tasks_in(text)


@given(st.lists(st.tuples(st.integers(0, 999), st.integers(0, 50), st.integers(1, 5)), min_size=1))
def test_tasks_of_any_list(parts):
    text = ",".join(f"{first}-{first + more}:{step}" for first, more, step in parts)
    numbers = [len(range(first, first + more + 1, step)) for first, more, step in parts]
    assert tasks_in(text) == (sum(numbers), 0)


NODES = """\
NodeName=n1 Arch=x86_64 CPUAlloc=10 CPUEfctv=24 CPUTot=24 CPULoad=4.25 OS=Linux 6.1 #1 SMP CPUTot=9 RealMemory=1000 AllocMem=0 State=MIXED ThreadsPerCore=1 Partitions=main,long  BootTime=1 Reason=CPUAlloc=3 State=DOWN
NodeName=n2 CPUAlloc=0 CPUTot=8 RealMemory=1000 AllocMem=0 State=IDLE+CLOUD+POWERED_DOWN Partitions=main
NodeName=n3 CPUAlloc=0 CPUTot=8 State=IDLE+DRAIN Partitions=main
NodeName=n4 CPUAlloc=0 CPUTot=8 State=DOWN* Partitions=main
NodeName=n5 CPUAlloc=2 CPUTot=8 RealMemory=1000 AllocMem=1000 State=MIXED+PLANNED Partitions=long
NodeName=n6 CPUAlloc=0 CPUTot=8 State=IDLE Partitions=
nonsense
"""  # fmt: skip # noqa: E501


def test_slots_of_nodes():
    assert usable_in(NODES, {}) == {
        "main": (32, 22, 2000, 2000),
        "long": (32, 14, 2000, 1000),
    }


def test_a_partition_may_have_a_part_of_its_nodes_alone():
    told = (
        "PartitionName=main AllowQos=ALL MaxCPUsPerNode=16 MaxNodes=1 State=UP\n"
        "PartitionName=long MaxCPUsPerNode=UNLIMITED State=UP\nnonsense\n"
    )
    assert most_in(told) == {"main": 16}
    assert usable_in(NODES, most_in(told)) == {
        "main": (24, 22, 2000, 2000),
        "long": (32, 14, 2000, 1000),
    }


def test_capacity_is_ours_and_what_is_free():
    arrays = {
        1: Array(1, place="main", pending=5, running=3, ending=1, width=2, priority=9, reason="Priority"),
        2: Array(2, place="other", pending=5, running=3, priority=9),
    }  # fmt: skip
    look = Look(0.0, arrays, usable={"main": Usable(20, 7), "other": Usable(4, 4)})
    assert (look.slots("main"), look.slots("other"), look.slots("none")) == (15, 4, 0)
    arrays[1].reason = "QOSMaxCpuPerUserLimit"
    assert look.slots("main") == 8


def test_memory_is_a_second_capacity():
    arrays = {
        1: Array(1, place="main", pending=5, running=3, ending=1, memory=2048.0),
        2: Array(2, place="main", pending=5, running=2, memory=100.0),
    }
    look = Look(0.0, arrays, usable={"main": Usable(20, 7, 10_000, 1500)})
    assert (look.memory("main"), look.memory("none")) == (4 * 2048 + 200 + 1500, 0.0)
    assert replace(look, usable={"main": Usable(20, 7, 9000, 1500)}).memory("main") == 9000


def test_the_environment_cannot_change_formats(monkeypatch):
    for name in ("SQUEUE_FORMAT", "SQUEUE_STATES", "SBATCH_ARRAY_INX", "SLURM_CLUSTERS"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("SLURM_CONF", "/some/file")
    found = slurm.clean(__import__("os").environ)
    assert not [name for name in found if name.startswith(("SQUEUE", "SBATCH", "SLURM_CLUSTERS"))]
    assert (found["SLURM_CONF"], found["SLURM_TIME_FORMAT"]) == ("/some/file", "%s")


def test_commands_that_are_missing_fail_or_hang(monkeypatch):
    monkeypatch.setattr(slurm, "TIMEOUT", 0.2)
    assert "No such file" in call(["malleable-no-such-command"]).why
    assert "no answer within" in call(["sleep", "30"]).why
    assert call(["sh", "-c", "echo x; exit 3"]).why == "sh: status 3"
    assert call(["sh", "-c", "echo a b >&2"]).why == "sh: a b"
    assert call(["cat"], "x\udcff".encode(errors="replace").decode())[:2] == ("x?", "")
    with pytest.raises(SlurmError):
        Slurm(ask=lambda words, lines="": call(["malleable-no-such-command"])).look()


class Queue:
    """Priorities as Slurm has them: an array's own, less its Nice, at least 1."""

    def __init__(self, tops, nices):
        self.tops, self.nices = tops, list(nices)

    def arrays(self):
        return [
            Array(k + 1, pending=1, nice=nice, priority=max(1, top - nice))
            for k, (top, nice) in enumerate(zip(self.tops, self.nices, strict=True))
        ]

    def apply(self, moves):
        for number, nice in moves.items():
            self.nices[number - 1] = nice


def before(one, other):
    return (-one.priority, one.number) < (-other.priority, other.number)


@given(
    st.lists(st.tuples(st.integers(1000, 1400), st.integers(0, 3)), min_size=1, max_size=30),
    st.randoms(),
)
def test_arrays_stand_in_the_order_asked_for(rows, random):
    tops = [top for top, _ in rows]
    own = {k + 1: nice for k, (_, nice) in enumerate(rows)}
    queue = Queue([top + own[k + 1] for k, top in enumerate(tops)], own.values())
    order = NiceOrder()
    for _ in range(3):  # each time another order is asked for
        wanted = list(own)
        random.shuffle(wanted)
        front = wanted[: random.randint(1, len(wanted))]
        for look in range(2):
            arrays = queue.arrays()
            order.see(arrays, own)
            by = {array.number: array for array in arrays}
            moves = order.moves(
                [by[n] for n in front], [by[n] for n in wanted if n not in front], own
            )
            assert look == 0 or not moves, "what stands right is left alone"
            order.asked(moves)
            queue.apply(moves)
        arrays = {array.number: array for array in queue.arrays()}
        placed = [arrays[n] for n in front]
        assert all(before(one, other) for one, other in zip(placed, placed[1:], strict=False))
        assert all(before(placed[-1], arrays[n]) for n in wanted if n not in front)
        assert all(queue.nices[n - 1] >= own[n] for n in own)
        assert queue.nices[front[0] - 1] == own[front[0]], "the first stands where it is"
        assert not order.trouble


def test_many_arrays_are_moved_by_and_by():
    queue = Queue([5000 - k for k in range(1000)], [0] * 1000)
    order, own = NiceOrder(), dict.fromkeys(range(1, 1001), 0)
    looks = 0
    while True:
        arrays = queue.arrays()
        order.see(arrays, own)
        moves = order.moves(arrays[-5:], arrays[:-5], own)
        if not moves:
            break
        assert len(moves) <= MOST_CHANGES
        order.asked(moves)
        queue.apply(moves)
        looks += 1
    assert looks == 10
    first = max(queue.arrays(), key=lambda array: (array.priority, -array.number))
    assert first.number == 996
    assert math.isfinite(looks)
