"""``jacfwd`` and ``jacrev``: whole matrices, by ``vmap`` over a basis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, Final, Never

import numpy as np

from tinyjax import dtypes, tree
from tinyjax.core.api import arguments, derivatives, mapping, typed
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.primitives.broadcast import ReduceParams, broadcast_in_dim
from tinyjax.core.tracing import checking, jaxpr as jx, primitive as prim, staging, trace as tr
from tinyjax.core.tracing.watching import watched
from tinyjax.core.values import avals as av, integers as ints
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray


def _with_plain_options(
    function: Callable[..., Any],
) -> typed.Jacobians[Never, Never, Never, Array, Never]:
    transform: Callable[..., Any] = checking.checked(function)
    return transform


def _with_allow_int(
    function: Callable[..., Any],
) -> typed.Jacobians[bool, Never, Never, Array, Never]:
    transform: Callable[..., Any] = checking.checked(function)
    return transform


#: So many directions, at least, stand last: the innermost loops run over them, and should be long.
_MANY: Final = 32
#: An array of so many bytes is worth another layout.
_LARGE: Final = 2**20


@_with_plain_options
def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian column by column, in forward mode.

    Use it where there are fewer inputs than outputs.

    Args:
        fun: takes and returns arrays in any containers.
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns ``(value, aux)``; ``aux`` is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.
        chunk_size: how many columns to compute at once, to save memory, as in ``vmap``; each chunk
            evaluates ``fun`` anew. Memory is that of the result, twice under ``jit``, and of
            ``chunk_size`` tangents.

    Returns:
        A function of the same signature. It returns a tree like ``fun``'s result, with a tree like
        the argument in place of each leaf (or a tuple of such trees), whose leaves are arrays of
        shape ``output.shape + input.shape``.

    Raises:
        DifferentiationError: when called, if an argument is not float (or complex, with
            ``holomorphic``).
        ArgumentError: ``chunk_size`` is not positive.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.jacfwd(lambda x: x**2)(jnp.array([1.0, 2.0]))
        Array([[2., 0.],
               [0., 4.]], dtype=float32)
        >>> tinyjax.jacfwd(lambda x: x**2, chunk_size=1)(jnp.array([1.0, 2.0]))
        Array([[2., 0.],
               [0., 4.]], dtype=float32)
    """
    mapping.check_positive("jacfwd", chunk_size=chunk_size)
    choice = arguments.DifferentiatedArguments("jacfwd", fun, argnums, holomorphic)

    @partial(watched, named=fun)
    def jacobian_at(*args: Any, **kwargs: Any) -> Any:
        chosen = arguments.DifferentiatedCall(choice, args, kwargs)
        chosen.check(allow_complex=False)
        values = chosen.values
        of_chosen = chosen.function
        aux = _Constants()

        def push(direction: Any) -> Any:
            if has_aux:
                _, tangent, auxiliary = derivatives.jvp(of_chosen, values, direction, True)
                return tangent, aux.take(auxiliary)
            return derivatives.jvp(of_chosen, values, direction)[1], ()

        columns, arrays = _over_basis(
            push, chosen.primals, chosen.unflatten, (-1, None), chunk_size
        )
        jacobian = tree.map(
            lambda column: chosen.result(split_inputs(column, chosen.primals)), columns
        )
        return (jacobian, aux.put(arrays)) if has_aux else jacobian

    return jacobian_at


