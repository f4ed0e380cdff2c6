"""Adjoints of programs, and the derivatives of the calls in them.

``differentiate`` writes the adjoint of a program, and ``codegen`` compiles it. ``pullbacks`` finds
the pullback of a call at run time: from a rule (``rules``), from the rules of tinyjax's primitives,
or from the adjoint of the callee's own program.
"""
