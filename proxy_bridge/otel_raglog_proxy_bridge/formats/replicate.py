"""Replicate's predictions: a language model's input in, the pieces of its output out."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import ends, posts
from otel_raglog_proxy_bridge.formats.chat_parts import chosen
from otel_raglog_proxy_bridge.formats.fields import at, count, text, texts
from otel_raglog_proxy_bridge.model import Api, CallStage, ChatMessage, Exchange, LlmReading

_SAMPLING = ("temperature", "top_p", "top_k", "max_tokens", "max_new_tokens", "stop_sequences")


def _output(exchange: Exchange) -> str:
    return "".join(texts(exchange.response, "output"))


def _is_prediction(exchange: Exchange) -> bool:
    """Pictures and sounds are answered by their addresses; a started one has no output yet."""
    return (
        posts(exchange, "predictions")
        and text(exchange.request, "input", "prompt") is not None
        and (not exchange.ok or _output(exchange) != "")
        and not _output(exchange).startswith(("http://", "https://", "data:"))
    )


def _read_prediction(exchange: Exchange) -> LlmReading:
    given, response = at(exchange.request, "input"), exchange.response
    told = (("system", text(given, "system_prompt")), ("user", text(given, "prompt")))
    return LlmReading(
        model=_model(exchange),
        messages=tuple(ChatMessage(role, content) for role, content in told if content),
        answer=_output(exchange) or None,
        finish_reason=text(response, "status"),
        prompt_tokens=count(response, "metrics", "input_token_count"),
        completion_tokens=count(response, "metrics", "output_token_count"),
        parameters=chosen(given, _SAMPLING),
    )


def _model(exchange: Exchange) -> str | None:
    """Return the model that the path names by owner and name, or the version asked for."""
    segments = exchange.segments
    if "models" in segments:
        place = segments.index("models") + 1
        return "/".join(segments[place : place + 2]) or None
    return text(exchange.request, "version")


def _is_housekeeping(exchange: Exchange) -> bool:
    cancels = ends(exchange, "cancel") and "predictions" in exchange.segments
    polls = exchange.call.method.upper() == "GET" and "predictions" in exchange.segments
    started = posts(exchange, "predictions") and isinstance(at(exchange.request, "input"), dict)
    return cancels or polls or started


APIS = (
    Api(
        "replicate.prediction",
        CallStage.LLM,
        "POST …/predictions of a prompt that is answered at once by text",
        _is_prediction,
        _read_prediction,
    ),
    Api(
        "replicate.housekeeping",
        CallStage.IRRELEVANT,
        "predictions that are only started, polled or cancelled, and pictures",
        _is_housekeeping,
    ),
)
