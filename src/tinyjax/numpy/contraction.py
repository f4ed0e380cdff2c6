"""Products of arrays that sum over axes: ``dot``, ``matmul``, ``tensordot``, ``einsum`` and kin.

All of them become ``dot_general``, which names its axes, so operands are not transposed or repeated
first; a product that sums over no axis becomes a broadcast multiplication. Operands are promoted to
their common dtype, which is the result's unless ``preferred_element_type`` is given. ``precision``
has an effect on GPUs and TPUs only: the processor computes in the full precision of the dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from math import prod
from string import ascii_letters
from typing import Any, TypeAlias

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import records
from tinyjax._extensions.host import replay
from tinyjax._primitives import result_placement
from tinyjax._primitives.dot import dot_general
from tinyjax._primitives.precision import (
    Canonical,
    PrecisionLike,
    chosen_precision,
    swapped_precision,
)
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.primitives.broadcast import broadcast_in_dim, reduce_sum
from tinyjax.core.primitives.reduce import reduce_or
from tinyjax.core.primitives.slicing import slice_
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.numpy import elementwise, promotion as pm

Axes = tuple[int, ...]
#: What multiplies two arrays as ``lax.dot_general`` does, with its arguments.
DotGeneral: TypeAlias = Callable[..., ArrayLike]


def _prepare(
    name: str, operands: Sequence[ArrayLike], preferred: dtypes.DTypeLike
) -> tuple[list[Array], dtypes.DType]:
    """Promote the operands, and say which dtype the result has."""
    xs = pm.arrays(name, *operands)
    first = xs[0]._aval or xs[0].aval
    dtype = first.dtype
    for x in xs:
        aval = x._aval or x.aval
        if aval.dtype != dtype or aval.weak_type != first.weak_type:
            xs = pm.promote_dtypes(*xs)
            dtype = xs[0].dtype
            break
    return xs, dtype if preferred is None else dtypes.check(preferred)


def _multiply(x: Array, y: Array, dtype: dtypes.DType) -> Array:
    """Multiply two arrays of the same shape in the result's dtype."""
    if x.dtype != dtype:
        x, y = pm.convert(x, dtype), pm.convert(y, dtype)
    return ew.mul(x, y)


def _sum(x: Array, axes: Axes) -> Array:
    return reduce_or(x, axes) if x.dtype == dtypes.bool_ else reduce_sum(x, axes)


@result_placement.placed
def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
    out_sharding: Placement = None,
) -> Array:
    """Return the sum of products over the last axis of ``a`` and the last but one of ``b``.

    For vectors that is the inner product, for matrices the matrix product, and a scalar multiplies.

    Args:
        a: any shape.
        b: any shape; its last axis but one (the only one of a vector) has the size of ``a``'s last.
        precision: as in ``lax.dot_general``.
        preferred_element_type: the dtype of the result.
        out_sharding: where the result is to lie.

    Returns:
        An array with the axes of ``a`` but the last, then those of ``b`` but the one summed over.

    Raises:
        ShapeError: the axes summed over differ in size.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.dot(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10]))
        Array([21, 43], dtype=int32)
    """
    (x, y), dtype = _prepare("dot", (a, b), preferred_element_type)
    if not x.shape or not y.shape:
        return _outer(x, y, dtype)
    axis = max(y.ndim - 2, 0)
    if x.shape[-1] != y.shape[axis]:
        raise errors.ShapeError(
            f"dot of shapes {x.shape} and {y.shape}: the last axis of the first has size "
            f"{x.shape[-1]}, and axis {axis} of the second {y.shape[axis]}; they must be equal."
        )
    return dot_general(
        x, y, ((x.ndim - 1,), (axis,)), dtype=dtype, precision=chosen_precision(precision)
    )


