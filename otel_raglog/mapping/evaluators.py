"""Spans of evaluators, which are left out with all below them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from otel_raglog.mapping.judging import is_assessment
from otel_raglog.mapping.question import spoken_answer
from otel_raglog.mapping.roles import evaluates
from otel_raglog.mapping.texts import same_normal
from otel_raglog.mapping.verdicts import is_verdict
from otel_raglog.model import Role, Span, SpanFacts

_SEARCHES = {Role.RETRIEVER, Role.RERANKER}
_WRAPPERS = {Role.TOOL, Role.CHAIN, Role.AGENT, Role.UNKNOWN}


def evaluator_spans(spans: Sequence[Span], facts: Mapping[bytes, SpanFacts]) -> set[bytes]:
    """Return the ids of the evaluators' spans that may be left out.

    One that is only named so stays where a search, or the call that gives the run's answer, is below
    it: it is a step of the run (corrective RAG grades what it finds). One of that kind stays where
    the only searches of the trace are below it.
    """
    named = {s.span_id for s in spans if s.span_id in facts and evaluates(s, facts[s.span_id])}
    if not named:
        return named
    forest = _Forest(spans, facts)
    below = {key: frozenset(forest.below(key)) for key in named}
    inside = frozenset[bytes]().union(*below.values()) | named
    searched = any(forest.searches(span.span_id) for span in spans if span.span_id not in inside)
    found: set[bytes] = set()
    for key, inner in below.items():
        declared = facts[key].role is Role.EVALUATOR
        searching = any(forest.searches(other) for other in inner)
        if searching and not (declared and searched):
            continue
        if declared or not forest.answers(key, inner, named):
            found.add(key)
    return found


class _Forest:
    """The spans of a trace by their ids, before a tree is built of them."""

    def __init__(self, spans: Sequence[Span], facts: Mapping[bytes, SpanFacts]) -> None:
        self._facts = facts
        self._parents = {span.span_id: span.parent_id for span in spans}
        self._children: dict[bytes, list[bytes]] = {}
        for span in spans:
            self._children.setdefault(span.parent_id, []).append(span.span_id)

    def below(self, key: bytes) -> Iterator[bytes]:
        seen = {key}
        pending = list(self._children.get(key, ()))
        while pending:
            inner = pending.pop()
            if inner not in seen:
                seen.add(inner)
                yield inner
                pending.extend(self._children.get(inner, ()))

    def searches(self, key: bytes) -> bool:
        read = self._facts.get(key)
        if read is None:
            return False
        return read.role in _SEARCHES or (read.role in _WRAPPERS and read.documents.usable)

    def answers(self, key: bytes, inner: frozenset[bytes], named: set[bytes]) -> bool:
        """Tell whether a call below a span says what one around it gives for the answer."""
        said = [
            text
            for other in inner
            if (read := self._facts.get(other)) is not None and read.role is Role.LLM
            for text in (read.output.value, *(m.content for m in read.output_messages.value or ()))
            if text and not is_verdict(text) and not is_assessment(text)
        ]
        answers = [
            answer
            for outer in self._above(key)
            if said and outer not in named and (read := self._facts.get(outer)) is not None
            if (answer := spoken_answer(read).value)
        ]
        return any(same_normal(answer, text) for answer in answers for text in said)

    def _above(self, key: bytes) -> Iterator[bytes]:
        seen = {key}
        outer = self._parents.get(key, b"")
        while outer in self._parents and outer not in seen:
            seen.add(outer)
            yield outer
            outer = self._parents[outer]
