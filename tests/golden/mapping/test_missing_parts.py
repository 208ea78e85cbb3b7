"""What was hidden, lost, cut or failed on its way is unknown for that reason, never judged."""

from __future__ import annotations

import pytest
from span_trees import documents, embedding, llm, messages, oi, retriever, span, summary, trace_of

from otel_raglog.conventions import registry
from otel_raglog.conventions.vocabularies import Vocabulary
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import Completion, FieldStatus, Stage, UnknownReason

Q = "When does the night ferry leave?"
A = "The night ferry leaves at 22:15."
FERRY = "The night ferry to Sandmouth leaves Ellery at 22:15 from May to September."
DOGS = "Dogs are welcome on deck 4 of the Aurelia, on a short lead."
HIDDEN = "__REDACTED__"


def only(*roots, **options):
    runs = map_trace(trace_of(*roots, **options))
    assert len(runs) == 1
    return runs[0]


def rag(*, search=None, answer=None, given=Q, said=A):
    return oi(
        "CHAIN",
        "rag",
        search or retriever("find", Q, ("a", FERRY), ("b", DOGS)),
        answer or llm("chat", [("system", f"Context:\n{FERRY}\n{DOGS}"), ("user", Q)], A),
        given=given,
        said=said,
    )


def test_hidden_inputs():
    """With inputs hidden, messages are dropped beside the placeholder: redacted, not absent."""
    run = only(
        rag(
            given=HIDDEN,
            search=retriever("find", HIDDEN, ("a", FERRY)),
            answer=oi(
                "LLM",
                "chat",
                given=HIDDEN,
                attributes={
                    "llm.model_name": "m",
                    **messages(("assistant", A), prefix="llm.output_messages"),
                },
            ),
        )
    )
    assert run.question.status is FieldStatus.REDACTED
    assert run.skip_reason == "no_question"
    assert run.stages[Stage.ASSEMBLY].reason is UnknownReason.REDACTED
    assert run.stages[Stage.GENERATOR].reason is UnknownReason.REDACTED
    assert run.stages[Stage.RETRIEVER].reason is UnknownReason.REDACTED
    assert HIDDEN not in str([run.question.value, run.generators[0].messages.value])


def test_hidden_outputs():
    """With outputs hidden, chunk texts and answers are redacted; ids and scores stay."""
    run = only(
        rag(
            said=HIDDEN,
            search=retriever("find", Q, ("a", HIDDEN, 0.9), ("b", HIDDEN, 0.8), said=HIDDEN),
            answer=oi(
                "LLM",
                "chat",
                said=HIDDEN,
                attributes={"llm.model_name": "m", **messages(("user", f"Context: x\n{Q}"))},
            ),
        )
    )
    assert summary(run)["retriever"] == "unknown: redacted"
    assert summary(run)["generator"] == "unknown: redacted"
    assert run.answer.value is None
    chunk = run.retrievers[0].chunks.value[0]
    assert (chunk.id, chunk.score, chunk.text, chunk.text_status) == (
        "a",
        0.9,
        "",
        FieldStatus.REDACTED,
    )


def test_hidden_message_texts():
    """Placeholders inside messages make the prompt redacted."""
    run = only(rag(answer=llm("chat", HIDDEN, A)))
    assert summary(run)["assembly"] == "unknown: redacted"
    assert run.assemblies[0].context.value is None


def test_hidden_embedding_text():
    """A placeholder is no text that was embedded."""
    search = retriever("find", Q, ("a", FERRY), children=[embedding("embed", HIDDEN)])
    assert summary(only(rag(search=search)))["embedder"] == "unknown: redacted"


def test_hidden_reranker_documents():
    """Documents dropped beside a redacted query are redacted."""
    ranker = oi(
        "RERANKER", "rerank", given=HIDDEN, said=HIDDEN, attributes={"reranker.query": HIDDEN}
    )
    run = only(
        oi("CHAIN", "rag", ranker, llm("chat", f"Context: {FERRY}\n{Q}", A), given=Q, said=A)
    )
    assert summary(run)["reranker"] == "unknown: redacted"


def test_evicted_first_documents():
    """Indices that do not start at zero tell that the best documents were evicted."""
    kept = {k.replace(".1.", ".8."): v for k, v in documents("", DOGS).items() if ".1." in k}
    run = only(rag(search=oi("RETRIEVER", "find", attributes=kept, dropped=36)))
    assert summary(run)["retriever"] == "unknown: incomplete"
    assert run.loss.gaps == ("retrieval.documents",)
    assert run.loss.dropped_attributes == 36


def test_evicted_documents_that_the_output_still_has():
    """The whole list in ``output.value`` takes the place of evicted attributes."""
    kept = {k.replace(".0.", ".1."): v for k, v in documents(DOGS).items()}
    found = {"documents": [{"page_content": FERRY, "id": "1"}, {"page_content": DOGS, "id": "2"}]}
    run = only(rag(search=oi("RETRIEVER", "find", given=Q, said=found, attributes=kept, dropped=2)))
    assert [chunk.id for chunk in run.retrievers[0].chunks.value] == ["1", "2"]
    assert summary(run)["retriever"] == 1


def test_all_evicted():
    """No document at all on a span that lost attributes is a loss, not an empty result."""
    run = only(rag(search=oi("RETRIEVER", "find", dropped=40)))
    assert summary(run)["retriever"] == "unknown: incomplete"


