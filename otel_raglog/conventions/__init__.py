"""Span attributes to facts, one file per attribute vocabulary."""