def _outer(x: Array, y: Array, dtype: dtypes.DType) -> Array:
    """Every product of an element of one array with one of the other."""
    shape = x.shape + y.shape
    left = broadcast_in_dim(x, shape, tuple(range(x.ndim)))
    right = broadcast_in_dim(y, shape, tuple(range(x.ndim, len(shape))))
    return _multiply(left, right, dtype)


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
    out_sharding: Placement = None,
) -> Array:
    """Return the matrix product over the last two axes, broadcasting over the others.

    Args:
        a: shape ``(..., n, k)``, or ``(k,)`` for a row vector.
        b: shape ``(..., k, m)``, or ``(k,)`` for a column vector.
        precision: as in ``lax.dot_general``.
        preferred_element_type: the dtype of the result.
        out_sharding: where the result is to lie.

    Returns:
        An array of shape ``(..., n, m)``, without ``n`` or ``m`` where a vector was given.

    Raises:
        ShapeError: an operand is a scalar, or the sizes do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.matmul(jnp.ones((5, 1, 2, 3)), jnp.ones((4, 3, 2))).shape
        (5, 4, 2, 2)
    """
    if out_sharding is not None:
        return result_placement.put_result(
            *(matmul, out_sharding, a, b),
            precision=precision,
            preferred_element_type=preferred_element_type,
        )
    return _matmul(a, b, preferred_element_type, chosen_precision(precision))