def test_ids_alone():
    """Documents that are ids only cannot be judged; their texts were not captured."""
    run = only(rag(search=retriever("find", Q, ("a", None), ("b", None))))
    assert summary(run)["retriever"] == "unknown: not_captured"


def test_cut_json():
    """JSON that ends in the middle is a cut value."""
    run = only(
        rag(
            search=oi(
                "RETRIEVER", "find", given=Q, attributes={"output.value": '{"documents": [{"pa'}
            )
        )
    )
    assert summary(run)["retriever"] == "unknown: incomplete"
    assert run.loss.truncated == ("output.value",)


def test_values_cut_at_one_round_length():
    """Two different texts of the same round length, the longest of the span, were cut."""
    prompt = ("Context: " + FERRY + " ") * 20
    attributes = {
        "llm.model_name": "m",
        "input.value": ("x" + prompt)[:1000],
        **messages(("user", prompt[:1000])),
    }
    answer = oi("LLM", "chat", attributes=attributes, said=A)
    assert summary(only(rag(answer=answer)))["assembly"] == "unknown: incomplete"


def test_values_that_we_cut_ourselves():
    """A prompt cut for analysis is incomplete."""
    answer = llm(
        "chat", f"Context: {FERRY}\n{Q}", A, truncated=["llm.input_messages.0.message.content"]
    )
    assert summary(only(rag(answer=answer)))["assembly"] == "unknown: incomplete"


def test_failed_stages():
    """A span that failed without output is an error, with its message."""
    run = only(rag(search=oi("RETRIEVER", "find", given=Q, error="timeout")))
    assert run.stages[Stage.RETRIEVER].reason is UnknownReason.ERROR
    assert "timeout" in run.stages[Stage.RETRIEVER].why
    answer = oi(
        "LLM", "chat", attributes={"llm.model_name": "m", **messages(("user", Q))}, error="429"
    )
    run = only(rag(answer=answer, said=""))
    assert run.stages[Stage.GENERATOR].reason is UnknownReason.ERROR


def test_a_search_that_was_tried_again():
    """A failed search beside one that worked does not count."""
    run = only(
        oi(
            "CHAIN",
            "rag",
            oi("RETRIEVER", "find", given=Q, error="timeout"),
            retriever("find", Q, ("a", FERRY)),
            llm("chat", f"Context: {FERRY}\nQuestion: {Q}", A),
            given=Q,
            said=A,
        )
    )
    assert summary(run)["retriever"] == 2
    assert run.retrievers[0].origin.error == "timeout"


def test_a_trace_that_was_cut_short():
    """What is missing from a trace that was released early is incomplete, not absent."""
    run = only(rag(), completion=Completion.MAX_WAIT)
    assert summary(run)["reranker"] == "unknown: incomplete"
    assert summary(run)["rewriter"] == "unknown: incomplete"


def test_only_a_search():
    """A search without an answer: retriever known, generator not captured."""
    run = only(oi("CHAIN", "search", retriever("find", Q, ("a", FERRY)), given=Q))
    assert summary(run)["retriever"] == 1
    assert summary(run)["generator"] == "unknown: not_captured"
    assert summary(run)["assembly"] == "unknown: not_captured"
    assert run.skip_reason is None


@pytest.mark.parametrize(
    ("roots", "reason"),
    [
        ((span("GET /health"),), "no_genai_spans"),
        ((span("chat", attributes={"zz.operation": "chat"}),), "unread_convention"),
        ((oi("EVALUATOR", "judge", llm("chat", "x", "y")),), "evaluation"),
        ((span("verdict", scope="otel_raglog"),), "evaluation"),
        ((embedding("embed", Q),), "embedding_only"),
        ((llm("chat", "Tell me a joke.", "No."),), "no_retrieval"),
        ((oi("CHAIN", "split", given="a text"),), "no_stages"),
    ],
)
def test_reasons_to_judge_nothing(monkeypatch, roots, reason):
    """A trace in which nothing can be judged gives one run that says why, in a sentence."""
    monkeypatch.setattr(registry, "UNREAD", (Vocabulary("Some Kit", ("zz.",)),))
    run = only(*roots)
    assert run.skip_reason == reason
    assert run.notes
    assert set(run.stages) == set(Stage)


def test_unread_vocabularies_are_named_with_their_keys(monkeypatch):
    """The note names the vocabulary and the keys that were seen."""
    monkeypatch.setattr(registry, "UNREAD", (Vocabulary("Some Kit", ("zz.",)),))
    run = only(span("c", attributes={"zz.operation.name": "chat", "zz.system": "x"}))
    assert "Some Kit" in run.notes[0]
    assert "zz.operation.name" in run.notes[0]


def test_no_spans():
    """A trace without spans has a run as well."""
    assert only().skip_reason == "no_spans"


def test_evaluators_inside_a_run_are_left_out():
    """An evaluator's LLM call is neither generator nor counted."""
    judge = oi(
        "EVALUATOR",
        "judge",
        llm("chat", "Is it right?", A, attributes={"llm.token_count.prompt": 9}),
    )
    plain = rag()
    run = only(oi("CHAIN", "app", plain, judge, given=Q, said=A))
    assert run.tokens.prompt is None
    assert len(run.span_ids) == 4
