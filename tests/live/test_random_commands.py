"""Random command lines and files of jobs, in one process: an answer or an error with a name.

``MALLEABLE_COMMANDS`` says how many.
"""

import contextlib
import io
import os
import random
import warnings

import pytest

from malleable.cli import main
from malleable.live.jobs_file import parse_jobs
from malleable.live.templates import Template

COUNT = int(os.environ.get("MALLEABLE_COMMANDS", "1200"))
PIECES = [
    *"{}\"'$()`\\#\n;&|<>[]!~*?=%@^ \t\0x1-",
    *("{}", "{.}", "{/}", "{#}", "{a}", "{a.}", "{{}}", "{{", "}}", "$(", "$((", "${", "((", "[[", "]]"),
    *("for i in", "; do ", "; done", "if ", "; then ", "; fi", "while ", "case ", "esac", " && ", "||"),
    *("echo ", "eval ", "sh -c ", "awk ", "sed ", "env ", "read ", "export ", "x=", "$x", "2>&1", "<<E"),
    *("\r", "\x1b[2J", "é", "\udcff", "\u2028", "\U0001f600", "a" * 300, "{" * 50, "(" * 400, "$(" * 400),
]  # fmt: skip
ANY = [
    None, True, 0, 1, -1, 2.5, 10**30, float("nan"), float("inf"), "", "x", "1-3", "9" * 400, "2G", [], {},
    [1, 2], ["a", "b"], [None], [[]], {"range": 3}, {"range": [1, 9]}, {"lines": "/no"}, {"files": "*"},
    {"matrix": {"a": ["1", "2"]}}, {"matrix": {}}, {"values": ["x"]}, {"a": 1}, {"range": [1, 2, 0]},
    "\0", "\udcff", "\x1b[31m", "..", "/", "a/b", [["a"]], "{}", {"": ""},
]  # fmt: skip
KEYS = (
    "name", "command", "commands", "over", "weight", "deadline", "min_slots", "max_slots", "memory", "user",
    "program", "after", "retries", "timeout", "seconds", "folder", "environment", "nmae", "",
)  # fmt: skip
OPTIONS = (
    "--slots", "--objective", "--policy", "--memory", "--retries", "--timeout", "--weight", "--deadline",
    "--min-slots", "--max-slots", "--backups", "--seconds", "--job", "--json", "--bogus", "--resume",
    "--engine", "-q", "--dry-run",
)  # fmt: skip
VALUES = (
    "1",
    "0",
    "-1",
    "nan",
    "inf",
    "x",
    "",
    "9" * 30,
    "1e300",
    "sum:response",
    "fair",
    "2G",
    "-",
    "\udcff",
)


def text(draw):
    return "".join(draw.choice(PIECES) for _ in range(draw.randint(0, 12)))


def template(draw):
    command = text(draw) if draw.random() < 0.8 else [text(draw) for _ in range(draw.randint(0, 4))]
    names = draw.choice(((), (), ("a",), ("a", "b")))
    made = Template(command, names, draw.random() < 0.8)
    value = text(draw)
    found = made.arguments(dict.fromkeys(names, value) if names else value, draw.randint(0, 9))
    assert found
    assert all(isinstance(word, str) for word in found)


def row(draw):
    made = {"name": draw.choice(("a", "b", "c")), "command": text(draw) or "x"}
    for _ in range(draw.randint(0, 4)):
        key = draw.choice(KEYS)
        made[key] = draw.choice(ANY) if draw.random() < 0.8 else text(draw)
    return made


def jobs(draw):
    rows = [
        row(draw) if draw.random() < 0.97 else draw.choice(ANY) for _ in range(draw.randint(0, 3))
    ]
    for job in parse_jobs(rows):
        for number in range(min(len(job), 3)):
            assert job.arguments(number)


def toml(value):
    if isinstance(value, str):
        return (
            '"'
            + "".join(
                f"\\U{ord(c):08x}" if not 31 < ord(c) < 127 or c in '"\\' else c for c in value
            )
            + '"'
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(key)} = {toml(each)}" for key, each in value.items()) + "}"
    return str(value).lower()


def command_line(draw, folder):
    rows = [row(draw) for _ in range(draw.randint(0, 3))]
    lines = [
        f"[[job]]\n{''.join(f'{toml(k)} = {toml(v)}{chr(10)}' for k, v in each.items())}"
        for each in rows
    ]
    data = "\n".join(lines).encode("utf-8", "surrogateescape")
    if draw.random() < 0.2:
        at = draw.randrange(len(data) + 1)
        data = (
            data[:at]
            + bytes(draw.randrange(256) for _ in range(4))
            + data[at + draw.randrange(9) :]
        )
    (folder / "jobs.toml").write_bytes(data)
    argv = ["run", draw.choice((str(folder / "jobs.toml"), str(folder), "/no", text(draw)))]
    for _ in range(draw.randint(0, 4)):
        argv.append(draw.choice(OPTIONS))
        if draw.random() < 0.8:
            argv.append(draw.choice(VALUES))
    argv += ["--dry-run", "--journal", str(folder / "journal.sqlite")]
    out, errors = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(errors),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        try:
            status = main(argv)
        except SystemExit as error:  # argparse
            status = error.code
    assert status in (0, 1, 2), argv
    assert status == 0 or errors.getvalue().strip(), argv
    assert "Traceback" not in errors.getvalue(), argv


@pytest.mark.parametrize("what", ["template", "jobs", "command line"])
def test_an_answer_or_an_error_with_a_name(what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed in range(COUNT // 3 + 1):
        draw = random.Random(f"{what} {seed}")
        try:
            if what == "template":
                template(draw)
            elif what == "jobs":
                jobs(draw)
            else:
                command_line(draw, tmp_path)
        except ValueError as error:
            assert str(error), seed
            assert what != "command line", seed
        except OSError as error:  # a file of lines
            assert what == "jobs", seed
            assert error.filename, seed
        except BaseException as error:
            raise AssertionError(f"{what} {seed}: {error!r}") from error
