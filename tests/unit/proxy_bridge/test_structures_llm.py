"""Language models of unknown APIs, streams included, and what looks like one."""

import pytest
from unknown_calls import QUESTION, VACATION, exchange_of

from otel_raglog_proxy_bridge.model import CallStage, ChatMessage, ToolCall
from otel_raglog_proxy_bridge.structural import mapping_of, read_by, tell
from otel_raglog_proxy_bridge.structures_llm import tell_llm

MESSAGES = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": QUESTION}]
ANSWER = "There are 25 days."

MODELS = {
    "a conversation and a message": (
        {"model": "m", "messages": MESSAGES},
        {"choices": [{"message": {"role": "assistant", "content": ANSWER}}]},
    ),
    "a conversation under another name": (
        {"turns": [{"author": "user", "text": QUESTION}], "temperature": 0.2},
        {"reply": ANSWER},
    ),
    "a prompt and a completion": (
        {"prompt": QUESTION, "max_tokens": 50},
        {"completion": ANSWER, "stop_reason": "end"},
    ),
    "a prompt with the parameters apart": (
        {"inputs": QUESTION, "parameters": {"max_new_tokens": 5}},
        [{"generated_text": ANSWER}],
    ),
    "a weak name with counts of tokens": (
        {"input": QUESTION, "model_id": "m"},
        {"results": [{"text": ANSWER, "generated_token_count": 5, "stop_reason": "eos"}]},
    ),
    "content in parts": (
        {"contents": [{"role": "user", "parts": [{"text": QUESTION}]}], "generationConfig": {}},
        {"candidates": [{"content": {"parts": [{"text": ANSWER}]}, "finishReason": "STOP"}]},
    ),
}


@pytest.mark.parametrize(("request_", "response"), MODELS.values(), ids=MODELS)
def test_a_prompt_in_and_a_text_out_is_a_model(request_, response):
    """However they are packed; the mapping that is found reads both."""
    exchange = exchange_of(request_, response)
    structure = tell(exchange)
    assert structure.stage is CallStage.LLM
    mapping = mapping_of(exchange, structure, created="")
    reading = mapping.read(exchange)
    assert reading.messages[-1] == ChatMessage("user", QUESTION)
    assert reading.answer == ANSWER
    assert mapping.lacks(exchange) is None


def test_what_is_beside_prompt_and_answer_is_read_too():
    """Model, system prompt, parameters, counts of tokens, the reason for the end."""
    exchange = exchange_of(
        {"model": "m", "system": "Be kind.", "prompt": QUESTION, "temperature": 0.5},
        {"output": ANSWER, "usage": {"input_tokens": 7, "output_tokens": 5}, "finish_reason": "x"},
    )
    reading = read_by(exchange, tell(exchange))
    assert reading.messages[0] == ChatMessage("system", "Be kind.")
    assert (reading.model, reading.prompt_tokens, reading.completion_tokens) == ("m", 7, 5)
    assert (reading.finish_reason, reading.parameters) == ("x", {"temperature": 0.5})


def test_what_a_user_says_now_follows_what_was_said_before():
    """Where the API keeps them apart."""
    history = [{"role": "USER", "message": "Hi"}, {"role": "CHATBOT", "message": "Hello"}]
    exchange = exchange_of(
        {"chat_history": history, "message": QUESTION, "model": "m"}, {"text": ANSWER}
    )
    assert [each.content for each in read_by(exchange, tell(exchange)).messages] == [
        "Hi",
        "Hello",
        QUESTION,
    ]


STREAMS = {
    "pieces": [{"delta": {"text": "There are"}}, {"delta": {"text": " 25 days."}}, {"usage": {}}],
    "pieces in a list": [
        {"choices": [{"delta": {"content": piece}}]} for piece in ("There", " are 25", " days.")
    ],
    "each piece holds those before": [{"text": "There are"}, {"text": ANSWER}],
    "the whole text again at the end": [
        {"token": {"text": "There are"}},
        {"token": {"text": " 25 days."}, "generated_text": ANSWER},
    ],
}


@pytest.mark.parametrize("events", STREAMS.values(), ids=STREAMS)
def test_a_streamed_text_is_put_together(events):
    """Whether the pieces add up or grow."""
    exchange = exchange_of({"model": "m", "messages": MESSAGES}, events=events)
    structure = tell(exchange)
    mapping = mapping_of(exchange, structure, created="")
    assert mapping.read(exchange).answer == ANSWER


def test_a_call_of_a_tool_is_an_answer_without_a_text():
    """How texts are answered is not known from it, so there is nothing to store."""
    call = {"function": {"name": "find", "arguments": '{"q": 1}'}}
    exchange = exchange_of(
        {"model": "m", "messages": MESSAGES}, {"message": {"content": None, "tool_calls": [call]}}
    )
    structure = tell(exchange)
    assert read_by(exchange, structure).tool_calls == (ToolCall("find", '{"q": 1}'),)
    assert mapping_of(exchange, structure, created="") is None


def test_a_model_that_failed_is_told_by_its_conversation():
    """A pipeline whose model fails has a stage that fails."""
    exchange = exchange_of({"model": "m", "messages": MESSAGES}, {"error": "busy"}, status=503)
    structure = tell(exchange)
    assert structure.stage is CallStage.LLM
    assert read_by(exchange, structure).messages[-1].content == QUESTION
    assert mapping_of(exchange, structure, created="") is None


NO_MODELS = {
    "a message to people": (
        {"channel": "general", "text": "Lunch is ready now", "user": "ann"},
        {"ok": True, "message": {"text": "posted"}},
    ),
    "messages among people": (
        {"messages": [{"from": "ann", "body": "Lunch is ready"}]},
        {"result": "sent to all"},
    ),
    "a count of tokens": ({"model": "m", "messages": MESSAGES}, {"input_tokens": 12}),
    "a translation": ({"text": VACATION, "target": "de"}, {"text": "25 Tage."}),
    "an image": ({"prompt": "a cat", "size": "1x1", "model": "m"}, {"data": [{"url": "u"}]}),
    "an echo": ({"prompt": VACATION, "temperature": 0}, {"text": VACATION}),
    "no prompt": ({"model": "m", "temperature": 0}, {"text": ANSWER}),
    "a failed prompt": ({"prompt": VACATION}, {"error": "busy"}, "https://a.test/x", "POST"),
}


@pytest.mark.parametrize("call", NO_MODELS.values(), ids=NO_MODELS)
def test_what_looks_like_a_model_is_none(call):
    """Any service has a text in and a text out."""
    assert tell_llm(exchange_of(*call)) is None
