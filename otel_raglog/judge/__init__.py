"""Runs put before an LLM: whom to ask, what it costs, what came of it."""
