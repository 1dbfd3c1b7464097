"""Commands made of a template and a value, or several by name.

``{}`` the value, ``{.}`` without its last suffix, ``{/}`` its file name, ``{//}`` its folder, ``{/.}``
the file name without suffix, ``{#}`` the task's number from 1, ``{%}`` the number of its slot
from 0, which a shell knows when the task starts; ``{name}`` and ``{name.}`` (``{name/}``
...) for values by name. ``{{name}}`` is the text ``{name}``; all other braces stand for themselves. A template
without any field gets the value at its end. Values of columns have numbers, too: ``{1}``. Where a task has
several values, ``{}`` stands for all of them, each an argument.

A command that is a list becomes the arguments as they are. Text that has nothing for a shell to do becomes
arguments at its blanks. All other text goes to ``/bin/sh -c``, with values as parameters: ``{}`` stands for
``"$1"``, which the text may also say itself, and a value by name is ``$name``, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from os.path import splitext
from typing import Any, NoReturn

from malleable.live.shell_text import FIELD, OF_COLUMNS, ShellText, quoted
from malleable.validation import near

_SHELL = frozenset("|&;<>()$`\\\"'*?[]#~{}\n")  # anywhere in the text
_FIRST = frozenset("=%!")  # in its first word
_WORDS = frozenset((
    ".", ":", "alias", "bg", "break", "case", "cd", "command", "continue", "declare", "eval", "exec", "exit",
    "export", "fg", "for", "if", "let", "local", "read", "readonly", "return", "set", "shift", "source",
    "times", "trap", "typeset", "ulimit", "umask", "unalias", "unset", "until", "wait", "while",
))  # fmt: skip
_WHOLE = frozenset("1@*")  # variables that stand for a value without a name
_OWN_NAME = re.compile(r"[a-z][a-z0-9_]*")  # shells use names in large letters themselves
_IN_DOUBLE = re.compile(r"[^$`\"\\!]*")  # what double quotes leave as it is
_SHELL_CODE = re.compile(r"sh\s+-\w*c\s+'[^']*\Z")
_DOLLAR = re.compile(r"\$\{(?://|/\.|/|\.)?\}")
_Key = tuple[str, "str | None"]  # the name of a value, and what of it


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
    several : bool
        Whether a task has several values without names.

    Raises
    ------
    ValueError
        An empty command; a field that names no value (the nearest name is told); a field in text for a shell
        where a shell would not put the value alone (what to write is told).
    """

    def __init__(
        self,
        command: str | Sequence[str],
        names: Sequence[str] = (),
        valued: bool = True,
        several: bool = False,
    ) -> None:
        parts = _checked(command)
        self.names, self._several = tuple(names), several
        numbers = [name for name in names if name.isdecimal()]
        self._field = OF_COLUMNS if numbers else FIELD
        self._own: list[_Key] = [(name, None) for name in numbers or names] or [("", None)] * valued
        self._listed = not isinstance(command, str)
        append = not self._fields(parts, valued) and valued and not names
        self.shell = isinstance(command, str) and _needs_shell(self._field.sub(_plain, command))
        if self.shell:
            self._read(parts[0], append)
            return
        if isinstance(command, str):
            parts = [word for word in re.split("[ \t]+", command) if word]
        self._words = [*parts, *["{}"] * append]

    def _read(self, text: str, append: bool) -> None:
        """Text for a shell, and the values that are its parameters."""
        found = ShellText(text, self._field)
        if append and found.variables.isdisjoint(_WHOLE):
            if found.odd or not found.open:
                at = '"$1"' if found.odd else "{}"
                _refuse(f"no field says where the value goes; write {at} in that place")
            found = ShellText(f"{text} {{}}")
        self._check_quotes(found)
        self._text, self._used = found, self._variables(found)
        used = ((name, None) for name in self._used)
        fields = (_key(each) for each, _ in found.fields if each[2] != "%")
        self._params = list(dict.fromkeys([*self._own, *used, *fields]))
        number = {key: k for k, key in enumerate(self._params, 1)}

        def put(field: re.Match[str], quote: str) -> str:
            if field[2] == "%":
                return _slot(quote)
            if self._several:
                return "$*" if quote else '"$@"'
            at = number[_key(field)]
            return f"${{{at}}}" if quote else f'"${at}"' if at < 10 else f'"${{{at}}}"'

        values = "".join(f"{name}=${{{number[name, None]}}}; " for name in self._used)
        plain = self._field.sub(lambda it: it[3] or it[0], text)
        self._line = values + (found.filled(put) if found.fields else plain)

    def _variables(self, found: ShellText) -> list[str]:
        """Names of values that the text uses as variables; $1 is a parameter anyway."""
        used = [name for name in self.names if name in found.variables and not name.isdecimal()]
        for name in used:
            if not _OWN_NAME.fullmatch(name):
                _refuse(f"${name}: shells use names in large letters themselves; write {{{name}}}")
        return used

    def _check_quotes(self, found: ShellText) -> None:
        """Refuses fields where a shell would not put the value alone."""
        if not found.fields:
            return
        first = found.fields[0][0][0]
        single = [each[0] for each, quote in found.fields if quote == "'"]
        if found.odd:
            _refuse(
                f"beside {found.odd} a shell may read {first} in its own way; write {_by_hand(found)}"
            )
        if found.quote:
            _refuse(f"a quote ({found.quote}) that does not end")
        if single:
            line, is_code = _out_of_quotes(found)
            more = "" if is_code else ", or give the value as an argument of its own"
            _refuse(f"{single[0]} in single quotes, where shells put no value; write {line}{more}")

    def _fields(self, parts: Sequence[str], valued: bool) -> list[re.Match[str]]:
        """All that are no text; ValueError for one that has no value."""
        found = (match for part in parts for match in self._field.finditer(part))
        fields = [match for match in found if not match[3]]
        for field in fields:
            if field[2] != "%":
                self._check(field, valued)
            elif self._listed:
                _refuse("{%}: goes with a text for a shell, not with a list of arguments")
        odd = next(filter(None, map(_DOLLAR.search, parts)), None) if valued else None
        if odd:
            _refuse(f"{odd[0]}: a field has no dollar; write {odd[0][1:]}")
        return fields

    def _check(self, field: re.Match[str], valued: bool) -> None:
        name = field[1]
        if self._several and (field[1] or field[2]):
            _refuse(
                f"{field[0]}: a task has several values (per_task), and {{}} stands for all of them"
            )
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
        """The arguments of one task, the program first; ``number`` from 0."""
        if self._several:
            if self.shell:
                return ["/bin/sh", "-c", self._line, "sh", *value]
            words = (value if word == "{}" else [self._joined(word, value)] for word in self._words)
            return list(chain.from_iterable(words))
        values: Mapping[str, str] = value if isinstance(value, Mapping) else {"": value or ""}

        def text_of(key: _Key) -> str:
            return str(number + 1) if key[1] == "#" else _changed(values.get(key[0], ""), key[1])

        if self.shell:
            return ["/bin/sh", "-c", self._line, "sh", *map(text_of, self._params)]
        return [
            self._field.sub(lambda it: it[3] or text_of(_key(it)), word) for word in self._words
        ]

    def _joined(self, word: str, values: Sequence[str]) -> str:
        return self._field.sub(lambda it: it[3] or " ".join(values), word)

    def shown(self, value: Any, number: int) -> str:
        """The command of one task as it was written, on one line, with values that a shell reads back."""
        words = self.arguments(value, number)
        if not self.shell:
            return " ".join(map(quoted, words))
        several = words[4:] if self._several else None
        values = {} if several else dict(zip(self._params, words[4:], strict=True))

        def put(field: re.Match[str], quote: str) -> str:
            if field[2] == "%":
                return _slot(quote)
            if several and not quote:
                return " ".join(map(quoted, several))
            text = " ".join(several) if several else values[_key(field)]
            if quote and text.isprintable() and _IN_DOUBLE.fullmatch(text):
                return text
            return f'"{quoted(text)}"' if quote else quoted(text)

        given = [f"{name}={quoted(values[name, None])}; " for name in self._used]
        if not self._text.variables.isdisjoint(_WHOLE) and self._own:
            own = several or [values[key] for key in self._own]
            given.append(f"set -- {' '.join(map(quoted, own))}; ")
        line = "".join(given) + self._text.filled(put)
        if line.isprintable() and not self._text.commented:
            return line
        return " ".join(map(quoted, words))


