"""Commands made of a template and a value, or several values by name.

A template has fields: ``{}`` the value, ``{.}`` without its last suffix, ``{/}`` its file name, ``{//}`` its
folder, ``{/.}`` the file name without suffix, ``{#}`` the task's number from 1, ``{%}`` the number of its slot
from 0, which a shell knows when the task starts; ``{name}`` and ``{name.}`` (``{name/}`` ...) for values by
name. ``{{name}}`` is the text ``{name}``; all other braces stand for themselves. A template without any field
gets the value at its end. Values of columns have numbers, too: ``{1}``.

A command that is a list becomes the arguments as they are. Text with nothing for a shell to do becomes
arguments at its blanks; other text goes to ``/bin/sh -c``, with values as parameters: ``{}`` stands for
``"$1"``, which the text may also say itself, and a value by name is ``$name``, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from os.path import splitext
from typing import Any, NoReturn

from malleable.live.shell_text import FIELD, OF_COLUMNS, ShellText, quoted
from malleable.validation import near

# signs and words for which a command needs a shell
_SHELL = frozenset("|&;<>()$`\\\"'*?[]#~{}\n")  # anywhere in the text
_FIRST = frozenset("=%!")  # in its first word
_WORDS = frozenset((
    ".", ":", "alias", "bg", "break", "case", "cd", "command", "continue", "declare", "eval", "exec", "exit",
    "export", "fg", "for", "if", "let", "local", "read", "readonly", "return", "set", "shift", "source",
    "times", "trap", "typeset", "ulimit", "umask", "unalias", "unset", "until", "wait", "while",
))  # fmt: skip
_WHOLE = frozenset("1@*")  # variables that stand for a value without a name
_OWN_NAME = re.compile(r"[a-z][a-z0-9_]*")  # shells use names in large letters themselves
_IN_DOUBLE = re.compile(r"[^$`\"\\!]*")  # characters without a meaning in double quotes
_OWN_SLOT = re.compile(r"(?<![{$])\{%\}")
_BY_HAND = """write sh -c 'COMMAND "$1"' sh {}, in which "$1" is the value"""
_DOLLAR = re.compile(r"\$\{(?://|/\.|/|\.)?\}")
_Key = tuple[str, "str | None"]  # the name of a value, and its part


def _changed(value: str, how: str | None) -> str:
    if how in ("/", "/."):
        value = value.rpartition("/")[2]
    if how in (".", "/."):
        value = splitext(value)[0]  # noqa: PTH122 - values may not be paths
    return (
        (value.rpartition("/")[0] or "/"[: value.startswith("/")] or ".") if how == "//" else value
    )


class Template:
    """A command, text for a shell or arguments, with fields.

    ``names`` are those of values; none: there is one value without a name. ``valued``: there are values at
    all. ValueError for an empty command, a field that names no value (with the nearest name), and a field in
    text for a shell where a shell would not put the value alone (with what to write)."""

    def __init__(
        self,
        command: str | Sequence[str],
        names: Sequence[str] = (),
        valued: bool = True,
    ) -> None:
        parts = _checked(command)
        self.names = tuple(names)
        numbers = [name for name in names if name.isdecimal()]
        self._field = OF_COLUMNS if numbers else FIELD
        self._own: list[_Key] = [(name, None) for name in numbers or names] or [("", None)] * valued
        append = not self._fields(parts, valued) and valued and not names
        self.shell = isinstance(command, str) and _needs_shell(self._field.sub("a", parts[0]))
        if self.shell:
            self._read(parts[0], append)
            return
        if isinstance(command, str):
            parts = [word for word in re.split("[ \t]+", parts[0]) if word]
        self._words = [*parts, *["{}"] * append]

    def _read(self, text: str, append: bool) -> None:
        found = ShellText(text, self._field)
        if append and found.variables.isdisjoint(_WHOLE):
            # `odd`: a part that changes how shells read the rest; `open`: a word may follow
            if found.odd or not found.open:
                at = '"$1"' if found.odd else "{}"
                _refuse(f"no field says where the value goes; write {at} in that place")
            found = ShellText(f"{text} {{}}")
        self._check_quotes(found)
        self._text, self._used = found, self._variables(found)
        used = ((name, None) for name in self._used)
        fields = (_key(each) for each, _ in found.fields)
        self._params = list(dict.fromkeys([*self._own, *used, *fields]))
        number = {key: k for k, key in enumerate(self._params, 1)}

        def put(field: re.Match[str], quote: str) -> str:
            at = number[_key(field)]
            return f"${{{at}}}" if quote else f'"${at}"' if at < 10 else f'"${{{at}}}"'

        values = "".join(f"{name}=${{{number[name, None]}}}; " for name in self._used)
        plain = self._field.sub(lambda it: it[3] or it[0], text)
        self._line = values + (found.filled(put) if found.fields else plain)

    def _variables(self, found: ShellText) -> list[str]:
        used = [name for name in self.names if name in found.variables and not name.isdecimal()]
        for name in used:
            if not _OWN_NAME.fullmatch(name):
                _refuse(f"${name}: shells use names in large letters themselves; write {{{name}}}")
        return used

    def _check_quotes(self, found: ShellText) -> None:
        if not found.fields:
            return
        first = found.fields[0][0][0]
        if found.odd:
            _refuse(f"beside {found.odd} a shell may read {first} in its own way; {_BY_HAND}")
        if found.quote:
            _refuse(f"a quote ({found.quote}) that does not end")
        for field, quote in found.fields:
            if quote == "'":
                _refuse(f"{field[0]} in single quotes, where shells put no value; {_BY_HAND}")

    def _fields(self, parts: Sequence[str], valued: bool) -> list[re.Match[str]]:
        found = (match for part in parts for match in self._field.finditer(part))
        fields = [match for match in found if not match[3]]
        for field in fields:
            self._check(field, valued)
        odd = next(filter(None, map(_DOLLAR.search, parts)), None) if valued else None
        if odd:
            _refuse(f"{odd[0]}: a field has no dollar; write {odd[0][1:]}")
        return fields

    def _check(self, field: re.Match[str], valued: bool) -> None:
        name = field[1]
        if name and name not in self.names:
            known = ", ".join(f"{{{known}}}" for known in self.names) or "{}" * valued or "none"
            raise ValueError(
                f"command: {field[0]} names no value; there is {known}{near(name, self.names)};"
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

    def arguments(self, value: Any, number: int) -> list[str]:
        # Program and arguments of the task with this value and number (from 0).
        alone = "" if value is None else str(value)
        values: Mapping[str, str] = value if isinstance(value, Mapping) else {"": alone}

        def text_of(key: _Key) -> str:
            return str(number + 1) if key[1] == "#" else _changed(values.get(key[0], ""), key[1])

        if self.shell:
            return ["/bin/sh", "-c", self._line, "sh", *map(text_of, self._params)]
        return [
            self._field.sub(lambda it: it[3] or text_of(_key(it)), word) for word in self._words
        ]

    def shown(self, value: Any, number: int) -> str:
        """The command of one task as it was written, on one line, with values that a shell reads back."""
        words = self.arguments(value, number)
        if not self.shell:
            return " ".join(map(quoted, words))
        values = dict(zip(self._params, words[4:], strict=True))

        def put(field: re.Match[str], quote: str) -> str:
            text = values[_key(field)]
            if quote and text.isprintable() and _IN_DOUBLE.fullmatch(text):
                return text
            return f'"{quoted(text)}"' if quote else quoted(text)

        given = [f"{name}={quoted(values[name, None])}; " for name in self._used]
        if not self._text.variables.isdisjoint(_WHOLE) and self._own:
            own = [values[key] for key in self._own]
            given.append(f"set -- {' '.join(map(quoted, own))}; ")
        line = "".join(given) + self._text.filled(put)
        if line.isprintable() and not self._text.commented:
            return line
        return " ".join(map(quoted, words))


def _checked(command: str | Sequence[str]) -> list[str]:
    parts: list[str] = [command] if isinstance(command, str) else list(command)
    if not parts or not parts[0].strip():
        raise ValueError("command: empty")
    if "\0" in "".join(parts):
        raise ValueError("command: has a NUL character")
    if isinstance(command, str):
        return [_OWN_SLOT.sub("${MALLEABLE_SLOT}", command)]
    if any(map(_OWN_SLOT.search, parts)):
        _refuse("{%}: goes with a text for a shell, not with a list of arguments")
    return parts


def _key(field: re.Match[str]) -> _Key:
    # Groups of a field: 1 its name, 2 the part of the value, 3 the text of a field in two braces.
    return field[1] or "", field[2]


def _refuse(why: str) -> NoReturn:
    raise ValueError(f"command: {why}")


def _needs_shell(text: str) -> bool:
    # Whether there is something in it that a shell has to do; in place of its fields there is a letter.
    first = text.split(None, 1)[0]
    return first in _WORDS or not _SHELL.isdisjoint(text) or not _FIRST.isdisjoint(first)
