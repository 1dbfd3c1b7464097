"""Journals that somebody changed by hand, or that a disk damaged.

A journal of ours (of commands, calls and governed arrays) is changed by SQL, with and
without the constraints of its tables, or byte by byte. Then ``status``, ``run --resume`` or ``--rerun-failed``
and a pool that resumes are given it: each ends in time, with an answer or with one line that says what is
wrong. Nothing is really run: the engine ends each task at once. Files lie in memory where the system has
such a folder. What does not depend on the journal is done once: the command line's parser, a look at
the machine's processes. Every journal's tables are drawn once at least if there are any.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sqlite3
import sys
import tempfile
import warnings
import zlib
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from decode import Bytes
from driver import run

import malleable as mb
from malleable.cli import arguments as parsing
from malleable.cli import main, run_command
from malleable.live.jobs_file import parse_jobs, recorded
from malleable.live.journal import Attempt, Begun, Decided, Flying, JobRow, Journal, JournalError
from malleable.live.protocol import Abilities, Event, Task

_MEMORY = Path("/dev/shm")
_FOLDER = str(_MEMORY) if os.access(_MEMORY, os.W_OK) else None
parsing.build_parser = cache(parsing.build_parser)
run_command.other_runs = list
_TABLES = [
    {"name": "first", "command": "echo {} x", "over": {"range": 9}, "retries": 1, "deadline": 9},
    {"name": "files", "command": "cat {}", "over": ["a", "b c", ""], "user": "ann", "memory": "1K"},
    {"name": "list", "commands": ["a", ["b", "c"]], "after": ["first"], "seconds": 2, "weight": 3},
    {
        "name": "all", "command": ["x", "{p}", "{q}"], "after": ["list", "files"],
        "over": {"matrix": {"p": {"range": "1-2"}, "q": ["y", "z"]}}, "environment": {"E": "1"},
    },
]  # fmt: skip
_VALUES: list[Any] = [
    None, 0, 1, 2, -1, 7, 2**31, 2**53, 2**63 - 1, -(2**63), 0.5, -0.25, 1e300, float("inf"), 1e-320,
    "", "x", "0", "done", "running", "stopped", "commands", "calls", "arrays", "lost", "../up", "1-2",
    "a\0b", "sum:x", "max:stretch", "felx", "las", b"", b"\xff", b"x\x9c", "[]", "{}", "null", "[" * 3000,
    "1" * 400, '{"name": "first", "tasks": []}', '{"format": "malleable history 1"}', '{"name": 3}',
    "{\"name\": \"\\udcff\"}",
]  # fmt: skip
_WORDS = ["name", "command", "over", "after", "retries", "deadline", "user", "folder", "weight",
          "memory", "min_slots", "max_slots", "seconds", "timeout", "environment", "program",
          "values", "range", "matrix", "files", "lines", "commands", "format", "common", "programs", "map",
          "x"]  # fmt: skip


class Instant:
    """An engine that ends each task at once."""

    abilities = Abilities(take_back="cancel")
    broken = ""

    def __init__(self, slots: int) -> None:
        self.slots = min(slots, 64)
        self._ended: list[Event] = []

    def start(self, tasks: list[Task]) -> None:
        self._ended += [Event("ended", task.key, len(task.argv) % 2, 0.01) for task in tasks]

    def cancel(self, keys: list[str]) -> None:
        pass

    def poll(self, seconds: float) -> list[Event]:
        ended, self._ended = self._ended, []
        return ended

    def close(self, grace: float = 0.0) -> int:
        return 0


def _begun(path: Path) -> None:
    """Runs of commands, of calls and of arrays."""
    attempts = [
        Attempt(0, 0, 0, 1, 0.0, 1.0, 0.5, 1e6, why="no"),
        Attempt(0, 0, 1, 0, 1.0, 1.0),
        Attempt(0, 1, 0, 0, 0.0, 2.0),
        Attempt(0, 1, 1, 1, 0.5, 1.0, how="in vain", backup_of=0),
        Attempt(0, 2, 0, 1, 0.0, 2.0, how="lost"),
        Attempt(1, 0, 0, 0, 2.0, 0.5),
    ]
    with Journal(path) as journal:
        jobs = recorded(parse_jobs(_TABLES, "/"), _TABLES)
        calls = [
            JobRow({"name": "squares", "deadline": 9.0, "after": []}, 4),
            JobRow({"name": "x"}, 1),
        ]
        for kind, rows in (("arrays", calls), ("calls", calls), ("commands", jobs)):
            number = journal.begin(2, "sum:response", "auto", rows, kind)
            journal.enter(number)
            decided = [Decided(0.0, 0, 2, "its share", 1.0, 9.0)]
            begun = [Begun(0, 0, 2, 1.5), Begun(0, 1, 1, 0.5, 0), Begun(1, 1, 1, 2.5, 0)]
            journal.record(number, 3.0, attempts, decided, begun=begun)
            journal.fly(number, 3.5, [Flying(0, 2, 3.0, 3.25)])
            for task in range(3):
                journal.keep(number, 0, task, b"d" * 16, b"\x80\x05K\x01.")
        scheduler = mb.Scheduler(mb.Cluster([{"slots": 1}]))
        ids = scheduler.add(mb.ClusterJobs([2, 2], 0.0, program=["first", "list"], user=["", ""]))
        scheduler.finished(ids, count=[2, 2], seconds=[3.0, 1.0], now=0.0)
        scheduler.finish(ids, 0.0)
        journal.learn(scheduler.history)


@cache
def base() -> bytes:
    """The journal to start from."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "base"
        _begun(path)
        made = sqlite3.connect(path)
        made.execute("pragma wal_checkpoint(truncate)")
        made.execute("pragma journal_mode = delete")
        made.close()
        return path.read_bytes()


