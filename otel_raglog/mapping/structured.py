"""LLM outputs written in named fields, as JSON or in DSPy's chat form, to the answer among them."""

from __future__ import annotations

import re

from otel_raglog.conventions.json_text import parse_json
from otel_raglog.mapping.texts import sections

_FENCED = re.compile(r"\s*```\w*[ \t]*\n(.*?)\n?[ \t]*```\s*", re.DOTALL)
_NAMES = (
    "answer",
    "final_answer",
    "answer_text",
    "response",
    "final_response",
    "reply",
    "output",
    "result",
    "text",
    "content",
)
"""How a field is named that holds an answer, surest first."""

_REASONING = frozenset(
    {"reasoning", "rationale", "thought", "thoughts", "thinking", "explanation", "completed"}
)


def structured_answer(text: str) -> str | None:
    """Return the answer of an output that is nothing but named fields, else ``None``.

    In JSON (fenced or not) it is a text under the name of an answer. In DSPy's chat form it is the
    last field that is no reasoning; an agent's next step is none.
    """
    if "[[ ## " in text:
        return _last_field(sections(text))
    fenced = _FENCED.fullmatch(text)
    data = parse_json(fenced[1] if fenced else text)
    if not isinstance(data, dict):
        return None
    said = (value for name in _NAMES if isinstance(value := data.get(name), str))
    return next((value.strip() for value in said if value.strip()), None)


def _last_field(fields: dict[str, str]) -> str | None:
    if any(name.startswith("next_") for name in fields):
        return None
    told = [body for name, body in fields.items() if body and name.lower() not in _REASONING]
    return told[-1] if told else None
