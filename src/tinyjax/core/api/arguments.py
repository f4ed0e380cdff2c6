"""The arguments of derivatives: which are differentiated, and their tangents and cotangents.

Every transformation with ``argnums`` differentiates a function of the chosen arguments alone. That
function is made here, once for all of them. The types of arguments, results, tangents and
cotangents are checked here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax._base import frames, lazy
from tinyjax.core.primitives.elementwise import convert_element_type
from tinyjax.core.tracing import calling, primitive as prim
from tinyjax.core.transforms.jvp import JVPTracer
from tinyjax.core.values import avals as av, integers as ints, operands as opd
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.tree.treedef import in_words, leaf_paths

_role = "applies"  # see ``frames.Role``

# The two classes are spelled out, since the first derivative of a process waits for them: attrs
# would have to compile each.


class DifferentiatedArguments:
    """The function and the arguments that a transformation differentiates.

    Attributes:
        name: the transformation, for messages.
        fun: the user's function.
        applied: that function, under the transformation.
        numbers: which positional arguments.
        several: whether ``argnums`` was a sequence, so that results are tuples.
        holomorphic: whether the function is taken to be complex-differentiable; None where the
            transformation does not ask.
        memory_budget: the bytes that the derivative may need; None for as many as it takes.
    """

    __slots__ = ("applied", "fun", "holomorphic", "memory_budget", "name", "numbers", "several")

    def __init__(
        self,
        name: str,
        fun: Callable[..., Any],
        argnums: int | Sequence[int],
        holomorphic: bool | None = None,
        memory_budget: int | None = None,
    ) -> None:
        self.name: str = name
        self.fun: Callable[..., Any] = fun
        self.applied: frames.Applied = frames.Applied(name, fun)
        self.several: bool = not isinstance(argnums, int)
        self.numbers: tuple[int, ...] = (
            (ints.integer(argnums, "argnums"),)
            if isinstance(argnums, int)
            else ints.integers(argnums, "argnums")
        )
        self.holomorphic: bool | None = holomorphic
        self.memory_budget: int | None = memory_budget

    @property
    def for_complex(self) -> str:
        """The advice for complex numbers."""
        if self.holomorphic is None:
            return "Take real and imaginary parts as arguments and results of their own"
        return "For a holomorphic function pass holomorphic=True"

    def check_result(self, aval: av.ShapedArray) -> None:
        """Raise DifferentiationError where a result of this type has no such derivative."""
        dtype = aval.dtype
        if dtypes.is_complex(dtype) if self.holomorphic else dtypes.is_float(dtype):
            return
        returned = f"{frames.describe_function(self.fun)} returned {aval}."
        if self.holomorphic:
            raise errors.DifferentiationError(
                f"{self.name} with holomorphic=True requires outputs with complex dtype, but "
                f"{returned}"
            )
        raise errors.DifferentiationError(
            f"{self.name} requires real-valued outputs, which are floats, but {returned} "
            + (
                f"{self.for_complex}; else use tinyjax.vjp."
                if dtypes.is_complex(dtype)
                else "Convert it with .astype(float)."
            )
        )


def pick_arguments(
    name: str, fun: Callable[..., Any], numbers: Sequence[int], args: Sequence[Any]
) -> tuple[Any, ...]:
    """Return the positional arguments of some numbers, which must exist and differ.

    Raises:
        ArgumentError: one is not, or is named twice.
    """
    picked: dict[int, Any] = {}
    for i in numbers:
        if not -len(args) <= i < len(args):
            raise errors.ArgumentError(
                f"{name} of {frames.describe_function(fun)}: differentiating with respect to "
                f"argnums={i} requires at least {i + 1 if i >= 0 else -i} positional arguments "
                f"to be passed by the caller, but got only {len(args)}."
            )
        place = i % len(args)
        if place in picked:
            raise errors.ArgumentError(
                f"{name} of {frames.describe_function(fun)} differentiates argument "
                f"'{calling.parameter_name(fun, place)}' twice: argnums is {tuple(numbers)}. Name "
                "each argument once."
            )
        picked[place] = args[i]
    return tuple(picked.values())


def within_budget(
    fun: Callable[..., Any], memory_budget: int, value: bool = True
) -> Callable[..., Any]:
    """Return the same function, whose reverse-mode derivative needs so many bytes at most.

    Args:
        fun: the function.
        memory_budget: the bytes.
        value: whether its first result is read, as that of ``grad`` is not.
    """
    budgeted: Callable[..., Any] = lazy.hook("memory_budget").budgeted(fun, memory_budget, value)
    return budgeted


class DifferentiatedCall:
    """A call, some of whose arguments are differentiated.

    Attributes:
        choice: the function, and its differentiated arguments.
        args: all positional arguments.
        kwargs: all keyword arguments.
        in_tree: the structure of ``(the chosen ones, {})``.
        primals: their leaves.

    Raises:
        ArgumentError: there are fewer arguments than were chosen, or one is named twice.
    """

    __slots__ = ("args", "choice", "in_tree", "kwargs", "primals")

    def __init__(
        self, choice: DifferentiatedArguments, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        values = pick_arguments(choice.name, choice.fun, choice.numbers, args)
        self.choice: DifferentiatedArguments = choice
        self.args: tuple[Any, ...] = args
        self.kwargs: dict[str, Any] = kwargs
        self.in_tree: tree.PyTreeDef
        leaves, self.in_tree = tree.flatten_arguments(values, {})
        self.primals: list[Array] = calling.as_arrays(
            leaves, choice.fun, self.in_tree, others=(args, kwargs)
        )

    @property
    def values(self) -> tuple[Any, ...]:
        """The chosen arguments, with arrays for leaves."""
        return self.unflatten(self.primals)

    def unflatten(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Return a tuple with a tree for each chosen argument."""
        return tree.unflatten_arguments(self.in_tree, leaves)[0]

    def result(self, leaves: Sequence[Any]) -> Any:
        """Return a tree like the chosen argument, or a tuple of such for several arguments."""
        chosen, _ = tree.unflatten_arguments(self.in_tree, leaves)
        return chosen if self.choice.several else chosen[0]

    def __call__(self, *values: Any) -> Any:
        """Return the user's function of the chosen arguments alone."""
        full: list[Any] = list(self.args)
        for i, value in zip(self.choice.numbers, values, strict=True):
            full[i] = value
        return self.choice.fun(*full, **self.kwargs)

    def with_budget(self, memory_budget: int) -> Callable[..., Any]:
        """Return the same, whose derivative needs so many bytes at most."""
        return within_budget(self.function, memory_budget, self.choice.name != "grad")

    @property
    def function(self) -> Callable[..., Any]:
        """The same under the name of the user's function, for messages."""

        @frames.wraps(self.choice.applied)
        def of_chosen(*values: Any) -> Any:
            return self(*values)

        return of_chosen

    def check(self, allow_int: bool = False, allow_complex: bool = True) -> None:
        """Raise DifferentiationError where an argument has no such derivative.

        Args:
            allow_int: whether integers are allowed: their derivative is of dtype float0.
            allow_complex: whether complex numbers are allowed without ``holomorphic``.
        """
        holomorphic = self.choice.holomorphic
        for i, x in enumerate(self.primals):
            aval = x._aval or x.aval
            if dtypes.is_float(aval.dtype) and not holomorphic:
                continue
            if allow_int and not dtypes.is_inexact(aval.dtype):
                continue
            if dtypes.is_complex(aval.dtype) and (holomorphic or allow_complex):
                continue
            name = self.choice.name
            which = f"{self._path(i)} of {frames.describe_function(self.choice.fun)} is {aval}."
            if holomorphic:
                raise errors.DifferentiationError(
                    f"{name} with holomorphic=True requires inputs with complex dtype, but {which}"
                )
            if dtypes.is_complex(aval.dtype):
                raise errors.DifferentiationError(
                    f"{name} requires real-valued inputs, but {which} {self.choice.for_complex}."
                )
            advice = (
                "Pass a float, such as 1.0, convert it with .astype(float)"
                if aval.weak_type and not aval.shape  # as a Python number is
                else "Convert it with .astype(float)"
            )
            raise errors.DifferentiationError(
                f"{name} requires {'real- or complex' if allow_complex else 'real'}-valued inputs, "
                f"which are floats, but {which} "
                f"{advice}, or differentiate another argument with argnums."
            )

    def _path(self, position: int) -> str:
        _, first, *rest = leaf_paths(self.in_tree)[position]
        number = self.choice.numbers[getattr(first, "idx", 0)]
        if number < 0:
            number += len(self.args)
        return tree.path_str(calling.parameter_name(self.choice.fun, number), rest)


