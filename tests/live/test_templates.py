"""Templates: what is filled in, what is refused, and that no shell runs a value."""

import os
import random
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from malleable.live.templates import Template

_SHELLS = {
    "sh": ["/bin/sh"],
    "dash": ["dash"],
    "bash": ["bash", "--posix"],
    "busybox": ["busybox", "sh"],
    "zsh": ["zsh", "--emulate", "sh"],
    "ksh": ["ksh"],
    "mksh": ["mksh"],
    "yash": ["yash", "--posixly-correct"],
}
SHELLS = {name: words for name, words in _SHELLS.items() if shutil.which(words[0])}
RUN = "touch ran"  # what no value may do
NASTY = [
    "a b",
    "'",
    '"',
    "it's",
    f"$({RUN})",
    f"`{RUN}`",
    f"; {RUN}",
    f"'; {RUN}; '",
    f'"; {RUN}; "',
    f"\n {RUN}\n",
    f"a[$({RUN})]",
    f"a[`{RUN}`]=1",
    f"$((a[$({RUN})]))",
    f"${{x[$({RUN})]}}",
    f") {RUN}; (",
    f"}}; {RUN}; {{",
    f"EOF\n{RUN}",
    f"-S{RUN}",
    f"*(e:{RUN}:)",
    "eval",
    "$HOME",
    "~",
    "~root/x",
    "\\",
    "\\n",
    "a\\",
    "*",
    "?",
    "[a-z]",
    "-n",
    "-v",
    "--",
    "\x1b[31m",
    "é",
    "\udcff\udc81\udc88",
    f"|{RUN}",
    f"&& {RUN}",
    "${1}",
    "{}",
    "{{}}",
    "",
    "=",
    "!",
    "(",
    "]",
    "#",
    "a\r",
]


@pytest.fixture
def place(tmp_path):
    """A folder where ``got`` writes down the arguments of each of its calls, and the calls since."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "got"
    program.write_text('#!/bin/sh\nprintf "%s\\0" "$#" "$@" >>"$GOT"\n')
    program.chmod(0o755)
    return Place(tmp_path)


class Place:
    def __init__(self, path: Path) -> None:
        self.path, self.work, self.calls = path, path / "work", path / "calls"
        self.environment = {
            "PATH": f"{path / 'bin'}:{os.environ['PATH']}",
            "GOT": str(self.calls),
            "HOME": "/nowhere",
            "LC_ALL": "C.UTF-8",
        }

    def run(self, shell, template, value, number=0):
        """Calls of ``got``, sorted, and what was printed; fails if a value was run."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        self.calls.write_bytes(b"")
        argv = template.arguments(value, number)
        if template.shell:
            argv = [*SHELLS[shell], *argv[1:]]
        done = subprocess.run(
            argv,
            capture_output=True,
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert not (self.work / "ran").exists(), (shell, argv)
        words = os.fsdecode(self.calls.read_bytes()).split("\0")
        found = []
        while len(words) > 1:
            count = int(words[0])
            found.append(words[1 : 1 + count])
            words = words[1 + count :]
        return sorted(found), done


EXAMPLES = int(os.environ.get("MALLEABLE_TEMPLATES", "12"))
PART = 9 if EXAMPLES < 100 else 1  # of the values that each shell and text gets, every so manieth

FOR_SHELL = [
    ("got {} | cat", [["{}"]]),
    ('got "{}" | cat', [["{}"]]),
    ("got '{}' 2>&1 | cat", [["{}"]]),
    ("got 'a {} b'\"c {} d\"e{}f | cat", [["a {} bc {} de{}f"]]),
    ("got x | got", [["x"], ["{}"]]),
    ('got "$(printf %s "{}"; printf x)"', [["{}x"]]),
    ("for i in 1 2; do got {} $i; done", [["{}", "1"], ["{}", "2"]]),
    ('for i in {} x; do got "$i"; done', [["{}"], ["x"]]),
    ("x={}; got \"$x\" '$x'", [["{}", "$x"]]),
    ("X={} Y=2 got {#}", [["1"]]),
    ("X={} sh -c 'got \"$X\"'", [["{}"]]),
    ('x={} && if [ {} = "$x" ]; then got {}; else got no; fi', [["{}"]]),
    ("while :; do got {}; break; done", [["{}"]]),
    ("got a # it's \"a $( comment\ngot {}", [["a"], ["{}"]]),
    ("got a \\\n  {} \\{\\} {{x}} {{}} a$ # `", [["a", "{}", "\1{}", "{x}", "\1{}", "a$"]]),
    ("(got {}; exit 1) || { got {}; }", [["{}"], ["{}"]]),
    ("sh -c 'got \"$1\"' sh {} && ! false", [["{}"]]),
    ("exec got {} >out <&0", [["{}"]]),
    ("got '' {} \"\"", [["", "{}", ""]]),
    ("set -e; umask 077; got *({}", None),
    ('mkdir "d {#}" && cd "d {#}" && got {}', [["{}"]]),
    ('[ -n "{}x" ] && [ ! -e /{#}/no ] && got {}', [["{}"]]),
    ("printf '%s\\n' {} | while read -r line; do got {}; break; done", [["{}"]]),
    ("test {} -gt 3; printf %d {}; printf -v {} x; test -v {}; [ {} -eq 1 ]; got {}", [["{}"]]),
    ("y={}; [ $y -gt 3 ] || [ -v $y ]; test $y; printf $y; got {}", [["{}"]]),
    ("gettext {}; eval2 {} || wait; sleep2 {}; kill2 {}; got {} &\nwait", [["{}"]]),
    ("kill {}; sleep {}; hash {}; type {}; print {}; whence -v {}; caller {}; got {}", [["{}"]]),
    ("x={}; got ${x:-b}${x%%c*} >/dev/null; got {}", None),
]


def test_here_are_shells():
    assert SHELLS


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("command", "expected"), FOR_SHELL)
def test_programs_get_values_as_they_are(command, expected, shell, place):
    try:
        template = Template(command)
    except ValueError:
        assert expected is None
        return
    values = [each for each in NASTY if shell != "yash" or each.isascii()]
    first = len(command + shell) % PART
    for value in values[first::PART]:
        found, _ = place.run(shell, template, value)
        if expected is not None:
            want = [
                [word.replace("{}", value).replace("\1" + value, "{}") for word in words]
                for words in expected
            ]
            assert found == sorted(want), (command, value)


