"""A chat model behind any OpenAI-compatible endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from otel_raglog.errors import ConfigError, Rejected, Unavailable

_TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer; token counts are ``None`` where the endpoint does not count."""

    text: str
    finish_reason: str = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class ChatModel:
    """Chat completions of one model, at temperature 0 and with a seed, tried again when it is busy.

    Raises:
        ConfigError: the extra ``lab`` is not installed.
    """

    def __init__(
        self,
        endpoint: str,
        name: str,
        key: str | None = None,
        *,
        seed: int = 0,
        max_tokens: int = 200,
        max_retries: int = 3,
    ) -> None:
        try:
            import openai  # noqa: PLC0415  the extra lab
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"an endpoint needs {error.name}: pip install 'otel-raglog[lab]'"
            ) from None
        self.name = name
        self._errors: Any = openai
        self._seed = seed
        self._max_tokens = max_tokens
        # Local servers take any key, the client none that is empty.
        self._client = openai.OpenAI(
            base_url=endpoint,
            api_key=key or "none",
            timeout=_TIMEOUT_SECONDS,
            max_retries=max_retries,
        )

    def chat(self, system: str, user: str) -> Reply:
        """Return the reply.

        Raises:
            Unavailable: the endpoint does not answer.
            Rejected: it refused.
        """
        try:
            completion = self._client.chat.completions.create(
                model=self.name,
                messages=[
                    {"role": "system", "content": system},
                    {"role": "user", "content": user},
                ],
                temperature=0,
                seed=self._seed,
                max_tokens=self._max_tokens,
            )
        except self._errors.APIStatusError as error:
            busy = error.status_code in {408, 429} or error.status_code >= 500  # noqa: PLR2004  HTTP
            raise (Unavailable if busy else Rejected)(
                f"the model {self.name} was not reached: {error.message}"
            ) from error
        except self._errors.APIConnectionError as error:
            raise Unavailable(f"the model {self.name} was not reached: {error}") from error
        choice, usage = completion.choices[0], completion.usage
        return Reply(
            (choice.message.content or "").strip(),
            choice.finish_reason,
            usage.prompt_tokens if usage else None,
            usage.completion_tokens if usage else None,
        )
