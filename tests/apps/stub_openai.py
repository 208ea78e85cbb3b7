"""A small OpenAI-compatible server: real sentence vectors, a scripted language model, a reranker.

`POST /_plan` tells it what to play for the questions that come next, `GET /_log` hands out and empties the log.
Neither shows in any prompt, answer or span of the applications.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import socket
import sys
from typing import Any

import numpy as np
import uvicorn
from catalogue import holds, load_catalogue
from minilm import MiniLM
from replies import Reply, reply
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

SECONDS_PER_TOKEN = 0.002
EXCLUDED_SCORE = 0.05  # share of its score that a chunk keeps which the plan wants excluded
CREATED = 1_700_000_000


class Stub:
    """State between calls: the plans in force and the log of what was asked and said."""

    def __init__(self) -> None:
        self.encoder = MiniLM()
        self.catalogue = load_catalogue()
        self.plans: list[dict[str, Any]] = []
        self.log: list[dict[str, Any]] = []

    def plan_for(self, text: str) -> dict[str, Any]:
        """The plan whose question is in `text`; the last one where none is."""
        for plan in self.plans:
            if holds(text, plan["question"]):
                return plan
        return self.plans[-1]

    async def set_plan(self, request: Request) -> Response:
        self.plans = await request.json()
        return JSONResponse({"plans": len(self.plans)})

    async def take_log(self, _: Request) -> Response:
        log, self.log = self.log, []
        return JSONResponse(log)

    async def embeddings(self, request: Request) -> Response:
        body = await request.json()
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        data = []
        for index, text in enumerate(texts):
            vector = self.encoder.vector(text)
            value: Any = [float(number) for number in vector]
            if body.get("encoding_format") == "base64":
                value = base64.b64encode(vector.astype(np.float32).tobytes()).decode()
            data.append({"object": "embedding", "index": index, "embedding": value})
        tokens = sum(self.encoder.token_count(text) for text in texts)
        return JSONResponse(
            {
                "object": "list",
                "model": body["model"],
                "data": data,
                "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            }
        )

    async def rerank(self, request: Request) -> Response:
        """Cosine and shared words, in equal parts; planned exclusions keep a small part of their score."""
        body = await request.json()
        plan = self.plan_for(body["query"])
        scored = []
        for index, text in enumerate(body["documents"]):
            score = 0.5 * self.encoder.similarity(body["query"], text)
            score += 0.5 * _shared_words(body["query"], text)
            if plan["exclude"] and any(holds(text, need["quote"]) for need in plan["needs"]):
                score *= EXCLUDED_SCORE
            scored.append({"index": index, "relevance_score": round(max(score, 0.0), 6)})
        scored.sort(key=lambda entry: -entry["relevance_score"])
        return JSONResponse({"model": body["model"], "results": scored[: body["top_n"]]})

    async def chat(self, request: Request) -> Response:
        body = await request.json()
        prompt = "\n\n".join(_text(message["content"]) for message in body["messages"])
        plan = self.plan_for(prompt)
        said = reply(plan, prompt, self.catalogue)
        self.log.append(
            {
                "question": plan["question"],
                "role": said.role,
                "did": said.did,
                "prompt": prompt,
                "text": said.text,
                "finish_reason": said.finish_reason,
            }
        )
        usage = {
            "prompt_tokens": sum(
                self.encoder.token_count(part) for part in prompt.split("\n") if part
            ),
            "completion_tokens": self.encoder.token_count(said.text),
        }
        usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
        await asyncio.sleep(SECONDS_PER_TOKEN * usage["completion_tokens"])
        identity = f"chatcmpl-{len(self.log):06d}"
        if body.get("stream"):
            return StreamingResponse(
                _chunks(identity, body["model"], said, usage), media_type="text/event-stream"
            )
        return JSONResponse(
            {
                "id": identity,
                "object": "chat.completion",
                "created": CREATED,
                "model": body["model"],
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": said.text},
                        "finish_reason": said.finish_reason,
                    }
                ],
                "usage": usage,
            }
        )


async def _chunks(identity: str, model: str, said: Reply, usage: dict[str, int]) -> Any:
    head = {
        "id": identity,
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": model,
    }
    for piece in re.findall(r"\S+\s*", said.text):
        choice = {"index": 0, "delta": {"role": "assistant", "content": piece}}
        yield f"data: {json.dumps(head | {'choices': [choice | {'finish_reason': None}]})}\n\n"
        await asyncio.sleep(SECONDS_PER_TOKEN)
    last = {"index": 0, "delta": {}, "finish_reason": said.finish_reason}
    yield f"data: {json.dumps(head | {'choices': [last]})}\n\n"
    yield f"data: {json.dumps(head | {'choices': [], 'usage': usage})}\n\n"
    yield "data: [DONE]\n\n"


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or ())


def _shared_words(query: str, text: str) -> float:
    asked = set(re.findall(r"[a-z0-9£.,:-]{3,}", query.lower()))
    found = set(re.findall(r"[a-z0-9£.,:-]{3,}", text.lower()))
    return len(asked & found) / max(len(asked), 1)


def build_app() -> Starlette:
    """The routes of the stub."""
    stub = Stub()
    return Starlette(
        routes=[
            Route("/_plan", stub.set_plan, methods=["POST"]),
            Route("/_log", stub.take_log, methods=["GET"]),
            Route("/v1/embeddings", stub.embeddings, methods=["POST"]),
            Route("/v1/rerank", stub.rerank, methods=["POST"]),
            Route("/v1/chat/completions", stub.chat, methods=["POST"]),
        ]
    )


def main() -> None:
    """Listen on a free loopback port and print it."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(build_app(), log_level="warning"))
    print(listener.getsockname()[1], flush=True)
    server.run(sockets=[listener])


if __name__ == "__main__":
    sys.exit(main())
