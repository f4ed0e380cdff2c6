"""Invalid programs, as text that is run with jax and with tinyjax.

``jax`` stands for either library, ``jnp`` and ``lax`` for its modules.
"""

from invalid import blocks, lax, numpy, transformations


def _lines(text: str) -> list[str]:
    return text.strip().split("\n")


def _blocks(text: str) -> list[str]:
    return text.strip().split("\n---\n")


#: Programs that jax refuses, and tinyjax by an error that is an instance of the same builtin class.
REFUSED = [
    *_lines(numpy.ARITHMETIC),
    *_lines(numpy.SHAPES),
    *_lines(numpy.INDEXING),
    *_lines(numpy.REDUCTIONS),
    *_lines(numpy.LINEAR_ALGEBRA),
    *_lines(lax.LAX),
    *_lines(lax.CONTROL_FLOW),
    *_lines(lax.TRACED_VALUES),
    *_lines(transformations.TRANSFORMATIONS),
    *_lines(transformations.KEYS),
    *_blocks(blocks.PROGRAMS),
]

#: Programs that jax refuses by an error of another builtin class, and which that is: by one that
#: its own code runs into, or that names what it has not made, where the argument is at fault.
#: docs/differences.md lists the kinds.
OTHERWISE: dict[str, type[Exception]] = {
    program: error
    for error, programs in {
        # what cannot be divided, asserted or looked up
        ZeroDivisionError: """
jnp.split(jnp.ones(6), 0)
jnp.array_split(jnp.ones(6), 0)
jnp.arange(0, 1, 0)
lax.slice(jnp.ones(3), (0,), (2,), (0,))
""",
        AssertionError: """
jnp.ravel_multi_index((jnp.array([1]),), (2, 2))
jax.vmap(lambda x: lax.ppermute(x, "i", [(0, 5)]), axis_name="i")(jnp.ones(3))
jax.vmap(lambda x: lax.ppermute(x, "i", [(0, 1), (0, 2)]), axis_name="i")(jnp.ones(3))
jax.linear_transpose(lambda x: x * x, 1.0)(1.0)
jax.nn.glu(jnp.ones(3))
""",
        AttributeError: """
jax.tree.unflatten(3, [1])
jax.pure_callback(lambda x: x, 3, jnp.ones(4))
""",
        OverflowError: """
lax.cumlogsumexp(jnp.ones(3, int))
""",
        IndexError: """
jnp.swapaxes(jnp.ones((2, 3)), 0, "a")
""",
        # a value that means nothing, which jax calls not implemented
        NotImplementedError: """
jnp.pad(jnp.ones(3), 1, mode="nope")
jnp.sum(jnp.ones(3), out=jnp.ones(()))
jnp.any(jnp.ones(3), axis="a")
jnp.gradient(jnp.ones(3), edge_order=3)
""",
        # XLA's
        RuntimeError: """
lax.conv(jnp.ones((1, 1, 3)), jnp.ones((1, 1, 3)), (1,), "NOPE")
lax.reduce_window(jnp.ones(3), 0.0, lax.add, (2,), (1,), "NOPE")
""",
        # a text for an axis, which jax takes for the name of one
        NameError: """
jnp.sum(jnp.ones(3), axis="0")
jnp.sum(jnp.ones(3), axis="01")
jnp.sum(jnp.ones((3, 3)), axis="01")
jnp.ones((3, 3)).sum(axis="01")
jnp.mean(jnp.ones(3), axis="0")
jnp.std(jnp.ones(3), axis="a")
jax.nn.softmax(jnp.ones(3), axis="a")
""",
        # a traced value where an int is needed, which jax cannot hash
        ValueError: """
jax.jit(lambda x: jnp.unstack(jnp.ones((2, 2)), axis=x))(1)
jax.jit(lambda x: jnp.sort(jnp.ones((2, 2)), axis=x))(1)
jax.jit(lambda x: jnp.linalg.norm(jnp.ones((2, 2)), axis=x))(1)
jax.jit(lambda x: jnp.tril(jnp.ones((3, 3)), k=x))(1)
jax.jit(lambda x: jnp.diff(jnp.ones(3), n=x))(1)
jax.jit(lambda x: jnp.linalg.matrix_power(jnp.eye(3), x))(2)
jax.jit(lambda x: jnp.swapaxes(jnp.ones((3, 2)), x, 0))(1)
jax.jit(lambda x: jnp.rot90(jnp.ones((3, 1)), x))(1)
jax.jit(lambda x: jnp.round(1.5, x))(1)
""",
    }.items()
    for program in _lines(programs)
}
