"""The sample applications' stub server, with what else real applications ask a model for.

On top of `stub_openai.py`: shorter vectors (`STUB_DIMENSIONS`), tool calls, a guard, titles, HyDE, sub-questions, a
router, an LLM as reranker; rerank in TEI's format, web search in Tavily's; and `POST /_fail` for calls that fail first.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import stub_openai
from catalogue import holds, load_handbook
from minilm import MiniLM
from replies import Reply, reply
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

_CHOICE = re.compile(r"^Document (\d+):\n(.*?)(?=^Document \d+:|\Z)", re.DOTALL | re.MULTILINE)


class ShortVectors(MiniLM):
    """The first numbers of each vector, at length one: as providers shorten vectors on request."""

    def __init__(self, dimensions: int) -> None:
        super().__init__()
        self._dimensions = dimensions

    def _vector(self, text: str) -> Any:
        short = super()._vector(text)[: self._dimensions]
        return short / (short @ short) ** 0.5


class BridgeStub(stub_openai.Stub):
    """The stub with more to say."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = ShortVectors(int(os.environ.get("STUB_DIMENSIONS", "40")))
        self.failures = 0

    async def fail(self, request: Request) -> Response:
        """The next calls of the language model are refused."""
        self.failures = (await request.json())["times"]
        return JSONResponse({})

    async def chat(self, request: Request) -> Response:
        if self.failures:
            self.failures -= 1
            error = {"message": "Rate limit reached", "type": "requests", "code": "rate_limit"}
            return JSONResponse({"error": error}, 429, {"retry-after-ms": "20"})
        body = await request.json()
        prompt = "\n\n".join(stub_openai._text(entry["content"]) for entry in body["messages"])
        plan = self.plan_for(prompt)
        if "tools" in body and body["messages"][-1]["role"] != "tool":
            return self._tool_call(body, plan)
        said = special(plan, prompt, self.encoder)
        if said is None:
            return await super().chat(request)
        return await self._say(body, plan, prompt, said)

    async def tei_rerank(self, request: Request) -> Response:
        """Score texts as text-embeddings-inference does."""
        body = await request.json()
        scores = [
            {"index": at, "score": round(self.encoder.similarity(body["query"], text), 6)}
            for at, text in enumerate(body["texts"])
        ]
        return JSONResponse(sorted(scores, key=lambda entry: -entry["score"]))

    async def web_search(self, request: Request) -> Response:
        """Search the handbook as if it were the web, as Tavily answers."""
        body = await request.json()
        pages = sorted(
            load_handbook(), key=lambda page: -self.encoder.similarity(body["query"], page.text)
        )[: body["max_results"]]
        results = [
            {
                "title": page.text.partition("\n")[0],
                "url": f"https://handbook.example/{page.id}",
                "content": page.text.partition("\n")[2],
                "score": round(self.encoder.similarity(body["query"], page.text), 6),
                "raw_content": None,
            }
            for page in pages
        ]
        return JSONResponse(
            {
                "query": body["query"],
                "follow_up_questions": None,
                "answer": None,
                "images": [],
                "results": results,
                "response_time": 0.02,
            }
        )

    def _tool_call(self, body: dict[str, Any], plan: dict[str, Any]) -> Response:
        name = body["tools"][0]["function"]["name"]
        call = {"name": name, "arguments": json.dumps({"query": plan["rewrites"][0]})}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": f"call_{len(self.log):04d}", "type": "function", "function": call}
            ],
        }
        self.log.append({"question": plan["question"], "role": "rewriter", "text": ""})
        return JSONResponse(_completion(body, message, "tool_calls", len(self.log)))

    async def _say(
        self, body: dict[str, Any], plan: dict[str, Any], prompt: str, text: str
    ) -> Response:
        await asyncio.sleep(0.02)
        self.log.append({"question": plan["question"], "role": "other", "text": text})
        usage = {
            "prompt_tokens": self.encoder.token_count(prompt),
            "completion_tokens": self.encoder.token_count(text),
        }
        usage["total_tokens"] = sum(usage.values())
        if body.get("stream"):
            return stub_openai.StreamingResponse(
                stub_openai._chunks(
                    f"chatcmpl-{len(self.log):06d}",
                    body["model"],
                    Reply(text, "stop", "other", "other"),
                    usage,
                ),
                media_type="text/event-stream",
            )
        message = {"role": "assistant", "content": text}
        return JSONResponse(_completion(body, message, "stop", len(self.log)) | {"usage": usage})


