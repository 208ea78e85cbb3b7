"""Files of answers: what is read of them, what is named, and what survives."""

import gzip
import json

import pytest
from judge_behaviours import SOUND

from otel_raglog.checks.judge.answers_file import (
    RecordedAnswers,
    SpentTokens,
    append_answers,
    merged,
    read_answers,
    read_answers_file,
    write_answers,
)
from otel_raglog.errors import BadInput


def line(run_id, **more):
    return {"id": run_id, "verification": SOUND["verification"], **more}


def write(path, *lines):
    path.write_text("".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines))
    return path


def answers(run_id="r1", **more):
    return RecordedAnswers.model_validate(line(run_id, **more))


def test_lines_are_read_by_run(tmp_path):
    """With the model, the tokens and the cost; checks that were not asked are None."""
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    path = write(tmp_path / "a.jsonl", line("r1", model="m", usage=usage, cost_usd=0.5), line("r2"))
    found, problems = read_answers(path)
    assert (list(found), problems) == (["r1", "r2"], [])
    assert found["r1"].verification.any_fault == 3
    assert (found["r1"].model, found["r1"].usage.prompt_tokens, found["r1"].cost_usd) == ("m", 5, 0.5)  # fmt: skip
    assert found["r2"].answered == ("verification",)


@pytest.mark.parametrize("kind", ["array", "gzip", "byte order mark", "gzip members"])
def test_every_form_of_a_file_says_the_same(tmp_path, kind):
    """A JSON array, gzipped lines, lines with a mark before them, and lines gzipped one by one."""
    lines = [json.dumps(line("r1")), json.dumps(line("r2"))]
    content = {
        "array": f"[{','.join(lines)}]".encode(),
        "gzip": gzip.compress("\n".join(lines).encode()),
        "byte order mark": b"\xef\xbb\xbf" + "\r\n".join(lines).encode(),
        "gzip members": b"".join(gzip.compress(each.encode() + b"\n") for each in lines),
    }[kind]
    path = tmp_path / "answers"
    path.write_bytes(content)
    found, problems = read_answers(path)
    assert (list(found), problems) == (["r1", "r2"], [])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("{", "line 2: is no JSON object"),
        ("[1]", "line 2: is no JSON object"),
        ({"verification": SOUND["verification"]}, "line 2: id is missing"),
        ({"id": "r9"}, "line 2 of run 'r9': holds no answer to a check"),
        (
            {"id": "r9", "verification": {**SOUND["verification"], "any_fault": 101}},
            "line 2 of run 'r9': verification.any_fault must be 100 or less",
        ),
        (
            {"id": "r9", "evidence_flow": {"pieces": [], "refusal": False}},
            "line 2 of run 'r9': evidence_flow.unsupported_statements is missing",
        ),
        (
            '{"id": "r9", "statements": {"contradiction": NaN}}',
            "line 2 of run 'r9': statements.contradiction must be a whole number",
        ),
    ],
)
def test_a_malformed_line_is_named_and_left_out(tmp_path, wrong, words):
    """With file, line and field; the other lines are read."""
    path = write(tmp_path / "a.jsonl", line("r1"), wrong, line("r2"))
    found, (problem,) = read_answers(path)
    assert list(found) == ["r1", "r2"]
    assert problem.startswith(f"{path}, {words}")


def test_run_records_are_no_answers(tmp_path):
    """A file of runs in the place of the answers is not read as answers to nothing."""
    path = write(tmp_path / "runs.jsonl", {"id": "r1", "question": "Who?", "answer": "Ada."})
    found, problems = read_answers(path)
    assert (found, len(problems)) == ({}, 1)


def test_a_malformed_answer_is_not_quoted(tmp_path):
    """Answers may hold texts of the runs."""
    flow = {"pieces": [{"piece": "a secret", "passed": "so secret"}]}
    _, (problem,) = read_answers(write(tmp_path / "a.jsonl", {"id": "r1", "evidence_flow": flow}))
    assert "evidence_flow.pieces.0.passed must be 'yes', 'partly' or 'no'" in problem
    assert "secret" not in problem


def test_of_several_lines_of_a_run_the_last_counts(tmp_path):
    """And the earlier ones are named."""
    path = write(tmp_path / "a.jsonl", line("r1", model="a"), line("r2"), line("r1", model="b"))
    found, problems = read_answers(path)
    assert found["r1"].model == "b"
    assert problems == [f"{path}, line 1: replaced by a later line of the same run"]