# Tangents and cotangents


def check_per_argument(function: str, **sequences: object) -> None:
    """Check a sequence with one entry per argument: ``primals``, ``tangents``.

    Raises:
        ArgumentError: it is neither a tuple nor a list.
    """
    for name, values in sequences.items():
        if not isinstance(values, (tuple, list)):
            raise errors.ArgumentError(
                f"{name} of {function} must be tuples or lists with one entry per argument, but "
                f"got {errors.type_name(values)}. Write ({name},) for one argument."
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
    if not dtypes.is_inexact(primal.dtype):
        # As in JAX: a result can be given back whole, as pull_back(out), numbers and all.
        ignored = what == "cotangent" and tangent.shape == primal.shape
        if tangent.dtype == dtypes.float0 or ignored:
            return prim.ZERO
        raise errors.DifferentiationError(
            f"{problems[1]}: the {what} of {path} of {frames.describe_function(fun)} must be of "
            f"dtype float0, since {primal} has no derivative, but it is {tangent.aval}. Leave "
            "integer arguments out, or give np.zeros(shape, tinyjax.float0)."
        )
    if tangent.shape != primal.shape or tangent.dtype != primal.dtype:
        problem = problems[tangent.shape == primal.shape]
        raise errors.DifferentiationError(
            f"{problem}: the {what} of {path} of {frames.describe_function(fun)} must be of its "
            f"type {primal}, but it is {tangent.aval}."
        )
    return tangent


def as_tangents(
    values: Any,
    treedef: tree.PyTreeDef,
    likes: Sequence[av.ShapedArray],
    name: str,
    fun: Callable[..., Any],
    path: Callable[[int], str],
    api_name: Literal["jvp", "linearize", "vjp", "linear_transpose", "jet"],
) -> list[prim.Tangent]:
    """Flatten a tree of tangents that must match the tree of the primals.

    Args:
        values: what the user gave.
        treedef: the structure of the primals.
        likes: the types of the primals.
        name: what the values are, for messages: ``"tangents"``, or ``"cotangent"``.
        fun: the user's function, for messages.
        path: names the primal of a number.
        api_name: the function of the API that was given them, for messages.

    Raises:
        TreeMismatchError: the trees differ.
        DifferentiationError: a tangent is not of its primal's type.
    """
    problems, what = _PROBLEMS[api_name], name.removesuffix("s")
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
            place = f"the {what} of {path(i)} of {frames.describe_function(fun)}"
            structure = tree.structure(leaf)
            if structure.num_nodes > 1:
                raise tree.TreeMismatchError(
                    place, "a leaf", in_words(structure), "Give one value.", f"{problems[2]}:"
                ) from None
            raise type(error)(f"{place}: {error.message}") from None
        tangents.append(
            array
            if array.shape == like.shape
            and array.dtype == like.dtype
            and dtypes.is_inexact(like.dtype)
            else _check_tangent(like, array, what, path(i), fun, problems)
        )
    return tangents


def as_cotangents(
    value: Any,
    out_tree: tree.PyTreeDef,
    likes: Sequence[av.ShapedArray],
    fun: Callable[..., Any],
    api_name: Literal["vjp", "linear_transpose"],
) -> list[prim.Tangent]:
    """Flatten a cotangent that must match the result of a function, as ``as_tangents`` does."""

    def path(i: int) -> str:
        return calling.leaf_path("result", out_tree, i)

    return as_tangents(value, out_tree, likes, "cotangent", fun, path, api_name)


def _as_tangent(leaf: Any, like: av.ShapedArray) -> Array:
    if type(leaf) in opd.PYTHON_NUMBERS:
        own = dtypes.scalar_dtype(type(leaf))
        if dtypes.kind(own) != dtypes.kind(like.dtype):
            return ConcreteArray(np.asarray(leaf, own))
        return ConcreteArray(np.asarray(leaf, like.dtype), None if like.shape else like)
    if isinstance(leaf, Array):
        if (
            leaf.weak_type
            and leaf.dtype != like.dtype
            and dtypes.kind(leaf.dtype) == dtypes.kind(like.dtype)
        ):
            return convert_element_type(leaf, like.dtype)
        return leaf
    if isinstance(leaf, np.ndarray) and leaf.dtype == dtypes.float0:
        return ConcreteArray(leaf)
    return opd.as_array(leaf)


def without_tracers(aux: Any) -> Any:
    """Return auxiliary data as it leaves a derivative: primals in place of tracers."""
    return tree.map(_primal, aux)


def _primal(leaf: Any) -> Any:
    while isinstance(leaf, JVPTracer) and not leaf._trace.live:
        leaf = leaf.primal
    return leaf
