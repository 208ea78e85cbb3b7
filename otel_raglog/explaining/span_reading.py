"""A span to what was read of it under which key, and what was looked for in vain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.conventions.convention import Convention
from otel_raglog.conventions.registry import recognise
from otel_raglog.explaining.keys import has_key
from otel_raglog.model import Field, FieldStatus, Role, Span, SpanFacts, TokenUsage

WORDS: Mapping[str, str] = {
    "input": "input",
    "output": "output",
    "query": "query",
    "documents": "documents",
    "input_documents": "documents given",
    "embedding_texts": "embedded texts",
    "messages": "messages",
    "output_messages": "response",
    "prompt_template": "prompt template",
    "prompt_variables": "prompt variables",
    "top_k": "top k",
    "model": "model",
    "finish_reason": "finish reason",
    "tokens": "tokens",
    "tool_name": "tool name",
    "component": "component",
    "session_id": "session id",
    "user_id": "user id",
}
"""What people call the facts of a span."""

CONTENT: Mapping[Role, tuple[str, ...]] = {
    Role.LLM: ("messages", "output_messages"),
    Role.EMBEDDER: ("embedding_texts",),
    Role.RETRIEVER: ("query", "documents"),
    Role.RERANKER: ("query", "input_documents", "documents"),
}
"""The facts that make a span of a role worth judging."""

_NO_TOKENS = TokenUsage()
_WHOLE_STEP = ("input", "output")


@dataclass(frozen=True, slots=True)
class Used:
    """A fact that was read. ``key`` is empty where the convention does not say which it was."""

    fact: str
    key: str
    convention: str
    status: FieldStatus
    count: int | None = None
    """Of a list: how many."""


@dataclass(frozen=True, slots=True)
class Sought:
    """A fact that is missing. ``keys`` are not on the span; ``unusable`` are, and do not say it."""

    fact: str
    status: FieldStatus
    keys: tuple[str, ...] = ()
    unusable: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SpanReading:
    """What the conventions make of one span. ``facts`` is ``None`` where none reads it.

    ``speaking`` are those that read it (where none does, those with a marker on it); ``unread`` is
    a vocabulary that is known by name alone.
    """

    span: Span
    speaking: tuple[Convention, ...]
    facts: SpanFacts | None
    unread: str | None
    used: tuple[Used, ...] = ()
    sought: tuple[Sought, ...] = ()

    @property
    def role(self) -> Role:
        """What kind of work the span says it did."""
        return self.facts.role if self.facts else Role.UNKNOWN


def read_closely(span: Span, conventions: ConventionSet) -> SpanReading:
    """Return what was read of ``span``, and what was looked for in vain. Never raises."""
    speaking = conventions.speaking(span)
    facts = conventions.read(span)
    if facts is None:
        return SpanReading(span, speaking, None, recognise(span))
    speaking = tuple(item for item in speaking if item.read(span) is not None)
    wanted = _wanted(speaking, facts.role)
    used = (*_fields_used(facts), *_values_used(span, facts, speaking))
    sought = tuple(
        _sought(span, facts, fact, places)
        for fact, places in wanted.items()
        if not is_there(facts, fact)
    )
    return SpanReading(span, speaking, facts, None, used, sought)


def is_there(facts: SpanFacts, fact: str) -> bool:
    """Tell whether a span says something; an empty list is something."""
    value = getattr(facts, fact)
    if isinstance(value, Field):
        return value.usable
    return value is not None and value not in (_NO_TOKENS, {})


def is_content(reading: SpanReading, fact: str) -> bool:
    """Tell whether a fact is what makes a span of this kind worth judging."""
    return fact in CONTENT.get(reading.role, ())


@dataclass(frozen=True, slots=True)
class _Places:
    """Where conventions look for one fact."""

    keys: tuple[str, ...]
    notes: tuple[str, ...]


def _wanted(speaking: Sequence[Convention], role: Role) -> dict[str, _Places]:
    keys: dict[str, list[str]] = {}
    notes: dict[str, list[str]] = {}
    for convention in speaking:
        for item in convention.wanted.get(role, ()):
            keys.setdefault(item.fact, []).extend(item.keys)
            notes.setdefault(item.fact, []).extend([item.note] if item.note else [])
    return {
        fact: _Places(tuple(dict.fromkeys(found)), tuple(dict.fromkeys(notes[fact])))
        for fact, found in keys.items()
    }


def _fields_used(facts: SpanFacts) -> list[Used]:
    used: list[Used] = []
    for fact in WORDS:
        value = getattr(facts, fact)
        if isinstance(value, Field) and value.usable and value.source is not None:
            count = len(value.value) if isinstance(value.value, tuple) else None
            source = value.source
            used.append(Used(fact, source.key, source.convention, value.status, count))
    # The whole input of a step says no more than what was found in it.
    keys = {item.key for item in used if item.fact not in _WHOLE_STEP}
    return [item for item in used if item.fact not in _WHOLE_STEP or item.key not in keys]


def _values_used(span: Span, facts: SpanFacts, speaking: Sequence[Convention]) -> list[Used]:
    """Return the facts whose place the model does not carry: the wanted keys that are there."""
    used: list[Used] = []
    for fact in WORDS:
        if isinstance(getattr(facts, fact), Field) or not is_there(facts, fact):
            continue
        keys = _keys_there(span, facts.role, fact, speaking)
        shown = keys if fact == "tokens" else keys[:1]
        used.append(Used(fact, ", ".join(shown), facts.convention, FieldStatus.PRESENT))
    return used


def _keys_there(span: Span, role: Role, fact: str, speaking: Sequence[Convention]) -> list[str]:
    """Return the keys of a fact that a span bears, those for its own role first."""
    keys = [
        key
        for convention in speaking
        for known in sorted(convention.wanted, key=lambda other: other is not role)
        for item in convention.wanted[known]
        if item.fact == fact
        for key in item.keys
    ]
    return [key for key in dict.fromkeys(keys) if has_key(span, key)]


def _sought(span: Span, facts: SpanFacts, fact: str, places: _Places) -> Sought:
    value = getattr(facts, fact)
    status = value.status if isinstance(value, Field) else FieldStatus.NOT_CAPTURED
    there = [key for key in places.keys if has_key(span, key)]
    return Sought(
        fact=fact,
        status=status,
        keys=tuple(key for key in places.keys if key not in there),
        unusable=tuple(there),
        notes=places.notes,
    )