def exact_matmul(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the matrix product in full precision, whatever the settings say.

    Linear algebra multiplies so: its errors grow with the matrices' condition numbers.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.numpy.contraction import exact_matmul
        >>> with tinyjax.default_matmul_precision("bfloat16_3x"):
        ...     tinyjax.jit(exact_matmul).lower(jnp.eye(2), jnp.eye(2)).as_text().count("HIGH>")
        0
    """
    return _matmul(a, b, None, None)


def _matmul(a: ArrayLike, b: ArrayLike, preferred: dtypes.DTypeLike, precision: Canonical) -> Array:
    (x, y), dtype = _prepare("matmul", (a, b), preferred)
    p, q = x.shape, y.shape
    if not p or not q:
        raise errors.ShapeError(
            f"matmul needs at least one axis of either operand, but got shapes {p} and {q}. "
            "Multiply by a scalar with *."
        )
    x_axis, y_axis = len(p) - 1, max(len(q) - 2, 0)
    if p[x_axis] != q[y_axis]:
        raise errors.ShapeError(
            f"matmul of shapes {p} and {q}: axis {x_axis} of the first and {y_axis} "
            "of the second are summed over and must have the same size."
        )
    if x_axis <= 1 and len(q) <= 2:
        return dot_general(x, y, ((x_axis,), (y_axis,)), dtype=dtype, precision=precision)
    return _batched_matmul(x, y, dtype, precision)


def _batched_matmul(x: Array, y: Array, dtype: dtypes.DType, precision: Canonical) -> Array:
    # the letters k, n and m stand for the axes of the matrices, others for those before
    most = max(x.ndim, y.ndim) - 2
    batch = "abcdefgh"[:most] if most <= 8 else _symbols(most)
    x_names = batch[most - x.ndim + 2 :] + "nk" if x.ndim > 1 else "k"
    y_names = batch[most - y.ndim + 2 :] + "km" if y.ndim > 1 else "k"
    out = batch + ("n" if x.ndim > 1 else "") + ("m" if y.ndim > 1 else "")
    sizes = _sizes("matmul", (x_names, y_names), (x.shape, y.shape))
    left, right = _simplify(x, x_names, sizes), _simplify(y, y_names, sizes)
    product, names = _contract(*left, *right, out, dtype, precision)
    return _permute(product, names, out)


def vdot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
) -> Array:
    """Return the sum of the products of all elements, the first conjugated.

    See also ``dot``, which conjugates nothing, and ``vecdot``, which keeps the axes before the
    last.

    Args:
        a: any shape.
        b: any shape of as many elements.
        precision: as in ``lax.dot_general``.
        preferred_element_type: the dtype of the result.

    Returns:
        A scalar.

    Raises:
        ShapeError: the numbers of elements differ.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.vdot(jnp.array([1j, 2]), jnp.array([1j, 2]))
        Array(5.+0.j, dtype=complex64)
        >>> jnp.vdot(jnp.ones((2, 3)), jnp.arange(6))
        Array(15., dtype=float32)
    """
    (x, y), dtype = _prepare("vdot", (a, b), preferred_element_type)
    if x.size != y.size:
        raise errors.ShapeError.got("vdot needs as many elements of either operand", x, y)
    left, right = _conjugate(sh.reshape(x, (x.size,))), sh.reshape(y, (y.size,))
    return dot_general(
        left, right, ((0,), (0,)), dtype=dtype, precision=chosen_precision(precision)
    )


def _conjugate(x: Array) -> Array:
    return ew.conj(x) if dtypes.is_complex(x.dtype) else x


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
) -> Array:
    """Return the sum of products over one axis, the first conjugated, broadcasting over the others.

    Args:
        x1: at least one axis.
        x2: at least one axis.
        axis: the axis of both that is summed over.
        precision: as in ``lax.dot_general``.
        preferred_element_type: the dtype of the result.

    Raises:
        ShapeError: the axes differ in size, or the others do not broadcast.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.vecdot(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10]))
        Array([21, 43], dtype=int32)
    """
    (x, y), dtype = _prepare("vecdot", (x1, x2), preferred_element_type)
    x = sh.moveaxis(x, ints.canonical_axis(axis, x.ndim), x.ndim - 1)
    y = sh.moveaxis(y, ints.canonical_axis(axis, y.ndim), y.ndim - 1)
    _check_inner("vecdot", x, -1, y, -1)
    return _einsum("vecdot", "...k,...k->...", [_conjugate(x), y], dtype, precision)


def _check_inner(name: str, x: Array, i: int, y: Array, j: int) -> None:
    """Raise unless two axes that are summed over are there and of one size: 1 is not broadcast."""
    if x.ndim < -i or y.ndim < -j or x.shape[i] != y.shape[j]:
        raise errors.ShapeError(
            f"{name} sums over axis {i} of the first operand and axis {j} of the second, which "
            f"must have one size, but the shapes are {x.shape} and {y.shape}."
        )


def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return the products of matrices ``(..., n, m)`` and vectors ``(..., m)``, broadcasting.

    Each vector stands in the last axis, so many of them need no axis of size 1, as they do for
    ``matmul``.

    Raises:
        ShapeError: the sizes do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.matvec(jnp.array([[1, 2], [3, 4]]), jnp.array([[1, 0], [0, 1]]))
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    (x, y), dtype = _prepare("matvec", (x1, x2), None)
    _check_inner("matvec", x, -1, y, -1)
    return _einsum("matvec", "...nm,...m->...n", [x, y], dtype, None)


def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return the products of conjugated vectors ``(..., n)`` and matrices ``(..., n, m)``.

    See also ``matvec``, which conjugates nothing.

    Raises:
        ShapeError: the sizes do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.vecmat(jnp.array([1j, 1]), jnp.array([[1, 2], [3, 4]]))
        Array([3.-1.j, 4.-2.j], dtype=complex64)
    """
    (x, y), dtype = _prepare("vecmat", (x1, x2), None)
    _check_inner("vecmat", x, -1, y, -2)
    return _einsum("vecmat", "...n,...nm->...m", [_conjugate(x), y], dtype, None)


def inner(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
) -> Array:
    """Return the sum of products over the last axis of both; a scalar multiplies.

    Of matrices it is ``a @ b.T``. Nothing is conjugated: see ``vdot``.

    Args:
        a: any shape.
        b: any shape with a last axis of the same size.
        precision: as in ``lax.dot_general``.
        preferred_element_type: the dtype of the result.

    Returns:
        An array with the axes of ``a`` but the last, then those of ``b`` but the last.

    Raises:
        ShapeError: the last axes differ in size.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.inner(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
        Array([12, 34], dtype=int32)
        >>> jnp.inner(jnp.ones((2, 4)), jnp.ones((3, 4))).shape
        (2, 3)
    """
    (x, y), dtype = _prepare("inner", (a, b), preferred_element_type)
    if not x.shape or not y.shape:
        return _outer(x, y, dtype)
    if x.shape[-1] != y.shape[-1]:
        raise errors.ShapeError(
            f"inner of shapes {x.shape} and {y.shape}: the last axes must have the same size."
        )
    return dot_general(
        x, y, ((x.ndim - 1,), (y.ndim - 1,)), dtype=dtype, precision=chosen_precision(precision)
    )


