"""The transformations: each a trace, in a file of its own, that knows no concrete primitive."""
