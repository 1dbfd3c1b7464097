"""The prose checker finds sentences that readers had to read twice, and passes plain ones."""

import pytest

prose = pytest.importorskip("tests.prose", reason="needs proselint, of malleable[dev]")
RULES = prose.checks()

FAILED = {
    "then the mean of those that have": "those that",
    "what it answers for the others is what a policy does": "what ... is",
    "It counts. Who takes p for too low loses little.": "who",
    "for whomever it may concern, for who needs one": "who",
    "can meet a total flow time just if the numbers can": "just if",
    "others should not suffer from what befell it": "befell",
    "Tasks of some milliseconds are replaced beforehand.": "beforehand",
    "It is no secret of the policy.": "secret",
    "Only if somebody kills it may something stay.": "inverted",
    "Ctrl-C kills. So is everything else.": "inverted",
    "What stands behind it is for sbatch.": "what ... is",
    "Of two jobs the smaller goes first.": "of ...",
    "`seconds` need not be said": "need not",
    "Where nobody waits, slots idle.": "where, if",
    "What lies behind a call goes back.": "what does",
    "The run ends, and so does its lease.": "and so is",
    "Nothing is held, nor cancelled.": "nor",
    "All figures but for the last are means.": "but for",
    "No value is seen, so nobody gets it.": "nobody",
    "The order is taken anew.": "anew",
    "It is infinite whatever the weight.": "whatever",
    "A table is given as it stands.": "as it stands",
    " ".join(["word"] * 46): "long",
}


@pytest.mark.parametrize(("text", "rule"), FAILED.items())
def test_a_sentence_that_failed_is_found(text, rule):
    assert rule in [found for _, found, _, _ in prose.faults(text, RULES)]


def test_plain_sentences_pass():
    text = (
        "If you know the sizes, take `flex`. Who uses it? The table says what each job gets. "
        "What follows from it? Go to the page that says where tasks run, and what starts next."
    )
    assert not list(prose.faults(text, RULES))


def test_code_is_not_read_and_lines_are_right():
    text = "Plain.\n\n```sh\necho shall\n```\n\nA `shall` in code, and\nwe shall see.\n"
    assert [(line, rule) for line, rule, _, _ in prose.faults(text, RULES)] == [(8, "shall")]


@pytest.mark.parametrize(
    "code",
    ["// Whoever waits has none.\n// It is free.\n", "int free;  // nobody has it\n"],
)
def test_comments_keep_the_rules_alone_on_a_line_and_behind_code(code):
    ((_, text),) = prose.comments(code, "//")
    assert list(prose.faults(text, RULES))


def test_docstrings_of_private_functions_are_read_too():
    source = '"""It runs."""\n\ndef _look():\n    """We shall see."""\n'
    assert [text for _, text in prose.docstrings(source)] == ["It runs.", "We shall see."]
