"""Large results: they come through shared memory, whole, and leave nothing behind."""

from contextlib import suppress
from pathlib import Path

import numpy as np

import malleable as mb
from malleable.live.engines.process.worker import LARGE
from tests.live import calls_to_make as calls
from tests.live.waiting import PATIENCE

MANY = 3 * LARGE
VALUES = {
    "bytes": bytes(MANY),
    "text": "x" * MANY,
    "array": np.arange(MANY),
    "columns": np.arange(MANY).reshape(3, -1).T,
    "part": np.arange(2 * MANY)[::2],
    "mixed": {"a": np.ones(MANY), "b": [bytes(MANY), np.arange(3)], "c": np.zeros(MANY, "u1")},
    "just": np.zeros(LARGE, "u1"),
}


def descriptors():
    """Files in memory that this process has open."""
    found = 0
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found += "malleable-result" in str(path.readlink())
    return found


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(np.array_equal(a, b))


def back(value):
    return value


def test_there_and_back():
    with mb.Executor(1) as pool:
        for value in (*VALUES.values(), 1, np.arange(3), bytes(LARGE // 2)):
            found = pool.submit(back, value).result(PATIENCE)
            assert same(found, value)
            if isinstance(found, np.ndarray):
                found[0] = 7  # it is this process' own
                assert found.dtype == value.dtype
    assert descriptors() == 0


def test_results_of_calls(tmp_path):
    def made(**more):
        with mb.Executor(2, **more) as pool:
            arrays = pool.job("a").map(np.arange, [MANY + k for k in range(4)])
            text = pool.submit(str.ljust, "", MANY)
            bad = pool.submit(calls.raised, ValueError, bytes(MANY))
            assert all(
                np.array_equal(f.result(PATIENCE), np.arange(MANY + k))
                for k, f in enumerate(arrays)
            )
            assert text.result(PATIENCE) == " " * MANY
            assert bad.exception(PATIENCE).args == (bytes(MANY),)

    made()
    assert descriptors() == 0
    for _ in range(2):  # the second time from the journal
        made(journal=tmp_path / "journal", resume=True)


def test_a_worker_that_dies_with_a_large_result_on_its_way():
    with mb.Executor(2) as pool:
        big = [pool.submit(bytes, MANY) for _ in range(20)]
        deadly = pool.submit(calls.die, "kill")
        assert all(len(future.result(PATIENCE)) == MANY for future in big)
        assert deadly.exception(PATIENCE)
    assert descriptors() == 0
