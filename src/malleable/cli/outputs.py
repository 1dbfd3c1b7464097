"""Files and standard output that a command writes its results to. Before the work it is checked that they can
be written."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from malleable.cli.streams import note
from malleable.cli.terminal import adder, show
from malleable.files.writing import check_targets, naming, write_file
from malleable.view.drawing import check_drawing
from malleable.view.text import json_text, printable

INTERRUPTED = 130  # exit status


# For the help of commands.
OBJECTIVE = (
    "what should be small: sum:KIND or max:KIND of response, completion, stretch, tardy, tardiness, "
    "lateness, sla or strict"
)


def output_arguments(parser: argparse.ArgumentParser) -> None:
    add = adder(parser)
    add("--json FILE", "write the result as JSON (-: standard output)")
    add("--force", "overwrite existing files", bool)


def ended(complete: bool) -> int:
    # The exit status; False after Ctrl-C.
    if complete:
        return 0
    note("interrupted")
    return INTERRUPTED


class Outputs:
    """The files that a command was asked for; without ``--json -`` people read standard output.

    ``texts``, ``tables`` and ``pictures`` are arguments that name files; JSON and texts may go to standard
    output (``-``). ``inputs`` are files that are read.
    Raises as `check_targets` and `check_drawing` if a file could not be written."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        *,
        texts: Iterable[str] = (),
        tables: Iterable[str] = (),
        pictures: Iterable[str] = (),
        inputs: Iterable[str | None] = (),
    ) -> None:
        texts, pictures = ("json", *texts), tuple(pictures)
        self.force: bool = arguments.force
        self.files: dict[str, str] = {}
        self.to_stdout: str | None = None
        for name in (*texts, *tables, *pictures):
            path = getattr(arguments, name)
            if path == "-" and name in texts:
                if self.to_stdout is not None:
                    both = f"--{self.to_stdout} - and --{name} -"
                    raise ValueError(f"{both}: only one of these can go to standard output")
                self.to_stdout = name
            elif path is not None:
                self.files[name] = path
        options = {"--" + name.replace("_", "-"): path for name, path in self.files.items()}
        read = [file for file in inputs if file not in (None, "-")]
        check_targets(options, self.force, read)
        for name in self.files.keys() & set(pictures):
            check_drawing(self.files[name])

    def give(
        self,
        result: Callable[[], Mapping[str, Any]],
        parts: Iterable[Any],
        complete: bool = True,
        **writers: Callable[[str], str | bytes | None],
    ) -> int:
        """Write the files once all are made, then JSON or what people read to standard output; returns the
        exit status.

        ``result`` returns the result in JSON types, ``parts`` are for people (lines of a list are not
        wrapped), ``complete`` is False after Ctrl-C, and ``writers`` make, by argument, the content of a
        file, or write it. Callables are called only if asked for."""
        made = {"json": lambda _: json_text(result()), **writers}
        contents = {name: made[name](path) for name, path in self.files.items()}
        text = made[self.to_stdout]("-") if self.to_stdout else None
        for name, content in contents.items():
            if content is not None:
                write_file(self.files[name], content, self.force)
        with naming("standard output"):
            if text is not None:
                sys.stdout.write(str(text))
            else:
                show(*parts)
                if self.files:
                    show("wrote " + ", ".join(printable(path) for path in self.files.values()))
            sys.stdout.flush()
        return ended(complete)
