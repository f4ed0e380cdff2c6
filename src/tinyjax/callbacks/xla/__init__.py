"""Compiled programs that call Python: loaded when the first is compiled."""