@pytest.mark.parametrize("array", [False, True])
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"id": 17}, "id must be text"),
        ({"verification": {**SOUND["verification"], "any_fault": "80"}}, "any_fault must be a number"),
        ({"verification": {**SOUND["verification"], "any_fault": True}}, "any_fault must be a number"),
        ({"statements": {**SOUND["statements"], "hedged": "1"}}, "hedged must be a whole number"),
        ({"usage": {"prompt_tokens": "5"}}, "usage.prompt_tokens must be a whole number"),
        ({"cost_usd": "0.5"}, "cost_usd must be a number"),
    ],
)  # fmt: skip
def test_texts_are_no_numbers_and_numbers_no_texts(tmp_path, wrong, words, array):
    """Whoever wrote them meant something else; in lines and in an array."""
    path = tmp_path / "a.jsonl"
    write(path, json.dumps([line("r1") | wrong]) if array else line("r1") | wrong)
    found, (problem,) = read_answers(path)
    assert found == {}
    assert words in problem


def test_every_answer_is_read_as_it_is_written(tmp_path):
    """Lists, words of a choice, and whole numbers as confidences are what they were."""
    path = write(tmp_path / "a.jsonl", {"id": "r1", **SOUND})
    found, problems = read_answers(path)
    assert problems == []
    assert set(found["r1"].answered) == SOUND.keys()


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    """That names it."""
    with pytest.raises(BadInput, match=r"gone\.jsonl"):
        read_answers(tmp_path / "gone.jsonl")


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_what_is_written_is_what_is_read(tmp_path, name):
    """Whole at once or line by line, gzipped or not."""
    whole = answers("r1", model="m", usage={"prompt_tokens": 5}, cost_usd=0.25)
    write_answers(tmp_path / name, [whole, answers("r2")])
    append_answers(tmp_path / name, answers("r3"))
    found, problems = read_answers(tmp_path / name)
    assert problems == []
    assert list(found.values()) == [whole, answers("r2"), answers("r3")]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    """For both ways to write."""
    path = tmp_path / "gone" / "a.jsonl"
    for attempt in (lambda: write_answers(path, [answers()]), lambda: append_answers(path, answers())):  # fmt: skip
        with pytest.raises(BadInput, match="cannot be written"):
            attempt()


def test_a_last_line_that_ends_in_its_middle_is_told_apart(tmp_path):
    """An interrupted writer left it, where any other malformed line was somebody's mistake."""
    path = write(tmp_path / "a.jsonl", line("r1"))
    with path.open("a") as file:
        file.write(json.dumps(line("r2"))[:40])
    found = read_answers_file(path)
    assert (list(found.answers), found.problems) == (["r1"], [])
    assert found.torn == f"{path}, line 2: ends in its middle"
    assert read_answers(path)[1] == [found.torn]


def test_gzip_data_that_end_in_their_middle_are_read_so_far(tmp_path):
    """What was packed before is not lost."""
    path = tmp_path / "a.jsonl.gz"
    for number in range(3):
        append_answers(path, answers(f"r{number}"))
    path.write_bytes(path.read_bytes()[:-20])
    found = read_answers_file(path)
    assert list(found.answers)[:2] == ["r0", "r1"]
    assert found.torn is not None


def test_later_answers_win_and_others_stay():
    """Tokens and costs are added; the model is the later one's."""
    usage = SpentTokens(prompt_tokens=5, cache_read_tokens=1)
    old = answers(model="a", statements=SOUND["statements"], usage=usage, cost_usd=0.25)
    graver = {**SOUND["verification"], "any_fault": 80}
    new = answers(verification=graver, model="b", usage=usage, cost_usd=0.5)
    both = merged(old, new)
    assert both.answered == ("verification", "statements")
    assert (both.verification.any_fault, both.model, both.cost_usd) == (80, "b", 0.75)
    assert both.usage == SpentTokens(prompt_tokens=10, cache_read_tokens=2)
    assert merged(None, new) is new


def test_answers_without_a_model_are_not_put_under_the_name_of_another():
    """A line of which a part is of unknown origin names no model; one without such a part does."""
    old = answers(statements=SOUND["statements"])
    assert merged(old, answers(model="b")).model is None
    assert merged(answers(), answers(model="b")).model == "b"


def test_answers_of_which_none_is_left_cost_nothing_more():
    """So importing the same responses again changes nothing."""
    again = answers(usage=SpentTokens(prompt_tokens=5), cost_usd=0.25)
    assert merged(again, again) == again


def test_one_unknown_cost_makes_the_sum_unknown():
    """A part of a cost would read as the whole."""
    old = answers(cost_usd=0.25, statements=SOUND["statements"])
    assert merged(old, answers()).cost_usd is None
    unpriced = answers(statements=SOUND["statements"])
    assert merged(unpriced, answers(cost_usd=0.25)).cost_usd is None