def _value(bytes_: Bytes) -> Any:
    how = bytes_.integer(0, 5)
    if how == 0:
        return json.dumps(_json(bytes_, 0))
    if how == 1:
        return zlib.compress(json.dumps(_json(bytes_, 0)).encode())
    return bytes_.pick(_VALUES)


def _json(bytes_: Bytes, depth: int) -> Any:
    kind = bytes_.integer(0, 7 if depth < 3 else 4)
    if kind < 3:
        return bytes_.pick(
            [None, 0, 1, -1, 2.5, 1e300, 10**30, True, "", "x", "a b", "first", "1-3", "\udcff"]
        )
    if kind < 5:
        return bytes_.pick(_WORDS)
    if kind == 5:
        return [_json(bytes_, depth + 1) for _ in range(bytes_.integer(0, 3))]
    return {bytes_.pick(_WORDS): _json(bytes_, depth + 1) for _ in range(bytes_.integer(0, 3))}


def _within(bytes_: Bytes, base: sqlite3.Connection, table: str, column: str) -> None:
    """A change within a JSON text or a packed one."""
    for key, text in base.execute(f'select rowid, "{column}" from "{table}" limit 4').fetchall():
        plain = zlib.decompress(text) if isinstance(text, bytes) else text
        found = json.loads(plain)
        if isinstance(found, list) and found:
            found = found[bytes_.integer(0, len(found) - 1)]
        if isinstance(found, dict):
            found[bytes_.pick([*found, *_WORDS])] = _json(bytes_, 1)
        told: Any = json.dumps(found)
        told = zlib.compress(told.encode()) if isinstance(text, bytes) else told
        base.execute(f'update "{table}" set "{column}" = ? where rowid = ?', (told, key))


