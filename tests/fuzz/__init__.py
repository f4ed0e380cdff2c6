"""Random programs under random stacks of transformations.

A program is a list of steps over float64 arrays, total by construction: every step is defined for
all numbers. It is run twice. On one side the transformations are tinyjax's, up to three deep: jit,
make_jaxpr, vmap, jvp by three routes, vjp and grad. Within the program there are transformations,
the toolbox made of them, control flow, custom rules, checkpoints, callbacks, and functions defined
by equations, up to two deep. There are linear algebra and detours through complex numbers, too.

On the other side everything has a simple reference. jit does nothing, vmap is a Python loop, and
control flow computes everything and selects. Rules and checkpoints are left out, equations are
solved by a few explicit steps, and matrices are decomposed by hand. A reverse derivative is put
together column by column from jvp, so that the sides share evaluation and jvp alone. Both must
agree to 1e-9 of the result's size, and jvp must agree with a finite difference.

Beside the float64 values there are ones of all other dtypes, whose promotions must be those that
``result_type`` says, and special ones: NaN, infinities, zeros of either sign, the ends of the
integers. They are chosen by the data and exact in their dtypes. Static arguments are tuples whose
parts are equal and yet of different types.

Steps keep values of moderate size and away from kinks: what grows goes through a sine, divisors
stay away from zero, and thresholds are irrational.
"""