def test_redirections_go_to_the_files_that_values_name(place):
    for shell in SHELLS:
        template = Template("printf %s {} > {/.}.out")
        place.run(shell, template, "some/it's $(touch ran).txt")
        file = place.work / "it's $(touch ran).out"
        assert file.read_text() == "some/it's $(touch ran).txt"


REFUSED = [
    "got $(( {} + 1 ))",
    'got "$(( $(got {}) + 1 ))"',
    "x={}; got $((x))",
    "(( {} > 3 ))",
    "[[ {} -gt 3 ]]",
    "let x={}",
    "got $[ {} ]",
    "for ((i={}; i<3; i++)); do got; done",
    "declare -i x={}; got",
    "typeset -i x; x={}",
    "got ${x[{}]}",
    "x={}; got ${!x}",
    "x={}; got $x[1]",
    "a[{}]=1",
    "x={}; $x",
    "{} > x",
    "eval {}",
    "'eval' {} | got",
    "ev\\al {} | got",
    'eval "got {}"',
    "builtin eval {}; got",
    "command eval {}; got",
    'sh -c "got {}"',
    "sh -c {}",
    "bash -lc 'got {}'",
    "sh -c + '{}'",
    "sh -c -e -- {}",
    "env {} got; got",
    "env -S{}",
    "env A=b nice -n 3 dash -c 'got {}' > x",
    "python3 -c 'print({})'",
    "perl -ne 'print {}' x",
    "awk -v x=1 '/{}/ {{ print }}' f",
    "sed s/a/{}/ f",
    "ssh -p 22 host ls {}",
    "cat <<EOF\n{}\nEOF",
    "cat <<EOF\nit's\nEOF\ngot {}",
    "cat <<< {}",
    "got `got {}`",
    "got <(got {})",
    "got {} |& got",
    "got {} &> x",
    "got {} | ! got",
    "got {} >& x",
    "trap 'got {}' EXIT; got",
    "f() { got {}; }; f",
    "case {} in a) got;; esac",
    "select x in {}; do got; done",
    "SECONDS={}; got",
    "for RANDOM in {}; do got; done",
    "read a[{}]",
    "export {}",
    "unset {}; got",
    "exit {}; got",
    "set -- {}; got",
    "set -- a; got {}",
    "got $1 {}; got",
    'got "$@" {}',
    ". {}; got",
    "alias a={}; a",
    "got {a,{}}; got",
    "got ~{}; got",
    "got [{}]; got",
    "{ echo } {}; got",
    "got '{}",
    'got "{}',
    "got {}; if",
    "if got; then got {}; done",
    "(got {}",
    "got {})",
    "got {};; got",
    "got $ {}' '$'{}'",
    "got ${}; got",
    "for i in 1 2; do got; done",
    "got a &",
    "got a #",
    "got > x;",
]


