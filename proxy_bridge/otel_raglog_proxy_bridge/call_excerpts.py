"""A call to what an LLM is shown of it: its shape, long texts and lists cut, between delimiters."""

from __future__ import annotations

import json
import re
import secrets
import string
from collections.abc import Callable, Mapping

from otel_raglog_proxy_bridge.formats.fields import number
from otel_raglog_proxy_bridge.model import Exchange

_LONGEST_TEXT = 160
_MOST_ITEMS = 3
_MOST_KEYS = 40
_DEEPEST = 10
_MOST_BODY = 6_000
_MOST_PLAIN = 600
_MOST_ADDRESS = 400
_MOST_EVENTS = 5
_FEWEST_NUMBERS = 8
_NONCE_LETTERS = 32
_OPENS = re.compile("<<<")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")

Nonces = Callable[[], str]
"""Returns a word that nobody can guess, another one each time."""


def new_nonce() -> str:
    """Return what nobody can guess, to stand in the delimiters of one question."""
    # Letters alone, which the redaction of numbers leaves as they are.
    return "".join(secrets.choice(string.ascii_lowercase) for _ in range(_NONCE_LETTERS))


def shown(exchange: Exchange, nonce: str) -> str:
    """Return the call as an LLM is shown it.

    All that comes from the call stands between delimiters with ``nonce``, none of which it can
    hold itself.
    """
    call = exchange.call
    address = f"{call.method} {exchange.host}/{'/'.join(exchange.segments)}"
    parts = [
        ("path", json.dumps(list(exchange.segments), ensure_ascii=False)[:_MOST_ADDRESS]),
        ("query", _body(dict(exchange.query), "")),
        ("request", _body(exchange.request, call.request_body)),
    ]
    if exchange.events:
        parts.append(("events", _body(list(exchange.events[:_MOST_EVENTS]), "")))
    else:
        parts.append(("response", _body(exchange.response, call.response_body)))
    status = "no answer came" if call.status is None else f"HTTP status {call.status}"
    blocks = [_between("address", address[:_MOST_ADDRESS], nonce), status]
    blocks += [_between(label, text, nonce) for label, text in parts]
    return "\n\n".join(blocks)


def _between(label: str, text: str, nonce: str) -> str:
    safe = _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text)
    safe = _OPENS.sub("<< <", safe.replace(nonce, "[…]"))
    return f"<<<untrusted {nonce} {label}>>>\n{safe}\n<<<end {nonce} {label}>>>"


def _body(data: object, raw: str) -> str:
    if data is None:
        return f"(no JSON) {raw[:_MOST_PLAIN]}" if raw else "(nothing)"
    text = json.dumps(shortened(data), ensure_ascii=False, indent=1)
    return text if len(text) <= _MOST_BODY else f"{text[:_MOST_BODY]}\n(cut here)"


def shortened(data: object, depth: int = 0) -> object:
    """Return JSON data of the same shape with its long texts, lists and objects cut.

    What was left out is said in its place.
    """
    if isinstance(data, str):
        if len(data) <= _LONGEST_TEXT:
            return data
        return f"{data[:_LONGEST_TEXT]}… ({len(data) - _LONGEST_TEXT} more characters)"
    if depth >= _DEEPEST and isinstance(data, list | Mapping):
        return "(deeper)"
    if isinstance(data, Mapping):
        kept = {key: shortened(data[key], depth + 1) for key in list(data)[:_MOST_KEYS]}
        more = len(data) - len(kept)
        return {**kept, "(more)": f"{more} keys"} if more else kept
    if isinstance(data, list):
        items = [shortened(item, depth + 1) for item in data[:_MOST_ITEMS]]
        more = len(data) - len(items)
        numbers = len(data) >= _FEWEST_NUMBERS and all(number(item) is not None for item in data)
        what = "numbers" if numbers else "items"
        return [*items, f"({more} more {what})"] if more else items
    return data
