"""Text for a shell with places for values, so that no shell ever reads a value as text of its own.

Which contexts of a shell evaluate a value (arithmetic, subscripts, ``eval``, numeric tests ...) differs from
shell to shell, and no list of them is complete. So this says what is allowed instead: a small grammar that all
shells read in the same way. Words with quotes, variables and ``$( )``; ``|``, ``&&``, ``||``, ``;``, ``&``;
redirections; ``( )``, ``{ }``, ``for``, ``while``, ``until``, ``if``. All else is refused.

A value stands in a variable, and the text has this variable in double quotes. What could be built into some
shell is started through ``env``, which starts programs alone; a few commands are built in for certain
(`BUILT_IN`), with the arguments that no shell evaluates. Comments are left out. O(characters).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from typing import NoReturn

from malleable.live.interpreters import code_in

_INNER = r"([A-Za-z_][A-Za-z0-9_]*)?(//|/\.|/|\.|#)?"
FIELD = re.compile(rf"\{{{_INNER}\}}|\{{(\{{{_INNER}\}})\}}")
"""``{name how}``, groups 1 and 2; the same within two braces is the text of group 3."""

HOW = """write it as a script that gets the value as a parameter: sh -c '... "$1" ...' sh {}"""

_BLANK = " \t"
_DEEPEST = 30
_ENDS = frozenset(" \t\n|&;<>()")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN_NAME = re.compile(r"[a-z_][a-z0-9_]*")  # to such a name no shell gives a type
_TAKEN = frozenset((
    "argv", "cdpath", "fignore", "fpath", "histchars", "mailpath", "manpath", "module_path", "path",
    "prompt", "psvar", "signals", "status", "watch",
))  # fmt: skip
_VARIABLE = re.compile(
    r"([A-Za-z_][A-Za-z0-9_]*)(?!\[)|[?$!]"
    r"|\{([A-Za-z_][A-Za-z0-9_]*)(?:(?::?[-+]|%%?|##?)[A-Za-z0-9_./*?,@+=-]*)?\}"
)
_REDIRECTION = re.compile(r"[0-9]?(>>|>\||<>|>&|<&|>|<)")
_PROGRAM = re.compile(r"[A-Za-z0-9_.@][A-Za-z0-9_.:@,+-]*")
_PATH = re.compile(r"[A-Za-z0-9_.:@,+/\0\1\x80-\U0010ffff-]*")
_RESERVED = re.compile(
    r"(?:if|then|elif|else|fi|for|in|do|done|while|until|case|esac|select|function|repeat|foreach|coproc"
    r"|nocorrect|noglob|builtin|always|end|\})(?=[\s;&|<>()]|$)|(?:[!{]|\[\[)(?=\s)"
)
_CODE = frozenset((
    "alias", "autoload", "command", "declare", "emulate", "enable", "eval", "fc", "float", "getopts", "integer",
    "let", "local", "mapfile", "readarray", "readonly", "setopt", "shift", "shopt", "typeset", "unalias",
    "unset", "unsetopt", "zmodload",
))  # fmt: skip
_UNARY = frozenset(f"-{letter}" for letter in "bcdefghnprsuwxzLS")
_BINARY = frozenset(("=", "!=", "-nt", "-ot", "-ef"))
_FORMAT = re.compile(r"(?!-)(?:[^%\\]|\\.|%%|%-?[0-9]*(?:\.[0-9]+)?s)*", re.DOTALL)


@dataclass
class _Word:
    """A word without its quotes: NUL where a value may stand, \\1 where another variable does."""

    at: int  # its first place in what is written
    text: str = ""
    quoted: bool = False  # a part of it
    special: bool = False  # *, ?, [, ] or ~ outside quotes
    braces: bool = False  # outside quotes
    filled: bool = False  # a field is in it
    bare: list[tuple[int, int]] = field(default_factory=list)  # variables outside quotes

    @property
    def literal(self) -> bool:
        return "\0" not in self.text and "\1" not in self.text


def _any(words: Sequence[_Word]) -> str:
    return ""


def _only(pattern: str, what: str) -> Callable[[Sequence[_Word]], str]:
    known = re.compile(pattern)

    def check(words: Sequence[_Word]) -> str:
        good = known.fullmatch(" ".join(word.text for word in words)) is not None
        good = good and not any(word.quoted for word in words)
        return "" if good else f"expected {what}"

    return check


def _printf(words: Sequence[_Word]) -> str | None:
    good = words and words[0].literal and _FORMAT.fullmatch(words[0].text)
    return "" if good else None


def _test(words: Sequence[_Word]) -> str | None:
    if any(word.bare or word.special for word in words):
        return None
    texts = [word.text for word in words]
    texts = texts[1:] if texts[:1] == ["!"] else texts
    good = (
        len(texts) == 1
        or (len(texts) == 2 and texts[0] in _UNARY)
        or (len(texts) == 3 and texts[1] in _BINARY)
    )
    return "" if good else None


def _bracket(words: Sequence[_Word]) -> str | None:
    return _test(words[:-1])


def _trap(words: Sequence[_Word]) -> str:
    good = words and words[0].text in ("", "-") and all(word.literal for word in words)
    return "" if good else "expected '' or - and signals"


def _name_of(word: _Word) -> str:
    """What is wrong with the name that is given a value that is not known."""
    name = word.text.partition("=")[0]
    good = _OWN_NAME.fullmatch(name) and name not in _TAKEN
    return (
        ""
        if good
        else f"{_shown(name)}: expected a name in small letters, or NAME=value before a command"
    )


def _export(words: Sequence[_Word]) -> str:
    for word in words:
        if word.bare or not _NAME.match(word.text):
            return "expected NAME or NAME=text, variables in double quotes"
        why = "" if word.literal else _name_of(word)
        if why:
            return why
    return ""


def _read(words: Sequence[_Word]) -> str:
    names = words[1:] if words and words[0].text == "-r" else words
    return next(filter(None, map(_name_of, names)), "" if names else "needs a name")


def _source(words: Sequence[_Word]) -> str:
    good = words and all(word.literal and not word.special for word in words)
    return "" if good else "expected the name of a file, without values"


BUILT_IN: Mapping[str, Callable[[Sequence[_Word]], str | None]] = {
    ":": _any, "true": _any, "false": _any, "echo": _any, "cd": _any, "pwd": _any,
    "printf": _printf, "test": _test, "[": _bracket, "export": _export, "read": _read,
    ".": _source, "source": _source, "trap": _trap,
    "exit": _only("[0-9]*", "a number"), "return": _only("[0-9]*", "a number"),
    "break": _only("", "nothing"), "continue": _only("", "nothing"), "wait": _only("", "nothing"),
    "exec": _only("", "a program"), "umask": _only("[0-7]+", "digits"),
    "ulimit": _only("-[A-Za-z]+ (?:[0-9]+|unlimited)", "a letter and a number"),
    "set": _only("(?:[-+][efuxo]+ ?|pipefail ?)+", "options alone"),
}  # fmt: skip
"""A command that may be built in, and what is wrong with its arguments; None: run the program of this name."""


def fill(text: str, append: bool) -> tuple[str, list[re.Match[str]]]:
    """Text for a shell in which variables stand in place of fields, and the fields: its parameters.

    Parameters
    ----------
    text : str
    append : bool
        It has no field: the value goes to its end.

    Raises
    ------
    ValueError
        What is not of the grammar, and how it can be written.
    """
    if append:
        first = _Reader(text)
        end = first.end()
        if end is None:
            first.refuse("say with {} where the value goes")
        elif first.comment > end:  # who wrote it may mean it to hide the value
            first.refuse(
                "a comment at the end; say with {} where the value goes, or # {} for nowhere"
            )
        text = f"{text[:end]} {{}}{text[end:]}"
    reader = _Reader(text)
    reader.end()
    values = "".join(f'malleable_{k}="${{{k}}}"; ' for k in range(1, len(reader.fields) + 1))
    return values + "".join(reader.out), reader.fields


class _Reader:
    """Reads a text from left to right and writes what a shell gets."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth, self.comment = text, 0, 0, -1
        self.out: list[str] = []
        self.fields: list[re.Match[str]] = []

    def end(self) -> int | None:
        """Reads all; where the words of the last command end, None: it has no end for another word."""
        return self.commands(())

    def refuse(self, why: str) -> NoReturn:
        raise ValueError(f"command: {why}; {HOW}")

    def unknown(self, what: str) -> NoReturn:
        self.refuse(
            f"{what} beside values: some shells would run what a value says, or read on otherwise"
        )

    def next(self, count: int = 1) -> str:
        return self.text[self.at : self.at + count]

    def take(self, count: int) -> None:
        self.out.append(self.next(count))
        self.at += count

    # Between words.

    def blanks(self) -> None:
        while True:
            if self.next() and self.next() in _BLANK:
                self.take(1)
            elif self.next(2) == "\\\n":
                self.out.append(" ")
                self.at += 2
            else:
                break
        if self.next() == "#":  # to the end of the line
            self.comment = self.at
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end

    def gaps(self) -> None:
        self.blanks()
        while self.next() == "\n":
            self.take(1)
            self.blanks()

    def reserved(self) -> str:
        """The reserved word that stands here, or nothing."""
        found = _RESERVED.match(self.text, self.at)
        return found[0] if found else ""

    def expect(self, word: str) -> None:
        if self.reserved() != word:
            near = self.text[self.at :].partition("\n")[0][:20]
            self.refuse(f"expected {word!r}, not {near!r}")
        self.take(len(word))

    # Commands.

    def commands(self, ends: Sequence[str]) -> int | None:
        """Commands until one of these words, which is left; where the last one ends if it is plain."""
        last: int | None = None
        self.depth += 1
        if self.depth > _DEEPEST:
            self.refuse(f"nested more than {_DEEPEST} deep")
        self.gaps()
        if self.over(ends):
            self.refuse("no command")
        while not self.over(ends):
            last = self.pipeline()
            self.blanks()
            if self.over(ends):
                break
            if self.next(2) in (";;", "|&", "&>", ";&") or self.next() not in (";", "&", "\n"):
                self.unknown(repr(self.next(2)))
            last = last if self.next() == "\n" else None
            self.take(1)
            self.gaps()
        self.depth -= 1
        return last

    def over(self, ends: Sequence[str]) -> bool:
        if not self.next():
            if ends:
                self.refuse(f"{ends[0]!r} is missing")
            return True
        return (self.next() == ")" and ")" in ends) or self.reserved() in ends

    def pipeline(self) -> int | None:
        joint = ""
        while True:
            if joint != "|" and self.reserved() == "!":
                self.take(1)
                self.blanks()
            last = self.command()
            self.blanks()
            joint = next((each for each in ("&&", "||", "|") if self.next(2).startswith(each)), "")
            if not joint or self.next(2) == "|&":
                return last
            self.take(len(joint))
            self.gaps()

    def command(self) -> int | None:
        word = self.reserved()
        if word == "{":
            self.take(1)
            self.until("}")
        elif word == "if":
            self.choice()
        elif word in ("while", "until"):
            self.take(5)
            self.until("do")
            self.until("done")
        elif word == "for":
            self.each()
        elif word:
            self.unknown(repr(word))
        elif self.next() == "(":
            if self.next(2) == "((":
                self.unknown("'(('")
            self.take(1)
            self.commands((")",))
            self.take(1)
        else:
            return self.simple()
        self.blanks()
        while self.redirection():
            self.blanks()
        return None

    def until(self, *ends: str) -> str:
        """Commands up to one of these words, which is taken."""
        self.commands(ends)
        end = self.reserved()
        self.take(len(end))
        return end

    def choice(self) -> None:
        word = "elif"
        self.take(2)
        while word == "elif":
            self.until("then")
            word = self.until("elif", "else", "fi")
        if word == "else":
            self.until("fi")

    def each(self) -> None:
        self.take(3)
        self.blanks()
        found = _NAME.match(self.text, self.at)
        name = _Word(0, found[0] if found else "")
        self.take(len(name.text))
        self.gaps()
        self.expect("in")
        self.blanks()
        words = []
        while self.next() and self.next() not in _ENDS:
            words.append(self.word())
            self.blanks()
        if not name.text or not all(word.literal for word in words):
            self.check("for", _name_of(name))
        if self.next() not in (";", "\n"):
            self.unknown(repr(self.next()))
        self.take(1)
        self.gaps()
        self.expect("do")
        self.until("done")

    def check(self, what: str, why: str) -> None:
        if why:
            self.refuse(f"{what}: {why}")

    def redirection(self) -> bool:
        found = _REDIRECTION.match(self.text, self.at)
        if not found:
            return False
        self.take(len(found[0]))
        if self.next() and self.next() in "<(&>|-":
            self.unknown(repr(found[0] + self.next()))
        self.blanks()
        if not self.next() or self.next() in _ENDS:
            self.refuse(f"{found[0]}: no file")
        word = self.word()
        if found[1] in (">&", "<&") and not re.fullmatch("[0-9]", word.text):
            self.unknown(f"{found[0]!r} without a digit")
        return True

    # One command.

    def simple(self) -> int:
        """Where its last word or redirection ends in the text."""
        assigned: list[_Word] = []
        words: list[_Word] = []
        end = self.at
        while True:
            if self.redirection():
                end = self.at
            elif not self.next() or self.next() in "|&;\n)":
                break
            else:
                if self.next() == "(":
                    self.unknown("'(' behind a word")
                name = None if words else _NAME.match(self.text, self.at)
                own = name is not None and self.text.startswith("=", name.end())
                (assigned if own else words).append(self.word())
                end = self.at
            self.blanks()
        if words:
            self.named(assigned, words)
        elif end == self.at and not assigned:
            self.unknown(repr(self.next()))
        for word in assigned:
            self.quote(word)
            if not words and not word.literal:
                self.check("variable", _name_of(word))
        return end

    def quote(self, word: _Word) -> None:
        """In double quotes what stands outside: it is not divided."""
        for first, last in word.bare:
            self.out[first] = '"' + self.out[first]
            self.out[last] += '"'

    def named(self, assigned: list[_Word], words: list[_Word]) -> None:
        """Refuses what could be evaluated; ``env`` before what could be built in."""
        behind_exec = words[0].text == "exec" and not words[0].quoted and len(words) > 1
        name, *rest = words[behind_exec:]
        filled = list(dropwhile(lambda word: word.literal, assigned))  # and what comes behind
        self.check(*code_in([name.text, *(word.text for word in rest)]))
        self.check_program(name)
        if "/" in name.text:  # no shell has a path built in
            self.quote(name)
            if filled and not name.literal:
                self.refuse("a variable before a program whose name is one, too")
        elif name is words[0] and self.is_built_in(name, rest, filled):
            return
        if "/" not in name.text and not filled:  # else it is there, or comes below
            self.out[name.at] = "env " + self.out[name.at]
        if filled:
            odd = any(word.special or word.braces for word in filled)
            if odd or name is not words[0]:
                self.refuse(f"{_shown(filled[0].text)}: beside exec, *, ?, [, ~ or braces")
            self.out[filled[0].at] = "env " + self.out[filled[0].at]

    def is_built_in(self, name: _Word, rest: list[_Word], before: list[_Word]) -> bool:
        """Whether what the shell has built in is run; then with good arguments, and no values before it."""
        if name.text not in BUILT_IN or name.quoted:
            return False
        why = BUILT_IN[name.text](rest)
        self.check(name.text, why or "")
        if why is not None and before:
            self.refuse(f"{_shown(before[0].text)} before {name.text}")
        return why is not None

    def check_program(self, name: _Word) -> None:
        """Refuses what is not surely the name of a program, or built in and harmless."""
        if name.text in _CODE:
            self.unknown(name.text)
        plain = _PATH if "/" in name.text else _PROGRAM
        known = name.text in BUILT_IN and not name.quoted
        if not known and (name.special or name.braces or not plain.fullmatch(name.text)):
            self.refuse(f"{_shown(name.text)} is no plain name of a program (./{{}} is one)")

    # Words.

    def word(self) -> _Word:
        found = _Word(len(self.out))
        began = self.at
        while self.next() and self.next() not in _ENDS:
            self.piece(found)
        raw = self.text[began : self.at]
        if raw in ("{", "}") or (self.next() in ("<", ">") and raw.isdigit()):
            self.unknown(repr(raw))
        if found.filled and (found.braces or (found.special and raw[0] == "~" and raw[1:2] != "/")):
            self.refuse(f"{_shown(found.text)}: braces or ~ beside a value; put them in quotes")
        if found.filled and "[" in raw and found.special:
            self.refuse(f"{_shown(found.text)}: [ beside a value; put it in quotes")
        return found

    def put(self, word: _Word, field: re.Match[str], how: str) -> None:
        """A field, or the text that two pairs of braces stand for."""
        self.at = field.end()
        if field[3]:
            self.out.append(field[3])
            word.text += field[3]
            word.braces |= how == '"{}"'
            return
        self.fields.append(field)
        self.out.append(how.format(f"${{malleable_{len(self.fields)}}}"))
        word.text += "0" if field[2] == "#" else "\0"
        word.filled = True

    def piece(self, word: _Word) -> None:
        char, found = self.next(), FIELD.match(self.text, self.at)
        if found:
            self.put(word, found, '"{}"')
        elif char == "'":
            self.single(word)
        elif char == '"':
            self.double(word)
        elif char == "\\":
            if self.next(2) in ("\\", "\\\n"):
                self.refuse("a backslash at the end of a word")
            word.quoted = True
            word.text += self.next(2)[1]
            self.take(2)
        elif char == "$":
            first = len(self.out)
            if self.dollar(word, " \t\n;|&)"):
                word.bare.append((first, len(self.out) - 1))
        else:
            self.plain(word, char)

    def plain(self, word: _Word, char: str) -> None:
        if char == "`":
            self.unknown("` (write $( ))")
        if char < " " or char == "\x7f":
            self.refuse(f"{char!r}, a control character")
        word.special |= char in "*?[]~"
        word.braces |= char in "{}"
        word.text += char
        self.take(1)

    def single(self, word: _Word) -> None:
        word.quoted = True
        self.take(1)
        while self.next() != "'":
            found = FIELD.match(self.text, self.at)
            if not self.next():
                self.refuse("a single quote that does not end")
            elif found:
                self.put(word, found, "'\"{}\"'")
            else:
                word.text += self.next()
                self.take(1)
        self.take(1)

    def double(self, word: _Word) -> None:
        word.quoted = True
        self.take(1)
        while self.next() != '"':
            char, found = self.next(), FIELD.match(self.text, self.at)
            if not char or self.next(2) == "\\":
                self.refuse("a double quote that does not end")
            elif found:
                self.put(word, found, "{}")
            elif char == "\\":
                if FIELD.match(self.text, self.at + 1):
                    self.refuse("a backslash before a field")
                word.text += self.next(2).lstrip("\\") or "\\"
                self.take(2)
            elif char == "$":
                self.dollar(word, '" \t\n')
            elif char == "`":
                self.unknown("` (write $( ))")
            else:
                word.text += char
                self.take(1)
        self.take(1)

    def dollar(self, word: _Word, ends: str) -> bool:
        """A variable, what a command prints, or a dollar; whether it is no dollar."""
        found = FIELD.match(self.text, self.at + 1)
        variable = _VARIABLE.match(self.text, self.at + 1)
        if found and not (found[3] and found[4] and not found[5]):
            self.refuse(
                f"$ before {found[0]}: write $name, or ${{{{name}}}} for a variable of the shell"
            )
        elif found:
            self.out.append(f"${found[3]}")
            self.at = found.end()
            word.text += "\0"
        elif self.next(2) == "$(":
            if self.next(3) == "$((":
                self.unknown("$((")
            self.take(2)
            self.commands((")",))
            self.take(1)
            word.text += "\0"
        elif variable:
            name = variable[1] or variable[2] or "_"
            word.text += "\1" if name.isupper() else "\0"
            self.take(1 + len(variable[0]))
        elif len(self.next(2)) < 2 or self.next(2)[1] in ends:
            word.text += "$"
            self.take(1)
            return False
        else:
            self.unknown(repr(self.next(2)))
        return True


def _shown(text: str) -> str:
    return repr(text.replace("\0", "{}").replace("\1", "$"))
