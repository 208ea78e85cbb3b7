"""Values to answers in JSON that no browser takes for anything else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


class JsonAnswer(Response):
    """JSON in ASCII, without ``<``, ``>`` and ``&``: harmless wherever it is put by mistake."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the bytes."""
        text = json.dumps(content, allow_nan=False, separators=(",", ":"))
        for character in "<>&":
            text = text.replace(character, f"\\u{ord(character):04x}")
        return text.encode("ascii")


def answer(values: Mapping[str, Any]) -> Response:
    """Return a success."""
    return JsonAnswer(values, headers=_HEADERS)


def error_answer(
    status: int, sentence: str, *, headers: Mapping[str, str] | None = None, **more: str
) -> Response:
    """Return an error: a sentence, and what else is told about it."""
    return JsonAnswer({"error": sentence, **more}, status, {**_HEADERS, **(headers or {})})
