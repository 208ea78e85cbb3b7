"""What every client of an LLM is: a request in, a reply with its tokens out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, as the provider counts them.

    ``prompt_tokens`` are those that were neither read from a cache nor written to one.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )

    @property
    def total(self) -> int:
        """All tokens that count against a limit per minute."""
        return (
            self.prompt_tokens
            + self.completion_tokens
            + self.cache_read_tokens
            + self.cache_write_tokens
        )


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to an LLM: no tools, one turn.

    ``system`` is the same for all requests of one check, so that providers can cache it; ``prompt``
    holds the run. The reply must be JSON of ``schema``, a JSON Schema of the name ``schema_name``.
    """

    system: str
    prompt: str
    schema_name: str
    schema: Mapping[str, Any]
    max_tokens: int = 1_500


@dataclass(frozen=True, slots=True)
class Question:
    """A request for one word, yes or no, of which the probability of the first token counts."""

    system: str
    prompt: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What an LLM said, with its tokens. ``complete`` is false when it was cut off."""

    text: str
    usage: Usage = Usage()
    complete: bool = True


@dataclass(frozen=True, slots=True)
class YesShare:
    """The probability of yes among yes and no as first token.

    ``None`` where neither was among the likeliest tokens that the server names.
    """

    probability: float | None
    usage: Usage = Usage()


class JudgeClient(Protocol):
    """Speaks to one model of one provider. Thread-safe; tries once, the caller tries again.

    ``model`` is the name that the provider knows the model by. The key is in no exception's text.
    """

    @property
    def provider(self) -> str: ...  # noqa: D102

    @property
    def model(self) -> str: ...  # noqa: D102

    def ask(self, request: Ask, timeout_seconds: float) -> Reply:
        """Return the reply.

        ``timeout_seconds`` is for the whole call, however slowly bytes come.

        Raises:
            Unavailable: it may work later (429 and 5xx, with the provider's Retry-After; a refused
                or broken connection; time-out).
            Rejected: it will not (other 4xx, with ``reason`` ``unauthorized`` for 401 and 403,
                ``too_large`` for a reply that passes the limit on bytes, ``malformed`` for a body
                that is no reply of the API, ``refused`` where the model declined).
        """
        ...

    def first_token(self, question: Question, timeout_seconds: float) -> YesShare:
        """Return how probable it is that the answer begins with yes.

        Raises:
            Unavailable: see :meth:`ask`.
            Rejected: see :meth:`ask`; ``no_logprobs`` where the server returns no log-probabilities.
        """
        ...

    def close(self) -> None:
        """Close connections."""
        ...
