"""Cassettes of vcrpy, Ruby's VCR, Betamax and go-vcr, in YAML or JSON, to raw calls.

A cassette is made to be replayed and tells no usable times: its order is the order of its calls. A
body that is text has its content encoding undone, whatever the headers say; bytes and base64 are as
they went over the wire.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from otel_raglog_proxy_bridge.capture_files.cassette_yaml import DamagedYaml, load_yaml
from otel_raglog_proxy_bridge.capture_files.damaged_lists import Broken, json_items, yaml_items
from otel_raglog_proxy_bridge.capture_files.raw_values import (
    BadCapture,
    DamagedItem,
    base64_body,
    clean,
    headers_of,
    json_body,
    mapping_at,
    method_of,
    status_of,
    text_body,
    url_of,
    without_encoding,
)
from otel_raglog_proxy_bridge.safety import Headers, RawCall

_YAML_BEGINNING = re.compile(
    rb"(?:---[^\n]*\n|#[^\n]*\n|(?:version|recorded_with):[^\n]*\n|[ \t\r]*\n)*"
    rb"""["']?(?:http_)?interactions["']?:"""
)
_JSON_BEGINNING = re.compile(
    rb'\s*\{\s*(?:"(?:version|recorded_with)"\s*:\s*(?:[0-9]+|"[^"\n]*")\s*,\s*)*'
    rb'"(?:http_)?interactions"\s*:'
)
_KEY = "(?:http_)?interactions"
_WRAPPED = frozenset({"string", "base64_string", "encoding"})


def matches(suffix: str, content: bytes) -> bool:  # noqa: ARG001  a cassette is told by its first key
    """Return whether ``content`` begins as a cassette."""
    return any(sign.match(content) for sign in (_YAML_BEGINNING, _JSON_BEGINNING))


def read(content: bytes) -> Iterator[RawCall | str]:
    """Yield the calls of a cassette in its order, and sentences on what could not be read.

    Of one that is damaged or cut short the interactions that are whole are read.

    Raises:
        BadCapture: it is no YAML or JSON, has no list of interactions, or needs PyYAML.
    """
    for number, interaction in enumerate(_interactions(content), 1):
        if isinstance(interaction, Broken):
            yield interaction.told("interaction", number)
            continue
        try:
            yield _call(interaction, number)
        except DamagedItem as error:
            yield f"interaction {number} is damaged: {error}"


def _interactions(content: bytes) -> list[object]:
    if content.lstrip()[:1] == b"{":
        try:
            data = json.loads(content)
        except (ValueError, RecursionError) as error:
            if whole := json_items(content, _KEY):
                return whole
            raise BadCapture(f"a cassette that is no JSON: {clean(str(error))}") from None
    else:
        try:
            data = load_yaml(content)
        except DamagedYaml:
            found = [_one_by_itself(each) for each in yaml_items(content, _KEY.encode())]
            broken = sum(isinstance(each, Broken) for each in found)
            if broken < len(found):
                return found if broken else [*found, Broken("no YAML", is_after=True)]
            raise
    return _listed(data)


def _listed(data: object) -> list[object]:
    if isinstance(data, Mapping):
        for key in ("interactions", "http_interactions"):
            found = data.get(key)
            if isinstance(found, list):
                return found
    raise BadCapture("a cassette without a list of interactions")


def _one_by_itself(document: bytes) -> object:
    try:
        return _listed(load_yaml(document))[0]
    except BadCapture:
        return Broken("no YAML, or cut short")


def _call(interaction: object, number: int) -> RawCall:
    request = mapping_at(interaction, "request")
    response = interaction.get("response") if isinstance(interaction, Mapping) else None
    answer: Mapping[str, object] = response if isinstance(response, Mapping) else {}
    request_headers, request_body = _message(request)
    response_headers, response_body = _message(answer)
    return RawCall(
        id=str(number),
        method=method_of(request.get("method")),
        url=url_of(request.get("uri") or request.get("url")),
        status=_status(answer),
        request_headers=request_headers,
        response_headers=response_headers,
        request_body=request_body,
        response_body=response_body,
    )


def _status(answer: Mapping[str, object]) -> int | None:
    """Return the status, which some write below ``status``, some beside it."""
    told = answer.get("status")
    if isinstance(told, Mapping):
        return status_of(told.get("code"))
    for key in ("code", "status_code", "status"):
        if answer.get(key) is not None:
            return status_of(answer[key])
    return None


def _message(message: Mapping[str, object]) -> tuple[Headers, bytes]:
    """Return the headers of a message and its body, which some recorders keep parsed."""
    headers = headers_of(message.get("headers"))
    if message.get("parsed_body") is not None:
        return without_encoding(headers), json_body(message["parsed_body"])
    body, is_raw = _body(message["body"] if "body" in message else message.get("content"))
    return headers if is_raw else without_encoding(headers), body


def _body(found: object) -> tuple[bytes, bool]:
    """Return a body, and whether it is as it went over the wire."""
    if isinstance(found, Mapping) and found and _WRAPPED.issuperset(found):
        if found.get("base64_string") is not None:
            return base64_body(found["base64_string"]), True
        found = found.get("string")
    if found is None:
        return b"", False
    if isinstance(found, bytes):
        return found, True
    if isinstance(found, str):
        return text_body(found), False
    return json_body(found), False
