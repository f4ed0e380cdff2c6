"""Derivatives: jvp, linearize, vjp, grad, jacobians and hessians.

All are thin: they take containers apart, run a transformation of ``tinyjax.transforms`` on
functions of arrays, and put containers together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar, overload

import numpy as np

from tinyjax import tree
from tinyjax.api.mapping import over_basis
from tinyjax.core.array import Array, ConcreteArray
from tinyjax.core.calling import (
    FlatFunction,
    argument_path,
    as_arrays,
    leaf_path,
    parameter_name,
    watched,
)
from tinyjax.core.checking import checked
from tinyjax.core.primitive import ZERO, Tangent
from tinyjax.dtypes import float0, is_complex, is_float, is_inexact, kind
from tinyjax.errors import ArgumentError, DifferentiationError
from tinyjax.frames import describe_function
from tinyjax.primitives.elementwise import convert_element_type
from tinyjax.primitives.families import add_arrays
from tinyjax.primitives.shape import full_like, reshape, zeros_like
from tinyjax.transforms.jvp import JVPTracer, jvp_flat
from tinyjax.transforms.linearize import linearize_flat
from tinyjax.tree import PyTreeDef

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")


def _zero_tangent(x: Array) -> Array:
    """The zero tangent of a value: of its own type, or of float0 where it has no derivative."""
    if is_inexact(x.dtype):
        return zeros_like(x)
    return ConcreteArray(np.zeros(x.shape, float0))


def _check_tangent(
    primal: Array, tangent: Array, what: str, path: str, fun: Callable[..., Any]
) -> Tangent:
    """Return a tangent (or cotangent) as transformations take it, or say why it does not fit."""
    if not is_inexact(primal.dtype):
        if tangent.dtype == float0:
            return ZERO
        raise DifferentiationError(
            f"the {what} of {path} of {describe_function(fun)} must be of dtype float0, since "
            f"{primal.aval} has no derivative, but it is {tangent.aval}. Leave integer arguments "
            "out, "
            "or give np.zeros(shape, tinyjax.float0)."
        )
    if tangent.shape != primal.shape or tangent.dtype != primal.dtype:
        raise DifferentiationError(
            f"the {what} of {path} of {describe_function(fun)} must be of its type {primal.aval}, "
            "but it "
            f"is {tangent.aval}."
        )
    return tangent


def _as_tangents(
    values: Any,
    treedef: PyTreeDef,
    likes: Sequence[Array],
    name: str,
    fun: Callable[..., Any],
    path: Callable[[int], str],
) -> list[Tangent]:
    """Flatten a tree of tangents that must match the tree of the primals."""
    leaves = treedef.flatten_up_to(values, name)
    tangents: list[Tangent] = []
    for i, (leaf, like) in enumerate(zip(leaves, likes, strict=True)):
        array = _as_tangent(leaf, like)
        tangents.append(
            array
            if array.shape == like.shape and array.dtype == like.dtype and is_inexact(like.dtype)
            else _check_tangent(like, array, name.removesuffix("s"), path(i), fun)
        )
    return tangents


def _as_tangent(leaf: Any, like: Array) -> Array:
    if isinstance(leaf, Array):
        if leaf.weak_type and leaf.dtype != like.dtype and is_inexact(like.dtype):
            return convert_element_type(leaf, like.dtype)
        return leaf
    if isinstance(leaf, (bool, int, float, complex)) and not isinstance(leaf, np.generic):
        dtype = like.dtype if is_inexact(like.dtype) else np.dtype(type(leaf))
        return ConcreteArray(np.asarray(leaf, dtype))
    if isinstance(leaf, np.ndarray) and leaf.dtype == float0:
        return ConcreteArray(leaf)
    (array,) = as_arrays([leaf], _as_tangent, tree.structure(((0,), {})))
    return array


@overload
def jvp(
    fun: Callable[..., R],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[False] = ...,
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool
) -> tuple[Any, ...]: ...
@watched
def jvp(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """Push a tangent through a function: its value, and its derivative in one direction.

    Args:
        fun: takes and returns arrays in any containers.
        primals: a tuple or list of its positional arguments: where to differentiate.
        tangents: the direction: as many, each a tree like its primal, with leaves of the primal's
            shape and dtype (of dtype ``float0`` for integers and bools).
        has_aux: whether ``fun`` returns a pair, of which the second part is not differentiated.

    Returns:
        ``(value, tangent)``, or ``(value, tangent, aux)``. The work is a small multiple of that of
        ``fun``.

    Raises:
        ArgumentError: primals or tangents are not tuples or lists.
        TreeMismatchError: the trees of primals and tangents differ.
        DifferentiationError: a tangent is not of its primal's type.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> value, tangent = tinyjax.jvp(jnp.sin, (0.0,), (2.0,))
        >>> float(value), float(tangent)
        (0.0, 2.0)
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise ArgumentError(
                f"jvp takes {name} as a tuple or list with one entry per argument, but got "
                f"{type(given).__name__}. Write ({name},) for one argument."
            )
    leaves, in_tree = tree.flatten((tuple(primals), {}))
    args = as_arrays(leaves, fun, in_tree)
    directions = _as_tangents(
        tuple(tangents),
        in_tree.children()[0],
        args,
        "tangents",
        fun,
        lambda i: argument_path(fun, in_tree, i),
    )
    flat = FlatFunction(fun, in_tree, has_aux)
    outs, out_tangents = jvp_flat(flat, args, directions, fun)
    value = tree.unflatten(flat.out_tree, outs)
    tangent = tree.unflatten(
        flat.out_tree,
        [_zero_tangent(o) if t is ZERO else t for o, t in zip(outs, out_tangents, strict=True)],
    )
    return (value, tangent, _without_tracers(flat.aux)) if has_aux else (value, tangent)


