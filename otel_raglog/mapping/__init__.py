"""Traces to runs."""
