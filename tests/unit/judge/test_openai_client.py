"""The chat API as servers differ in it; what all clients share is in tests/contract."""

import math
import threading
import typing
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from judge_behaviours import Behaviour, fails, first_tokens, says
from judge_server import JudgeServer
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter

from otel_raglog.checks.judge.answers import EvidenceFlow, GradedStage, Statements
from otel_raglog.errors import Rejected, Unavailable
from otel_raglog.judge.client import Ask, Question
from otel_raglog.judge.clients import build_client
from otel_raglog.judge.openai_client import chat_body

ASK = Ask("You judge.", "The run.", "statements", Statements.model_json_schema(), max_tokens=700)
QUESTION = Question("Answer with one word, yes or no.", "Is the sky green?")


@pytest.fixture
def server():
    with JudgeServer() as running:
        yield running


@pytest.fixture
def client(server):
    made = build_client(
        "openai",
        "m",
        endpoint=server.url_openai,
        key=None,
        max_reply_bytes=100_000,
        connections=5,
    )
    yield made
    made.close()


# -------------------------------------------------------------------------------- requests


@pytest.mark.parametrize("answer", [GradedStage, EvidenceFlow, Statements])
@pytest.mark.parametrize(
    "refused", [(), ("json_schema",), ("json_schema", "json_object", "max_tokens", "temperature")]
)
def test_a_body_is_one_of_the_sdks_own_type(answer, refused):
    """Checked as the type of the SDK says, for each form of schema and each way to put it."""
    body = chat_body("m", Ask("s", "p", "a", answer.model_json_schema()), refused)
    assert set(body) <= set(typing.get_type_hints(CompletionCreateParamsNonStreaming))
    TypeAdapter(CompletionCreateParamsNonStreaming).validate_python(body)


def test_a_request_asks_for_json_of_the_schema_without_chance(client, server):
    """Strictly, at temperature 0, with the limit on tokens."""
    client.ask(ASK, 5)
    body = server.requests[0].body
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"] == {
        "name": "statements",
        "schema": dict(ASK.schema),
        "strict": True,
    }
    assert (body["temperature"], body["max_tokens"]) == (0, 700)
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert not {"tools", "max_completion_tokens", "reasoning_effort", "store"} & set(body)


def test_a_server_without_schemas_is_asked_for_json_and_told_the_schema(client, server):
    """Once refused, never sent again."""
    server.refused_parameters.add("json_schema")
    assert Statements.model_validate_json(client.ask(ASK, 5).text)
    assert Statements.model_validate_json(client.ask(ASK, 5).text)
    kinds = [item.body["response_format"]["type"] for item in server.requests]
    assert kinds == ["json_schema", "json_object", "json_object"]
    assert '"unsupported_fact"' in server.requests[1].system
    assert server.requests[1].system.startswith("You judge.")
    assert '"unsupported_fact"' not in server.requests[0].system


def test_a_server_without_json_is_asked_for_text(client, server):
    """With the schema in the prompt."""
    server.refused_parameters |= {"json_schema", "json_object"}
    assert Statements.model_validate_json(client.ask(ASK, 5).text)
    client.ask(ASK, 5)
    assert server.count() == 4
    assert "response_format" not in server.requests[3].body
    assert '"unsupported_fact"' in server.requests[3].system


def test_a_model_that_reasons_is_given_room_for_it(client, server):
    """It takes max_completion_tokens, with its thoughts in it, and no temperature."""
    server.refused_parameters |= {"max_tokens", "temperature"}
    assert client.ask(ASK, 5).complete
    body = server.requests[-1].body
    assert (body["max_completion_tokens"], body["reasoning_effort"]) == (4_700, "low")
    assert not {"max_tokens", "temperature"} & set(body)
    assert server.count() == 3


