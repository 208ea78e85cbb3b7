"""Values with and without JSON in them."""

import json

import pytest

from otel_raglog.redaction.keys import KeyRules
from otel_raglog.redaction.replacing import Action, Replacing
from otel_raglog.redaction.texts import TextRules
from otel_raglog.redaction.values import ValueRules

REPLACING = Replacing(b"k" * 16)


def rules(mask=(), hashed=(), patterns=("email",)):
    """Return rules of all kinds."""
    return ValueRules(
        KeyRules(mask, hashed), TextRules(patterns, (), Action.MASK, REPLACING), REPLACING
    )


def test_json_stays_json():
    """Whatever is found in it, at any depth, in keys as well, and in JSON in its strings."""
    text = json.dumps(
        {"a": [{"to": "a@b.co", "n": 1.50, "t": True, "z": None}], "c@d.de": json.dumps(["e@f.gh"])}
    )
    redacted = json.loads(rules().string(text, "input.value"))
    assert redacted == {
        "a": [{"to": "[redacted]", "n": 1.5, "t": True, "z": None}],
        "[redacted]": '["[redacted]"]',
    }


def test_rules_reach_into_json_by_paths():
    """The key of the attribute, then members and numbers of items."""
    text = json.dumps(
        {"user": {"name": "Ann", "tags": ["x"]}, "docs": [{"id": "d1"}, {"id": "d2"}]}
    )
    made = json.loads(rules(["in.user.name"], ["in.docs.*.id"]).string(text, "in"))
    assert made["user"] == {"name": "[redacted]", "tags": ["x"]}
    assert [doc["id"] for doc in made["docs"]] == [REPLACING(i, Action.HASH) for i in ("d1", "d2")]


def test_a_rule_for_a_part_means_all_that_is_in_it():
    """A mask hides how much there was; hashes keep the shape."""
    text = json.dumps({"user": {"name": "Ann", "age": 41, "member": True, "none": None}})
    assert rules(["in.user"]).string(text, "in") == '{"user": "[redacted]"}'
    made = json.loads(rules((), ["in.user"]).string(text, "in"))["user"]
    assert made["name"] == REPLACING("Ann", Action.HASH)
    assert made["age"] == REPLACING("41", Action.HASH)
    assert made["member"] == "[redacted]"


def test_a_rule_for_the_whole_value_hashes_its_text():
    """So that the same document is the same, whatever JSON may be in it."""
    assert rules((), ["d"]).string('{"a": 1}', "d") == REPLACING('{"a": 1}', Action.HASH)


def test_untouched_json_keeps_every_byte():
    """Blanks, numbers and order."""
    text = '{ "b":1.00,"a" : [ 1e5 ] }'
    assert rules(["*.secret"]).string(text, "in") == text


def test_the_way_of_writing_is_kept():
    """Compact stays compact, ASCII stays ASCII."""
    assert (
        rules().string('{"a":"x@y.zz","b":"\\u00e4"}', "in") == '{"a":"[redacted]","b":"\\u00e4"}'
    )
    assert rules().string('{"a": "x@y.zz", "b": "ä"}', "in") == '{"a": "[redacted]", "b": "ä"}'


def test_escapes_hide_nothing():
    """In JSON, and in what was JSON before it was cut."""
    assert "redacted" in rules().string(r'{"a": "x\u0040y.zz"}', "in")
    assert rules().string(r'{"a": "x\u0040y.zz", "b', "in") == '{"a": "[redacted]", "b'


def test_a_member_that_stands_twice_hides_nothing():
    """Readers take the last one; people see both."""
    text = rules(["in.user"]).string('{"user": "Ann", "user": "Bob"}', "in")
    assert "Ann" not in text
    assert "Bob" not in text


def test_whole_numbers_are_texts_too_and_fractions_are_scores():
    """A card number is one without quotes as well."""
    card = rules(patterns=("card",))
    assert card.string('{"n": 4539148803436467}', "in") == '{"n": "[redacted]"}'
    assert card.number(4539148803436467, "in") == "[redacted]"
    assert card.number(42, "in") is None
    assert card.number(0.5, "in") is None
    assert rules(["in"]).number(0.5, "in") == "[redacted]"


def test_json_that_is_too_deep_is_an_error():
    """The caller lets nothing of it out."""
    text = '{"a":' * 200_000 + "1" + "}" * 200_000
    with pytest.raises(RecursionError):
        rules(["*.secret"]).string(text, "in")
