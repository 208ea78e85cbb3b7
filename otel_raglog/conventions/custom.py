"""Spans of an application's own to facts, by the rules that its user wrote.

A rule says which spans it is about, what they are, and where each fact stands: an attribute, or
the events of a name, and a JMESPath in its JSON. What a user says goes before everything that is
built in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate
from functools import cache

from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.custom_places import PlaceReader, key_of
from otel_raglog.conventions.custom_values import (
    as_chunks,
    as_line,
    as_messages,
    as_texts,
    as_whole_number,
)
from otel_raglog.conventions.documents import with_score_kinds
from otel_raglog.conventions.merging import merge
from otel_raglog.custom_rules import CustomRule, Match, Place
from otel_raglog.model import (
    NOT_CAPTURED,
    AttributeValue,
    Chunk,
    Field,
    FieldStatus,
    Message,
    Provenance,
    Role,
    ScoreKind,
    Span,
    SpanFacts,
    TokenUsage,
)

NAME = "custom"

_ROLES: Mapping[str | None, Role] = {
    None: Role.UNKNOWN,
    "rewriter": Role.REWRITER,
    "embedder": Role.EMBEDDER,
    "retriever": Role.RETRIEVER,
    "reranker": Role.RERANKER,
    "assembly": Role.PROMPT,
    "generator": Role.LLM,
    "tool": Role.TOOL,
    "chain": Role.CHAIN,
    "agent": Role.AGENT,
    "ignore": Role.IGNORED,
}
_FACTS = {
    "question": "input",
    "history": "input",
    "query": "query",
    "top_k": "top_k",
    "documents": "documents",
    "candidates": "input_documents",
    "texts": "embedding_texts",
    "system": "messages",
    "prompt": "messages",
    "messages": "messages",
    "context": "prompt_variables",
    "answer": "output",
    "rewrites": "output_messages",
    "model": "model",
    "finish_reason": "finish_reason",
    "tokens": "tokens",
    "session": "session_id",
    "user": "user_id",
    "tool": "tool_name",
}
"""What a rule calls the facts of the model."""


@dataclass(frozen=True, slots=True)
class Custom:
    """The rules of a user, in order: of two that say different stages of a span the first wins."""

    rules: tuple[CustomRule, ...]
    name: str = NAME
    title: str = "rules of your own"
    remedy: str = (
        "conventions.custom says where this content is: compare its attributes and paths with "
        "what the spans hold"
    )

    @property
    def marker_prefixes(self) -> tuple[str, ...]:
        """Of each rule the longest key that it asks for: a span without it cannot match."""
        keys = {max(rule.match.attributes, key=len) for rule in self.rules if rule.match.attributes}
        return tuple(sorted(keys))

    @property
    def marker_names(self) -> tuple[str, ...]:
        """The beginnings of the span names of those rules that ask for no attribute."""
        matches = [rule.match for rule in self.rules if not rule.match.attributes]
        return tuple(sorted({match.beginning for match in matches}))

    @property
    def wanted(self) -> Mapping[Role, tuple[Wanted, ...]]:
        """Where the rules look for what spans of each role say."""
        found: dict[Role, dict[str, list[tuple[str, str]]]] = {}
        for rule in self.rules:
            facts = found.setdefault(_ROLES[rule.stage], {})
            for name, places in rule.places():
                listed = facts.setdefault(_FACTS[name.partition(".")[0]], [])
                listed.extend((key_of(place), place.path or "") for place in places)
        return {
            role: tuple(
                Wanted(
                    fact,
                    tuple(dict.fromkeys(key for key, _ in places)),
                    "; ".join(dict.fromkeys(f"path {path}" for _, path in places if path)),
                )
                for fact, places in facts.items()
            )
            for role, facts in found.items()
        }

    def read(self, span: Span) -> SpanFacts | None:
        """Return what the rules about ``span`` read from it, ``None`` when none is."""
        readings = [
            _Reader(span, rule).facts() for rule in self.rules if _matches(rule.match, span)
        ]
        if not readings:
            return None
        return replace(merge(readings), settled=any(facts.settled for facts in readings))


# ------------------------------------------------------------------------- matching


def _matches(match: Match, span: Span) -> bool:
    return (
        (match.span_name is None or _like(match.span_name, span.name))
        and (match.scope is None or _like(match.scope, span.scope_name))
        and all(
            key in span.attributes and _has_value(pattern, span.attributes[key])
            for key, pattern in match.attributes.items()
        )
    )


def _has_value(pattern: str, value: AttributeValue) -> bool:
    """Tell whether a value is as asked; of a list, whether one of its elements is."""
    if pattern == "*":
        return True
    values = value if isinstance(value, tuple) else (value,)
    return any(
        text is not None and _like(pattern, text)
        for text in (as_line(item) for item in values if not isinstance(item, tuple | Mapping))
    )


def _like(pattern: str, text: str) -> bool:
    return _pattern(pattern).match(text) is not None


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile(translate(glob))


# ------------------------------------------------------------------------- reading


class _Reader(PlaceReader):
    """Reads one span by one rule."""

    def __init__(self, span: Span, rule: CustomRule) -> None:
        super().__init__(span, NAME)
        self._rule = rule
        self.role = _ROLES[rule.stage]
        self.input, self.input_data = self._given()
        self.output, self.output_data = self._said()

    def facts(self) -> SpanFacts:
        return replace(super().facts(), settled=self._rule.stage is not None)

    def source(self, key: str) -> Provenance:
        return Provenance(self.span.span_id, key, f"{NAME}:{self._rule.name}")

    # ------------------------------------------------------------------ input and output

    def _given(self) -> tuple[Field[str], object | None]:
        question = self._text("question")
        history = self.find(self._rule.history, as_messages)
        if self.role in {Role.RETRIEVER, Role.RERANKER, Role.TOOL}:
            return self._text("query"), None
        if self.role is Role.REWRITER or not history.value or question.value is None:
            return question, None
        talk = [{"role": message.role, "content": message.content} for message in history.value]
        return question, {"question": question.value, "chat_history": talk}

    def _said(self) -> tuple[Field[str], object | None]:
        if self.role is Role.PROMPT:
            return self._text("prompt"), None
        if self._rule.rewrites:
            rewrites = self.find(self._rule.rewrites, as_texts)
            if rewrites.value is not None:
                text = Field("\n".join(rewrites.value), rewrites.status, rewrites.source)
                return text, {"queries": list(rewrites.value)}
            return Field(None, rewrites.status, rewrites.source), None
        return self._text("answer"), None

    # ------------------------------------------------------------------ facts

    def query(self) -> Field[str]:
        return self._text("question" if self.role is Role.REWRITER else "query")

    def documents(self) -> tuple[Field[tuple[Chunk, ...]], bool]:
        found = self._chunks(self._rule.documents)
        return found, found.value is not None

    def input_documents(self) -> Field[tuple[Chunk, ...]]:
        return self._chunks(self._rule.candidates)

    def embedding_texts(self) -> Field[tuple[str, ...]]:
        return self.find(self._rule.texts, as_texts)

    def messages(self) -> Field[tuple[Message, ...]]:
        if self.role is Role.PROMPT:
            return NOT_CAPTURED
        found = self.find(self._rule.messages, as_messages)
        if found.status is not FieldStatus.NOT_CAPTURED:
            return found
        prompt = self._text("prompt")
        if prompt.value is None and self.role is Role.REWRITER:
            prompt = self._text("question")
        if prompt.value is None:
            return Field(None, prompt.status, prompt.source)
        before = self.find(self._rule.history, as_messages).value or ()
        system = self._text("system")
        key = system.source.key if system.source else ""
        told = (Message("system", system.value, key),) if system.value else ()
        messages = (*told, *before, Message("user", prompt.value))
        return Field(messages, prompt.status, prompt.source)

    def output_messages(self) -> tuple[Field[tuple[Message, ...]], object | None]:
        read = self.output
        if self.role not in {Role.LLM, Role.REWRITER, Role.UNKNOWN}:
            return NOT_CAPTURED, None
        if read.value is None:
            return Field(None, read.status, read.source), None
        return Field((Message("assistant", read.value),), read.status, read.source), None

    def prompt_variables(self) -> Mapping[str, str]:
        context = self._text("context").value
        return {} if context is None else {"context": context}

    def top_k(self) -> int | None:
        return self.find(self._rule.top_k, as_whole_number).value

    def model(self) -> str | None:
        return self._text("model").value or None

    def finish_reason(self) -> str | None:
        return self._text("finish_reason").value or None

    def tokens(self) -> TokenUsage:
        places = self._rule.tokens
        return TokenUsage(
            self.find(places.prompt, as_whole_number).value,
            self.find(places.completion, as_whole_number).value,
            self.find(places.total, as_whole_number).value,
        )

    def tool_name(self) -> str | None:
        return self._text("tool").value or None

    def session_id(self) -> str | None:
        return self._text("session").value or None

    def user_id(self) -> str | None:
        return self._text("user").value or None

    def _text(self, name: str) -> Field[str]:
        places: Sequence[Place] = getattr(self._rule, name)
        return self.find(places, as_line)

    def _chunks(self, places: Sequence[Place]) -> Field[tuple[Chunk, ...]]:
        found = self.find(places, as_chunks)
        if not found.value:
            return found
        kind = self._rule.score_kind
        if kind is None:
            chunks = with_score_kinds(found.value, reranked=self.role is Role.RERANKER)
        else:
            chunks = tuple(
                replace(chunk, score_kind=ScoreKind(kind)) if chunk.score is not None else chunk
                for chunk in found.value
            )
        return Field(chunks, found.status, found.source)
