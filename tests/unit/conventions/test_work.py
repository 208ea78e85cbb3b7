"""What any vocabulary's spans say by their role, input and output alone."""

import json

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.work import WorkReader
from otel_raglog.model import FieldStatus, Message, Role, ScoreKind


class Reader(WorkReader):
    """A vocabulary with nothing but an input and an output."""

    def __init__(self, read, role):
        super().__init__(read, "plain")
        self.role = role
        self.input, self.input_data = self.value("in")
        self.output, self.output_data = self.value("out")


def read(role, given=None, said=None, **options):
    written = {"in": given, "out": said}
    attributes = {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in written.items()
        if value is not None
    }
    (one,) = spans_of(span("x", attributes=attributes, **options))
    return Reader(one, role).facts()


def test_a_search():
    """The query and the documents are found in free JSON, with the keys that held them."""
    found = [{"id": 7, "text": "one", "score": 0.9}, {"id": 8, "text": "two", "score": 0.5}]
    facts = read(Role.RETRIEVER, {"query": "why?", "top_k": 2}, {"documents": found})
    assert (facts.query.value, facts.top_k) == ("why?", 2)
    assert [(c.id, c.text, c.score, c.score_kind) for c in facts.documents.value] == [
        ("7", "one", 0.9, ScoreKind.SIMILARITY),
        ("8", "two", 0.5, ScoreKind.SIMILARITY),
    ]
    assert (facts.query.source.key, facts.documents.source.key) == ("in", "out")
    assert not facts.structured_documents


@pytest.mark.parametrize(
    ("said", "status", "texts"),
    [
        ("[]", FieldStatus.EMPTY, []),
        ('["a", "b"]', FieldStatus.PRESENT, ["a", "b"]),
        ("one text", FieldStatus.PRESENT, ["one text"]),
        ("__REDACTED__", FieldStatus.REDACTED, None),
        (None, FieldStatus.NOT_CAPTURED, None),
        ('[{"text": "cut of', FieldStatus.TRUNCATED, None),
    ],
)
def test_what_a_search_found(said, status, texts):
    """Nothing found, hidden, cut and never recorded are four things."""
    documents = read(Role.RETRIEVER, "q", said).documents
    assert documents.status is status
    assert texts is None or [chunk.text for chunk in documents.value] == texts


def test_a_reranking():
    """Candidates are in the input, the selected in the output; their scores are similarities."""
    given = {"query": "q", "documents": [{"text": "a"}, {"text": "b"}]}
    facts = read(Role.RERANKER, given, [{"text": "b", "score": 0.1}])
    assert [chunk.text for chunk in facts.input_documents.value] == ["a", "b"]
    assert [chunk.score_kind for chunk in facts.documents.value] == [ScoreKind.SIMILARITY]


def test_an_embedding():
    """The texts are those of the input; token ids are none."""
    assert read(Role.EMBEDDER, "one").embedding_texts.value == ("one",)
    assert read(Role.EMBEDDER, {"input": ["one", "two"]}).embedding_texts.value == ("one", "two")
    hidden = read(Role.EMBEDDER, {"input": [[1, 2]]}).embedding_texts
    assert hidden.status is FieldStatus.NOT_CAPTURED


def test_a_call():
    """Messages, reply and finish reason are found in the shapes that providers use."""
    given = {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]}
    said = {
        "choices": [{"message": {"role": "assistant", "content": "a"}, "finish_reason": "length"}]
    }
    facts = read(Role.LLM, given, said)
    assert facts.messages.value == (Message("system", "s"), Message("user", "u"))
    assert facts.output_messages.value == (Message("assistant", "a"),)
    assert facts.finish_reason == "length"
    plain = read(Role.LLM, "prompt", "reply")
    assert plain.messages.value == (Message("user", "prompt"),)
    assert plain.output_messages.value == (Message("assistant", "reply"),)


def test_hidden_leaves():
    """A placeholder inside the JSON is no query, message or reply."""
    given = {"messages": [{"role": "user", "content": "[REDACTED]"}]}
    facts = read(Role.LLM, given, {"content": "***"})
    assert facts.messages.status is FieldStatus.REDACTED
    assert facts.output_messages.status is FieldStatus.REDACTED
    assert read(Role.LLM, "u", "***").output_messages.status is FieldStatus.REDACTED
    assert read(Role.RETRIEVER, {"query": "***"}).query.status is FieldStatus.REDACTED


def test_the_conversation():
    """The general keys of OpenTelemetry name it where a vocabulary has none of its own."""
    (one,) = spans_of(span("x", attributes={"session.id": "s", "user.id": "u"}))
    facts = Reader(one, Role.CHAIN).facts()
    assert (facts.session_id, facts.user_id) == ("s", "u")


def test_losses_are_named_by_their_keys():
    """A value that was cut or hidden, and what the SDK dropped, are told."""
    loss = read(Role.CHAIN, '{"a": "cut', "[REDACTED]", dropped=4).loss
    assert (loss.dropped_attributes, loss.truncated, loss.redacted) == (4, ("in",), ("out",))
