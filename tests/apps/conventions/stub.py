"""An OpenAI-compatible server that says what it was told to say, and embeds by counting words.

`POST /_replies` with ``{"replies": [...]}`` gives the answers of the chat calls to come, in order;
a reply is a text, or an object that is merged into the message (``tool_calls``). Without one left
the answer is `ANSWER`. Chat (also streamed), the responses API, embeddings and Cohere-like rerank
are served. Nothing is random: the same calls give the same answers.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from http.server import BaseHTTPRequestHandler
from threading import Lock
from typing import Any

from corpus import ANSWER
from loopback import Loopback, Quiet

DIMENSIONS = 16
MODEL = "stub-chat-1"
_WORD = re.compile(r"[a-z0-9]{3,}")


def embed(text: str) -> list[float]:
    """Return a unit vector that is nearer to texts with the same words."""
    counts = [0.0] * DIMENSIONS
    for word in _WORD.findall(text.lower()):
        counts[zlib.crc32(word.removesuffix("s").encode()) % DIMENSIONS] += 1.0
    length = sum(count * count for count in counts) ** 0.5 or 1.0
    return [round(count / length, 6) for count in counts]


def overlap(query: str, text: str) -> float:
    """Return the share of the query's words that a text has."""
    words = set(_WORD.findall(query.lower()))
    return round(len(words & set(_WORD.findall(text.lower()))) / max(1, len(words)), 4)


class Handler(Quiet, BaseHTTPRequestHandler):
    """Answers the calls of one stub."""

    owner: Stub
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        path = self.path.partition("?")[0].rstrip("/")
        if path == "/_replies":
            self.owner.tell(body["replies"])
            self._answer({})
        elif path.endswith("/chat/completions"):
            self._chat(body)
        elif path.endswith("/responses"):
            self._answer(response(self.owner.next(), body))
        elif path.endswith("/embeddings"):
            self._answer(embeddings(body))
        elif path.endswith("/rerank"):
            self._answer(reranked(body))
        else:
            self._answer({"error": {"message": f"no {path}"}}, 404)

    def _chat(self, body: dict[str, Any]) -> None:
        message = self.owner.next()
        if not body.get("stream"):
            self._answer(completion(message, body))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in chunks(message, body):
            self.wfile.write(f"data: {event}\n\n".encode())
        self.close_connection = True

    def _answer(self, value: dict[str, Any], status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Stub(Loopback):
    """Serves while it is open, on a free loopback port."""

    def __init__(self) -> None:
        super().__init__(Handler)
        self._replies: list[str | dict[str, Any]] = []
        self._lock = Lock()

    @property
    def base_url(self) -> str:
        """The base URL of OpenAI's client."""
        return f"{self.url}/v1"

    def tell(self, replies: list[str | dict[str, Any]]) -> None:
        """Set what the next chat calls get."""
        with self._lock:
            self._replies = list(replies)

    def next(self) -> dict[str, Any]:
        """Return the next message."""
        with self._lock:
            reply = self._replies.pop(0) if self._replies else ANSWER
        if isinstance(reply, str):
            return {"role": "assistant", "content": reply}
        return {"role": "assistant", "content": None, **reply}


def usage(message: dict[str, Any], body: dict[str, Any]) -> dict[str, int]:
    """Count words as tokens."""
    given = len(json.dumps(body.get("messages", body.get("input", ""))).split())
    made = len((message.get("content") or "").split()) or 1
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


def completion(message: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """A chat completion."""
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    return {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 1780000000,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": usage(message, body),
    }


def chunks(message: dict[str, Any], body: dict[str, Any]) -> list[str]:
    """A streamed chat completion's events."""
    head = {
        "id": "chatcmpl-stub",
        "object": "chat.completion.chunk",
        "created": 1780000000,
        "model": MODEL,
    }
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word} for word in re.findall(r"\S+\s*", message.get("content") or "")]
    calls = message.get("tool_calls")
    if calls:
        deltas.append({"tool_calls": [{"index": at, **call} for at, call in enumerate(calls)]})
    events = [
        {**head, "choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas
    ]
    reason = "tool_calls" if calls else "stop"
    events.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    if (body.get("stream_options") or {}).get("include_usage"):
        events.append({**head, "choices": [], "usage": usage(message, body)})
    return [*map(json.dumps, events), "[DONE]"]


def response(message: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """An answer of the responses API."""
    text = {"type": "output_text", "text": message.get("content") or "", "annotations": []}
    counts = usage(message, body)
    return {
        "id": "resp_stub",
        "object": "response",
        "created_at": 1780000000,
        "status": "completed",
        "model": MODEL,
        "output": [
            {
                "type": "message",
                "id": "msg_stub",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }
        ],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": counts["prompt_tokens"],
            "output_tokens": counts["completion_tokens"],
            "total_tokens": counts["total_tokens"],
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def embeddings(body: dict[str, Any]) -> dict[str, Any]:
    """Vectors, as numbers or in base64."""
    given = body["input"]
    texts = [given] if isinstance(given, str) or (given and isinstance(given[0], int)) else given
    vectors: list[Any] = [embed(text if isinstance(text, str) else str(text)) for text in texts]
    if body.get("encoding_format") == "base64":
        vectors = [
            base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
            for vector in vectors
        ]
    words = sum(len(str(text).split()) for text in texts)
    return {
        "object": "list",
        "model": body.get("model", "stub-embed-1"),
        "data": [
            {"object": "embedding", "index": at, "embedding": vector}
            for at, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": words, "total_tokens": words},
    }


def reranked(body: dict[str, Any]) -> dict[str, Any]:
    """Cohere's answer: places and scores, best first."""
    texts = [text if isinstance(text, str) else text.get("text", "") for text in body["documents"]]
    scored = sorted(
        ({"index": at, "relevance_score": overlap(body["query"], t)} for at, t in enumerate(texts)),
        key=lambda item: -item["relevance_score"],
    )
    kept = scored[: body.get("top_n") or len(scored)]
    return {"id": "rerank-stub", "results": kept, "meta": {"api_version": {"version": "2"}}}
