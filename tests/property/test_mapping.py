"""Mapping under arbitrary order, repetition and nonsense: always the same runs, never an error."""

from __future__ import annotations

import contextlib
import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from span_trees import documents, embedding, llm, oi, retriever, span, spans_of, trace_of

from otel_raglog.errors import BadInput
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import Completion, Span, Stage, Trace

# A busy machine is no failure.
patiently = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60, derandomize=True
)

QUESTION = "When does the night ferry leave?"


def pipeline(question, answer):
    chunk = ("a", f"About {question} one knows: {answer}")
    return oi(
        "CHAIN",
        "RunnableSequence",
        retriever(
            "outer",
            question,
            chunk,
            children=[retriever("inner", question, chunk, ("b", "Dogs are welcome on deck 4."))],
        ),
        embedding("embed", question),
        llm("chat", f"Context:\n{chunk[1]}\n\nQuestion: {question}", answer),
        given=question,
        said=answer,
    )


ROOTS = (
    span(
        "POST /batch", pipeline(QUESTION, "At 22:15."), pipeline("Where may dogs stay?", "Deck 4.")
    ),
)


@patiently
@given(st.randoms(use_true_random=False), st.integers(0, 20))
def test_order_and_repetition_do_not_matter(source: random.Random, repeats: int):
    """The same spans in any order and any number of times give the same runs."""
    spans = list(spans_of(*ROOTS))
    expected = map_trace(trace_of(*ROOTS))
    assert len(expected) == 2
    shuffled = spans + [source.choice(spans) for _ in range(repeats)]
    source.shuffle(shuffled)
    assert map_trace(Trace(spans[0].trace_id, tuple(shuffled), Completion.FILE_END)) == expected


@patiently
@given(st.randoms(use_true_random=False))
def test_order_does_not_matter_without_roots(source: random.Random):
    """Neither does it when the topmost spans were never sent."""
    spans = list(spans_of(*ROOTS))[1:]
    expected = map_trace(Trace(spans[0].trace_id, tuple(spans), Completion.ORPHAN_QUIET))
    source.shuffle(spans)
    found = map_trace(Trace(spans[0].trace_id, tuple(spans), Completion.ORPHAN_QUIET))
    assert found == expected


KEYS = st.sampled_from(
    [
        "openinference.span.kind",
        "input.value",
        "output.value",
        "input.mime_type",
        "llm.input_messages",
        "llm.input_messages.0.message.content",
        "llm.input_messages.3.message.role",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments",
        "llm.prompts",
        "llm.choices.0.completion.text",
        "llm.prompt_template.variables",
        "llm.token_count.prompt",
        "llm.model_name",
        "llm.finish_reason",
        "retrieval.documents",
        "retrieval.documents.0.document.content",
        "retrieval.documents.2.document.id",
        "retrieval.documents.2.document.metadata",
        "reranker.output_documents.0.document.score",
        "reranker.input_documents",
        "reranker.top_k",
        "embedding.embeddings.0.embedding.text",
        "embedding.embeddings.0.embedding.vector",
        "session.id",
        "tool.name",
        "gen_ai.operation.name",
        "metadata",
    ]
)
TEXTS = st.one_of(
    st.sampled_from(
        [
            "LLM",
            "retriever",
            "RERANKER",
            "EMBEDDING",
            "CHAIN",
            "TOOL",
            "PROMPT",
            "EVALUATOR",
            "__REDACTED__",
            "[]",
            "{}",
            '{"documents": []}',
            '{"messages": [{"role": "user", "content": [{"text": "hi"}]}]}',
            '["<NodeWithScore(node=TextNode(id_=a), score=None)>"]',
            "{'a': 'b'}",
            '{"query": "ferry", "x": [[[[',
            "[" * 3_000,
            '{"a":' * 2_000,
            '{"id": "\\ud800"}',
            "NaN",
            "a ferry",
        ]
    ),
    st.text(max_size=40),
)
VALUES = st.recursive(
    st.one_of(TEXTS, st.none(), st.booleans(), st.integers(), st.floats(), st.binary(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=4), inner, max_size=3),
    ),
    max_leaves=4,
)
IDS = st.integers(0, 9).map(lambda number: number.to_bytes(8, "big") if number else b"")
NAMES = st.sampled_from(
    ["retrieve", "rerank", "search_docs", "generate", "Predict", "PromptBuilder.run", "x"]
)


@st.composite
def odd_spans(draw):
    """Return a span with any attributes, times and parents, its own id among them."""
    return Span(
        trace_id=b"t" * 16,
        span_id=draw(IDS) or b"\x01",
        parent_id=draw(IDS),
        name=draw(NAMES),
        kind=draw(st.integers(0, 9)),
        start_unix_nano=draw(st.integers(0, 1 << 63)),
        end_unix_nano=draw(st.integers(0, 1 << 63)),
        attributes=draw(st.dictionaries(KEYS, VALUES, max_size=8)),
        events=(),
        links=(),
        status_code=draw(st.integers(0, 3)),
        status_message="",
        dropped_attributes_count=draw(st.integers(0, 2)),
        dropped_events_count=0,
        scope_name=draw(st.sampled_from(["a", "otel_raglog"])),
        resource=draw(st.sampled_from([{}, {"service.name": 7}])),
    )


@patiently
@given(st.lists(odd_spans(), max_size=12), st.sampled_from(Completion), st.randoms())
def test_odd_spans_never_raise(spans, completion, source):
    """Whatever the spans hold, there is a run, every stage of it has a state, order is nothing."""
    runs = map_trace(Trace(b"t" * 16, tuple(spans), completion))
    assert runs
    for run in runs:
        assert set(run.stages) == set(Stage)
        assert str(run).encode("utf-8")
    source.shuffle(spans)
    again = map_trace(Trace(b"t" * 16, tuple(spans), completion))
    assert repr(again) == repr(runs)


RECORD_KEYS = st.sampled_from(
    [
        "id",
        "question",
        "history",
        "rewrites",
        "embedder_input",
        "retrieved",
        "reranked",
        "passed",
        "prompt",
        "answer",
        "tokens",
        "steps",
        "turn",
        "session",
        "labels",
    ]
)


@patiently
@given(st.dictionaries(RECORD_KEYS, VALUES, max_size=8))
def test_odd_records_are_read_or_refused(record):
    """A record becomes a run or a clear refusal, nothing else."""
    run = None
    with contextlib.suppress(BadInput):
        run = run_from_record(record)
    assert run is None or set(run.stages) == set(Stage)


def test_very_deep_chains():
    """Ten thousand nested spans of any kind are mapped without recursion."""
    for kind, more in (
        ("CHAIN", {}),
        ("RETRIEVER", documents(("a", "A ferry."))),
        ("EMBEDDING", {}),
        ("LLM", {"llm.model_name": "m"}),
    ):
        count = 10_000
        spans = tuple(
            Span(
                trace_id=b"t" * 16,
                span_id=(number + 1).to_bytes(8, "big"),
                parent_id=number.to_bytes(8, "big") if number else b"",
                name="step",
                kind=1,
                start_unix_nano=1 + number,
                end_unix_nano=100_000 - number,
                attributes={"openinference.span.kind": kind, "input.value": QUESTION, **more},
                events=(),
                links=(),
                status_code=1,
                status_message="",
                dropped_attributes_count=0,
                dropped_events_count=0,
                scope_name="s",
                resource={},
            )
            for number in range(count)
        )
        runs = map_trace(Trace(b"t" * 16, spans, Completion.FILE_END))
        assert len(runs) == 1
        assert len(runs[0].span_ids) == count
