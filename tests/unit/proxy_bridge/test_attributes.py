"""How values are written as OTLP JSON."""

from __future__ import annotations

from otel_raglog_proxy_bridge.attributes import attribute_items


def test_each_kind_of_value_has_its_field():
    """64-bit integers are texts; ``None`` is left out; the rest is text."""
    written = attribute_items({"a": True, "b": 3, "c": 0.5, "d": "x", "e": None, "f": (1, 2)})
    assert {item["key"]: item["value"] for item in written} == {
        "a": {"boolValue": True},
        "b": {"intValue": "3"},
        "c": {"doubleValue": 0.5},
        "d": {"stringValue": "x"},
        "f": {"stringValue": "(1, 2)"},
    }


def test_a_lone_surrogate_does_not_spoil_the_request():
    """JSON can escape it, protobuf could not hold it."""
    (item,) = attribute_items({"a": "x\ud800"})
    assert item["value"] == {"stringValue": "x?"}


def test_numbers_that_json_cannot_hold_are_left_out_or_become_text():
    """Neither NaN nor infinity is JSON; ``intValue`` has 64 bits."""
    written = attribute_items({"a": float("nan"), "b": float("-inf"), "c": 10**30, "d": -(2**63)})
    assert [(item["key"], *item["value"]) for item in written] == [
        ("c", "stringValue"),
        ("d", "stringValue"),
    ]


def test_keys_have_no_lone_surrogates_either():
    """They are texts too."""
    (item,) = attribute_items({"a\ud800": 1})
    assert item["key"] == "a?"
