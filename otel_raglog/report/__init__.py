"""Verdicts to attributes, events and explanations."""
