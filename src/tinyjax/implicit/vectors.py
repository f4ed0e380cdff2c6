"""Trees as vectors, and user functions of trees as functions of vectors and what they close over.

A function is staged, so that what it closes over is found; it is then an argument like others. The
solvers know nothing but vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from tinyjax import dtypes, errors, frames, numpy as jnp, tree
from tinyjax.core.names import Array, av, cf, cl, ew, jx

#: What an equation is made of: a function of what it closes over and of its unknown, a vector.
VectorFunction = Callable[[Sequence[Array], Array], Array]


@attrs.frozen
class Space:
    """The vectors that stand for trees of one structure and type.

    Attributes:
        treedef: the structure.
        avals: the types of the leaves.
        dtype: that of the vectors.
    """

    treedef: tree.PyTreeDef
    avals: tuple[av.ShapedArray, ...]
    dtype: dtypes.DType

    @property
    def size(self) -> int:
        return sum(aval.size for aval in self.avals)

    def flatten(self, value: Any) -> Array:
        """Make a vector of a tree."""
        return self.join([jnp.asarray(x) for x in tree.leaves(value)])

    def join(self, leaves: Sequence[Array]) -> Array:
        """Make a vector of a tree's leaves."""
        pieces = [ew.convert_element_type(x.reshape(-1), self.dtype) for x in leaves]
        return pieces[0] if len(pieces) == 1 else jnp.concatenate(pieces)

    def split(self, vector: Array) -> list[Array]:
        """Make a tree's leaves of a vector."""
        leaves: list[Array] = []
        start = 0
        for aval in self.avals:
            piece = vector[start : start + aval.size]
            leaves.append(ew.convert_element_type(piece.reshape(aval.shape), aval.dtype))
            start += aval.size
        return leaves

    def unflatten(self, vector: Array) -> Any:
        """Make a tree of a vector."""
        return tree.unflatten(self.treedef, self.split(vector))


def space_of(treedef: tree.PyTreeDef, avals: Sequence[av.ShapedArray], what: str) -> Space:
    """The vectors for a tree's type.

    Raises:
        ArgumentError: there are no leaves, or real ones beside complex ones.
    """
    if not avals:
        raise errors.ArgumentError(f"{what} must hold at least one array, but it is {treedef}.")
    kinds = {dtypes.is_complex(a.dtype) for a in avals}
    if len(kinds) > 1:
        raise errors.ArgumentError(
            f"{what} must be all real or all complex, but its leaves are "
            f"{', '.join(map(str, avals))}. Convert them with .astype(...)."
        )
    dtype, _ = dtypes.promote([(a.dtype, False) for a in avals])
    return Space(treedef, tuple(a.strip_weak() for a in avals), dtype)


@attrs.frozen(eq=False)
class Closed:
    """A staged function of trees, whose first argument is what it closes over."""

    jaxpr: jx.Jaxpr
    out_tree: tree.PyTreeDef

    def flat(self, consts: Sequence[Array], *leaves: Array) -> list[Array]:
        """Apply it to leaves."""
        return list(jx.eval_jaxpr(self.jaxpr, [*consts, *leaves]))

    def __call__(self, consts: Sequence[Array], *args: Any) -> Any:
        return tree.unflatten(self.out_tree, self.flat(consts, *tree.leaves(args)))


def close(fun: Callable[..., Any], *args: Any) -> tuple[Closed, list[Array]]:
    """Stage a function; return it as one of what it closes over, and that."""
    leaves, in_tree = tree.flatten_arguments(args, {})
    arrays = cl.as_arrays(leaves, fun, in_tree)
    staged, out_tree = cf.stage_function(fun, in_tree, [x.aval for x in arrays])
    return Closed(staged.jaxpr, out_tree), list(staged.consts)


def strong(x: Array) -> Array:
    """The array, with a dtype that it keeps; an integer becomes a float."""
    if not dtypes.is_inexact(x.dtype):
        x = jnp.asarray(x) * 1.0
    return ew.convert_element_type(x, x.dtype)


