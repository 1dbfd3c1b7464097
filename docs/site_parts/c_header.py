"""The C header as a page: its sections, with every declaration as it stands there, comment and all."""

import re
from pathlib import Path

from . import keep, titled

HEADER = Path(__file__).parents[2] / "cpp/include/malleable/malleable.h"


def write(folder: Path) -> None:
    """The page ``c-header.rst``. O(length)."""
    text = HEADER.read_text(encoding="utf-8")
    intro = re.match(r"/\*(.*?)\*/", text, re.DOTALL)[1]
    intro = re.sub(r"^ \* ?", "", intro, flags=re.MULTILINE).strip()
    body = text[text.index("typedef enum malleable_status") :]
    parts = [titled("The C header"), ".. code-block:: text\n\n" + _shifted(intro)]
    title = "Statuses, kinds, handles"
    for piece in re.split(r"^/\* -+ (.*?) -+ \*/\n", body, flags=re.MULTILINE):
        if piece.count("\n") == 0:
            title = piece
            continue
        parts += [titled(title, "-"), ".. code-block:: c\n\n" + _shifted(piece.strip("\n"))]
    keep(folder / "c-header.rst", "\n".join(parts))


def _shifted(text: str) -> str:
    return re.sub(r"^(?=.)", "   ", text, flags=re.MULTILINE) + "\n"
