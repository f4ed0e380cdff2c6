"""The primitives that rules themselves are written with."""
