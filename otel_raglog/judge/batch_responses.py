"""Files of responses, as the batch APIs of Anthropic and OpenAI write them, to replies."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from otel_raglog.errors import BadInput, Rejected
from otel_raglog.judge.client import Reply
from otel_raglog.judge.replies import AnthropicMessage, ChatCompletion

_GZIP_MAGIC = b"\x1f\x8b"
_REASON = re.compile(r"[a-z][a-z0-9_]{0,59}")
_OK = 200


@dataclass(frozen=True, slots=True)
class BatchResponse:
    """What came of one request. ``where`` is its file and line.

    Without a ``reply`` the ``failure`` is a snake_case word: the provider's where it gives one.
    """

    where: str
    custom_id: str
    reply: Reply | None = None
    model: str | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class UnreadableLine:
    """A line of no batch API: its file and line, and what is wrong with it."""

    where: str
    why: str


def read_responses(paths: Sequence[Path]) -> Iterator[BatchResponse | UnreadableLine]:
    """Yield what each line says, of both APIs' forms, in order. A file may be gzipped.

    Raises:
        BadInput: a file cannot be opened.
    """
    for path in paths:
        try:
            with path.open("rb") as file:
                packed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
                file.seek(0)
                if packed:
                    with gzip.open(file) as unpacked:
                        yield from _lines(path, unpacked)
                else:
                    yield from _lines(path, file)
        except OSError as error:
            raise BadInput(f"cannot read {path}: {error.strerror}") from None


def _lines(path: Path, file: Iterable[bytes]) -> Iterator[BatchResponse | UnreadableLine]:
    number = 0
    try:
        for line in file:
            number += 1
            if line.strip():
                yield _response(f"{path}, line {number}", line)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        yield UnreadableLine(f"{path}, line {number + 1}", "the gzip data are damaged")


# ------------------------------------------------------------------------ the APIs' own words


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _InnerError(_Part):
    type: str | None = None
    code: str | int | None = None


class _MessageError(_Part):
    error: _InnerError = _InnerError()


class _Result(_Part):
    type: Literal["succeeded", "errored", "canceled", "expired"]
    message: AnthropicMessage | None = None
    error: _MessageError | None = None


class _AnthropicLine(_Part):
    custom_id: str
    result: _Result

    def response(self, where: str) -> BatchResponse:
        if self.result.message is not None:
            return _replied(where, self.custom_id, self.result.message)
        if self.result.type == "succeeded":
            return BatchResponse(where, self.custom_id, failure="message_missing")
        told = None if self.result.error is None else self.result.error.error.type
        return BatchResponse(where, self.custom_id, failure=_word(told, self.result.type))


class _FailedBody(_Part):
    error: _InnerError = _InnerError()


class _HttpResponse(_Part):
    status_code: int
    body: Any = None


class _OpenAiLine(_Part):
    custom_id: str
    response: _HttpResponse | None = None
    error: _InnerError | None = None

    def parsed(self, where: str) -> BatchResponse:
        if self.response is None:
            told = None if self.error is None else self.error.code or self.error.type
            return BatchResponse(where, self.custom_id, failure=_word(told, "no_response"))
        if self.response.status_code != _OK:
            return BatchResponse(where, self.custom_id, failure=self._http_failure(self.response))
        completion = ChatCompletion.model_validate(self.response.body)
        return _replied(where, self.custom_id, completion)

    @staticmethod
    def _http_failure(response: _HttpResponse) -> str:
        status = f"http_{response.status_code}"
        try:
            error = _FailedBody.model_validate(response.body).error
        except ValidationError:
            return status
        return _word(error.code or error.type, status)


def _response(where: str, line: bytes) -> BatchResponse | UnreadableLine:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return UnreadableLine(where, "is no JSON")
    if not isinstance(data, dict) or not isinstance(data.get("custom_id"), str):
        return UnreadableLine(where, "has no custom_id: it is no response of a batch API")
    try:
        if "result" in data:
            return _AnthropicLine.model_validate(data).response(where)
        if "response" in data or "error" in data:
            return _OpenAiLine.model_validate(data).parsed(where)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"])
        return BatchResponse(
            where, data["custom_id"], failure=f"malformed_response at {place or 'response.body'}"
        )
    return UnreadableLine(where, "has neither a result nor a response: perhaps a file of requests")


def _replied(where: str, request_id: str, body: AnthropicMessage | ChatCompletion) -> BatchResponse:
    try:
        reply = body.reply()
    except Rejected as refusal:
        # It has its price all the same.
        return BatchResponse(
            where, request_id, Reply("", body.tokens()), body.model, refusal.reason
        )
    failure = "" if reply.text or not reply.complete else "empty_reply"
    return BatchResponse(where, request_id, reply, body.model, failure)


def _word(told: object, otherwise: str) -> str:
    """Return the provider's word for a failure, if it is one: anything else may be of a run."""
    return told if isinstance(told, str) and _REASON.fullmatch(told) else otherwise
