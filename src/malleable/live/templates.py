"""Commands made of a template and a value, or several by name.

``{}`` the value, ``{.}`` without its last suffix, ``{/}`` its file name, ``{//}`` its folder, ``{/.}``
the file name without suffix, ``{#}`` the task's number from 1; ``{name}`` and ``{name.}`` (``{name/}``
...) for values by name. ``{{name}}`` is the text ``{name}``; all other braces stand for themselves. A template
without any field gets the value at its end.

A command that is a list becomes the arguments as they are. Text that has nothing for a shell to do becomes
arguments at its blanks. All other text goes to ``/bin/sh``, and values stand in variables
(`malleable.live.shell_text`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from os.path import splitext

from malleable.live.interpreters import code_in
from malleable.live.shell_text import BUILT_IN, FIELD, HOW, fill

_SHELL = frozenset("|&;<>()$`\\\"'*?[]#~{}\n")  # anywhere in the text
_FIRST = frozenset("=%!")  # in its first word
_WORDS = frozenset((
    *BUILT_IN, "alias", "bg", "case", "command", "declare", "eval", "fg", "for", "if", "let", "local",
    "readonly", "shift", "times", "trap", "typeset", "unalias", "unset", "until", "while",
)) - {"echo", "false", "printf", "pwd", "test", "true"}  # fmt: skip


def _changed(value: str, how: str | None) -> str:
    if how in ("/", "/."):
        value = value.rpartition("/")[2]
    if how in (".", "/."):
        value = splitext(value)[0]  # noqa: PTH122 - values need not be paths
    return (
        (value.rpartition("/")[0] or "/"[: value.startswith("/")] or ".") if how == "//" else value
    )


class Template:
    """A command with fields.

    Parameters
    ----------
    command : str or sequence of str
        Text for a shell, or arguments.
    names : sequence of str
        Names of values; none: there is one value without a name.
    valued : bool
        Whether there are values at all.

    Raises
    ------
    ValueError
        An empty command; a field that names no value (the nearest name is told); text that might run a value in
        some shell, or that shells may read otherwise beside values.
    """

    def __init__(
        self, command: str | Sequence[str], names: Sequence[str] = (), valued: bool = True
    ) -> None:
        self.text = isinstance(command, str)
        self.parts: list[str] = [command] if isinstance(command, str) else list(command)
        if not self.parts or not self.parts[0].strip():
            raise ValueError("command: empty")
        if "\0" in "".join(self.parts):
            raise ValueError("command: has a NUL character")
        self.names = tuple(names)
        fields = self._fields(valued)
        self.append = valued and not self.names and not fields
        self.shell = self.text and _needs_shell(self.parts[0])
        self._line: tuple[str, list[re.Match[str]]] | None = None
        if not self.shell:
            self._check_code()
        elif self.append or any(field[2] != "#" for field in fields):
            self._line = fill(self.parts[0], self.append)
        elif any(field.string[: field.start()].endswith("$") for field in fields):
            raise ValueError("command: $ before a field")

    def _check_code(self) -> None:
        marks = [FIELD.sub(_mark, part) for part in self._words()] + ["\0"] * self.append
        program, why = code_in(marks, whole=not self.text)
        if why:
            raise ValueError(f"command: {program} {why}; {HOW}")

    def _fields(self, valued: bool) -> list[re.Match[str]]:
        """All that are no text; ValueError for one that has no value."""
        found = (match for part in self.parts for match in FIELD.finditer(part))
        fields = [match for match in found if not match[3]]
        for field in fields:
            self._check(field, valued)
        return fields

    def _check(self, field: re.Match[str], valued: bool) -> None:
        name = field[1]
        if name and name not in self.names:
            near = difflib.get_close_matches(name, self.names, n=1)
            hint = f"; did you mean {{{near[0]}}}?" if near else ""
            known = ", ".join(f"{{{known}}}" for known in self.names) or "{}" * valued or "none"
            raise ValueError(
                f"command: {field[0]} names no value; there is {known}{hint};"
                f" {{{field[0]}}} is the text {field[0]}"
            )
        if not name and self.names and field[2] != "#":
            raise ValueError(
                f"command: {field[0]} has no name, but values have: {', '.join(self.names)}"
            )
        if not valued and field[2] != "#":
            raise ValueError(
                f"command: {field[0]}, but there are no values (over); {{{field[0]}}} is the text {field[0]}"
            )

    def _words(self) -> list[str]:
        """Arguments with fields; of text without a shell at its blanks."""
        if not self.text:
            return self.parts
        return [word for word in re.split("[ \t]+", self.parts[0]) if word]

    def arguments(self, value: str | Mapping[str, str] | None, number: int) -> list[str]:
        """The arguments of one task, the program first; ``number`` from 0."""
        values: Mapping[str, str] = value if isinstance(value, Mapping) else {"": value or ""}

        def text_of(field: re.Match[str]) -> str:
            if field[3]:
                return field[3]
            if field[2] == "#":
                return str(number + 1)
            return _changed(values.get(field[1] or "", ""), field[2])

        if self._line:
            line, fields = self._line
            return ["/bin/sh", "-c", line, "sh", *map(text_of, fields)]
        if self.shell:
            return ["/bin/sh", "-c", FIELD.sub(text_of, self.parts[0]), "sh"]
        last = [values[""]] if self.append else []
        return [FIELD.sub(text_of, part) for part in self._words()] + last


def _mark(field: re.Match[str]) -> str:
    return field[3] or ("0" if field[2] == "#" else "\0")


def _needs_shell(text: str) -> bool:
    """Whether there is something in it that a shell has to do."""
    plain = FIELD.sub("a", text)
    first = plain.split(None, 1)[0]
    return first in _WORDS or not _SHELL.isdisjoint(plain) or not _FIRST.isdisjoint(first)
