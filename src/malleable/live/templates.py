"""Commands made of a template and a value, or several by name.

``{}`` the value, ``{.}`` without its last suffix, ``{/}`` its file name, ``{//}`` its folder, ``{/.}``
the file name without suffix, ``{#}`` the task's number from 1; ``{name}`` and ``{name.}`` (``{name/}``
...) for values by name; ``{{`` and ``}}`` are braces. A template without any gets the value at its end.

A command that is a list becomes the arguments as they are. One that is text is written for a shell,
which gets the values as parameters of its own, never as part of the text: no value is ever run,
whatever quotes, semicolons or dollars it has. Where the text has nothing for a shell to do, none is
started.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from os.path import splitext

__all__ = ["Template"]

_FIELD = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)?(//|/\.|/|\.|#)?\}")
_SHELL = frozenset("|&;<>()$`\\\"'*?[]#~=%!{}\n")
_BUILT_IN = frozenset((
    ".", ":", "alias", "bg", "break", "case", "cd", "command", "continue", "do", "eval", "exec", "exit",
    "export", "fg", "for", "if", "read", "readonly", "return", "set", "shift", "times", "trap", "umask",
    "unalias", "unset", "until", "wait", "while",
))  # fmt: skip


def _changed(value: str, how: str | None) -> str:
    if how in ("/", "/."):
        value = value.rpartition("/")[2]
    if how in (".", "/."):
        value = splitext(value)[0]  # noqa: PTH122 - values need not be paths
    return (value.rpartition("/")[0] or ".") if how == "//" else value


class Template:
    """A command with fields.

    Parameters
    ----------
    command : str or sequence of str
        Text for a shell, or arguments.
    names : sequence of str
        Names of values; none: there is one value without a name, or none.

    Raises
    ------
    ValueError
        An empty command, or a field that names no value (the nearest name is told).
    """

    def __init__(self, command: str | Sequence[str], names: Sequence[str] = ()) -> None:
        self.text = isinstance(command, str)
        self.parts: list[str] = [command] if isinstance(command, str) else list(command)
        if not self.parts or not self.parts[0].strip():
            raise ValueError("command: empty")
        if "\0" in "".join(self.parts):
            raise ValueError("command: has a NUL character")
        self.names = tuple(names)
        found = (match for part in self.parts for match in _FIELD.finditer(part))
        fields = [match for match in found if match[0] not in ("{{", "}}")]
        for field in fields:
            name = field[1]
            if name and name not in self.names:
                near = difflib.get_close_matches(name, self.names, n=1)
                hint = f"; did you mean {{{near[0]}}}?" if near else ""
                known = ", ".join(f"{{{known}}}" for known in self.names) or "{}"
                raise ValueError(f"command: {field[0]} names no value; there is {known}{hint}")
            if not name and self.names and field[2] != "#":
                raise ValueError(
                    f"command: {field[0]} has no name, but values have: {', '.join(self.names)}"
                )
        self.fields = len(fields)
        first = self.parts[0].split(None, 1)[0]
        plain = _FIELD.sub("", self.parts[0])
        self.shell = self.text and (
            first in _BUILT_IN or not _SHELL.isdisjoint(plain) or "{" in first
        )
        self._line = _for_shell(self.parts[0]) if self.shell else ("", [])

    def arguments(self, value: str | Mapping[str, str] | None, number: int) -> list[str]:
        """The arguments of one task, the program first; ``number`` from 0."""
        values: Mapping[str, str] = value if isinstance(value, Mapping) else {"": value or ""}
        append = [] if value is None or self.names or self.fields else [values[""]]

        def text_of(field: re.Match[str]) -> str:
            if field[0] in ("{{", "}}"):
                return field[0][0]
            if field[2] == "#":
                return str(number + 1)
            return _changed(values.get(field[1] or "", ""), field[2])

        if self.shell:
            line, fields = self._line
            filled = [text_of(field) for field in fields]
            return ["/bin/sh", "-c", line + ' "$@"' * bool(append), "sh", *(append or filled)]
        parts = self.parts[0].split() if self.text else self.parts
        return [_FIELD.sub(text_of, part) for part in parts] + append


def _for_shell(text: str) -> tuple[str, list[re.Match[str]]]:
    """The text with parameters in place of fields, and the fields in this order.

    A parameter is quoted outside quotes, bare inside double ones, and interrupts single ones.
    """
    line: list[str] = []
    fields: list[re.Match[str]] = []
    inside = ["n"]  # n: no quotes, s: single, d: double, b: backquotes, a: arithmetic
    at = 0
    while at < len(text):
        field = _FIELD.match(text, at)
        char, state = text[at], inside[-1]
        if field:
            if field[0] in ("{{", "}}"):
                line.append(field[0][0])
            elif "a" in inside:
                raise ValueError(
                    f"command: {field[0]} within $(( )), where a shell may run what a value says;"
                    " expr and awk only reckon"
                )
            else:
                fields.append(field)
                parameter = f"${{{len(fields)}}}"
                line.append({"d": "{}", "s": "'\"{}\"'"}.get(state, '"{}"').format(parameter))
            at = field.end()
            continue
        step = 1
        if char == "\\" and state != "s":
            step = 2
        elif state == "s":
            inside = inside[:-1] if char == "'" else inside
        elif text.startswith("$((", at):
            inside.append("a")
            step = 3
        elif text.startswith("$(", at):
            inside.append("n")
            step = 2
        elif state == "a" and text.startswith("))", at):
            inside.pop()
            step = 2
        elif char == '"':
            inside = inside[:-1] if state == "d" else [*inside, "d"]
        elif char == "`":
            inside = inside[:-1] if state == "b" else [*inside, "b"]
        elif char == "'" and state != "d":
            inside.append("s")
        elif char == ")" and state == "n" and len(inside) > 1:
            inside.pop()
        line.append(text[at : at + step])
        at += step
    return "".join(line), fields