def _slot(quote: str) -> str:
    return "${MALLEABLE_SLOT}" if quote else '"$MALLEABLE_SLOT"'


def _plain(field: re.Match[str]) -> str:
    """What a field is for who asks whether a text needs a shell: a letter, or a variable of one."""
    return "$" if field[2] == "%" else "a"


def _checked(command: str | Sequence[str]) -> list[str]:
    parts: list[str] = [command] if isinstance(command, str) else list(command)
    if not parts or not parts[0].strip():
        raise ValueError("command: empty")
    if "\0" in "".join(parts):
        raise ValueError("command: has a NUL character")
    return parts


def _key(field: re.Match[str]) -> _Key:
    return field[1] or "", field[2]


def _refuse(why: str) -> NoReturn:
    raise ValueError(f"command: {why}")


def _by_hand(found: ShellText) -> str:
    """The text with parameters that its author places, where this cannot know the quotes around them."""
    fields = list(dict.fromkeys(each[0] for each, _ in found.fields))
    moved = found.odd in ("set", "shift", "function") or found.odd.startswith("()")
    names = {field: f"v{k}" if moved else f"{k}" for k, field in enumerate(fields, 1)}
    raw = found.filled(lambda field, _: field[0])
    bare = any(odd in raw for odd in ("((", "<<", "$["))

    def put(field: re.Match[str], quote: str) -> str:
        name = names[field[0]]
        if bare and not moved:
            return f"${name}"
        return f"${{{name}}}" if quote == '"' or bare else f'{quote}"${name}"{quote}'

    line = "".join(f"v{k}=${k}; " * moved for k in range(1, len(fields) + 1)) + found.filled(put)
    if fields == ["{}"] and not ShellText(line).variables.isdisjoint(_WHOLE):
        return line
    code = line.replace("'", "'\\''")
    return f"sh -c '{code}' sh {' '.join(fields)}"


def _out_of_quotes(found: ShellText) -> tuple[str, bool]:
    """The text with its fields outside single quotes; those in code of ``sh -c`` become parameters of it.

    And whether there is such code.
    """
    line, code, is_code = "", list[str](), False
    for part in found.parts:
        if isinstance(part, str):
            line += part + f" sh {' '.join(code)}" if part == "'" and code else part
            code = [] if part == "'" else code
        elif part[1] != "'":
            line += part[0][0]
        elif code or _SHELL_CODE.search(line):
            code, is_code = list(dict.fromkeys([*code, part[0][0]])), True
            number = code.index(part[0][0]) + 1
            double = line.rpartition("'")[2].count('"') % 2
            line += f"${{{number}}}" if double else f'"${number}"'
        else:
            line += f"'{part[0][0]}'"
    return re.sub(r"''(\{[^{}]*\})''", r"\1", line), is_code


def _needs_shell(text: str) -> bool:
    """Whether there is something in it that a shell has to do; in place of its fields there is a letter."""
    first = text.split(None, 1)[0]
    return first in _WORDS or not _SHELL.isdisjoint(text) or not _FIRST.isdisjoint(first)
