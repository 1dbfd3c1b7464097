"""Files and folders that others could have made or may change: refused, or closed to them."""

import os
import stat
import subprocess
import sys

import pytest

from malleable.live.journal import Journal, JournalError
from malleable.live.output import job_folder
from malleable.live.own_files import check_parent, open_file, own_folder
from malleable.live.packs import PACK
from tests.live.outputs import output_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
COMMAND = [sys.executable, "-m", "malleable"]
SOMEBODY = 12345
root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to somebody else")


def run(folder, *words, lines="1\n2\n"):
    return subprocess.run(
        [*COMMAND, *words], cwd=folder, input=lines, capture_output=True, text=True, check=False
    )


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def refused(done, message):
    assert done.returncode == 1, done.stdout
    (said,) = [line for line in done.stderr.splitlines() if "error" in line]
    assert message in said


@pytest.fixture
def begun(tmp_path):
    """A run of which a task has failed."""
    done = run(tmp_path, "run", "--job", "a", "echo {} >>ran; test {} = 1")
    assert done.returncode == 3, done.stderr
    return tmp_path


@root
@pytest.mark.parametrize(
    "name",
    ["", "journal.sqlite", "journal.sqlite.lock", "journal.sqlite.output", "journal.sqlite.output/1",
     "journal.sqlite.output/1/0-a"],
)  # fmt: skip
def test_what_belongs_to_somebody_else_is_not_used(begun, name):
    path = begun / ".malleable" / name
    os.chown(path, SOMEBODY, SOMEBODY)
    refused(run(begun, "run", "--rerun-failed"), f"belongs to user {SOMEBODY}")
    assert sorted((begun / "ran").read_text().split()) == ["1", "2"]  # nothing was run
    if name in ("", "journal.sqlite"):
        refused(run(begun, "status"), f"belongs to user {SOMEBODY}")
        refused(run(begun, "run", "--job", "a", "true"), f"belongs to user {SOMEBODY}")


@root
@pytest.mark.parametrize("side", ["-wal", "-shm", "-journal"])
def test_what_sqlite_would_read_beside_it(tmp_path, side):
    with Journal(tmp_path / "j") as journal:
        journal.begin(1, "sum:response", "flex")
    (tmp_path / f"j{side}").write_bytes(b"x")
    os.chown(tmp_path / f"j{side}", SOMEBODY, SOMEBODY)
    for write in (True, False):
        with pytest.raises(JournalError, match="belongs to user"):
            Journal(tmp_path / "j", write=write)


@pytest.mark.parametrize(
    "name",
    ["", "journal.sqlite", "journal.sqlite.lock", "journal.sqlite-wal", "journal.sqlite.output",
     "journal.sqlite.output/1", "journal.sqlite.output/1/0-a"],
)  # fmt: skip
def test_links_are_not_followed(begun, name):
    path = begun / ".malleable" / name
    elsewhere = begun / "elsewhere"
    if path.exists():
        path.rename(elsewhere)
    else:
        elsewhere.write_text("x")
    path.symlink_to(elsewhere)
    before = elsewhere.read_bytes() if elsewhere.is_file() else b""
    refused(run(begun, "run", "--rerun-failed"), "is a link")
    assert sorted((begun / "ran").read_text().split()) == ["1", "2"]
    assert not elsewhere.is_file() or elsewhere.read_bytes() == before


def test_a_file_of_output_that_is_a_link_is_not_written(begun):
    """Made by oneself: in a folder that others cannot write to, nobody else can."""
    victim = begun / "victim"
    victim.write_text("precious")
    folder = begun / ".malleable" / "journal.sqlite.output" / "1" / "0-a"
    (folder / "1.1.out").symlink_to(victim)
    done = run(begun, "run", "--rerun-failed")
    assert done.returncode == 3
    assert victim.read_text() == "precious"
    with Journal(begun / ".malleable" / "journal.sqlite", write=False) as journal:
        last = list(journal.attempts(1))[-1]
    assert (last.how, last.attempt) == ("refused", 1)
    assert "File exists" in last.why


def test_modes_that_are_too_wide_are_closed(begun):
    ours = begun / ".malleable"
    paths = [ours, *(path for path in ours.rglob("*") if path.suffix != ".out")]
    for path in paths:
        path.chmod(0o777 if path.is_dir() else 0o666)
    (begun / "more").touch()
    assert run(begun, "run", "--rerun-failed").returncode == 3
    assert {mode(path) for path in paths if path.exists() and path.is_dir()} == {0o700}
    assert {mode(path) for path in paths if path.exists() and path.is_file()} == {0o600}
    (ours / "journal.sqlite").chmod(0o644)
    assert run(begun, "status").returncode == 0
    assert mode(ours / "journal.sqlite") == 0o600


