import os
from pathlib import Path

import pytest

from malleable.live.engines.process.child import EmptyFiles, new_file


def made(path: Path) -> int:
    os.close(new_file(str(path)))
    return path.stat().st_ino


def test_an_empty_file_becomes_the_next_one(tmp_path: Path) -> None:
    empty_files, first, second = EmptyFiles(), tmp_path / "1", tmp_path / "2"
    inode = made(first)
    empty_files.keep(str(first))
    assert not first.exists()
    file = empty_files.open(str(second))
    os.write(file, b"of the second")
    os.close(file)
    assert (second.stat().st_ino, second.read_bytes()) == (inode, b"of the second")
    assert list(tmp_path.iterdir()) == [second]


def test_a_file_with_output_stays(tmp_path: Path) -> None:
    empty_files, first = EmptyFiles(), tmp_path / "1"
    first.write_bytes(b"x")
    empty_files.keep(str(first))
    assert list(tmp_path.iterdir()) == [first]


@pytest.mark.parametrize("used", ["open", "linked", "rights", "filled"])
def test_a_file_that_another_process_could_use_is_not_taken(tmp_path: Path, used: str) -> None:
    empty_files, first, second = EmptyFiles(), tmp_path / "1", tmp_path / "2"
    orphan = -1
    made(first)
    if used in ("open", "filled"):
        orphan = os.open(first, os.O_WRONLY)
    if used == "linked":
        os.link(first, tmp_path / "link")
    if used == "rights":
        first.chmod(0o666)
    empty_files.keep(str(first))
    if used == "filled":
        os.write(orphan, b"late")
        os.close(orphan)
    os.close(empty_files.open(str(second)))
    assert second.read_bytes() == b""
    if used == "open":
        os.write(orphan, b"late")
        os.close(orphan)
        assert second.read_bytes() == b""


def test_a_name_that_is_taken_is_refused_and_nothing_is_overwritten(tmp_path: Path) -> None:
    empty_files, first, second = EmptyFiles(), tmp_path / "1", tmp_path / "2"
    made(first)
    second.write_bytes(b"here before")
    empty_files.keep(str(first))
    with pytest.raises(FileExistsError, match="2"):
        empty_files.open(str(second))
    assert second.read_bytes() == b"here before"


def test_files_that_are_left_are_removed_at_the_end(tmp_path: Path) -> None:
    empty_files, first = EmptyFiles(), tmp_path / "1"
    made(first)
    empty_files.keep(str(first))
    empty_files.close()
    assert not list(tmp_path.iterdir())
    os.close(empty_files.open(""))  # the null device
