"""The add-on's options as texts."""

import pytest

from otel_raglog_proxy_bridge.addon_options import OPTIONS, BadOption
from otel_raglog_proxy_bridge.typed_options import typed_values


def test_texts_become_values_of_the_options_types():
    """As mitmproxy converts them, so that both see the same."""
    values = typed_values(
        {
            "raglog_max_body_bytes": ["4096"],
            "raglog_inject_traceparent": ["false"],
            "raglog_redact": ["a", "b"],
            "raglog_service": ["a=b"],
        }
    )
    assert values["raglog_max_body_bytes"] == 4096
    assert values["raglog_inject_traceparent"] is False
    assert values["raglog_redact"] == ("a", "b")
    assert values["raglog_service"] == "a=b"


def test_what_was_not_typed_keeps_its_default():
    """Every option has a value."""
    assert typed_values({}) == {option.name: option.default for option in OPTIONS}


def test_a_switch_alone_is_on():
    """``--set NAME`` is NAME=true, as for mitmproxy."""
    assert typed_values({"raglog_inject_traceparent": []})["raglog_inject_traceparent"] is True


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("raglog_max_body_bytes", ["abc"]),
        ("raglog_max_body_bytes", ["1.5"]),
        ("raglog_max_body_bytes", [""]),
        ("raglog_max_body_bytes", []),
        ("raglog_max_body_bytes", ["1", "2"]),
        ("raglog_inject_traceparent", ["maybe"]),
        ("raglog_service", []),
        ("raglog_service", ["a", "b"]),
    ],
)
def test_a_text_that_is_no_such_value_is_named(name, texts):
    """mitmproxy would leave the add-on out and go on."""
    with pytest.raises(BadOption, match=f"^{name}: "):
        typed_values({name: texts})


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("raglog_redct", "raglog_redact"),
        ("raglog_body_bytes", "raglog_max_body_bytes"),
        ("raglog_", "raglog_"),
    ],
)
def test_a_misspelt_name_is_refused_with_the_nearest(typed, meant):
    """What it was to mask would stay in sight."""
    with pytest.raises(BadOption, match=f"^{typed}: there is no such option; did you mean {meant}"):
        typed_values({typed: ["x"]})
