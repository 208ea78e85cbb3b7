"""Two vocabularies on one span: the first wins, the second fills its gaps, nothing counts twice."""

from otel_raglog.conventions.merging import merge
from otel_raglog.model import (
    Chunk,
    FieldStatus,
    Loss,
    Message,
    Role,
    SpanFacts,
    TokenUsage,
    missing,
    present,
)


def facts(convention="first", role=Role.LLM, **fields):
    return SpanFacts(b"s", convention, role, **fields)


def test_one_reading_is_itself():
    """There is nothing to merge."""
    only = facts()
    assert merge([only]) is only


def test_gaps_are_filled():
    """What the first does not say is taken from the second, with the second's provenance."""
    given = present((Message("user", "hi"),))
    read = merge([facts(model="m"), facts("second", model="n", messages=given, top_k=3)])
    assert (read.convention, read.model, read.messages, read.top_k) == ("first", "m", given, 3)


def test_what_is_known_to_be_lost_is_not_filled():
    """A value that was hidden in one vocabulary stays hidden."""
    hidden = facts(output=missing(FieldStatus.REDACTED))
    read = merge([hidden, facts("second", output=present("text"))])
    assert read.output.status is FieldStatus.REDACTED


def test_data_goes_with_its_text():
    """Parsed data and the mark of structured documents come from where their field came from."""
    chunks = present((Chunk("c"),))
    first = facts(role=Role.RETRIEVER, input=present("{}"), input_data={})
    second = facts(
        "second",
        Role.RETRIEVER,
        input=present("[]"),
        input_data=[],
        output=present("[1]"),
        output_data=[1],
        documents=chunks,
        structured_documents=True,
    )
    read = merge([first, second])
    assert (read.input_data, read.output_data) == ({}, [1])
    assert (read.documents, read.structured_documents) == (chunks, True)


def test_tokens_are_counted_once():
    """Dual emission repeats the tokens: they are those of the first that has any."""
    counted = [facts(tokens=TokenUsage(1, 2)), facts("second", tokens=TokenUsage(1, 2, 3))]
    assert merge(counted).tokens == TokenUsage(1, 2)
    assert merge([facts(), counted[1]]).tokens == TokenUsage(1, 2, 3)


def test_an_unknown_role_is_filled():
    """A vocabulary that has no kind for the span leaves it to the next."""
    read = merge([facts(role=Role.UNKNOWN), facts("second", Role.EMBEDDER)])
    assert (read.convention, read.role) == ("first", Role.EMBEDDER)


def test_another_role_is_a_misunderstanding():
    """LangSmith calls a retriever an embedding in GenAI's words: what follows is not believed."""
    texts = present(("embedded",))
    read = merge(
        [facts(role=Role.RETRIEVER), facts("second", Role.EMBEDDER, embedding_texts=texts)]
    )
    assert read.role is Role.RETRIEVER
    assert read.embedding_texts.status is FieldStatus.NOT_CAPTURED


def test_the_conversation_is_taken_from_any():
    """Who asks in which conversation does not depend on the role."""
    read = merge([facts(), facts("second", Role.CHAIN, session_id="s", user_id="u")])
    assert (read.session_id, read.user_id) == ("s", "u")


def test_losses_are_those_of_one_span():
    """What the SDK dropped was dropped once; the keys of both are named."""
    first = facts(loss=Loss(dropped_attributes=3, gaps=("a",)))
    second = facts("second", loss=Loss(dropped_attributes=3, redacted=("b",)))
    assert merge([first, second]).loss == Loss(dropped_attributes=3, gaps=("a",), redacted=("b",))


def test_three_vocabularies():
    """The earlier of two that can fill a gap fills it."""
    read = merge([facts(), facts("second", model="two"), facts("third", model="three", top_k=1)])
    assert (read.model, read.top_k) == ("two", 1)
