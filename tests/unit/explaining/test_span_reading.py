"""What was read of one span under which key, and what was looked for in vain."""

from dataclasses import replace

from samples import decoded_span
from span_trees import llm, oi, retriever, spans_of

from otel_raglog.conventions.registry import BUILT_IN
from otel_raglog.explaining.span_reading import WORDS, is_content, is_there, read_closely
from otel_raglog.model import FieldStatus, Role, SpanFacts, TokenUsage


def read(node):
    """Return the reading of a span built by ``span_trees``."""
    (span,) = spans_of(node)
    return read_closely(span, BUILT_IN)


def used(reading):
    """Return the facts that were read, with their keys."""
    return {item.fact: item.key for item in reading.used}


def sought(reading):
    """Return what was looked for in vain, by fact."""
    return {item.fact: item for item in reading.sought}


def test_each_fact_names_the_key_that_it_was_read_from():
    """With the number of items where it is a list."""
    reading = read(retriever("Retriever", "How long?", ("d1", "30 days"), ("d2", "no")))
    assert used(reading) == {"query": "input.value", "documents": "retrieval.documents"}
    assert [item.count for item in reading.used if item.fact == "documents"] == [2]
    assert reading.sought == ()


def test_single_values_name_the_keys_that_are_there():
    """The model carries no provenance for them."""
    counts = {"llm.token_count.prompt": 3, "llm.token_count.completion": 4}
    reading = read(llm("ChatModel", "Hi", "Hello", attributes=counts))
    assert used(reading)["model"] == "llm.model_name"
    assert used(reading)["tokens"] == "llm.token_count.prompt, llm.token_count.completion"


def test_a_missing_fact_names_the_keys_that_were_looked_for():
    """So that one sees what the application would have to write."""
    reading = read(oi("LLM", "ChatModel", attributes={"llm.model_name": "m"}))
    messages = sought(reading)["messages"]
    assert messages.status is FieldStatus.NOT_CAPTURED
    assert "llm.input_messages.N.message.content" in messages.keys
    assert "model" not in sought(reading)


def test_a_key_that_is_there_without_saying_it_is_told_apart():
    """Written, and of no use: another thing to mend."""
    reading = read(oi("RETRIEVER", "Retriever", given="q", said={"count": 3}))
    documents = sought(reading)["documents"]
    assert documents.unusable == ("output.value",)
    assert documents.keys == ("retrieval.documents.N.document.content",)


def test_a_hidden_fact_says_so():
    """The status is that of the field."""
    reading = read(oi("LLM", "ChatModel", given="__REDACTED__", said="x"))
    assert sought(reading)["messages"].status is FieldStatus.REDACTED


def test_of_several_vocabularies_all_that_read_the_span_are_named():
    """In order of precedence; one that has a marker and reads nothing is not."""
    both = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    reading = read(llm("ChatModel", "Hi", "Hello", attributes=both))
    assert [item.name for item in reading.speaking] == ["openinference", "genai"]
    plain = read_closely(decoded_span(attributes=both), BUILT_IN)
    assert [item.name for item in plain.speaking] == ["genai"]


def test_a_span_that_nobody_reads_has_no_facts():
    """An HTTP server span around a run."""
    reading = read_closely(decoded_span(attributes={"http.request.method": "POST"}), BUILT_IN)
    assert reading.facts is None
    assert reading.unread is None
    assert reading.role is Role.UNKNOWN
    assert (reading.used, reading.sought, reading.speaking) == ((), (), ())


def test_every_fact_of_the_model_has_a_word():
    """Conventions name facts by their fields."""
    plumbing = {
        "span_id", "convention", "role", "input_data", "output_data", "structured_documents",
        "loss", "settled",
    }  # fmt: skip
    assert set(WORDS) == set(SpanFacts.__dataclass_fields__) - plumbing


def test_an_empty_list_is_there_and_no_tokens_are_not():
    """An empty retrieval is a finding, not a gap."""
    reading = read(oi("RETRIEVER", "Retriever", given="q", said={"documents": []}))
    assert is_there(reading.facts, "documents")
    assert is_content(reading, "documents")
    assert not is_content(reading, "model")
    facts = replace(reading.facts, tokens=TokenUsage())
    assert not is_there(facts, "tokens")
    assert not is_there(facts, "prompt_variables")
