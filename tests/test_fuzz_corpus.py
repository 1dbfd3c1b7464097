"""Every input that the Python fuzz targets keep, once, and the mutator: what was found stays found."""

from __future__ import annotations

import importlib
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz"
READERS = sorted(path.name.removeprefix("read_") for path in FUZZ.glob("corpus/read_*"))


@pytest.fixture
def load(monkeypatch):
    """Imports a module of the fuzz folder, which is no package."""
    monkeypatch.setenv("MALLEABLE_FUZZ_PLAIN", "1")
    monkeypatch.setattr(sys, "path", [str(FUZZ), *sys.path])
    return importlib.import_module


def inputs(name):
    files = sorted((FUZZ / "corpus" / name).iterdir())
    assert files
    return [file.read_bytes() for file in files]


@pytest.mark.parametrize("reader", READERS)
def test_readers(load, reader):
    module = load("fuzz_readers")
    for data in inputs(f"read_{reader}"):
        module.target(module.READERS[reader])(data)


def test_every_reader_has_a_corpus(load):
    assert sorted(load("fuzz_readers").READERS) == READERS


@pytest.mark.parametrize("name", ["flow_epoch", "command_line"])
def test_sequences(load, name):
    target = load(f"fuzz_{name}").target
    for data in inputs(name):
        target(data)


def test_the_driver_keeps_what_fails(load, tmp_path, capsys):
    driver = load("driver")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "seed").write_bytes(b"work\n1\n")
    seen = []

    def target(data):
        seen.append(data)
        if len(seen) == 40:
            raise AssertionError

    with pytest.raises(AssertionError):
        driver.run(target, ["-runs=100", f"-artifact_prefix={tmp_path}/", str(corpus)])
    (kept,) = tmp_path.glob("crash-*")
    assert kept.read_bytes() == seen[-1] and seen[0] == b"work\n1\n"
    assert len(set(seen)) > 20  # it does mutate
    seen.clear()
    assert driver.run(seen.append, [str(kept)]) == 0
    assert seen == [kept.read_bytes()]  # a file is run once
    assert "Done 1 runs" in capsys.readouterr().err


def test_the_driver_ends_what_takes_too_long(load, tmp_path):
    driver = load("driver")

    def target(_):
        while True:
            pass

    (tmp_path / "seed").write_bytes(b"x")
    with pytest.raises(driver.TooLong):
        driver.run(target, ["-timeout=1", f"-artifact_prefix={tmp_path}/", str(tmp_path / "seed")])
    assert list(tmp_path.glob("timeout-*"))


def test_mutations_are_those_of_the_seed(load):
    mutated = load("driver").mutated
    one, two = (
        [mutated(random.Random(3), [b"a,b\n1,2\n"], 64) for _ in range(5)] for _ in range(2)
    )
    assert one == two and max(map(len, one)) <= 64


def test_atheris_sees_the_package(tmp_path):
    """Else it takes one input for as good as the other, and all it tries comes from the first."""
    pytest.importorskip("atheris")
    folders = [tmp_path, FUZZ / "corpus/read_jobs"]  # what is new is kept in the first
    arguments = [FUZZ / "fuzz_readers.py", "jobs", "-runs=20", *folders]
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    seen = re.findall(r"cov: (\d+)", done.stderr)
    assert seen and int(seen[-1]) > 100, done.stderr
