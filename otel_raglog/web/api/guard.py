"""Requests to the API that may be answered: with a token, or from this machine's own clients."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from otel_raglog.config import is_loopback
from otel_raglog.receive.auth import CHALLENGE, WHY_REFUSED, Tokens
from otel_raglog.web.api.answers import error_answer

_WHY_NOT_THIS_HOST = (
    "without a token (receive.auth) only requests to localhost are answered, so that no web page "
    "can have them sent by a browser"
)


class Guard:
    """Refuses requests without one of ``tokens`` (401); without tokens, those to other hosts (403).

    The second is for browsers: a web page whose own name leads to this machine (DNS rebinding)
    could read the answers otherwise.
    """

    def __init__(self, app: ASGIApp, tokens: Tokens) -> None:
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if self._tokens:
            if self._tokens.allow(headers.get(b"authorization")):
                await self._app(scope, receive, send)
            else:
                await error_answer(401, WHY_REFUSED, headers=CHALLENGE)(scope, receive, send)
        elif is_loopback(_host(headers.get(b"host", ""))):
            await self._app(scope, receive, send)
        else:
            await error_answer(403, _WHY_NOT_THIS_HOST)(scope, receive, send)


def _host(header: str) -> str:
    """Return the host of a ``Host`` header, without its port."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]
