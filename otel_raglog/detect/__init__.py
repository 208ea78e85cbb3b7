"""Measurements to verdicts."""
