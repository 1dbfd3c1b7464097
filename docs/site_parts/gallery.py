"""The gallery: every script of docs/gallery runs, and its page shows the picture above the code."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import keep, titled

SCRIPTS = Path(__file__).parents[1] / "gallery"


def _drawn(script: Path, own: Path) -> None:
    """Run a script in a folder of its own, unless it ran there as it is."""
    code, kept = script.read_text(encoding="utf-8"), own / script.name
    if kept.exists() and kept.read_text(encoding="utf-8") == code:
        return
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    commands = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    how = {"MPLBACKEND": "Agg", "MATPLOTLIBRC": str(SCRIPTS), "COLUMNS": "80", "PATH": commands}
    with (own / "printed.txt").open("w", encoding="utf-8") as printed:
        command = [sys.executable, str(script)]
        subprocess.run(
            command, cwd=own, env=os.environ | how, check=True, timeout=120, stdout=printed
        )
    kept.write_text(code, encoding="utf-8")


def _shifted(text: str) -> str:
    return re.sub(r"^(?=.)", "   ", text, flags=re.MULTILINE)


def write(folder: Path) -> None:
    """The page ``gallery.rst`` and pictures beside it; a picture is drawn anew if its script changed."""
    parts = [titled("Pictures and their code")]
    scripts = sorted(SCRIPTS.glob("*.py"))
    homes = [folder / "gallery" / script.stem for script in scripts]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(_drawn, scripts, homes))
    for script, own in zip(scripts, homes, strict=True):
        code = script.read_text(encoding="utf-8")
        title, told = re.match(r'"""(.*?)\.\n\n(.*?)"""\n', code, re.DOTALL).groups()
        code = re.sub(r'\A""".*?"""\n\n?', "", code, flags=re.DOTALL)
        parts += [titled(title, "-"), " ".join(told.replace("`", "``").split()) + "\n"]
        for picture in sorted(own.glob("*.png")):
            name = picture.stem.replace("_", " ")
            parts.append(
                f".. image:: gallery/{script.stem}/{picture.name}\n   :alt: {title}: {name}\n"
            )
        for page in sorted(own.glob("*.html")):
            parts.append(f":download:`{page.name} <gallery/{script.stem}/{page.name}>`\n")
        printed = (own / "printed.txt").read_text(encoding="utf-8")
        if printed.strip():
            parts.append(".. code-block:: text\n\n" + _shifted(printed))
        parts.append(".. code-block:: python\n\n" + _shifted(code))
    keep(folder / "gallery.rst", "\n".join(parts))