def _without_tracers(aux: Any) -> Any:
    """Auxiliary data as it leaves a derivative: the primals of what was traced."""
    return tree.map(_primal, aux)


def _primal(leaf: Any) -> Any:
    while isinstance(leaf, JVPTracer) and not leaf._trace.live:
        leaf = leaf.primal
    return leaf


@overload
def linearize(
    fun: Callable[..., R], *primals: Any, has_aux: Literal[False] = ...
) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(
    fun: Callable[..., tuple[R, A]], *primals: Any, has_aux: Literal[True]
) -> tuple[R, Callable[..., R], A]: ...
@overload
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool) -> tuple[Any, ...]: ...
@watched
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Evaluate a function and return its derivative there as a linear function.

    The tangent map can be applied many times without repeating the work at the point; it keeps the
    residuals in memory.

    Args:
        fun: takes and returns arrays in any containers.
        primals: its positional arguments: where to linearize.
        has_aux: whether ``fun`` returns a pair, of which the second part is not differentiated.

    Returns:
        ``(value, tangent_map)``, or ``(value, tangent_map, aux)``. ``tangent_map`` takes one
        tangent per argument and returns the tangent of the value.

    Raises:
        TreeMismatchError: when the map is applied to tangents of another structure.
        DifferentiationError: when it is applied to tangents of another type.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> value, tangent_map = tinyjax.linearize(lambda x: x**2, 3.0)
        >>> float(value), float(tangent_map(1.0)), float(tangent_map(2.0))
        (9.0, 6.0, 12.0)
    """
    leaves, in_tree = tree.flatten((primals, {}))
    args = as_arrays(leaves, fun, in_tree)
    flat = FlatFunction(fun, in_tree, has_aux)
    linearized = linearize_flat(flat, args, None, fun)
    out_tree = flat.out_tree

    @watched
    def tangent_map(*tangents: Any) -> Any:
        given = _as_tangents(
            tangents,
            in_tree.children()[0],
            args,
            "tangents",
            fun,
            lambda i: argument_path(fun, in_tree, i),
        )
        needed = [t for t, has in zip(given, linearized.nonzero_in, strict=True) if has]
        outs = linearized.apply([t for t in needed if t is not ZERO])
        return tree.unflatten(
            out_tree,
            [
                _zero_tangent(o) if t is ZERO else t
                for o, t in zip(linearized.primals_out, outs, strict=True)
            ],
        )

    value = tree.unflatten(out_tree, linearized.primals_out)
    if has_aux:
        return value, tangent_map, _without_tracers(flat.aux)
    return value, tangent_map


@overload
def vjp(
    fun: Callable[..., R], *primals: Any, has_aux: Literal[False] = ...
) -> tuple[R, Callable[[Any], tuple[Any, ...]]]: ...
@overload
def vjp(
    fun: Callable[..., tuple[R, A]], *primals: Any, has_aux: Literal[True]
) -> tuple[R, Callable[[Any], tuple[Any, ...]], A]: ...
@overload
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool) -> tuple[Any, ...]: ...
@watched
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Evaluate a function and return the map that pulls cotangents back to its arguments.

    Args:
        fun: takes and returns arrays in any containers.
        primals: its positional arguments.
        has_aux: whether ``fun`` returns a pair, of which the second part is not differentiated.

    Returns:
        ``(value, pull_back)``, or ``(value, pull_back, aux)``. ``pull_back`` takes a cotangent of
        the value and returns a tuple with a cotangent for each argument, of dtype ``float0`` for
        integers. The work is a small multiple of that of ``fun``, whatever the number of
        arguments.

    Raises:
        TreeMismatchError: when the map is applied to a cotangent of another structure.
        DifferentiationError: when it is applied to one of another type.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> value, pull_back = tinyjax.vjp(lambda x, y: x * y, 2.0, 3.0)
        >>> [float(ct) for ct in pull_back(1.0)]
        [3.0, 2.0]
    """
    leaves, in_tree = tree.flatten((primals, {}))
    args = as_arrays(leaves, fun, in_tree)
    flat = FlatFunction(fun, in_tree, has_aux)
    linearized = linearize_flat(flat, args, None, fun)
    out_tree = flat.out_tree

    @watched
    def pull_back(cotangent: Any) -> tuple[Any, ...]:
        given = _as_tangents(
            cotangent,
            out_tree,
            linearized.primals_out,
            "cotangent",
            fun,
            lambda i: leaf_path("result", out_tree, i),
        )
        found = linearized.pull_back(given, add_arrays)
        cotangents, _ = tree.unflatten(
            in_tree,
            [_zero_tangent(x) if ct is ZERO else ct for x, ct in zip(args, found, strict=True)],
        )
        result: tuple[Any, ...] = cotangents
        return result

    value = tree.unflatten(out_tree, linearized.primals_out)
    if has_aux:
        return value, pull_back, _without_tracers(flat.aux)
    return value, pull_back


