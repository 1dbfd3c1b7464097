"""malleable: which job gets how many slots now, and how good that is.

The stub beside this file lists the public names; each is imported once it is asked for.
"""

import ast
import importlib
from pathlib import Path
from typing import Any

from malleable import views

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_HOMES = {
    name.name: str(imports.module)
    for imports in _STUB.body
    if isinstance(imports, ast.ImportFrom)
    for name in imports.names
}
"""Modules of the public names."""

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name == "__version__":  # that of the project, which stands in pyproject.toml alone
        from importlib.metadata import version

        return globals().setdefault(name, version("malleable"))
    if name not in _HOMES:
        raise AttributeError(f"module 'malleable' has no attribute {name!r}")
    importlib.import_module(
        "malleable._core"
    )  # refuses a subinterpreter before NumPy is loaded in it
    home = __import__(_HOMES[name], fromlist=[name])
    return globals().setdefault(name, getattr(home, name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


views.present_from(lambda: importlib.import_module("malleable.view"))
"""Nothing optional is imported before it is needed."""
