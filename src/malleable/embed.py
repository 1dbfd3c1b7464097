"""Epochs (loops of decisions) of this process for other languages: where the C header is, handles (addresses of
epochs), functions and records of the C interface for Numba and ctypes (docs/embed.md)."""

from __future__ import annotations

import ctypes
import functools
import re
from pathlib import Path
from typing import Any

import numpy as np

from malleable import _core

_HEADER = "malleable/malleable.h"
_CODES = {  # types of the header; all others are pointers
    "int": ctypes.c_int,
    "int64_t": ctypes.c_int64,
    "double": ctypes.c_double,
    "char const *": ctypes.c_char_p,
    "void": None,
}


def get_include() -> str:
    """The folder in which a C or Cython compiler finds ``malleable/malleable.h``.

    Returns
    -------
    str

    See Also
    --------
    malleable.Epoch : The same decisions from Python.

    Examples
    --------
    >>> import os
    >>> import malleable as mb
    >>> os.path.exists(os.path.join(mb.get_include(), "malleable", "malleable.h"))
    True
    """
    package = Path(__file__).parent
    for folder in (package / "include", package.parents[1] / "cpp" / "include"):
        if (folder / _HEADER).is_file():
            return str(folder)
    raise FileNotFoundError(f"malleable.h is not beside {package}")


def handle(epoch: Any) -> int:
    """The handle of an epoch, with which functions of the C interface use this epoch.

    A handle is good as long as its epoch exists, so keep the epoch. Python and C may use the epoch one after
    the other.

    It is an address; in Cython: ``<malleable_epoch *><size_t>handle``. ValueError if ``epoch`` is no epoch.
    """
    found = getattr(getattr(epoch, "_core", None), "handle", None)
    if found is None:
        raise ValueError(f"epoch: an epoch is needed, not {type(epoch).__name__}")
    return int(found)


@functools.cache
def function(name: str) -> Any:
    """The ctypes function ``name`` of the C interface, for compiled code of Numba and for ctypes.

    Pass handles as integers (`handle`), columns and records as ``array.ctypes``, and 0 for a column that you
    leave out. Do not cache compiled code that uses it (``cache=True``), because addresses differ from process
    to process. ValueError if the header has no such function."""
    capsule = _core.__pyx_capi__.get(name)
    if capsule is None:
        raise ValueError(f"name = {name!r}: malleable.h has no such function")
    api = ctypes.pythonapi
    get_name, get_pointer = api.PyCapsule_GetName, api.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    text = get_name(capsule)
    result, _, given = text.decode().rstrip(")").partition("(")
    arguments = [] if given == "void" else [_type_of(one) for one in given.split(", ")]
    made = ctypes.CFUNCTYPE(_type_of(result.strip()), *arguments)
    return made(get_pointer(capsule, text))


def _type_of(text: str) -> Any:
    return _CODES.get(text, ctypes.c_void_p)


@functools.cache
def record(name: str) -> np.dtype[np.void]:
    """The structure ``name`` of the header (``malleable_jobs``) as a NumPy type, so that compiled code can
    fill tables.

    ``jobs = np.zeros(1, record("malleable_jobs"))`` leaves every column out. To give a column, set its
    address: ``jobs["work"] = work.ctypes.data``. Set a member ``bytes``, if there is one: ``jobs["bytes"] =
    jobs.itemsize``. ValueError if the header has no such structure."""
    text = Path(get_include(), _HEADER).read_text(encoding="utf-8")
    found = re.search(rf"typedef struct {re.escape(name)} {{(.*?)}} {re.escape(name)};", text, re.S)
    if found is None:
        raise ValueError(f"name = {name!r}: malleable.h has no such structure")
    fields = []
    for line in re.sub(r"/\*.*?\*/", "", found[1], flags=re.S).split(";"):
        if words := line.replace("*", " * ").split():
            kind = "" if "*" in words else words[0]
            fields.append((words[-1], {"double": "f8", "int64_t": "i8"}.get(kind, "u8")))
    return np.dtype(fields)
