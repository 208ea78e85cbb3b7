"""Captured HTTP calls of a pipeline without instrumentation, turned into the spans it did not write.

Nothing here needs more than the standard library, so that the add-on runs in any environment that
has mitmproxy in it, its own binaries included.
"""
