"""Measurements from text rules alone."""
