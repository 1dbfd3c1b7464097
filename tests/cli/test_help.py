"""What ``--help`` says of every argument: what it does, and what holds without it."""

import argparse

import pytest

from malleable.cli.arguments import build_parser

# Without these nothing is written, drawn or set; `--help` need not say that.
ONLY_IF_GIVEN = (
    *("write ", "draw ", "read ", "run a grid ", "run one job ", "generate ", "measure nothing"),
    *("set an option", "an option of", "instead of --slots", "if all jobs", "govern only"),
    *("with --as-operator", "scale capacities", "nodes of the cluster", "capacity ("),
)


def _commands():
    (commands,) = (
        each
        for each in build_parser(whole=True)._actions
        if isinstance(each, argparse._SubParsersAction)
    )
    return commands.choices


COMMANDS = _commands()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_says_what_it_does(name):
    for each in COMMANDS[name]._actions:
        if each.help is not argparse.SUPPRESS:
            told = each.help or ""
            assert told, each.dest
            assert not told.startswith(("of ", "that ", "and ", "its ")), f"{each.dest}: {told}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_with_a_value_says_what_holds_without_it(name):
    for each in COMMANDS[name]._actions:
        if each.option_strings and each.nargs != 0 and each.help is not argparse.SUPPRESS:
            told = each.help or ""
            assert "default" in told or told.startswith(ONLY_IF_GIVEN), f"{each.dest}: {told}"
