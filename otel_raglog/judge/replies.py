"""Bodies of the Anthropic and OpenAI APIs to replies, whether they came alone or in a batch."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, Field

from otel_raglog.errors import Rejected
from otel_raglog.judge.client import Reply, Usage

_CUT_OFF = frozenset({"max_tokens", "model_context_window_exceeded"})

_Tokens = Annotated[int, Field(ge=0)]


class _MessageUsage(BaseModel):
    input_tokens: _Tokens = 0
    output_tokens: _Tokens = 0
    cache_read_input_tokens: _Tokens | None = None
    cache_creation_input_tokens: _Tokens | None = None


class _Block(BaseModel):
    type: str
    text: str | None = None


class AnthropicMessage(BaseModel):
    """What is read of a message of the Messages API."""

    content: list[_Block]
    stop_reason: str | None
    model: str | None = None
    usage: _MessageUsage = _MessageUsage()

    def tokens(self) -> Usage:
        """Return the tokens that it took."""
        usage = self.usage
        return Usage(
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_input_tokens or 0,
            usage.cache_creation_input_tokens or 0,
        )

    def reply(self) -> Reply:
        """Return the reply.

        Raises:
            Rejected: the model declined.
        """
        if self.stop_reason == "refusal":
            raise Rejected("the model declined", "refused")
        text = "".join(block.text or "" for block in self.content if block.type == "text")
        return Reply(text, self.tokens(), complete=self.stop_reason not in _CUT_OFF)


class _PromptDetails(BaseModel):
    cached_tokens: _Tokens | None = None


class _CompletionUsage(BaseModel):
    prompt_tokens: _Tokens = 0
    completion_tokens: _Tokens = 0
    total_tokens: _Tokens | None = None
    prompt_tokens_details: _PromptDetails | None = None


class _TokenLogprob(BaseModel):
    token: str
    logprob: float


class _Position(_TokenLogprob):
    top_logprobs: list[_TokenLogprob] = []


class _Logprobs(BaseModel):
    content: list[_Position] | None = None


class _ChatMessage(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _ChatMessage
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class ChatCompletion(BaseModel):
    """What is read of a completion of the chat API, as many servers speak it."""

    choices: Annotated[list[_Choice], Field(min_length=1)]
    model: str | None = None
    usage: _CompletionUsage | None = None

    def tokens(self) -> Usage:
        """Return the tokens that it took, those from the cache apart.

        Some servers (Gemini's) tell what a model thought in the total alone; it is paid for too.
        """
        usage = self.usage or _CompletionUsage()
        beyond_prompt = (usage.total_tokens or 0) - usage.prompt_tokens
        completion = max(usage.completion_tokens, beyond_prompt)
        cached = (usage.prompt_tokens_details or _PromptDetails()).cached_tokens or 0
        cached = min(cached, usage.prompt_tokens)
        return Usage(usage.prompt_tokens - cached, completion, cached)

    def reply(self) -> Reply:
        """Return the reply, without thoughts (``<think>``) and fences that surround the JSON.

        Raises:
            Rejected: the model declined.
        """
        choice = self.choices[0]
        if choice.message.refusal or choice.finish_reason == "content_filter":
            raise Rejected("the model declined", "refused")
        text = _without_fence(_without_thoughts(choice.message.content or ""))
        return Reply(text, self.tokens(), complete=choice.finish_reason != "length")


def _without_thoughts(text: str) -> str:
    """Leave out what a reasoning model thought, also where its template wrote ``<think>`` itself."""
    thoughts, end, answer = text.partition("</think>")
    if end and not thoughts.lstrip().startswith(("{", "[")):
        return answer.strip()
    return "" if thoughts.lstrip().startswith("<think>") else text


def _without_fence(text: str) -> str:
    fenced = re.fullmatch(r"\s*```\w*\n(.*?)\n?```\s*", text, re.DOTALL)
    return fenced[1] if fenced else text
