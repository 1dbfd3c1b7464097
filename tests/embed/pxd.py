"""`_core.pxd` as the header says it; ``python -m tests.embed.pxd`` writes it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEADER = ROOT / "cpp" / "include" / "malleable" / "malleable.h"
PXD = ROOT / "src" / "malleable" / "_core.pxd"

_WIDTH = 92
_INTRO = """\
# The C interface for `cimport malleable`: types from the header (include_dirs=[malleable.get_include()]),
# functions from the table that the extension publishes. What each does is said in the header, from
# which `python -m tests.embed.pxd` writes this file.
from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef extern from "malleable/malleable.h" nogil:
"""


def _words(text):
    """On one line, stars beside names."""
    return re.sub(r"\s*(\*+)\s*", r" \1", " ".join(text.split()))


def _split(text):
    return [_words(one) for one in text.split(",")] if text.strip() != "void" else []


def _call(head, arguments, tail, indent=""):
    """On one line if it fits, else its arguments on lines of their own."""
    line = f"{indent}{head}({', '.join(arguments)}){tail}"
    if len(line) <= _WIDTH:
        return line + "\n"
    rows, row = [], ""
    for k, one in enumerate(arguments):
        cell = one + ("," if k < len(arguments) - 1 else "")
        if row and len(indent) + 4 + len(row) + 1 + len(cell) > _WIDTH - 4:
            rows.append(row)
            row = cell
        else:
            row = f"{row} {cell}".strip()
    body = "".join(f"{indent}    {one}\n" for one in [*rows, row])
    return f"{indent}{head}(\n{body}{indent}){tail}\n"


def declarations(header):
    """The text of `_core.pxd` for the text of `malleable.h`."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    functions = re.findall(
        r"^MALLEABLE_FUNCTION\(([^,]+), (\w+),\s*\((.*?)\)\);", text, re.M | re.DOTALL
    )
    plain = re.sub(r"^#(?:.*\\\n)*.*\n", "", text, flags=re.M)
    parts = [_INTRO]
    for values, name in re.findall(r"typedef enum \w+ \{(.*?)\} (\w+);", plain, re.DOTALL):
        parts.append(f"    ctypedef enum {name}:\n")
        parts += [f"        {one.split('=')[0].strip()}\n" for one in values.split(",")]
    parts.append("    int64_t MALLEABLE_ALL_SLOTS\n    int MALLEABLE_API_VERSION\n")
    for name in re.findall(r"^typedef struct (\w+) \w+;", plain, re.M):
        parts.append(f"    ctypedef struct {name}:\n        pass\n")
    for result, name, given in re.findall(
        r"^typedef (\w+) \(\*(\w+)\)\((.*?)\);", plain, re.M | re.DOTALL
    ):
        parts.append(_call(f"ctypedef {result} (*{name})", _split(given), " noexcept", "    "))
    for name, body in re.findall(
        r"^typedef struct (\w+) \{\n(.*?)^\} \w+;", text, re.M | re.DOTALL
    ):
        members = body
        if name == "malleable_api":  # its functions are members by name
            members = body[: body.index("MALLEABLE_FUNCTIONS")]
        parts.append(f"    ctypedef struct {name}:\n")
        parts += [f"        {_words(one)}\n" for one in members.split(";") if one.strip()]
    parts.append("\n")
    for result, name, given in functions:
        star = _words(f"{result} {name}")
        parts.append(_call(f"cdef {star}", _split(given), " noexcept nogil"))
    return "".join(parts)


if __name__ == "__main__":
    PXD.write_text(declarations(HEADER.read_text(encoding="utf-8")), encoding="utf-8")
