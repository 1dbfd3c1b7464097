"""The command line as a page: every command with its arguments, their choices and defaults."""

import argparse
import re
from pathlib import Path

from malleable.cli.arguments import build_parser

from . import keep, titled


def _default(action: argparse.Action) -> str:
    value = action.default
    if value in (None, argparse.SUPPRESS, False, [], ()) or action.nargs == 0:
        return ""
    return f"``{value}``"


def _row(action: argparse.Action) -> tuple[str, str, str]:
    shown = action.metavar or action.dest.upper().replace("_", "-")
    shown = " ".join(shown) if isinstance(shown, tuple) else shown
    if action.option_strings:
        name = ", ".join(f"``{one}``" for one in action.option_strings)
        name += "" if action.nargs == 0 else f" {shown if not action.choices else ''}"
    else:
        name = f"``{shown}``"
    choices = ""
    if action.choices:
        choices = " One of " + ", ".join(f"``{one}``" for one in action.choices) + "."
    told = (action.help or "") % {**vars(action), "prog": "malleable"} if action.help else ""
    told = re.sub(r"[*|`_](?=\W|$)", lambda found: "\\" + found[0], told)
    return name.strip(), _default(action), f"{told}.{choices}" if choices else told


def _table(actions: list[argparse.Action]) -> str:
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 30 15 55", ""]
    lines += ["   * - argument", "     - default", "     - meaning"]
    for row in map(_row, actions):
        lines += [f"   * - {row[0]}", f"     - {row[1]}", f"     - {row[2]}"]
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """The page ``command-line.rst``. O(arguments)."""
    parser = build_parser(whole=True)
    parts = [
        titled("The command line"),
        "``malleable COMMAND --help`` prints the same. A cell without a default: there is none, or the"
        " option is off.\n",
    ]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            said = {one.dest: one.help for one in action._choices_actions}
            for name, own in action.choices.items():
                parts += [titled(f"malleable {name}", "-"), f"{said.get(name) or ''}\n"]
                usage = own.format_usage().removeprefix("usage: ")
                parts += [".. code-block:: text\n\n" + re.sub(r"^", "   ", usage, flags=re.M)]
                rows = [
                    one
                    for one in own._actions
                    if one.help is not argparse.SUPPRESS and one.dest != "help"
                ]
                parts += [_table(rows)] if rows else []
    keep(folder / "command-line.rst", "\n".join(parts))
