"""Runs to measurements."""
