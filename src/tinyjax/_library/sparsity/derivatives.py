"""Sparse Jacobians and Hessians, from as few products as their colourings need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import errors, numpy as jnp, tree
from tinyjax._base import frames
from tinyjax._library.sparsity import detection, pattern
from tinyjax._library.sparsity.colouring import Colouring, coloured, symmetric
from tinyjax.core.api import arguments, mapping
from tinyjax.core.api.typed import Sparse
from tinyjax.core.jit.decorator import jit
from tinyjax.core.primitives import identities, shape as sh
from tinyjax.core.tracing import calling, primitive as prim, trace as tr
from tinyjax.core.tracing.watching import watched
from tinyjax.core.transforms.linearize import LinearizedFunction, linearize_flat
from tinyjax.core.values import Array, avals as av, concrete
from tinyjax.dtypes import HostArray

_coloured: Final = lru_cache(maxsize=64)(coloured)
_symmetric: Final = lru_cache(maxsize=64)(symmetric)


def derivative(
    name: str,
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    chunk_size: int | None,
    sparse: Sparse,
) -> Callable[..., Any]:
    """Return a function that computes a sparse ``"jacobian"`` or ``"hessian"``."""
    if holomorphic:
        raise errors.ArgumentError(
            f"{name}(sparse=...) takes real arguments. Leave out holomorphic=True, or leave out "
            "sparse."
        )
    choice = arguments.DifferentiatedArguments(name, fun, argnums)

    def computed(*args: Any, **kwargs: Any) -> Any:
        if name == "hessian":
            detected = detection.detect_hessian(choice, args, kwargs, has_aux)
        else:
            detected = detection.detect(choice, args, kwargs, has_aux)
        if detected.symmetric:
            colouring = _symmetric(detected.pattern)
        else:
            colouring = _coloured(detected.pattern, not detected.backward_only)
        return _computed(detected, colouring, has_aux, chunk_size, sparse)

    return _of_kind(computed, fun, has_aux, sparse)


def _computed(
    detected: detection.Detected,
    colouring: Colouring,
    has_aux: bool,
    chunk_size: int | None,
    sparse: Sparse,
) -> Any:
    chosen = detected.chosen
    flat = calling.FlatFunction(chosen, chosen.in_tree, has_aux, chosen.choice.fun)
    linearized = linearize_flat(flat, chosen.primals, None, chosen.choice.applied)
    # or else XLA computes the residuals anew for each colour
    residuals = tuple(identities.optimization_barrier(linearized.residuals))
    linearized = attrs.evolve(linearized, residuals=residuals)
    elements = _elements(linearized, chosen.primals, colouring, chunk_size)
    bcoo = import_module("tinyjax.experimental.sparse").BCOO
    rows, columns = detected.pattern.rows, detected.pattern.columns

    def block(i: int, j: int) -> Any:
        out, x = detected.outs[i], detected.ins[j]
        row = rows - sum(aval.size for aval in detected.outs[:i])
        column = columns - sum(aval.size for aval in detected.ins[:j])
        inside = (row >= 0) & (row < out.size) & (column >= 0) & (column < x.size)
        data = elements[_constant(colouring.places[inside])].astype(x.dtype)
        matrix = row[inside], column[inside]
        of_out, of_x = (out.shape, x.shape) if sparse is True else ((out.size,), (x.size,))
        axes = [
            *np.unravel_index(matrix[0], of_out or (1,))[: len(of_out)],
            *np.unravel_index(matrix[1], of_x or (1,))[: len(of_x)],
        ]
        indices = np.stack(axes, 1) if axes else np.zeros((data.size, 0))
        return bcoo(
            (data, _constant(indices)),
            shape=of_out + of_x,
            indices_sorted=True,
            unique_indices=True,
        )

    result = detected.tree_of(block)
    return (result, arguments.without_tracers(flat.aux)) if has_aux else result


def _constant(places: HostArray) -> Array:
    return concrete.ConcreteArray(places.astype(np.int32))


def _elements(
    linearized: LinearizedFunction,
    primals: Sequence[Array],
    colouring: Colouring,
    chunk_size: int | None,
) -> Array:
    """Return the products, flat: sums of columns, (width, rows), and of rows, (height, columns)."""
    outs = linearized.primals_out
    parts: list[Array] = []
    if colouring.width:

        def push(tangents: list[Array]) -> list[Array]:
            directions = linearized.apply(tangents)
            return [_filled(t, x.aval) for t, x in zip(directions, outs, strict=True)]

        seeds = _directions([x.aval for x in primals], colouring.columns, colouring.width)
        sums = mapping.over_basis(push, 0, chunk_size)(seeds)
        parts.append(_joined([jnp.reshape(x, (colouring.width, -1)) for x in sums], 1))
    if colouring.height:

        def pull(cotangents: list[Array]) -> list[Array]:
            directions = linearized.pull_back(cotangents)
            return [_filled(t, x.aval) for t, x in zip(directions, primals, strict=True)]

        seeds = _directions([x.aval for x in outs], colouring.rows, colouring.height)
        sums = mapping.over_basis(pull, 0, chunk_size)(seeds)
        parts.append(_joined([jnp.reshape(x, (colouring.height, -1)) for x in sums], 1))
    if not parts:
        return jnp.zeros(0)
    # or else XLA computes the products anew for each element that is read
    return _joined([jnp.ravel(x) for x in identities.optimization_barrier(parts)], 0)


def _filled(t: prim.Tangent, aval: av.ShapedArray) -> Array:
    return sh.full(aval.shape, 0, aval.dtype) if t is prim.ZERO else t


def _joined(parts: Sequence[Array], axis: int) -> Array:
    return parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis)


def _directions(avals: Sequence[av.ShapedArray], colours: HostArray, number: int) -> list[Array]:
    """For each colour the sum of the unit vectors that have it, stacked."""
    directions: list[Array] = []
    first = 0
    for aval in avals:
        own = colours[first : first + aval.size].reshape(aval.shape)
        first += aval.size
        chosen = own == np.arange(number).reshape(-1, *[1] * aval.ndim)
        directions.append(concrete.ConcreteArray(chosen.astype(aval.dtype)))
    return directions


def _of_kind(
    computed: Callable[..., Any], fun: Callable[..., Any], has_aux: bool, sparse: Sparse
) -> Callable[..., Any]:
    """Return a function whose sparse arrays are of the requested kind."""
    if sparse != "scipy":
        return partial(watched, named=fun)(computed)
    compiled = jit(frames.imitate(computed, fun))

    @partial(watched, named=fun)
    def converted(*args: Any, **kwargs: Any) -> Any:
        result = compiled(*args, **kwargs)
        matrices, aux = result if has_aux else (result, None)
        matrices = tree.map(_as_scipy, matrices, is_leaf=lambda x: hasattr(x, "todense"))
        return (matrices, aux) if has_aux else matrices

    return converted


def _as_scipy(matrix: Any) -> Any:
    """Return a sparse matrix whose elements are in order as one of SciPy's."""
    if isinstance(matrix.data, tr.Tracer):
        raise errors.ArgumentError(
            'sparse="scipy" makes matrices of numbers, and not of traced values. Ask for '
            "sparse=True under jit and other transformations."
        )
    rows, columns = np.asarray(matrix.indices).T
    starts = pattern.starts_of(rows, matrix.shape[0])
    return pattern.of_scipy("csr_array")(
        (np.asarray(matrix.data), columns, starts), shape=matrix.shape
    )
