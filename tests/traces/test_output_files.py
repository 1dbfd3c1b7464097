"""Output files: checked first, whole or not at all."""

import importlib
import inspect
import os
import pkgutil
import stat
from pathlib import Path

import pytest

import malleable
from malleable.files.writing import check_targets, write_file


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


@pytest.mark.parametrize("content", ["tëxt\r\n", b"\x00\xff"])
def test_writing(tmp_path, content):
    path = tmp_path / "a"
    write_file(path, content)
    with pytest.raises(FileExistsError, match=r"a: exists; say force=True to overwrite"):
        write_file(path, content * 2)
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


def test_a_name_as_long_as_may_be(tmp_path):
    path = tmp_path / ("é" * 127)
    write_file(path, "old")
    write_file(path, "new", force=True)
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_file(tmp_path / "pipe", "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    write_file(os.devnull, "lost", force=True)
    assert not Path(os.devnull).is_file()


def test_a_full_disk_is_named():
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with pytest.raises(OSError, match=r"'/dev/full'"):
        write_file("/dev/full", "x" * 10_000)


def test_a_name_taken_meanwhile_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"

    def fsync_and_lose_the_race(_handle: int) -> None:
        path.write_text("theirs")

    monkeypatch.setattr(os, "fsync", fsync_and_lose_the_race)
    with pytest.raises(FileExistsError, match="out: exists"):
        write_file(path, "ours")
    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["out"]  # noqa: PTH208


@pytest.mark.parametrize("taken", [False, True])
def test_file_systems_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: bool
) -> None:
    path = tmp_path / "out"

    def no_link(*_args: object) -> None:
        if taken:
            path.write_text("theirs")
        raise PermissionError("no links here")

    monkeypatch.setattr(Path, "hardlink_to", no_link)
    if taken:
        with pytest.raises(FileExistsError, match="out: exists"):
            write_file(path, "ours")
    else:
        write_file(path, "ours")
    assert path.read_text() == ("theirs" if taken else "ours")
    assert os.listdir(tmp_path) == ["out"]  # noqa: PTH208


def test_nothing_half_written_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    path.write_text("before")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_file(path, "after", force=True)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["out"]  # noqa: PTH208


def test_a_python_call_writes_the_path_that_it_is_given() -> None:
    """Whatever writes a named file replaces it; only the command line asks for --force."""
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(malleable.__path__, "malleable.")
        if not found.name.startswith(("malleable.cli", "malleable.__main__", "malleable._core"))
    ]
    inside = {
        function
        for module in modules
        for _, owner in [("", module), *inspect.getmembers(module, inspect.isclass)]
        for _, function in inspect.getmembers(owner, inspect.isfunction)
        if function.__module__.startswith("malleable.")
        and function.__module__ != "malleable.files.writing"
    }
    defaults = {
        f"{function.__module__}.{function.__qualname__}": parameter.default
        for function in inside
        if (parameter := inspect.signature(function, follow_wrapped=False).parameters.get("force"))
        is not None
        and parameter.default is not inspect.Parameter.empty
    }
    assert len(defaults) >= 12
    assert {name: given for name, given in defaults.items() if given is not True} == {}


def test_text_that_utf8_cannot_hold(tmp_path):
    with pytest.raises(ValueError, match="a: cannot be written as UTF-8"):
        write_file(tmp_path / "a", "\udc80")
    assert not list(tmp_path.iterdir())
