"""Clients of LLMs that need no network: they answer from a function or a list."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from otel_raglog.errors import RaglogError
from otel_raglog.judge.client import Ask, Question, Reply, YesShare

Said = Reply | RaglogError | Mapping[str, Any] | str


class FakeClient:
    """Answers what ``says`` holds or returns; remembers what it was asked.

    A mapping is sent as JSON, a text as it is, an exception is raised. Of a list each answer is
    given once, and the last one for ever.
    """

    provider = "fake"

    def __init__(self, says: Sequence[Said] | Callable[[Ask], Said], model: str = "m") -> None:
        self.model = model
        self.asked: list[Ask] = []
        self.timeouts: list[float] = []
        self.closed = False
        self._says = says
        self._lock = threading.Lock()

    def ask(self, request: Ask, timeout_seconds: float) -> Reply:
        with self._lock:
            number = len(self.asked)
            self.asked.append(request)
            self.timeouts.append(timeout_seconds)
        says = self._says
        said = says(request) if callable(says) else says[min(number, len(says) - 1)]
        if isinstance(said, RaglogError):
            raise said
        if isinstance(said, Reply):
            return said
        return Reply(said if isinstance(said, str) else json.dumps(said))

    def first_token(self, question: Question, timeout_seconds: float) -> YesShare:
        return YesShare(0.5)

    def close(self) -> None:
        self.closed = True
