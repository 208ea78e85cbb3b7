"""Captured calls to safe ones: nothing secret leaves here, and nothing longer than the limit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from otel_raglog_proxy_bridge.bodies import UndecodableBody, body_text
from otel_raglog_proxy_bridge.carried_secrets import CarriedSecrets, of_headers, of_url
from otel_raglog_proxy_bridge.masking import mask_body, mask_text
from otel_raglog_proxy_bridge.model import Call, Side
from otel_raglog_proxy_bridge.safe_urls import mask_url
from otel_raglog_proxy_bridge.secret_names import is_secret_header
from otel_raglog_proxy_bridge.trace_headers import is_traceparent

Headers = tuple[tuple[str, str], ...]

KEPT_HEADERS = frozenset(
    {
        "content-type",
        "user-agent",
        "traceparent",
        "tracestate",
        "x-request-id",
        "x-correlation-id",
    }
)
_LONGEST_HEADER = 1024
_LONGEST_METHOD = 32


@dataclass(frozen=True, slots=True)
class RawCall:
    """One HTTP exchange as it was captured, secrets included: it never leaves the process.

    ``status`` is ``None`` when no answer came. Bodies are the bytes on the wire. Times are
    nanoseconds since the epoch.
    """

    id: str
    method: str
    url: str
    status: int | None = None
    request_headers: Headers = ()
    response_headers: Headers = ()
    request_body: bytes = b""
    response_body: bytes = b""
    started_ns: int = 0
    ended_ns: int = 0
    side: Side = Side.OUTBOUND
    client: str = ""
    error: str = ""
    cut: frozenset[str] = frozenset()
    """``request`` and ``response``: whose body was captured in part only."""


@dataclass(frozen=True, slots=True)
class SafetyRules:
    """What is kept, and what is masked beyond the secrets that everyone has.

    ``patterns`` are searched in every text of a call; in JSON, in each of its strings and whole
    numbers. A body in which one still matches across JSON's punctuation is dropped.
    ``extra_headers`` are kept besides those of ``KEPT_HEADERS``, unless their name tells a secret.
    ``secret_parameters`` are further query parameters whose value is masked.
    """

    patterns: tuple[tuple[re.Pattern[str], str], ...] = ()
    max_body_bytes: int = 1 << 20
    extra_headers: frozenset[str] = frozenset()
    secret_parameters: frozenset[str] = frozenset()


DEFAULT_RULES = SafetyRules()


def safe_call(
    raw: RawCall, rules: SafetyRules = DEFAULT_RULES, carried: CarriedSecrets | None = None
) -> Call:
    """Return ``raw`` without its secrets. Never raises: what cannot be made safe is left out.

    The secrets that it carries are masked wherever they come back in it; ``carried`` has those of
    the calls before it, and remembers its own.

    ``error`` says what was left out, after what went wrong on the way.
    """
    notes: list[str] = []
    carried = carried or CarriedSecrets()
    _note(raw, rules, carried, notes)
    cut = set(raw.cut)
    found: set[str] = set()
    call = Call(
        id=raw.id,
        method=raw.method[:_LONGEST_METHOD].upper(),
        url=_url(raw.url, rules, notes),
        status=raw.status,
        request_headers=_headers(raw.request_headers, rules, notes),
        response_headers=_headers(raw.response_headers, rules, notes),
        request_body=_body(_part(raw, "request"), rules, cut, notes, found),
        response_body=_body(_part(raw, "response"), rules, cut, notes, found),
        started_ns=raw.started_ns,
        ended_ns=raw.ended_ns,
        side=raw.side,
        client=raw.client,
        cut=frozenset(cut),
        error=_error(raw.error, rules, notes),
    )
    carried.note(found)
    return _without(call, carried)


def _note(raw: RawCall, rules: SafetyRules, carried: CarriedSecrets, notes: list[str]) -> None:
    try:
        carried.note(of_headers((*raw.request_headers, *raw.response_headers)))
        carried.note(of_url(raw.url, rules.secret_parameters))
    except Exception as unforeseen:  # noqa: BLE001 - what names and formats tell is masked anyway
        notes.append(f"secrets not looked for elsewhere: {type(unforeseen).__name__}")


def _without(call: Call, carried: CarriedSecrets) -> Call:
    """Return ``call`` without the values in ``carried``."""
    return replace(
        call,
        url=carried.mask(call.url),
        request_headers=_masked_values(call.request_headers, carried),
        response_headers=_masked_values(call.response_headers, carried),
        request_body=carried.mask(call.request_body),
        response_body=carried.mask(call.response_body),
        error=carried.mask(call.error),
    )


def _masked_values(headers: Mapping[str, str], carried: CarriedSecrets) -> dict[str, str]:
    return {name: carried.mask(value) for name, value in headers.items()}


def kept_names(names: Iterable[str]) -> frozenset[str]:
    """Return those of ``names``, in lower case, that may be kept: a name that tells no secret."""
    lowered = (name.strip().lower() for name in names)
    return frozenset(name for name in lowered if name and not is_secret_header(name))


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    headers: Headers
    content: bytes


def _part(raw: RawCall, name: str) -> _Part:
    if name == "request":
        return _Part(name, raw.request_headers, raw.request_body)
    return _Part(name, raw.response_headers, raw.response_body)


def _body(part: _Part, rules: SafetyRules, cut: set[str], notes: list[str], found: set[str]) -> str:
    if not part.content:
        return ""
    content_type = _header(part.headers, "content-type")
    encoding = _header(part.headers, "content-encoding")
    try:
        body = body_text(part.content, content_type, encoding, rules.max_body_bytes)
        if body.cut:
            cut.add(part.name)
        return mask_body(body.text, content_type, rules.patterns, cut=part.name in cut, found=found)
    except UndecodableBody as undecodable:
        notes.append(f"{part.name} body left out: {_masked(str(undecodable), rules)}")
    except Exception as unforeseen:  # noqa: BLE001 - a body that cannot be masked is not let through
        notes.append(f"{part.name} body left out: {type(unforeseen).__name__}")
    return ""


def _url(url: str, rules: SafetyRules, notes: list[str]) -> str:
    try:
        return mask_url(url, rules.patterns, rules.secret_parameters)
    except Exception as unforeseen:  # noqa: BLE001 - a URL that cannot be masked is not let through
        notes.append(f"URL left out: {type(unforeseen).__name__}")
        return ""


def _headers(headers: Headers, rules: SafetyRules, notes: list[str]) -> dict[str, str]:
    kept = KEPT_HEADERS | kept_names(rules.extra_headers)
    found: dict[str, str] = {}
    try:
        for name, value in headers:
            lowered = name.lower()
            if lowered == "traceparent" and not is_traceparent(value):
                continue  # whatever it is, it is not what belongs there
            if lowered in kept:
                before = f"{found[lowered]}, " if lowered in found else ""
                found[lowered] = before + mask_text(value[:_LONGEST_HEADER], rules.patterns)
    except Exception as unforeseen:  # noqa: BLE001 - headers that cannot be masked are not let through
        notes.append(f"headers left out: {type(unforeseen).__name__}")
        return {}
    return found


def _error(error: str, rules: SafetyRules, notes: list[str]) -> str:
    said = [_masked(error, rules)] if error else []
    return "; ".join([*said, *notes])


def _masked(text: str, rules: SafetyRules) -> str:
    try:
        return mask_text(text[:_LONGEST_HEADER], rules.patterns)
    except Exception as unforeseen:  # noqa: BLE001 - a text that cannot be masked is not let through
        return type(unforeseen).__name__


def _header(headers: Headers, name: str) -> str:
    return ", ".join(value for key, value in headers if key.lower() == name)
