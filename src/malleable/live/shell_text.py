"""Text for a shell with fields: places for values. Each value becomes a parameter of ``sh -c``, which no shell
reads as text. This knows words, quotes and comments, and nothing else of a shell. So callers refuse a field
beside anything that changes how shells read the rest (*odd* parts), and a field within single quotes.
O(characters)."""

from __future__ import annotations

import re
from collections.abc import Callable


def _field(name: str) -> re.Pattern[str]:
    inner = rf"({name})?(//|/\.|/|\.|#)?"
    return re.compile(rf"(?<!\$)(?:\{{{inner}\}}|\{{(\{{{inner}\}})\}})")


# A field ``{name how}``: groups 1 and 2; ``how`` takes a part of the value, such as ``/`` its file name. In two
# braces it is text (group 3). ``${name}`` is no field.
FIELD = _field("[A-Za-z_][A-Za-z0-9_]*")
# The same for values of a table's columns, which have numbers, too.
OF_COLUMNS = _field("[A-Za-z_][A-Za-z0-9_]*|[1-9][0-9]{0,3}")

_ODD = r"`|\$\(|\$\[|\$\{[^{}]*(?=\{)"
_WORD = r"[\w./,:=+@-]+"
_VARIABLE = r"\$(?:\{#?)?(?P<variable>[A-Za-z_][A-Za-z0-9_]*|[0-9@*])"
# how to read on, by the quotes around
_QUOTES = {
    "": re.compile(
        rf"(?P<odd>{_ODD}|\(\(|\([ \t]*\)|<<|\$(?='))|(?P<space>[\s;&|()<>])|{_VARIABLE}"
        rf"|(?P<quote>['\"])|\\.|{_WORD}|.",
        re.DOTALL,
    ),
    '"': re.compile(
        rf"(?P<odd>{_ODD})|{_VARIABLE}|(?P<quote>\")|\\[$`\"\\\n]|(?P<slash>\\)|{_WORD}|.",
        re.DOTALL,
    ),
    "'": re.compile(r"(?P<quote>')|[^'{]+|.", re.DOTALL),
}
_FIRST = re.compile(  # first character of a word
    r"(?P<comment>#[^\n]*)|(?P<odd>(?:eval|shift|function|\[\[)(?![^\s;&|()<>])"
    r"|set(?=[ \t]+[^-+\s]|[ \t][^;&|\n]*--))"
)
# an end after which another word would not belong to the last command
_CLOSED = re.compile(r"(?:[;&|()<>\n\\]|(?<![^\s;&|()])(?:done|esac|fi|\}))\s*\Z")


class ShellText:
    """A text, divided at its fields.

    Attributes
    ----------
    parts : list
        Texts, and fields with the quotes around them: empty, ``"`` or ``'``.
    odd : str
        The first part that changes how shells read the rest; empty: none.
    quote : str
        The quotes that do not end.
    variables : set of str
        Names and numbers after a dollar, outside single quotes.
    open : bool
        Whether another word at its end would belong to its last command.
    commented : bool
        Whether it has a comment.
    """

    def __init__(self, text: str, fields: re.Pattern[str] = FIELD) -> None:
        self.parts: list[str | tuple[re.Match[str], str]] = []
        self.odd, self.quote, self.commented = "", "", False
        self.variables: set[str] = set()
        self._around: list[str] = []  # quotes around each open parenthesis
        self._back: str | None = None  # quotes around an open backquote
        # `_first`: whether a word begins here; `kind` of the piece that was read last
        self._first, kind, at = True, None, 0
        while at < len(text):
            field = fields.match(text, at)
            first = not field and not self.quote and self._first and _FIRST.match(text, at)
            found = field or first or _QUOTES[self.quote].match(text, at)
            assert found
            at, kind = found.end(), None if field else found.lastgroup
            if field:
                self.parts.append(field[3] or (field, self.quote))
                self._first = False
            else:
                self._piece(found, kind)
        self.open = not self.quote and kind != "comment" and not _CLOSED.search(text)

    def _piece(self, found: re.Match[str], kind: str | None) -> None:
        piece = found[0]
        self.parts.append(piece + "\\" * (kind == "slash"))
        self._first = kind == "space" or (self._first and piece == "\\\n")
        self.commented |= kind == "comment"
        if kind == "quote":
            self.quote = "" if self.quote else piece
        elif kind == "variable":
            self.variables.add(found["variable"])
        elif kind in ("odd", "space"):
            self.odd = self.odd or piece * (kind == "odd")
            self._nest(piece)

    def _nest(self, piece: str) -> None:
        if piece == "`":
            self.quote, self._back = ("", self.quote) if self._back is None else (self._back, None)
        for sign in piece:
            if sign == "(":
                self._around.append(self.quote)
                self.quote = ""
            elif sign == ")" and self._around:
                self.quote = self._around.pop()

    @property
    def whole(self) -> bool:
        """Whether it may stand in parentheses: no comment, quote or backslash would swallow the closing one."""
        return not (self.commented or self.quote or self.parts[-1:] == ["\\"])

    @property
    def fields(self) -> list[tuple[re.Match[str], str]]:
        return [part for part in self.parts if isinstance(part, tuple)]

    def filled(self, put: Callable[[re.Match[str], str], str]) -> str:
        # The text with ``put(field, quotes)`` in place of each field.
        return "".join(part if isinstance(part, str) else put(*part) for part in self.parts)


def quoted(word: str) -> str:
    """A word quoted for a shell, on one line; with ``$'...'`` if it is not UTF-8, or has control characters."""
    if word.isprintable():
        import shlex  # used only for display

        return shlex.quote(word).replace("'\"'\"'", "'\\''")
    return "$'" + "".join(map(_escaped, word)) + "'"


def _escaped(char: str) -> str:
    if char.isprintable():
        return f"\\{char}" if char in "'\\" else char
    errors = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return "".join(f"\\x{byte:02x}" for byte in char.encode(errors=errors))
