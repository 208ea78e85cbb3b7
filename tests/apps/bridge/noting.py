"""Outgoing HTTP calls of an application to what each was for, told by the code that made it.

Every call gets a number in the header `x-recorded-call`, which the recorder takes off again. The
stage comes from the functions that were running, the run from a context variable: the call itself
is not looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from threading import Lock
from types import FrameType
from typing import Any

import httpx

HEADER = "x-recorded-call"
IRRELEVANT = "irrelevant"
_STAGES = {
    "Embeddings.create": "embedder",
    "AsyncEmbeddings.create": "embedder",
    "Collection.query": "retriever",
    "web_agent.<locals>.web_search": "retriever",
    "HttpRerank._postprocess_nodes": "reranker",
    "HttpCompressor.compress_documents": "reranker",
    "TeiCompressor.compress_documents": "reranker",
    "Completions.create": None,
    "AsyncCompletions.create": None,
}
"""By the function that made the call; `None`: a call of the language model, whose caller decides."""

_run: ContextVar[int | None] = ContextVar("run", default=None)


@dataclass
class Note:
    """What a call was for; `run` is `None` outside of questions."""

    stage: str
    run: int | None


class Notes:
    """The calls of one application; `llm` says what its model was for, by the caller's name."""

    def __init__(self, llm: Mapping[str, str]) -> None:
        self._llm = llm
        self._notes: list[Note] = []
        self._lock = Lock()

    def install(self) -> None:
        """Number and note every call that httpx sends in this process from now on."""
        send, asend = httpx.Client.send, httpx.AsyncClient.send

        def noting(client: Any, request: httpx.Request, **options: Any) -> httpx.Response:
            self._note(request)
            return send(client, request, **options)

        async def anoting(client: Any, request: httpx.Request, **options: Any) -> httpx.Response:
            self._note(request)
            return await asend(client, request, **options)

        httpx.Client.send, httpx.AsyncClient.send = noting, anoting

    @contextmanager
    def run(self, number: int) -> Iterator[None]:
        """Calls inside belong to this question."""
        token = _run.set(number)
        try:
            yield
        finally:
            _run.reset(token)

    def last_was(self, stage: str) -> None:
        """Correct the newest call of this run: what a model was for may show in its answer alone."""
        number = _run.get()
        next(note for note in reversed(self._notes) if note.run == number).stage = stage

    def written(self) -> list[dict[str, Any]]:
        """All notes, in the order of their numbers."""
        return [asdict(note) for note in self._notes]

    def _note(self, request: httpx.Request) -> None:
        stage = self._stage(sys._getframe(2))
        with self._lock:
            request.headers[HEADER] = str(len(self._notes))
            self._notes.append(Note(stage, _run.get()))

    def _stage(self, frame: FrameType | None) -> str:
        model = False
        while frame is not None:
            name = frame.f_code.co_qualname
            if model and name in self._llm:
                return self._llm[name]
            if not model and name in _STAGES:
                stage = _STAGES[name]
                if stage:
                    return stage
                model = True
            frame = frame.f_back
        return self._llm.get("", "generator") if model else IRRELEVANT
