"""The ``Authorization`` header of a request to whether it may come in: bearer tokens."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable

from otel_raglog.errors import ConfigError

CHALLENGE = {"www-authenticate": 'Bearer realm="otel-raglog"'}
"""The header that goes with a refusal over HTTP (RFC 6750)."""

WHY_REFUSED = "a bearer token is needed, and it must be one of this service (receive.auth)"
"""What a client is told that has none, or a wrong one: the same for both."""

_SCHEME = "bearer"
_LEAST_CHARACTERS = 16
_SENDABLE = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class Tokens:
    """The tokens that let a request in; with none of them, any request may come.

    Only their hashes are kept, and all of them are compared, in constant time: neither an error nor
    a clock tells anything about them.

    Raises:
        ConfigError: a token is shorter than 16 characters, or cannot be sent in a header. The
            message names ``option`` and not the token.
    """

    def __init__(self, tokens: Iterable[str] = (), option: str = "receive.auth") -> None:
        tokens = tuple(tokens)
        for token in tokens:
            if len(token) < _LEAST_CHARACTERS:
                raise ConfigError(
                    f"{option}: a token of fewer than {_LEAST_CHARACTERS} characters can be guessed"
                )
            if not _SENDABLE.fullmatch(token):
                raise ConfigError(
                    f"{option}: a token has characters that no header can carry; use letters, digits "
                    "and -._~+/="
                )
        self._hashes = tuple(map(_hash, tokens))

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def allow(self, authorization: str | bytes | None) -> bool:
        """Tell whether a request with this ``Authorization`` header (``None``: without) may come in."""
        if not self._hashes:
            return True
        text = authorization or ""
        if isinstance(text, bytes):
            text = text.decode("latin-1")
        scheme, _, token = text.strip().partition(" ")
        given = _hash(token.strip() if scheme.lower() == _SCHEME else "")
        return sum(hmac.compare_digest(given, known) for known in self._hashes) > 0


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