@checked
def value_and_grad(
    fun: Callable[P, R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, tuple[R, Any]]:
    """Return a function that computes both the value and the gradient of a scalar function.

    Args:
        fun: returns a scalar float (or a pair of one and auxiliary data).
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns a pair, of which the second part is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.
        allow_int: whether integer arguments may be differentiated; their gradient is of dtype
        float0.

    Returns:
        A function of the same signature that returns ``(value, gradient)``, where ``value`` is what
        ``fun`` returns. The gradient is a tree like the argument, or a tuple of such for several.
        For complex arguments it is the conjugate of the direction of steepest ascent, as in JAX.

    Raises:
        DifferentiationError: when called, if the value is not a scalar float, or an argument is not
            float (or complex, with ``holomorphic``).

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> value, gradient = tinyjax.value_and_grad(lambda w: jnp.sum(w**2))(jnp.array([1.0, 2.0]))
        >>> float(value), gradient
        (5.0, Array([2., 4.], dtype=float32))
    """
    return _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, "value_and_grad")


def _value_and_grad(
    fun: Callable[P, R],
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    name: str,
) -> Callable[P, tuple[R, Any]]:
    several = not isinstance(argnums, int)
    numbers = tuple(argnums) if not isinstance(argnums, int) else (argnums,)

    @watched
    @wraps(fun)
    def computed(*args: P.args, **kwargs: P.kwargs) -> tuple[R, Any]:
        chosen = tuple(_argument(fun, args, i, name) for i in numbers)
        leaves, in_tree = tree.flatten((chosen, {}))
        primals = as_arrays(leaves, fun, in_tree)
        for i, x in enumerate(primals):
            if not is_float(x.dtype) or holomorphic:
                _check_differentiable(
                    x, holomorphic, allow_int, fun, _chosen_path(fun, numbers, in_tree, i), name
                )

        def of_chosen(*values: Any) -> Any:
            full: list[Any] = list(args)
            for i, value in zip(numbers, values, strict=True):
                full[i] = value
            return fun(*full, **kwargs)

        flat = FlatFunction(of_chosen, in_tree, has_aux, fun)
        linearized = linearize_flat(flat, primals, None, fun)
        (out,) = linearized.primals_out if len(linearized.primals_out) == 1 else (None,)
        if out is None or out.shape or flat.out_tree is not tree.LEAF:
            raise DifferentiationError(
                f"{name} needs a scalar result, but {describe_function(fun)} returned "
                f"{_describe_result(linearized.primals_out, flat.out_tree)}. Reduce it, for "
                "instance "
                "with jnp.sum, or use tinyjax.jacrev or tinyjax.vjp."
            )
        _check_scalar_result(out, holomorphic, fun, name)
        if linearized.nonzero_out[0]:
            found = linearized.pull_back([full_like(out, 1)], add_arrays)
        else:
            found = [ZERO] * len(primals)
        gradient, _ = tree.unflatten(
            in_tree,
            [_zero_tangent(x) if ct is ZERO else ct for x, ct in zip(primals, found, strict=True)],
        )
        value: Any = (out, _without_tracers(flat.aux)) if has_aux else out
        return value, gradient if several else gradient[0]

    return computed


