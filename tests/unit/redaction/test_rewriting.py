"""OTLP bytes: all texts are reached, all else stays."""

from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from personal_data import attributes, leaks, planted_span

from otel_raglog.redaction.keys import KeyRules
from otel_raglog.redaction.replacing import Action, Replacing
from otel_raglog.redaction.rewriting import Rewriter
from otel_raglog.redaction.texts import TextRules
from otel_raglog.redaction.values import ValueRules
from otel_raglog.wire import Shape, wrap

REPLACING = Replacing(b"k" * 16)
UNKNOWN = bytes([0xFA, 0x3F, 3]) + b"abc"


def rewriter(mask=(), hashed=(), patterns=("email",)):
    """Return what rewrites by such rules."""
    texts = TextRules(patterns, (), Action.MASK, REPLACING)
    return Rewriter(ValueRules(KeyRules(mask, hashed), texts, REPLACING))


def rewritten(values, **rules):
    """Return a span's attributes after they were redacted."""
    span = SpanMessage(attributes=attributes(values))
    made = SpanMessage.FromString(rewriter(**rules).message(span.SerializeToString(), Shape.SPAN))
    return {pair.key: pair.value for pair in made.attributes}


def test_bytes_in_which_nothing_is_found_are_the_same_object():
    """Nothing is written anew for nothing."""
    data = SpanMessage(name="x", attributes=attributes({"a": [1, {"b": "c"}]})).SerializeToString()
    assert rewriter(["other"]).message(data, Shape.SPAN) is data


def test_unknown_fields_and_order_survive():
    """Beside what is redacted, at every level."""
    value = wrap(1, b"to a@b.co") + UNKNOWN
    pair = UNKNOWN + wrap(1, b"k") + wrap(2, value)
    data = wrap(9, pair) + UNKNOWN + wrap(5, b"name")
    hidden = wrap(1, b"to [redacted]") + UNKNOWN
    made = rewriter().message(data, Shape.SPAN)
    assert made == wrap(9, UNKNOWN + wrap(1, b"k") + wrap(2, hidden)) + UNKNOWN + wrap(5, b"name")


def test_a_key_may_stand_behind_its_value():
    """Protobuf does not say in which order fields come."""
    data = wrap(9, wrap(2, wrap(1, b"Ann")) + wrap(1, b"user.name"))
    made = SpanMessage.FromString(rewriter(["user.name"]).message(data, Shape.SPAN))
    assert made.attributes[0].value.string_value == "[redacted]"


def test_masks_take_the_place_of_values_of_any_kind():
    """Numbers, truths, bytes, lists and maps."""
    values = {"n": 7, "f": 1.5, "t": True, "b": b"\xff", "l": ["x"], "m": {"a": 1}, "s": "x"}
    made = rewritten(values, mask=["?"])
    assert {value.string_value for value in made.values()} == {"[redacted]"}


def test_hashes_keep_the_shape():
    """Items and members each have their own: a list of ids stays one."""
    made = rewritten({"ids": ["d1", "d2"], "m": {"a": "d1", "n": 7}}, hashed=["ids", "m"])
    ids = [item.string_value for item in made["ids"].array_value.values]
    assert ids == [REPLACING(each, Action.HASH) for each in ("d1", "d2")]
    members = {pair.key: pair.value.string_value for pair in made["m"].kvlist_value.values}
    assert members == {"a": ids[0], "n": REPLACING("7", Action.HASH)}


def test_the_same_value_has_the_same_hash_in_a_map_and_in_json():
    """Negative numbers and fractions as well."""
    made = rewritten(
        {"m": {"n": -7, "f": 0.25}, "j": '{"n": -7, "f": 0.25}'}, hashed=["*.n", "*.f"]
    )
    members = {pair.key: pair.value.string_value for pair in made["m"].kvlist_value.values}
    assert members["n"] in made["j"].string_value
    assert members["f"] in made["j"].string_value


def test_texts_without_a_key_have_names_for_rules():
    """The span's name, its events' and its status message."""
    span = SpanMessage(name="Ann")
    span.status.message = "Ann failed"
    span.status.code = 2
    span.events.add(name="Ann came")
    data = rewriter(["span.name", "event.name", "status.message"]).message(
        span.SerializeToString(), Shape.SPAN
    )
    made = SpanMessage.FromString(data)
    assert made.name == made.events[0].name == made.status.message == "[redacted]"
    assert made.status.code == 2


def test_invalid_utf8_is_searched_as_far_as_it_can_be_read():
    """And stays as it is where nothing is found."""
    broken = wrap(5, b"\xff to a@b.co")
    assert (
        SpanMessage.FromString(rewriter().message(broken, Shape.SPAN)).name
        == "\ufffd to [redacted]"
    )
    kept = wrap(5, b"\xff here")
    assert rewriter().message(kept, Shape.SPAN) is kept


def test_nothing_that_is_planted_stays():
    """In all places of a span at once."""
    data = planted_span().SerializeToString()
    assert leaks(data)
    rules = {
        "mask": ["user.name", "*.customer"],
        "hashed": ["user.id", "session.id"],
        "patterns": ("email", "phone", "card", "iban", "key"),
    }
    made = rewriter(**rules).message(data, Shape.SPAN)
    assert [leak for leak in leaks(made) if leak not in {"EMP-204711", "204711"}] == []
    assert rewriter(**rules).message(data, Shape.SPAN) == made
