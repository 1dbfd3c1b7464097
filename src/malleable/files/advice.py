"""Errors that say what to do instead, in the words of Python and of the command line."""

from __future__ import annotations

import importlib
from typing import Any


class AdvisedError(ValueError):
    """An error: what is wrong and where, and what to do instead.

    Parameters
    ----------
    told : str
        With the name of the file.
    python, command : str
        The way out for callers from Python, which is part of the message, and for users of the
        command line, who read `in_commands` instead.
    """

    def __init__(self, told: str, python: str, command: str) -> None:
        super().__init__(told, python, command)
        self.in_commands = f"{told} ({command})"

    def __str__(self) -> str:
        told, python, _ = self.args
        return f"{told} ({python})"


class ThereError(FileExistsError):
    """A file that would be overwritten; the message for callers from Python, `in_commands` for users of the
    command line."""

    def __init__(self, where: str) -> None:
        super().__init__(f"{where}: exists; say force=True to overwrite it")
        self.in_commands = f"{where}: exists; --force overwrites it"


def library(name: str, purpose: str, install: str) -> Any:
    """A library that only some things need, or a part of it; ImportError that says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        whole = name.partition(".")[0]
        raise ImportError(f"{purpose} needs {whole}: pip install {install}") from None


class LimitError(AdvisedError):
    """A file holds more than its reader was told to take."""
