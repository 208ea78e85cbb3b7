"""The providers of LLMs that can be asked, and how a client of one is made."""

from __future__ import annotations

import importlib
import ipaddress
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

import httpx2

from otel_raglog.clock import Clock, SystemClock
from otel_raglog.config import JUDGE_KEY_VARIABLE
from otel_raglog.errors import ConfigError
from otel_raglog.judge.client import JudgeClient
from otel_raglog.judge.limited_transport import LimitedTransport

_Builder = Callable[[str, str, httpx2.Client, Clock], JudgeClient]


@dataclass(frozen=True, slots=True)
class Provider:
    """An API: where its own provider serves it. Keys go in the header ``Authorization``.

    ``client`` is where the client's class is found (``module:class``), a class that takes model,
    endpoint, HTTP client and clock. Its module is imported when it is used: SDKs are slow to
    import, and optional. ``logprobs`` tells whether the API returns the probabilities of a
    reply's first token.
    """

    endpoint: str
    client: str
    logprobs: bool


PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider(
        "https://api.anthropic.com",
        "otel_raglog.judge.anthropic_client:AnthropicClient",
        logprobs=False,
    ),
    "openai": Provider(
        "https://api.openai.com/v1",
        "otel_raglog.judge.openai_client:OpenAIClient",
        logprobs=True,
    ),
}
"""Add a provider's API here; docs/adding-a-provider.md says how."""

WITHOUT_LOGPROBS = frozenset(name for name, api in PROVIDERS.items() if not api.logprobs)
"""The providers whose APIs cannot answer yes-or-no questions by a probability."""


def build_client(
    provider: str,
    model: str,
    *,
    endpoint: str | None,
    key: str | None,
    max_reply_bytes: int,
    connections: int,
    clock: Clock | None = None,
) -> JudgeClient:
    """Return a client of ``model``; ``endpoint`` ``None`` is the provider's own.

    Nothing is sent, not even a look-up. ``connections`` is how many calls are made at once.

    Raises:
        ConfigError: the provider is unknown, its SDK is not installed, the endpoint is no HTTP
            address, a key is missing, cannot be sent, or would travel unencrypted.
    """
    found = PROVIDERS.get(provider)
    if found is None:
        raise ConfigError(f"judge.provider: {provider!r} is none of {', '.join(PROVIDERS)}")
    if endpoint is None and not key:
        raise ConfigError(
            f"judge: {found.endpoint} needs a key: set {JUDGE_KEY_VARIABLE}, judge.key_from or "
            "judge.key_file"
        )
    address = found.endpoint if endpoint is None else _checked(endpoint, key)
    transport = LimitedTransport(
        headers={"authorization": f"Bearer {_checked_key(key)}"} if key else {},
        max_reply_bytes=max_reply_bytes,
        connections=connections,
        clock=clock or SystemClock(),
    )
    http = httpx2.Client(transport=transport, trust_env=False, follow_redirects=False)
    builder = _builder(found)
    _quieten()
    return builder(model, address, http, clock or SystemClock())


def _builder(provider: Provider) -> _Builder:
    module, _, name = provider.client.partition(":")
    try:
        builder: _Builder = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"judge.provider needs {error.name}: pip install 'otel-raglog[judge]'"
        ) from None
    return builder


def _quieten() -> None:
    """Keep the SDKs from logging requests: a variable, or a host's own level, would let them."""
    for name in ("anthropic", "openai", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _checked(endpoint: str, key: str | None) -> str:
    try:
        url = urlsplit(endpoint)
        host, _ = url.hostname, url.port
    except ValueError:
        raise ConfigError("judge.endpoint: is no address") from None
    if url.username is not None or url.password is not None:
        raise ConfigError("judge.endpoint: holds a password: keys come from judge.key_file")
    if url.scheme not in {"http", "https"} or not host:
        raise ConfigError(f"judge.endpoint: {endpoint!r} does not begin with http:// or https://")
    if url.query or url.fragment:
        raise ConfigError("judge.endpoint: has a query or a fragment")
    if key and url.scheme == "http" and not _is_loopback(url):
        raise ConfigError(
            f"judge.endpoint: the key would travel unencrypted to {host}: use https://, or no key"
        )
    return endpoint


def _is_loopback(url: SplitResult) -> bool:
    host = url.hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _checked_key(key: str) -> str:
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError("judge: the key holds characters that no key has, such as a line's end")
    return key
