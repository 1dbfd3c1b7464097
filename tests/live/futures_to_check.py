"""Futures and what the standard library does with them; run by every CPython that is found, without the core.

`malleable.live.futures` sets private fields of `concurrent.futures.Future`: a version in which they mean
something else fails here.
"""

import threading
from concurrent import futures

from malleable.live.futures import Future
from malleable.live.protocol import RemoteValue, Task


class Job:
    """What a future asks; of its tasks those run that say so, and no other one can be withdrawn."""

    def __init__(self):
        self.forgotten = []

    def forget(self, number):
        self.forgotten.append(number)

    def runs(self, task):
        return task.holder == "runs"

    def withdraw(self, task):
        return task.holder is None


def made(job=None):
    return Future(object(), 7, job or Job())


def lean(future):
    return future._own is None


def check_states():
    future = made()
    assert not (future.done() or future.running() or future.cancelled())
    assert future.begin(Task(""), True) and future.running()
    future.finish(3)
    assert future.done() and not future.running() and lean(future)
    assert future.result() == 3 and future.exception() is None
    assert "finished" in repr(future)


def check_errors():
    for looked_at in (False, True):
        future = made()
        if looked_at:
            future.add_done_callback(lambda _: None)
        future.finish(None, KeyError("k"))
        assert isinstance(future.exception(), KeyError)
        try:
            future.result()
        except KeyError as error:
            assert error.args == ("k",)
        else:
            raise AssertionError("nothing was raised")


def check_cancelled():
    job, told = Job(), []
    future = made(job)
    future.add_done_callback(told.append)
    assert future.cancel() and future.cancel() and future.cancelled() and future.done()
    assert job.forgotten == [7] and told == [future] and not future.begin(Task(""), True)
    future.finish(1)  # too late
    for look in (future.result, future.exception):
        try:
            look()
        except futures.CancelledError:
            continue
        raise AssertionError("nothing was raised")
    assert future in futures.wait([future], 1.0).done
    running = made()
    running.begin(Task(""), True)
    assert not running.cancel()


def check_handed_over():
    job, told = Job(), []
    future, task = made(job), Task("")
    future.add_done_callback(told.append)
    assert future.begin(task, False) and not future.running()
    task.holder = "runs"
    assert future.running() and not future.cancel() and not future.cancelled()
    assert future.rest() and not future.running()
    again = Task("")
    assert future.begin(again, False) and future.cancel() and future.cancelled()
    assert not future.rest() and told == [future] and job.forgotten == []
    beside = made()
    beside.begin(Task(""), False)
    assert beside.begin(Task(""), False) and beside.running() and not beside.cancel()


def check_dropped():
    told = []
    for begun in (False, True):
        future = made()
        future.add_done_callback(told.append)
        if begun:
            future.begin(Task(""), True)
        future.drop()
        future.drop()
        assert future.cancelled() and future.done() and not future.running()
        assert told.pop() is future and not told
        assert futures.wait([future], 1.0).done == {future}
    ended = made()
    ended.finish(3)
    ended.drop()
    assert ended.result() == 3


def check_timeouts():
    future = made()
    for look in (future.result, future.exception):
        try:
            look(0.01)
        except futures.TimeoutError:
            continue
        raise AssertionError("nothing was raised")


def check_waiters():
    for begin in (False, True):
        some = [made() for _ in range(4)]
        some[0].finish(0)
        if begin:
            some[1].begin(Task(""), True)

        def end(some=some):
            for k, future in enumerate(some[1:], 1):
                future.finish(k)

        ender = threading.Timer(0.05, end)
        ender.start()
        assert {future.result(5.0) for future in futures.as_completed(some, 5.0)} == {0, 1, 2, 3}
        assert not futures.wait(some, 5.0).not_done
        ender.join()
    first = [made(), made()]
    first[1].finish(None, OSError())
    done, left = futures.wait(first, 5.0, futures.FIRST_EXCEPTION)
    assert done == {first[1]} and left == {first[0]}


def check_callbacks():
    told = []
    future = made()
    future.add_done_callback(told.append)
    future.finish(1)
    future.add_done_callback(told.append)
    assert told == [future, future]


def check_a_value_elsewhere():
    import pickle

    brought = []

    def bring():
        brought.append(1)
        return pickle.dumps("far")

    future = made()
    future.finish(RemoteValue(bring))
    assert (future.result(), future.result(), brought) == ("far", "far", [1])


if __name__ == "__main__":
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            check()
    print("all right")
