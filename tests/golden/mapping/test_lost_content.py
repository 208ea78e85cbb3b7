"""Content that was hidden or lost says so at the step it belongs to, and accuses no stage."""

from __future__ import annotations

from span_trees import documents, embedding, llm, oi, retriever, trace_of

from otel_raglog.checks.reading import context_of
from otel_raglog.checks.rules.embedder import EmbedderRules
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import FieldStatus, MeasurementStatus, Stage, UnknownReason

Q = "When does the night ferry leave?"
A = "The night ferry leaves at 22:15."
REWRITES = ("night ferry departure", "evening sailing timetable")
HIDDEN = "__REDACTED__"
CHUNKS = [
    ("a", "The night ferry to Sandmouth leaves Ellery at 22:15 from May to September."),
    ("b", "Dogs are welcome on deck 4 of the Aurelia, on a short lead."),
    ("c", "A foot passenger pays 18 euros one way and 31 euros for a return ticket."),
    ("d", "Lost property is kept for 90 days at the terminal office in Ellery."),
]


def only(*roots):
    (run,) = map_trace(trace_of(*roots))
    return run


def reprs_of(chunks):
    return [f"<NodeWithScore(node=TextNode(id_={key}), score=0.5)>" for key, _ in chunks]


def answered(*parts, said=A):
    texts = "\n".join(text for _, text in CHUNKS[:2])
    answer = llm("chat", f"Context:\n{texts}\n\nQuestion: {Q}", said)
    return oi("CHAIN", "RetrieverQueryEngine.query", *parts, answer, given=Q, said=said)


def fusion(*, wrote, embedded=(Q, *REWRITES), asked=(Q, *REWRITES)):
    """Return a fusion of LlamaIndex that hides documents and outputs."""
    searches = [
        retriever(
            "VectorIndexRetriever.retrieve",
            query,
            (f"{number}x", HIDDEN),
            ("a", HIDDEN),
            children=[
                oi(
                    "RETRIEVER",
                    "VectorIndexRetriever._retrieve",
                    embedding("embed", text),
                    said=HIDDEN,
                )
            ],
            said=HIDDEN,
        )
        for number, (query, text) in enumerate(zip(asked, embedded, strict=True))
    ]
    told = f"Generate 2 search queries, one on each line.\nQuery: {Q}\nQueries:"
    inner = oi(
        "RETRIEVER",
        "QueryFusionRetriever._retrieve",
        llm("complete", told, wrote),
        *searches,
        given={"query_bundle": {"query_str": Q}},
        said=HIDDEN,
    )
    return answered(
        retriever(
            "QueryFusionRetriever.retrieve",
            Q,
            ("0x", HIDDEN),
            ("a", HIDDEN),
            children=[inner],
            said=HIDDEN,
        ),
        said=HIDDEN,
    )


def test_a_fusion_whose_inner_span_lost_its_documents_is_no_reranker():
    """It hands on a part of what several searches found, as a fusion does."""
    run = only(fusion(wrote=HIDDEN))
    assert run.stages[Stage.RERANKER].absent
    assert [step.origin.name for step in run.retrievers if step.fused] == [
        "QueryFusionRetriever.retrieve"
    ]


def test_hidden_rewrites_do_not_accuse_the_embedder():
    """An embedded text that a retriever was asked for is faithful, whoever wrote it."""
    found = list(EmbedderRules().measure(only(fusion(wrote=HIDDEN))))
    faithful = [m.value for m in found if m.name == "embedder.faithful"]
    assert faithful == [1.0, 1.0, 1.0]


def test_an_altered_text_is_still_found_where_rewrites_are_hidden():
    """An embedded text that is not what its retriever was asked for is measured as such."""
    run = only(fusion(wrote=HIDDEN, embedded=(Q, REWRITES[0], "evening sailing pizza")))
    found = list(EmbedderRules().measure(run))
    assert [m.value for m in found if m.name == "embedder.faithful"] == [1.0, 1.0, 0.0]


def test_nothing_to_compare_with():
    """Without readable rewrites and queries a text that is not the question is not measured."""
    run = only(
        answered(
            llm("complete", f"Rewrite as a search query: {Q}", HIDDEN),
            embedding("embed", REWRITES[1]),
            oi("RETRIEVER", "search", said=[{"id": "a", "text": CHUNKS[0][1]}]),
        )
    )
    assert run.stages[Stage.REWRITER].reason is UnknownReason.REDACTED
    found = list(EmbedderRules().measure(run))
    assert {m.status for m in found} == {MeasurementStatus.NOT_APPLICABLE}


