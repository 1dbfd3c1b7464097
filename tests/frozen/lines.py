"""Decisions as text: one section a run, one line a column or decision, and what differs between two texts."""

import hashlib
import io
import math
from itertools import zip_longest

import numpy as np

import malleable as mb

SHOWN_WHOLE = 40
SHOWN_FIRST = 6
TITLES = 3  # sections that a failure shows
LINES = 4  # and lines of each


def cluster_of(path):
    """A cluster of the instances, without racks, which nodes have no longer."""
    kept = [line for line in path.read_text().splitlines() if not line.startswith("rack")]
    return mb.read_cluster(io.StringIO("\n".join(kept)))


def word(value):
    """A number so that reading it gives the same bits."""
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)


def words(**values):
    """Names and numbers on one line."""
    return " ".join(f"{name}={word(value)}" for name, value in values.items())


def digest(*arrays):
    """A few digits that change when any bit of the arrays does."""
    summed = hashlib.sha256()
    for array in arrays:
        kind = "<f8" if array.dtype.kind == "f" else "<i8"
        summed.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return f"sha256={summed.hexdigest()[:16]}"


def column(name, values):
    """A column in full, or its first numbers and a digest where it is long."""
    shown = [word(value) for value in values.tolist()]
    if len(shown) > SHOWN_WHOLE:
        shown = [*shown[:SHOWN_FIRST], f"... n={len(values)}", digest(values)]
    return " ".join([name, *shown])


def section(title, lines):
    """One run."""
    return "\n".join([f"[{title}]", *lines, ""])


def attempt(title, run, *arguments):
    """A section of what a run gives, or that its options are refused."""
    try:
        return section(title, run(*arguments))
    except ValueError:
        return section(title, ["refused"])


def sections(text):
    """Lines by title."""
    found = {}
    for line in text.splitlines():
        if line.startswith("["):
            lines = found.setdefault(line, [])
        elif line:
            lines.append(line)
    return found


def close(line, other):
    """Whether two lines differ in floats alone, and there by 1e-9 at most."""
    pairs = list(zip_longest(line.split(), other.split(), fillvalue=""))
    for one, two in pairs:
        name, _, value = one.rpartition("=")
        other_name, _, other_value = two.rpartition("=")
        if one == two:
            continue
        if name != other_name or "." not in value or "." not in other_value:
            return False
        try:
            if not math.isclose(float(value), float(other_value), rel_tol=1e-9, abs_tol=1e-9):
                return False
        except ValueError:
            return False
    return True


def equal(line, other):
    """Byte for byte."""
    return line == other


def differences(wanted, given, same=equal):
    """What to tell about two texts, section by section; nothing where they say the same."""
    old, new = sections(wanted), sections(given)
    told = [f"{title}: not decided any more" for title in old if title not in new]
    told += [f"{title}: not recorded" for title in new if title not in old]
    moved = []
    for title, lines in old.items():
        pairs = zip_longest(lines, new.get(title, lines), fillvalue="(nothing)")
        apart = [(a, b) for a, b in pairs if not same(a, b)]
        if apart:
            moved.append((title, apart))
    for title, apart in moved[:TITLES]:
        told.append(f"{title}: {len(apart)} of {len(old[title])} lines differ")
        for a, b in apart[:LINES]:
            told += [f"  - {a}", f"  + {b}"]
    if len(moved) > TITLES:
        told.append(f"and {len(moved) - TITLES} sections more")
    return told
