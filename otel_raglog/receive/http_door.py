"""OTLP over HTTP: ``POST /v1/traces``, ``/v1/metrics``, ``/v1/logs`` to the inbox."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

from google.protobuf import json_format
from google.protobuf.message import Message
from google.rpc.code_pb2 import Code
from google.rpc.status_pb2 import Status
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from otel_raglog.errors import BadInput, TooLarge, Unavailable
from otel_raglog.model import Headers, Signal
from otel_raglog.receive.answers import answer_export, explain_unserved
from otel_raglog.receive.auth import CHALLENGE, WHY_REFUSED, Tokens
from otel_raglog.receive.headers import AllowList
from otel_raglog.receive.inflate import inflate
from otel_raglog.receive.intake import DEFAULT_RETRY_SECONDS, Intake, ToProtobuf
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.otlp_json import to_protobuf

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
_PARALLEL_REQUESTS = 4
"""Requests taken at once, of each type: reading holds the interpreter, and each holds megabytes."""
_LARGEST_BODIES_AT_ONCE = 2
"""Bodies in memory, in largest requests: smaller ones are many more."""

_CLOSE = {"connection": "close"}
_CODES = {
    401: Code.UNAUTHENTICATED,
    404: Code.NOT_FOUND,
    405: Code.UNIMPLEMENTED,
    408: Code.DEADLINE_EXCEEDED,
}


@dataclass(frozen=True, slots=True)
class _Answer:
    """What to tell the client: an HTTP status, a message and headers."""

    http_status: int
    message: Message
    headers: dict[str, str]


def build_http_app(
    intake: Intake,
    *,
    signals: Collection[Signal],
    headers: AllowList,
    request_timeout_seconds: float,
    max_body_bytes: int | None = None,
    tokens: Tokens | None = None,
) -> Starlette:
    """Return the application that serves the paths of ``signals`` in protobuf and JSON.

    Answers have the request's type; those of errors are a ``google.rpc.Status``. Spans with
    invalid ids are a partial success; 400 is for unreadable bodies, unknown encodings and absurd
    values of the headers that travel on, 404 for signals that no destination takes, 408 for bodies that take longer than
    ``request_timeout_seconds``, 413 for what is beyond the limits, 415 for other types, 503 with
    ``Retry-After`` when there is no room: in the inbox, or while the bodies in memory are more
    than ``max_body_bytes`` (by default, twice the largest request). 401 is for requests without one of
    the ``tokens``, where there are any: nothing of them is read. Where the body was not read
    to its end, the connection is closed. Decoding runs on worker threads.
    """
    door = _HttpDoor(
        intake,
        headers,
        request_timeout_seconds,
        max_body_bytes or _LARGEST_BODIES_AT_ONCE * intake.limits.max_request_bytes,
        tokens or Tokens(),
    )
    routes = [
        Route(
            f"/v1/{signal}",
            partial(door.export, signal)
            if signal in signals
            else partial(_answer_unserved, signal),
            methods=["POST"],
        )
        for signal in Signal
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _answer_http_exception})
    app.router.redirect_slashes = False
    return app


class _Body:
    """The body of a request while it is read and waits to be decoded."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.size = 0

    def take(self) -> bytes:
        """Return the whole body and keep nothing but its size."""
        data, self.data = bytes(self.data), bytearray()
        return data


