"""Where the items of a request are."""

from __future__ import annotations

import pytest

from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.model import Signal
from otel_raglog.receive.envelopes import join_places, open_request

UNKNOWN = b"\xc2\x3e\x03new"


def test_items_are_found_with_what_is_around_them(wrap) -> None:
    """Whatever the lengths, and whatever stands between them."""
    items = [b"", b"a" * 127, b"b" * 128, b"c" * 16_383, b"d" * 16_384, b"e" * 3_000_000]
    scope = wrap(1, b"\x0a\x01s") + b"".join(wrap(2, item) for item in items) + UNKNOWN
    body = UNKNOWN + wrap(1, wrap(1, b"") + wrap(2, scope) + UNKNOWN) + wrap(1, b"")
    opened = open_request(body, 10)
    ((resource, found),) = opened.scopes()
    assert [body[start:end] for start, end in found.items] == items
    assert body[slice(*found.place)] == scope
    assert join_places(body, resource.own) == wrap(1, b"") + UNKNOWN
    assert join_places(body, found.own) == wrap(1, b"\x0a\x01s") + UNKNOWN
    assert len(opened.resources) == 2


def test_fields_of_another_type_are_no_items(wrap) -> None:
    """They belong to the envelope."""
    ((_, scope),) = open_request(wrap(1, wrap(2, b"\x10\x05" + wrap(2, b"x"))), 10).scopes()
    assert len(scope.items) == 1
    assert len(scope.own) == 1


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_cut_request_is_bad_input(cut: int, wrap) -> None:
    """Wherever it ends, also inside a length."""
    body = wrap(1, wrap(2, wrap(2, b"a" * 200)))
    with pytest.raises(BadInput):
        open_request(body[:cut], 10)


def test_an_item_beyond_its_envelope_is_bad_input(wrap) -> None:
    """Its bytes are there, but they are another's."""
    with pytest.raises(BadInput):
        open_request(wrap(1, wrap(2, b"\x12\x05abc")) + b"\xc2\x3e\x03new", 10)


def test_limits_name_the_items(wrap) -> None:
    """The limit is inclusive, over all scopes; envelopes have one of their own."""
    two = wrap(1, wrap(2, wrap(2, b"")) * 2)
    assert open_request(two, 2)
    with pytest.raises(TooLarge, match="more than 1 log records"):
        open_request(two, 1, Signal.LOGS)
    with pytest.raises(TooLarge, match="too many fields for a request of 2 spans"):
        open_request(wrap(1, b"") * 9, 2)


@pytest.mark.parametrize("depth", range(3))
def test_fields_that_no_envelope_has_are_few(depth: int, wrap) -> None:
    """They cost a sender nothing, compressed, and the reader a microsecond each."""

    def request(fields: int) -> bytes:
        body = UNKNOWN * fields
        for number in (2, 1)[2 - depth :]:
            body = wrap(number, body)
        return body

    assert open_request(request(1_008), 100_000)
    with pytest.raises(TooLarge, match="unknown ones"):
        open_request(request(1_009), 100_000)


def test_fields_that_no_envelope_has_are_few_in_all(wrap) -> None:
    """A few more in each of many envelopes are too many; those that are usual are not counted."""
    usual = wrap(1, wrap(2, UNKNOWN * 8) + UNKNOWN * 8)
    assert open_request(usual * 1_000, 100_000)
    with pytest.raises(TooLarge, match="unknown ones"):
        open_request(wrap(1, wrap(2, UNKNOWN * 9) + UNKNOWN * 8) * 1_001, 100_000)
