"""Judged and labelled runs to figures: how good a detector is, and how sure that is."""
