"""Programs that read an argument as code: a value within such an argument would be run.

A value is always one argument of a program, or a part of one. What the program does with the argument is the
program's. This refuses the best-known cases: shells and languages with ``-c`` or ``-e``, awk, sed, ssh; alone,
or behind a program that starts others (``env``, ``xargs``, ``sudo`` ...).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class _Program(NamedTuple):
    """How a program takes code: behind these letters, or as its first word; letters that take a word."""

    code: str = ""
    words: str = ""
    first: bool = False
    rest: bool = False  # all behind the first word


_SHELL = _Program("c", "oO")
_AWK = _Program("e", "vFfi", first=True)
_SED = _Program("e", "fl", first=True)
_REMOTE = _Program("", "BbcDEeFIiJLlmOopQRSWw", rest=True)
_ENV = _Program("S", "uC", first=True)
_KNOWN = {
    "env": _ENV,
    **dict.fromkeys(("sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "yash", "fish", "csh", "tcsh"), _SHELL),
    **dict.fromkeys(("su", "runuser"), _Program("c", "gGsw")),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK),
    **dict.fromkeys(("sed", "gsed"), _SED),
    **dict.fromkeys(("ssh", "rsh"), _REMOTE),
    "python": _Program("c", "WXm"), "pypy": _Program("c", "WXm"), "perl": _Program("eE", "I"),
    "ruby": _Program("e", "rI"), "node": _Program("ep", "r"), "php": _Program("r", "dc"),
    "lua": _Program("e", "l"), "Rscript": _Program("e"), "R": _Program("e"), "julia": _Program("eE"),
    "watch": _Program("", "n", first=True, rest=True),
}  # fmt: skip
_STARTERS = frozenset((
    "chroot", "chrt", "command", "env", "exec", "find", "flock", "ionice", "mpiexec", "mpirun", "nice",
    "nohup", "numactl", "parallel", "setsid", "srun", "stdbuf", "strace", "sudo", "taskset", "time", "timeout",
    "unshare", "xargs",
))  # fmt: skip
_LONG = re.compile(r"--(?:command|eval|expression|execute|source)(=.*)?", re.DOTALL)


def _base(word: str) -> str:
    return re.sub(r"[0-9.]+$", "", word.rpartition("/")[2])


def code_in(words: Sequence[str], whole: bool = False) -> tuple[str, str]:
    """The program that would read a value as code, and what to do; two empty texts if none is known.

    Parameters
    ----------
    words : sequence of str
        A program and its arguments, NUL where a value stands.
    whole : bool
        An argument that is a value and nothing else is meant to be code.
    """
    if not any("\0" in word for word in words):
        return "", ""
    last = len(words) if _base(words[0]) in _STARTERS else 1
    for k in range(last):
        program = _KNOWN.get(_base(words[k]))
        if program is None:
            continue
        bad = [word for word in _code(program, words[k + 1 :]) if "\0" in word]
        if bad and not (whole and all(word == "\0" for word in bad)):
            return _base(words[k]), "would read a value as code of its own"
    return "", ""


def _code(program: _Program, words: Sequence[str]) -> list[str]:
    """Arguments that are code."""
    found: list[str] = []
    first, k = program.first, 0
    while k < len(words):
        word = words[k]
        k += 1
        long = _LONG.fullmatch(word)
        if long and program.code:
            found.append(word if long[1] else "".join(words[k : k + 1]))
            return found
        if word.startswith("--") and len(word) > 2:
            continue
        if word.startswith(("-", "+")) and len(word) > 1 and word != "--":
            letters = word[1:]
            at = next((n for n, letter in enumerate(letters) if letter in program.code), -1)
            takes = next((n for n, letter in enumerate(letters) if letter in program.words), -1)
            if at >= 0 and (takes < 0 or at < takes):
                found.append(word)
                odd = program is _SHELL and words[k : k + 1] and words[k][:1] in ("-", "+")
                if odd:  # options behind it: the code is further on
                    found += words[k:]
                elif program is _SHELL or at == len(letters) - 1:
                    found += words[k : k + 1]
                if program in (_AWK, _SED):
                    first = False
                    continue
                return found
            if takes == len(letters) - 1:
                first = first and letters[takes] != "f"
                k += 1
            continue
        if program is _ENV and re.match(r"\w+=", word):
            continue
        if program.rest:
            return [*found, *([word] if first else []), *words[k:]]
        return [*found, word] if first else found
    return found
