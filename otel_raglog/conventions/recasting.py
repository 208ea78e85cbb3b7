"""A span's facts to those of the role that a user gave it."""

from __future__ import annotations

from dataclasses import replace

from otel_raglog.conventions.merging import merge
from otel_raglog.conventions.work import WorkReader
from otel_raglog.model import NOT_CAPTURED, Role, Span, SpanFacts


def recast(span: Span, facts: SpanFacts, role: Role) -> SpanFacts:
    """Return what a vocabulary reads from a span, had the span been of kind ``role``.

    What it reads from keys of its own stays; what is read from input and output by role is read
    anew. A rewriter is read as the LLM call that it is.
    """
    if facts.role is role:
        return facts
    reader = WorkReader(span, facts.convention)
    reader.role = Role.LLM if role is Role.REWRITER else role
    reader.input, reader.input_data = facts.input, facts.input_data
    reader.output, reader.output_data = facts.output, facts.output_data
    read = merge([replace(facts, role=role), replace(reader.facts(), role=role)])
    return replace(read, query=NOT_CAPTURED) if role is Role.REWRITER else read
