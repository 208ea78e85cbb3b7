"""Labelled runs to a trained detector; needs the extra ``train`` to fit, nothing to read."""