def _argument(fun: Callable[..., Any], args: Sequence[Any], i: int, name: str) -> Any:
    if not -len(args) <= i < len(args):
        raise ArgumentError(
            f"{name} of {describe_function(fun)} differentiates positional argument {i}, but it "
            "was "
            f"called with {len(args)} positional arguments."
        )
    return args[i]


def _chosen_path(
    fun: Callable[..., Any], numbers: Sequence[int], in_tree: PyTreeDef, position: int
) -> str:
    numbered = tree.unflatten(in_tree, range(in_tree.num_leaves))
    (_, first, *rest), _ = tree.leaves_with_path(numbered)[position]
    return tree.path_str(parameter_name(fun, numbers[getattr(first, "idx", 0)]), rest)


def _check_differentiable(
    x: Array, holomorphic: bool, allow_int: bool, fun: Callable[..., Any], path: str, name: str
) -> None:
    which = f"{path} of {describe_function(fun)}"
    if holomorphic:
        if not is_complex(x.dtype):
            raise DifferentiationError(
                f"{name} with holomorphic=True needs complex arguments, but {which} is {x.aval}."
            )
        return
    if kind(x.dtype) in "iub" and not allow_int:
        raise DifferentiationError(
            f"{name} differentiates floats, but {which} is {x.aval}. Convert it with "
            ".astype(float), or "
            "differentiate another argument with argnums."
        )


def _check_scalar_result(out: Array, holomorphic: bool, fun: Callable[..., Any], name: str) -> None:
    if holomorphic:
        if not is_complex(out.dtype):
            raise DifferentiationError(
                f"{name} with holomorphic=True needs a complex result, but "
                f"{describe_function(fun)} "
                f"returned {out.aval}."
            )
    elif not is_float(out.dtype):
        raise DifferentiationError(
            f"{name} needs a real float result, but {describe_function(fun)} returned {out.aval}. "
            + (
                "For a holomorphic function pass holomorphic=True; else use tinyjax.vjp."
                if is_complex(out.dtype)
                else "Convert it with .astype(float)."
            )
        )


def _describe_result(outs: Sequence[Array], out_tree: PyTreeDef) -> str:
    if out_tree is tree.LEAF:
        return f"an array of type {outs[0].aval}"
    return f"{out_tree}"


@checked
def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, Any]:
    """Return a function that computes the gradient of a scalar function.

    Args:
        fun: returns a scalar float (or a pair of one and auxiliary data).
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns a pair, of which the second part is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.
        allow_int: whether integer arguments may be differentiated; their gradient is of dtype
        float0.

    Returns:
        A function of the same signature that returns the gradient: a tree like the argument, or a
        tuple of such for several; with ``has_aux`` the pair ``(gradient, aux)``.

    Raises:
        DifferentiationError: when called, if the value is not a scalar float, or an argument is not
            float (or complex, with ``holomorphic``).

    Example:
        >>> import tinyjax
        >>> float(tinyjax.grad(lambda x: x**3 if x > 0 else -x)(2.0))
        12.0
    """
    both = _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, "grad")

    @watched
    @wraps(fun)
    def computed(*args: P.args, **kwargs: P.kwargs) -> Any:
        value, gradient = both(*args, **kwargs)
        if has_aux:
            _, aux = _pair(value)
            return gradient, aux
        return gradient

    return computed


