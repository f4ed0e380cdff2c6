"""Random programs under random stacks of transformations.

A program is a list of steps over float64 arrays, total by construction: whatever numbers a step
is given, it means something. It is run twice. On one side the transformations are tinyjax's, up
to three deep: jit, make_jaxpr, vmap, jvp by three routes, vjp and grad; and within the program
there are transformations, the toolbox made of them, control flow, custom rules, checkpoints,
callbacks, and functions defined by equations, up to two deep, linear algebra and detours through
complex numbers. On the other side jit does nothing, vmap is a Python loop, control flow computes
everything and selects, rules and checkpoints are left out, equations are solved by a few steps
written out, matrices are decomposed by hand, and a reverse derivative is put together column by
column from jvp, so that what is left in common is evaluation and jvp. Both must agree to 1e-9 of
the result's size; and jvp must agree with a finite difference.

Steps keep values of moderate size and away from kinks: what grows goes through a sine, divisors
stay away from zero, and thresholds are irrational.
"""
