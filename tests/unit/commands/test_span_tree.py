"""What `explain` prints of the spans of a trace."""

import io
from dataclasses import replace

import pytest
from rich.console import Console
from span_trees import embedding, llm, oi, retriever, span, spans_of, trace_of

from otel_raglog.commands.span_tree import MOST_LEVELS, MOST_SPANS, span_tree
from otel_raglog.conventions.registry import BUILT_IN
from otel_raglog.explaining.explained_trace import explain_trace
from otel_raglog.mapping.mapping import map_trace

QUESTION = "How long are refunds possible?"
ANSWER = "Refunds are possible for 30 days."
PROMPT = f"Context:\n{ANSWER}\n\nQuestion: {QUESTION}"


def printed(*roots, width=2_000):
    """Return what is printed of the trace of nested calls."""
    trace = trace_of(*roots)
    return shown(explain_trace(trace.spans, map_trace(trace), BUILT_IN), width)


def shown(explained, width=2_000):
    """Return what is printed of an explained trace."""
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False).print(span_tree(explained, "spans: x"))
    return stream.getvalue()


def rag(*more, **options):
    """Return an ordinary run."""
    return oi(
        "CHAIN",
        "query",
        retriever("Retriever", QUESTION, ("d1", ANSWER), **options),
        llm("ChatModel", PROMPT, ANSWER),
        *more,
        given=QUESTION,
        said=ANSWER,
    )


def test_each_span_is_a_line_with_what_was_read_of_it_below():
    """Name, what it became, the convention, the id; then the keys."""
    text = printed(span("POST /ask", rag()))
    assert "POST /ask: not read: no attribute of an LLM or retrieval instrumentation" in text
    assert "query: wrapper (chain) [OpenInference] span 0000000000000002" in text
    assert "Retriever: retriever [OpenInference]" in text
    assert "read: query from input.value; documents (1) from retrieval.documents" in text
    assert "question, answer read here" in text


def test_what_was_looked_for_in_vain_names_the_keys():
    """With those that are there and do not say it."""
    text = printed(rag(oi("LLM", "Bare", said={"odd": 1})))
    assert "looked for in vain: messages: no llm.input_messages.N.message.content" in text
    assert "nothing of use in output.value" in text


def test_each_loss_points_to_what_to_do_about_it():
    """The remedies stand below the tree, each once."""
    text = printed(rag(dropped=36))
    assert "lost: 36 attributes dropped by the SDK (see 1 below)" in text
    assert "1. evicted: raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in text
    assert "2. no embedder: instrument the embedding client too" in text


def test_a_trace_without_losses_has_no_list_of_what_to_do():
    """No heading over nothing."""
    assert "what to do" not in printed(rag(embedding("E", QUESTION)))


def test_what_is_in_a_trace_does_not_steer_the_terminal():
    """Control characters and markup are printed, not obeyed."""
    text = printed(rag(oi("CHAIN", "a\x1b[31mb [bold]c[/bold]\r\n", given="\x07")))
    assert "\x1b" not in text
    assert "\r" not in text
    assert "[bold]c[/bold]" in text


def test_long_names_are_shortened():
    """An SQL statement as a span name must not fill the screen."""
    lines = printed(oi("CHAIN", "x" * 5_000, given=QUESTION)).splitlines()
    assert max(map(len, lines)) < 300


def test_texts_of_documents_are_not_printed():
    """Keys and numbers only: the run above has the shortened texts."""
    assert "Refunds are possible" not in printed(rag())


@pytest.mark.timeout(60)
def test_a_wide_trace_is_limited():
    """The steps are shown before all others."""
    others = [oi("TOOL", f"tool {number}", given="x") for number in range(5_000)]
    text = printed(oi("CHAIN", "query", *others, retriever("Last", QUESTION, ("d", ANSWER))))
    assert "Last: " in text
    assert "more spans" in text
    assert text.count("span 0000") <= MOST_SPANS
    hidden = sum(
        int(line.split("…")[1].split()[0]) for line in text.splitlines() if "more span" in line
    )
    assert hidden + text.count("span 0000") == 5_002


@pytest.mark.timeout(60)
def test_a_deep_trace_is_limited():
    """Two thousand levels: the tree stops getting deeper, the innermost step is still there."""
    (base,) = spans_of(oi("CHAIN", "level"))
    chain = [
        replace(
            base, span_id=(n + 1).to_bytes(8, "big"), parent_id=n.to_bytes(8, "big") if n else b""
        )
        for n in range(2_000)
    ]
    (found,) = spans_of(retriever("Innermost", QUESTION, ("d", ANSWER), id=b"\xee" * 8))
    found = replace(found, parent_id=chain[-1].span_id)
    trace = replace(trace_of(rag()), spans=(*chain, found))
    text = shown(explain_trace(trace.spans, map_trace(trace), BUILT_IN))
    assert "Innermost: retriever" in text
    assert "(level 2001)" in text
    assert f"… {2_000 - MOST_LEVELS:d} more spans" in text
    assert max(map(len, text.splitlines())) < 500


def test_many_different_remedies_are_limited():
    """Each span may have been cut at another limit."""
    spans = [
        oi("CHAIN", "x", given="q", dropped=1, attributes={f"k{n}": 1 for n in range(number)})
        for number in range(60)
    ]
    text = printed(*spans)
    assert "… " in text.splitlines()[-1]
    assert text.splitlines()[-1].endswith("more")
