"""Measurements from sentence embeddings."""
