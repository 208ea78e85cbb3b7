"""Samples of API calls for the bridge's formats: a call and what is read off it, in one JSON file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

from otel_raglog_proxy_bridge.formats.registry import APIS
from otel_raglog_proxy_bridge.model import Call
from otel_raglog_proxy_bridge.parsing import parse


def call_of(data: dict) -> Call:
    """Return the call that a sample describes; bodies that are no text are written as JSON."""
    return Call(
        id="sample",
        method=data.get("method", "POST"),
        url=data["url"],
        status=data.get("status", 200),
        request_headers=data.get("request_headers", {}),
        response_headers=data.get("response_headers", {}),
        request_body=body_of(data.get("request")),
        response_body=stream_of(data["events"])
        if "events" in data
        else body_of(data.get("response")),
    )


def body_of(data: object) -> str:
    """Return a body as text."""
    if data is None:
        return ""
    return data if isinstance(data, str) else json.dumps(data)


def stream_of(events: list) -> str:
    """Return events as a server-sent stream."""
    return "".join(f"data: {body_of(event)}\n\n" for event in events)


def check_sample(path: Path) -> None:
    """Assert that the sample's call is told by its API first, and read as the sample says."""
    sample = json.loads(path.read_text())
    exchange = parse(call_of(sample["call"]))
    api = next((api for api in APIS if api.recognises(exchange)), None)
    assert api is not None, "nobody recognises it"
    assert api.name == sample["api"] == path.stem.rsplit(".", 1)[0]
    found = None
    if api.read is not None:
        found = json.loads(json.dumps(filled(dataclasses.asdict(api.read(exchange)))))
    assert found == sample["reading"]


def filled(value: object) -> object:
    """Return ``value`` without what is ``None`` or empty."""
    if isinstance(value, dict):
        pairs = {key: filled(item) for key, item in value.items()}
        return {key: item for key, item in pairs.items() if item not in (None, [], (), {}, "")}
    if isinstance(value, list | tuple):
        return [filled(item) for item in value]
    return value


def damaged(call: Call) -> Iterator[Call]:
    """Yield ``call`` with each value of its JSON bodies replaced by others in turn."""
    for name in ("request_body", "response_body"):
        body = getattr(call, name)
        try:
            data = json.loads(body)
        except ValueError:
            yield dataclasses.replace(call, **{name: body[: len(body) // 2]})
            continue
        for odd in (None, 7, "x", [], {}, [[None]], True, -1.5, 10**400):
            for changed in _with_each_replaced(data, odd):
                yield dataclasses.replace(call, **{name: json.dumps(changed)})


def _with_each_replaced(data: object, odd: object, most: int = 4) -> Iterator[object]:
    """Yield copies of ``data`` with one value replaced; of a list its first ``most`` alone."""
    yield odd
    if isinstance(data, dict):
        for key in data:
            for changed in _with_each_replaced(data[key], odd):
                yield {**data, key: changed}
    elif isinstance(data, list):
        for index, item in enumerate(data[:most]):
            for changed in _with_each_replaced(item, odd):
                yield [*data[:index], changed, *data[index + 1 :]]