def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """Return all products of an element of ``a`` with one of ``b``.

    Args:
        a: any shape; its elements are the rows.
        b: any shape; its elements are the columns.
        out: must be None: arrays are immutable.

    Returns:
        An array of shape ``(a.size, b.size)``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.outer(jnp.array([1, 2]), jnp.array([[10, 20], [30, 40]]))
        Array([[10, 20, 30, 40],
               [20, 40, 60, 80]], dtype=int32)
    """
    elementwise.no_out("outer", out)
    (x, y), dtype = _prepare("outer", (a, b), None)
    return _outer(sh.reshape(x, (x.size,)), sh.reshape(y, (y.size,)), dtype)


def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the Kronecker product: each element of ``a`` times the whole of ``b``.

    Args:
        a: any shape.
        b: any shape; where the numbers of axes differ, axes of size one are put in front.

    Returns:
        An array whose axes have the products of the sizes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.kron(jnp.array([1, 10]), jnp.array([1, 2, 3]))
        Array([ 1,  2,  3, 10, 20, 30], dtype=int32)
    """
    (x, y), dtype = _prepare("kron", (a, b), None)
    ndim = max(x.ndim, y.ndim)
    x = sh.reshape(x, (1,) * (ndim - x.ndim) + x.shape)
    y = sh.reshape(y, (1,) * (ndim - y.ndim) + y.shape)
    products = _outer(x, y, dtype)
    interleaved = tuple(axis for i in range(ndim) for axis in (i, ndim + i))
    shape = tuple(n * m for n, m in zip(x.shape, y.shape, strict=True))
    return sh.reshape(sh.transpose(products, interleaved), shape)


@result_placement.placed
def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | Sequence[int] | Sequence[int | Sequence[int]] = 2,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
    out_sharding: Placement = None,
) -> Array:
    """Return the sum of products over chosen axes of both operands.

    Args:
        a: any shape.
        b: any shape.
        axes: how many of the last axes of ``a`` and the first of ``b``; or the axes of either, an
            int or a sequence each, which are paired in order.
        precision: as in ``lax.dot_general``.
        preferred_element_type: the dtype of the result.
        out_sharding: where the result is to lie.

    Returns:
        An array with the other axes of ``a``, then those of ``b``.

    Raises:
        ShapeError: paired axes differ in size.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.tensordot(jnp.ones((2, 3, 4)), jnp.ones((4, 3, 5)), axes=[(1, 2), (1, 0)]).shape
        (2, 5)
    """
    (x, y), dtype = _prepare("tensordot", (a, b), preferred_element_type)
    match axes:
        case int():
            if not 0 <= axes <= min(x.ndim, y.ndim):
                raise errors.ShapeError(
                    f"tensordot of shapes {x.shape} and {y.shape} over {axes} axes: there are "
                    "not as many."
                )
            left, right = tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes))
        case (first, second):
            left, right = _axes_of(first, x), _axes_of(second, y)
        case _:
            raise errors.ArgumentError(
                "tensordot takes an int or a pair of axes of either operand, but got "
                f"{errors.shortened(axes)}."
            )
    if len(left) != len(right) or any(
        x.shape[i] != y.shape[j] for i, j in zip(left, right, strict=True)
    ):
        raise errors.ShapeError(
            f"tensordot of shapes {x.shape} and {y.shape} over axes {left} and {right}: axes are "
            "paired in order and must have equal sizes."
        )
    if not left:
        return _outer(x, y, dtype)
    return dot_general(x, y, (left, right), dtype=dtype, precision=chosen_precision(precision))


def _axes_of(axes_of_x: int | Sequence[int], x: Array) -> Axes:
    axes = ints.one_or_more(axes_of_x, "axes of tensordot")
    canonical = tuple(ints.canonical_axis(a, x.ndim, "axes of tensordot:") for a in axes)
    if len(set(canonical)) != len(canonical):
        raise errors.AxisError(f"tensordot's axes {axes} repeat one.", canonical[0], x.ndim)
    return canonical


# einsum: names are single characters; axes under an ellipsis get characters of their own


def _symbols(n: int) -> str:
    """Characters that no one writes in subscripts, in increasing order."""
    return "".join(map(chr, range(0xE000, 0xE000 + n)))


@result_placement.placed
def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: str | bool | Sequence[tuple[int, ...]] = "auto",
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
    out_sharding: Placement = None,
    _dot_general: DotGeneral | None = None,
) -> Array:
    """Return the sum of products that subscripts describe, in Einstein's notation.

    Each character names an axis. Axes of one name are aligned; those that the output does not name
    are summed over. A name repeated in one operand takes the diagonal. ``...`` stands for any
    further axes, which broadcast. Without ``->`` the output has the axes under the ellipsis, then
    the names that occur once, in alphabetical order.

    Args:
        subscripts: such as ``"ij,jk->ik"``; or an array, in which case arrays and their lists of
            names (ints, strings or ``...``) follow by turns, and a list of names for the output may
            end it.
        *operands: one array for each term.
        out: must be None: arrays are immutable.
        optimize: whether to choose the order of products by their cost; False goes from left to
            right. A path, that is a list of tuples of positions, is followed: the operands named
            are replaced by their product at the end of the list.
        precision: as in ``lax.dot_general``.
        preferred_element_type: the dtype of the result.
        out_sharding: where the result is to lie.
        _dot_general: what multiplies two operands in place of ``lax.dot_general``, with its
            arguments: (left, right, dimension_numbers, precision, preferred_element_type=).

    Returns:
        An array with the axes that the output names.

    Raises:
        ArgumentError: the subscripts are malformed, or do not fit the number of operands.
        ShapeError: a term has more or fewer names than its operand axes, or axes of one name differ
            in size (and neither is 1).

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.arange(6).reshape(2, 3)
        >>> jnp.einsum("ij,kj->ik", x, x)
        Array([[ 5, 14],
               [14, 50]], dtype=int32)
        >>> jnp.einsum("ii", jnp.eye(3))
        Array(3., dtype=float32)
    """
    elementwise.no_out("einsum", out)
    if not isinstance(subscripts, str):
        subscripts, operands = _interleaved((subscripts, *operands))
    if not operands:
        raise errors.ArgumentError(f"einsum {subscripts!r} needs at least one operand.")
    xs, dtype = _prepare("einsum", operands, preferred_element_type)
    path = None
    if not isinstance(optimize, str | bool):
        path = tuple(tuple(pair) for pair in optimize)
    multiply = None
    if _dot_general is not None:
        multiply = partial(_multiplied_by, _dot_general, precision, dtype)
    return _einsum(
        "einsum", subscripts, xs, dtype, precision, optimize is not False, path, multiply
    )


@checking.explained
def einsum_path(
    subscripts: Any, /, *operands: Any, optimize: Any = "auto"
) -> tuple[list[tuple[int, ...]], str]:
    """Return the order in which NumPy would contract the operands of ``einsum``, and the cost.

    Args:
        subscripts: as for ``einsum``.
        *operands: arrays; only their shapes count.
        optimize: ``"greedy"``, which is ``"auto"`` too, ``"optimal"``, or an order.

    Returns:
        Which operands are contracted at each step, and a description.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.einsum_path("ij,jk,kl", jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones((4, 5)))[0]
        [(1, 2), (0, 1)]
    """
    text, arguments = subscripts, operands
    if not isinstance(subscripts, str):
        text, arguments = _interleaved((subscripts, *operands))
    shapes = [x.shape for x in pm.arrays("einsum_path", *arguments)]
    blanks = [np.broadcast_to(0.0, shape) for shape in shapes]
    how = "greedy" if optimize == "auto" else optimize
    try:
        path, description = np.einsum_path(text, *blanks, optimize=how)
    except (ValueError, IndexError, TypeError) as error:
        raise errors.ArgumentError(f"einsum_path: {error}") from None
    return [tuple(step) for step in path[1:]], description


def _interleaved(arguments: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """Turn arrays and lists of names by turns into subscripts and arrays.

    Axes that no list names for the output are in the order of their names.
    """
    count = len(arguments) // 2
    lists = [
        ints.listed(names, "the names of an operand's axes")
        for names in (*arguments[1 : 2 * count : 2], *arguments[2 * count :])
    ]
    try:
        names = sorted({name for names in lists for name in names if name is not Ellipsis})
    except TypeError as error:
        raise errors.ArgumentError(
            f"einsum cannot sort the names of axes: name them all by ints, or by strings. ({error})"
        ) from error
    symbols = sorted(ascii_letters) if len(names) <= len(ascii_letters) else _symbols(len(names))
    letters: dict[object, str] = dict(zip(names, symbols, strict=False))
    letters[Ellipsis] = "..."
    terms = ["".join([letters[name] for name in names]) for names in lists]
    text = ",".join(terms[:count])
    return text if len(arguments) % 2 == 0 else f"{text}->{terms[-1]}", tuple(
        arguments[: 2 * count : 2]
    )


@lru_cache(maxsize=1024)
def _parse(subscripts: str, ndims: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """Return the names of each operand's axes and of the output's, with ellipses expanded."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise errors.ArgumentError(
            f"einsum {subscripts!r} has {len(terms)} terms, but got {len(ndims)} operands."
        )
    for term in (*terms, right):
        names = term.replace("...", "", 1)
        if any(c in ".,->" for c in names):
            raise errors.ArgumentError(
                f"einsum {subscripts!r}: {term!r} has a '.', '-' or '>' that belongs neither to "
                "'->' nor to the one '...'; any other character names an axis."
            )
    hidden = [
        ndim - len(term.replace("...", "")) if "..." in term else 0
        for term, ndim in zip(terms, ndims, strict=True)
    ]
    ellipsis = _symbols(max(0, *hidden))
    written = []
    for i, (term, n, ndim) in enumerate(zip(terms, hidden, ndims, strict=True)):
        named = term.replace("...", ellipsis[len(ellipsis) - n :] if n > 0 else "")
        if n < 0 or len(named) != ndim:
            raise errors.ShapeError(
                f"einsum {subscripts!r}: the term {term!r} of operand {i} does not name the "
                f"{ndim} axes that the operand has."
            )
        written.append(named)
    every = "".join(written)
    if arrow:
        out = right.replace("...", ellipsis)
        missing = [c for c in out if c not in every]
        if missing or len(set(out)) != len(out):
            raise errors.ArgumentError(
                f"einsum {subscripts!r}: the output must name axes of the operands, each once."
            )
    else:
        once = sorted(c for c in set(every) if every.count(c) == 1 and c not in ellipsis)
        out = ellipsis + "".join(once)
    return tuple(written), out


