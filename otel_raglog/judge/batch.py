"""Requests to LLMs to files for the batch APIs of Anthropic and OpenAI."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from otel_raglog.checks.judge.judge_check import JudgeCheck
from otel_raglog.checks.judge.prompting import (
    FEWEST_NONCE_CHARACTERS,
    prompt_of,
    schema_of,
    system_of,
)
from otel_raglog.checks.judge.view import JudgeView
from otel_raglog.errors import BadInput, ConfigError
from otel_raglog.judge.client import Ask
from otel_raglog.judge.parts import Nonces

BATCH_PRICE_SHARE = 0.5
"""What a token costs in a batch, of what it costs in a single call: half, with both providers."""

_REQUEST_DIGITS = 32
_NO_NONCE = "0" * FEWEST_NONCE_CHARACTERS
"""Stands for the nonce where a request is told by what it says: each has another one."""


class BatchApi(StrEnum):
    """Whose form of batch."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What one batch may hold at most."""

    requests: int
    size_bytes: int


BATCH_LIMITS: Mapping[BatchApi, BatchLimits] = {
    # A little below 256 MB: the requests are sent inside one list.
    BatchApi.ANTHROPIC: BatchLimits(100_000, 255_000_000),
    BatchApi.OPENAI: BatchLimits(50_000, 200_000_000),
}


def custom_ids(
    run_id: str, view: JudgeView, checks: Iterable[JudgeCheck[Any]]
) -> Mapping[str, str]:
    """Return the ids of the requests about a run by the checks' keys.

    Each has 64 characters at most, ``[A-Za-z0-9_-]``, and is of the run's id and of all that the LLM
    is told and shown but the nonce: so it can be made again, and an answer to anything else is none to
    this request. It does not tell the run's own id, which may be long, odd or somebody's.
    """
    prompt = prompt_of(view, _NO_NONCE)
    return {
        check.key: f"{_digest(run_id, system_of(check), prompt, schema_of(check))}-{check.key}"
        for check in checks
    }


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_REQUEST_DIGITS]


def asks_of(
    checks: Sequence[JudgeCheck[Any]], view: JudgeView, nonces: Nonces
) -> Mapping[str, Ask]:
    """Return what ``checks`` ask about a run, by their keys: as online, each with its own nonce."""
    return {
        check.key: Ask(system_of(check), prompt_of(view, nonces()), check.key, schema_of(check))
        for check in checks
    }


def body_of(api: BatchApi, model: str, ask: Ask, *, reasons: bool = False) -> Mapping[str, Any]:
    """Return the body of a request, as the client of the API sends it.

    ``reasons``: the model reasons before it answers, whether it is asked to or not. A client finds
    that out by being refused; a batch must be told.

    Raises:
        ConfigError: the API's SDK is not installed.
    """
    try:
        clients = importlib.import_module(f"otel_raglog.judge.{api}_client")
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--api {api} needs {error.name}: pip install 'otel-raglog[judge]'"
        ) from None
    if api is BatchApi.ANTHROPIC:
        body: Mapping[str, Any] = clients.messages_body(model, ask, thinks=reasons)
    else:
        refused = ("temperature", "max_tokens") if reasons else ()
        body = clients.chat_body(model, ask, refused)
    return body


def request_line(api: BatchApi, request_id: str, body: Mapping[str, Any]) -> bytes:
    """Return one line of a file of requests. ``body`` is that of a single call of the API."""
    if api is BatchApi.ANTHROPIC:
        request = {"custom_id": request_id, "params": body}
    else:
        url = "/v1/chat/completions"
        request = {"custom_id": request_id, "method": "POST", "url": url, "body": body}
    text = json.dumps(request, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(request, allow_nan=False, separators=(",", ":")).encode() + b"\n"


@dataclass(slots=True)
class RequestFiles:
    """Writes lines of requests to a file, and to numbered ones beside it when a batch is full.

    ``requests.jsonl`` is followed by ``requests-2.jsonl``. They appear when all is written; an
    exception leaves what was there as it was.
    """

    out: Path
    limits: BatchLimits
    requests: int = 0
    paths: list[Path] = field(default_factory=list)
    _file: BinaryIO | None = None
    _lines: int = 0
    _bytes: int = 0

    def __enter__(self) -> Self:
        self._open_next()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._close()
            for path in self.paths if kind is None else ():
                self._unfinished(path).replace(path)
        except OSError as failure:
            raise BadInput(f"--out {self.out}: cannot be written: {failure.strerror}") from None
        finally:
            for path in self.paths:
                self._unfinished(path).unlink(missing_ok=True)

    def add(self, line: bytes) -> None:
        """Write a line.

        Raises:
            BadInput: it alone is more than a batch may hold, or cannot be written.
        """
        if len(line) > self.limits.size_bytes:
            raise BadInput(f"a request of {len(line)} bytes is larger than a whole batch may be")
        full = self._lines >= self.limits.requests
        if full or self._bytes + len(line) > self.limits.size_bytes:
            self._open_next()
        try:
            if self._file is not None:
                self._file.write(line)
        except OSError as error:
            raise self._unwritable(error) from None
        self._lines += 1
        self._bytes += len(line)
        self.requests += 1

    def _open_next(self) -> None:
        self._close()
        number = len(self.paths) + 1
        name = self.out.name if number == 1 else f"{self.out.stem}-{number}{self.out.suffix}"
        path = self.out.with_name(name)
        try:
            self._file = self._unfinished(path).open("wb")
        except OSError as error:
            raise self._unwritable(error) from None
        self.paths.append(path)
        self._lines = self._bytes = 0

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()

    @staticmethod
    def _unfinished(path: Path) -> Path:
        return path.with_name(f".{path.name}.{os.getpid()}")

    def _unwritable(self, error: OSError) -> BadInput:
        return BadInput(f"--out {self.out}: cannot be written: {error.strerror}")
