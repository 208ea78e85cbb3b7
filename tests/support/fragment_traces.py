"""Traces of applications with one trace per call: the embedding, the search, the LLM call."""

from __future__ import annotations

from dataclasses import replace

from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans
from samples import key_value, span_message
from span_trees import embedding, llm, retriever, trace_of

from otel_raglog.model import Origin, Span, Trace, WireSpan

QUESTION = "When does the night ferry to Sandmouth leave?"
CHUNKS = (
    ("d1", "The night ferry to Sandmouth leaves Ellery at 22:15 from 1 May to 30 September."),
    ("d2", "Dogs are welcome on deck 4 of the Aurelia, on a lead of at most two metres."),
)
ANSWER = "At 22:15 from Ellery, every evening."


class Call:
    """Builds traces of one call each, with ids and times of their own."""

    def __init__(self, session="s1", resource=None):
        self.session = session
        self.resource = resource or {"service.name": "shop-bot", "service.instance.id": "i1"}
        self._next = 0

    def trace(self, *roots, session="", **options):
        """Return a trace; its spans bear the session unless that is ``None``."""
        self._next += 1
        number = self._next
        session = self.session if session == "" else session
        trace = trace_of(
            *roots, trace_id=number.to_bytes(16, "big"), resource=self.resource, **options
        )
        ids = {
            span.span_id: (number * 100 + at).to_bytes(8, "big")
            for at, span in enumerate(trace.spans, 1)
        }
        own = {} if session is None else {"session.id": session}
        return replace(
            trace,
            spans=tuple(
                replace(
                    span,
                    span_id=ids[span.span_id],
                    parent_id=ids.get(span.parent_id, span.parent_id),
                    attributes={**span.attributes, **own},
                )
                for span in trace.spans
            ),
        )

    def embed(self, text=QUESTION, at=0, **options):
        """Return an embedding call that starts ``at`` milliseconds."""
        return self.trace(embedding("embed", text, start=at + 1, end=at + 100), **options)

    def search(self, query=QUESTION, chunks=CHUNKS, at=200, **options):
        """Return a search; without a query it was made with a vector."""
        node = retriever("search", query or "", *chunks, start=at + 1, end=at + 100)
        if query is None:
            del node.attributes["input.value"]
        return self.trace(node, **options)

    def answer(self, question=QUESTION, chunks=CHUNKS, said=ANSWER, at=400, **options):
        """Return an LLM call with the chunks in its prompt."""
        context = "\n\n".join(text for _, text in chunks)
        prompt = f"Answer from the context.\n\nContext:\n{context}\n\nQuestion: {question}"
        return self.chat([("user", prompt)], said, at=at, **options)

    def chat(self, turns, said, at=400, **options):
        """Return any LLM call."""
        return self.trace(llm("chat", turns, said, start=at + 1, end=at + 900), **options)


def wire_spans(trace: Trace) -> tuple[WireSpan, ...]:
    """Return the spans of a trace as they arrive."""
    return tuple(_wire(span) for span in trace.spans)


def _wire(span: Span) -> WireSpan:
    resource = ResourceSpans()
    resource.resource.attributes.extend(key_value(k, v) for k, v in span.resource.items())
    scope = ScopeSpans()
    scope.scope.name = span.scope_name
    message = span_message(
        span.span_id, span.parent_id, span.name, span.attributes, span.trace_id, span.end_unix_nano
    )
    message.start_time_unix_nano = span.start_unix_nano
    return WireSpan(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_id=span.parent_id,
        remote_parent=False,
        held=True,
        finishes_run=False,
        spoofed=False,
        origin=Origin(resource.SerializeToString(), scope.SerializeToString()),
        raw=message.SerializeToString(),
    )
