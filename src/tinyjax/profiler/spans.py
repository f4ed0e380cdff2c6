"""The names of tinyjax's spans."""

from typing import Final

#: What is a span: recording a function, a transformation of it or of a program, writing StableHLO,
#: compiling, loading what was compiled, running it, and data that goes to a device or comes back.
SPANS: Final = ("trace", "transform", "lower", "compile", "load", "execute", "transfer")
