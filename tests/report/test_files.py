"""Output files: checked first, whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from malleable.report.files import check_targets, write_file


def test_targets_that_can_be_written(tmp_path):
    check_targets({"--json": tmp_path / "a", "--plot": None, "--pieces": "/dev/null"})
    (tmp_path / "a").touch()
    check_targets({"--json": tmp_path / "a"}, force=True)
    assert (tmp_path / "a").read_bytes() == b""


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("old", FileExistsError, "exists; say force=True"),
        (".", IsADirectoryError, "is a folder"),
        ("no/such", FileNotFoundError, "its folder does not exist"),
        ("old/below", FileNotFoundError, "its folder does not exist"),
    ],
)
def test_targets_that_cannot(tmp_path, name, error, words):
    (tmp_path / "old").write_text("kept")
    with pytest.raises(error, match=words) as caught:
        check_targets({"--json": tmp_path / name})
    assert str(caught.value).startswith(f"--json {tmp_path / name}: ")
    with pytest.raises(error, match=words):
        write_file(tmp_path / name, "new")
    assert (tmp_path / "old").read_text() == "kept"


def test_one_file_twice(tmp_path):
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(ValueError, match=r"--plot .*b: the same file as --json"):
        check_targets({"--json": tmp_path / "a", "--plot": tmp_path / "b"})
    with pytest.raises(ValueError, match="the same file as the input"):
        check_targets({"--json": tmp_path / "a"}, True, [tmp_path / "b"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="cannot be written to"):
        check_targets({"--json": tmp_path / "a"})
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("content", ["tëxt\n", b"\x00\xff"])
def test_writing(tmp_path, content):
    path = tmp_path / "a"
    write_file(path, content)
    data = content if isinstance(content, bytes) else content.encode()
    assert path.read_bytes() == data
    path.chmod(0o640)
    write_file(path, content * 2, force=True)
    assert path.read_bytes() == data * 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_keeps_pointing(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    write_file(tmp_path / "b", "new", force=True)
    assert (tmp_path / "b").is_symlink()
    assert (tmp_path / "a").read_text() == "new"


def test_a_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_file(tmp_path / "pipe", "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)


def test_a_full_disk_is_named():
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with pytest.raises(OSError, match=r"'/dev/full'"):
        write_file("/dev/full", "x" * 10_000)


def test_text_that_utf8_cannot_hold(tmp_path):
    with pytest.raises(ValueError, match="a: cannot be written as UTF-8"):
        write_file(tmp_path / "a", "\udc80")
    assert not list(tmp_path.iterdir())
