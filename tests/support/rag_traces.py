"""OpenInference traces of a small RAG application, built span by span."""

from __future__ import annotations

import json
import random

from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from samples import origin, span_message

from otel_raglog.model import WireSpan

DOCUMENTS = (
    ("d1", "The night ferry to Sandmouth leaves Ellery at 22:15 from 1 May to 30 September."),
    ("d2", "Dogs are welcome on deck 4 of the Aurelia, on a lead of at most two metres."),
    ("d3", "A foot passenger pays 18 euros one way and 31 euros for a return ticket."),
    ("d4", "Lost property is kept for 90 days at the terminal office in Ellery."),
)
QUESTIONS = (
    ("When does the night ferry to Sandmouth leave?", 0, "The night ferry leaves at 22:15."),
    ("Where may dogs stay on the Aurelia?", 1, "Dogs may stay on deck 4, on a lead."),
    ("What does a return ticket cost a foot passenger?", 2, "A return ticket costs 31 euros."),
    ("How long is lost property kept in Ellery?", 3, "Lost property is kept for 90 days."),
)
RAG_SPANS = 4
OTHER_SPANS = 2


def rag_trace(random_source: random.Random, number: int, *, feedback: str = "") -> list[WireSpan]:
    """Return a trace in order of end: a question about the ferries, among other spans.

    ``feedback`` is a person's label of the answer. Four spans belong to the run; two (an HTTP call below the retriever, a database span) cannot.
    """
    question, best, answer = QUESTIONS[number % len(QUESTIONS)]
    ranked = [best] + [index for index in range(len(DOCUMENTS)) if index != best]
    chunks = [DOCUMENTS[index] for index in ranked[:3]]
    trace_id = random_source.randbytes(16)
    root, retriever, embedder, llm, http, db = (random_source.randbytes(8) for _ in range(6))
    prompt = "Answer from the context.\n" + "\n\n".join(text for _, text in chunks)

    def span(
        span_id: bytes, parent: bytes, name: str, start: int, end: int, **kw: object
    ) -> SpanMessage:
        message = span_message(span_id, parent, name, kw, trace_id, end * 1_000_000)
        message.start_time_unix_nano = start * 1_000_000
        return message

    documents: dict[str, object] = {}
    for index, (identifier, text) in enumerate(chunks):
        documents[f"retrieval.documents.{index}.document.id"] = identifier
        documents[f"retrieval.documents.{index}.document.content"] = text
        documents[f"retrieval.documents.{index}.document.score"] = 0.9 - index / 10
    messages = [
        span(
            embedder, retriever, "embed", 11, 19,
            **{
                "openinference.span.kind": "EMBEDDING",
                "embedding.model_name": "m",
                "embedding.embeddings.0.embedding.text": question,
            },
        ),
        span(http, retriever, "POST", 20, 38, **{"http.request.method": "POST"}),
        span(db, http, "SELECT", 21, 37, **{"db.system.name": "postgresql"}),
        span(
            retriever, root, "VectorStoreRetriever", 10, 40,
            **{"openinference.span.kind": "RETRIEVER", "input.value": question, **documents},
        ),
        span(
            llm, root, "ChatModel", 50, 90,
            **{
                "openinference.span.kind": "LLM",
                "llm.model_name": "gpt-4o-mini",
                "llm.input_messages.0.message.role": "system",
                "llm.input_messages.0.message.content": prompt,
                "llm.input_messages.1.message.role": "user",
                "llm.input_messages.1.message.content": question,
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.content": answer,
                "llm.finish_reason": "stop",
                "llm.token_count.prompt": 120,
                "llm.token_count.completion": 12,
                "llm.invocation_parameters": json.dumps({"temperature": 0}),
            },
        ),
        span(
            root, b"", "answer", 5, 95,
            **{
                "openinference.span.kind": "CHAIN",
                "input.value": question,
                "output.value": answer,
                **_feedback(feedback),
            },
        ),
    ]  # fmt: skip
    unread = bytes([0xFA, 0x3F, 3]) + number.to_bytes(3, "big")  # a field of a later OTLP
    held = {root, retriever, embedder, llm}
    where = origin(f"shop-{number % 3}")
    return [
        WireSpan(
            trace_id=trace_id,
            span_id=message.span_id,
            parent_id=message.parent_span_id,
            remote_parent=False,
            held=message.span_id in held,
            finishes_run=False,
            spoofed=False,
            origin=where,
            raw=message.SerializeToString() + unread,
        )
        for message in messages
    ]


def _feedback(label: str) -> dict[str, object]:
    if not label:
        return {}
    place = "trace.annotations.0.annotation"
    return {f"{place}.label": label, f"{place}.annotator_kind": "HUMAN", f"{place}.name": "user"}