def test_a_model_that_cannot_reason_little_is_not_asked_to(client, server):
    """The last of what can be left out."""
    server.refused_parameters |= {"max_tokens", "reasoning_effort"}
    assert client.ask(ASK, 5).complete
    assert "reasoning_effort" not in server.requests[-1].body


def test_calls_at_once_find_out_together(client, server):
    """What one learns is not forgotten for what another learns."""
    server.refused_parameters |= {"json_schema", "max_tokens", "temperature"}
    barrier = threading.Barrier(5)

    def ask(_):
        barrier.wait(10)
        return client.ask(ASK, 10)

    with ThreadPoolExecutor(5) as pool:
        assert all(reply.complete for reply in pool.map(ask, range(5)))
    sent = server.count()
    client.ask(ASK, 5)
    assert server.count() == sent + 1


def test_what_one_call_learns_is_kept_when_another_learns_something_else_later(client, server):
    """The later one was sent before the earlier one was answered."""
    held, release = threading.Event(), threading.Event()

    def answer(request):
        if request.prompt == "late" and "temperature" in request.body:
            held.set()
            release.wait(10)
            return fails(400, message="temperature is not supported")
        kind = request.body["response_format"]["type"]
        early = request.prompt == "early" and kind == "json_schema"
        return fails(400, message="response_format is not supported") if early else None

    server.answer = answer
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(client.ask, replace(ASK, prompt="late"), 10)
        assert held.wait(10)
        client.ask(replace(ASK, prompt="early"), 10)
        release.set()
        assert late.result().complete
    assert server.requests[-1].prompt == "late"
    assert server.requests[-1].body["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    "message",
    [
        "'max_tokens' or 'max_completion_tokens' is too large: 700. The maximum context length is 512",
        "Your account is not active.",
    ],
)
def test_a_bad_request_that_no_other_form_mends_is_rejected(client, server, message):
    """Too long a prompt is none of the server's dislikes."""
    server.script(fails(400, message=message))
    with pytest.raises(Rejected) as caught:
        client.ask(ASK, 5)
    assert caught.value.reason == "bad_request"
    assert server.count() == 1
    client.ask(ASK, 5)
    assert "max_tokens" in server.requests[-1].body


def test_all_forms_together_have_the_time_of_one_call(client, server):
    """Each refusal takes 0.3 s here; the second one does not fit."""
    refusal = Behaviour(status=400, message="response_format is not supported", delay=0.3)
    server.script(refusal, refusal, refusal)
    with pytest.raises(Unavailable, match="no whole reply"):
        client.ask(ASK, 0.5)


# --------------------------------------------------------------------------------- replies


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('<think>\nyes, {"b": 2}\n</think>\n\n{"a": 1}', '{"a": 1}'),
        ('Let me see.\n</think>\n{"a": 1}', '{"a": 1}'),
        ('{"a": "</think>"}', '{"a": "</think>"}'),
        ("<think>\nnever ends", ""),
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('<think></think>\n```\n{"a": 1}\n```\n', '{"a": 1}'),
        ("no JSON", "no JSON"),
    ],
)
def test_thoughts_and_fences_are_no_part_of_the_answer(client, server, said, text):
    """Local models write both."""
    server.script(says(said))
    assert client.ask(ASK, 5).text == text


def test_a_server_that_counts_no_tokens_is_read_all_the_same(client, server):
    """Then none are known."""
    server.script(Behaviour(raw=b'{"choices": [{"message": {"content": "{}"}}], "usage": null}'))
    reply = client.ask(ASK, 5)
    assert (reply.text, reply.usage.total, reply.complete) == ("{}", 0, True)


def test_an_answer_that_a_filter_stopped_is_refused(client, server):
    """As if the model had declined."""
    raw = b'{"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}'
    server.script(Behaviour(raw=raw))
    with pytest.raises(Rejected) as caught:
        client.ask(ASK, 5)
    assert caught.value.reason == "refused"


# ------------------------------------------------------------------------------ first token


