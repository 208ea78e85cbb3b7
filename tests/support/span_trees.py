"""Small traces written as nested calls, for tests of conventions and mapping."""

from __future__ import annotations

import json
from collections.abc import Mapping

from otel_raglog.model import Completion, Span, Trace

TRACE_ID = bytes(range(16))
MILLISECOND = 1_000_000


class Node:
    """A span and those within it; times follow from the nesting unless given."""

    def __init__(self, name, attributes, children, options):
        self.name = name
        self.attributes = attributes
        self.children = children
        self.options = options


def span(name, *children, attributes=None, **options):
    """Return a span with ``attributes`` and ``children``.

    Options: ``id``, ``parent`` (an id that overrides the nesting), ``error``, ``dropped``,
    ``start`` and ``end`` in milliseconds, ``scope`` (and its ``version``), ``truncated``, ``detached`` (no parent).
    """
    return Node(name, dict(attributes or {}), children, options)


def oi(kind, name, *children, attributes=None, said=None, given=None, **options):
    """Return an OpenInference span with ``input.value`` ``given`` and ``output.value`` ``said``."""
    found = {"openinference.span.kind": kind}
    for key, value in (("input", given), ("output", said)):
        if value is None:
            continue
        if isinstance(value, str):
            found[f"{key}.value"] = value
        else:
            found[f"{key}.value"] = json.dumps(value)
            found[f"{key}.mime_type"] = "application/json"
    return Node(name, {**found, **(attributes or {})}, children, options)


def documents(*chunks, prefix="retrieval.documents"):
    """Return flattened documents of texts, ``(id, text)`` or ``(id, text, score)``."""
    found = {}
    for index, chunk in enumerate(chunks):
        parts = (None, chunk) if isinstance(chunk, str) else chunk
        names = ("id", "content", "score", "metadata")
        for name, value in zip(names, parts, strict=False):
            if value is not None:
                found[f"{prefix}.{index}.document.{name}"] = value
    return found


def messages(*turns, prefix="llm.input_messages"):
    """Return flattened messages of ``(role, content)`` pairs."""
    found = {}
    for index, (role, content) in enumerate(turns):
        found[f"{prefix}.{index}.message.role"] = role
        found[f"{prefix}.{index}.message.content"] = content
    return found


def llm(name, prompt, reply, *children, attributes=None, **options):
    """Return an LLM span; ``prompt`` is the user's text or ``(role, content)`` pairs."""
    turns = [("user", prompt)] if isinstance(prompt, str) else prompt
    found = {"llm.model_name": "m", **messages(*turns)}
    found |= messages(("assistant", reply), prefix="llm.output_messages")
    return oi("LLM", name, *children, attributes={**found, **(attributes or {})}, **options)


def retriever(name, query, *chunks, children=(), attributes=None, **options):
    """Return a retriever span with structured documents."""
    found = {**documents(*chunks), **(attributes or {})}
    return oi("RETRIEVER", name, *children, attributes=found, given=query, **options)


def embedding(name, text, *children, **options):
    """Return an embedding span."""
    found = {"embedding.model_name": "e", "embedding.embeddings.0.embedding.text": text}
    return oi("EMBEDDING", name, *children, attributes=found, **options)


def spans_of(*roots, trace_id=TRACE_ID, resource=None):
    """Return the spans of nested calls, in order of start, one tick apart."""
    found = []
    tick = 1_000

    def visit(node, parent):
        nonlocal tick
        number = len(found) + 1
        options = node.options
        span_id = options.get("id", number.to_bytes(8, "big"))
        place = len(found)
        found.append(None)
        start = options.get("start", tick)
        tick = max(tick, start) + 1
        for child in node.children:
            visit(child, span_id)
        end = options.get("end", tick)
        tick = max(tick, end) + 1
        parent = b"" if options.get("detached") else options.get("parent", parent)
        found[place] = Span(
            trace_id=trace_id,
            span_id=span_id,
            parent_id=parent,
            name=node.name,
            kind=1,
            start_unix_nano=start * MILLISECOND,
            end_unix_nano=end * MILLISECOND,
            attributes=node.attributes,
            events=options.get("events", ()),
            links=(),
            status_code=2 if options.get("error") else 1,
            status_message=options.get("error") or "",
            dropped_attributes_count=options.get("dropped", 0),
            dropped_events_count=0,
            scope_name=options.get("scope", "openinference.instrumentation.test"),
            resource=resource or {"service.name": "shop-bot"},
            truncated_keys=frozenset(options.get("truncated", ())),
            scope_version=options.get("version", ""),
        )

    for root in roots:
        visit(root, b"")
    return tuple(found)


def trace_of(*roots, completion=Completion.FILE_END, **options):
    """Return the trace of nested calls."""
    found = spans_of(*roots, **options)
    return Trace(found[0].trace_id if found else TRACE_ID, found, completion)


def summary(run) -> Mapping[str, object]:
    """Return what a person reading the trace would say of a run, as plain data."""
    states = {}
    for stage, state in run.stages.items():
        if state.absent:
            states[str(stage)] = "absent"
        elif state.reason is not None:
            states[str(stage)] = f"unknown: {state.reason}"
        else:
            states[str(stage)] = state.steps
    return {"question": run.question.value, "answer": run.answer.value, **states}
