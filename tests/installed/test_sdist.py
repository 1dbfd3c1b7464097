"""The source distribution in a clean environment, built there as somebody does for whom there is no wheel."""

import os
import subprocess
import sys
from pathlib import Path

PLAN = "import malleable as mb; print(mb.plan(mb.Jobs([3, 5]), 2).value)"


def test_it_is_built_and_installed_and_plans(tmp_path):
    sdist = Path(os.environ["MALLEABLE_SDIST"]).resolve()
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    scripts = tmp_path / "env" / "bin"
    subprocess.run([scripts / "python", "-m", "pip", "install", "-q", sdist], check=True)

    def said(*words):
        return subprocess.run(
            [scripts / words[0], *words[1:]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert said("malleable", "--version").split()[1] == sdist.name.split("-")[1].removesuffix(
        ".tar.gz"
    )
    assert float(said("python", "-c", PLAN)) > 0.0
    assert said("malleable", "run", "echo {}", "--each", "a", "-q", "--keep-order") == "a\n"
