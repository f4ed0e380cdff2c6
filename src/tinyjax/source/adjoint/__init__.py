"""Adjoints of programs, and the derivatives of the calls in them.

``differentiate`` writes the adjoint of a program, ``codegen`` compiles it, and ``pullbacks`` finds
at run time how a call is pulled: by a rule (``rules``), by those of tinyjax's primitives, or by the
adjoint of its own program.
"""
