"""What a span lost, and the one line that says what to do about it."""

from dataclasses import replace

import pytest
from span_trees import documents, llm, oi, retriever, span, spans_of

from otel_raglog.conventions.registry import BUILT_IN
from otel_raglog.explaining.losses import LossKind, losses_of, shorten_keys
from otel_raglog.explaining.span_reading import read_closely
from otel_raglog.model import Chunk, FieldStatus

IDS = (Chunk("", "d1", text_status=FieldStatus.NOT_CAPTURED), Chunk("text", "d2"))


def losses(node, *, docs=None, missing=(), recording=(), **changes):
    """Return the losses of a span built by ``span_trees``, by kind."""
    (span,) = spans_of(node)
    reading = read_closely(replace(span, **changes), BUILT_IN)
    return {lost.kind: lost for lost in losses_of(reading, docs or {}, missing, recording)}


def test_a_whole_span_lost_nothing():
    """No remedy without a loss."""
    assert losses(retriever("Retriever", "q", ("d", "text"))) == {}


def test_evicted_attributes_name_the_limit_and_what_it_seems_to_be():
    """And which lists have holes."""
    found = documents(("d9", "nine"), prefix="retrieval.documents")
    later = {key.replace(".0.", ".9."): value for key, value in found.items()}
    lost = losses(oi("RETRIEVER", "R", attributes=later), dropped_attributes_count=36)
    evicted = lost[LossKind.EVICTED]
    assert "36 attributes dropped by the SDK" in evicted.what
    assert "retrieval.documents" in evicted.what
    assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT (now 3 by the look of it" in evicted.remedy
    assert "\n" not in evicted.remedy
    assert LossKind.GAPS not in lost


@pytest.mark.parametrize(
    ("language", "order"),
    [
        ("python", "drops the oldest first"),
        ("nodejs", "JavaScript SDK drops the newest"),
        ("webjs", "JavaScript SDK drops the newest"),
        ("cobol", "Python's SDK drops the oldest first, JavaScript's the newest"),
    ],
)
def test_which_attributes_are_dropped_depends_on_the_language(language, order):
    """Python evicts what was set first, JavaScript refuses what comes last."""
    node = retriever("Retriever", "q", ("d", "text"))
    resource = {"telemetry.sdk.language": language}
    lost = losses(node, dropped_attributes_count=1, resource=resource)
    assert order in lost[LossKind.EVICTED].remedy


def test_a_span_that_nobody_reads_may_have_lost_what_would_have_told():
    """The marker itself is an attribute."""
    (span,) = spans_of(oi("CHAIN", "x"))
    bare = replace(span, attributes={}, dropped_attributes_count=200)
    reading = read_closely(bare, BUILT_IN)
    assert [lost.kind for lost in losses_of(reading, {}, (), ())] == [LossKind.EVICTED]


def test_dropped_events_name_their_limit():
    """Chroma writes one event for each document."""
    lost = losses(retriever("R", "q", ("d", "text")), dropped_events_count=7)
    assert "OTEL_SPAN_EVENT_COUNT_LIMIT" in lost[LossKind.DROPPED_EVENTS].remedy


def test_holes_without_a_count_are_somebody_elses_doing():
    """The SDK counts what it drops."""
    later = {"retrieval.documents.4.document.content": "text"}
    lost = losses(oi("RETRIEVER", "R", given="q", attributes=later))
    assert "processor" in lost[LossKind.GAPS].remedy


def test_cut_values_name_both_limits():
    """Cut JSON, or several texts of one round length."""
    lost = losses(oi("CHAIN", "x", given='{"query": "how lo'))
    assert lost[LossKind.CUT].what == "cut: input.value"
    assert "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT" in lost[LossKind.CUT].remedy
    assert "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT" in lost[LossKind.CUT].remedy


def test_what_we_cut_ourselves_is_no_fault_of_the_application():
    """The forwarded span is whole."""
    lost = losses(oi("CHAIN", "x", given="q"), truncated_keys=frozenset({"input.value"}))
    assert "forwarded whole" in lost[LossKind.CUT_HERE].remedy
    assert LossKind.CUT not in lost


@pytest.mark.parametrize(
    ("node", "switch"),
    [
        (oi("CHAIN", "x", given="__REDACTED__"), "OPENINFERENCE_HIDE_INPUTS"),
        (oi("CHAIN", "x", said="__REDACTED__"), "OPENINFERENCE_HIDE_OUTPUTS"),
        (retriever("R", "q", ("d", "__REDACTED__")), "OPENINFERENCE_HIDE_RETRIEVAL_DOCUMENTS"),
        (
            retriever("R", "q", ("d", "__REDACTED__"), said="__REDACTED__"),
            "OPENINFERENCE_HIDE_OUTPUTS",
        ),
        (llm("L", "__REDACTED__", "yes"), "OPENINFERENCE_HIDE_INPUT_TEXT"),
        (llm("L", "hello", "__REDACTED__"), "OPENINFERENCE_HIDE_OUTPUT_TEXT"),
    ],
)
def test_a_placeholder_names_the_switch_that_writes_it(node, switch):
    """The switch for a whole side of the step where that side is hidden, else the finer one."""
    assert losses(node)[LossKind.REDACTED].remedy.startswith(f"unset {switch} (")


def test_a_placeholder_of_another_vocabulary_has_its_remedy():
    """With masking functions and collectors, which leave no name."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": "[REDACTED]"}
    (span,) = spans_of(oi("LLM", "x"))
    reading = read_closely(replace(span, attributes=attributes), BUILT_IN)
    (lost,) = losses_of(reading, {}, (), ())
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in lost.remedy
    assert "masking function" in lost.remedy


def test_documents_without_text_are_counted():
    """Ids alone are not enough to judge a retriever."""
    lost = losses(retriever("R", "q"), docs={"documents": IDS})
    assert lost[LossKind.IDS_ONLY].what == "no text in 1 of 2 documents"


def test_what_was_never_recorded_has_the_conventions_remedy():
    """How content is turned on."""
    lost = losses(oi("LLM", "L"), missing=("messages",))[LossKind.NOT_CAPTURED]
    assert lost.what == "not captured: messages"
    assert "OPENINFERENCE_HIDE_INPUTS" in lost.remedy


def test_where_content_is_on_the_switch_is_not_recommended():
    """Other spans of the convention have theirs, so this one has to be written."""
    lost = losses(oi("LLM", "L"), missing=("messages",), recording={"openinference"})
    remedy = lost[LossKind.NOT_CAPTURED].remedy
    assert "write it on the span as llm.input_messages.N.message.content yourself" in remedy
    assert "HIDE" not in remedy


def test_content_under_genai_keys_does_not_silence_the_senders_switch():
    """In MLflow's GenAI mode a retriever has lost its documents to that mode."""
    attributes = {"gen_ai.operation.name": "retrieval"}
    (one,) = spans_of(span("RETRIEVER", attributes=attributes, scope="mlflow.tracing.provider"))
    reading = read_closely(one, BUILT_IN)
    (lost,) = losses_of(reading, {}, ("documents",), {"genai"})
    assert "leave MLFLOW_ENABLE_OTEL_GENAI_SEMCONV off" in lost.remedy


def test_long_lists_of_keys_are_shortened():
    """A trace of forty documents has hundreds."""
    assert shorten_keys(["a", "b"]) == "a, b"
    assert shorten_keys([str(number) for number in range(9)]) == "0, 1, 2, 3, 4, 5 and 3 more"
