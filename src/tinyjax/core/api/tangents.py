"""Tangents and cotangents as users give them: trees to be held against the trees of the primals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import numpy as np

from tinyjax import errors, tree
from tinyjax.core.primitives.elementwise import convert_element_type
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.tracing.calling import leaf_path
from tinyjax.core.transforms.jvp import JVPTracer
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.dtypes import float0, is_inexact, kind, scalar_dtype
from tinyjax.frames import describe_function
from tinyjax.tree.treedef import in_words


def check_per_argument(function: str, **given: object) -> None:
    """Check what a function takes for each argument of another: ``primals``, ``tangents``.

    Raises:
        ArgumentError: it is neither a tuple nor a list.
    """
    for name, values in given.items():
        if not isinstance(values, (tuple, list)):
            raise errors.ArgumentError(
                f"{name} of {function} must be tuples or lists with one entry per argument, but "
                f"got {type(values).__name__}. Write ({name},) for one argument."
            )


_OF_PRIMALS: Final = (
    "linearized function called on tangent values inconsistent with the original primal values"
)
_OF_TERMS: Final = "terms of jet do not match the primals"
_OF_RESULT: Final = "unexpected JAX type (e.g. shape/dtype) for argument to VJP function"

#: What JAX says of shapes, of dtypes and of trees that differ.
_PROBLEMS: Final[dict[str, tuple[str, str, str]]] = {
    "jvp": (
        "jvp called with different primal and tangent shapes",
        (
            "primal and tangent arguments to jvp do not match; dtypes must be equal, or in case of "
            "int/bool primal dtype the tangent dtype must be float0"
        ),
        "primal and tangent arguments to jvp must have the same tree structure",
    ),
    "linearize": (_OF_PRIMALS, _OF_PRIMALS, _OF_PRIMALS),
    "vjp": (
        _OF_RESULT,
        _OF_RESULT,
        (
            "unexpected tree structure: the argument to a VJP function must match the pytree "
            "structure of the result"
        ),
    ),
    "linear_transpose": (
        "cotangent type does not match function output",
        "cotangent type does not match function output",
        "cotangent tree does not match function output",
    ),
    "jet": (_OF_TERMS, _OF_TERMS, _OF_TERMS),
}


def _check_tangent(
    primal: av.ShapedArray,
    tangent: Array,
    what: str,
    path: str,
    fun: Callable[..., Any],
    problems: tuple[str, str, str],
) -> prim.Tangent:
    """Return a tangent (or cotangent) as transformations take it, or say why it does not fit."""
    if not is_inexact(primal.dtype):
        # As in JAX: a result can be given back whole, as pull_back(out), numbers and all.
        ignored = what == "cotangent" and tangent.shape == primal.shape
        if tangent.dtype == float0 or ignored:
            return prim.ZERO
        raise errors.DifferentiationError(
            f"{problems[1]}: the {what} of {path} of {describe_function(fun)} must be of dtype "
            f"float0, since {primal} has no derivative, but it is {tangent.aval}. Leave integer "
            "arguments out, or give np.zeros(shape, tinyjax.float0)."
        )
    if tangent.shape != primal.shape or tangent.dtype != primal.dtype:
        problem = problems[tangent.shape == primal.shape]
        raise errors.DifferentiationError(
            f"{problem}: the {what} of {path} of {describe_function(fun)} must be of its type "
            f"{primal}, but it is {tangent.aval}."
        )
    return tangent


def as_tangents(
    values: Any,
    treedef: tree.PyTreeDef,
    likes: Sequence[av.ShapedArray],
    name: str,
    fun: Callable[..., Any],
    path: Callable[[int], str],
    by: Literal["jvp", "linearize", "vjp", "linear_transpose", "jet"],
) -> list[prim.Tangent]:
    """Flatten a tree of tangents that must match the tree of the primals.

    Args:
        values: what the user gave.
        treedef: the structure of the primals.
        likes: the types of the primals.
        name: what the values are, for messages: ``"tangents"``, or ``"cotangent"``.
        fun: the user's function, for messages.
        path: names the primal of a number.
        by: the function of the API that was given them, for messages.

    Raises:
        TreeMismatchError: the trees differ.
        DifferentiationError: a tangent is not of its primal's type.
    """
    problems, what = _PROBLEMS[by], name.removesuffix("s")
    try:
        leaves = treedef.flatten_up_to(values, name)
    except tree.TreeMismatchError as error:
        problem = f"{problems[2]}; trees differ at"
        raise tree.TreeMismatchError(
            error.path, error.expected, error.got, error.hint, problem
        ) from None
    tangents: list[prim.Tangent] = []
    for i, (leaf, like) in enumerate(zip(leaves, likes, strict=True)):
        try:
            array = _as_tangent(leaf, like)
        except errors.TinyjaxError as error:
            place = f"the {what} of {path(i)} of {describe_function(fun)}"
            structure = tree.structure(leaf)
            if structure.num_nodes > 1:
                raise tree.TreeMismatchError(
                    place, "a leaf", in_words(structure), "Give one value.", f"{problems[2]}:"
                ) from None
            raise type(error)(f"{place}: {error.message}") from None
        tangents.append(
            array
            if array.shape == like.shape and array.dtype == like.dtype and is_inexact(like.dtype)
            else _check_tangent(like, array, what, path(i), fun, problems)
        )
    return tangents


def as_cotangents(
    value: Any,
    out_tree: tree.PyTreeDef,
    likes: Sequence[av.ShapedArray],
    fun: Callable[..., Any],
    by: Literal["vjp", "linear_transpose"],
) -> list[prim.Tangent]:
    """Flatten a cotangent that must match the result of a function, as ``as_tangents`` does."""

    def path(i: int) -> str:
        return leaf_path("result", out_tree, i)

    return as_tangents(value, out_tree, likes, "cotangent", fun, path, by)


def _as_tangent(leaf: Any, like: av.ShapedArray) -> Array:
    if type(leaf) in opd.PYTHON_NUMBERS:
        own = scalar_dtype(type(leaf))
        if kind(own) != kind(like.dtype):
            return ConcreteArray(np.asarray(leaf, own))
        return ConcreteArray(np.asarray(leaf, like.dtype), None if like.shape else like)
    if isinstance(leaf, Array):
        if leaf.weak_type and leaf.dtype != like.dtype and kind(leaf.dtype) == kind(like.dtype):
            return convert_element_type(leaf, like.dtype)
        return leaf
    if isinstance(leaf, np.ndarray) and leaf.dtype == float0:
        return ConcreteArray(leaf)
    return opd.as_array(leaf)


def without_tracers(aux: Any) -> Any:
    """Auxiliary data as it leaves a derivative: the primals of what was traced."""
    return tree.map(_primal, aux)


def _primal(leaf: Any) -> Any:
    while isinstance(leaf, JVPTracer) and not leaf._trace.live:
        leaf = leaf.primal
    return leaf
