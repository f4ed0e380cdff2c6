"""Capture: Python programs run on traced arrays, as they are."""
