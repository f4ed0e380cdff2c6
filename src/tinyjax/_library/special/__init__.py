"""Primitives for special functions.

Each is evaluated by SciPy and compiled from a formula of other primitives, both in float64 and
rounded once, so that results in float32 are as good as float32 holds. The formulas come from the
literature, which stands beside them; where a function of one variable has none that is quick, it is
interpolated, piece by piece, by a Chebyshev polynomial.
"""
