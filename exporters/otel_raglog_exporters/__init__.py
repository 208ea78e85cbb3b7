"""Destinations of spans and verdicts, one file each."""
