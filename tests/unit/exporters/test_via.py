"""The via header tells in order which sidecars a request came by."""

from __future__ import annotations

from otel_raglog_exporters.via import VIA_HEADER, with_via


def test_the_first_sidecar_begins_the_list():
    """Other headers stay."""
    assert with_via((("tenant", "a"),), "one") == (("tenant", "a"), (VIA_HEADER, "one"))


def test_later_ones_come_behind():
    """However many lines the list had."""
    before = ((VIA_HEADER, "one"), ("tenant", "a"), (VIA_HEADER, "two,three"))
    assert with_via(before, "four") == (("tenant", "a"), (VIA_HEADER, "one,two,three,four"))


def test_without_an_id_nothing_is_said():
    """A replay is no hop."""
    headers = ((VIA_HEADER, "one"),)
    assert with_via(headers, "") is headers