@pytest.mark.parametrize("command", REFUSED)
def test_what_shells_might_run_or_read_otherwise_is_refused(command):
    with pytest.raises(ValueError, match="^command: "):
        Template(command)


def test_without_values_a_text_is_as_it_is(place):
    text = "cat <<EOF\nit's $((1 + 1)) '{}'\nEOF\nf() { echo `echo $1`; }; f {#} # {#} don't"
    with pytest.raises(ValueError, match="no values"):
        Template(text, valued=False)
    template = Template(text.replace("{}", "{{}}"), valued=False)
    _, done = place.run("sh", template, None, 4)
    assert done.stdout == b"it's 2 '{}'\n5\n"
    awk = ["awk", "BEGIN { if (1) { print {#} }}"]
    assert place.run("sh", Template(awk, valued=False), None, 4)[1].stdout == b"5\n"


def test_a_list_is_as_it_is_but_no_code_is_made_of_values():
    assert Template(["sh", "-c", "{}"]).arguments("exit", 0) == ["sh", "-c", "exit"]
    assert Template(["sh", "-c", "x $1", "sh", "{}"]).arguments("a b", 0)[4] == "a b"
    assert Template(["awk", "{ print }"], valued=False).arguments(None, 0) == ["awk", "{ print }"]
    for words in (
        ["sh", "-c", "echo {}"],
        ["xargs", "sh", "-ec", "{} x"],
        ["/bin/sed", "-n", "{}p"],
    ):
        with pytest.raises(ValueError, match="would read a value as code"):
            Template(words)


def test_arguments_without_a_shell():
    assert Template("echo {}").arguments("$(echo no)", 0) == ["echo", "$(echo no)"]
    assert Template(" a\t--b={}  c%\xa0d ").arguments("1 2", 0) == ["a", "--b=1 2", "c%\xa0d"]
    assert Template("{} x").arguments("a b", 0) == ["a b", "x"]
    assert not Template("convert {} -resize 50% {.}.png").shell


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("{}", "d/e.f/g.tar.gz"),
        ("{.}", "d/e.f/g.tar"),
        ("{/}", "g.tar.gz"),
        ("{//}", "d/e.f"),
        ("{/.}", "g.tar"),
        ("{#}", "8"),
        ("{{}}", "{}"),
        ("{{#}}", "{#}"),
        ("{{{}}}", "{{}}"),
        ("}}{{", "}}{{"),
        ("<{/}:{#}>", "<g.tar.gz:8>"),
    ],
)
def test_fields(field, expected):
    assert Template(["echo", field]).arguments("d/e.f/g.tar.gz", 7)[1] == expected


def test_folder_of_a_file_in_the_root():
    assert Template(["echo", "{//}"]).arguments("/a", 0) == ["echo", "/"]
    assert Template(["echo", "{//}"]).arguments("a", 0) == ["echo", "."]


def test_a_value_without_a_field_goes_to_the_end(place):
    assert Template("echo x").arguments("a b", 0) == ["echo", "x", "a b"]
    assert Template("echo x", valued=False).arguments(None, 0) == ["echo", "x"]
    assert place.run("sh", Template("got a; got b > x"), "d", 0)[0] == [["a"], ["b", "d"]]
    assert place.run("sh", Template("(got a) # {}"), "d", 0)[0] == [["a"]]


def test_values_by_name():
    template = Template("run {size.} {#} {{x}}", ["size", "seed"])
    assert template.arguments({"size": "9.5", "seed": "1"}, 1) == ["run", "9", "2", "{x}"]
    shell = Template("run {size} | cat; echo ${{HOME}}", ["size"])
    assert "${HOME}" in shell.arguments({"size": "1"}, 1)[2]


