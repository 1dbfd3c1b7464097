"""``malleable completion``: a script by which a shell completes commands, options and files."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any

from malleable.files.advice import library

_SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")
_FILES = re.compile(r"FILE|PATH|JOURNAL|EVENTS")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("shell", choices=_SHELLS, metavar="SHELL", help=", ".join(_SHELLS))


def run(asked: argparse.Namespace) -> int:
    """Print a script with which the shell completes commands and options of this version. In bash: eval
    "$(malleable completion bash)".
    """
    from malleable.cli.arguments import build_parser

    shtab = library("shtab", "malleable completion", "'malleable[completion]'")
    parser = build_parser(whole=True)
    _mark_files(parser, shtab)
    sys.stdout.write(shtab.complete(parser, shell=asked.shell) + "\n")
    return 0


def _mark_files(parser: argparse.ArgumentParser, shtab: Any) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _mark_files(command, shtab)
        elif _FILES.search(str(action.metavar)):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar == "DIR":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
