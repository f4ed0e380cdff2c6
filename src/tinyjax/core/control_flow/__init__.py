"""Control flow that is part of the program: conditionals and loops as primitives.

Each takes functions, stages them to jaxprs, and binds a primitive whose parameters are those
jaxprs. Closed-over values, arrays and tracers alike, become operands. The rules of the primitives
transform the jaxprs and bind the primitive again.

The functions are in modules of their own, since a program seldom needs all of them: ``cond``,
``scan``, ``while_loop`` and ``loops``. A primitive has its rules once its module is loaded.
"""