def test_other_files_keep_their_mode(tmp_path):
    text = tmp_path / "text"
    text.write_text("x" * 5000)
    text.chmod(0o644)
    tmp_path.chmod(0o755)
    for write in (True, False):
        with pytest.raises(JournalError):
            Journal(text, write=write)
    assert mode(text) == 0o644
    assert mode(tmp_path) == 0o755


def test_what_stands_in_the_place_of_a_lock_is_not_emptied(tmp_path):
    (tmp_path / "j.lock").write_text("precious " * 50)
    with pytest.raises(JournalError, match="this file must be a lock"):
        Journal(tmp_path / "j")
    assert (tmp_path / "j.lock").read_text() == "precious " * 50


def test_folders_of_files(tmp_path):
    wide = tmp_path / "wide"
    wide.mkdir()
    wide.chmod(0o777)
    with pytest.raises(ValueError, match="every user may rename"):
        check_parent(wide)
    wide.chmod(0o1777)  # as /tmp
    check_parent(wide)
    assert mode(wide) == 0o1777
    with pytest.raises(JournalError, match="every user may rename"):
        (tmp_path / "open").mkdir()
        (tmp_path / "open").chmod(0o777)
        Journal(tmp_path / "open" / "j")
    with pytest.raises(ValueError, match="no file"):
        open_file(wide, os.O_RDONLY)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ValueError, match="no file"):
        open_file(tmp_path / "fifo", os.O_RDONLY)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="no folder"):
        own_folder(tmp_path / "file")


# Output.


def test_two_journals_in_one_folder(tmp_path):
    for name in ("one", "two"):
        journal = ["--journal", f"{name}.sqlite"]
        assert run(tmp_path, "run", "--job", "x", f"echo {name} {{}}", *journal).returncode == 0
    for name in ("one", "two"):
        printed = output_of(tmp_path / f"{name}.sqlite", 1, "x", 0)
        assert printed.read_text() == f"{name} 1\n"
        assert printed == tmp_path / f"{name}.sqlite.output" / "1" / "0-x" / "0.0.out"


def test_a_journal_that_was_removed_left_its_output(tmp_path):
    for text in ("first", "second"):
        assert run(tmp_path, "run", "--job", "x", f"echo {text} {{}}").returncode == 0
        printed = output_of(tmp_path / ".malleable" / "journal.sqlite", 1, "x", 0)
        assert printed.read_text() == f"{text} 1\n"
        for path in (tmp_path / ".malleable").glob("journal.sqlite*"):
            if path.is_file():
                path.unlink()
    folder = tmp_path / ".malleable" / "journal.sqlite.output"
    assert (folder / "1" / "0-x" / "0.0.out").read_text() == "first 1\n"
    assert (folder / "1-2" / "0-x" / "0.0.out").read_text() == "second 1\n"


def test_names_of_jobs_are_no_paths(tmp_path):
    long = "é" * 200
    names = ["..", ".", "/", "../../up", long + "a", long + "b", "-n", "a/b", "a b", "\n"]
    tables = "".join(
        f'[[job]]\nname = {quoted}\ncommand = "printf %s {place}"\n'
        for place, quoted in enumerate(map(_quoted, names))
    )
    (tmp_path / "jobs.toml").write_text(tables)
    before = set(tmp_path.iterdir())
    assert run(tmp_path, "run", "jobs.toml", "--slots", "4").returncode == 0
    assert set(tmp_path.iterdir()) - before == {tmp_path / ".malleable"}
    folders = set()
    for place, name in enumerate(names):
        path = output_of(tmp_path / ".malleable" / "journal.sqlite", 1, name, 0)
        assert path.read_text() == str(place)
        folders.add(path.parent.name)
    assert len(folders) == len(names)
    kept = {path.name.removesuffix("-wal") for path in (tmp_path / ".malleable").iterdir()}
    assert kept - {"journal.sqlite-shm"} == {
        "journal.sqlite",
        "journal.sqlite.lock",
        "journal.sqlite.output",
    }
    assert job_folder(3, "..") == "3-.."
    assert job_folder(3, "a/../b\x1b[31m") == "3-a_.._b_31m"


def _quoted(name):
    return '"' + name.replace("\n", "\\n") + '"'


def test_a_retry_leaves_the_output_of_the_attempt_before(tmp_path):
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\nname = "x"\nretries = 2\ncommand = "echo $MALLEABLE_ATTEMPT; test $MALLEABLE_ATTEMPT = 2"\n'
    )
    assert run(tmp_path, "run", "jobs.toml").returncode == 0
    journal = tmp_path / ".malleable" / "journal.sqlite"
    kept = journal.parent / "journal.sqlite.output" / "1" / "0-x"
    assert [path.name for path in kept.iterdir()] == [PACK]
    printed = [output_of(journal, 1, "x", 0, attempt).read_text() for attempt in range(3)]
    assert printed == ["0\n", "1\n", "2\n"]
