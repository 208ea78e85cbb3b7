"""OTLP over HTTP: ``POST /v1/traces`` to the inbox, and an honest answer to each."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass

from google.protobuf import json_format
from google.protobuf.message import Message
from google.rpc.code_pb2 import Code
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from otel_raglog.errors import BadInput, TooLarge, Unavailable
from otel_raglog.model import Batch
from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.inflate import inflate
from otel_raglog.receive.intake import DEFAULT_RETRY_SECONDS, Intake, Split, describe_rejections
from otel_raglog.receive.otlp_json import split_json

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
_SPLITS: dict[str, Split] = {PROTOBUF: split_protobuf, JSON: split_json}
_PARALLEL_REQUESTS = 4
"""Requests decoded at once: decoding holds the interpreter, and each may hold megabytes."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What to tell the client: an HTTP status, a message and headers."""

    http_status: int
    message: Message
    headers: dict[str, str]


def build_http_app(intake: Intake) -> Starlette:
    """Return the application that serves ``POST /v1/traces`` in protobuf and JSON.

    Answers have the request's type; those of errors are a ``google.rpc.Status``. Spans with
    invalid ids are a partial success; 400 is for unreadable bodies and unknown encodings, 413
    for what is beyond the limits (the rest is not read and the connection is closed), 415 for
    other types, 503 with ``Retry-After`` for a full inbox. Decoding runs on worker threads.
    """
    door = _HttpDoor(intake)
    app = Starlette(
        routes=[Route("/v1/traces", door.export, methods=["POST"])],
        exception_handlers={HTTPException: _answer_http_exception},
    )
    app.router.redirect_slashes = False
    return app


class _HttpDoor:
    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._free = asyncio.Semaphore(_PARALLEL_REQUESTS)

    async def export(self, request: Request) -> Response:
        """Answer an export request."""
        media_type = _media_type(request)
        if media_type not in _SPLITS:
            raise HTTPException(415, f"content type must be {PROTOBUF} or {JSON}")
        try:
            body = await _read(request, self._intake.limits.max_request_bytes)
        except ClientDisconnect:
            return Response(status_code=400)
        except TooLarge as error:
            self._intake.refuse(error)
            return _response(_answer_error(error), media_type)
        encoding = request.headers.get("content-encoding", "").strip().lower() or "identity"
        async with self._free:
            answer = await run_in_threadpool(self._take, body, encoding, _SPLITS[media_type])
        return _response(answer, media_type)

    def _take(self, body: bytes, encoding: str, split: Split) -> _Answer:
        try:
            plain = inflate(body, encoding, self._intake.limits.max_request_bytes)
        except BadInput as error:
            self._intake.refuse(error)
            return _answer_error(error)
        try:
            return _answer_batch(self._intake.take(plain, split))
        except (BadInput, Unavailable) as error:
            return _answer_error(error)


async def _read(request: Request, max_bytes: int) -> bytes:
    """Return the body as it was sent; stop reading beyond ``max_bytes``."""
    body = bytearray()
    too_large = TooLarge(f"body of more than {max_bytes} bytes")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > max_bytes:
        raise too_large
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise too_large
    return bytes(body)


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _answer_batch(batch: Batch) -> _Answer:
    response = ExportTraceServiceResponse()
    if batch.rejected_count:
        response.partial_success.rejected_spans = batch.rejected_count
        response.partial_success.error_message = describe_rejections(batch)
    return _Answer(200, response, {})


def _answer_error(error: BadInput | Unavailable) -> _Answer:
    if isinstance(error, Unavailable):
        seconds = error.retry_after_seconds
        wait = math.ceil(DEFAULT_RETRY_SECONDS if seconds is None else seconds)
        status = Status(code=Code.UNAVAILABLE, message=str(error))
        return _Answer(503, status, {"retry-after": str(wait)})
    if isinstance(error, TooLarge):
        status = Status(code=Code.RESOURCE_EXHAUSTED, message=str(error))
        return _Answer(413, status, {"connection": "close"})
    return _Answer(400, Status(code=Code.INVALID_ARGUMENT, message=str(error)), {})


async def _answer_http_exception(request: Request, error: Exception) -> Response:
    """Answer what never reaches the door: unknown paths, methods and types."""
    if not isinstance(error, HTTPException):
        raise error
    codes = {404: Code.NOT_FOUND, 405: Code.UNIMPLEMENTED}
    status = Status(
        code=codes.get(error.status_code, Code.INVALID_ARGUMENT), message=str(error.detail)
    )
    # What follows an unread body on the connection would be taken for the next request.
    headers = {**(error.headers or {}), "connection": "close"}
    return _response(_Answer(error.status_code, status, headers), _media_type(request))


def _response(answer: _Answer, media_type: str) -> Response:
    if media_type == PROTOBUF:
        content = answer.message.SerializeToString()
    else:
        media_type = JSON
        content = json_format.MessageToJson(answer.message, indent=None).encode()
    return Response(content, answer.http_status, dict(answer.headers), media_type)
