"""Markers are plain values."""

from __future__ import annotations

from otel_raglog.receive.markers import Markers


def test_no_markers_mark_nothing() -> None:
    """The default matches no key and no name."""
    markers = Markers()
    assert not b"anything".startswith(markers.key_prefixes)
    assert not b"anything".startswith(markers.names)
    assert not markers.value_keys
    assert not markers.value_parts
