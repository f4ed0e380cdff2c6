"""The digits that rounding costs: the extension behind ``tinyjax.accuracy``.

A ``ShadowTrace`` computes every value twice: as the program does, and in a wider precision (its
*shadow*). Floats up to float32 have float64 beside them, float64 has double-double (``doubled``).
A report traces an error of a result back to the operations in which it grew (``causes``).
"""
