"""Checks that read two texts beside each other with one small model."""