@pytest.mark.parametrize(
    ("tokens", "share"),
    [
        ({"Yes": 0.6, "No": 0.2}, 0.75),
        ({" yes": 0.3, "YES": 0.2, "▁Yes": 0.1, "ĠYes": 0.1, "\n\nno": 0.1, '"No"': 0.2}, 0.7),
        ({"Yes": 0.4, "Well": 0.6}, 1.0),
        ({"no.": 0.5, "yes,": 0.5}, 0.5),
        ({"Nothing": 0.5, "Not": 0.3, "Yesterday": 0.1, "Y": 0.05, "N": 0.05}, None),
        ({"<think>": 1.0}, None),
    ],
)
def test_the_share_of_yes_is_that_among_the_tokens_that_are_yes_or_no(
    client, server, tokens, share
):
    """Whatever their case and what stands beside them; words that only begin so do not count."""
    server.script(first_tokens(tokens))
    found = client.first_token(QUESTION, 5)
    if share is None:
        assert found.probability is None
    else:
        assert math.isclose(found.probability, share, abs_tol=1e-9)
    assert found.usage.completion_tokens > 0


def test_a_question_asks_for_one_token_with_the_likeliest_ones(client, server):
    """At temperature 0, and for no JSON."""
    client.first_token(QUESTION, 5)
    body = server.requests[0].body
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (1, True, 20)
    assert body["temperature"] == 0
    assert "response_format" not in body


def test_a_token_that_is_not_listed_among_the_likeliest_counts_once(client, server):
    """Some servers list the chosen one, some do not."""
    raw = (
        '{"choices": [{"message": {"content": "Yes"}, "logprobs": {"content": [{"token": "Yes",'
        f' "logprob": {math.log(0.8)}, "top_logprobs": [{{"token": "No",'
        f' "logprob": {math.log(0.2)}}}]}}]}}}}]}}'
    )
    server.script(Behaviour(raw=raw.encode()))
    assert math.isclose(client.first_token(QUESTION, 5).probability, 0.8)


def test_impossible_tokens_are_no_hindrance(client, server):
    """Some servers write numbers that JSON does not have."""
    raw = (
        b'{"choices": [{"message": {"content": "Yes"}, "logprobs": {"content": [{"token": "Yes",'
        b' "logprob": -0.5, "top_logprobs": [{"token": "no", "logprob": -Infinity},'
        b' {"token": "No", "logprob": NaN}]}]}}]}'
    )
    server.script(Behaviour(raw=raw))
    assert client.first_token(QUESTION, 5).probability == 1.0


def test_a_server_that_gives_fewer_log_probabilities_is_asked_for_fewer(client, server):
    """And remembered."""
    server.refused_parameters.add("top_logprobs")
    assert client.first_token(QUESTION, 5).probability is not None
    assert client.first_token(QUESTION, 5).probability is not None
    assert [item.body["top_logprobs"] for item in server.requests] == [20, 5, 5]


def test_a_server_that_ignores_log_probabilities_has_none(client, server):
    """The reply is there, without them."""
    server.logprobs = False
    with pytest.raises(Rejected) as caught:
        client.first_token(QUESTION, 5)
    assert caught.value.reason == "no_logprobs"


@pytest.mark.parametrize("status", [400, 403])
def test_a_server_that_refuses_log_probabilities_has_none(client, server, status):
    """Models that reason do."""
    message = "You are not allowed to request logprobs from this model"
    server.answer = lambda _: fails(status, message=message)
    with pytest.raises(Rejected) as caught:
        client.first_token(QUESTION, 5)
    assert caught.value.reason == "no_logprobs"


def test_a_wrong_key_is_not_taken_for_missing_log_probabilities(client, server):
    """The reason is the status's."""
    server.script(fails(403, message="forbidden"))
    with pytest.raises(Rejected) as caught:
        client.first_token(QUESTION, 5)
    assert caught.value.reason == "unauthorized"
