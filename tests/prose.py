"""The prose checker of `make lint`: ``python -m tests.prose`` reads pages, docstrings and comments.

Rules of our own (`OWN`), each with what to write instead, and rules of proselint about plain words. A page
is read without its code: blocks are left out, spans are one word.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from proselint.registry.checks import Check, CheckResult

import malleable

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md", "fuzz/README.md"]
START = r"(?:(?<=[.:;!?] )|(?<=^)|(?<=\*\* )|(?<=\| ))"
# Verbs behind a subject that begins with 'What': "What lies behind a call goes back".
DOES = (
    "goes|go|survives|counts|corrects|waits|stays|starts|begins|ends|follows|decides|says|becomes"
)
OWN = {
    "who": (
        rf"{START}(?i:who|whoever)\b(?![^.;|]*\?)|\b(?:for|of|by|to) (?:whoever|whomever|who)\b",
        "say 'If you ...', or name the person",
    ),
    "just if": (r"\bjust (?:if|when)\b", "say 'if and only if'"),
    "shall": (r"\bshall\b", "say 'must' or 'will'"),
    "those that": (r"\b[Tt]hose (?:that|who|which)\b", "repeat the noun"),
    "what ... is": (
        rf"{START}What (?:[\w'-]+ ){{1,9}}(?:is|are)\b|\b[Ww]hat (?:[\w']+ ){{1,8}}is what\b",
        "begin with the subject",
    ),
    "of ...": (rf"{START}Of (?!course)", "begin with the subject"),
    "inverted": (
        rf"{START}(?:So|Nor|Neither) (?:is|are|does|do|has|have|was|were)\b"
        rf"|{START}Only (?:if|when|where)\b[^.;,]*,? (?:may|can|does|do|is|are) ",
        "begin with the subject",
    ),
    "befell": (r"\bbef[ea]ll\b", "say 'happened'"),
    "beforehand": (r"\bbeforehand\b", "say 'early' or 'before ...'"),
    "in the mean": (r"\bin the mean\b", "say 'on average'"),
    "all else": (r"\b[Aa]ll else\b", "say 'everything else'"),
    "one's own": (r"\bone's own\b|\bof one's\b", "say 'your own'"),
    "to be had": (r"\b(?:to|can|may) be had\b", "say 'there is'"),
    "need not": (r"\bneed not be\b", "say 'you need not ...'"),
    "it is ... that": (rf"{START}It is (?:\w+ ){{1,4}}that\b", "begin with the subject"),
    "as ever": (r"\bas ever\b", "say 'as without ...'"),
    "turned round": (r"\bturns? (?:that|it) round\b", "say 'reverses'"),
    "secret": (r"\bno secret\b", "say it at the head"),
    "where, if": (rf"{START}Where\b[^.;|?\n]*, ", "say 'If ...'"),
    "what does": (
        rf"{START}What (?!is returned)(?:\w+ )+?(?:{DOES})\b(?![^.;|\n]*\?)",
        "name the thing, and begin with it",
    ),
    "and so is": (r", and so (?:is|are|was|were|does|do|did|has|have)\b", "say '..., too'"),
    "nor": (r"[,;] nor\b", "say 'and ... not'"),
    "but for": (r"\bbut for\b", "say 'except for'"),
    "nobody": (r"\b[Nn]obody\b", "say 'no job', 'no user' ..."),
    "anew": (r"\banew\b", "say 'again' or 'new'"),
    "whatever": (r"\b[Ww]hatever\b", "say 'any' or 'every'"),
    "as it stands": (r"\bas (?:it|they) stands?\b", "say 'unchanged'"),
}
THEIRS = (
    "archaism", "malapropisms", "mixed_metaphors", "nonwords", "misc.illogic",
    "misc.latin", "misc.suddenly", "redundancy.ras_syndrome", "hedging",
)  # fmt: skip
LONGEST = 45  # words of a sentence


def _own(path: str, pattern: str, instead: str) -> Check:
    def find(text: str, check: Check) -> Iterator[CheckResult]:
        for match in re.finditer(pattern, text, re.MULTILINE):
            yield CheckResult(path, instead, match.span(), None)

    return Check(check_type=find, path=path, message=instead)


def _long(text: str, check: Check) -> Iterator[CheckResult]:
    for match in re.finditer(r"[^.:;?!|\n]+", text):
        if len(re.findall(r"[A-Za-z']+", match[0])) > LONGEST:
            yield CheckResult(
                "long", f"more than {LONGEST} words: one idea a sentence", match.span(), None
            )


def checks() -> list[Check]:
    """All rules. O(1)."""
    found = [_own(name, *rule) for name, rule in OWN.items()]
    found.append(Check(check_type=_long, path="long"))
    for name in THEIRS:
        found += import_module(f"proselint.checks.{name}").__register__
    return found


def prose(markdown: str) -> str:
    """The text of a page as long as the page, line by line; code is blank, a paragraph is one line."""
    text = re.sub(
        r"^```.*?^```$|^~~~.*?^~~~$|^:::.*?^:::$|<!--.*?-->", _blank, markdown, flags=re.M | re.S
    )
    text = re.sub(r"^(?: {4,}|\t).*(?:[│┌└←→]).*$", _blank, text, flags=re.M)
    text = re.sub(
        r"``[^`\n]*``|`[^`]*`", lambda span: "X" + re.sub(r"[^\n]", "x", span[0][1:]), text
    )
    text = re.sub(r"\]\([^)\s]*\)", lambda link: "]" + " " * (len(link[0]) - 1), text)
    return re.sub(r"(?<=[^\n|])\n(?=[^\n|#>*-])", " ", text)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """First line and text of every docstring, without examples."""
    tree = ast.parse(source)
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            if text := ast.get_docstring(node, clean=False):
                yield node.body[0].lineno, text.partition("Examples\n")[0]
            waiting += reversed(node.body)


def comments(source: str, mark: str) -> Iterator[tuple[int, str]]:
    """First line and text of each block of comment lines, and of each comment behind code, after ``mark``."""
    for found in re.finditer(
        rf"(?:^[ \t]*{mark} .*\n)+|(?<=\S  ){mark} .*\n", source, re.MULTILINE
    ):
        lines = re.sub(rf"^[ \t]*{mark} ", "", found[0], flags=re.MULTILINE)
        yield source.count("\n", 0, found.start()) + 1, lines


def source_faults() -> Iterator[str]:
    """What comments of the package and the core, and docstrings that are no reference, say against `OWN`."""
    rules = [_own(name, *rule) for name, rule in OWN.items()]
    reference = public_files()
    for folder, suffixes, mark in (("src", (".py",), "#"), ("cpp", (".hpp", ".cpp", ".h"), "//")):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in suffixes:
                source = path.read_text(encoding="utf-8")
                internal = path.suffix == ".py" and path not in reference
                said = docstrings(source) if internal else ()
                for first, text in (*comments(source, mark), *said):
                    for line, rule, words, advice in faults(text, rules):
                        shown = path.relative_to(ROOT)
                        yield f"{shown}:{first + line - 1}: {rule}: {words[:60]!r}: {advice}"


def public_files() -> list[Path]:
    """Files of the public names: what their docstrings say is the reference."""
    homes = {getattr(malleable, name).__module__ for name in malleable.__all__ if name != "engines"}
    return [Path(import_module(home).__file__ or "") for home in homes]


def faults(text: str, rules: list[Check]) -> Iterator[tuple[int, str, str, str]]:
    """Line, rule, words and advice, by line."""
    read = prose(text)
    found = []
    for rule in rules:
        for result in rule.check(read):
            start, end = result.span
            line = text.count("\n", 0, start) + 1
            found.append((line, result.check_path, read[start:end].strip(), result.message))
    yield from sorted(set(found))


def main() -> int:
    """1 if anything is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    asked = parser.parse_args()
    rules, count = checks(), 0
    pages = [path for each in PAGES for path in ROOT.glob(each)]
    made = [path for path in pages if path.name == "rivals.md" or "made" in path.parts]
    paths = asked.files or sorted({*pages, *public_files()} - {*made})
    for path in paths:
        text = path.read_text(encoding="utf-8")
        parts = docstrings(text) if path.suffix == ".py" else [(1, text)]
        for first, part in parts:
            for line, rule, words, advice in faults(part, rules):
                if (
                    rule == "long" and path.suffix == ".py"
                ):  # sections of a docstring have no full stops
                    continue
                count += 1
                shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
                print(f"{shown}:{first + line - 1}: {rule}: {words[:60]!r}: {advice}")
    for fault in () if asked.files else source_faults():
        count += 1
        print(fault)
    print(f"{count} found" if count else "Nothing found.")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
