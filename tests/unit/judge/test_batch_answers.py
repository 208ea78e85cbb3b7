"""Responses to answers: whose they are, what fails, what they cost."""

import json

import pytest
from judge_behaviours import SOUND

from otel_raglog.checks.judge.registry import JUDGE_CHECKS
from otel_raglog.checks.judge.view import view_of
from otel_raglog.judge.batch import custom_ids
from otel_raglog.judge.batch_answers import (
    expected_requests,
    import_responses,
    recorded,
)
from otel_raglog.judge.batch_responses import BatchResponse, UnreadableLine
from otel_raglog.judge.client import Reply, Usage
from otel_raglog.mapping.record import run_from_record

RECORD = {
    "question": "How many days?",
    "rewrites": ["days how many"],
    "retrieved": [{"id": "d", "text": "There are 25 days."}],
    "prompt": "There are 25 days.",
    "answer": "25.",
}
VIEWS = {
    "r1": view_of(run_from_record({**RECORD, "id": "r1"})),
    "r2": view_of(run_from_record({**RECORD, "id": "r2", "rewrites": None})),
}
IDS = {run_id: custom_ids(run_id, view, JUDGE_CHECKS) for run_id, view in VIEWS.items()}
EXPECTED = {
    request_id: expected
    for run_id, view in VIEWS.items()
    for request_id, expected in expected_requests(run_id, JUDGE_CHECKS, view).items()
}


def price(model, usage):
    return None if model == "own" else usage.total / 100


def response(run_id="r1", key="verification", text=None, model="m", failure="", complete=True):
    content = json.dumps(SOUND[key]) if text is None else text
    reply = None if failure else Reply(content, Usage(8, 2), complete)
    return BatchResponse("file, line 1", IDS[run_id][key], reply, model, failure)


def imported(*responses, model="m"):
    return import_responses(responses, EXPECTED, price, model)


def test_answers_are_gathered_by_run():
    """Whatever order the responses come in."""
    keys = [check.key for check in JUDGE_CHECKS]
    found = imported(*(response(run, key) for key in reversed(keys) for run in ("r2", "r1")))
    assert found.problems == []
    assert {run: each.answered for run, each in found.answers.items()} == {
        "r1": tuple(keys),
        "r2": tuple(keys),
    }
    assert found.answers["r1"].statements.model_dump() == SOUND["statements"]


def test_grades_of_stages_that_could_not_be_graded_are_dropped():
    """As they are online."""
    found = imported(response("r1", "graded_stage"), response("r2", "graded_stage"))
    assert found.answers["r1"].graded_stage.rewriter is not None
    assert found.answers["r2"].graded_stage.rewriter is None


@pytest.mark.parametrize(
    ("each", "words"),
    [
        (response(failure="expired"), "'r1', judge.verification: expired"),
        (response(complete=False), "cut_off"),
        (response(text='{"any_fault": 200}'), "malformed: "),
        (response(text=" " * 100_000), "too_large"),
        (BatchResponse("file, line 1", "x" * 500), f"'{'x' * 80}' is no request"),
        (UnreadableLine("file, line 1", "is no JSON"), "is no JSON"),
    ],
)
def test_each_response_without_an_answer_is_named(each, words):
    """With its file and line, its run and check; the others count."""
    found = imported(each, response("r2"))
    (problem,) = found.problems
    assert problem.startswith("file, line 1: ")
    assert words in problem
    assert list(found.answers) == ["r2"]
    assert found.failed + found.unknown + found.unreadable == 1


def test_nothing_of_a_malformed_reply_is_told():
    """It may quote the run."""
    found = imported(response(text='{"any_fault": "a secret", "secret": 1}'))
    assert "secret" not in found.problems[0]


def test_a_later_answer_replaces_an_earlier_one():
    """But a later failure does not."""
    graver = json.dumps({**SOUND["verification"], "any_fault": 80})
    found = imported(response(), response(text=graver), response(failure="expired"))
    assert found.answers["r1"].verification.any_fault == 80
    assert found.problems == []
    assert len(found.replaced) == 1


def test_every_reply_has_its_price_and_half_of_it_in_a_batch():
    """Also those that were malformed or replaced."""
    found = imported(response(), response(), response(key="statements", text="?"), response("r2"))
    assert found.usage == Usage(32, 8)
    assert found.cost_usd == pytest.approx(0.2)
    assert found.answers["r1"].cost_usd == pytest.approx(0.15)
    assert found.answers["r1"].usage.prompt_tokens == 24


def test_an_unknown_price_makes_the_cost_unknown():
    """Of the run, and of all."""
    priced = {"m-20261001": 1.0}
    responses = [response(model="m-20261001"), response("r2", model="m")]
    found = import_responses(responses, EXPECTED, lambda model, _: priced.get(model), "m")
    assert (found.cost_usd, found.answers["r2"].cost_usd) == (None, None)
    assert found.answers["r1"].cost_usd == pytest.approx(0.5)


def test_a_dated_model_is_recorded_by_the_name_it_is_known_by():
    """So is one that the provider does not name."""
    found = imported(response(model="m-20261001"), response("r2", model=None))
    assert (found.answers["r1"].model, found.answers["r2"].model) == ("m", "m")
    assert found.problems == []


@pytest.mark.parametrize("last", [False, True])
def test_answers_of_another_model_are_refused_one_by_one(last):
    """A run has those of the one model alone, in whatever order they come; what they cost counts."""
    other = response(key="statements", model="m-8")
    found = imported(*([response(), other] if last else [other, response()]))
    (problem,) = found.problems
    assert problem.startswith("file, line 1: run 'r1', judge.statements: ")
    assert "by 'm-8', not by 'm'" in problem
    assert (found.other_model, found.failed) == (1, 0)
    assert (found.answers["r1"].model, found.answers["r1"].answered) == ("m", ("verification",))
    assert found.usage == Usage(16, 4)


def test_an_answer_of_another_model_replaces_none():
    """Nor is it hidden by the one that counts."""
    graver = json.dumps({**SOUND["verification"], "any_fault": 80})
    found = imported(response(), response(text=graver, model="m-8"))
    assert found.answers["r1"].verification.any_fault == SOUND["verification"]["any_fault"]
    assert (found.replaced, found.other_model) == ([], 1)


def test_the_model_of_a_reply_without_an_answer_is_of_no_matter():
    """It is named for what is wrong with it; the run's other answers keep their model."""
    found = imported(response(), response(key="statements", text="?", model="m-8"))
    assert (found.other_model, found.failed) == (0, 1)
    assert "malformed" in found.problems[0]
    assert found.answers["r1"].model == "m"


@pytest.mark.parametrize(
    "shown",
    [
        {**RECORD, "answer": "30."},
        {**RECORD, "question": "How many [redacted]?"},
        {**RECORD, "retrieved": []},
    ],
)
def test_an_answer_about_other_texts_is_about_no_run_here(shown):
    """Though the run has the same id: another answer, another redaction, fewer chunks."""
    expected = expected_requests("r1", JUDGE_CHECKS, view_of(run_from_record({**shown, "id": "r1"})))  # fmt: skip
    found = import_responses([response()], expected, price, "m")
    assert (found.answers, found.unknown) == ({}, 1)


def test_a_line_needs_an_answer():
    """A run about which nothing was answered has none."""
    with pytest.raises(ValueError, match="holds no answer"):
        recorded("r1", "m", {"verification": None}, Usage(), None)
