"""Anthropic's Messages API, or a server that speaks it."""

from __future__ import annotations

import threading
from typing import Any

import anthropic
import httpx2
from pydantic import ValidationError

from otel_raglog.clock import Clock
from otel_raglog.errors import RaglogError, Rejected, Unavailable
from otel_raglog.judge.client import Ask, Question, Reply, YesShare
from otel_raglog.judge.failures import CLOSED, NO_TEXT, connection_failure, failure_of
from otel_raglog.judge.replies import AnthropicMessage

PROVIDER = "anthropic"
_BAD_REQUEST = 400
_THINKING_TOKENS = 4_000
"""Further tokens for models that think whether they are asked to or not: thoughts count too."""


def messages_body(model: str, request: Ask, *, thinks: bool = False) -> dict[str, Any]:
    """Return the body of a request, also of one in a message batch.

    The system prompt is marked for the prompt cache. Bounds of numbers, which the API's structured
    output does not know, become a part of the descriptions. Thinking is off; for models of which it
    is a part (``thinks``), it is little, and has room of its own.
    """
    output: dict[str, Any] = {
        "format": {
            "type": "json_schema",
            "schema": anthropic.transform_schema(dict(request.schema)),
        }
    }
    if thinks:
        output["effort"] = "low"
    return {
        "model": model,
        "max_tokens": request.max_tokens + (_THINKING_TOKENS if thinks else 0),
        "system": [
            {"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}
        ],
        "messages": [{"role": "user", "content": request.prompt}],
        "output_config": output,
        **({} if thinks else {"thinking": {"type": "disabled"}}),
    }


class AnthropicClient:
    """Speaks to one model over ``http``; see :class:`~otel_raglog.judge.client.JudgeClient`.

    ``http`` adds the key. The SDK is given none, reads none from the environment, from files or
    profiles, makes no spans and does not try again.
    """

    provider = PROVIDER

    def __init__(self, model: str, endpoint: str, http: httpx2.Client, clock: Clock) -> None:
        self.model = model
        self._clock = clock
        self._http = http
        self._thinks = threading.Event()
        self._client = anthropic.Anthropic(
            api_key="added-later",  # one that is given keeps the SDK from looking for another
            base_url=endpoint,
            max_retries=0,
            open_telemetry=False,
            http_client=http,
        )

    def ask(self, request: Ask, timeout_seconds: float) -> Reply:
        """Return the reply; a model that refuses not to think is remembered, and asked again."""
        deadline = self._clock.monotonic() + timeout_seconds
        if not self._thinks.is_set():
            try:
                return self._send(messages_body(self.model, request), timeout_seconds)
            except anthropic.BadRequestError as error:
                if b"thinking" not in error.response.content:
                    raise self._failure(error) from None
                self._thinks.set()
        left = max(deadline - self._clock.monotonic(), 0.001)
        try:
            return self._send(messages_body(self.model, request, thinks=True), left)
        except anthropic.BadRequestError as error:
            raise self._failure(error) from None

    def first_token(self, question: Question, timeout_seconds: float) -> YesShare:  # noqa: ARG002  a Protocol's
        """Refuse: the API has no log-probabilities."""
        raise Rejected("the Messages API returns no log-probabilities", "no_logprobs")

    def close(self) -> None:
        """Close connections."""
        self._http.close()

    def _send(self, body: dict[str, Any], timeout_seconds: float) -> Reply:
        if self._http.is_closed:
            raise Unavailable(CLOSED)
        try:
            raw = self._client.messages.with_raw_response.create(**body, timeout=timeout_seconds)
        except anthropic.BadRequestError:
            raise
        except anthropic.APIStatusError as error:
            raise self._failure(error) from None
        except (anthropic.APIConnectionError, RaglogError) as error:
            raise connection_failure(error) from None
        except UnicodeEncodeError:
            raise Rejected(NO_TEXT, "not_text") from None
        return _reply(raw.http_response.content)

    def _failure(self, error: anthropic.APIStatusError) -> RaglogError:
        return failure_of(error.status_code, error.response.headers, PROVIDER, self._clock)


def _reply(content: bytes) -> Reply:
    try:
        message = AnthropicMessage.model_validate_json(content)
    except ValidationError:
        raise Rejected("the reply is no message of the API", "malformed") from None
    return message.reply()