def _edit(bytes_: Bytes, base: sqlite3.Connection) -> None:
    names = [
        name for (name,) in base.execute("select name from sqlite_master where type = 'table'")
    ]
    table = bytes_.pick(sorted(names))
    columns = [row[1] for row in base.execute(f'pragma table_info("{table}")')]
    column, how = bytes_.pick(columns), bytes_.integer(0, 11)
    where = f" where {bytes_.pick(columns)} {bytes_.pick(['= 0', '= 1', '> 0', 'is not null'])}"
    where = "" if bytes_.chance(128) else where
    if how < 4:
        base.execute(f'update "{table}" set "{column}" = ?{where}', (_value(bytes_),))
    elif how == 4:
        base.execute(f'delete from "{table}"{where}')
    elif how == 5:
        row = [_value(bytes_) for _ in columns]
        base.execute(f'insert or replace into "{table}" values ({", ".join("?" * len(row))})', row)
    elif how < 8:  # the same table without constraints
        base.executescript(
            f'create table "new" as select * from "{table}"; drop table "{table}";'
            f'alter table "new" rename to "{table}"'
        )
        base.execute(f'update "{table}" set "{column}" = ?{where}', (_value(bytes_),))
    elif how == 8:
        base.execute(
            f'drop table "{table}"'
            if bytes_.chance(60)
            else f'alter table "{table}" rename "{column}" to y'
        )
    elif how == 9:
        base.execute(f"pragma user_version = {bytes_.pick([0, 1, 2, -1])}")
    else:
        table, column = bytes_.pick(
            [("job", "described"), ("job", "content"), ("history", "learnt")]
        )
        _within(bytes_, base, table, column)


def _changed(bytes_: Bytes, path: Path) -> None:
    data = bytearray(base())
    if bytes_.chance(64):  # damage
        for _ in range(bytes_.integer(1, 6)):
            at = bytes_.integer(0, len(data) - 1)
            data[at : at + bytes_.integer(1, 9)] = bytes(
                bytes_.byte() for _ in range(bytes_.integer(1, 9))
            )
        if bytes_.chance(80):
            del data[bytes_.integer(0, len(data) - 1) :]
        path.write_bytes(data)
        return
    path.write_bytes(data)
    opened = sqlite3.connect(path, isolation_level=None)
    opened.text_factory = lambda text: text.decode(errors="replace")
    opened.execute("pragma synchronous = off")
    for _ in range(bytes_.integer(1, 3)):
        with contextlib.suppress(sqlite3.Error, OverflowError, ValueError, TypeError, zlib.error):
            _edit(bytes_, opened)
    opened.close()


def _ask(arguments: list[str]) -> None:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(arguments)
        except SystemExit as stopped:
            status = stopped.code
    assert status in (0, 1, 3), (status, arguments, err.getvalue())
    said = err.getvalue().strip()
    assert "Traceback" not in said, said
    if status == 1:
        wrong = said.splitlines()[-1]
        assert wrong.startswith("malleable: error: ") and len(wrong) > 25, said


def _resume_pool(path: Path) -> None:
    try:
        pool = mb.Executor(1, threads=True, journal=path, resume=True)
        with pool, contextlib.suppress(Exception):
            pool.job("squares").submit(pow, 2, 2).result(20)
    except JournalError:
        pass


def target(data: bytes) -> None:
    """All bytes are choices."""
    bytes_ = Bytes(data)
    run_command.Local = Instant  # type: ignore[misc,assignment]
    with tempfile.TemporaryDirectory(dir=_FOLDER) as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        path = Path(folder) / "journal"
        _changed(bytes_, path)
        number = [] if bytes_.chance(128) else ["--run", str(bytes_.pick([1, 2, 3, 0, -1, 10**20]))]
        told = ["--json", os.devnull]
        first = bytes_.integer(0, 3)
        _ask(["status", str(path), *number, *([], told, ["--failed"], ["--failed", *told])[first]])
        how = bytes_.integer(0, 3)
        if how < 3:
            again = ("--resume", "--rerun-failed")[how % 2]
            quiet = ["-q"] if bytes_.chance(128) else []
            _ask(["run", "--journal", str(path), again, *told, *quiet])
        else:
            _resume_pool(path)
        _ask(["status", str(path), *(["-q", *told] if first < 2 else [])])


if __name__ == "__main__":
    sys.exit(run(target, sys.argv[1:]))
