"""Responses to answers: whose they are, what fails, what they cost."""

import json

import pytest
from judge_behaviours import SOUND

from otel_raglog.checks.judge.registry import JUDGE_CHECKS
from otel_raglog.judge.batch import custom_id
from otel_raglog.judge.batch_answers import (
    expected_requests,
    import_responses,
    is_version_of,
    recorded,
)
from otel_raglog.judge.batch_responses import BatchResponse, UnreadableLine
from otel_raglog.judge.client import Reply, Usage
from otel_raglog.model import Stage

STAGES = frozenset(Stage) - {Stage.ASSEMBLY}
EXPECTED = expected_requests("r1", JUDGE_CHECKS, STAGES) | expected_requests(
    "r2", JUDGE_CHECKS, STAGES - {Stage.REWRITER}
)


def price(model, usage):
    return None if model == "own" else usage.total / 100


def response(run_id="r1", key="verification", text=None, model="m", failure="", complete=True):
    content = json.dumps(SOUND[key]) if text is None else text
    reply = None if failure else Reply(content, Usage(8, 2), complete)
    return BatchResponse("file, line 1", custom_id(run_id, key), reply, model, failure)


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
    found = imported(response(), response("r2", model="own"))
    assert (found.cost_usd, found.answers["r2"].cost_usd) == (None, None)
    assert found.answers["r1"].cost_usd == pytest.approx(0.05)


def test_a_dated_model_is_recorded_by_the_name_it_is_known_by():
    """Any other model by its own."""
    found = imported(response(model="m-20261001"), response("r2", model="m-mini"))
    assert (found.answers["r1"].model, found.answers["r2"].model) == ("m", "m-mini")
    assert found.models == {"m", "m-mini"}


@pytest.mark.parametrize(
    ("told", "is_one"),
    [
        ("gpt-5", True),
        ("gpt-5-2025-08-07", True),
        ("gpt-5-20250807", True),
        ("gpt-5-mini", False),
        ("gpt-5-mini-2025-08-07", False),
        ("gpt-5-", False),
        ("gpt-51", False),
        ("gpt", False),
    ],
)
def test_versions_of_a_model_have_a_date(told, is_one):
    """And nothing else after its name."""
    assert is_version_of(told, "gpt-5") is is_one


def test_a_line_needs_an_answer():
    """A run about which nothing was answered has none."""
    with pytest.raises(ValueError, match="holds no answer"):
        recorded("r1", "m", {"verification": None}, Usage(), None)