def evicted(*kept):
    """Return a search of which the attributes of all but the documents ``kept`` were evicted."""
    left = {
        key: value
        for key, value in documents(*CHUNKS).items()
        if any(f".{index}." in key for index in kept)
    }
    said = reprs_of(CHUNKS)
    return oi("RETRIEVER", "find", given=Q, said=said, attributes=left, dropped=len(CHUNKS))


def test_evicted_documents():
    """Beyond the limit of attributes the texts that are left stay with their documents."""
    run = only(answered(evicted(2, 3)))
    chunks = run.retrievers[0].chunks
    assert chunks.status is FieldStatus.TRUNCATED
    assert [chunk.id for chunk in chunks.value] == ["a", "b", "c", "d"]
    assert [chunk.text for chunk in chunks.value] == ["", "", CHUNKS[2][1], CHUNKS[3][1]]
    assert run.stages[Stage.RETRIEVER].reason is UnknownReason.INCOMPLETE
    assert run.stages[Stage.ASSEMBLY].reason is UnknownReason.INCOMPLETE


def test_an_answer_from_evicted_documents():
    """What the model saw is in the prompt, also where the chunk's own text was lost."""
    known, context = context_of(only(answered(evicted(1, 2, 3)))).pieces
    assert known == CHUNKS[1][1]
    assert CHUNKS[0][1] in context


def test_choice_among_evicted_documents():
    """A reranker's choice of documents whose texts were evicted is incomplete as well."""
    ranked = oi(
        "CHAIN",
        "SimilarityPostprocessor._postprocess_nodes",
        given={"nodes": reprs_of(CHUNKS)},
        said=reprs_of(CHUNKS[:2]),
    )
    run = only(answered(evicted(2, 3), ranked))
    assert run.stages[Stage.RERANKER].reason is UnknownReason.INCOMPLETE
    assert run.stages[Stage.ASSEMBLY].reason is UnknownReason.INCOMPLETE


def reranked(*, said, given):
    graded = llm("predict", "Rate each document.", HIDDEN if said == HIDDEN else "Doc: 1")
    return oi("CHAIN", "LLMRerank._postprocess_nodes", graded, given=given, said=said)


def test_a_reranker_with_hidden_outputs():
    """It is seen by its name, though an LLM call is within it and nothing shows what it chose."""
    hidden = [(key, HIDDEN) for key, _ in CHUNKS]
    run = only(
        answered(
            retriever("find", Q, *hidden, said=HIDDEN),
            reranked(said=HIDDEN, given={"nodes": reprs_of(CHUNKS), "query": Q}),
        )
    )
    assert run.stages[Stage.RERANKER].reason is UnknownReason.REDACTED
    assert run.stages[Stage.ASSEMBLY].reason is UnknownReason.REDACTED
    assert run.stages[Stage.REWRITER].absent


def test_hidden_documents_are_hidden_in_later_steps():
    """Steps that name documents by id alone know that their texts were hidden."""
    hidden = [(key, HIDDEN) for key, _ in CHUNKS]
    run = only(
        answered(
            retriever("find", Q, *hidden),
            reranked(said=reprs_of(CHUNKS[:2]), given={"nodes": reprs_of(CHUNKS), "query": Q}),
        )
    )
    assert len(run.rerankers) == 1
    assert run.stages[Stage.RERANKER].reason is UnknownReason.REDACTED
    assert run.stages[Stage.ASSEMBLY].reason is UnknownReason.REDACTED


def test_finish_reason_of_haystack():
    """An answer that was cut says so in the repr of its message."""
    reply = (
        "ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[TextContent(text="
        "'The night ferry leaves')], _name=None, _meta={'model': 'm', 'index': 0, "
        "'finish_reason': 'length', 'usage': {'completion_tokens': 4}})"
    )
    said = {"replies": [reply]}
    given = {"messages": [f"ChatMessage(_role='user', _content=[TextContent(text='{Q}')])"]}
    run = only(
        oi(
            "CHAIN",
            "Pipeline.run",
            retriever("InMemoryBM25Retriever.run", Q, *CHUNKS),
            oi("LLM", "OpenAIChatGenerator.run", given=given, said=said),
            given={"data": {"retriever": {"query": Q}}},
            said={"llm": said},
        )
    )
    assert run.generators[0].finish_reason == "length"
