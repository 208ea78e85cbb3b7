"""OpenAI's older completions: a prompt in, its continuation out."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import ends, posts
from otel_raglog_proxy_bridge.formats.chat_parts import chosen, openai_tool_calls, said
from otel_raglog_proxy_bridge.formats.fields import at, count, mapping, text, texts
from otel_raglog_proxy_bridge.formats.openai import SAMPLING, model_of
from otel_raglog_proxy_bridge.formats.openai_chunks import completion_of, first_choices
from otel_raglog_proxy_bridge.model import Api, CallStage, ChatMessage, Exchange, LlmReading


def _is_completion(exchange: Exchange) -> bool:
    if not posts(exchange) or ends(exchange, "chat", "completions"):
        return False
    asked = isinstance(at(exchange.request, "prompt"), str | list)
    known = model_of(exchange) or chosen(exchange.request, SAMPLING)
    if asked and known and ends(exchange, "completions"):
        return True
    answers = exchange.events or (exchange.response,)
    return (asked or exchange.request is None) and any(
        isinstance(at(choice, "text"), str)
        for answer in answers
        for choice in first_choices(answer)
    )


def _read_completion(exchange: Exchange) -> LlmReading:
    prompt = "\n".join(texts(exchange.request, "prompt"))
    answer, finish, usage = _answer(exchange)
    if answer and at(exchange.request, "echo") is True:
        answer = answer.removeprefix(prompt)
    return LlmReading(
        model=model_of(exchange),
        messages=(ChatMessage("user", prompt),) if prompt else (),
        answer=answer or None,
        tool_calls=openai_tool_calls(at(completion_of(exchange), "choices", 0, "message")),
        finish_reason=finish,
        prompt_tokens=count(usage, "prompt_tokens"),
        completion_tokens=count(usage, "completion_tokens"),
        parameters=chosen(exchange.request, SAMPLING),
    )


def _answer(exchange: Exchange) -> tuple[str, str | None, object]:
    """Return the first choice's text, its finish reason, and the usage.

    Mistral's fill-in-the-middle answers a prompt with a message instead of a text.
    """
    pieces, finish, usage = [], None, None
    for answer in exchange.events or (exchange.response,):
        usage = mapping(answer, "usage") or usage
        for choice in first_choices(answer):
            message = mapping(choice, "message") or mapping(choice, "delta")
            pieces.append(text(choice, "text") or said(at(message, "content")) or "")
            finish = text(choice, "finish_reason") or finish
            if not exchange.events:
                return "".join(pieces), finish, usage
    return "".join(pieces), finish, usage


APIS = (
    Api(
        "openai.completions",
        CallStage.LLM,
        "POST …/completions with a prompt and a model, or a prompt answered by choices with a text",
        _is_completion,
        _read_completion,
    ),
)
