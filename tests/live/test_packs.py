"""What tasks printed, packed, whatever happens meanwhile."""

import errno
import sqlite3
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from malleable.cli import main
from malleable.live import run
from malleable.live.output import kept_attempts, open_stream, stream_of
from malleable.live.packs import PACK, pack, packed_keys, packed_stream


def streams(rng, first, count):
    return [
        (
            (first + k, int(rng.integers(3)), str(rng.choice(["out", "err"]))),
            rng.bytes(int(rng.integers(1, 90))),
        )
        for k in range(count)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_what_was_packed_is_read(tmp_path, seed):
    """Also by readers that looked before, and after the pack was removed and made again."""
    rng, folder, known = np.random.default_rng(seed), str(tmp_path), {}
    assert packed_keys(folder) == [] and packed_stream(folder, 0, 0, "out") is None
    for block in range(4):
        added = streams(rng, 100 * block, int(rng.integers(1, 40)))
        pack(folder, added)
        known |= dict(added)
        assert sorted(packed_keys(folder)) == sorted(known)
        for key, data in known.items():
            assert packed_stream(folder, *key) == data
    (tmp_path / PACK).unlink()
    assert packed_keys(folder) == []
    pack(folder, added)
    assert sorted(packed_keys(folder)) == sorted(dict(added))


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    folder, rng = str(tmp_path), np.random.default_rng(1)
    first, second = streams(rng, 0, 9), streams(rng, 100, 9)
    pack(folder, first)

    class Full(sqlite3.Connection):
        def __exit__(self, *error):  # which commits
            raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Full))
        with pytest.raises(ValueError, match="full"):
            pack(folder, second)
    assert all(packed_stream(folder, *key) is None for key, _ in second)
    assert all(packed_stream(folder, *key) == data for key, data in first)


def test_a_file_that_is_no_pack_is_named(tmp_path):
    (tmp_path / PACK).write_bytes(b"of another program" * 100)
    for use in (
        partial(pack, str(tmp_path), [((0, 0, "out"), b"x")]),
        partial(packed_keys, str(tmp_path)),
    ):
        with pytest.raises(ValueError, match="packed: file is not a database"):
            use()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = tmp_path / ".malleable/journal.sqlite.output"
    return lambda run, job="0-commands": output / str(run) / job


LINES = ["echo a; echo b >&2", "echo bad >&2; exit 1", "head -c 70000 /dev/zero", "true"]


def files(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("keep", "left", "shown"),
    [
        ("all", ["2.0.out", PACK], {"0.0.out": 2, "0.0.err": 2, "1.0.err": 4, "2.0.out": 70000}),
        ("failures", [PACK], {"1.0.err": 4}),
        ("none", [], {}),
        ("3", [PACK], {"0.0.out": 2, "0.0.err": 2, "1.0.err": 3, "2.0.out": 3}),
    ],
)
def test_what_is_kept(here, capfd, keep, left, shown):
    Path("commands.txt").write_text("\n".join(LINES))
    assert main(["run", "commands.txt", "-j", "1", "--keep", keep]) == 3
    folder = here(1)
    assert files(folder) == left
    found = {}
    for task, attempt in kept_attempts(str(folder)):
        for suffix in ("out", "err"):
            path = stream_of(str(folder), task, attempt, suffix)
            if stream := open_stream(path):
                with stream:
                    found[Path(path).name] = len(stream.read())
    assert found == shown
    capfd.readouterr()
    assert main(["status", "--failed"]) == 0
    told = capfd.readouterr().out
    assert ("all of it: malleable logs commands 1 --err" in told) == (keep != "none")
    assert main(["logs", "commands", "1", "--err"]) == 0
    assert capfd.readouterr().out == {"none": "", "3": "ad\n"}.get(keep, "bad\n")


def test_output_that_cannot_be_packed_stays(here, capfd, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(run, "pack", full)
        assert main(["run", "echo {}", "--each", "1", "2", "3", "--json", "-"]) == 0
    assert files(here(1, "0-echo")) == ["0.0.out", "1.0.out", "2.0.out"]
    assert "the packing of output failed, the run goes on: " in capfd.readouterr().err
    assert main(["run", "--resume"]) == main(["logs", "echo"]) == 0
    assert "==> task 2 <==\n3\n" in capfd.readouterr().out


def test_runs_are_forgotten(here, capfd):
    for _ in range(3):
        assert main(["run", "echo {}", "--each", "1", "2", "-q"]) == 0
    size = Path(".malleable/journal.sqlite").stat().st_size
    assert main(["forget", "1", "2"]) == 0 and not here(1).parent.exists()
    assert main(["status", "--run", "1"]) == 1 and main(["status", "--run", "3"]) == 0
    assert main(["forget", "7"]) == 1 and "no run 7" in capfd.readouterr().err
    assert main(["forget", "--older", "1d"]) == 0 and "0 runs" in capfd.readouterr().out
    assert main(["forget", "--older", "0"]) == 0
    assert Path(".malleable/journal.sqlite").stat().st_size <= size
    with pytest.raises(SystemExit):
        main(["forget"])