@attrs.frozen(eq=False)
class Equation:
    """A user's function of an unknown, on vectors.

    Attributes:
        fun: the staged function, of what it closes over and of the unknown.
        space: the vectors that stand for the unknown.
        consts: what it closes over, its further arguments included.
        start: the first guess.
    """

    fun: Closed
    space: Space
    consts: list[Array]
    start: Array

    def values(self, consts: Sequence[Array], x: Array) -> Array:
        """The function's value, a vector like the unknown."""
        return self.space.join(self.fun.flat(consts, *self.space.split(x)))

    def scalar(self, consts: Sequence[Array], x: Array) -> Array:
        """The function's value, a scalar."""
        (value,) = self.fun.flat(consts, *self.space.split(x))
        return value


def equation(
    name: str, fun: Callable[..., Any], x0: Any, args: tuple[Any, ...], *, scalar: bool = False
) -> Equation:
    """Stage a user's function of an unknown.

    A first guess that is a Python number takes the dtype of the function's value.

    Args:
        name: what the user called, for messages.
        fun: takes the unknown and ``args``; returns a tree like the unknown, or a scalar.
        x0: the first guess, a tree.
        args: further arguments.
        scalar: whether the value is to be a scalar.

    Raises:
        ArgumentError: the value is of another structure or shape.
    """
    leaves, treedef = tree.flatten(x0)
    guesses = cl.as_arrays(leaves, fun, tree.structure(((x0,), {})))
    arrays = [strong(x) for x in guesses]
    closed, consts, promoted = _stage(name, fun, treedef, guesses, arrays, args, scalar)
    if [x.dtype for x in promoted] != [x.dtype for x in arrays]:
        arrays = promoted
        closed, consts, _ = _stage(name, fun, treedef, guesses, arrays, args, scalar)
    space = space_of(treedef, [x.aval for x in arrays], f"x0 of {name}")
    return Equation(closed, space, consts, space.join(arrays))


def _stage(
    name: str,
    fun: Callable[..., Any],
    treedef: tree.PyTreeDef,
    guesses: Sequence[Array],
    arrays: Sequence[Array],
    args: tuple[Any, ...],
    scalar: bool,
) -> tuple[Closed, list[Array], list[Array]]:
    """Stage a function; say what the first guess should be for its value's dtype."""
    closed, consts = close(lambda *xs: fun(tree.unflatten(treedef, xs), *args), *arrays)
    outs = closed.jaxpr.out_avals
    if scalar:
        if len(outs) != 1 or outs[0].shape or not dtypes.is_float(outs[0].dtype):
            result_type = f"{outs[0]}" if len(outs) == 1 else f"{closed.out_tree}"
            raise errors.ArgumentError(
                f"{frames.describe_function(fun)}, the function of {name}, must return a real "
                f"scalar, but returned {result_type}."
            )
        outs = (outs[0],) * len(arrays)
    else:
        _check_values(name, fun, closed, treedef, [x.aval for x in arrays])
    return closed, consts, follow(arrays, guesses, outs)


def follow(
    arrays: Sequence[Array], guesses: Sequence[Array], outs: Sequence[av.ShapedArray]
) -> list[Array]:
    """Promote to the dtypes of values what was given as Python numbers."""
    return [
        x.astype(dtypes.promote_types(x.dtype, out.dtype)) if first.weak_type else x
        for x, first, out in zip(arrays, guesses, outs, strict=True)
    ]


def _check_values(
    name: str,
    fun: Callable[..., Any],
    closed: Closed,
    treedef: tree.PyTreeDef,
    avals: Sequence[av.ShapedArray],
) -> None:
    what = f"{frames.describe_function(fun)}, the function of {name}, must return"
    if closed.out_tree != treedef:
        raise errors.ArgumentError(
            f"{what} what is like its unknown, of the structure {treedef}, but returned "
            f"{closed.out_tree}. There are as many equations as unknowns."
        )
    for i, (a, b) in enumerate(zip(avals, closed.jaxpr.out_avals, strict=True)):
        if a.shape != b.shape:
            path = cl.leaf_path("result", treedef, i)
            raise errors.ArgumentError(
                f"{what} at {path} an array of shape {a.shape}, like its unknown, but returned "
                f"{b}. There are as many equations as unknowns."
            )