def _sizes(what: str, terms: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """Return the size of each name; 1 gives way to any other."""
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for name, n in zip(term, shape, strict=True):
            size = sizes.get(name, 1)
            if size == 1:
                sizes[name] = n
            elif n not in (1, size):
                listing = " and ".join(map(str, shapes))
                raise errors.ShapeError(
                    f"{what} of shapes {listing}: two axes that belong together have sizes {size} "
                    f"and {n}; they must be equal, or one of them 1."
                )
    return sizes


def _einsum(
    what: str,
    subscripts: str,
    xs: Sequence[Array],
    dtype: dtypes.DType,
    precision: PrecisionLike,
    optimize: bool = True,
    path: tuple[tuple[int, ...], ...] | None = None,
    multiply: Callable[[_Contraction, Array, Array], tuple[Array, str]] | None = None,
) -> Array:
    shapes = tuple(x.shape for x in xs)
    terms, out = _parse(subscripts, tuple(map(len, shapes)))
    exactly = chosen_precision(precision)
    sizes = _sizes(what if what != "einsum" else f"einsum {subscripts!r}", terms, shapes)
    work = [_simplify(x, term, sizes) for x, term in zip(xs, terms, strict=True)]
    while len(work) > 1:
        names = tuple(n for _, n in work)
        if path:
            first, *others = path
            chosen, path = first, tuple(others)
        elif optimize and len(work) > 2:
            chosen = _cheapest(names, out, tuple(sizes.items()))
        else:
            chosen = (0, 1)
        group = [work[i] for i in chosen]
        rest = [w for i, w in enumerate(work) if i not in chosen]
        joined = group[0]
        for k, other in enumerate(group[1:], start=2):
            later = [n for _, n in (*group[k:], *rest)]
            left = _needed_names(joined[1], other[1], later, out)
            joined = _contract(*joined, *other, left, dtype, exactly, multiply)
        # what was multiplied comes last, as in NumPy's paths; left to right it stays first
        work = [*rest, joined] if path is not None or optimize else [joined, *rest]
    ((x, names_left),) = work
    gone = tuple(i for i, n in enumerate(names_left) if n not in out)
    x = _sum(x, gone)
    result = _permute(x, "".join(n for n in names_left if n in out), out)
    return result if result.dtype == dtype else pm.convert(result, dtype)


def _simplify(x: Array, names: str, sizes: dict[str, int]) -> tuple[Array, str]:
    """Drop axes of size one that broadcast, and take diagonals where a name is repeated."""
    stretched = [i for i, n in enumerate(names) if x.shape[i] != sizes[n]]
    if stretched:
        x = sh.squeeze(x, tuple(stretched))
        names = "".join(n for i, n in enumerate(names) if i not in stretched)
    while len(set(names)) != len(names):
        name = next(n for n in names if names.count(n) > 1)
        i, j = [k for k, n in enumerate(names) if n == name][:2]
        others = [k for k in range(x.ndim) if k not in (i, j)]
        size = x.shape[i]
        # the diagonal of a matrix lies every size + 1 elements apart
        moved = sh.transpose(x, (*others, i, j))
        flat = sh.reshape(moved, (*moved.shape[:-2], size * size))
        strides = (*[1] * len(others), size + 1)
        x = slice_(flat, [0] * flat.ndim, flat.shape, strides)
        names = "".join(names[k] for k in others) + name
    return x, names


def _needed_names(x_names: str, y_names: str, others: Sequence[str], out: str) -> str:
    """Return the names of a product that are still needed, those of the output first."""
    later = set(out).union(*others)
    first = [n for n in out if n in x_names or n in y_names]
    return "".join(
        [*first, *(n for n in dict.fromkeys(x_names + y_names) if n in later - set(out))]
    )


@lru_cache(maxsize=1024)
def _cheapest(
    names: tuple[str, ...], out: str, sizes: tuple[tuple[str, int], ...]
) -> tuple[int, int]:
    """Return the pair of operands to multiply next: the one whose product needs the least work.

    Among equals that which leaves the least to do: the smallest result against its operands.
    """
    size = dict(sizes)

    def volume(names: Iterable[str]) -> int:
        return prod(size[n] for n in names)

    def cost(pair: tuple[int, int]) -> tuple[int, int]:
        i, j = pair
        rest = [n for k, n in enumerate(names) if k not in pair]
        joined = volume(_needed_names(names[i], names[j], rest, out))
        return joined - volume(names[i]) - volume(names[j]), volume({*names[i], *names[j]})

    return min(((i, j) for i in range(len(names)) for j in range(i + 1, len(names))), key=cost)


@attrs.frozen(eq=False, repr=False)
class _Contraction(records.Record):
    """A product of two operands: the axes that are summed and aligned, and the rest."""

    sums: tuple[Axes, Axes]
    batch: tuple[Axes, Axes]
    contract: tuple[Axes, Axes]
    swap: bool
    names: tuple[str, str]
    out: str


@lru_cache(maxsize=1024)
def _product(x_names: str, y_names: str, remaining: str) -> _Contraction:
    """Plan the product of two operands whose axes are named, for the names that remain."""

    def parts(names: str, other: str) -> tuple[str, Axes]:
        sums = tuple(i for i, n in enumerate(names) if n not in other and n not in remaining)
        return "".join(n for i, n in enumerate(names) if i not in sums), sums

    x_left, x_sums = parts(x_names, y_names)
    y_left, y_sums = parts(y_names, x_names)
    both = [n for n in x_left if n in y_left]
    batch = "".join(n for n in remaining if n in both)
    contract = "".join(n for n in both if n not in remaining)
    x_free = "".join(n for n in x_left if n not in both)
    y_free = "".join(n for n in y_left if n not in both)
    swap = batch + x_free + y_free != remaining and batch + y_free + x_free == remaining
    if not contract:
        out = "".join(n for n in remaining if n in x_left or n in y_left)
    else:
        out = batch + (y_free + x_free if swap else x_free + y_free)
    return _Contraction(
        (x_sums, y_sums),
        (tuple(map(x_left.index, batch)), tuple(map(y_left.index, batch))),
        (tuple(map(x_left.index, contract)), tuple(map(y_left.index, contract))),
        swap,
        (x_left, y_left),
        out,
    )


def _contract(
    x: Array,
    x_names: str,
    y: Array,
    y_names: str,
    remaining: str,
    dtype: dtypes.DType,
    precision: Canonical,
    multiply: Callable[[_Contraction, Array, Array], tuple[Array, str]] | None = None,
) -> tuple[Array, str]:
    """Multiply two operands and sum over the names that are not needed."""
    plan = _product(x_names, y_names, remaining)
    x, y = _sum(x, plan.sums[0]), _sum(y, plan.sums[1])
    if x.dtype != y.dtype:
        x, y = pm.promote_dtypes(x, y)
    if multiply is not None:
        return multiply(plan, x, y)
    if not plan.contract[0]:
        x, y = _aligned(x, plan.names[0], y, plan.names[1], plan.out)
        return _multiply(x, y, dtype), plan.out
    if plan.swap:
        contract = plan.contract[1], plan.contract[0]
        batch = plan.batch[1], plan.batch[0]
        return dot_general(y, x, contract, batch, dtype, swapped_precision(precision)), plan.out
    return dot_general(x, y, plan.contract, plan.batch, dtype, precision), plan.out


def _multiplied_by(
    product: DotGeneral,
    precision: object,
    dtype: dtypes.DType,
    plan: _Contraction,
    x: Array,
    y: Array,
) -> tuple[Array, str]:
    """Multiply two operands by a function of the caller's, also where no axis is summed over."""
    result = product(x, y, (plan.contract, plan.batch), precision, preferred_element_type=dtype)
    batch = [plan.names[0][i] for i in plan.batch[0]]
    free = [
        name
        for names, used, summed in zip(plan.names, plan.batch, plan.contract, strict=True)
        for i, name in enumerate(names)
        if i not in used and i not in summed
    ]
    return opd.as_array(result), "".join((*batch, *free))


def _aligned(x: Array, x_names: str, y: Array, y_names: str, out: str) -> tuple[Array, Array]:
    """Broadcast two operands to the axes of the result."""
    sizes = dict(zip(x_names, x.shape, strict=True)) | dict(zip(y_names, y.shape, strict=True))
    shape = tuple(sizes[n] for n in out)

    def place(z: Array, names: str) -> Array:
        ordered = "".join(n for n in out if n in names)
        dims = tuple(out.index(n) for n in ordered)
        return broadcast_in_dim(_permute(z, names, ordered), shape, dims)

    return place(x, x_names), place(y, y_names)


def _permute(x: Array, names: str, out: str) -> Array:
    """Bring axes into the order of ``out``, which has the same names."""
    return x if names == out else sh.transpose(x, tuple(map(names.index, out)))


replay.replay_functions(globals(), plain="matmul exact_matmul einsum_path")
