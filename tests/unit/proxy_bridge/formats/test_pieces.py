"""Pieces of streamed texts to the texts."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.pieces import Pieces


def test_pieces_are_joined_in_their_order_by_key():
    """One stream carries several texts at once; nothing and empty pieces add none."""
    pieces = Pieces()
    for key, more in ((0, "a"), (1, "x"), (0, ""), (0, None), (0, "b")):
        pieces.add(key, more)
    assert (pieces.joined(0), pieces.joined(1), pieces.joined(2)) == ("ab", "x", "")


def test_a_text_that_is_forgotten_begins_anew():
    """A block that begins twice has what came after the second beginning."""
    pieces = Pieces()
    pieces.add("a", "old")
    pieces.add("b", "kept")
    pieces.forget("a", "c")
    assert "a" not in pieces
    assert "b" in pieces
    pieces.add("a", "new")
    assert pieces.joined("a") == "new"
