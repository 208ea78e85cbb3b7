"""What the words on a span tell."""

from __future__ import annotations

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_raglog.receive.markers import Markers
from otel_raglog.receive.traits import TraitReader, Traits, bears_our_words, reduce_spans


@pytest.fixture
def read(markers: Markers, pack):
    """Reads the traits of one span."""
    reader = TraitReader(markers)

    def read_span(**fields: object) -> Traits:
        (words,) = reduce_spans(pack(Span(**fields)))
        traits = reader.read(words)
        assert reader.recall(words) == traits
        return traits

    return read_span


def test_values_are_dropped_and_words_kept(pack) -> None:
    """Spans that differ in ids and values alone have the same words."""
    first = Span(trace_id=b"a" * 16, name="a", attributes=[{"key": "k", "value": {"int_value": 1}}])
    second = Span(trace_id=b"b" * 16, status={"code": 2}, attributes=[{"key": "k"}])
    words = reduce_spans(pack(first, second))
    assert words[0] == words[1] == b"\x4a\x03\x0a\x01k"


def test_a_span_without_telling_words_is_plain(read) -> None:
    """Neither marked nor spoofed, and without links."""
    traits = read(attributes=[{"key": "http.gen_ai.x"}], events=[Span.Event(name="exception")])
    assert traits == Traits(marked=False, spoofed=False, may_finish=False, links=False)
    assert traits.plain


@pytest.mark.parametrize(
    "fields",
    [
        {"attributes": [{"key": "a"}, {"key": "gen_ai.operation.name"}]},
        {"events": [Span.Event(name="gen_ai.choice")]},
        {"events": [Span.Event(name="e", attributes=[{"key": "gen_ai.prompt"}])]},
    ],
)
def test_marked(fields: dict[str, object], read) -> None:
    """By an attribute, an event's name or an event's attribute."""
    assert read(**fields) == Traits(marked=True, spoofed=False, may_finish=False, links=False)


@pytest.mark.parametrize(
    "fields",
    [
        {"events": [Span.Event(name="gen_ai.evaluation.result")]},
        {"events": [Span.Event(name="e", attributes=[{"key": "raglog.verdict"}])]},
        {"attributes": [{"key": "raglog.verdict"}]},
    ],
)
def test_spoofed(fields: dict[str, object], read) -> None:
    """Attributes and events that look like ours came from outside."""
    assert read(**fields).spoofed


def test_a_key_whose_value_may_mark_is_noticed(pack) -> None:
    """Such words are plain if no value says otherwise; they are remembered apart."""
    reader = TraitReader(Markers(key_prefixes=(b"gen_ai.",), value_keys=(b"db.statement",)))
    (words,) = reduce_spans(pack(Span(attributes=[{"key": "db.statement"}, {"key": "db.name"}])))
    traits = reader.read(words)
    assert (traits.marked, traits.plain, traits.by_value) == (False, True, True)
    assert reader.recall(words) == traits == reader.guess(words)
    assert (words in reader.by_value, words in reader.plain) == (True, False)
    (other,) = reduce_spans(pack(Span(attributes=[{"key": "db.statement.parameters"}])))
    assert not reader.read(other).by_value


def test_other_namespaces_are_not_spoofed(read) -> None:
    """A prefix is more than a beginning of the same letters."""
    assert not read(attributes=[{"key": "raglogger.x"}, {"key": "app.raglog.x"}]).spoofed


def test_links_and_the_end_of_a_run_are_noticed(read) -> None:
    """Both need a look at values, which is taken elsewhere."""
    assert read(links=[Span.Link()]).links
    assert read(attributes=[{"key": "raglog.run.finished"}]).may_finish


def test_what_is_remembered_is_bounded(markers: Markers) -> None:
    """Ever new words replace old ones, and long ones are not kept at all."""
    reader = TraitReader(markers)
    for number in range(3_000):
        key = b"%010d" % number * 800
        reader.read(b"\x4a\xc3\x3e\x0a\xc0\x3e" + key)
    reader.read(b"\x4a\x87\x7d\x0a\x84\x7d" + b"x" * 16_004)
    assert sum(map(len, reader.plain)) < 8 * 1024 * 1024


def test_guessing_misses_nothing(markers: Markers, pack) -> None:
    """Words inside of words count, which is why it is only for spans of very many words."""
    span = Span(attributes=[{"key": "app.gen_ai.x"}, {"key": "raglog.run.finished"}])
    span.links.add(trace_id=b"t" * 16)
    reader = TraitReader(markers)
    guessed = reader.guess(reduce_spans(pack(span))[0])
    assert guessed == Traits(marked=True, spoofed=True, may_finish=True, links=True)
    (long,) = reduce_spans(pack(Span(attributes=[{"key": "k" * 20_000}, {"key": "gen_ai.x"}])))
    assert reader.read(long).marked
    assert reader.recall(long) is None


def test_our_words_are_found_in_any_layout(wrap) -> None:
    """Only as words: a value that holds them does not count."""
    assert bears_our_words(wrap(9, b"\x12\x02\x10\x01\x0a\x08raglog.x"))
    assert bears_our_words(wrap(11, wrap(2, b"gen_ai.evaluation.result")))
    assert not bears_our_words(wrap(9, b"\x0a\x01k\x12\x0a\x0a\x08raglog.x"))
    assert not bears_our_words(b"")
