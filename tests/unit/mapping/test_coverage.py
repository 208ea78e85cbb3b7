"""Which state a stage has when steps, texts or spans are missing."""

from otel_raglog.mapping.coverage import Signs, Steps, is_retrieved, reason_of, states_of
from otel_raglog.model import (
    NOT_CAPTURED,
    Chunk,
    EmbedStep,
    Field,
    FieldStatus,
    GenerateStep,
    RerankStep,
    RetrieveStep,
    RewriteKind,
    RewriteStep,
    Stage,
    StepOrigin,
    UnknownReason,
    missing,
    present,
)

Q = present("When does it leave?")
CHUNKS = present((Chunk("x", "a"),))


def retrieval(chunks=CHUNKS, query=Q, error=None):
    return RetrieveStep(StepOrigin(error=error), query, chunks)


def state(stage, steps, signs=None):
    return states_of(steps, Q, signs or Signs())[stage]


def test_nothing_retrieves():
    """Without any sign of retrieval all but the generator are absent."""
    states = states_of(Steps(), Q, Signs())
    assert [s for s in Stage if not states[s].absent] == [Stage.GENERATOR]
    assert not is_retrieved(Steps(), Signs())


def test_rewriter_of_a_search_without_a_span():
    """An earlier LLM call may have rewritten for a search of which nothing is known."""
    early = Signs(shows_context=True, early_calls=True)
    assert state(Stage.REWRITER, Steps(), early).reason is UnknownReason.NOT_CAPTURED
    assert state(Stage.REWRITER, Steps(), Signs(shows_context=True)).absent
    assert state(Stage.REWRITER, Steps(retrievers=(retrieval(),)), early).absent


def test_embedder():
    """A search by words has no embedder; any other that left none did not capture it."""
    steps = Steps(retrievers=(retrieval(),))
    assert state(Stage.EMBEDDER, steps, Signs(lexical=True)).absent
    assert state(Stage.EMBEDDER, steps).reason is UnknownReason.NOT_CAPTURED


def test_retriever_without_a_span():
    """Signs of retrieval without a span: not captured."""
    signs = Signs(shows_context=True)
    assert state(Stage.RETRIEVER, Steps(), signs).reason is UnknownReason.NOT_CAPTURED
    embedders = Steps(embedders=(EmbedStep(StepOrigin(), present(("q",))),))
    assert state(Stage.RETRIEVER, embedders).reason is UnknownReason.NOT_CAPTURED


def test_union_of_retrievals():
    """One retrieval that is not whole makes the union unknown; one that failed does not."""
    lost = Field((Chunk("y"),), FieldStatus.TRUNCATED)
    steps = Steps(retrievers=(retrieval(), retrieval(lost)))
    assert state(Stage.RETRIEVER, steps).reason is UnknownReason.INCOMPLETE
    steps = Steps(retrievers=(retrieval(), retrieval(NOT_CAPTURED, error="boom")))
    assert state(Stage.RETRIEVER, steps).reason is None
    steps = Steps(retrievers=(retrieval(NOT_CAPTURED, error="boom"),))
    assert state(Stage.RETRIEVER, steps).reason is UnknownReason.ERROR


def test_rewriter_that_left_no_span():
    """A search text that is another one than the question was rewritten by something unseen."""
    steps = Steps(retrievers=(retrieval(query=present("timetable of ferries")),))
    assert state(Stage.REWRITER, steps).reason is UnknownReason.NOT_CAPTURED
    assert state(Stage.REWRITER, Steps(retrievers=(retrieval(),))).absent
    hidden = Signs(unread_calls=UnknownReason.REDACTED)
    assert state(Stage.REWRITER, Steps(), hidden).reason is UnknownReason.REDACTED


def test_rewriter_whose_output_is_hidden():
    """A rewriter that was seen keeps the reason of its output."""
    step = RewriteStep(StepOrigin(), RewriteKind.REWRITE, Q, missing(FieldStatus.REDACTED))
    found = state(Stage.REWRITER, Steps(rewriters=(step,)))
    assert (found.steps, found.reason) == (1, UnknownReason.REDACTED)


def test_reranker():
    """Candidates and choice must both be there, in one step at least."""
    good = RerankStep(StepOrigin(), Q, CHUNKS, CHUNKS)
    bad = RerankStep(StepOrigin(), Q, NOT_CAPTURED, CHUNKS)
    assert state(Stage.RERANKER, Steps(rerankers=(bad,))).reason is UnknownReason.NOT_CAPTURED
    assert state(Stage.RERANKER, Steps(rerankers=(bad, good))).reason is None


def test_generator():
    """An answer or a prompt that is missing is the generator's reason."""
    step = GenerateStep(StepOrigin(), NOT_CAPTURED, present("a"))
    assert state(Stage.GENERATOR, Steps(generators=(step,))).reason is UnknownReason.NOT_CAPTURED
    failed = GenerateStep(StepOrigin(error="429"), present(()), NOT_CAPTURED)
    assert state(Stage.GENERATOR, Steps(generators=(failed,))).reason is UnknownReason.ERROR


def test_traces_that_are_not_whole():
    """What is missing from a partial trace is incomplete."""
    found = state(Stage.RERANKER, Steps(retrievers=(retrieval(),)), Signs(partial=True))
    assert found.reason is UnknownReason.INCOMPLETE
    assert not found.absent


def test_reasons():
    """Every status but those of usable fields has a reason."""
    assert reason_of(present("x")) is None
    assert reason_of(Field("", FieldStatus.EMPTY)) is None
    assert reason_of(missing(FieldStatus.EVICTED)) is UnknownReason.INCOMPLETE


def test_a_rewriter_of_a_cut_question():
    """What a question that was cut asks for is not known: its rewrites are not judged."""
    origin = StepOrigin(b"1", (b"1",), "m", "", 0, 1)
    step = RewriteStep(origin, RewriteKind.REWRITE, present("q"), present(("fare",)))
    steps = Steps(rewriters=(step,))
    cut = Field("What does it co", FieldStatus.TRUNCATED)
    assert states_of(steps, cut, Signs())[Stage.REWRITER].reason is UnknownReason.INCOMPLETE
    assert states_of(steps, present("q"), Signs())[Stage.REWRITER].reason is None
