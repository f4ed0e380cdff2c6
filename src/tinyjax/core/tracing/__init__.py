"""Primitives, the traces that interpret them, and the jaxprs that record them."""
