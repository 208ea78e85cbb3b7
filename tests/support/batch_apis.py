"""Batch APIs of Anthropic and OpenAI as functions: lines of requests in, lines of results out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from judge_behaviours import check_of, sound_answer

Answering = Callable[[str, Mapping[str, Any]], str | None]
"""A check's key and the request's body in, the text of the reply out; ``None``: a sound one."""


def requests_in(*paths: Path) -> list[dict[str, Any]]:
    """Return the requests in files."""
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def results_of(requests: Iterable[Mapping[str, Any]], answer: Answering) -> list[dict[str, Any]]:
    """Return the results of a batch, in another order than the requests had."""
    return [_result(request, answer) for request in reversed(list(requests))]


def write_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> Path:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _result(request: Mapping[str, Any], answer: Answering) -> dict[str, Any]:
    anthropic = "params" in request
    body = request["params" if anthropic else "body"]
    schema = _schema(body)
    check = check_of(schema, "")
    text = answer(check or "", body) or sound_answer(schema, check)
    if anthropic:
        message = {
            "id": "msg_1", "type": "message", "role": "assistant",
            "model": f"{body['model']}-20261001", "stop_reason": "end_turn", "stop_sequence": None,
            "content": [{"type": "text", "text": text}],
            "usage": {"input_tokens": 1_000, "output_tokens": 200},
        }  # fmt: skip
        return {
            "custom_id": request["custom_id"],
            "result": {"type": "succeeded", "message": message},
        }
    completion = {
        "id": "c1", "object": "chat.completion", "created": 1,
        "model": f"{body['model']}-2026-10-01",
        "choices": [{
            "index": 0, "finish_reason": "stop", "logprobs": None,
            "message": {"role": "assistant", "content": text, "refusal": None},
        }],
        "usage": {"prompt_tokens": 1_000, "completion_tokens": 200, "total_tokens": 1_200},
    }  # fmt: skip
    return {
        "id": "batch_req_1",
        "custom_id": request["custom_id"],
        "response": {"status_code": 200, "request_id": "r", "body": completion},
        "error": None,
    }


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any]:
    if "output_config" in body:
        found: Mapping[str, Any] = body["output_config"]["format"]["schema"]
    else:
        found = body["response_format"]["json_schema"]["schema"]
    return found
