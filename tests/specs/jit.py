"""Rows of compiled programs as primitives: jit inside everything else."""

import jax
import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax._extensions.chunking.concurrent import concurrent_p
from tinyjax.core.api.mapping import vmap
from tinyjax.core.jit import jit, jit_p
from tinyjax.core.primitives.broadcast import broadcast_in_dim, reduce_sum
from tinyjax.core.primitives.elementwise import add, exp, mul, select, sin
from tinyjax.core.primitives.shape import transpose
from tinyjax.core.values.array import Array

F = ArraySpec((2, 3))


@jit
def single(x: Array) -> Array:
    return mul(sin(x), x)


@jit
def several(x: Array, y: Array) -> dict[str, Array]:
    """Results that depend on one operand, on both, and an operand itself."""
    inner = jit(lambda z: exp(sin(z)))
    return {"one": inner(x), "both": mul(inner(y), x), "itself": y}


@jit
def linear(x: Array, y: Array) -> Array:
    return add(transpose(x, (1, 0)), broadcast_in_dim(reduce_sum(y, (0, 1)), (3, 2), ()))


@jit
def mixed(mask: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """A bool among the operands and the results."""
    return select(mask, x, mul(x, y)), mask


def in_threads(x: Array, w: Array) -> Array:
    """Two parts of the rows of one operand, with all of the other."""
    return vmap(jit(lambda row, w: mul(sin(row), w)), (0, None), threads=2)(x, w)


def outer(x: Array) -> Array:
    """The same program twice, and once more inside itself."""
    return jit(lambda z: add(single(z), single(single(z))))(x)


SPECS = [
    Spec(
        "jit",
        jit_p,
        single,
        [Case(F), Case(ArraySpec(())), Case(ArraySpec((0, 2)))],
        lambda x: np.sin(x) * x,
        jax=jax.jit(lambda x: jax.numpy.sin(x) * x),
        dtypes=("float32", "float64", "complex64", "complex128"),
        grad=2,
        grad_dtypes=("float64", "complex128"),
        grad_cases=(0, 2),
    ),
    Spec(
        "jit, with several results",
        jit_p,
        several,
        [Case(F, F)],
        lambda x, y: {"one": np.exp(np.sin(x)), "both": np.exp(np.sin(y)) * x, "itself": y},
        dtypes=("float32", "float64"),
        grad=2,
    ),
    Spec("jit, linear", jit_p, linear, [Case(F, F)], grad=1, linear=(0, 1), dtypes=("float64",)),
    Spec(
        "jit, with bools",
        jit_p,
        mixed,
        [Case(ArraySpec((2, 3), np.bool_), F, F)],
        lambda mask, x, y: (np.where(mask, x, x * y), mask),
        dtypes=("float64",),
        grad=2,
    ),
    Spec(
        "concurrent",
        concurrent_p,
        in_threads,
        [Case(F, ArraySpec((3,))), Case(ArraySpec((3, 2)), ArraySpec((2,)))],
        lambda x, w: np.sin(x) * w,
        jax=lambda x, w: jax.numpy.sin(x) * w,
        dtypes=("float32", "float64", "complex128"),
        grad=2,
        grad_dtypes=("float64",),
    ),
    Spec("jit, nested", jit_p, outer, [Case(F)], dtypes=("float64",), grad=2),
    Spec(
        "jit, of nothing but a constant",
        jit_p,
        jit(lambda x: (x, mul(x, x), sin(np.float64(0.5) * x))),
        [Case(ArraySpec((2,), np.float64))],
        lambda x: (x, x * x, np.sin(0.5 * x)),
        grad=2,
    ),
]
