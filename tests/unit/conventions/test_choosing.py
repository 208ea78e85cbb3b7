"""Which conventions read a span, at what cost, and who wins."""

from dataclasses import dataclass, field

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.model import Role, SpanEvent, SpanFacts


@dataclass
class Known:
    """A convention that reads what has its markers, and counts."""

    name: str
    marker_prefixes: tuple = ()
    marker_names: tuple = ()
    role: Role = Role.LLM
    title: str = ""
    wanted: dict = field(default_factory=dict)
    remedy: str = ""
    read_spans: list = field(default_factory=list)

    def read(self, span):
        self.read_spans.append(span.name)
        return SpanFacts(span.span_id, self.name, self.role, model=f"model of {self.name}")


def speaking(conventions, **options):
    (one,) = spans_of(span(options.pop("name", "x"), **options))
    return [item.name for item in ConventionSet(conventions).speaking(one)]


@pytest.mark.parametrize(
    ("marker", "key", "speaks"),
    [
        ("app.query", "app.query", True),
        ("app.query", "app.query.text", True),
        ("app.query", "app.quer", False),
        ("app.", "app.anything", True),
        ("app.", "app", False),
        ("app.", "application.x", False),
        ("QueryStart", "QueryStartEvent", True),
        ("QueryStart", "QueryStart.x", True),
        ("QueryStart", "EndQueryStart", False),
    ],
)
def test_a_marker_is_the_beginning_of_a_key(marker, key, speaks):
    """With or without a dot in it, a marker is compared from the first character on."""
    assert bool(speaking([Known("a", (marker,))], attributes={key: 1})) is speaks


def test_events_their_attributes_and_span_names_mark_too():
    """A vocabulary may live in the names of events, in their attributes, or in span names."""
    known = [Known("events", ("Start",)), Known("inner", ("in.",)), Known("names", (), ("run",))]
    events = (SpanEvent("StartEvent", 0, {"in.x": 1}),)
    assert speaking(known, name="run.it", events=events) == ["events", "inner", "names"]
    assert speaking(known, name="it.run") == []


def test_those_that_speak_come_in_order_of_precedence():
    """The order of the keys on the span does not matter."""
    known = [Known("first", ("one.",)), Known("second", ("two.",))]
    assert speaking(known, attributes={"two.x": 1, "one.x": 1}) == ["first", "second"]


def test_a_convention_without_a_marker_on_the_span_is_not_asked():
    """However many conventions there are, only those that have a marker read the span."""
    others = [Known(f"other{n}", (f"other{n}.",)) for n in range(50)]
    mine = Known("mine", ("mine.",))
    conventions = ConventionSet([*others, mine])
    (one,) = spans_of(span("x", attributes={"mine.a": 1, "http.route": "/"}))
    assert conventions.read(one).convention == "mine"
    assert not any(other.read_spans for other in others)


def test_a_key_is_compared_once():
    """What was found for a key is remembered, so that the number of conventions costs nothing."""
    conventions = ConventionSet([Known("mine", ("mine.",))])
    (one,) = spans_of(span("x", attributes={"mine.a": 1}))
    assert conventions.read(one) == conventions.read(one)
    asked = []
    conventions._keys.of._find = asked.append
    conventions.read(one)
    assert asked == []


def test_a_plain_span_is_not_read():
    """Without a marker there are no facts."""
    (plain,) = spans_of(span("GET /", attributes={"http.route": "/"}))
    assert ConventionSet([Known("mine", ("mine.",))]).read(plain) is None


def test_the_first_wins():
    """Of two that read a span, the facts of the first stand."""
    known = [Known("first", ("one.",)), Known("second", ("two.",))]
    (both,) = spans_of(span("x", attributes={"two.x": 1, "one.x": 1}))
    facts = ConventionSet(known).read(both)
    assert (facts.convention, facts.model) == ("first", "model of first")


def test_the_markers_are_those_of_all():
    """What is held is what any convention may read."""
    known = ConventionSet([Known("a", ("b.", "a."), ("n",)), Known("b", ("a.",), ("m",))])
    assert known.marker_prefixes() == ("a.", "b.")
    assert known.marker_names() == ("m", "n")


@dataclass
class KnownByValue(Known):
    """A convention that reads what has a word in a value of ordinary spans."""

    value_keys: tuple = ("db.statement", "db.query.text")
    value_parts: tuple = ("<=>", "knn")
    value_exclusions: tuple = ("insert", "copy")


def test_a_value_may_mark_where_keys_do_not():
    """Spans of a database are read by their statement alone."""
    known = [Known("keys", ("db.vector.",)), KnownByValue("values", ("redis.search.",))]
    assert speaking(known, attributes={"db.statement": "ORDER BY v <=> $1"}) == ["values"]
    assert speaking(known, attributes={"db.query.text": "*=>[KNN 3 @v $q]"}) == ["values"]
    assert speaking(known, attributes={"redis.search.index": "i"}) == ["values"]
    for statement in ("SELECT 1", 7, None, ("<=>",), " INSERT INTO t VALUES ('<=>')"):
        assert speaking(known, attributes={"db.statement": statement}) == []
    assert ConventionSet(known).value_keys() == ("db.query.text", "db.statement")
    assert ConventionSet(known).value_parts() == ("<=>", "knn")
    assert ConventionSet(known[:1]).value_parts() == ()


def test_only_what_all_exclude_is_not_looked_into():
    """What one of two conventions reads in a text is not lost by the other's exclusions."""
    known = [KnownByValue("a"), KnownByValue("b", value_exclusions=("insert",))]
    assert ConventionSet(known).value_exclusions() == ("insert",)
    assert speaking(known, attributes={"db.statement": "COPY a <=> b"}) == ["b"]
    assert ConventionSet([Known("c")]).value_exclusions() == ()


@dataclass
class KnownByScope(Known):
    """A convention that reads all spans of a scope."""

    marker_scopes: tuple = ("native.tracer",)


def test_a_scope_may_mark():
    """Spans that have nothing but a name are read by the scope that they are of."""
    known = [Known("keys", ("a.",)), KnownByScope("scope")]
    assert speaking(known, scope="native.tracer") == ["scope"]
    assert speaking(known, scope="native.tracer.other") == []
    assert ConventionSet(known).marker_scopes() == ("native.tracer",)
    assert ConventionSet(known[:1]).marker_scopes() == ()


@dataclass
class KnownBySender(Known):
    """A convention whose spans have the keys of another one."""

    sender_scopes: tuple = ("sender", "@sender")


def test_a_scope_tells_who_sent_a_span():
    """Of spans that are marked by whatever, with the scopes below its own."""
    known = [KnownBySender("narrow"), Known("wide", ("wide.",))]
    for scope in ("sender", "sender.part", "@sender/part"):
        assert speaking(known, attributes={"wide.a": 1}, scope=scope) == ["narrow", "wide"]
    assert speaking(known, attributes={"wide.a": 1}, scope="senders") == ["wide"]


def test_the_scope_of_a_sender_marks_nothing():
    """Ordinary spans of the same scope are neither read nor held."""
    known = [KnownBySender("narrow"), Known("wide", ("wide.",))]
    assert speaking(known, attributes={"http.route": "/"}, scope="sender") == []
    assert ConventionSet(known).marker_scopes() == ()


def test_several_senders_may_share_a_scope():
    """Each of them tells by itself what is its own."""
    known = [KnownBySender("a"), KnownBySender("b"), Known("wide", ("wide.",))]
    assert speaking(known, attributes={"wide.a": 1}, scope="sender") == ["a", "b", "wide"]