class _HttpDoor:
    def __init__(
        self,
        intake: Intake,
        allowed: AllowList,
        timeout_seconds: float,
        max_body_bytes: int,
        tokens: Tokens,
    ) -> None:
        self._intake = intake
        self._allowed = allowed
        self._tokens = tokens
        self._timeout_seconds = timeout_seconds
        self._max_body_bytes = max_body_bytes
        self._body_bytes = 0
        self._free = {
            media_type: asyncio.Semaphore(_PARALLEL_REQUESTS) for media_type in (PROTOBUF, JSON)
        }
        # JSON becomes many times its size, and nothing can interrupt the C code that reads it.
        self._reading_json = threading.Lock()

    async def export(self, signal: Signal, request: Request) -> Response:
        """Answer an export request."""
        if not self._tokens.allow(request.headers.get("authorization")):
            self._intake.turn_away(signal, "unauthenticated")
            raise HTTPException(401, WHY_REFUSED, CHALLENGE)
        media_type = _media_type(request)
        if media_type not in {PROTOBUF, JSON}:
            raise HTTPException(415, f"content type must be {PROTOBUF} or {JSON}")
        body = _Body()
        try:
            answer = await self._answer(signal, request, body, media_type)
        except ClientDisconnect:
            return Response(status_code=400)
        finally:
            self._body_bytes -= body.size
        return _response(answer, media_type)

    async def _answer(
        self, signal: Signal, request: Request, body: _Body, media_type: str
    ) -> _Answer:
        try:
            headers = self._allowed.pick(request.headers.items())
            async with asyncio.timeout(self._timeout_seconds):
                await self._read(signal, request, body)
        except TimeoutError:
            self._intake.turn_away(signal, "timeout")
            text = f"the request took longer than {self._timeout_seconds:g} seconds"
            raise HTTPException(408, text) from None
        except (BadInput, Unavailable) as error:
            if isinstance(error, BadInput):
                self._intake.refuse(signal, error)
            answer = _answer_error(error)
            return replace(answer, headers={**answer.headers, **_CLOSE})
        encoding = request.headers.get("content-encoding", "").strip().lower() or "identity"
        decode = partial(self._decode, signal, encoding, media_type)
        async with self._free[media_type]:
            return await run_in_threadpool(self._take, signal, body.take(), headers, decode)

    async def _read(self, signal: Signal, request: Request, body: _Body) -> None:
        """Read the body as it was sent, and no more of it than can be taken."""
        most = self._intake.limits.max_request_bytes
        declared = request.headers.get("content-length", "")
        expected = int(declared) if declared.isdecimal() else 0
        if expected > most:
            raise TooLarge(f"body of more than {most} bytes")
        self._intake.admit(signal, expected)
        self._check_room(signal, self._body_bytes, expected)
        async for chunk in request.stream():
            body.data += chunk
            body.size += len(chunk)
            self._body_bytes += len(chunk)
            if body.size > most:
                raise TooLarge(f"body of more than {most} bytes")
            self._check_room(signal, self._body_bytes - body.size, body.size)

    def _check_room(self, signal: Signal, others: int, size: int) -> None:
        """Refuse a body of ``size`` beside those of others; one alone is always taken."""
        if others and others + size > self._max_body_bytes:
            self._intake.turn_away(signal, "unavailable")
            raise Unavailable("too many requests at once", DEFAULT_RETRY_SECONDS)

    def _take(
        self, signal: Signal, body: bytes, headers: Headers, to_protobuf: ToProtobuf
    ) -> _Answer:
        try:
            receipt = self._intake.take(signal, body, headers, to_protobuf)
        except (BadInput, Unavailable) as error:
            return _answer_error(error)
        return _Answer(200, answer_export(signal, receipt), {})

    def _decode(
        self, signal: Signal, encoding: str, media_type: str, body: bytes, limits: Limits
    ) -> bytes:
        """Return the protobuf of a body as it was sent."""
        if media_type != JSON:
            return inflate(body, encoding, limits.max_request_bytes)
        with self._reading_json:
            return to_protobuf(signal, inflate(body, encoding, limits.max_request_bytes), limits)


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _answer_error(error: BadInput | Unavailable) -> _Answer:
    if isinstance(error, Unavailable):
        seconds = error.retry_after_seconds
        wait = math.ceil(DEFAULT_RETRY_SECONDS if seconds is None else seconds)
        status = Status(code=Code.UNAVAILABLE, message=str(error))
        return _Answer(503, status, {"retry-after": str(wait)})
    if isinstance(error, TooLarge):
        status = Status(code=Code.RESOURCE_EXHAUSTED, message=str(error))
        return _Answer(413, status, _CLOSE)
    return _Answer(400, Status(code=Code.INVALID_ARGUMENT, message=str(error)), {})


async def _answer_unserved(signal: Signal, _: Request) -> Response:
    raise HTTPException(404, explain_unserved(signal))


async def _answer_http_exception(request: Request, error: Exception) -> Response:
    """Answer what is not read: unknown paths, methods and types, and what takes too long."""
    if not isinstance(error, HTTPException):
        raise error
    code = _CODES.get(error.status_code, Code.INVALID_ARGUMENT)
    status = Status(code=code, message=str(error.detail))
    # What follows an unread body on the connection would be taken for the next request.
    headers = {**(error.headers or {}), **_CLOSE}
    return _response(_Answer(error.status_code, status, headers), _media_type(request))


def _response(answer: _Answer, media_type: str) -> Response:
    if media_type == PROTOBUF:
        content = answer.message.SerializeToString()
    else:
        media_type = JSON
        content = json_format.MessageToJson(answer.message, indent=None).encode()
    return Response(content, answer.http_status, dict(answer.headers), media_type)
