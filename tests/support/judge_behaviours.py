"""What a scripted LLM server does with a request, and the sound answers that it gives unasked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

CHECKS = ("graded_stage", "graded_generator", "verification", "evidence_flow", "statements")

_FIELD_OF_CHECK = {
    "any_fault": "verification",
    "no_chunk_answers": "graded_stage",
    "unsupported_statements": "evidence_flow",
    "added_detail": "statements",
    "misstated_number": "graded_generator",
}
"""A field that only one check's schema has; the last one is that of a check with no such field."""

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What the server does with one request.

    ``text`` is the model's answer (``None``: a sound one); ``raw`` a body in place of the API's
    JSON. ``delay`` seconds pass before the first byte, ``drip`` seconds between bytes (of the
    headers too with ``drip_headers``). ``first_tokens`` are probabilities for log-probabilities.
    """

    text: str | None = None
    status: int = 200
    message: str = "scripted"
    parameter: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0
    drip_headers: bool = False
    reset: bool = False
    raw: bytes | None = None
    refused: bool = False
    truncated: bool = False
    first_tokens: Mapping[str, float] | None = None

    def error(self, protocol: str) -> dict[str, Any]:
        """Return the error body of an API."""
        kind = _ERROR_TYPES.get(self.status, "api_error")
        if protocol == "anthropic":
            return {"type": "error", "error": {"type": kind, "message": self.message}}
        error = {"message": self.message, "type": kind, "param": self.parameter, "code": None}
        return {"error": error}


def says(text: str | Mapping[str, Any]) -> Behaviour:
    """Let the model answer ``text``; a mapping as JSON."""
    return Behaviour(text if isinstance(text, str) else json.dumps(text))


def after(seconds: float, behaviour: Behaviour | None = None) -> Behaviour:
    """Do ``behaviour`` (a sound answer by default) so many seconds late."""
    return replace(behaviour or Behaviour(), delay=seconds)


def fails(status: int, *, retry_after: str | None = None, message: str = "scripted") -> Behaviour:
    """Answer an HTTP error; ``retry_after`` is the header as it is sent."""
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return Behaviour(status=status, message=message, headers=headers)


def resets() -> Behaviour:
    """Break the connection in the middle of the body."""
    return Behaviour(reset=True)


def drips(seconds: float = 0.05, *, headers: bool = False) -> Behaviour:
    """Send a byte every so many seconds."""
    return Behaviour(drip=seconds, drip_headers=headers)


def floods(size_bytes: int = 10_000_000) -> Behaviour:
    """Answer with so many bytes of text."""
    return Behaviour("x" * size_bytes)


def breaks_api() -> Behaviour:
    """Answer 200 with a body that is cut JSON."""
    return Behaviour(raw=b'{"id": "x", "content": [')


def breaks_json() -> Behaviour:
    """Let the model answer cut JSON."""
    return Behaviour('{"unsupported": 12, "off_')


def breaks_schema() -> Behaviour:
    """Let the model answer JSON of no check's schema."""
    return Behaviour('{"verdict": "fine"}')


def refuses() -> Behaviour:
    """Let the model decline."""
    return Behaviour("I cannot help with that.", refused=True)


def truncates() -> Behaviour:
    """Let the model's answer be cut off at its limit on tokens."""
    return Behaviour('{"unsupported": 12', truncated=True)


def first_tokens(probabilities: Mapping[str, float]) -> Behaviour:
    """Answer the likeliest of these tokens, with the log-probabilities of all."""
    return Behaviour(first_tokens=dict(probabilities))


# ------------------------------------------------------------------------- sound answers


def check_of(schema: Mapping[str, Any] | None, text: str) -> str | None:
    """Return the check that a request is of, by its schema, or by its text if it has none."""
    if schema and "properties" in schema:
        fields = set(schema["properties"])
        return next((check for check, answer in SOUND.items() if fields == set(answer)), None)
    told = json.dumps(schema) if schema else text
    return next((check for key, check in _FIELD_OF_CHECK.items() if f'"{key}"' in told), None)


def sound_answer(schema: Mapping[str, Any] | None, check: str | None) -> str:
    """Return an answer of ``schema`` by which the run has no fault."""
    if check in SOUND:
        answer: Any = SOUND[check]
        if schema and check == "graded_stage":
            answer = {key: answer[key] for key in schema["properties"] if key in answer}
    else:
        answer = _least(schema, schema) if schema else "yes"
    return answer if isinstance(answer, str) else json.dumps(answer)


_GRADES = dict.fromkeys(("unsupported", "off_question", "incomplete", "should_abstain", "wrong_refusal", "misstated_number"), 3)  # fmt: skip

SOUND: Mapping[str, Mapping[str, Any]] = {
    "graded_stage": {
        "rewriter": {"drops_constraint": 3, "adds_constraint": 3, "changes_entity": 3},
        "embedder": {"unfaithful": 3},
        "retriever": {"no_chunk_answers": 3, "partial_coverage": 3, "mostly_irrelevant": 3},
        "reranker": {"good_chunk_excluded": 3, "weak_chunks_passed": 3},
    },
    "graded_generator": _GRADES,
    "verification": {**_GRADES, "any_fault": 3},
    "evidence_flow": {
        "pieces": [{"piece": "the answer", "passed": "yes", "excluded": "no", "answer": "stated"}],
        "unsupported_statements": 0,
        "refusal": False,
    },
    "statements": {
        **dict.fromkeys(
            ("contradiction", "unsupported_answer", "added_detail", "harmless", "hedged"), 0
        ),
        **dict.fromkeys(("unsupported_fact", "omits_item", "wrong_refusal", "other_question"), 3),
    },
}


def _least(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return the smallest value of a JSON schema."""
    if "$ref" in schema:
        return _least(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "anyOf" in schema:
        return _least(schema["anyOf"][0], root)
    if schema.get("type") == "object":
        return {key: _least(item, root) for key, item in schema.get("properties", {}).items()}
    values = {"array": [], "boolean": False, "number": 0, "integer": 0, "string": "none"}
    least = values.get(schema.get("type", ""))
    return schema.get("enum", [schema.get("minimum", least)])[0]
