"""Spans out of journalled requests."""

from __future__ import annotations

import pytest

from otel_raglog.errors import BadInput
from otel_raglog.model import Piece
from otel_raglog.receive.picking import Picker, pick


@pytest.fixture
def spans(make_span):
    """Five spans; the fourth bears a verdict of its own."""
    made = [make_span(name=f"span {number}") for number in range(5)]
    made[3].attributes.add(key="raglog.verdict").value.string_value = "ok"
    return made


def test_spans_come_in_the_order_asked_for(pack, spans) -> None:
    """Over all groups of the request; spans of equal origin share it."""
    body = pack(*spans[:2]) + pack(*spans[2:])
    picked = pick(body, Piece(1, (4, 0, 1)))
    assert [span.raw for span in picked] == [spans[n].SerializeToString() for n in (4, 0, 1)]
    assert picked[0].origin is picked[1].origin


def test_additions_are_appended_after_our_namespace_is_taken_out(pack, spans) -> None:
    """Each to its span."""
    picked = pick(pack(*spans), Piece(1, (3, 2), (b"\x2a\x01x", b"")))
    spans[3].ClearField("attributes")
    assert picked[0].raw == spans[3].SerializeToString() + b"\x2a\x01x"
    assert picked[1].raw == spans[2].SerializeToString()


def test_a_piece_without_ordinals_is_every_span(pack, spans) -> None:
    """In their order, spoofed verdicts taken out."""
    picked = pick(pack(*spans), Piece(1))
    assert len(picked) == 5
    assert b"raglog." not in picked[3].raw


def test_a_request_is_opened_once_to_pick_many_times(pack, spans) -> None:
    """Whatever the order; spans of equal origin share it over all picks."""
    body = pack(*spans[:2]) + b"\x0a\x00\x0a\x02\x12\x00" + pack(*spans[2:])
    picker = Picker(body)
    for ordinal in (4, 0, 2, 1, 4):
        piece = Piece(1, (ordinal,), (b"\x2a\x01x",))
        assert picker.pick(piece) == pick(body, piece)
    [one], [other] = picker.pick(Piece(1, (0,))), picker.pick(Piece(1, (4,)))
    assert one.origin is other.origin
    assert picker.index_bytes > 5 * 16


@pytest.mark.parametrize("ordinals", [(5,), (0, 99), (-1,)])
def test_a_span_that_is_not_there_is_bad_input(ordinals, pack, spans) -> None:
    """Another request stands under the number than the one that was decided on."""
    with pytest.raises(BadInput, match="5 spans"):
        pick(pack(*spans), Piece(1, ordinals))


def test_a_body_that_is_no_request_is_bad_input() -> None:
    """A damaged record is not half read."""
    with pytest.raises(BadInput):
        pick(b"\x0a\x05abc", Piece(1, (0,)))
