"""OpenAI's chat API as many servers speak it: OpenAI, Gemini, vLLM, Ollama, llama.cpp."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Collection, Mapping
from typing import Any

import httpx2
import openai
from pydantic import ValidationError

from otel_raglog.clock import Clock
from otel_raglog.errors import RaglogError, Rejected, Unavailable
from otel_raglog.judge.client import Ask, Question, Reply, YesShare
from otel_raglog.judge.failures import CLOSED, NO_TEXT, connection_failure, failure_of
from otel_raglog.judge.replies import ChatCompletion

PROVIDER = "openai"
_REASONING_TOKENS = 4_000
"""Further tokens for models that reason before they answer: thoughts count too."""
_MOST_LOGPROBS, _FEWER_LOGPROBS = 20, 5
_REFUSING_STATUSES = frozenset({400, 403, 422})


def _sign(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_SIGNS: Mapping[str, re.Pattern[str]] = {
    "json_schema": _sign(r"response_format|json_schema|grammar|structured output"),
    "json_object": _sign(r"response_format|json_object|json mode"),
    "max_tokens": _sign(r"max_completion_tokens"),
    "temperature": _sign(r"temperature"),
    "reasoning_effort": _sign(r"reasoning"),
    "top_logprobs": _sign(r"top_logprobs|max.?logprobs"),
}
"""By what a server that refuses a part of a request can be told."""
_TOO_LONG = _sign(r"context.{0,20}(length|window|size)|too (large|long)")

_BESIDE_WORDS = " \t\r\n▁ĠĊ\"'*`.,:;!"


def chat_body(model: str, request: Ask, refused: Collection[str] = frozenset()) -> dict[str, Any]:
    """Return the body of a request, also of one in a batch.

    ``refused`` are parts that the server does not take: without ``json_schema`` it is asked for any
    JSON object, without ``json_object`` too for text, and the schema is a part of the prompt.
    """
    system = request.system
    schema = {"name": request.schema_name, "schema": dict(request.schema), "strict": True}
    body: dict[str, Any] = {}
    if "json_schema" not in refused:
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    else:
        system = f"{system}\n\n{_schema_in_words(request)}"
        if "json_object" not in refused:
            body["response_format"] = {"type": "json_object"}
    return {
        **_basics(model, system, request.prompt, request.max_tokens, refused),
        **body,
    }


class OpenAIClient:
    """Speaks to one model over ``http``; see :class:`~otel_raglog.judge.client.JudgeClient`.

    ``http`` adds the key. What the server refuses of a request (a JSON schema, ``max_tokens``, a
    temperature) is left out or put otherwise from then on, within the time of the same call.
    """

    provider = PROVIDER

    def __init__(self, model: str, endpoint: str, http: httpx2.Client, clock: Clock) -> None:
        self.model = model
        self._clock = clock
        self._http = http
        self._refused: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._client = openai.OpenAI(
            # What is given keeps the SDK from looking for it in the environment.
            api_key="added-later",
            admin_api_key="",
            organization="",
            project="",
            webhook_secret="",
            base_url=endpoint,
            max_retries=0,
            http_client=http,
        )

    def ask(self, request: Ask, timeout_seconds: float) -> Reply:
        """Return the reply, without thoughts (``<think>``) and fences that surround the JSON."""
        deadline = self._clock.monotonic() + timeout_seconds
        while True:
            refused = self._refused
            body = chat_body(self.model, request, refused)
            completion = self._send(body, refused, deadline)
            if completion is not None:
                return completion.reply()

    def first_token(self, question: Question, timeout_seconds: float) -> YesShare:
        """Return the share of yes among the likeliest first tokens that are yes or no.

        A token counts when it is the word and nothing else, whatever its case and the spaces,
        quotes and marks beside it: ``Yes``, `` yes``, ``▁YES``, ``No.``. Parts of words do not
        (``Y``, ``N``): those begin other words too.
        """
        deadline = self._clock.monotonic() + timeout_seconds
        while True:
            refused = self._refused
            body = _basics(self.model, question.system, question.prompt, 1, refused)
            body.pop("reasoning_effort", None)
            body["logprobs"] = True
            fewer = "top_logprobs" in refused
            body["top_logprobs"] = _FEWER_LOGPROBS if fewer else _MOST_LOGPROBS
            completion = self._send(body, refused, deadline)
            if completion is not None:
                return _yes_share(completion)

    def close(self) -> None:
        """Close connections."""
        self._http.close()

    def _send(
        self, body: dict[str, Any], refused: frozenset[str], deadline: float
    ) -> ChatCompletion | None:
        """Return the completion, ``None`` where the server refused a part that can be put otherwise."""
        if self._http.is_closed:
            raise Unavailable(CLOSED)
        left = max(deadline - self._clock.monotonic(), 0.001)
        try:
            raw = self._client.chat.completions.with_raw_response.create(**body, timeout=left)
        except openai.APIStatusError as error:
            part = _refused_part(error, body, refused)
            if part is None:
                raise self._failure(error, body) from None
            with self._lock:
                self._refused |= {part}
            return None
        except (openai.APIConnectionError, RaglogError) as error:
            raise connection_failure(error) from None
        except UnicodeEncodeError:
            raise Rejected(NO_TEXT, "not_text") from None
        except RuntimeError:  # the HTTP client's word for being closed meanwhile
            if self._http.is_closed:
                raise Unavailable(CLOSED) from None
            raise
        try:
            return ChatCompletion.model_validate_json(raw.http_response.content)
        except ValidationError:
            raise Rejected("the reply is no completion of the API", "malformed") from None

    def _failure(self, error: openai.APIStatusError, body: Mapping[str, Any]) -> RaglogError:
        about_logprobs = "logprob" in error.response.text.lower()
        if "logprobs" in body and about_logprobs and error.status_code in _REFUSING_STATUSES:
            return Rejected("the server gives no log-probabilities", "no_logprobs")
        return failure_of(error.status_code, error.response.headers, PROVIDER, self._clock)


def _basics(
    model: str, system: str, prompt: str, max_tokens: int, refused: Collection[str]
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": model,
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": prompt},
        ],
    }
    if "temperature" not in refused:
        body["temperature"] = 0
    if "max_tokens" not in refused:
        body["max_tokens"] = max_tokens
    else:
        body["max_completion_tokens"] = (
            max_tokens if max_tokens == 1 else max_tokens + _REASONING_TOKENS
        )
        if "reasoning_effort" not in refused:
            body["reasoning_effort"] = "low"
    return body


def _schema_in_words(request: Ask) -> str:
    schema = json.dumps(request.schema, ensure_ascii=False)
    return f"Answer with one JSON object and nothing else. It must be valid by this JSON Schema:\n{schema}"


def _refused_part(
    error: openai.APIStatusError, body: Mapping[str, Any], refused: Collection[str]
) -> str | None:
    """Return which part of ``body`` a server refused, if another way to put it is left."""
    text = error.response.text
    if error.status_code not in _REFUSING_STATUSES or _TOO_LONG.search(text):
        return None
    kind = body.get("response_format", {}).get("type")
    sent = {kind, *body} - set(refused)
    return next((part for part, sign in _SIGNS.items() if part in sent and sign.search(text)), None)


# ------------------------------------------------------------------------------- replies


def _yes_share(completion: ChatCompletion) -> YesShare:
    logprobs = completion.choices[0].logprobs
    if logprobs is None or not logprobs.content:
        raise Rejected("the server gives no log-probabilities", "no_logprobs")
    first = logprobs.content[0]
    # Some servers name the token they chose among the likeliest, some do not.
    tokens = {item.token: item.logprob for item in (first, *first.top_logprobs)}
    shares = {"yes": 0.0, "no": 0.0}
    for token, logprob in tokens.items():
        word = token.strip(_BESIDE_WORDS).casefold()
        if word in shares and not math.isnan(logprob):
            shares[word] += math.exp(min(logprob, 0.0))
    total = shares["yes"] + shares["no"]
    return YesShare(shares["yes"] / total if total else None, completion.tokens())