def _pair(value: Any) -> tuple[Any, Any]:
    first, second = value
    return first, second


@checked
def jacfwd(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """Return a function that computes the Jacobian column by column, in forward mode.

    Best where there are fewer inputs than outputs.

    Args:
        fun: takes and returns arrays in any containers.
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns a pair, of which the second part is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.

    Returns:
        A function of the same signature. Its result is a tree like ``fun``'s, at each leaf a tree
        like the argument (or a tuple of such), at each of whose leaves stands an array of shape
        ``output.shape + input.shape``.

    Raises:
        DifferentiationError: when called, if an argument is not float (or complex, with
            ``holomorphic``).

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.jacfwd(lambda x: x**2)(jnp.array([1.0, 2.0]))
        Array([[2., 0.],
               [0., 4.]], dtype=float32)
    """
    several, numbers = not isinstance(argnums, int), _numbers(argnums)

    @watched
    @wraps(fun)
    def computed(*args: P.args, **kwargs: P.kwargs) -> Any:
        of_chosen, chosen, primals, in_tree = _choose(fun, args, kwargs, numbers, "jacfwd")
        for i, x in enumerate(primals):
            _check_jacobian_input(
                x, holomorphic, fun, _chosen_path(fun, numbers, in_tree, i), "jacfwd", False
            )
        aux: list[Any] = []

        def push(direction: Any) -> Any:
            if has_aux:
                _, tangent, found = jvp(of_chosen, chosen, direction, True)
                aux.append(found)
                return tangent
            return jvp(of_chosen, chosen, direction)[1]

        basis = _basis(primals, in_tree)[0]
        columns = over_basis(push, -1)(basis)
        jacobian = tree.map(
            lambda column: _split_inputs(column, primals, in_tree, several), columns
        )
        return (jacobian, aux[0]) if has_aux else jacobian

    return computed


@checked
def jacrev(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, Any]:
    """Return a function that computes the Jacobian row by row, in reverse mode.

    Best where there are fewer outputs than inputs.

    Args:
        fun: takes and returns arrays in any containers.
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns a pair, of which the second part is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.
        allow_int: whether integer arguments may be differentiated.

    Returns:
        A function of the same signature whose result is laid out as that of ``jacfwd``.

    Raises:
        DifferentiationError: when called, if an argument or a result is not float (or complex, with
            ``holomorphic``).

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.jacrev(lambda x: x**2)(jnp.array([1.0, 2.0]))
        Array([[2., 0.],
               [0., 4.]], dtype=float32)
    """
    several, numbers = not isinstance(argnums, int), _numbers(argnums)

    @watched
    @wraps(fun)
    def computed(*args: P.args, **kwargs: P.kwargs) -> Any:
        of_chosen, chosen, primals, in_tree = _choose(fun, args, kwargs, numbers, "jacrev")
        for i, x in enumerate(primals):
            path = _chosen_path(fun, numbers, in_tree, i)
            if not (allow_int and kind(x.dtype) in "iub"):
                _check_jacobian_input(x, holomorphic, fun, path, "jacrev", True)
        value, pull_back, *aux = vjp(of_chosen, *chosen, has_aux=has_aux)
        outs, out_tree = tree.flatten(value)
        for out in outs:
            if holomorphic != is_complex(out.dtype) or not is_inexact(out.dtype):
                raise DifferentiationError(
                    f"jacrev needs {'complex' if holomorphic else 'real float'} results, but "
                    f"{describe_function(fun)} returned {out.aval}."
                    + (
                        " For a holomorphic function pass holomorphic=True."
                        if is_complex(out.dtype)
                        else " Convert it with .astype(complex)."
                        if holomorphic
                        else " Convert it with .astype(float)."
                    )
                )
        rows = over_basis(pull_back)(_basis(outs, out_tree))
        split = [
            _split_outputs(row, outs) for row in tree.leaves(rows)
        ]  # for each input leaf, the block of each output leaf
        blocks = [
            tree.unflatten(in_tree, [column[j] for column in split])[0] for j in range(len(outs))
        ]
        jacobian = tree.unflatten(out_tree, [b if several else b[0] for b in blocks])
        return (jacobian, _without_tracers(aux[0])) if has_aux else jacobian

    return computed


@checked
def hessian(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """Return a function that computes the matrix of second derivatives, forward over reverse.

    Args:
        fun: takes and returns arrays in any containers.
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns a pair, of which the second part is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.

    Returns:
        A function of the same signature whose result has, for a scalar ``fun`` of one array,
        shape ``x.shape + x.shape``.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.hessian(lambda x: jnp.sum(x**3))(jnp.array([1.0, 2.0]))
        Array([[ 6.,  0.],
               [ 0., 12.]], dtype=float32)
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def _numbers(argnums: int | Sequence[int]) -> tuple[int, ...]:
    return (argnums,) if isinstance(argnums, int) else tuple(argnums)


def _choose(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    numbers: tuple[int, ...],
    name: str,
) -> tuple[Callable[..., Any], tuple[Any, ...], list[Array], PyTreeDef]:
    """The function of the chosen arguments alone, and those arguments."""
    given = tuple(_argument(fun, args, i, name) for i in numbers)
    leaves, in_tree = tree.flatten((given, {}))
    primals = as_arrays(leaves, fun, in_tree)
    chosen: tuple[Any, ...] = tree.unflatten(in_tree, primals)[0]

    @wraps(fun)
    def of_chosen(*values: Any) -> Any:
        full: list[Any] = list(args)
        for i, value in zip(numbers, values, strict=True):
            full[i] = value
        return fun(*full, **kwargs)

    return of_chosen, chosen, primals, in_tree


def _check_jacobian_input(
    x: Array, holomorphic: bool, fun: Callable[..., Any], path: str, name: str, reverse: bool
) -> None:
    which = f"{path} of {describe_function(fun)}"
    if holomorphic != is_complex(x.dtype) and not (reverse and not holomorphic):
        raise DifferentiationError(
            f"{name} needs {'complex' if holomorphic else 'real'} arguments, but {which} is "
            f"{x.aval}."
            + ("" if holomorphic else " For a holomorphic function pass holomorphic=True.")
        )
    if not is_inexact(x.dtype):
        raise DifferentiationError(
            f"{name} differentiates floats, but {which} is {x.aval}. Convert it with "
            ".astype(float), or "
            "differentiate another argument with argnums."
        )


def _basis(arrays: Sequence[Array], treedef: PyTreeDef) -> Any:
    """The standard basis of a tree of arrays: as many directions as there are elements, stacked."""
    sizes = [x.size for x in arrays]
    total = sum(sizes)
    parts, start = [], 0
    for x, n in zip(arrays, sizes, strict=True):
        dtype = x.dtype if is_inexact(x.dtype) else float0
        rows = np.zeros((total, n), dtype)
        if dtype != float0:
            rows[np.arange(start, start + n), np.arange(n)] = 1
        parts.append(ConcreteArray(rows.reshape((total, *x.shape))))
        start += n
    return tree.unflatten(treedef, parts)


def _split_inputs(
    column: Array, primals: Sequence[Array], in_tree: PyTreeDef, several: bool
) -> Any:
    """Cut the last axis into the input leaves, and give each its shape."""
    blocks, start = [], 0
    for x in primals:
        block = column[..., start : start + x.size]
        blocks.append(reshape(block, column.shape[:-1] + x.shape))
        start += x.size
    result, _ = tree.unflatten(in_tree, blocks)
    return result if several else result[0]


def _split_outputs(row: Array, outs: Sequence[Array]) -> list[Array]:
    """Cut the first axis into the output leaves, and give each its shape."""
    blocks, start = [], 0
    for out in outs:
        block = row[start : start + out.size]
        blocks.append(reshape(block, out.shape + row.shape[1:]))
        start += out.size
    return blocks
