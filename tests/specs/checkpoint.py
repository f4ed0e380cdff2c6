"""Rows of checkpointed programs as primitives, and of names."""

import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax import checkpoint_policies
from tinyjax._extensions.checkpointing import checkpoint, checkpoint_p
from tinyjax._extensions.rematerialization.transformation import budget_p, budgeted
from tinyjax.core.jit import jit
from tinyjax.core.primitives.broadcast import broadcast_in_dim, reduce_sum
from tinyjax.core.primitives.elementwise import add, exp, mul, select, sin
from tinyjax.core.primitives.identities import checkpoint_name, name_p
from tinyjax.core.primitives.shape import transpose
from tinyjax.core.values.array import Array

F = ArraySpec((2, 3))


@checkpoint
def single(x: Array) -> Array:
    return mul(sin(x), x)


@checkpoint(policy=checkpoint_policies.save_only_these_names("kept"), prevent_cse=False)
def named(x: Array, y: Array) -> dict[str, Array]:
    """Results that depend on one operand, on both, and an operand itself; a program called."""
    inner = jit(lambda z: exp(checkpoint_name(sin(z), "kept")))
    return {"one": inner(x), "both": mul(inner(y), x), "itself": y}


@checkpoint(policy=checkpoint_policies.everything_saveable)
def mixed(mask: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """A bool among the operands and the results."""
    return select(mask, x, mul(x, y)), mask


def within_budget(x: Array, y: Array) -> Array:
    """Products in a budget that suffices for all that their derivative reads."""
    return budgeted(lambda x, y: mul(sin(mul(sin(x), y)), x), 100_000)(x, y)


@checkpoint
def linear(x: Array, y: Array) -> Array:
    return add(transpose(x, (1, 0)), broadcast_in_dim(reduce_sum(y, (0, 1)), (3, 2), ()))


@checkpoint
def outer(x: Array) -> Array:
    """A checkpointed program in another, twice."""
    return add(single(x), single(single(x)))


SPECS = [
    Spec(
        "checkpoint",
        checkpoint_p,
        single,
        [Case(F), Case(ArraySpec(())), Case(ArraySpec((0, 2)))],
        lambda x: np.sin(x) * x,
        dtypes=("float32", "float64", "complex64", "complex128"),
        grad=2,
        grad_dtypes=("float64", "complex128"),
        grad_cases=(0,),
    ),
    Spec(
        "checkpoint, with several results",
        checkpoint_p,
        named,
        [Case(F, F)],
        lambda x, y: {"one": np.exp(np.sin(x)), "both": np.exp(np.sin(y)) * x, "itself": y},
        dtypes=("float64",),
        grad=2,
    ),
    Spec(
        "checkpoint, with bools",
        checkpoint_p,
        mixed,
        [Case(ArraySpec((2, 3), np.bool_), F, F)],
        lambda mask, x, y: (np.where(mask, x, x * y), mask),
        dtypes=("float64",),
        grad=2,
    ),
    Spec(
        "checkpoint, linear",
        checkpoint_p,
        linear,
        [Case(F, F)],
        dtypes=("float64",),
        grad=1,
        linear=(0, 1),
    ),
    Spec(
        "memory_budget",
        budget_p,
        within_budget,
        [Case(F, F), Case(ArraySpec(()), ArraySpec(()))],
        dtypes=("float64", "complex128"),
        grad=2,
        grad_dtypes=("float64", "complex128"),
    ),
    Spec("checkpoint, nested", checkpoint_p, outer, [Case(F)], dtypes=("float64",), grad=2),
    Spec(
        "name",
        name_p,
        lambda x: checkpoint_name(x, "a"),
        [Case(F), Case(ArraySpec(()))],
        lambda x: x,
        dtypes="biufc",
        grad=1,
        linear=(0,),
    ),
]
