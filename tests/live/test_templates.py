"""Templates: what is filled in, and that no value is ever run."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malleable.live.templates import Template

NASTY = [
    "a b",
    "'",
    '"',
    "it's",
    "$(touch ran)",
    "`touch ran`",
    "; touch ran",
    "\n touch ran",
    "$HOME",
    "\\",
    "*",
    "-n",
    "\x1b[31m",
    "é",
    "|touch ran",
    "&& touch ran",
    "${1}",
    "{}",
    "",
]
FOR_SHELL = [
    "printf '%s' {} | cat",
    "printf '%s' \"{}\" | cat",
    "printf '%s' '{}' | cat",
    'printf "%s" "$(printf "%s" "{}"; printf x)" | sed \'$ s/x$//\'',
    "printf '%s' >/dev/null; printf %s {}",
]


def output(command, value, folder):
    done = subprocess.run(
        Template(command).arguments(value, 0), capture_output=True, cwd=folder, check=True
    )
    return done.stdout.decode()


@pytest.mark.parametrize("command", FOR_SHELL)
def test_no_value_is_run(command, tmp_path):
    for value in NASTY:
        assert output(command, value, tmp_path).removesuffix("\n") == value.removesuffix("\n")
    assert list(tmp_path.iterdir()) == []


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_values_are_parameters_of_the_shell_or_arguments(value):
    shell = Template("x={}; echo $x").arguments(value, 0)
    assert shell[-1] == value
    assert shell[:-1] == ["/bin/sh", "-c", 'x="${1}"; echo $x', "sh"]
    assert Template(["echo", "{}"]).arguments(value, 0) == ["echo", value]
    assert Template("echo {}").arguments(value, 0) == ["echo", value]


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
        ("<{/}:{#}>", "<g.tar.gz:8>"),
    ],
)
def test_fields(field, expected):
    assert Template(["echo", field]).arguments("d/e.f/g.tar.gz", 7)[1] == expected


def test_a_value_without_a_field_goes_to_the_end():
    assert Template("echo x").arguments("a b", 0) == ["echo", "x", "a b"]
    assert Template("echo x").arguments(None, 0) == ["echo", "x"]


def test_arithmetic_ends_where_it_ends(tmp_path):
    assert output("echo $(( 1 + 1 )) {}", "$(echo no)", tmp_path) == "2 $(echo no)\n"


def test_values_by_name():
    template = Template("run {size.} {#} {{x}}", ["size", "seed"])
    assert template.arguments({"size": "9.5", "seed": "1"}, 1) == ["run", "9", "2", "{x}"]


@pytest.mark.parametrize(
    ("command", "names", "message"),
    [
        ("", (), "empty"),
        ([], (), "empty"),
        ("a\0", (), "NUL"),
        ("echo {sise}", ["size"], r"did you mean \{size\}"),
        ("echo {}", ["size"], "has no name"),
        ("echo {x}", (), r"\{x\} names no value"),
        ("echo $(( {} + 1 ))", (), r"within \$\(\( \)\)"),
        ('echo "$(( $(echo {}) + 1 ))"', (), "may run what a value says"),
    ],
)
def test_what_is_refused(command, names, message):
    with pytest.raises(ValueError, match=message):
        Template(command, names)