@_with_allow_int
def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian row by row, in reverse mode.

    Use it where there are fewer outputs than inputs.

    Args:
        fun: takes and returns arrays in any containers.
        argnums: which positional arguments to differentiate; an int, or several.
        has_aux: whether ``fun`` returns ``(value, aux)``; ``aux`` is not differentiated.
        holomorphic: whether ``fun`` is a complex-differentiable function of complex arguments.
        allow_int: whether integer arguments may be differentiated.
        chunk_size: how many rows to compute at once, to save memory, as in ``vmap``. Memory is that
            of the result, of what ``fun`` keeps for one gradient, and of ``chunk_size`` cotangents.

    Returns:
        A function of the same signature; its result has the layout of ``jacfwd``'s.

    Raises:
        DifferentiationError: when called, if an argument or a result is not float (or complex, with
            ``holomorphic``).
        ArgumentError: ``chunk_size`` is not positive.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.jacrev(lambda x: x**2)(jnp.array([1.0, 2.0]))
        Array([[2., 0.],
               [0., 4.]], dtype=float32)
    """
    mapping.check_positive("jacrev", chunk_size=chunk_size)
    choice = arguments.DifferentiatedArguments("jacrev", fun, argnums, holomorphic)

    @partial(watched, named=fun)
    def jacobian_at(*args: Any, **kwargs: Any) -> Any:
        chosen = arguments.DifferentiatedCall(choice, args, kwargs)
        chosen.check(allow_int)
        of_chosen = chosen.function
        value, pull_back, *aux = derivatives.vjp(of_chosen, *chosen.values, has_aux=has_aux)
        outs, out_tree = tree.flatten(value)
        for out in outs:
            choice.check_result(out.aval)
        direction = partial(tree.unflatten, out_tree)
        rows = _over_basis(pull_back, outs, direction, 0, chunk_size)
        # for each input leaf, the block of each output leaf
        split = [_split_outputs(row, outs) for row in tree.leaves(rows)]
        blocks = [chosen.result([column[j] for column in split]) for j in range(len(outs))]
        jacobian = tree.unflatten(out_tree, blocks)
        return (jacobian, aux[0]) if has_aux else jacobian

    return jacobian_at


class _Constants:
    """Auxiliary data of a function that is mapped: the same for all directions.

    Arrays are returned from the function, since a loop may stage it; the rest is stored here.
    """

    __slots__ = ("leaves", "treedef")

    leaves: list[Any]
    treedef: tree.PyTreeDef

    def take(self, aux: Any) -> list[Array]:
        """Return the arrays, and store the rest."""
        leaves, self.treedef = tree.flatten(aux)
        self.leaves = [None if isinstance(x, Array) else x for x in leaves]
        return [x for x in leaves if isinstance(x, Array)]

    def put(self, arrays: Iterable[Array]) -> Any:
        """Return the data, with other arrays in their places."""
        rest = iter(arrays)
        leaves = [next(rest) if x is None else x for x in self.leaves]
        return tree.unflatten(self.treedef, leaves)


def _over_basis(
    fun: Callable[[Any], Any],
    arrays: Sequence[Array],
    unflatten: Callable[[list[Array]], Any],
    out_axes: Any,
    chunk_size: int | None,
) -> Any:
    """Map a function over the standard basis of a list of arrays.

    Args:
        fun: a function of one direction.
        arrays: as many directions as they have elements are taken.
        unflatten: makes a direction of its arrays.
        out_axes: where to put the directions in the results. If last, many stand last all along.
        chunk_size: how many to take at once, or None.
    """
    total = sum(x.size for x in arrays)
    is_symbolic = isinstance(total, ints.SymbolicSize)
    if out_axes == 0 and not is_symbolic and total == 1:  # of what has one result: its gradient
        one = fun(unflatten([sh.full_like(x, 1) for x in arrays]))
        return tree.map(lambda x: sh.reshape(x, (1, *x.shape)), one)
    at_once = total if chunk_size is None or is_symbolic else min(chunk_size, total)
    last = out_axes != 0 and not is_symbolic and at_once >= _MANY
    if is_symbolic or at_once < total:
        along = mapping.over_basis(
            lambda place: fun(unflatten(_direction(arrays, place))), out_axes, chunk_size, last
        )
        return along(sh.iota((total,), dtypes.int32, 0))

    def at_once_over(last: bool) -> Any:
        basis = unflatten(_basis(arrays, total, last))
        return mapping.over_basis(fun, out_axes, last=last)(basis)

    trace = tr.current_trace()
    if not (last and isinstance(trace, staging.StagingTrace)):
        return at_once_over(last)
    mark = trace.mark()
    result = at_once_over(last)
    if trace.hooks or not trace.can_rewind(mark) or not _sums_crosswise(trace.eqns[mark[0] :]):
        return result
    trace.rewind(mark)
    return at_once_over(False)


def _sums_crosswise(eqns: Sequence[jx.JaxprEqn]) -> bool:
    """Return whether a program sums one large array along several axes, not the last.

    XLA:CPU then keeps that array, and goes through it with strides (YNNPACK's loops are over the
    outermost axes). If those are the directions, it computes one direction after the other.
    """
    sums: dict[jx.Atom, set[tuple[int, ...]]] = {}
    for eqn in reversed(eqns):
        if isinstance(eqn.params, ReduceParams):
            sums.setdefault(eqn.inputs[0], set()).add(eqn.params.axes)
        elif prim.ELEMENTWISE in eqn.primitive.rules.extensions and eqn.out_binders[0] in sums:
            found, aval = sums[eqn.out_binders[0]], eqn.out_binders[0].aval
            if len(found) > 1 and aval.nbytes >= _LARGE and aval.shape[-2] >= _MANY:
                return True
            for x in eqn.inputs:
                sums.setdefault(x, set()).update(found)
    return False


def _basis(arrays: Sequence[Array], total: int, last: bool) -> list[Array]:
    """Return the standard basis of a list of arrays, stacked: a direction for each element."""
    parts: list[Array] = []
    start = 0
    for x in arrays:
        places = np.arange(x.size)
        elements = np.zeros((x.size, total) if last else (total, x.size), x.dtype)
        elements[(places, start + places) if last else (start + places, places)] = 1
        shape = (*x.shape, total) if last else (total, *x.shape)
        aval = av.ShapedArray(shape, x.dtype, x.weak_type)
        parts.append(ConcreteArray(elements.reshape(shape), aval))
        start += x.size
    return parts


def _direction(arrays: Sequence[Array], place: Array) -> list[Array]:
    """Return the direction of the standard basis whose one has this place among the elements."""
    parts: list[Array] = []
    start = 0
    for x in arrays:
        shape = (x.size,)
        places = ew.add(sh.iota(shape, dtypes.int32, 0), sh.full(shape, start, dtypes.int32))
        one = ew.eq(places, broadcast_in_dim(place, shape, ()))
        parts.append(sh.reshape(ew.convert_element_type(one, x.dtype), x.shape))
        start += x.size
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
    return [slicing.slice_in_dim(whole, end - x.size, end, axis=axis) for x, end in pairs]
