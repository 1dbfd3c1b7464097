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
        argv = template.arguments(value, number)
        if template.shell:
            argv = [*SHELLS[shell], *argv[1:]]
        return self.words(argv)

    def words(self, argv):
        """The same of any program."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        self.calls.write_bytes(b"")
        done = subprocess.run(
            argv,
            capture_output=True,
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert not (self.work / "ran").exists(), argv
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
    ("got 'a b'\"c {} d\"e{}f | cat", [["a bc {} de{}f"]]),
    ("got x | got", [["x"], ["{}"]]),
    ('got "$1" ${1:+b}c $(printf a) | cat', None),
    ('got "$1" $(printf a) "`printf \'$1\'`" | cat', [["{}", "a", "$1"]]),
    ('f() { got "$@"; }; f "$1"', [["{}"]]),
    ("for i in 1 2; do got {} $i; done", [["{}", "1"], ["{}", "2"]]),
    ('for i in {} x; do got "$i"; done', [["{}"], ["x"]]),
    ("x={}; got \"$x\" '$x' '$1'", [["{}", "$x", "$1"]]),
    ("X={} Y=2 got {#}", [["1"]]),
    ("X={} sh -c 'got \"$X\"'", [["{}"]]),
    ('x={} && if [ {}x = "${x}x" ]; then got {}; else got no; fi', [["{}"]]),
    ("case {}x in x) got 1;; *) got {};; esac | cat", None),
    ("while :; do got {}; break; done", [["{}"]]),
    ("got a # it's \"a $( comment {}\ngot {}", [["a"], ["{}"]]),
    ("got a \\\n  {} \\{\\} {{x}} {{}} a$ # `", [["a", "{}", "\1{}", "{x}", "\1{}", "a$"]]),
    ('got a#{} \\"{} "\\"{}" "\\\\{}" "\\{}"|cat', [["a#{}", '"{}', '"{}', "\\{}", "\\{}"]]),
    ("(got {}; exit 1) || { got {}; }", [["{}"], ["{}"]]),
    ("sh -c 'got \"$1\"' sh {} && ! false", [["{}"]]),
    ("exec got {} >out <&0", [["{}"]]),
    ("got '' {} \"\"", [["", "{}", ""]]),
    ("set -e; umask 077; got {}", [["{}"]]),
    ('mkdir "d {#}" && cd "d {#}" && got {}', [["{}"]]),
    ('[ -n "{}x" ] && [ ! -e /{#}/no ] && got {}', [["{}"]]),
    ("printf '%s\\n' {} | while read -r line; do got {}; break; done", [["{}"]]),
    ("x={}; got ${x:-b}${x%%c*} >/dev/null; got {}", None),
    ('got ~{} $HOME{} "$HOME{}" $x{}x$', None),
    ("got {1} {a,b} | cat", None),
]


def test_here_are_shells():
    assert SHELLS


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("command", "expected"), FOR_SHELL)
def test_programs_get_values_as_they_are_through_real_shells(command, expected, shell, place):
    template = Template(command)
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
    'got "$(printf %s {})"',
    'got "$(printf %s "{}")"',
    "got `printf %s {}`",
    'got "`printf %s {}`"',
    "got \"{} $(echo 'a b')\"",
    "got $(echo it) {/} {.}",
    "(( {} > 3 ))",
    "if [[ {} = a ]]; then got; fi",
    "got $[ {} ]",
    "got ${x[{}]}",
    "for ((i={}; i<3; i++)); do got; done",
    "eval {}",
    'x=1; eval "got {}"',
    "f() { got {}; }; f x",
    "set -- a; got {}",
    "set -e -- a; got {.}",
    "got 1; shift; got {}",
    "cat <<EOF\n{}\nEOF",
    "cat <<EOF\nit's\nEOF\ngot {}",
    "got '{}' | cat",
    "got 'a {} b'c | cat",
    "sh -c 'got {}'",
    "bash -ec 'got \"{} {}\" {/}' > x",
    "awk -v x=1 '/{}/ {{ print }}' f",
    "got $'{}'",
    "got '{}",
    'got "{}',
    "got {} ${}",
    "for i in 1 2; do got; done",
    "got a &",
    "got a #",
    "got > x\n",
    "got > x \\",
    "got $(date)",
]


@pytest.mark.parametrize("command", REFUSED)
def test_where_a_shell_might_not_put_the_value_alone_it_is_refused(command):
    with pytest.raises(ValueError, match="^command: "):
        Template(command)


def test_the_error_says_how_to_hand_the_value_over(place):
    with pytest.raises(ValueError, match="single quotes") as error:
        Template("got 'a {} b' | cat")
    recipe = str(error.value).partition("; write ")[2].partition(", in which")[0]
    assert recipe == """sh -c 'COMMAND "$1"' sh {}"""
    for value in NASTY:
        found, _ = place.run("sh", Template(recipe.replace("COMMAND", "got $(echo it)")), value)
        assert found == [["it", value]]


def test_values_by_name_are_variables_of_the_shell(place):
    template = Template('got "$size" ${seed}x {size} "$#"', ["size", "seed"])
    for value in NASTY:
        values = {"size": value, "seed": "7"}
        assert place.run("sh", template, values)[0] == [[value, "7x", value, "2"]]
    names = [f"n{k}" for k in range(12)]
    many = Template("got {n11} $n10 {n9.} | cat", names)
    values = {name: f"{name}.x" for name in names}
    assert place.run("sh", many, values)[0] == [["n11.x", "n10.x", "n9"]]
    with pytest.raises(ValueError, match=r"\$THREADS: .* write \{THREADS\}"):
        Template("got $THREADS | cat", ["THREADS"])
    assert place.run("sh", Template("T={THREADS} got | cat", ["THREADS"]), {"THREADS": "2"})[0] == [
        []
    ]


def test_without_values_a_text_is_as_it_is(place):
    text = "cat <<EOF\nit's $((1 + 1)) '{}'\nEOF\nf() { echo `echo $1`; }; f 5 # don't"
    with pytest.raises(ValueError, match="no values"):
        Template(text, valued=False)
    template = Template(text.replace("{}", "{{}}"), valued=False)
    _, done = place.run("sh", template, None, 4)
    assert done.stdout == b"it's 2 '{}'\n5\n"
    awk = ["awk", "BEGIN { if (1) { print {#} }}"]
    assert place.run("sh", Template(awk, valued=False), None, 4)[1].stdout == b"5\n"
    assert place.run("sh", Template("got {#} | cat", valued=False), None, 4)[0] == [["5"]]


def test_a_list_is_as_it_is():
    assert Template(["sh", "-c", "{}"]).arguments("exit", 0) == ["sh", "-c", "exit"]
    assert Template(["sh", "-c", "x $1", "sh", "{}"]).arguments("a b", 0)[4] == "a b"
    assert Template(["awk", "{ print }"], valued=False).arguments(None, 0) == ["awk", "{ print }"]
    assert Template(["sed", "-n", "{}p"]).arguments("3", 0) == ["sed", "-n", "3p"]


def test_a_shell_reads_back_what_is_shown(place):
    """What people are shown is the text that was written, and does the same if it is pasted."""
    for k, (text, expected) in enumerate(FOR_SHELL):
        if expected is None or "exec" in text:
            continue
        template = Template(text)
        for value in NASTY[k % PART :: PART]:
            line = template.shown(value, 0)
            assert line.isprintable()
            found, _ = place.run("sh", template, value)
            assert place.words(["bash", "-c", line])[0] == found, line
    assert Template("got '' {} | cat").shown("a b", 0) == "got '' 'a b' | cat"
    assert Template('got "x {} {/}" | cat').shown("d/a'b", 0) == """got "x d/a'b a'b" | cat"""
    assert Template("got $1 | cat").shown("a b", 0) == "set -- 'a b'; got $1 | cat"
    named = Template("got $size {seed} | cat", ["size", "seed"])
    assert named.shown({"size": "a b", "seed": "2"}, 0) == "size='a b'; got $size 2 | cat"
    assert Template("test -s {}").shown("caf\udce9.txt", 0) == r"test -s $'caf\xe9.txt'"


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
    assert place.run("sh", Template("got '$1' | got '{1}'"), "d", 0)[0] == [["$1"], ["{1}", "d"]]


def test_values_by_name():
    template = Template("run {size.} {#} {{x}}", ["size", "seed"])
    assert template.arguments({"size": "9.5", "seed": "1"}, 1) == ["run", "9", "2", "{x}"]
    shell = Template("run {size} | cat; echo ${HOME}", ["size"])
    assert shell.arguments({"size": "1"}, 1)[2:] == ['run "$1" | cat; echo ${HOME}', "sh", "1"]


@pytest.mark.parametrize(
    ("command", "names", "message"),
    [
        ("", (), "empty"),
        ([], (), "empty"),
        ("a\0", (), "NUL"),
        ("echo {sise}", ["size"], "did you mean 'size'"),
        ("echo {}", ["size"], "has no name"),
        ("echo {x}", (), r"\{x\} names no value.*\{\{x\}\} is the text \{x\}"),
        ("echo ${/}", (), r"\$\{/\}: a field has no dollar; write \{/\}"),
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
            kind = self.draw.randrange(3 if extra else 4)
            if kind == 0:
                text, means = f"{text}'b{extra}'", f"{means}b{extra}"
            elif kind == 1:
                text, means = f'{text}"{extra}{piece}"', means + extra + piece
            elif kind == 2 and extra:
                text, means = text + shlex.quote(extra) + piece, means + extra + piece
            else:
                text, means = text + piece, means + piece
        return text, means

    def got(self, times: int, piped: bool = False) -> str:
        words = [self.word() for _ in range(self.draw.randint(1, 3))]
        self.calls += [[means for _, means in words]] * times
        prefix = self.some("", "", "env ", "X={} ", *["! "] * (not piped))
        suffix = self.some("", "", " >out", " 2>/dev/null", " </dev/null", ' >> "{#} x"', " 2>&1")
        return f"{prefix}got {' '.join(text for text, _ in words)}{suffix}"

    def command(self, times: int) -> str:
        self.depth += 1
        kind = self.draw.randrange(10) if self.depth < 5 else 0
        if kind == 1:
            return f"( {self.commands(times)})"
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
