"""Where the result of a command goes: checked before the work, then written, then told."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from malleable.cli.terminal import note, show
from malleable.files.writing import check_targets, write_file
from malleable.view.drawing import check_drawing, image_bytes
from malleable.view.plan_views import json_text
from malleable.view.text import printable

__all__ = ["Outputs", "ended"]

_INTERRUPTED = 130


def ended(complete: bool) -> int:
    """Exit status of work that went to its end or, after Ctrl-C, did not."""
    if complete:
        return 0
    note("interrupted")
    return _INTERRUPTED


class Outputs:
    """The files that a command was asked for; without ``--json -`` people read standard output.

    Parameters
    ----------
    arguments : argparse.Namespace
        With ``json`` and ``force``.
    tables, pictures : iterable of str
        Other arguments that name files: ``plot_load`` is ``--plot-load``.
    inputs : iterable of str or None
        Files that are read (``-`` and None: none).

    Raises
    ------
    OSError, ValueError, ImportError
        A file could not be written: `check_targets`, `check_drawing`.
    """

    def __init__(
        self,
        arguments: argparse.Namespace,
        *,
        tables: Iterable[str] = (),
        pictures: Iterable[str] = (),
        inputs: Iterable[str | None] = (),
    ) -> None:
        pictures = tuple(pictures)
        asked = {name: getattr(arguments, name) for name in ("json", *tables, *pictures)}
        self.force: bool = arguments.force
        self.to_stdout: bool = asked["json"] == "-"
        if self.to_stdout:
            del asked["json"]
        self.files: dict[str, str] = {n: path for n, path in asked.items() if path is not None}
        check_targets(
            {"--" + name.replace("_", "-"): path for name, path in self.files.items()},
            self.force,
            [file for file in inputs if file not in (None, "-")],
        )
        for name in pictures:
            if name in self.files:
                check_drawing(self.files[name])

    def draw(self, figure: Any, path: str) -> None:
        """Write a matplotlib figure."""
        write_file(path, image_bytes(figure, path), self.force)

    def give(
        self,
        result: Callable[[], Mapping[str, Any]],
        parts: Iterable[Any],
        complete: bool = True,
        **writers: Callable[[str], None],
    ) -> int:
        """Write the files, then JSON or what people read to standard output.

        Parameters
        ----------
        result : callable
            Gives the result in JSON types; called if it was asked for.
        parts : iterable of tables and str
            For people.
        complete : bool
            False after Ctrl-C.
        **writers
            By argument what writes the file of that path; called if it was asked for.

        Returns
        -------
        int
            Exit status.
        """
        wanted = self.to_stdout or "json" in self.files
        text = json_text(result()) if wanted else ""
        for name, path in self.files.items():
            if name == "json":
                write_file(path, text, self.force)
            else:
                writers[name](path)
        if self.to_stdout:
            sys.stdout.write(text)
        else:
            show(*parts)
            if self.files:
                show("wrote " + ", ".join(printable(path) for path in self.files.values()))
        return ended(complete)