def special(plan: dict[str, Any], prompt: str, encoder: MiniLM) -> str | None:
    """What the model says to prompts that only some applications have; `None`: an ordinary one."""
    plain = prompt.lower()
    if "relevance: 7" in plain:
        return _chosen(plan, prompt, encoder)
    for sign, say in SAYINGS:
        if sign in plain:
            return say(plan, prompt)
    if "existing answer" in plain and holds(prompt, plan["answer"]):
        return str(plan["answer"])
    return _answer_of_part(plan, prompt)


def _passage(plan: dict[str, Any], _: str) -> str:
    return f"From the handbook of the company. {plan['wrong']} {plan['rewrites'][0]}."


def _queries(plan: dict[str, Any], _: str) -> str:
    return "\n".join(plan["rewrites"])


def _sub_questions(plan: dict[str, Any], _: str) -> str:
    items = [{"sub_question": hop, "tool_name": "handbook"} for hop in plan["rewrites"]]
    return f"```json\n{json.dumps({'items': items}, indent=4)}\n```"


def _next_question(plan: dict[str, Any], prompt: str) -> str:
    return next((hop for hop in plan["rewrites"] if not holds(prompt, hop)), "None")


def _choice(_: dict[str, Any], __: str) -> str:
    return json.dumps([{"choice": 1, "reason": "The question is about what the handbook rules."}])


def _chosen(plan: dict[str, Any], prompt: str, encoder: MiniLM) -> str:
    documents = dict(_CHOICE.findall(prompt.partition("Let's try this now")[2]))
    scores = {at: encoder.similarity(plan["question"], text) for at, text in documents.items()}
    best = sorted(scores, key=lambda at: -scores[at])[:3]
    return "\n".join(f"Doc: {at}, Relevance: {round(4 + 5 * scores[at])}" for at in best)


def _react(plan: dict[str, Any], prompt: str) -> str:
    if "Observation: " not in prompt.rpartition(plan["question"])[2]:
        arguments = json.dumps({"query": plan["rewrites"][0]})
        return f"Thought: I need the handbook.\nAction: search_handbook\nAction Input: {arguments}"
    said = reply(plan, prompt, None)  # type: ignore[arg-type]
    return f"Thought: I can answer without using any more tools.\nAnswer: {said.text}"


SAYINGS: tuple[tuple[str, Callable[[dict[str, Any], str], str]], ...] = (
    ("is this a question that the staff of a ferry company may be asked", lambda *_: "yes"),
    ("write a title of at most five words", lambda *_: "Question about the ferries"),
    ("write a passage to answer the question", _passage),
    ("generates multiple search queries", _queries),
    ("list of relevant sub-questions", _sub_questions),
    ("next question:", _next_question),
    ("some choices are given below", _choice),
    ("respond in one of the following two formats", _react),
)
"""What tells a prompt, and what is said to it."""


def _answer_of_part(plan: dict[str, Any], prompt: str) -> str | None:
    """Answers to sub-questions, and the answer that is put together from them."""
    says = [need["says"] for need in plan["needs"]]
    if all(holds(prompt, text) for text in says):
        return str(plan["answer"])
    if holds(prompt, plan["question"]):
        return None
    for hop, need in zip(plan["rewrites"], plan["needs"], strict=False):
        if len(plan["needs"]) > 1 and holds(prompt, hop):
            return need["says"] if holds(prompt, need["quote"]) else plan["refusal"]
    return None


def _completion(
    body: dict[str, Any], message: dict[str, Any], reason: str, number: int
) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{number:06d}",
        "object": "chat.completion",
        "created": stub_openai.CREATED,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 90, "completion_tokens": 18, "total_tokens": 108},
    }


def build_app() -> Starlette:
    """The routes."""
    stub = BridgeStub()
    return Starlette(
        routes=[
            Route("/_plan", stub.set_plan, methods=["POST"]),
            Route("/_log", stub.take_log, methods=["GET"]),
            Route("/_fail", stub.fail, methods=["POST"]),
            Route("/v1/embeddings", stub.embeddings, methods=["POST"]),
            Route("/v1/rerank", stub.rerank, methods=["POST"]),
            Route("/v1/chat/completions", stub.chat, methods=["POST"]),
            Route("/rerank", stub.tei_rerank, methods=["POST"]),
            Route("/search", stub.web_search, methods=["POST"]),
        ]
    )


if __name__ == "__main__":
    stub_openai.build_app = build_app
    sys.exit(stub_openai.main())
