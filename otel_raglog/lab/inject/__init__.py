"""Faults that are put into one stage of a live run, one file each."""
