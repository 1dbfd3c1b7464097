"""The gallery: every script of docs/gallery runs, and its page shows the picture above the code."""

import os
import re
import runpy
import shutil
import sysconfig
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from multiprocessing import get_context
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt

from . import keep, titled

SCRIPTS = Path(__file__).parents[1] / "gallery"


def _drawn(script: Path, own: Path) -> None:
    """Run a script in a folder of its own, unless it ran there as it is."""
    code, kept = script.read_text(encoding="utf-8"), own / script.name
    if kept.exists() and kept.read_text(encoding="utf-8") == code:
        return
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    os.chdir(own)
    with (own / "printed.txt").open("w", encoding="utf-8") as printed, redirect_stdout(printed):
        runpy.run_path(str(script), run_name="__main__")
    plt.close("all")
    kept.write_text(code, encoding="utf-8")


def _shifted(text: str) -> str:
    return re.sub(r"^(?=.)", "   ", text, flags=re.MULTILINE)


def write(folder: Path) -> None:
    """The page ``gallery.rst`` and pictures beside it; a picture is drawn anew if its script changed."""
    parts = [titled("Pictures and their code")]
    scripts = sorted(SCRIPTS.glob("*.py"))
    homes = [folder / "gallery" / script.stem for script in scripts]
    os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    matplotlib.use("Agg")
    matplotlib.rc_file(SCRIPTS / "matplotlibrc")
    # Forked, so that what takes longest, importing Matplotlib, is done once.
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
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
