"""What engines of workers share, with workers that are the other ends of sockets in this process."""

import socket

import pytest

from malleable.live.engines.process.child import Frames
from malleable.live.engines.process.workers import Worker, Workers
from malleable.live.protocol import Event, Task


class _Lines(Workers):
    """Each worker hears keys, one a line, and answers with those that it has done."""

    def __init__(self, slots):
        super().__init__(slots, stuck=0.05)
        self.asked_back, self.others = [], []
        for k in range(slots):
            ours, theirs = socket.socketpair()
            self.others.append(theirs)
            self._join(k, Worker(ours, Frames()))

    def _hand_out(self):
        while self._waiting and self._idle:
            self._give(self._idle.pop(0), self._waiting.popleft())

    def _packed(self, to, bundle):
        return "".join(f"{task.key}\n" for task in bundle).encode()

    def _hear(self, each):
        for key in each.socket.recv(4096).decode().split():
            assert each.sent.popleft().key == key
            self._events.append(Event("ended", key))
        self._rest(each)

    def _take_back(self, each):
        each.whole = False
        self.asked_back.append([task.key for task in each.sent])


@pytest.fixture
def engine():
    made = _Lines(2)
    yield made
    made._close_files()
    for each in made.others:
        each.close()


def tasks(*keys, bundle=0):
    return [Task(key, bundle=bundle) for key in keys]


def test_a_worker_has_one_bundle_at_a_time(engine):
    engine.start([*tasks("a", "b", bundle=1), *tasks("c", bundle=2), *tasks("d", bundle=3)])
    first, second = engine.others
    assert (first.recv(99), second.recv(99)) == (b"a\nb\n", b"c\n")
    first.sendall(b"a\n")
    assert [event.key for event in engine.poll(1.0)] == ["a"]
    first.sendall(b"b\n")
    assert [event.key for event in engine.poll(1.0)] == ["b"]
    assert first.recv(99) == b"d\n"


def test_what_waits_behind_a_long_task_is_taken_back(engine):
    engine.start([*tasks("a", "b", bundle=1), *tasks("c", bundle=2)])
    assert engine.poll(5.0) == []
    assert engine.asked_back == [["a", "b"]]


def test_waiting_bundles_are_returned_and_others_are_asked_back(engine):
    engine.start([task for k in range(4) for task in tasks(f"a{k}", f"b{k}", bundle=k)])
    engine.cancel(["b1", "a3"])
    assert engine.asked_back == [["a1", "b1"]]
    assert [(event.kind, event.key) for event in engine.poll(0.0)] == [
        ("returned", "a3"), ("returned", "b3"),
    ]  # fmt: skip


def test_a_large_bundle_is_sent_as_it_is_read(engine):
    keys = [f"{k:0>999}" for k in range(2000)]
    engine.start(tasks(*keys))
    got = b""
    while len(got) < 2000 * 1000:
        engine.poll(0.0)
        got += engine.others[0].recv(1 << 16)
    assert got.decode().split() == keys


def test_a_wait_can_be_ended(engine):
    engine.wake()
    assert engine.poll(60.0) == []
