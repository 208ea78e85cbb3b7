"""Calls of OpenAI-like APIs that run no model on a question: stored things, media, telemetry."""

from __future__ import annotations

import re

from otel_raglog_proxy_bridge.formats.addresses import ends, posts
from otel_raglog_proxy_bridge.formats.fields import text
from otel_raglog_proxy_bridge.model import Api, CallStage, Exchange

_BEFORE = re.compile(r"v\d+(\.\d+)?((alpha|beta)\d*)?|openai|api|beta", re.ASCII)
"""What stands before a resource in a path, unless it is the first."""

_MANAGED = frozenset(
    {
        "assistants",
        "audio",
        "batch",
        "batches",
        "chatkit",
        "containers",
        "conversations",
        "evals",
        "files",
        "fine-tunes",
        "fine_tuning",
        "images",
        "moderations",
        "ocr",
        "organization",
        "realtime",
        "skills",
        "threads",
        "uploads",
        "vector_stores",
        "videos",
    }
)
"""Resources that no call makes a model answer with, whatever the method."""

_STORED = frozenset({"chat", "completions", "deployments", "engines", "responses"})
"""Resources whose stored things are read and deleted, and made by running a model."""

_SEARCHES = frozenset({"search", "query"})


def _is_started_in_background(exchange: Exchange) -> bool:
    return posts(exchange, "responses") and text(exchange.response, "status") == "queued"


def _is_about_a_response(exchange: Exchange) -> bool:
    return posts(exchange) and (
        ends(exchange, "responses", "compact")
        or ends(exchange, "responses", "input_tokens")
        or (ends(exchange, "cancel") and "responses" in exchange.segments)
    )


def _is_management(exchange: Exchange) -> bool:
    segments = exchange.segments
    if not segments or segments[-1] in _SEARCHES:
        return False
    return any(
        segment in _MANAGED and (place == 0 or _BEFORE.fullmatch(segments[place - 1]))
        for place, segment in enumerate(segments)
    )


def _is_reading_of_stored(exchange: Exchange) -> bool:
    segments = exchange.segments
    if posts(exchange) or not segments or segments[-1] in _SEARCHES:
        return False
    return any(
        segment in _STORED and (place == 0 or _BEFORE.fullmatch(segments[place - 1]))
        for place, segment in enumerate(segments)
    )


def _is_about_models(exchange: Exchange) -> bool:
    return not posts(exchange) and any(
        segment in {"models", "available-models", "model"} for segment in exchange.segments
    )


def _is_trace_ingest(exchange: Exchange) -> bool:
    return posts(exchange, "traces", "ingest")


BACKGROUND = (
    Api(
        "openai.background_response",
        CallStage.IRRELEVANT,
        "POST …/responses that is answered as queued",
        _is_started_in_background,
    ),
)
"""To be asked before the calls that answer: the address is theirs."""

APIS = (
    Api(
        "openai.response_upkeep",
        CallStage.IRRELEVANT,
        "POST …/responses/compact, input_tokens and cancel",
        _is_about_a_response,
    ),
    Api(
        "openai.management",
        CallStage.IRRELEVANT,
        "files, batches, fine-tuning, media, moderations, threads, conversations, vector stores",
        _is_management,
    ),
    Api(
        "openai.stored",
        CallStage.IRRELEVANT,
        "stored responses and completions that are listed, read or deleted",
        _is_reading_of_stored,
    ),
    Api(
        "openai.models",
        CallStage.IRRELEVANT,
        "GET or DELETE of …/models",
        _is_about_models,
    ),
    Api("openai.trace_ingest", CallStage.IRRELEVANT, "POST …/traces/ingest", _is_trace_ingest),
)
