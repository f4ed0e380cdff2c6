"""``jacfwd``, ``jacrev`` and ``hessian``: whole matrices, by ``vmap`` over a basis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, Never

import numpy as np

from tinyjax import dtypes, tree
from tinyjax.core.api import arguments, derivatives, mapping, typed
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing as sl
from tinyjax.core.tracing import calling, checking
from tinyjax.core.values import avals as av, integers as ints, operands as opd
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray


def _with_plain_options(function: Callable[..., Any]) -> typed.Jacobians[Never, Never, Array]:
    transform: Callable[..., Any] = checking.checked(function)
    return transform


def _with_allow_int(function: Callable[..., Any]) -> typed.Jacobians[bool, Never, Array]:
    transform: Callable[..., Any] = checking.checked(function)
    return transform


def _of_second_order(function: Callable[..., Any]) -> typed.Jacobians[Never, Never, Never]:
    transform: Callable[..., Any] = checking.checked(function)
    return transform


@_with_plain_options
def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian column by column, in forward mode.

    Use it where there are fewer inputs than outputs.

    Args:
        fun: takes and returns arrays in any containers.
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns ``(value, aux)``; ``aux`` is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.

    Returns:
        A function of the same signature. It returns a tree like ``fun``'s result, with a tree like
        the argument in place of each leaf (or a tuple of such trees), whose leaves are arrays of
        shape ``output.shape + input.shape``.

    Raises:
        DifferentiationError: when called, if an argument is not float (or complex, with
            ``holomorphic``).

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.jacfwd(lambda x: x**2)(jnp.array([1.0, 2.0]))
        Array([[2., 0.],
               [0., 4.]], dtype=float32)
    """
    choice = arguments.choose("jacfwd", fun, argnums, holomorphic)

    @partial(calling.watched, named=fun)
    def jacobian_at(*args: Any, **kwargs: Any) -> Any:
        chosen = choice.take(args, kwargs)
        chosen.check(allow_complex=False)
        values = chosen.values
        of_chosen = chosen.function
        aux: list[Any] = []

        def push(direction: Any) -> Any:
            if has_aux:
                _, tangent, auxiliary = derivatives.jvp(of_chosen, values, direction, True)
                aux.append(auxiliary)
                return tangent
            return derivatives.jvp(of_chosen, values, direction)[1]

        basis = chosen.unflatten(_basis(chosen.primals))
        columns = mapping.over_basis(push, -1)(basis)
        jacobian = tree.map(
            lambda column: chosen.result(split_inputs(column, chosen.primals)), columns
        )
        return (jacobian, aux[0]) if has_aux else jacobian

    return jacobian_at


@_with_allow_int
def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian row by row, in reverse mode.

    Use it where there are fewer outputs than inputs.

    Args:
        fun: takes and returns arrays in any containers.
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns ``(value, aux)``; ``aux`` is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.
        allow_int: whether integer arguments may be differentiated.

    Returns:
        A function of the same signature; its result has the layout of ``jacfwd``'s.

    Raises:
        DifferentiationError: when called, if an argument or a result is not float (or complex, with
            ``holomorphic``).

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.jacrev(lambda x: x**2)(jnp.array([1.0, 2.0]))
        Array([[2., 0.],
               [0., 4.]], dtype=float32)
    """
    choice = arguments.choose("jacrev", fun, argnums, holomorphic)

    @partial(calling.watched, named=fun)
    def jacobian_at(*args: Any, **kwargs: Any) -> Any:
        chosen = choice.take(args, kwargs)
        chosen.check(allow_int)
        of_chosen = chosen.function
        value, pull_back, *aux = derivatives.vjp(of_chosen, *chosen.values, has_aux=has_aux)
        outs, out_tree = tree.flatten(value)
        for out in outs:
            choice.check_result(out)
        rows = mapping.over_basis(pull_back)(tree.unflatten(out_tree, _basis(outs)))
        # for each input leaf, the block of each output leaf
        split = [_split_outputs(row, outs) for row in tree.leaves(rows)]
        blocks = [chosen.result([column[j] for column in split]) for j in range(len(outs))]
        jacobian = tree.unflatten(out_tree, blocks)
        return (jacobian, aux[0]) if has_aux else jacobian

    return jacobian_at


@_of_second_order
def hessian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes the matrix of second derivatives, forward over reverse.

    Args:
        fun: takes and returns arrays in any containers.
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns ``(value, aux)``; ``aux`` is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.

    Returns:
        A function of the same signature. For a scalar ``fun`` of one array ``x``, its result has
        shape ``x.shape + x.shape``.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.hessian(lambda x: jnp.sum(x**3))(jnp.array([1.0, 2.0]))
        Array([[ 6.,  0.],
               [ 0., 12.]], dtype=float32)
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def _basis(arrays: Sequence[Array]) -> list[Array]:
    """The standard basis of a list of arrays: as many directions as there are elements, stacked."""
    sizes = [x.size for x in arrays]
    total = sum(sizes)
    if isinstance(total, ints.SymbolicSize):
        return _symbolic_basis(arrays, sizes, total)
    parts: list[Array] = []
    start = 0
    for x, n in zip(arrays, sizes, strict=True):
        dtype = x.dtype if dtypes.is_inexact(x.dtype) else dtypes.float0
        rows = np.zeros((total, n), dtype)
        if dtype != dtypes.float0:
            rows[np.arange(start, start + n), np.arange(n)] = 1
        aval = av.ShapedArray((total, *x.shape), np.dtype(dtype), x.weak_type)
        parts.append(ConcreteArray(rows.reshape((total, *x.shape)), aval))
        start += n
    return parts


def _symbolic_basis(arrays: Sequence[Array], sizes: Sequence[int], total: int) -> list[Array]:
    parts: list[Array] = []
    start = 0
    for x, n in zip(arrays, sizes, strict=True):
        if dtypes.is_inexact(x.dtype):
            shape = (total, n)
            place = ew.add(sh.iota(shape, dtypes.int32, 1), sh.full(shape, start, dtypes.int32))
            rows = ew.convert_element_type(ew.eq(sh.iota(shape, dtypes.int32, 0), place), x.dtype)
            parts.append(sh.reshape(rows, (total, *x.shape)))
        else:
            parts.append(opd.splat(0, av.ShapedArray((total, *x.shape), dtypes.float0)))
        start += n
    return parts


def split_inputs(column: Array, primals: Sequence[Array]) -> list[Array]:
    """Cut the last axis into the input leaves, and give each its shape."""
    shape = column.shape[:-1]
    blocks = _cut(column, primals, column.ndim - 1)
    return [sh.reshape(block, shape + x.shape) for block, x in zip(blocks, primals, strict=True)]


def _split_outputs(row: Array, outs: Sequence[Array]) -> list[Array]:
    """Cut the first axis into the output leaves, and give each its shape."""
    shape = row.shape[1:]
    blocks = _cut(row, outs, 0)
    return [sh.reshape(block, x.shape + shape) for block, x in zip(blocks, outs, strict=True)]


def _cut(whole: Array, arrays: Sequence[Array], axis: int) -> list[Array]:
    """Take the part of each array out of one that has the elements of all along an axis."""
    if len(arrays) == 1:
        return [whole]
    ends = accumulate([x.size for x in arrays])
    pairs = zip(arrays, ends, strict=True)
    return [sl.slice_in_dim(whole, end - x.size, end, axis=axis) for x, end in pairs]
