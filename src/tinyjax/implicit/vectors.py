"""Trees as vectors, and user functions of trees as functions of vectors and closed-over values.

A function is staged, so that what it closes over is found; it is then an argument like others. The
solvers know nothing but vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, Protocol, TypeAlias
from weakref import ref

import attrs

from tinyjax import config, dtypes, errors, numpy as jnp, tree
from tinyjax._base import frames
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.tracing import calling, jaxpr as jx, staging, trace as tr
from tinyjax.core.values import Array, ConcreteArray, avals as av
from tinyjax.custom_derivatives.environments import MOST_COMPARED, Environment, environment_of

#: What an equation is made of: a function of what it closes over and of its unknown, a vector.
VectorFunction = Callable[[Sequence[Array], Array], Array]


@attrs.frozen
class VectorSpace:
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
        vectors = [x if x.ndim == 1 else x.reshape(-1) for x in leaves]
        pieces = [ew.convert_element_type(x, self.dtype) for x in vectors]
        return pieces[0] if len(pieces) == 1 else jnp.concatenate(pieces)

    def split(self, vectors: Array) -> list[Array]:
        """Make a tree's leaves of a vector, or of several, along the last axis."""
        leaves: list[Array] = []
        start = 0
        for aval in self.avals:
            piece = vectors[..., start : start + aval.size]
            shaped = piece.reshape((*vectors.shape[:-1], *aval.shape))
            leaves.append(ew.convert_element_type(shaped, aval.dtype))
            start += aval.size
        return leaves

    def unflatten(self, vector: Array) -> Any:
        """Make a tree of a vector."""
        return tree.unflatten(self.treedef, self.split(vector))

    def on_vectors(self, fun: Callable[[Any], Any]) -> Callable[[Array], Array]:
        """Make a function of vectors of one of trees."""
        return frames.wraps(fun)(lambda vector: self.flatten(fun(self.unflatten(vector))))


def space_of(treedef: tree.PyTreeDef, avals: Sequence[av.ShapedArray], what: str) -> VectorSpace:
    """Return the vectors for a tree's type.

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
    return VectorSpace(treedef, tuple(a.strip_weak() for a in avals), dtype)


@attrs.frozen
class Closed:
    """A staged function of trees, whose first argument is its closed-over values.

    It is equal to another one of the same program.
    """

    jaxpr: jx.Jaxpr
    out_tree: tree.PyTreeDef

    def flat(self, consts: Sequence[Array], *leaves: Array) -> list[Array]:
        """Apply it to leaves."""
        return list(jx.eval_jaxpr(self.jaxpr, [*consts, *leaves]))

    def __call__(self, consts: Sequence[Array], *args: Any) -> Any:
        return tree.unflatten(self.out_tree, self.flat(consts, *tree.leaves(args)))


#: What functions were staged as, by the types of their arguments and their environments; and what
#: gives the arrays that they close over.
_programs: Final[
    dict[Hashable, tuple[Environment, Closed, Sequence[Callable[[], Array | None]]]]
] = {}
_MOST_PROGRAMS: Final = 512


def close(
    fun: Callable[..., Any], *args: Any, original: Callable[..., Any] | None = None
) -> tuple[Closed, list[Array]]:
    """Stage a function of arguments, or of their types.

    It is not called where a function of an equal environment was staged.

    Args:
        fun: the function.
        args: its arguments.
        original: the user's function that it replaces, for messages and names.

    Returns:
        The function as one of its closed-over values, and those.
    """
    leaves, in_tree = tree.flatten_arguments(args, {})
    avals = calling.as_avals(leaves, fun, in_tree)
    environment, key = environment_of(fun), None
    if environment is not None:
        here = config.settings(), tr.enclosing_axes(), tr.current_trace().adapters
        key = (in_tree, *avals, *here, *environment.key)
    known = _programs.get(key)
    if known is not None:
        before, closed, holders = known
        alive = [x for x in [held() for held in holders] if x is not None]
        if len(alive) == len(holders) and before.is_alive():
            return closed, alive
    if original is not None:
        frames.imitate(fun, original)
    count, flat = staging.placeholders.get(), calling.FlatFunction(fun, in_tree)
    staged = staging.stage_call(flat, avals, frames.Applied("implicit", fun))
    closed, consts = Closed(staged.jaxpr, flat.out_tree), [*staged.consts]
    own = [x for x in consts if type(x) is ConcreteArray]
    lasting = len(own) == len(consts) and count == staging.placeholders.get() and not staged.hooks
    if environment is not None and lasting and not closed.jaxpr.held_objects:
        if len(_programs) >= _MOST_PROGRAMS:
            _programs.clear()
        _programs[key] = environment, closed, [_holder(x) for x in own]
    return closed, consts


def _holder(x: ConcreteArray) -> Callable[[], Array | None]:
    """Return what gives an array again: a large one while the user has it."""
    return ref(x) if x.nbytes > MOST_COMPARED else lambda: x


def strong(x: Array) -> Array:
    """Return the array, with a dtype that it keeps; an integer becomes a float."""
    if not dtypes.is_inexact(x.dtype):
        x = jnp.asarray(x) * 1.0
    return ew.convert_element_type(x, x.dtype)


def begin(x: Array) -> Array:
    """Return a first value as a float or complex number; a Python number stays weakly typed."""
    if not x.weak_type:
        return strong(x)
    return x if dtypes.is_inexact(x.dtype) else x * 1.0


class Promotable(Protocol):
    """Whatever has a dtype, which may be weak."""

    @property
    def dtype(self) -> dtypes.DType: ...

    @property
    def weak_type(self) -> bool: ...


def follow(
    arrays: Sequence[Array], inputs: Sequence[Array], types: Sequence[Promotable]
) -> list[Array]:
    """Give the leaves that were Python numbers the dtype of a function's values, as loops do.

    Args:
        arrays: the leaves, as ``begin`` or ``strong`` made them.
        inputs: the same, as the user gave them.
        types: the types of the values; where there are more or fewer, leaves stay as they are.
    """
    if len(types) != len(arrays):
        return list(arrays)
    return [
        x.astype(dtypes.promote([(y.dtype, y.weak_type) for y in (x, aval)])[0])
        if first.weak_type
        else x
        for x, first, aval in zip(arrays, inputs, types, strict=True)
    ]


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
    space: VectorSpace
    consts: list[Array]
    start: Array

    def values(self, consts: Sequence[Array], x: Array) -> Array:
        """Return the function's value, a vector like the unknown."""
        return self.space.join(self.fun.flat(consts, *self.space.split(x)))

    def scalar(self, consts: Sequence[Array], x: Array) -> Array:
        """Return the function's value, a scalar."""
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

    def of_unknown(x: Any) -> Any:
        return fun(x, *args)

    def what() -> str:
        return f"{frames.describe_function(fun)}, the function of {name},"

    def stage(treedef: tree.PyTreeDef, arrays: Sequence[Array]) -> Stage:
        unknown, original = tree.unflatten(treedef, arrays), frames.Applied(name, fun)
        closed, consts = close(of_unknown, unknown, original=original)
        outs = closed.jaxpr.out_avals
        if not scalar:
            like = "x0", treedef, [x.aval for x in arrays]
            hint = " There are as many equations as unknowns."
            check_like(what, like, closed.out_tree, outs, hint=hint)
            return closed, consts, outs
        if len(outs) != 1 or outs[0].shape or not dtypes.is_float(outs[0].dtype):
            result_type = f"{outs[0]}" if len(outs) == 1 else f"{closed.out_tree}"
            raise errors.ArgumentError(
                f"{what()} must return a real scalar, but returned {result_type}."
            )
        return closed, consts, [outs[0]] * len(arrays)

    return equation_staged_by(stage, fun, x0, f"x0 of {name}")


