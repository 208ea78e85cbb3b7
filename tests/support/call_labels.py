"""Labels of recorded calls, resolved to values, and what is read of the same calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otel_raglog_proxy_bridge.classifying import Classifier
from otel_raglog_proxy_bridge.model import (
    Call,
    EmbedderReading,
    Exchange,
    LlmReading,
    ReadCall,
    RerankerReading,
    RetrieverReading,
)
from otel_raglog_proxy_bridge.parsing import events_of, parse

LABELS = Path(__file__).parents[1] / "golden" / "calls" / "labels.jsonl"
HOSTS = LABELS.with_name("hosts.json")


@dataclass(frozen=True)
class Compared:
    """One call: its label, what the rules made of it, and which values differ."""

    call_id: str
    url: str
    half: str
    label: str
    read: ReadCall
    wrong: dict[str, tuple[object, object]]

    @property
    def decided(self) -> bool:
        """Whether a rule decided."""
        return self.read.decision.by == "rule"

    @property
    def stage_is_right(self) -> bool:
        """Whether the stage is the label's."""
        return self.read.decision.stage == self.label


def compare(records: list[dict[str, Any]], classifier: Classifier) -> Iterator[Compared]:
    """Yield each record compared with its label."""
    labels = {label["id"]: label for label in map(json.loads, LABELS.read_text().splitlines())}
    halves = {host: half for half, hosts in json.loads(HOSTS.read_text()).items() for host in hosts}
    for record in records:
        label = labels[record["id"]]
        exchange = parse(call_of(record))
        read = classifier.classify(exchange)
        wrong = {}
        if label["stage"] != "irrelevant":
            wanted = expected_values(exchange, record, label)
            found = found_values(read)
            wrong = {
                key: (value, found.get(key))
                for key, value in wanted.items()
                if alike(value) != alike(found.get(key))
            }
        yield Compared(
            record["id"], record["url"], halves[record["host"]], label["stage"], read, wrong
        )


def call_of(record: dict[str, Any]) -> Call:
    """Return a recorded call."""
    return Call(
        record["id"],
        record["method"].upper(),
        record["url"],
        record["status"],
        {"content-type": record["request_content_type"] or ""},
        {"content-type": record["response_content_type"] or ""},
        record["request_body"] or "",
        record["response_body"] or "",
    )


def expected_values(
    exchange: Exchange, record: dict[str, Any], label: dict[str, Any]
) -> dict[str, object]:
    """Return what the label's pointers point at."""
    view = {
        "request": exchange.request,
        "response": exchange.response,
        "events": list(events_of(record["response_body"] or "")),
        "query": dict(exchange.query),
        "path": list(exchange.segments),
    }
    values = resolved(view, label.get("values", {}))
    return {key: values.get(key) for key in label.get("values", {})}


def resolved(view: dict[str, object], item: Any) -> Any:
    """Return ``item`` with each pointer replaced by what is there."""
    if isinstance(item, str):
        return item[1:] if item.startswith("=") else pointed(view, item.split("/"))
    if isinstance(item, list):
        return [resolved(view, each) for each in item]
    if isinstance(item, dict):
        return {key: resolved(view, each) for key, each in item.items()}
    return item


def pointed(node: Any, parts: list[str]) -> Any:
    """Return what is at ``parts``; ``*`` concatenates over a list."""
    if not parts:
        return node
    part, rest = parts[0].replace("~1", "/"), parts[1:]
    if part == "*":
        found = [pointed(each, rest) for each in node] if isinstance(node, list) else []
        texts = [str(each) for each in found if each is not None]
        return "".join(texts) if texts else None
    if isinstance(node, list):
        return pointed(node[int(part)], rest) if int(part) < len(node) else None
    return pointed(node[part], rest) if isinstance(node, dict) and part in node else None


def found_values(read: ReadCall) -> dict[str, object]:
    """Return what was read, in the labels' form."""
    match read.reading:
        case EmbedderReading() as made:
            return {"model": made.model, "inputs": list(made.inputs)}
        case RetrieverReading(searches=(search, *_)):
            chunks = [
                {"id": each.id, "text": each.text, "score": each.score} for each in search.documents
            ]
            return {"query": search.query, "chunks": chunks}
        case RerankerReading() as ranked:
            results = [
                {"index": each.index, "id": each.id, "score": each.score} for each in ranked.results
            ]
            return {
                "model": ranked.model,
                "query": ranked.query,
                "documents": [each.text for each in ranked.documents],
                "results": results,
            }
        case LlmReading() as said:
            users = [m.content for m in said.messages if m.role == "user"]
            return {
                "model": said.model,
                "prompt": users[-1:],
                "system": [m.content for m in said.messages if m.role == "system"],
                "answer": [said.answer] if said.answer else [],
                "finish_reason": said.finish_reason,
            }
    return {}


def alike(value: Any, key: str = "") -> Any:
    """Return ``value`` so that what says the same is equal: texts without white space, joined."""
    if isinstance(value, list):
        if all(isinstance(each, str) for each in value):
            return "".join("".join(value).split())
        return [alike(each) for each in value]
    if isinstance(value, dict):
        return {key: alike(each, key) for key, each in value.items()}
    if isinstance(value, bool) or value is None:
        return "" if value is None else value
    if isinstance(value, int | float):
        return str(value) if key == "id" else float(value)
    return "".join(str(value).split())