@pytest.mark.parametrize(
    ("command", "names", "message"),
    [
        ("", (), "empty"),
        ([], (), "empty"),
        ("a\0", (), "NUL"),
        ("echo {sise}", ["size"], r"did you mean \{size\}"),
        ("echo {}", ["size"], "has no name"),
        ("echo {x}", (), r"\{x\} names no value.*\{\{x\}\} is the text \{x\}"),
        ("echo $(( {} + 1 ))", (), r"\$\(\(.*sh -c"),
        ("echo ${x}", ["x"], r"\$ before \{x\}"),
    ],
)
def test_what_is_refused(command, names, message):
    with pytest.raises(ValueError, match=message):
        Template(command, names)


class Composed:
    """A random text of the grammar, and the calls of ``got`` that it means."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.calls: list[list[str]] = []
        self.depth = 0
        self.calls.append(["{}"])
        self.text = f"got {{}}; {self.commands(1)}"

    def some(self, *choices):
        return self.draw.choice(choices)

    def word(self) -> tuple[str, str]:
        """A word as it is written, and what it means, fields left."""
        text, means = "", ""
        for _ in range(self.draw.randint(1, 3)):
            piece = self.some("{}", "{.}", "{/}", "{#}", "b", "-x", "é", "+=")
            extra = self.some("", "", " ", "it", ";|&", "(#)")
            kind = self.draw.randrange(4 if extra else 5)
            if kind == 0:
                text, means = f"{text}'{piece}{extra}'", means + piece + extra
            elif kind == 1:
                text, means = f'{text}"{extra}{piece}"', means + extra + piece
            elif kind == 2 and extra.isalpha():
                text, means = f'{text}"$(printf %s {piece}{extra})"', means + piece + extra
            elif kind == 3 and extra:
                text, means = text + shlex.quote(extra) + piece, means + extra + piece
            else:
                text, means = text + piece, means + piece
        return text, means

    def got(self, times: int, piped: bool = False) -> str:
        words = [self.word() for _ in range(self.draw.randint(1, 3))]
        self.calls += [[means for _, means in words]] * times
        prefix = self.some("", "", "env ", "X={} ", *["! "] * (not piped))
        suffix = self.some(
            "", "", " >out", " 2>/dev/null", " </dev/null", " >> '{#} {/.}'", " 2>&1"
        )
        suffix = "" if "{/.}" in suffix else suffix
        return f"{prefix}got {' '.join(text for text, _ in words)}{suffix}"

    def command(self, times: int) -> str:
        self.depth += 1
        kind = self.draw.randrange(10) if self.depth < 5 else 0
        if kind == 1:
            return f"({self.commands(times)})"
        if kind == 2:
            return f"{{ {self.commands(times)}; }}"
        if kind == 3:
            return f"for i in 1 {{}} 'a b'; do {self.commands(3 * times)}; done"
        if kind == 4:
            return f"if [ {{}}x = {{}}x ]; then {self.commands(times)}; else got no; fi"
        if kind == 5:
            return f"{self.got(times)} | {self.got(times, True)}"
        if kind == 6:
            text, means = self.word()
            self.calls += [[means]] * times
            return f'v={text}; got "$v"'
        if kind == 7:
            return f"while true; do {self.commands(times)}; break; done"
        return self.got(times)

    def commands(self, times: int) -> str:
        text = self.command(times)
        for _ in range(self.draw.randrange(3)):
            text += self.some("; ", "\n", " # it's {} \"`\n") + self.command(times)
        return text


VALUES = st.one_of(
    st.sampled_from(NASTY),
    st.lists(st.sampled_from([*NASTY, "a", ".", "/", " "]), max_size=4).map("".join),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=st.integers(0, 2**32), value=VALUES)
def test_random_templates_hand_values_over_byte_for_byte(seed, value, tmp_path_factory):
    composed = Composed(random.Random(seed))
    template = Template(composed.text)
    place = Place.__new__(Place)
    folder = _folder(tmp_path_factory)
    place.__init__(folder)

    def means(word):
        return Template(["got", word]).arguments(value, 0)[1]

    expected = sorted([means(word) for word in call] for call in composed.calls)
    for shell in SHELLS:
        if shell == "yash" and not value.isascii():
            continue  # it knows text alone
        assert place.run(shell, template, value)[0] == expected, shell


_known: list[Path] = []


def _folder(factory):
    if not _known:
        path = factory.mktemp("templates")
        (path / "bin").mkdir()
        program = path / "bin" / "got"
        program.write_text('#!/bin/sh\nprintf "%s\\0" "$#" "$@" >>"$GOT"\n')
        program.chmod(0o755)
        _known.append(path)
    return _known[0]