#: A staged function, what it closes over, and the types that the leaves of its unknown follow.
Stage: TypeAlias = tuple[Closed, list[Array], Sequence[av.ShapedArray]]


def equation_staged_by(
    stage: Callable[[tree.PyTreeDef, Sequence[Array]], Stage],
    fun: Callable[..., Any],
    x0: Any,
    what: str,
) -> Equation:
    """Stage a function, and once more where a guess that is a number follows its value's dtype.

    Args:
        stage: stages the function of an unknown of this structure and these leaves.
        fun: the function, for messages.
        x0: the first guess, a tree.
        what: says what the guess is, for messages.

    Raises:
        ArgumentError: the guess holds no arrays, or real and complex ones.
    """
    treedef = tree.structure(x0)
    leaves, in_tree = tree.flatten_arguments((x0,), {})
    guesses = calling.as_arrays(leaves, fun, in_tree)
    arrays = [strong(x) for x in guesses]  # solvers need the precision of float32
    closed, consts, outs = stage(treedef, arrays)
    promoted = follow(arrays, guesses, outs)
    if [x.dtype for x in promoted] != [x.dtype for x in arrays]:
        arrays = promoted
        closed, consts, _ = stage(treedef, arrays)
    space = space_of(treedef, [x.aval for x in arrays], what)
    return Equation(closed, space, consts, space.join(arrays))


def check_like(
    what: Callable[[], str],
    like: tuple[str, tree.PyTreeDef, Sequence[av.ShapedArray]],
    out_tree: tree.PyTreeDef,
    outs: Sequence[av.ShapedArray],
    *,
    exact: bool = False,
    hint: str = "",
) -> None:
    """Raise unless a function's result has the structure and types of one of its arguments.

    Args:
        what: returns which function it is, in words.
        like: the argument's name, its structure and the types of its leaves.
        out_tree: the structure of the result.
        outs: the types of its leaves.
        exact: whether dtypes must agree, too.
        hint: ends the message.

    Raises:
        ArgumentError: the result is of another structure, or a leaf of another shape.
    """
    name, treedef, avals = like
    if out_tree != treedef:
        raise errors.ArgumentError(
            f"{what()} must return a tree like {name}, {treedef}, but returned {out_tree}.{hint}"
        )
    for i, (a, b) in enumerate(zip(avals, outs, strict=True)):
        if a.shape != b.shape or (exact and a.dtype != b.dtype):
            raise errors.ArgumentError(
                f"{what()} must return for {calling.leaf_path(name, treedef, i)}, of type {a}, "
                f"{'the same' if exact else 'an array of its shape'}, but returned {b}.{hint}"
            )
