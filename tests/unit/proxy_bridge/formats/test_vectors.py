"""Embeddings of which some may be missing to all of them, or none."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.vectors import complete


def test_all_or_none():
    """One that is missing would move the others to wrong inputs."""
    assert complete([(1.0,), (2.0,)]) == ((1.0,), (2.0,))
    assert complete([(1.0,), None]) == ()
    assert complete([]) == ()
