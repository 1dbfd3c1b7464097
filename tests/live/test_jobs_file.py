"""Files of jobs: what they may say, and how errors are told."""

import pytest

from malleable.live.jobs_file import (
    Matrix,
    check_fits,
    parse_jobs,
    read_rows,
    recalled,
    recorded,
)


def one(**row):
    return {"name": "a", "command": "echo", **row}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "nothing to run"),
        ([one(wieght=1)], r"job\[0\]\.wieght: unknown; did you mean 'weight'"),
        ([one(weight=-1)], r"job\[0\]\.weight = -1"),
        ([one(), one()], r"job\[1\]\.name = 'a': job\[0\] has it, too"),
        ([one(after=["b"]), {"name": "bb", "command": "x"}], "no job is called 'b'; did you mean"),
        ([one(after=["b"]), {"name": "b", "command": "x", "after": ["a"]}], "wait for each other"),
        ([one(after=["a"])], "a wait for each other"),
        ([{"name": "a"}], "needs either command or commands"),
        ([one(commands=["x"])], "needs either"),
        ([one(over={"rnage": 3})], "rnage: unknown; .*did you mean 'range'"),
        ([one(over={"range": "x-3"})], r"over\.range = 'x-3'"),
        ([one(over={"range": [1, 5, 0]})], "step must not be 0"),
        ([one(over={"files": "*.none"})], "no file matches"),
        ([one(min_slots=3, max_slots=2)], "min_slots = 3: above max_slots = 2"),
        ([one(max_slots=0)], "max_slots"),
        ([one(retries=-1)], "retries"),
        ([one(timeout=1e13)], "to 1e12 seconds"),
        ([one(environment={"A=": "b"})], "not a variable's name"),
        ([one(name="")], "name: empty"),
        ([one(command="echo {x}")], r"job\[0\]\.command: \{x\} names no value"),
        ([one(over={"range": 10**8 + 1})], "100,000,001 tasks"),
        ([one(memory="3 parrots")], r"job\[0\]\.memory"),
        ([one(memory=-1)], r"job\[0\]\.memory = -1"),
        ([3], r"job\[0\] = 3: expected a table"),
    ],
)
def test_what_is_refused(rows, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        parse_jobs(rows, tmp_path)


def test_values_of_every_kind(tmp_path):
    for name in ("b x.fa", "a.fa"):
        (tmp_path / name).touch()
    (tmp_path / "lines.txt").write_text("one\r\ntwo words\n\nlast")

    def values(over):
        return list(parse_jobs([one(over=over)], tmp_path)[0].values)

    assert values({"files": "*.fa"}) == ["a.fa", "b x.fa"]
    assert values({"lines": "lines.txt"}) == ["one", "two words", "", "last"]
    assert values({"range": [3, 5]}) == [3, 4, 5]
    assert values({"range": [5, 1, -2]}) == [5, 3, 1]
    assert values(["x", 2]) == ["x", "2"]


def test_a_matrix_has_all_combinations():
    matrix = Matrix({"a": ["1", "2"], "b": range(3)})
    assert len(matrix) == 6
    assert matrix[0] == {"a": "1", "b": "0"}
    assert matrix[4] == {"a": "2", "b": "1"}
    with pytest.raises(IndexError):
        matrix[6]


def test_a_file(tmp_path):
    path = tmp_path / "jobs.toml"
    path.write_text('[[job]]\nname = "x"\ncommand = "echo {n}"\nover.matrix.n = {range = 3}\n')
    (job,) = parse_jobs(read_rows(path), tmp_path)
    assert [job.arguments(k) for k in range(3)] == [["echo", str(k)] for k in (1, 2, 3)]
    assert job.folder == f"{tmp_path}"
    wrong = {"[job]\n": "two brackets", "[[jbo]]\n": "did you mean 'job'", "=": "not a TOML file"}
    for text, message in wrong.items():
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_rows(path)


def test_memory_of_a_task():
    jobs = parse_jobs([one(memory="2G"), one(name="b", memory=5)])
    assert [job.memory for job in jobs] == [2 << 30, 5.0]
    check_fits(jobs, 1, {"memory": float(2 << 30)})
    with pytest.raises(
        ValueError, match=r"job\[0\]\.memory = 2,147,483,648: there are 1,000 bytes"
    ):
        check_fits(jobs, 1, {"memory": 1000.0})


def test_whole_commands_are_one_text_and_offsets():
    text = "echo a\0\0".removesuffix("\0") + "printf 'b\n'\0é 😀"
    (job,) = parse_jobs([{"name": "j", "commands": text}])
    assert list(job.commands) == ["echo a", "printf 'b\n'", "é 😀"] == text.split("\0")
    assert (len(job), job.commands[-1], job.arguments(1)[2]) == (3, "é 😀", "printf 'b\n'")
    for bad in ("", "a\0\0b", "a\0 \t", "\0a"):
        with pytest.raises(ValueError, match="empty"):
            parse_jobs([{"name": "j", "commands": bad}])
    (again,) = recalled(recorded([job], [{"name": "j", "commands": text}]))
    assert list(again.commands) == list(job.commands)
