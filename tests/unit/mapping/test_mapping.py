"""What holds for every mapped trace; the frameworks' shapes are in tests/golden/mapping."""

from span_trees import embedding, llm, oi, retriever, span, trace_of

from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import Stage

Q = "When does it leave?"


def run_of(**options):
    roots = span(
        "POST /ask",
        oi(
            "CHAIN",
            "app",
            embedding("e", Q),
            retriever("r", Q, ("a", "It leaves at 22:15, says the table.")),
            llm(
                "m", f"Context:\nIt leaves at 22:15, says the table.\n\nQuestion: {Q}", "At 22:15."
            ),
            given=Q,
            said="At 22:15.",
            attributes={"session.id": "s7"},
        ),
    )
    (run,) = map_trace(trace_of(roots, **options))
    return run


def test_identity():
    """Run id, top span, service, session and conventions."""
    run = run_of()
    assert run.run_id == run.trace_id.hex()
    assert run.top_span_id == (1).to_bytes(8, "big")
    assert (run.service, run.session_id, run.conventions) == ("shop-bot", "s7", ("openinference",))
    assert run_of(resource={"x": 1}).service == "unknown"


def test_provenance():
    """Every field of a run names the span and the key where it was read."""
    run = run_of()
    assert run.question.source.key == "input.value"
    assert run.retrievers[0].chunks.source.key == "retrieval.documents"
    assert run.generators[0].messages.source.key == "llm.input_messages"
    assert run.embedders[0].texts.source.span_id == run.embedders[0].origin.span_id


def test_every_step_says_why():
    """Each step has a span that carries its verdict, and a reason in words."""
    run = run_of()
    for stage in Stage:
        for step in run.steps(stage):
            assert step.origin.span_id in step.origin.span_ids
            assert step.origin.why
            assert step.origin.seconds >= 0


def test_a_retriever_searched_by_vector_gets_the_embedded_text():
    """A retriever that recorded only a vector was asked the text of the embedding before it."""
    found = oi(
        "RETRIEVER", "r", given={"query_embedding": [0.1]}, said={"documents": [{"content": "x"}]}
    )
    (run,) = map_trace(trace_of(oi("CHAIN", "app", embedding("e", "the query"), found, given=Q)))
    assert run.retrievers[0].query.value == "the query"
